#include "loop/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAUSE_MS = 50, PAUSE_MAX_MS = 5000, KILL_MS = 2000 };

int helper_start(struct helper *h, const char *name, struct err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | (h->is_blocking ? 0 : SOCK_NONBLOCK), 0, pair) < 0)
        return err_sys(err, -errno, "start %s: socket pair", name);
    h->sock = pair[0];
    int r = h->is_blocking && fcntl(h->sock, F_SETFL, O_NONBLOCK) < 0 ? err_sys(err, -errno, "set up its socket") : 0;
    if (r == 0)
        r = keeper_run(h->keeper, h->job, pair[1], &h->pid, &h->pidfd, err);
    (void)close(pair[1]); /* the helper's end */
    if (r < 0) {
        helper_stop(h, 0);
        return err_wrap(err, r, "start %s", name);
    }
    return 0;
}

int helper_watch(struct helper *h, struct loop *l, watch_fn *on_message, loop_fn *on_exit, void *arg, struct err *err)
{
    int r = watch_new(l, h->sock, LOOP_READ, on_message, arg, &h->watch);
    if (r == 0 && on_exit)
        r = loop_on_exit(l, h->pidfd, on_exit, arg, &h->exit_watch);
    return r < 0 ? err_sys(err, r, "watch a helper process") : 0;
}

void helper_close(struct helper *h)
{
    h->watch = watch_free(h->watch);
    if (h->sock >= 0)
        (void)close(steal_fd(&h->sock));
}

void helper_kill(struct helper *h)
{
    if (h->pid > 0)
        keeper_kill(h->keeper, h->pid);
}

void helper_stop(struct helper *h, int wait_ms)
{
    helper_close(h);
    h->exit_watch = watch_free(h->exit_watch);
    if (h->pid > 0) {
        struct pollfd p = { .fd = h->pidfd, .events = POLLIN };
        if (h->pidfd < 0 || poll(&p, 1, wait_ms) != 1) {
            helper_kill(h);
            (void)poll(&p, 1, KILL_MS); /* a process stuck in the kernel does not block the server */
        }
        (void)waitpid(h->pid, NULL, WNOHANG);
    }
    if (h->pidfd >= 0)
        (void)close(steal_fd(&h->pidfd));
    h->pid = 0;
}

void helper_retry_later(struct helper_retry *r, struct loop *l, loop_fn *fn, void *arg)
{
    r->pause_ms = !r->pause_ms ? PAUSE_MS : r->pause_ms * 2 < PAUSE_MAX_MS ? r->pause_ms * 2 : PAUSE_MAX_MS;
    if (!r->timer)
        r->timer = timer_new(l, r->pause_ms, 0, fn, arg);
    else
        timer_set(r->timer, r->pause_ms, 0);
}

void helper_retry_done(struct helper_retry *r)
{
    r->timer = timer_free(r->timer);
}
