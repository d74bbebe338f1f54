/* Life of a command: start -> running -> exited (reaped; what its pipes hold is still sent) -> finished (EXIT sent).
 * Output is read only while the host's window and the link have room, so a flood stops at the pipe. */
#include "guest/agent/ag_exec.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/agent/ag_job.h"
#include "guest/agent/ag_pty.h"
#include "guest/agent/ag_spawn.h"
#include "guest/agent/ag_tree.h"

#define PTY_DRAIN_MS                50
#define PTY_DRAIN_MAX               65536u
#define END_OF_INPUT                "\004" /* ^D */
#define CONTAINER(ptr, type, field) ((type *)((char *)(ptr)-offsetof(type, field)))

/* Input not yet taken by the command. */
struct chunk {
    struct chunk *next;
    uint64_t conn_serial; /* whom to answer; 0: it is EXEC_STDIN of our stream, which gets credit */
    uint32_t reply_stream;
    bool is_last;
    size_t len, at;
    uint8_t data[];
};

struct output {
    struct ag_watch watch;
    struct ag_exec *exec;
    uint8_t number;   /* 1 or 2 */
    bool is_draining; /* the command has exited: left bytes are still to come */
    size_t left;
};

struct ag_exec {
    struct ag_stream stream;
    struct agent *agent;
    struct ag_exec *next;
    struct ag_job *job; /* NULL: not durable */
    pid_t pid;
    uint32_t flags;
    bool is_exited, is_timeout;
    bool has_input; /* stdin pipe or terminal still open for us */
    int status;
    struct rusage usage;
    uint64_t started_us, exited_us;
    struct output out[2];
    struct ag_watch in;
    struct chunk *chunks;
    struct ag_timer deadline, drain;
};

static void pump(struct output *o);
static void finish_if_ended(struct ag_exec *x);
static void write_input(struct ag_exec *x);

static bool is_pty(const struct ag_exec *x)
{
    return x->flags & PROTO_WITH_PTY;
}

pid_t ag_exec_pid(const struct ag_exec *x)
{
    return x->pid;
}

/* --- the end --- */
static void fill_exit(const struct ag_exec *x, struct proto_exit *end)
{
    bool is_signalled = WIFSIGNALED(x->status);

    *end = (struct proto_exit){
        .code = is_signalled ? 128u + (uint32_t)WTERMSIG(x->status) : (uint32_t)WEXITSTATUS(x->status),
        .signal = is_signalled ? (uint32_t)WTERMSIG(x->status) : 0,
        .flags = x->is_timeout ? PROTO_EXIT_TIMEOUT : 0,
        .user_us = (uint64_t)x->usage.ru_utime.tv_sec * 1000000u + (uint64_t)x->usage.ru_utime.tv_usec,
        .system_us = (uint64_t)x->usage.ru_stime.tv_sec * 1000000u + (uint64_t)x->usage.ru_stime.tv_usec,
        .max_rss_kb = (uint64_t)x->usage.ru_maxrss,
        .wall_us = x->exited_us - x->started_us,
    };
}

static void answer_chunk(struct ag_exec *x, const struct chunk *c, int error)
{
    if (c->conn_serial == 0) {
        ag_stream_credit(&x->stream, (uint32_t)c->len); /* also for what nobody reads, or the sender would stall */
        return;
    }
    struct ag_reply r = { .agent = x->agent,
                          .conn = ag_conn_by_serial(x->agent, c->conn_serial),
                          .pipe_fd = -EBADF,
                          .stream = c->reply_stream };
    if (!r.conn)
        return;
    if (error)
        ag_reply_error(&r, error, "write to stdin");
    else
        ag_reply_done(&r);
}

static void drop_chunks(struct ag_exec *x)
{
    while (x->chunks) {
        struct chunk *c = x->chunks;
        x->chunks = c->next;
        answer_chunk(x, c, EPIPE);
        free(c);
    }
}

static void close_input(struct ag_exec *x)
{
    x->has_input = false;
    ag_loop_close(&x->agent->loop, &x->in);
    drop_chunks(x);
}

