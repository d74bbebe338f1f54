/* One attempt to connect: look up the name on a thread (wait_work.h), try the addresses one after the other, then the
 * TLS handshake if there is a context, all under one timer. The lookup may outlive the dial: it keeps its own memory,
 * and a dial that is freed meanwhile is NULL there. An address that the rule denies is skipped, after the lookup, so
 * that a name cannot get around the rule. The owner hears exactly once, never from inside dial_*(). */
#include "http/dial.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "loop/wait_work.h"
#include "os/unixsock.h"
#include "tls/tls_context.h"
#include "tls/tls_pump.h"

/* The data of the thread; it may outlive the dial. */
struct lookup {
    struct dial *dial;      /* NULL after dial_free() */
    struct wait_work *work; /* NULL: none was needed */
    char *host;
    char port[8];
    int flags, result;
    struct addrinfo *list;
};

struct dial {
    struct loop *loop;
    struct lookup *lookup;
    struct addrinfo *list, *next; /* next: the next address to try */
    char *name;                   /* for messages */
    char *host;                   /* that the rule is about, and the name a certificate must match */
    struct outgoing rule;
    SSL_CTX *ctx;          /* NULL: plain */
    struct tls_pump *pump; /* during the handshake */
    int fd;
    struct watch *watch;
    struct timer *timer;
    dial_fn *fn;
    void *arg;
    bool is_unix, is_start_due, is_given_up;
};

static void free_lookup(struct lookup *lo)
{
    if (lo->list)
        freeaddrinfo(lo->list);
    free(lo->host);
    free(lo);
}

static void free_memory(struct dial *d)
{
    free(d->name);
    free(d->host);
    (void)tls_context_unref(d->ctx);
    free(d);
}

struct dial *dial_free(struct dial *d)
{
    if (!d)
        return NULL;
    bool has_begun = d->lookup && d->lookup->work && !wait_work_cancel(d->lookup->work);
    if (d->lookup && !has_begun)
        free_lookup(STEAL(d->lookup));
    else if (d->lookup)
        d->lookup->dial = NULL; /* its thread is still running and frees it */
    d->watch = watch_free(d->watch);
    d->timer = timer_free(d->timer);
    d->pump = tls_pump_free(d->pump);
    if (d->fd >= 0)
        (void)close(d->fd);
    if (d->list)
        freeaddrinfo(d->list);
    d->list = NULL;
    d->fd = NO_FD;
    d->is_given_up = true;
    if (!d->is_start_due) /* otherwise the deferred start frees it */
        free_memory(d);
    return NULL;
}

static void finish_with(struct dial *d, int fd, const struct err *err)
{
    dial_fn *fn = d->fn;
    void *arg = d->arg;
    (void)dial_free(d);
    fn(arg, fd, err);
}

static void dial_finish(struct dial *d, int sys, const char *what)
{
    struct err err = ERR_INIT;
    if (sys)
        (void)err_set(&err, sys == ETIMEDOUT ? ERR_TIMEOUT : ERR_UPSTREAM, sys, "%s %s", what, d->name);
    finish_with(d, sys ? NO_FD : steal_fd(&d->fd), sys ? &err : NULL);
}

/* --- TLS, on top of a connected socket --- */

static void tls_ready(void *arg, struct tls_pump *p, int plain_fd)
{
    struct dial *d = arg;
    d->pump = NULL;
    tls_pump_let_go(p);
    finish_with(d, plain_fd, NULL);
}

static void tls_failed(void *arg, struct tls_pump *p, const char *why)
{
    struct dial *d = arg;
    struct err err = ERR_INIT;
    (void)p;
    d->pump = NULL;
    (void)err_set(&err, ERR_UPSTREAM, 0, "connect to %s: %s", d->name, why);
    finish_with(d, NO_FD, &err);
}

static void shake_hands(struct dial *d)
{
    static const struct tls_pump_events events = { .on_ready = tls_ready, .on_end = tls_failed };
    int r = tls_pump_new(d->loop, d->ctx, steal_fd(&d->fd), d->host, &d->pump);
    if (r < 0)
        dial_finish(d, -r, "connect to");
    else
        tls_pump_start(d->pump, &events, d);
}

/* --- connecting --- */

static void dial_connected(void *arg, int events);

