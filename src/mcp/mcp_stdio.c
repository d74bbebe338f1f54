#include "mcp/mcp_stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "mcp/mcp_session.h"

#define READ_BYTES 65536
#define OUT_MAX    ((size_t)512 << 20) /* a client that sends and does not read is disconnected */
#define OUT_PAUSE  ((size_t)4 << 20)   /* queued bytes from which on input is not read */
#define FINISH_MS  30000               /* for what is under way when the input ends */

struct stdio {
    struct loop *loop;
    struct mcp_session *session;
    int in, out;
    struct watch *in_watch, *out_watch;
    struct timer *limit, *feed; /* the latter reads a plain file */
    struct buf line, queued;
    size_t written;   /* of what is queued */
    bool is_too_long; /* the line that is arriving: it is left out, up to its end */
    bool has_ended, is_over;
};

static void stdio_stop(struct stdio *s)
{
    s->is_over = true;
    loop_stop(s->loop);
}

static void stop_when_done(struct stdio *s)
{
    if (s->has_ended && mcp_session_running(s->session) == 0 && s->queued.len == s->written)
        stdio_stop(s);
}

/* --- output --- */

static size_t waiting(const struct stdio *s)
{
    return s->queued.len - s->written;
}

static void flush(struct stdio *s)
{
    while (waiting(s) > 0) {
        ssize_t n = write(s->out, s->queued.data + s->written, waiting(s));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN) {
            s->written = s->queued.len;
            stdio_stop(s); /* the reader is gone */
            return;
        }
        if (n < 0)
            break;
        s->written += (size_t)n;
    }
    if (s->written > s->queued.len / 2) { /* not with each piece: the rest is moved */
        buf_consume(&s->queued, s->written);
        s->written = 0;
    }
    if (s->out_watch)
        watch_set(s->out_watch, waiting(s) ? LOOP_WRITE : 0);
    if (s->in_watch)
        watch_set(s->in_watch, waiting(s) < OUT_PAUSE ? LOOP_READ : 0);
}

static void send_message(void *arg, const json_t *message)
{
    struct stdio *s = arg;
    size_t len;
    CLEANUP(free_p) char *text = json_write(message, &len);
    if (buf_add(&s->queued, text, len) < 0 || buf_add_char(&s->queued, '\n') < 0) {
        stdio_stop(s);
        return;
    }
    flush(s);
}

static void on_writable(void *arg, int events)
{
    struct stdio *s = arg;
    flush(s);
    stop_when_done(s);
}

static void on_end(void *arg)
{
    stop_when_done(arg);
}

/* --- input --- */

static void take_line(struct stdio *s)
{
    const struct mcp_session_sink sink = { .send = send_message, .end = on_end, .arg = s };
    struct err err = ERR_INIT;
    JSON_OWNED message = NULL;
    if (s->is_too_long) {
        (void)err_set(&err, ERR_TOO_LARGE, 0, "a message is longer than %zu bytes", MCP_SESSION_MESSAGE_MAX);
    } else if (strspn(buf_text(&s->line), " \t\r") == s->line.len) {
        return;
    } else if (json_read(s->line.data, s->line.len, &message, &err) == 0) {
        (void)mcp_session_take(s->session, message, &sink);
        return;
    }
    JSON_OWNED error = mcp_session_error(NULL, s->is_too_long ? MCP_SESSION_INVALID : MCP_SESSION_PARSE, err.msg);
    send_message(s, error);
}

static void on_limit(void *arg)
{
    stdio_stop(arg);
}

static void on_readable(void *arg, int events)
{
    struct stdio *s = arg;
    char bytes[READ_BYTES];
    ssize_t n = read(s->in, bytes, sizeof(bytes));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    const char *data = bytes;
    for (size_t len = n > 0 ? (size_t)n : 0; len > 0 && !s->is_over;) {
        const char *end = memchr(data, '\n', len);
        size_t piece = end ? (size_t)(end - data) : len;
        if (!s->is_too_long && buf_add(&s->line, data, piece) < 0)
            s->is_too_long = true;
        if (end) {
            take_line(s);
            buf_clear(&s->line);
            s->is_too_long = false;
        }
        data += piece + (end != NULL);
        len -= piece + (end != NULL);
    }
    if (n > 0)
        return;
    s->in_watch = watch_free(s->in_watch);
    if (s->line.len)
        take_line(s); /* the last line may lack its end */
    s->has_ended = true;
    s->limit = timer_new(s->loop, FINISH_MS, 0, on_limit, s);
    stop_when_done(s);
}

/* *ret_flags as they were: a terminal is shared with the shell that started us. */
static int set_non_blocking(int fd, int *ret_flags)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return -errno;
    *ret_flags = flags;
    return 0;
}

static void read_on(void *arg)
{
    struct stdio *s = arg;
    if (!s->has_ended && waiting(s) < OUT_PAUSE)
        on_readable(s, LOOP_READ);
}

/* Plain files cannot be watched, and need not be: they never block. */
static int watch_both(struct stdio *s)
{
    int r = watch_new(s->loop, s->in, LOOP_READ, on_readable, s, &s->in_watch);
    if (r == -EPERM) {
        s->feed = timer_new(s->loop, 0, 1, read_on, s);
        r = 0;
    }
    if (r == 0)
        r = watch_new(s->loop, s->out, 0, on_writable, s, &s->out_watch);
    return r == -EPERM ? 0 : r;
}

int mcp_stdio_run(struct loop *l, const struct mcp_backend *back, const struct mcp_stdio_options *o)
{
    struct stdio s = {
        .loop = l, .in = o->in, .out = o->out, .line = BUF_INIT(MCP_SESSION_MESSAGE_MAX), .queued = BUF_INIT(OUT_MAX)
    };
    int in_flags = -1, out_flags = -1;
    int r = set_non_blocking(o->in, &in_flags);
    if (r == 0)
        r = set_non_blocking(o->out, &out_flags);
    if (r == 0)
        r = watch_both(&s);
    if (r == 0) {
        s.session = mcp_session_new(l, back);
        mcp_session_choose(s.session, o->choice);
        mcp_session_on_notes(s.session, &(struct mcp_session_sink){ .send = send_message, .arg = &s });
        loop_run(l);
    }
    s.is_over = true;
    s.session = mcp_session_free(s.session);
    s.limit = timer_free(s.limit);
    s.feed = timer_free(s.feed);
    s.in_watch = watch_free(s.in_watch);
    s.out_watch = watch_free(s.out_watch);
    buf_done(&s.line);
    buf_done(&s.queued);
    if (out_flags >= 0)
        (void)fcntl(o->out, F_SETFL, out_flags); /* in the opposite order: both may be one terminal */
    if (in_flags >= 0)
        (void)fcntl(o->in, F_SETFL, in_flags);
    return r;
}
