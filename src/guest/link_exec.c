/* Commands: one stream each, from EXEC_START to EXEC_EXIT. The guest sends STARTED once, then output within the
 * window, then the exit; any other order breaks the link. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "guest/link_core.h"

#define SAME(a, b) ((int)(a) == (int)(b))
_Static_assert(SAME(GUEST_EXEC_STDIN, PROTO_WITH_STDIN) && SAME(GUEST_EXEC_PTY, PROTO_WITH_PTY) &&
                   SAME(GUEST_EXEC_LOG, PROTO_WITH_LOG) && SAME(GUEST_EXEC_MERGE, PROTO_WITH_MERGE) &&
                   SAME(GUEST_EXEC_WAIT_EOF, PROTO_WITH_WAIT_EOF) && SAME(GUEST_EXEC_MARKS, PROTO_WITH_MARKS) &&
                   SAME(GUEST_EXEC_SFTP, PROTO_WITH_SFTP) && SAME(GUEST_WINDOW, PROTO_WINDOW),
               "flags and window go over the wire as they are");

#define FLAGS_ALL                                                                                                     \
    (GUEST_EXEC_STDIN | GUEST_EXEC_PTY | GUEST_EXEC_LOG | GUEST_EXEC_MERGE | GUEST_EXEC_WAIT_EOF | GUEST_EXEC_MARKS | \
     GUEST_EXEC_SFTP)

struct guest_exec {
    struct link_stream s;
    struct guest_exec_events ev;
    void *arg;
    struct link_flow flow;
    unsigned flags;
    bool has_started, is_stdin_closed, has_limit;
};

static void exec_fail(struct link_stream *s, const struct err *err)
{
    struct guest_exec x = *(struct guest_exec *)s;
    free(s);
    if (x.ev.on_failed)
        x.ev.on_failed(x.arg, err);
}

static int exec_frame(struct link_stream *s, const struct proto_header *h, const uint8_t *payload)
{
    struct guest_exec *x = (struct guest_exec *)s;
    struct proto_reader r;
    if (link_failed(s, h, payload))
        return 0;
    if (h->type == PROTO_CREDIT)
        return link_flow_credited(&x->flow, payload, h->length);
    proto_reader_init(&r, payload, h->length);
    if (h->type == PROTO_EXEC_STARTED) {
        uint32_t pid = proto_get_u32(&r);
        if (x->has_started || pid == 0 || pid > INT_MAX)
            return -EBADMSG;
        x->has_started = true;
        if (!x->has_limit)
            link_time_limit(s, 0);
        if (x->ev.on_started)
            x->ev.on_started(x->arg, (int)pid);
        return 0;
    }
    if (!x->has_started)
        return -EBADMSG;
    if (h->type == PROTO_EXEC_OUTPUT) {
        uint8_t fd = proto_get_u8(&r);
        size_t len;
        const uint8_t *data = proto_get_rest(&r, &len);
        if ((fd != 1 && fd != 2) || (x->flags & GUEST_EXEC_LOG) || link_flow_take(&x->flow, len) < 0)
            return -EBADMSG;
        if (x->ev.on_output)
            x->ev.on_output(x->arg, fd, (const char *)data, len);
        else
            link_flow_credit(s, &x->flow, len);
        return 0;
    }
    struct guest_exit ex;
    if (h->type != PROTO_EXEC_EXIT || !link_exit_get(&r, &ex))
        return -EBADMSG;
    link_close(s);
    struct guest_exec over = *x;
    free(x);
    if (over.ev.on_exit)
        over.ev.on_exit(over.arg, &ex);
    return 0;
}

static void exec_room(struct link_stream *s)
{
    link_flow_wake(&((struct guest_exec *)s)->flow);
}

/* Its user holds output that it has not consumed yet, and the exit waits behind it. */
static bool exec_is_users_turn(const struct link_stream *s)
{
    const struct guest_exec *x = (const struct guest_exec *)s;
    return x->has_started && x->flow.in_held > 0;
}

