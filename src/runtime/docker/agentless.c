/* Theory of operation. Stands in for the agent at the other end of the host's link (a socket pair). Each EXEC_START
 * becomes one exec of the engine: created, then started with its output attached (mux.h). A `struct run` is one such
 * command; struct docker_agentless owns the runs, and each ends with EXEC_EXIT or ERROR.
 *
 * The host's credit is enforced by holding the engine's connection. The engine cannot signal an exec, so each command
 * has a unique variable in its environment, and a second exec, of the image's shell, kills every process that has it. A
 * command that outlives that by LATE_MS is answered without it and ends with its container.
 *
 * All other requests are answered as unsupported. The end of the container closes the link, as the end of an agent
 * would. */
#include "runtime/docker/agentless.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/ident.h"
#include "base/list.h"
#include "guest/proto.h"
#include "runtime/agent_end.h"
#include "runtime/docker/messages.h"
#include "runtime/docker/mux.h"

#define OUT_MAX     (16u << 20)
#define MARK        "III_EXEC_MARK"
#define EXIT_KILLED 137u
#define PIECE_MAX   32768u
#define LATE_MS     3000 /* from the attempt to kill a command to the answer without it */
#define ASK_MS      50
#define ASK_MAX     100

static const char why_not[] =
    "this sandbox has no agent (see \"withoutAgent\" in its record): only commands without input work";

struct run {
    struct run *next;
    struct docker_agentless *p;
    uint32_t stream, flags;
    char exec_id[DOCKER_MESSAGES_ID_MAX];
    char mark[IDENT_MAX];
    struct docker_call *call;
    struct timer *deadline, *again;
    char *user;
    unsigned n_asked;
    struct docker_mux blocks; /* output that waits for credit */
    int64_t began_us;
    uint32_t credit;
    bool is_late, is_output_done;
};

struct docker_agentless {
    struct docker_call_set *calls;
    char container[DOCKER_MESSAGES_ID_MAX];
    struct agent_end host;
    struct docker_call *end; /* waits for the container's end */
    struct run *runs;
};

/* --- a command --- */

static struct run *run_find(struct docker_agentless *p, uint32_t stream)
{
    struct run *r = p->runs;
    while (r && r->stream != stream)
        r = r->next;
    return r;
}

static void run_free(struct run *r)
{
    LIST_TAKE(r->p->runs, r);
    if (r->call)
        docker_call_cancel(r->call);
    timer_free(r->deadline);
    timer_free(r->again);
    docker_mux_done(&r->blocks);
    free(r->user);
    free(r);
}

static struct docker_call *engine_call(struct docker_agentless *p, const char *method, const char *path,
                                       const json_t *body, docker_call_fn *fn, void *arg)
{
    struct docker_call_request req = { .method = method, .path = path, .body = body, .what = "run a command" };
    return docker_call_start(p->calls, &req, fn, arg);
}

static void send_exit(struct run *r, uint32_t code)
{
    uint8_t mem[128];
    struct proto_writer w;
    struct proto_exit x = { .code = r->is_late ? EXIT_KILLED : code,
                            .signal = r->is_late ? SIGKILL : 0,
                            .flags = r->is_late ? PROTO_EXIT_TIMEOUT : 0,
                            .wall_us = (uint64_t)(clock_mono_us() - r->began_us) };
    proto_frame_begin(&w, mem, sizeof(mem));
    proto_put_exit(&w, &x);
    agent_end_send(&r->p->host, &w, r->stream, PROTO_EXEC_EXIT);
    run_free(r);
}

static void ask_code(struct run *r);

static void run_on_again(void *arg)
{
    struct run *r = arg;
    r->again = timer_free(r->again);
    ask_code(r);
}

static void run_on_code(void *arg, json_t *body, const struct err *err)
{
    struct run *r = arg;
    r->call = NULL;
    if (docker_call_is_over(err))
        run_free(r);
    else if (!err && json_get_bool(body, "Running", false) && r->n_asked++ < ASK_MAX)
        r->again = timer_new(r->p->calls->loop, ASK_MS, 0, run_on_again,
                             r); /* its output ends slightly before the exec does */
    else if (err) {
        agent_end_send_error(&r->p->host, r->stream, EIO, err->msg);
        run_free(r);
    } else {
        send_exit(r, (uint32_t)json_get_int(body, "ExitCode", EXIT_KILLED));
    }
}

static void ask_code(struct run *r)
{
    CLEANUP(free_p) char *path = xasprintf("/exec/%s/json", r->exec_id);
    r->call = engine_call(r->p, "GET", path, NULL, run_on_code, r);
}

static void signal_run(struct run *r, uint32_t signo);

static void run_give_up(struct run *r, const char *why)
{
    signal_run(r, SIGKILL);
    agent_end_send_error(&r->p->host, r->stream, EIO, why);
    run_free(r);
}