/* Takes the command out of everything and frees it. Its process, if it still is one, is reaped as an orphan. */
static void free_exec(struct ag_exec *x)
{
    struct ag_loop *loop = &x->agent->loop;

    for (struct ag_exec **at = &x->agent->execs; *at; at = &(*at)->next)
        if (*at == x) {
            *at = x->next;
            break;
        }
    ag_loop_disarm(loop, &x->deadline);
    ag_loop_disarm(loop, &x->drain);
    close_input(x);
    ag_stream_close(&x->stream);
    ag_loop_close(loop, &x->out[0].watch);
    ag_loop_close(loop, &x->out[1].watch);
    free(x);
}

static void finish(struct ag_exec *x)
{
    uint8_t frame[PROTO_HEADER + 64];
    struct proto_exit end;
    struct proto_writer w;

    fill_exit(x, &end);
    if (x->stream.conn) {
        proto_frame_begin(&w, frame, sizeof(frame));
        proto_put_exit(&w, &end);
        int len = proto_frame_end(&w, x->stream.id, PROTO_EXEC_EXIT, 0);
        assert(len > 0);
        struct ag_conn *conn = x->stream.conn;
        close_input(x); /* last credits go before the end */
        ag_conn_send(conn, frame, (size_t)len);
    }
    if (x->job)
        ag_job_ended(x->agent, x->job, &end);
    free_exec(x);
}

static void finish_if_ended(struct ag_exec *x)
{
    if (x->is_exited && x->out[0].watch.fd < 0 && x->out[1].watch.fd < 0)
        finish(x);
}

/* --- output --- */
static void close_output(struct output *o)
{
    struct ag_exec *x = o->exec;

    if (is_pty(x))
        close_input(x);
    ag_loop_close(&x->agent->loop, &o->watch);
}

static void send_output(struct ag_exec *x, struct proto_writer *w, size_t n)
{
    w->len += n;
    int len = proto_frame_end(w, x->stream.id, PROTO_EXEC_OUTPUT, 0);
    assert(len > 0);
    x->stream.can_send -= (uint32_t)n;
    ag_conn_send(x->stream.conn, w->data, (size_t)len);
}

/* How much may be read from o now; 0: wait for credit. */
static size_t room_for(const struct output *o)
{
    const struct ag_exec *x = o->exec;
    size_t room = PROTO_PAYLOAD_MAX - 1;

    if (!x->job) {
        if (!x->stream.conn || ag_conn_is_full(x->stream.conn))
            return 0;
        room = room < x->stream.can_send ? room : x->stream.can_send;
    }
    return room;
}

static void watch_output(struct output *o)
{
    struct ag_exec *x = o->exec;
    uint32_t events = room_for(o) > 0 ? EPOLLIN : 0;

    if (o->watch.fd < 0)
        return;
    if (is_pty(x) && x->chunks)
        events |= EPOLLOUT;
    if (ag_loop_watch(&x->agent->loop, &o->watch, events) < 0)
        close_output(o); /* cannot be listened to: as good as closed */
}

/* Reads once. True when there may be more to read at once. */
static bool pump_once(struct output *o)
{
    struct ag_exec *x = o->exec;
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
    proto_frame_begin(&w, ag_conn_scratch(x->agent), PROTO_FRAME_MAX);
    proto_put_u8(&w, o->number);
    ssize_t n = read(o->watch.fd, w.data + w.len, room);
    if (n < 0 && (errno == EINTR || (errno == EAGAIN && !o->is_draining)))
        return false;
    if (n <= 0) { /* end of file; EIO is how a terminal says it */
        close_output(o);
        return false;
    }
    x->agent->is_scratch_dirty |= n > 4096;
    if (o->is_draining)
        o->left -= (size_t)n;
    if (x->job)
        ag_job_append(x->job, w.data + w.len, (size_t)n);
    else
        send_output(x, &w, (size_t)n);
    return true;
}

/* May end and free the command. */
static void pump(struct output *o)
{
    /* One read a turn keeps a flood from starving others; draining is bounded by what the pipe holds. */
    while (pump_once(o) && o->is_draining)
        ;
    watch_output(o);
    finish_if_ended(o->exec);
}

