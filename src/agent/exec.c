/* Theory of operation. A struct agent_exec is one command. It belongs to the stream that started it or, when it is
 * durable, to a job (job.h), and is freed by finish_if_ended() or when its stream is dropped. States: start → running →
 * exited (reaped; bytes in its pipes are still sent) → finished (EXEC_EXIT sent).
 *
 * Output is read only while the host's window and the link have room, so excess output blocks the command at its pipe;
 * one read a turn keeps one command from starving the others. Input is queued in chunks, and each is credited or
 * answered when the command has taken it.
 *
 * At the exit, background children may still hold the pipes, so only what the pipes hold at that moment is drained.
 * A dropped stream kills the process tree, except of a durable command. A timeout sends SIGKILL to the tree and is
 * reported in the exit block. */
#include "agent/exec.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/job.h"
#include "agent/launch.h"
#include "agent/listening.h"
#include "agent/proc.h"
#include "agent/process_tree.h"
#include "agent/pty.h"
#include "agent/stream.h"
#include "agent/vm_channel.h"

#define PTY_DRAIN_MS                50
#define PTY_DRAIN_MAX               65536u
#define END_OF_INPUT                "\004" /* ^D */
#define CONTAINER(ptr, type, field) ((type *)((char *)(ptr)-offsetof(type, field)))

/* Input that the command has not read yet. */
struct chunk {
    struct chunk *next;
    uint64_t conn_serial; /* the link to answer; 0: it is EXEC_STDIN of our stream, which gets credit */
    uint32_t reply_stream;
    bool is_last;
    size_t len, at;
    uint8_t data[];
};

struct output {
    struct agent_watch watch;
    struct agent_exec *exec;
    uint8_t number;   /* 1 or 2 */
    bool is_draining; /* the command has exited: `left` bytes are still to be read */
    size_t left;
};

struct agent_exec {
    struct agent_stream stream;
    struct agent *agent;
    struct agent_exec *next;
    struct agent_job *job; /* NULL: not durable */
    bool is_own;           /* of the agent itself: on no stream */
    struct agent_exec_owner owner;
    pid_t pid;
    uint32_t flags;
    bool is_exited, is_timeout;
    bool has_input; /* the stdin pipe or terminal is still open */
    int status;
    struct rusage usage;
    uint64_t started_us, exited_us;
    struct output out[2];
    struct agent_watch in;
    struct chunk *chunks;
    struct agent_timer deadline, drain;
};

static void write_input(struct agent_exec *x);

static bool is_pty(const struct agent_exec *x)
{
    return x->flags & PROTO_WITH_PTY;
}

pid_t agent_exec_pid(const struct agent_exec *x)
{
    return x->pid;
}

/* --- the end --- */
static void answer_chunk(struct agent_exec *x, const struct chunk *c, int error)
{
    if (c->conn_serial == 0) {
        agent_stream_credit(&x->stream,
                            (uint32_t)c->len); /* unread input is credited as well, or the sender would stall */
        return;
    }
    struct agent_reply r = { .agent = x->agent,
                             .conn = agent_conn_by_serial(x->agent, c->conn_serial),
                             .pipe_fd = -EBADF,
                             .stream = c->reply_stream };
    if (!r.conn)
        return;
    if (error)
        agent_reply_error(&r, error, "write to stdin");
    else
        agent_reply_done(&r);
}

static void close_input(struct agent_exec *x)
{
    x->has_input = false;
    agent_loop_close(&x->agent->loop, &x->in);
    while (x->chunks) {
        struct chunk *c = x->chunks;
        x->chunks = c->next;
        answer_chunk(x, c, EPIPE);
        free(c);
    }
}

/* Unlinks and frees the command. A process that still runs is reaped as an orphan later. */
static void free_exec(struct agent_exec *x)
{
    struct agent_loop *loop = &x->agent->loop;

    for (struct agent_exec **at = &x->agent->execs; *at; at = &(*at)->next)
        if (*at == x) {
            *at = x->next;
            break;
        }
    agent_loop_disarm(loop, &x->deadline);
    agent_loop_disarm(loop, &x->drain);
    close_input(x);
    agent_stream_close(&x->stream);
    agent_loop_close(loop, &x->out[0].watch);
    agent_loop_close(loop, &x->out[1].watch);
    free(x);
}