/* Sends as much as the host's credit allows; the engine's connection is held for the rest. */
static void run_pump(struct run *r)
{
    uint8_t mem[PROTO_HEADER + 1 + PIECE_MAX];
    struct proto_writer w;
    struct docker_mux_piece piece;
    int n;
    while ((n = docker_mux_next(&r->blocks, r->credit < PIECE_MAX ? r->credit : PIECE_MAX, &piece)) > 0) {
        proto_frame_begin(&w, mem, sizeof(mem));
        proto_put_u8(&w, piece.is_stderr && !(r->flags & PROTO_WITH_MERGE) ? 2 : 1);
        proto_put_data(&w, piece.data, piece.len);
        agent_end_send(&r->p->host, &w, r->stream, PROTO_EXEC_OUTPUT);
        r->credit -= (uint32_t)piece.len;
        docker_mux_take(&r->blocks, piece.len);
    }
    if (n < 0) {
        run_give_up(r, "the engine's response to an exec does not match its API");
        return;
    }
    if (r->call && !r->is_output_done)
        docker_call_hold(r->call, docker_mux_is_full(&r->blocks));
    bool is_waiting = docker_mux_next(&r->blocks, 1, &piece) > 0; /* for credit */
    if (r->is_output_done && !r->call && !r->again && !is_waiting)
        ask_code(r);
}

static void on_bytes(void *arg, const char *data, size_t len)
{
    struct run *r = arg;
    if (docker_mux_add(&r->blocks, data, len) < 0)
        run_give_up(r, "the engine does not stop sending an exec's output");
    else
        run_pump(r);
}

static void on_output_done(void *arg, json_t *body, const struct err *err)
{
    struct run *r = arg;
    (void)body;
    r->call = NULL;
    r->is_output_done = true;
    if (docker_call_is_over(err)) {
        run_free(r);
    } else if (err) {
        agent_end_send_error(&r->p->host, r->stream, err->code == ERR_INVALID ? ENOENT : EIO, err->msg);
        run_free(r);
    } else {
        run_pump(r);
    }
}

static void on_exec_made(void *arg, json_t *body, const struct err *err)
{
    struct run *r = arg;
    struct err why = ERR_INIT;
    r->call = NULL;
    if (err || docker_messages_id(body, "Id", r->exec_id, &why) < 0) {
        if (!docker_call_is_over(err))
            agent_end_send_error(&r->p->host, r->stream, EIO, err ? err->msg : why.msg);
        run_free(r);
        return;
    }
    CLEANUP(free_p) char *path = xasprintf("/exec/%s/start", r->exec_id);
    JSON_OWNED how = json_pack("{s:b, s:b}", "Detach", 0, "Tty", 0);
    struct docker_call_request req = {
        .method = "POST", .path = path, .body = how, .what = "run a command", .timeout_ms = -1, .on_bytes = on_bytes
    };
    agent_end_send_number(&r->p->host, r->stream, PROTO_EXEC_STARTED,
                          1); /* the engine does not report the pid inside */
    r->call = docker_call_start(r->p->calls, &req, on_output_done, r);
}

/* --- killing a command --- */

static void on_killer_started(void *arg, json_t *body, const struct err *err)
{
    (void)arg;
    (void)body;
    (void)err; /* an image without a shell: the processes end with the container */
}

static void on_killer_made(void *arg, json_t *body, const struct err *err)
{
    struct docker_call_set *calls = arg;
    char id[DOCKER_MESSAGES_ID_MAX];
    if (err || docker_messages_id(body, "Id", id, NULL) < 0)
        return;
    CLEANUP(free_p) char *path = xasprintf("/exec/%s/start", id);
    JSON_OWNED how = json_pack("{s:b, s:b}", "Detach", 1, "Tty", 0);
    struct docker_call_request req = { .method = "POST", .path = path, .body = how, .what = "end a command" };
    (void)docker_call_start(calls, &req, on_killer_started, NULL);
}

static void signal_run(struct run *r, uint32_t signo)
{
    static const char script[] = "for p in /proc/[0-9]*; do case \"$(cat $p/environ 2>/dev/null)\" in *" MARK "=$1*) "
                                 "[ ${p#/proc/} = $$ ] || kill -$2 ${p#/proc/};; esac; done";
    CLEANUP(free_p) char *path = xasprintf("/containers/%s/exec", r->p->container);
    CLEANUP(free_p) char *number = xasprintf("%u", signo);
    JSON_OWNED body =
        json_pack("{s:s, s:[s,s,s,s,s,s]}", "User", r->user, "Cmd", "/bin/sh", "-c", script, "sh", r->mark, number);
    struct docker_call_request req = { .method = "POST", .path = path, .body = body, .what = "end a command" };
    (void)docker_call_start(r->p->calls, &req, on_killer_made, r->p->calls);
}

static void run_on_deadline(void *arg)
{
    struct run *r = arg;
    if (r->is_late) { /* nothing in the image could kill it */
        send_exit(r, EXIT_KILLED);
        return;
    }
    r->is_late = true;
    signal_run(r, SIGKILL);
    timer_set(r->deadline, LATE_MS, 0);
}