static void on_output(struct ag_watch *w, uint32_t events)
{
    struct output *o = CONTAINER(w, struct output, watch);

    if (is_pty(o->exec) && (events & EPOLLOUT))
        write_input(o->exec);
    if (o->watch.fd >= 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        pump(o);
}

/* The command is gone; background children may hold its pipes open for ever, so only what is in them now is taken. */
static void start_drain(struct ag_exec *x)
{
    for (int i = 0; i < 2; i++) {
        struct output *o = &x->out[i];
        int left = 0;
        if (o->watch.fd < 0 || o->is_draining)
            continue;
        o->is_draining = true;
        if (is_pty(x))
            o->left = PTY_DRAIN_MAX; /* the kernel does not count what is still on its way through the line */
        else if (ioctl(o->watch.fd, FIONREAD, &left) == 0 && left > 0)
            o->left = (size_t)left;
        while (pump_once(o))
            ;
        watch_output(o);
    }
    finish_if_ended(x);
}

static void on_drain(struct ag_timer *t)
{
    start_drain(CONTAINER(t, struct ag_exec, drain));
}

/* --- input --- */
static int input_fd(const struct ag_exec *x)
{
    return is_pty(x) ? x->out[0].watch.fd : x->in.fd;
}

static void watch_input(struct ag_exec *x)
{
    if (is_pty(x))
        watch_output(&x->out[0]);
    else if (x->in.fd >= 0 && ag_loop_watch(&x->agent->loop, &x->in, x->chunks ? EPOLLOUT : 0) < 0)
        close_input(x);
}

static void end_input(struct ag_exec *x)
{
    if (is_pty(x)) {
        (void)!write(input_fd(x), END_OF_INPUT, 1); /* a full line buffer has no room for it: nothing better exists */
        return;
    }
    close_input(x);
}

static void write_input(struct ag_exec *x)
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
        if (c->is_last)
            end_input(x);
        free(c);
    }
    watch_input(x);
}

static void on_input(struct ag_watch *w, uint32_t events)
{
    (void)events;
    write_input(CONTAINER(w, struct ag_exec, in));
}

static int queue_input(struct ag_exec *x, const struct chunk *like, const uint8_t *data, size_t len)
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

void ag_exec_input(struct ag_exec *x, struct ag_reply *r, const uint8_t *data, size_t len, bool is_last)
{
    struct chunk like = { .conn_serial = ag_conn_serial(r->conn), .reply_stream = r->stream, .is_last = is_last };

    if (!x->has_input)
        ag_reply_error(r, EPIPE, "write to stdin");
    else if (queue_input(x, &like, data, len) < 0)
        ag_reply_error(r, ENOMEM, "write to stdin");
}

/* --- frames of the stream --- */
static int take_stdin(struct ag_exec *x, const uint8_t *data, size_t len, bool is_last)
{
    struct chunk like = { .is_last = is_last };

    if (ag_stream_take(&x->stream, len) < 0)
        return -EBADMSG;
    if (!x->has_input) {
        ag_stream_credit(&x->stream, (uint32_t)len);
        return 0;
    }
    return queue_input(x, &like, data, len);
}

static int on_frame(struct ag_stream *s, uint16_t type, const uint8_t *data, size_t len)
{
    struct ag_exec *x = CONTAINER(s, struct ag_exec, stream);
    struct proto_reader r;

    proto_reader_init(&r, data, len);
    if (type == PROTO_EXEC_STDIN)
        return take_stdin(x, data, len, false);
    if (type == PROTO_EXEC_STDIN_CLOSE)
        return take_stdin(x, data, 0, true);
    if (type == PROTO_EXEC_SIGNAL) {
        ag_exec_signal(x, (int)proto_get_u32(&r));
        return 0;
    }
    if (type != PROTO_EXEC_RESIZE)
        return -EBADMSG;
    uint16_t cols = proto_get_u16(&r), rows = proto_get_u16(&r);
    if (is_pty(x) && x->out[0].watch.fd >= 0)
        ag_pty_resize(x->out[0].watch.fd, cols, rows);
    return 0;
}