static void finish_if_ended(struct agent_exec *x)
{
    uint8_t frame[PROTO_HEADER + 64];
    struct proto_writer w;

    if (!x->is_exited || x->out[0].watch.fd >= 0 || x->out[1].watch.fd >= 0)
        return;
    bool is_signalled = WIFSIGNALED(x->status);
    struct proto_exit end = {
        .code = is_signalled ? 128u + (uint32_t)WTERMSIG(x->status) : (uint32_t)WEXITSTATUS(x->status),
        .signal = is_signalled ? (uint32_t)WTERMSIG(x->status) : 0,
        .flags = x->is_timeout ? PROTO_EXIT_TIMEOUT : 0,
        .user_us = (uint64_t)x->usage.ru_utime.tv_sec * 1000000u + (uint64_t)x->usage.ru_utime.tv_usec,
        .system_us = (uint64_t)x->usage.ru_stime.tv_sec * 1000000u + (uint64_t)x->usage.ru_stime.tv_usec,
        .max_rss_kb = (uint64_t)x->usage.ru_maxrss,
        .wall_us = x->exited_us - x->started_us,
    };
    if (!x->is_timeout && end.code == 128 + SIGKILL && agent_vm_channel_was_oom(x->agent))
        end.flags |= PROTO_EXIT_OOM;
    if (x->stream.conn) {
        proto_frame_begin(&w, frame, sizeof(frame));
        proto_put_exit(&w, &end);
        int len = proto_frame_end(&w, x->stream.id, PROTO_EXEC_EXIT, 0);
        assert(len > 0);
        struct agent_conn *conn = x->stream.conn;
        close_input(x); /* the last credits go out before the exit */
        agent_conn_send(conn, frame, (size_t)len);
    }
    const struct agent_exec_owner owner = x->owner;
    if (x->job)
        agent_job_ended(x->agent, x->job, &end);
    free_exec(x);
    if (owner.on_end)
        owner.on_end(owner.arg, &end);
}

/* --- output --- */
static void close_output(struct output *o)
{
    struct agent_exec *x = o->exec;

    if (is_pty(x))
        close_input(x);
    agent_loop_close(&x->agent->loop, &o->watch);
}

/* How many bytes may be read from o now; 0: wait for credit. */
static size_t room_for(const struct output *o)
{
    const struct agent_exec *x = o->exec;
    size_t room = PROTO_PAYLOAD_MAX - 1;

    if (!x->job && !x->is_own) {
        if (!x->stream.conn || agent_conn_is_full(x->stream.conn))
            return 0;
        room = room < x->stream.can_send ? room : x->stream.can_send;
    }
    return room;
}

static void watch_output(struct output *o)
{
    struct agent_exec *x = o->exec;
    uint32_t events = room_for(o) > 0 ? EPOLLIN : 0;

    if (o->watch.fd < 0)
        return;
    if (is_pty(x) && x->chunks)
        events |= EPOLLOUT;
    if (agent_loop_watch(&x->agent->loop, &o->watch, events) < 0)
        close_output(o); /* it cannot be watched: treat it as closed */
}

/* Reads once. True when there may be more to read. */
static bool pump_once(struct output *o)
{
    struct agent_exec *x = o->exec;
    struct proto_writer w;
    size_t room = room_for(o);

    if (o->is_draining && o->left == 0) {
        close_output(o);
        return false;
    }
    if (room == 0)
        return false;
    if (o->is_draining && room > o->left)
        room = o->left;
    proto_frame_begin(&w, agent_conn_scratch(x->agent), PROTO_FRAME_MAX);
    proto_put_u8(&w, o->number);
    ssize_t n = read(o->watch.fd, w.data + w.len, room);
    if (n < 0 && (errno == EINTR || (errno == EAGAIN && !o->is_draining)))
        return false;
    if (n <= 0) { /* end of file, which a terminal reports as EIO */
        close_output(o);
        return false;
    }
    x->agent->is_scratch_dirty |= n > 4096;
    if (o->is_draining)
        o->left -= (size_t)n;
    if (x->job) {
        agent_job_append(x->job, o->number, w.data + w.len, (size_t)n);
        return true;
    }
    if (x->is_own)
        return true; /* nobody wants it */
    w.len += (size_t)n;
    int len = proto_frame_end(&w, x->stream.id, PROTO_EXEC_OUTPUT, 0);
    assert(len > 0);
    x->stream.can_send -= (uint32_t)n;
    agent_conn_send(x->stream.conn, w.data, (size_t)len);
    return true;
}

