#include "vm/vmm/vsock_connect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/unixsock.h"

#define RETRY_MS 20
/* Timeout of one attempt. While a guest boots it has no listener, and the VMM hangs up at once. An attempt that
 * hangs is repeated, because a request that came before the driver was ready may have been dropped. */
#define ATTEMPT_MS 2000

struct vsock_connect {
    struct loop *loop;
    struct vsock_connect_where where;
    char *name;
    int fd;
    struct watch *watch;
    struct timer *deadline, *attempt; /* attempt: until the next one, or until this one times out */
    struct vsock_connect_answer answer;
    struct err last; /* why the last attempt failed */
    vsock_connect_fn *fn;
    void *arg;
};

/* --- "OK <decimal port>\n", at most 2^32 - 1, no sign, no zero in front --- */

#define DIGITS_AT  3
#define DIGITS_MAX 10

int vsock_connect_take(struct vsock_connect_answer *a, char c)
{
    static const char begin[DIGITS_AT] = { 'O', 'K', ' ' };
    unsigned at = a->n;
    if (at < DIGITS_AT) {
        a->n++;
        return c == begin[at] ? 0 : -EBADMSG;
    }
    if (c == '\n')
        return at > DIGITS_AT ? 1 : -EBADMSG;
    uint64_t value = (uint64_t)a->host_port * 10 + (uint64_t)(c - '0');
    bool has_zero_first = at == DIGITS_AT + 1 && a->host_port == 0;
    if (c < '0' || c > '9' || at >= DIGITS_AT + DIGITS_MAX || value > UINT32_MAX || has_zero_first)
        return -EBADMSG;
    a->host_port = (uint32_t)value;
    a->n++;
    return 0;
}

int vsock_connect_find(int folder_fd, const char *name)
{
    struct stat st;
    CLEANUP(close_fd_p) int fd = openat(folder_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    return S_ISSOCK(st.st_mode) ? steal_fd(&fd) : -ENOTSOCK;
}

/* --- attempts --- */

static void hang_up(struct vsock_connect *d)
{
    d->watch = watch_free(d->watch);
    if (d->fd >= 0)
        (void)close(d->fd); /* no byte of the stream has been exchanged */
    d->fd = NO_FD;
}

struct vsock_connect *vsock_connect_free(struct vsock_connect *d)
{
    if (!d)
        return NULL;
    hang_up(d);
    timer_free(d->attempt);
    timer_free(d->deadline);
    free(d->name);
    free(d);
    return NULL;
}

static void connect_finish(struct vsock_connect *d, int fd, const struct err *err)
{
    vsock_connect_fn *fn = d->fn;
    void *arg = d->arg;
    struct err copy = err ? *err : (struct err)ERR_INIT;
    (void)vsock_connect_free(d);
    fn(arg, fd, err ? &copy : NULL);
}

static void attempt_retry(struct vsock_connect *d, int sys, const char *why)
{
    hang_up(d);
    (void)err_set(&d->last, ERR_UPSTREAM, sys, "%s", why);
    timer_set(d->attempt, RETRY_MS, 0);
}

static void connect_succeed(struct vsock_connect *d)
{
    int fd = d->fd;
    d->watch = watch_free(d->watch);
    d->fd = NO_FD;
    connect_finish(d, fd, NULL);
}

static void attempt_on_answer(void *arg, int events)
{
    struct vsock_connect *d = arg;
    (void)events;
    for (;;) {
        char c;
        ssize_t n = read(d->fd, &c, 1);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            attempt_retry(d, n < 0 ? errno : 0, "the VMM hangs up: nothing in the guest listens");
            return;
        }
        int r = vsock_connect_take(&d->answer, c);
        if (r == 0)
            continue;
        struct err err = ERR_INIT;
        (void)err_set(&err, ERR_UPSTREAM, EBADMSG, "the VMM answers CONNECT %u with something other than \"OK <port>\"",
                      d->where.port);
        if (r > 0)
            connect_succeed(d);
        else
            connect_finish(d, NO_FD, &err); /* it speaks another protocol and will not change: no further attempt */
        return;
    }
}

static void on_attempt(void *arg)
{
    struct vsock_connect *d = arg;
    if (d->fd >= 0) {
        attempt_retry(d, ETIMEDOUT, "the VMM does not answer");
        return;
    }
    d->answer = (struct vsock_connect_answer){ 0 };
    CLEANUP(close_fd_p) int there = vsock_connect_find(d->where.folder_fd, d->name);
    d->fd = there < 0 ? there : unixsock_dial_at(there);
    if (d->fd < 0) {
        attempt_retry(d, -d->fd, "connect to its socket");
        return;
    }
    if (d->where.port == 0) {
        connect_succeed(d);
        return;
    }
    char line[32]; /* a new connection's buffer is empty: it fits, or the peer is gone */
    int len = snprintf(line, sizeof(line), "CONNECT %u\n", d->where.port);
    ssize_t n = send(d->fd, line, (size_t)len, MSG_NOSIGNAL);
    int r = n == len ? 0 : n < 0 ? -errno : -EPIPE;
    if (r == 0)
        r = watch_new(d->loop, d->fd, LOOP_READ, attempt_on_answer, d, &d->watch);
    if (r < 0) {
        attempt_retry(d, -r, "ask for the port");
        return;
    }
    timer_set(d->attempt, ATTEMPT_MS, 0);
}

static void connect_on_deadline(void *arg)
{
    struct vsock_connect *d = arg;
    struct err err = ERR_INIT;
    (void)err_set(&err, ERR_TIMEOUT, 0, "the VM's agent cannot be reached within %lld ms: %.200s",
                  (long long)d->where.timeout_ms, d->last.msg[0] ? d->last.msg : "the VMM does not answer");
    connect_finish(d, NO_FD, &err);
}

struct vsock_connect *vsock_connect_open(struct loop *l, const struct vsock_connect_where *w, vsock_connect_fn *fn,
                                         void *arg)
{
    struct vsock_connect *d = xzalloc(sizeof(*d));
    *d = (struct vsock_connect){ .loop = l, .where = *w, .name = xstrdup(w->name), .fd = NO_FD, .fn = fn, .arg = arg };
    d->where.name = d->name;
    d->attempt = timer_new(l, 0, 0, on_attempt, d);
    d->deadline = timer_new(l, w->timeout_ms, 0, connect_on_deadline, d);
    return d;
}
