#include "vm/tool_call.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/list.h"
#include "os/seqsock.h"

#define RETRY_MS 20
#define LAST_MS  12000 /* longer than a kill takes */
#define TURN_MS                                                                                                       \
    60000 /* a VM that cannot be started for this long is refused; all other requests wait, because they must be done \
           */

struct vm_tool_call {
    struct vm_tool_call *next;
    struct vm_tool_call_set *set;
    int fd, pidfd;
    pid_t pid;  /* of the tool, once it runs */
    int theirs; /* the tool's end of the socket, until the tool is started */
    struct watch *watch;
    struct timer *refusal; /* fires when the request has failed, or when it may try to start the tool again */
    int64_t ends_ms;       /* until when it waits for a free slot; 0: forever */
    struct err err;
    vm_tool_call_fn *fn;
    void *arg;
};

static void vm_tool_call_free(struct vm_tool_call *c)
{
    LIST_TAKE(c->set->first, c);
    watch_free(c->watch);
    timer_free(c->refusal);
    close_fd_p(&c->fd); /* the tool has replied */
    close_fd_p(&c->theirs);
    if (c->pidfd >= 0) {
        siginfo_t info;
        (void)waitid(P_PIDFD, (id_t)c->pidfd, &info, WEXITED); /* it exits after its reply */
        (void)close(c->pidfd);
    }
    free(c);
}

/* Reads the reply; the socket is readable. */
static int reply_read(struct vm_tool_call *c, struct vm_tool_wire_reply *reply, int fds[VM_TOOL_WIRE_REPLY_FDS],
                      struct err *err)
{
    size_t n_fds = 0;
    memset(fds, 0xff, VM_TOOL_WIRE_REPLY_FDS * sizeof(*fds));
    ssize_t n = seqsock_recv(c->fd, reply, sizeof(*reply), fds, VM_TOOL_WIRE_REPLY_FDS, &n_fds);
    if (n != (ssize_t)sizeof(*reply) || reply->version != VM_TOOL_WIRE_VERSION)
        return err_set(err, ERR_INTERNAL, EPIPE, "the VM tool exited without a response");
    reply->text[sizeof(reply->text) - 1] = '\0';
    if (reply->result < 0)
        return err_set(err, reply->code < ERR_COUNT ? (enum err_code)reply->code : ERR_INTERNAL, 0, "%s", reply->text);
    return 0;
}

static void call_on_reply(void *arg, int events)
{
    struct vm_tool_call *c = arg;
    struct vm_tool_wire_reply reply = { 0 };
    struct err err = ERR_INIT;
    int fds[VM_TOOL_WIRE_REPLY_FDS];
    (void)events;
    int r = reply_read(c, &reply, fds, &err);
    vm_tool_call_fn *fn = c->fn;
    void *to = c->arg;
    vm_tool_call_free(c);
    if (fn)
        fn(to, r < 0 ? NULL : &reply, fds, r < 0 ? &err : NULL);
    else
        seqsock_close_all(fds, VM_TOOL_WIRE_REPLY_FDS); /* nobody waits for them */
}

/* -EAGAIN: the limit of concurrent tools is reached. The request waits in the socket. */
static int start_tool(struct vm_tool_call *c)
{
    int r = keeper_run(c->set->keeper, c->set->job, c->theirs, &c->pid, &c->pidfd, &c->err);
    if (r == -EAGAIN)
        return r;
    close_fd_p(&c->theirs);
    c->theirs = NO_FD;
    if (r >= 0 && (r = watch_new(c->set->loop, c->fd, LOOP_READ, call_on_reply, c, &c->watch)) < 0)
        (void)err_sys(&c->err, r, "wait for the VM tool");
    return r;
}

static void on_refusal(void *arg)
{
    struct vm_tool_call *c = arg;
    if (c->theirs >= 0) {
        c->err = (struct err)ERR_INIT;
        int r = start_tool(c);
        bool is_over = c->ends_ms && loop_now_ms(c->set->loop) >= c->ends_ms;
        if (r == -EAGAIN && is_over)
            c->err.code = ERR_CAPACITY;
        else if (r == -EAGAIN)
            timer_set(c->refusal, RETRY_MS, 0);
        if (r >= 0 || (r == -EAGAIN && !is_over))
            return;
    }
    static const int none[VM_TOOL_WIRE_REPLY_FDS] = { NO_FD, NO_FD };
    struct err err = c->err;
    vm_tool_call_fn *fn = c->fn;
    void *to = c->arg;
    vm_tool_call_free(c);
    if (fn)
        fn(to, NULL, none, &err);
}

static int call_send(struct vm_tool_call *c, const struct vm_tool_wire_request *q, const char *extra, const int *fds,
                     size_t n_fds)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_sys(&c->err, -errno, "call the vm tool");
    c->fd = pair[0];
    c->theirs = pair[1];
    struct iovec parts[2] = { { (void *)(uintptr_t)q, sizeof(*q) }, { (void *)(uintptr_t)extra, q->extra_len } };
    int r = seqsock_send(c->fd, parts, fds, n_fds);
    if (r < 0)
        return err_sys(&c->err, r, "call the vm tool");
    return start_tool(c);
}

void vm_tool_call_start(struct vm_tool_call_set *set, const struct vm_tool_wire_request *q, const char *extra,
                        const int *fds, size_t n_fds, vm_tool_call_fn *fn, void *arg)
{
    struct vm_tool_call *c = xzalloc(sizeof(*c));
    *c = (struct vm_tool_call){
        .next = set->first, .set = set, .fd = NO_FD, .theirs = NO_FD, .pidfd = NO_FD, .fn = fn, .arg = arg
    };
    set->first = c;
    if (q->op == VM_TOOL_WIRE_START)
        c->ends_ms = loop_now_ms(set->loop) + TURN_MS;
    if (call_send(c, q, extra, fds, n_fds) < 0)
        c->refusal = timer_new(set->loop, 0, 0, on_refusal, c);
}

void vm_tool_call_cut(struct vm_tool_call_set *set, vm_tool_call_fn *fn)
{
    for (struct vm_tool_call *c = set->first; c; c = c->next)
        if (c->fn == fn && c->watch)
            keeper_kill(set->keeper, c->pid);
}

void vm_tool_call_end_all(struct vm_tool_call_set *set)
{
    while (set->first) {
        struct vm_tool_call *c = set->first;
        struct pollfd p = { .fd = c->fd, .events = POLLIN };
        struct vm_tool_wire_reply reply;
        struct err err = ERR_INIT;
        int fds[VM_TOOL_WIRE_REPLY_FDS] = { NO_FD, NO_FD };
        if (c->watch && poll(&p, 1, LAST_MS) == 1)
            (void)reply_read(c, &reply, fds, &err); /* nobody is left to be told */
        seqsock_close_all(fds, VM_TOOL_WIRE_REPLY_FDS);
        vm_tool_call_free(c);
    }
}