/* May finish and free the command. */
static void output_on_ready(struct agent_watch *w, uint32_t events)
{
    struct output *o = CONTAINER(w, struct output, watch);

    if (is_pty(o->exec) && (events & EPOLLOUT))
        write_input(o->exec);
    if (o->watch.fd < 0 || !(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        return;
    /* One read a turn, so that one command's output cannot starve the others; a drain is bounded by the size of the
     * pipe. */
    while (pump_once(o) && o->is_draining)
        ;
    watch_output(o);
    finish_if_ended(o->exec);
}

/* The command has exited; background children may hold its pipes open forever, so only what the pipes hold now is
 * read. */
static void start_drain(struct agent_exec *x)
{
    for (int i = 0; i < 2; i++) {
        struct output *o = &x->out[i];
        int left = 0;
        if (o->watch.fd < 0 || o->is_draining)
            continue;
        o->is_draining = true;
        if (is_pty(x))
            o->left = PTY_DRAIN_MAX; /* the kernel does not count bytes that are still in the line discipline */
        else if (ioctl(o->watch.fd, FIONREAD, &left) == 0 && left > 0)
            o->left = (size_t)left;
        while (pump_once(o))
            ;
        watch_output(o);
    }
    finish_if_ended(x);
}

static void on_drain(struct agent_timer *t)
{
    start_drain(CONTAINER(t, struct agent_exec, drain));
}

/* --- input --- */
static int input_fd(const struct agent_exec *x)
{
    return is_pty(x) ? x->out[0].watch.fd : x->in.fd;
}

static void write_input(struct agent_exec *x)
{
    while (x->chunks && x->has_input) {
        struct chunk *c = x->chunks;
        ssize_t n = c->len > c->at ? write(input_fd(x), c->data + c->at, c->len - c->at) : 0;
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (n < 0) {
            close_input(x);
            return;
        }
        c->at += (size_t)n;
        if (c->at < c->len)
            continue;
        x->chunks = c->next;
        answer_chunk(x, c, 0);
        if (c->is_last && is_pty(x))
            (void)!write(input_fd(x), END_OF_INPUT, 1); /* fails when the line buffer is full; there is no other way */
        else if (c->is_last)
            close_input(x);
        free(c);
    }
    if (is_pty(x))
        watch_output(&x->out[0]);
    else if (x->in.fd >= 0 && agent_loop_watch(&x->agent->loop, &x->in, x->chunks ? EPOLLOUT : 0) < 0)
        close_input(x);
}

static void input_on_ready(struct agent_watch *w, uint32_t events)
{
    (void)events;
    write_input(CONTAINER(w, struct agent_exec, in));
}

static int queue_input(struct agent_exec *x, const struct chunk *like, const uint8_t *data, size_t len)
{
    struct chunk **at = &x->chunks;
    struct chunk *c = malloc(sizeof(*c) + len);

    if (!c)
        return -ENOMEM;
    *c = *like;
    c->next = NULL;
    c->len = len;
    c->at = 0;
    if (len)
        memcpy(c->data, data, len);
    while (*at)
        at = &(*at)->next;
    *at = c;
    write_input(x);
    return 0;
}

void agent_exec_input(struct agent_exec *x, struct agent_reply *r, const uint8_t *data, size_t len, bool is_last)
{
    struct chunk like = { .conn_serial = agent_conn_serial(r->conn), .reply_stream = r->stream, .is_last = is_last };

    if (!x->has_input)
        agent_reply_error(r, EPIPE, "write to stdin");
    else if (queue_input(x, &like, data, len) < 0)
        agent_reply_error(r, ENOMEM, "write to stdin");
}

/* --- frames of the stream --- */
static int take_stdin(struct agent_exec *x, const uint8_t *data, size_t len, bool is_last)
{
    struct chunk like = { .is_last = is_last };

    if (agent_stream_take(&x->stream, len) < 0)
        return -EBADMSG;
    if (!x->has_input) {
        agent_stream_credit(&x->stream, (uint32_t)len);
        return 0;
    }
    return queue_input(x, &like, data, len);
}

static int exec_on_frame(struct agent_stream *s, uint16_t type, const uint8_t *data, size_t len)
{
    struct agent_exec *x = CONTAINER(s, struct agent_exec, stream);
    struct proto_reader r;

    proto_reader_init(&r, data, len);
    if (type == PROTO_EXEC_STDIN)
        return take_stdin(x, data, len, false);
    if (type == PROTO_EXEC_STDIN_CLOSE)
        return take_stdin(x, data, 0, true);
    if (type == PROTO_EXEC_SIGNAL) {
        agent_exec_signal(x, (int)proto_get_u32(&r));
        return 0;
    }
    if (type != PROTO_EXEC_RESIZE)
        return -EBADMSG;
    uint16_t cols = proto_get_u16(&r), rows = proto_get_u16(&r);
    if (is_pty(x) && x->out[0].watch.fd >= 0)
        agent_pty_resize(x->out[0].watch.fd, cols, rows);
    return 0;
}

static void exec_on_ready(struct agent_stream *s)
{
    struct agent_exec *x = CONTAINER(s, struct agent_exec, stream);

    if (x->job)
        return;
    for (int i = 0; i < 2; i++) {
        struct output *o = &x->out[i];
        while (o->watch.fd >= 0 && o->is_draining && pump_once(o))
            ;
        watch_output(o);
    }
    finish_if_ended(x);
}

static void exec_on_drop(struct agent_stream *s)
{
    struct agent_exec *x = CONTAINER(s, struct agent_exec, stream);

    if (x->job)
        return;
    agent_process_tree_kill(x->pid, x->is_exited);
    free_exec(x);
}

static const struct agent_stream_ops exec_ops = { .on_frame = exec_on_frame,
                                                  .on_ready = exec_on_ready,
                                                  .on_drop = exec_on_drop };

/* --- signals and time --- */
void agent_exec_signal(struct agent_exec *x, int signo)
{
    if (signo < 1 || signo > 64)
        return;
    if (signo == SIGKILL) {
        agent_process_tree_kill(x->pid, x->is_exited);
        return;
    }
    if (x->is_exited)
        return;
    (void)kill(-x->pid, signo);
    pid_t front = is_pty(x) && x->out[0].watch.fd >= 0 ? tcgetpgrp(x->out[0].watch.fd) : 0;
    if (front > 1 && front != x->pid)
        (void)kill(-front, signo); /* the foreground job of the shell on that terminal */
}

static void exec_on_deadline(struct agent_timer *t)
{
    struct agent_exec *x = CONTAINER(t, struct agent_exec, deadline);

    x->is_timeout = true;
    x->flags &= ~(uint32_t)PROTO_WITH_WAIT_EOF;
    agent_process_tree_kill(x->pid, x->is_exited);
    if (x->is_exited)
        start_drain(x);
}

void agent_exec_interrupt(struct agent *a)
{
    for (struct agent_exec *x = a->execs; x; x = x->next)
        if (!x->job && !x->is_own && !is_pty(x) && !x->is_exited)
            (void)kill(-x->pid, SIGINT);
}

void agent_exec_reap(struct agent *a)
{
    struct rusage usage;
    int status;

    pid_t pid;

    while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
        struct agent_exec *x = a->execs;
        while (x && (x->pid != pid || x->is_exited))
            x = x->next;
        if (!x)
            continue;
        x->status = status;
        x->usage = usage;
        x->is_exited = true;
        x->exited_us = agent_loop_now_us();
        if (x->flags & PROTO_WITH_WAIT_EOF) {
            finish_if_ended(x);
            continue;
        }
        agent_loop_disarm(&a->loop, &x->deadline);
        if (is_pty(x) && x->out[0].watch.fd >= 0)
            agent_loop_arm(&a->loop, &x->drain, PTY_DRAIN_MS);
        else
            start_drain(x);
    }
    agent_listening_reaped(a, pid < 0);
    if (pid < 0 && a->end.stream) /* ECHILD: none is left */
        agent_proc_ended(a);
}

void agent_exec_end_all(struct agent *a)
{
    while (a->execs) {
        agent_process_tree_kill(a->execs->pid, a->execs->is_exited);
        free_exec(a->execs);
    }
}

/* --- start --- */
/* The process runs: from here on it is tracked. */
static void exec_enlist(struct agent_exec *x, struct agent_reply *r, const struct agent_launch *p,
                        struct agent_job *job)
{
    x->agent = r->agent;
    x->job = job;
    x->flags = p->flags;
    x->deadline.fn = exec_on_deadline;
    x->drain.fn = on_drain;
    x->next = r->agent->execs;
    r->agent->execs = x;
    if (r->conn)
        agent_stream_open(&x->stream, r->conn, r->stream, &exec_ops);
    if (job)
        agent_job_started(job, x);
    for (int i = 0; i < 2; i++) {
        x->out[i] = (struct output){ .exec = x, .number = (uint8_t)(i + 1) };
        x->out[i].watch = (struct agent_watch){ .fd = p->ours[i + 1], .fn = output_on_ready };
    }
    x->in = (struct agent_watch){ .fd = p->ours[0], .fn = input_on_ready };
    x->has_input = is_pty(x) || x->in.fd >= 0;
    watch_output(&x->out[0]);
    watch_output(&x->out[1]);
    if (p->timeout_ms)
        agent_loop_arm(&r->agent->loop, &x->deadline, p->timeout_ms);
}

static void send_started(const struct agent_exec *x, struct agent_reply *r)
{
    uint8_t frame[PROTO_HEADER + 4];
    struct proto_writer w;

    proto_frame_begin(&w, frame, sizeof(frame));
    proto_put_u32(&w, (uint32_t)x->pid);
    int len = proto_frame_end(&w, r->stream, PROTO_EXEC_STARTED, 0);
    assert(len > 0);
    agent_conn_send(r->conn, frame, (size_t)len);
    agent_listening_stir(r->agent);
}

void agent_exec_start(struct agent_reply *r, const uint8_t *data, size_t len)
{
    struct agent_launch p;
    struct agent_job *job = NULL;
    struct agent_exec *x = calloc(1, sizeof(*x));
    int error = -agent_launch_read(&p, r, data, len);

    if (!error && !x) {
        error = ENOMEM;
        agent_reply_error(r, error, "start a command");
    }
    if (!error && (p.flags & PROTO_WITH_LOG) &&
        (error = -agent_job_new(r->agent, p.tag, p.flags & PROTO_WITH_MARKS, &job)))
        agent_reply_error(r, error, "job %s", p.tag);
    if (!error) {
        x->started_us = agent_loop_now_us();
        x->pid = agent_launch_run(&p, r);
        error = x->pid < 0 ? -x->pid : 0;
    }
    if (error) {
        if (job)
            agent_job_abandon(r->agent, job);
        free(x);
    } else {
        exec_enlist(x, r, &p, job);
        send_started(x, r);
    }
    agent_launch_done(&p);
}

struct agent_exec *agent_exec_run(struct agent_reply *r, const struct agent_exec_owner *owner, const uint8_t *plan,
                                  size_t len, char **argv)
{
    struct agent_launch p;
    struct agent_exec *x = calloc(1, sizeof(*x));
    bool is_started = agent_launch_read(&p, r, plan, len) == 0;

    if (is_started && !x) {
        agent_reply_error(r, ENOMEM, "start a command");
        is_started = false;
    }
    if (is_started) {
        p.argv = argv ? argv : p.argv;
        p.flags = PROTO_WITH_MERGE;
        x->is_own = true;
        x->owner = *owner;
        x->started_us = agent_loop_now_us();
        x->pid = agent_launch_run(&p, r);
        is_started = x->pid > 0;
    }
    if (is_started) {
        exec_enlist(x, r, &p, owner->job);
    } else {
        free(x);
        x = NULL;
    }
    agent_launch_done(&p);
    return x;
}

void agent_exec_disown(struct agent_exec *x)
{
    x->owner = (struct agent_exec_owner){ 0 };
    agent_process_tree_kill(x->pid, x->is_exited);
}
