#include "agent/reply.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/stream.h"
#include "os/write_all.h"

#define STEP_MAX 320

void agent_reply_frame(struct agent_reply *r, const void *frame, size_t len)
{
    if (r->pipe_fd < 0)
        agent_conn_send(r->conn, frame, len);
    else if (write_all_write(r->pipe_fd, frame, len) < 0)
        _exit(1); /* the agent has dropped this request */
}

void agent_reply_empty(struct agent_reply *r, uint16_t type)
{
    uint8_t frame[PROTO_HEADER];
    struct proto_header h = { .stream = r->stream, .type = type };

    proto_header_put(frame, &h);
    agent_reply_frame(r, frame, sizeof(frame));
}

void agent_reply_done(struct agent_reply *r)
{
    agent_reply_empty(r, PROTO_DONE);
}

void agent_reply_error(struct agent_reply *r, int error, const char *step, ...)
{
    uint8_t frame[PROTO_HEADER + STEP_MAX + 16];
    char text[STEP_MAX];
    struct proto_writer w;
    va_list args;

    va_start(args, step);
    (void)vsnprintf(text, sizeof(text), step, args);
    va_end(args);
    if (r->text) {
        (void)snprintf(r->text, r->text_size, "%s: %s", text, strerror(error));
        return;
    }
    proto_frame_begin(&w, frame, sizeof(frame));
    proto_put_u32(&w, error > 0 && error < 4096 ? (uint32_t)error : EIO);
    proto_put_str(&w, text);
    int len = proto_frame_end(&w, r->stream, PROTO_ERROR, 0);
    assert(len > 0);
    agent_reply_frame(r, frame, (size_t)len);
}

void agent_reply_result(struct agent_reply *r, int result, const char *verb, const char *path)
{
    if (result < 0)
        agent_reply_error(r, -result, "%s %s", verb, path);
    else
        agent_reply_done(r);
}

/* --- helper processes --- */
struct work {
    struct agent_stream stream;
    struct agent_watch watch; /* receives the helper's frames */
    struct agent *agent;
    pid_t pid;
    bool has_ended; /* its last frame was sent */
    size_t len;
    uint8_t buf[PROTO_FRAME_MAX];
};

#define WORK_OF(ptr, field) ((struct work *)((char *)(ptr)-offsetof(struct work, field)))

static void free_work(struct work *w)
{
    agent_stream_close(&w->stream);
    agent_loop_close(&w->agent->loop, &w->watch);
    free(w);
}

static void end_work(struct work *w)
{
    struct agent_reply r = { .agent = w->agent, .conn = w->stream.conn, .pipe_fd = -EBADF, .stream = w->stream.id };

    if (!w->has_ended && r.conn)
        agent_reply_error(&r, EIO, "the agent's helper process was killed");
    free_work(w);
}

/* Forwards complete frames. The helper is our own code, but any process with our uid could write to its pipe through
 * /proc. So frames are checked, and sent under the stream that the request belongs to. */
static int pass_frames(struct work *w)
{
    struct proto_header h;
    size_t at = 0;

    while (w->len - at >= PROTO_HEADER) {
        if (proto_header_get(w->buf + at, &h) < 0 || h.stream != w->stream.id)
            return -EBADMSG;
        size_t len = PROTO_HEADER + h.length;
        if (w->len - at < len)
            break;
        agent_conn_send(w->stream.conn, w->buf + at, len);
        w->has_ended = !(h.flags & PROTO_MORE);
        at += len;
    }
    memmove(w->buf, w->buf + at, w->len - at);
    w->len -= at;
    return 0;
}

static void work_on_data(struct agent_watch *watch, uint32_t events)
{
    struct work *w = WORK_OF(watch, watch);

    (void)events;
    if (agent_conn_is_full(w->stream.conn)) {
        (void)agent_loop_watch(&w->agent->loop, &w->watch, 0); /* removing cannot fail */
        return;
    }
    ssize_t n = read(w->watch.fd, w->buf + w->len, sizeof(w->buf) - w->len);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        w->len += (size_t)n;
    if (n <= 0 || pass_frames(w) < 0 || w->has_ended)
        end_work(w);
}

static void work_on_ready(struct agent_stream *s)
{
    struct work *w = WORK_OF(s, stream);

    if (agent_loop_watch(&w->agent->loop, &w->watch, EPOLLIN) < 0)
        end_work(w);
}

static int work_on_frame(struct agent_stream *s, uint16_t type, const uint8_t *data, size_t len)
{
    return -EBADMSG; /* these requests take no further frames */
}

static void work_on_drop(struct agent_stream *s)
{
    struct work *w = WORK_OF(s, stream);

    siginfo_t info;
    if (waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT) ==
        0) /* else it was reaped, and the pid may be reused */
        (void)kill(w->pid, SIGKILL);
    free_work(w);
}

static const struct agent_stream_ops work_ops = { .on_frame = work_on_frame,
                                                  .on_ready = work_on_ready,
                                                  .on_drop = work_on_drop };

void agent_reply_work(struct agent_reply *r, agent_work_fn *work, void *arg)
{
    int fds[2] = { -EBADF, -EBADF };
    struct work *w = malloc(sizeof(*w));
    pid_t pid = -1;

    if (w && pipe2(fds, O_CLOEXEC) == 0 && fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0)
        pid = fork();
    if (pid == 0) {
        struct agent_reply mine = { .agent = r->agent, .pipe_fd = fds[1], .stream = r->stream };
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        work(&mine, arg);
        _exit(0);
    }
    if (fds[1] >= 0)
        (void)close(fds[1]);
    if (pid < 0) {
        if (fds[0] >= 0)
            (void)close(fds[0]);
        free(w);
        work(r, arg);
        return;
    }
    w->agent = r->agent;
    w->watch = (struct agent_watch){ .fd = fds[0], .fn = work_on_data };
    w->pid = pid;
    w->has_ended = false;
    w->len = 0;
    agent_stream_open(&w->stream, r->conn, r->stream, &work_ops);
    if (agent_loop_watch(&r->agent->loop, &w->watch, EPOLLIN) < 0) {
        (void)kill(pid, SIGKILL);
        end_work(w);
    }
}