/* --- frames of the host --- */

static json_t *get_strs(struct proto_reader *in)
{
    json_t *list = json_array();
    uint32_t n = proto_get_count(in, PROTO_ARGS_MAX);
    for (uint32_t i = 0; n != PROTO_NO_STRS && i < n; i++) {
        const char *text = proto_get_str(in, PROTO_REQUEST_MAX);
        (void)json_array_append_new(list, json_text(text, strlen(text)));
    }
    return list;
}

static void start_run(struct docker_agentless *p, uint32_t stream, struct proto_reader *in)
{
    uint32_t flags = proto_get_u32(in);
    (void)proto_get_u32(in); /* terminal size, unused */
    uint32_t timeout_ms = proto_get_u32(in);
    const char *cwd = proto_get_str(in, PROTO_PATH_MAX), *user = proto_get_str(in, PROTO_PATH_MAX);
    (void)proto_get_str(in, PROTO_TAG_MAX);
    JSON_OWNED argv = get_strs(in);
    JSON_OWNED env = get_strs(in);
    if (proto_reader_end(in) < 0 || run_find(p, stream) ||
        flags & (PROTO_WITH_STDIN | PROTO_WITH_PTY | PROTO_WITH_LOG)) {
        agent_end_send_error(&p->host, stream, ENOSYS, why_not);
        return;
    }
    struct run *r = xzalloc(sizeof(*r));
    *r = (struct run){ .p = p, .next = p->runs, .stream = stream, .flags = flags, .credit = PROTO_WINDOW };
    p->runs = r;
    r->began_us = clock_mono_us();
    r->user = xstrdup(*user ? user : "0:0");
    docker_mux_init(&r->blocks);
    ident_new("run", r->mark);
    CLEANUP(free_p) char *mark = xasprintf(MARK "=%s", r->mark);
    (void)json_array_append_new(env, json_string(mark));
    if (timeout_ms)
        r->deadline = timer_new(p->calls->loop, timeout_ms, 0, run_on_deadline, r);
    CLEANUP(free_p) char *path = xasprintf("/containers/%s/exec", p->container);
    JSON_OWNED body = json_pack("{s:b, s:b, s:b, s:O, s:O, s:s, s:s}", "AttachStdout", 1, "AttachStderr", 1, "Tty", 0,
                                "Cmd", argv, "Env", env, "WorkingDir", *cwd ? cwd : "/", "User", r->user);
    r->call = engine_call(p, "POST", path, body, on_exec_made, r);
}

static void on_frame(void *arg, const struct proto_header *h, struct proto_reader *in)
{
    struct docker_agentless *p = arg;
    struct run *r = run_find(p, h->stream);
    if (h->type == PROTO_EXEC_START)
        start_run(p, h->stream, in);
    else if (h->type == PROTO_PING || h->type == PROTO_HOSTNAME || h->type == PROTO_RESEED)
        agent_end_send_done(&p->host, h->stream); /* the engine's host keeps clock and entropy */
    else if (proto_is_request(h->type))
        agent_end_send_error(&p->host, h->stream, ENOSYS, why_not);
    else if (r && h->type == PROTO_CREDIT) {
        r->credit += proto_get_u32(in);
        run_pump(r);
    } else if (r && h->type == PROTO_EXEC_SIGNAL) {
        signal_run(r, proto_get_u32(in));
    } else if (r && h->type == PROTO_DROP) {
        signal_run(r, SIGKILL);
        run_free(r);
    }
}

static void container_on_end(void *arg, json_t *body, const struct err *err)
{
    struct docker_agentless *p = arg;
    (void)body;
    p->end = NULL;
    if (!docker_call_is_over(err))
        agent_end_shut(&p->host); /* looks like the end of an agent. An engine that is unreachable ends it as well */
}

int docker_agentless_new(struct docker_call_set *calls, const char *container, struct docker_agentless **ret,
                         int *ret_fd, struct err *err)
{
    struct docker_agentless *p = xzalloc(sizeof(*p));
    p->calls = calls;
    (void)snprintf(p->container, sizeof(p->container), "%s", container);
    int r = agent_end_open(&p->host, calls->loop, on_frame, p, ret_fd, err);
    if (r < 0) {
        free(p);
        return r;
    }
    CLEANUP(free_p) char *path = xasprintf("/containers/%s/wait?condition=not-running", p->container);
    struct docker_call_request req = { .method = "POST", .path = path, .what = "watch a container", .timeout_ms = -1 };
    p->end = docker_call_start(calls, &req, container_on_end, p);
    *ret = p;
    return 0;
}

struct docker_agentless *docker_agentless_free(struct docker_agentless *p)
{
    if (!p)
        return NULL;
    while (p->runs)
        run_free(p->runs);
    if (p->end)
        docker_call_cancel(p->end);
    agent_end_close(&p->host);
    free(p);
    return NULL;
}