static int try_connect(struct dial *d, const struct sockaddr *addr, socklen_t len)
{
    d->fd = socket(addr->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (d->fd < 0)
        return -errno;
    int on = 1;
    if (addr->sa_family != AF_UNIX)
        (void)setsockopt(d->fd, IPPROTO_TCP, TCP_NODELAY, &on,
                         sizeof on); /* an optimization: failure does not matter */
    if (connect(d->fd, addr, len) < 0 && errno != EINPROGRESS)
        return -errno;
    return watch_new(d->loop, d->fd, LOOP_WRITE, dial_connected, d, &d->watch);
}

static void try_next(struct dial *d, int last)
{
    struct err denied = ERR_INIT;
    while (d->next) {
        struct addrinfo *ai = d->next;
        d->next = ai->ai_next;
        if (outgoing_check(&d->rule, d->host, ai->ai_addr, &denied) < 0)
            continue;
        last = -try_connect(d, ai->ai_addr, ai->ai_addrlen);
        if (last == 0)
            return;
        if (d->fd >= 0)
            (void)close(steal_fd(&d->fd));
    }
    if (denied.code == ERR_FORBIDDEN)
        finish_with(d, NO_FD, &denied);
    else
        dial_finish(d, last, "connect to");
}

static void dial_connected(void *arg, int events)
{
    struct dial *d = arg;
    int sys = 0;
    socklen_t len = sizeof sys;
    (void)events;
    d->watch = watch_free(d->watch);
    if (getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &sys, &len) < 0)
        sys = errno;
    if (sys == 0) {
        if (d->ctx)
            shake_hands(d);
        else
            dial_finish(d, 0, "connect to");
        return;
    }
    (void)close(steal_fd(&d->fd));
    try_next(d, sys);
}

static void dial_timeout(void *arg)
{
    dial_finish(arg, ETIMEDOUT, "connect to");
}

/* Takes name over. */
static struct dial *dial_new(struct loop *l, char *name, int64_t timeout_ms, dial_fn *fn, void *arg)
{
    struct dial *d = xzalloc(sizeof *d);
    *d = (struct dial){ .loop = l, .fd = NO_FD, .fn = fn, .arg = arg };
    d->name = name;
    d->timer = timer_new(l, timeout_ms, 0, dial_timeout, d);
    return d;
}

/* --- TCP --- */

static void lookup_resolve(void *arg)
{
    struct lookup *lo = arg;
    struct addrinfo hints = { .ai_family = AF_UNSPEC,
                              .ai_socktype = SOCK_STREAM,
                              .ai_flags = AI_NUMERICSERV | lo->flags };
    lo->result = getaddrinfo(lo->host, lo->port, &hints, &lo->list);
    if (lo->result != 0 && strcmp(lo->host, "localhost") == 0) /* a minimal system has no /etc/hosts that defines it */
        lo->result = getaddrinfo("127.0.0.1", lo->port, &hints, &lo->list);
}

static void dial_resolved(void *arg)
{
    struct lookup *lo = arg;
    struct dial *d = lo->dial;
    if (d) {
        d->lookup = NULL;
        d->list = d->next = STEAL(lo->list);
        if (lo->result != 0)
            dial_finish(d, EHOSTUNREACH, "find the address of");
        else
            try_next(d, EHOSTUNREACH);
    }
    free_lookup(lo);
}

static void start_tcp(void *arg)
{
    struct dial *d = arg;
    d->is_start_due = false;
    if (d->is_given_up) {
        free_memory(d);
        return;
    }
    struct lookup *lo = d->lookup;
    lo->flags = AI_NUMERICHOST; /* an address needs no thread */
    lookup_resolve(lo);
    if (lo->result != EAI_NONAME) {
        dial_resolved(lo);
        return;
    }
    lo->flags = 0;
    lo->work = wait_work_start(d->loop, d->rule.tenant ? d->rule.tenant : "", lookup_resolve, dial_resolved, lo);
    if (!lo->work)
        dial_finish(d, EMFILE, "find the address of"); /* frees lo */
}

struct dial *dial_tcp(struct loop *l, const struct dial_target *to, int64_t timeout_ms, dial_fn *fn, void *arg)
{
    struct dial *d = dial_new(l, xasprintf("%s port %u", to->host, to->port), timeout_ms, fn, arg);
    struct lookup *lo = xzalloc(sizeof *lo);
    lo->dial = d;
    lo->host = xstrdup(to->host);
    (void)snprintf(lo->port, sizeof lo->port, "%u", to->port);
    d->host = xstrdup(to->host);
    d->rule = to->rule;
    d->ctx = to->ctx ? tls_context_ref(to->ctx) : NULL;
    d->lookup = lo;
    d->is_start_due = true;
    loop_defer(l, start_tcp, d);
    return d;
}

/* --- unix sockets --- */

static void start_unix(void *arg)
{
    struct dial *d = arg;
    struct sockaddr_un addr;
    d->is_start_due = false;
    if (d->is_given_up) {
        free_memory(d);
        return;
    }
    int r = unixsock_address(d->name, &addr);
    if (r == 0)
        r = try_connect(d, (struct sockaddr *)&addr, sizeof addr);
    if (r < 0)
        dial_finish(d, -r, "connect to");
}

struct dial *dial_unix(struct loop *l, const char *path, int64_t timeout_ms, dial_fn *fn, void *arg)
{
    struct dial *d = dial_new(l, xstrdup(path), timeout_ms, fn, arg);
    d->is_start_due = true;
    loop_defer(l, start_unix, d);
    return d;
}