/* The agent should have killed it; the caller gets what the agent would have sent. */
static void exec_late(struct link_stream *s, const struct err *err)
{
    struct guest_exec x = *(struct guest_exec *)s;
    const struct guest_exit ex = { .code = 137, .signal = 9, .is_timeout = true, .is_silent = true };
    if (!x.has_started || !x.ev.on_exit) {
        exec_fail(s, err);
        return;
    }
    free(s);
    x.ev.on_exit(x.arg, &ex);
}

static const struct link_kind exec_kind = { .name = "exec",
                                            .on_frame = exec_frame,
                                            .on_fail = exec_fail,
                                            .on_room = exec_room,
                                            .is_users_turn = exec_is_users_turn,
                                            .on_late = exec_late };

/* --- starting --- */

static uint32_t strs_count(const char *const *list)
{
    uint32_t n = 0;
    while (list[n] && n <= PROTO_ARGS_MAX)
        n++;
    return n;
}

void link_strs_put(struct proto_writer *w, const char *const *list)
{
    uint32_t n = list ? strs_count(list) : PROTO_NO_STRS;
    proto_put_u32(w, n);
    for (uint32_t i = 0; list && i < n; i++)
        proto_put_str(w, list[i]);
}

int link_exec_check(const struct guest_exec_plan *plan, struct err *err)
{
    size_t tag_len = plan->tag ? strlen(plan->tag) : 0;
    if (!plan->argv || !plan->argv[0])
        return err_set(err, ERR_INVALID, 0, "the command is empty: give at least a program");
    if (strs_count(plan->argv) > PROTO_ARGS_MAX || (plan->env && strs_count(plan->env) > PROTO_ARGS_MAX))
        return err_set(err, ERR_TOO_LARGE, 0, "more than %u arguments or environment variables", PROTO_ARGS_MAX);
    if (plan->cwd && plan->cwd[0] && plan->cwd[0] != '/')
        return err_set(err, ERR_INVALID, 0, "the working directory must be an absolute path, not '%.100s'", plan->cwd);
    if ((plan->cwd && strlen(plan->cwd) > PROTO_PATH_MAX) || (plan->user && strlen(plan->user) > PROTO_PATH_MAX))
        return err_set(err, ERR_INVALID, 0, "the working directory or user is longer than %u bytes", PROTO_PATH_MAX);
    if (plan->flags & ~(unsigned)FLAGS_ALL)
        return err_set(err, ERR_INVALID, 0, "unknown exec flags 0x%x", plan->flags);
    if ((plan->flags & GUEST_EXEC_LOG) && (tag_len == 0 || tag_len > PROTO_TAG_MAX))
        return err_set(err, ERR_INVALID, 0, "a durable command needs a tag of 1 to %u bytes", PROTO_TAG_MAX);
    return 0;
}

size_t link_exec_size(const struct guest_exec_plan *plan)
{
    return 64 + link_strs_size(plan->argv) + link_strs_size(plan->env) + (plan->cwd ? strlen(plan->cwd) : 0) +
           (plan->user ? strlen(plan->user) : 0) + (plan->flags & GUEST_EXEC_LOG ? strlen(plan->tag) : 0);
}

void link_exec_put(struct proto_writer *w, const struct guest_exec_plan *plan)
{
    proto_put_u32(w, plan->flags);
    proto_put_u16(w, plan->cols);
    proto_put_u16(w, plan->rows);
    proto_put_u32(w, plan->timeout_ms);
    proto_put_str(w, plan->cwd);
    proto_put_str(w, plan->user);
    proto_put_str(w, plan->flags & GUEST_EXEC_LOG ? plan->tag : "");
    link_strs_put(w, plan->argv);
    link_strs_put(w, plan->env);
}