static void on_ready(struct ag_stream *s)
{
    struct ag_exec *x = CONTAINER(s, struct ag_exec, stream);

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

static void on_drop(struct ag_stream *s)
{
    struct ag_exec *x = CONTAINER(s, struct ag_exec, stream);

    if (x->job)
        return;
    ag_tree_kill(x->pid, x->is_exited);
    free_exec(x);
}

static const struct ag_stream_ops exec_ops = { .on_frame = on_frame, .on_ready = on_ready, .on_drop = on_drop };

/* --- signals and time --- */
void ag_exec_signal(struct ag_exec *x, int signo)
{
    if (signo < 1 || signo > 64)
        return;
    if (signo == SIGKILL) {
        ag_tree_kill(x->pid, x->is_exited);
        return;
    }
    if (x->is_exited)
        return;
    (void)kill(-x->pid, signo);
    pid_t front = is_pty(x) && x->out[0].watch.fd >= 0 ? tcgetpgrp(x->out[0].watch.fd) : 0;
    if (front > 1 && front != x->pid)
        (void)kill(-front, signo); /* a job the shell on that terminal runs in front */
}

static void on_deadline(struct ag_timer *t)
{
    struct ag_exec *x = CONTAINER(t, struct ag_exec, deadline);

    x->is_timeout = true;
    x->flags &= ~(uint32_t)PROTO_WITH_WAIT_EOF;
    ag_tree_kill(x->pid, x->is_exited);
    if (x->is_exited)
        start_drain(x);
}

void ag_exec_interrupt(struct agent *a)
{
    for (struct ag_exec *x = a->execs; x; x = x->next)
        if (!x->job && !is_pty(x) && !x->is_exited)
            (void)kill(-x->pid, SIGINT);
}

static void on_exited(struct ag_exec *x)
{
    x->is_exited = true;
    x->exited_us = ag_loop_now_us();
    if (!(x->flags & PROTO_WITH_WAIT_EOF))
        ag_loop_disarm(&x->agent->loop, &x->deadline);
    if (x->flags & PROTO_WITH_WAIT_EOF)
        finish_if_ended(x);
    else if (is_pty(x) && x->out[0].watch.fd >= 0)
        ag_loop_arm(&x->agent->loop, &x->drain, PTY_DRAIN_MS);
    else
        start_drain(x);
}

void ag_exec_reap(struct agent *a)
{
    struct rusage usage;
    int status;

    for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &usage)) > 0;) {
        struct ag_exec *x = a->execs;
        while (x && (x->pid != pid || x->is_exited))
            x = x->next;
        if (!x)
            continue;
        x->status = status;
        x->usage = usage;
        on_exited(x);
    }
}

void ag_exec_end_all(struct agent *a)
{
    while (a->execs) {
        ag_tree_kill(a->execs->pid, a->execs->is_exited);
        free_exec(a->execs);
    }
}

/* --- start --- */
struct plan {
    uint32_t flags, timeout_ms;
    uint16_t cols, rows;
    const char *cwd, *user, *tag;
    char **strings; /* owns the arrays below */
    char **argv, **env;
    char *default_env[4];
    char home[264], host[80];
    struct ag_spawn_user who;
    int ours[3], theirs[3]; /* pipe ends; -EBADF where there is none */
};

static const char default_path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

static char *as_text(const char *s)
{
    return (char *)(uintptr_t)s; /* execve wants writable pointers and writes nothing */
}

static void use_default_env(struct plan *p)
{
    char name[65] = "";

    (void)gethostname(name, sizeof(name) - 1);
    (void)snprintf(p->home, sizeof(p->home), "HOME=%s", p->who.home[0] ? p->who.home : "/root");
    (void)snprintf(p->host, sizeof(p->host), "HOSTNAME=%s", name);
    p->default_env[0] = as_text(default_path);
    p->default_env[1] = p->home;
    p->default_env[2] = p->host;
    p->env = p->default_env;
}

static int read_strings(struct plan *p, struct proto_reader *r)
{
    uint32_t argc = proto_get_count(r, PROTO_ARGS_MAX);
    struct proto_reader rest = *r;

    for (uint32_t i = 0; i < argc; i++)
        (void)proto_get_str(&rest, PROTO_REQUEST_MAX);
    uint32_t envc = proto_get_count(&rest, PROTO_ARGS_MAX);
    bool has_env = envc != PROTO_NO_STRS;
    /* One spare place before argv for ag_spawn. */
    p->strings = calloc((size_t)argc + 2 + (has_env ? envc + 1u : 0), sizeof(char *));
    if (!p->strings)
        return -ENOMEM;
    p->argv = p->strings + 1;
    for (uint32_t i = 0; i < argc; i++)
        p->argv[i] = as_text(proto_get_str(r, PROTO_REQUEST_MAX));
    (void)proto_get_count(r, PROTO_ARGS_MAX);
    if (!has_env)
        return 0;
    p->env = p->argv + argc + 1;
    for (uint32_t i = 0; i < envc; i++)
        p->env[i] = as_text(proto_get_str(r, PROTO_REQUEST_MAX));
    return 0;
}

/* The layout was checked before; only memory can be short. */
static int read_plan(struct plan *p, const uint8_t *data, size_t len)
{
    struct proto_reader r;

    proto_reader_init(&r, data, len);
    p->flags = proto_get_u32(&r);
    p->cols = proto_get_u16(&r);
    p->rows = proto_get_u16(&r);
    p->timeout_ms = proto_get_u32(&r);
    p->cwd = proto_get_str(&r, PROTO_PATH_MAX);
    p->user = proto_get_str(&r, PROTO_REQUEST_MAX);
    p->tag = proto_get_str(&r, PROTO_TAG_MAX);
    if (p->cwd[0] == '\0')
        p->cwd = "/";
    return read_strings(p, &r);
}

static int open_pipe(int *read_end, int *write_end)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    *read_end = fds[0];
    *write_end = fds[1];
    return 0;
}