static int send_plan(struct guest_link *g, struct guest_exec *x, const struct guest_exec_plan *plan, struct err *err)
{
    size_t size = link_exec_size(plan);
    if (size > PROTO_REQUEST_MAX)
        return err_set(err, ERR_TOO_LARGE, 0,
                       "the command with its environment takes %zu bytes, the limit is %u: pass large input by a file",
                       size, PROTO_REQUEST_MAX);
    CLEANUP(free_p) uint8_t *mem = try_alloc(size);
    if (!mem)
        return err_set(err, ERR_CAPACITY, ENOMEM, "exec");
    struct proto_writer w;
    proto_writer_init(&w, mem, size);
    link_exec_put(&w, plan);
    int r = link_request(g, &x->s, PROTO_EXEC_START, &w, NULL, 0);
    if (r == -EPIPE)
        return err_set(err, ERR_UPSTREAM, EPIPE, "exec: the sandbox's agent has exited");
    if (r == -EBUSY)
        return err_set(err, ERR_CAPACITY, 0, "exec: too many calls are queued for this sandbox: try again later");
    return r < 0 ? err_set(err, ERR_INVALID, -r, "exec") : 0;
}

int guest_exec_start(struct guest_link *g, const struct guest_exec_plan *plan, const struct guest_exec_events *ev,
                     void *arg, struct guest_exec **ret, struct err *err)
{
    int r = link_exec_check(plan, err);
    if (r < 0)
        return r;
    if (plan->flags & GUEST_EXEC_SFTP && !link_can(g, PROTO_CAP_SFTP))
        return err_set(err, ERR_UNSUPPORTED, EOPNOTSUPP,
                       "SFTP needs an agent of this release: stop and start the sandbox");
    struct guest_exec *x = xzalloc(sizeof(*x));
    *x = (struct guest_exec){ .s.kind = &exec_kind, .ev = *ev, .arg = arg, .flags = plan->flags };
    link_flow_init(&x->flow);
    r = send_plan(g, x, plan, err);
    if (r < 0) {
        free(x);
        return r;
    }
    x->has_limit = plan->timeout_ms && !(plan->flags & GUEST_EXEC_LOG); /* a durable one only has to start here */
    if (x->has_limit)
        link_time_limit(&x->s, plan->timeout_ms);
    if (ret)
        *ret = x;
    return 0;
}

/* --- while it runs --- */

void guest_exec_credit(struct guest_exec *x, size_t bytes)
{
    link_flow_credit(&x->s, &x->flow, bytes);
}

size_t guest_exec_write(struct guest_exec *x, const char *data, size_t len)
{
    if (!(x->flags & (GUEST_EXEC_STDIN | GUEST_EXEC_PTY)) || x->is_stdin_closed)
        return 0;
    return link_flow_send(&x->s, &x->flow, PROTO_EXEC_STDIN, data, len);
}

void guest_exec_on_writable(struct guest_exec *x, loop_fn *fn, void *arg)
{
    x->flow.on_writable = fn;
    x->flow.arg = arg;
}

void guest_exec_close_stdin(struct guest_exec *x)
{
    if (!x->is_stdin_closed)
        link_post(&x->s, PROTO_EXEC_STDIN_CLOSE, NULL, NULL, 0);
    x->is_stdin_closed = true;
}

void guest_exec_signal(struct guest_exec *x, int signo)
{
    uint8_t mem[4];
    struct proto_writer w;
    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_u32(&w, (uint32_t)signo);
    link_post(&x->s, PROTO_EXEC_SIGNAL, &w, NULL, 0);
}

void guest_exec_resize(struct guest_exec *x, uint16_t cols, uint16_t rows)
{
    uint8_t mem[4];
    struct proto_writer w;
    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_u16(&w, cols);
    proto_put_u16(&w, rows);
    link_post(&x->s, PROTO_EXEC_RESIZE, &w, NULL, 0);
}

void guest_exec_drop(struct guest_exec *x)
{
    link_drop(&x->s);
    free(x);
}