static int open_pipes(struct plan *p)
{
    int r = 0;

    if (p->flags & PROTO_WITH_STDIN)
        r = open_pipe(&p->theirs[0], &p->ours[0]);
    else if ((p->theirs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
        r = -errno;
    if (r == 0)
        r = open_pipe(&p->ours[1], &p->theirs[1]);
    if (r == 0 && !(p->flags & PROTO_WITH_MERGE))
        r = open_pipe(&p->ours[2], &p->theirs[2]);
    for (int i = 0; i < 3 && r == 0; i++)
        if (p->ours[i] >= 0 && fcntl(p->ours[i], F_SETFL, O_NONBLOCK) < 0)
            r = -errno;
    return r;
}

static int open_plan(struct plan *p)
{
    if (p->flags & PROTO_WITH_PTY)
        return ag_pty_open(p->cols, p->rows, &p->ours[1], &p->theirs[0]);
    return open_pipes(p);
}

static void close_ends(int *ends)
{
    for (int i = 0; i < 3; i++)
        if (ends[i] >= 0) {
            (void)close(ends[i]);
            ends[i] = -EBADF;
        }
}

static const char *path_of(char **env)
{
    for (; *env; env++)
        if (strncmp(*env, "PATH=", 5) == 0)
            return *env + 5;
    return default_path + 5;
}

static pid_t spawn(struct plan *p, const char **failed_step)
{
    struct ag_spawn s = {
        .argv = p->argv,
        .env = p->env,
        .cwd = p->cwd,
        .path = path_of(p->env),
        .user = p->user[0] ? &p->who : NULL,
        .is_pty = p->flags & PROTO_WITH_PTY,
        .fds = { p->theirs[0], p->theirs[1], p->theirs[2] },
    };

    if (s.is_pty)
        s.fds[1] = s.fds[2] = s.fds[0];
    else if (p->flags & PROTO_WITH_MERGE)
        s.fds[2] = s.fds[1];
    pid_t pid = ag_spawn_run(&s);
    *failed_step = s.failed_step;
    return pid;
}

static void watch_all(struct ag_exec *x, struct plan *p)
{
    for (int i = 0; i < 2; i++) {
        x->out[i] = (struct output){ .exec = x, .number = (uint8_t)(i + 1) };
        x->out[i].watch = (struct ag_watch){ .fd = p->ours[i + 1], .fn = on_output };
        p->ours[i + 1] = -EBADF;
    }
    x->in = (struct ag_watch){ .fd = p->ours[0], .fn = on_input };
    p->ours[0] = -EBADF;
    x->has_input = is_pty(x) || x->in.fd >= 0;
    watch_output(&x->out[0]);
    watch_output(&x->out[1]);
}

static void announce(struct ag_exec *x, struct ag_reply *r)
{
    uint8_t frame[PROTO_HEADER + 4];
    struct proto_writer w;

    proto_frame_begin(&w, frame, sizeof(frame));
    proto_put_u32(&w, (uint32_t)x->pid);
    int len = proto_frame_end(&w, r->stream, PROTO_EXEC_STARTED, 0);
    assert(len > 0);
    ag_conn_send(r->conn, frame, (size_t)len);
}

/* Sentences that say what to do about the usual failures. */
static void explain(struct ag_reply *r, const struct plan *p, int error, const char *step)
{
    if (strcmp(step, "exec") == 0)
        ag_reply_error(r, error, "exec %s", p->argv[0]);
    else if (strcmp(step, "chdir") == 0)
        ag_reply_error(r, error, "change to directory %s", p->cwd);
    else if (strcmp(step, "fork") == 0)
        ag_reply_error(r, error, "start %s: no process left in the sandbox (end some, or raise its limit)", p->argv[0]);
    else
        ag_reply_error(r, error, "start %s: %s", p->argv[0], step);
}

/* Everything is resolved: make the process and its record. */
static void launch(struct ag_reply *r, struct plan *p, struct ag_job *job)
{
    const char *step = NULL;
    struct ag_exec *x = calloc(1, sizeof(*x));
    int error = x ? -open_plan(p) : ENOMEM;

    if (error == 0) {
        x->started_us = ag_loop_now_us();
        x->pid = spawn(p, &step);
        error = x->pid < 0 ? -x->pid : 0;
    }
    close_ends(p->theirs);
    if (error) {
        close_ends(p->ours);
        if (job)
            ag_job_abandon(r->agent, job);
        free(x);
        explain(r, p, error, step ? step : "open pipes");
        return;
    }
    x->agent = r->agent;
    x->job = job;
    x->flags = p->flags;
    x->deadline.fn = on_deadline;
    x->drain.fn = on_drain;
    x->next = r->agent->execs;
    r->agent->execs = x;
    ag_stream_open(&x->stream, r->conn, r->stream, &exec_ops);
    if (job)
        ag_job_started(job, x);
    watch_all(x, p);
    if (p->timeout_ms)
        ag_loop_arm(&r->agent->loop, &x->deadline, p->timeout_ms);
    announce(x, r);
}

void ag_exec_start(struct ag_reply *r, const uint8_t *data, size_t len)
{
    struct plan p = { .ours = { -EBADF, -EBADF, -EBADF }, .theirs = { -EBADF, -EBADF, -EBADF } };
    struct ag_job *job = NULL;
    int error = -read_plan(&p, data, len);

    if (error)
        ag_reply_error(r, error, "start a command");
    else if (p.cwd[0] != '/')
        error = EINVAL, ag_reply_error(r, EINVAL, "directory %s: not an absolute path", p.cwd);
    else if (p.user[0] && (error = -ag_spawn_user(p.user, &p.who)))
        ag_reply_error(r, error, "user %s: no such user, or not uid[:gid]", p.user);
    else if ((p.flags & PROTO_WITH_LOG) && (error = -ag_job_new(r->agent, p.tag, &job)))
        ag_reply_error(r, error, "job %s", p.tag);
    if (!error) {
        if (!p.env)
            use_default_env(&p);
        launch(r, &p, job);
    }
    free(p.strings);
}
