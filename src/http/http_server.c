/* Theory of operation. struct http_server owns its listeners and connections; a reference for each connection and each
 * request in use keeps it alive after http_server_free(). One timer per server sweeps all connections and applies their
 * deadlines. Accepting pauses when descriptors run out, and above the limit of connections a client gets 503. Two ways
 * to stop: http_server_drain() closes listeners, finishes running requests and cuts what is left after the grace time;
 * http_server_leave() first gives listeners and idle connections to a successor, still open. A failing client affects
 * only its own connection. */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "base/address.h"
#include "base/alloc.h"
#include "http/http_conn.h"
#include "os/unixsock.h"

enum { BACKLOG = 1024, ACCEPT_BATCH = 64, SWEEP_MS = 250, BODY_GRACE_MS = 10000 };

int http_server_new(struct loop *l, const struct http_app *app, const struct http_limits *limits,
                    struct http_server **ret, struct err *err)
{
    static const struct http_limits defaults = HTTP_LIMITS_DEFAULT;
    if (!app->on_head || !app->on_request)
        return err_set(err, ERR_INTERNAL, EINVAL, "HTTP server: on_head and on_request are both needed");
    struct http_server *s = xzalloc(sizeof *s);
    s->refs = 1;
    s->loop = l;
    s->app = *app;
    s->limits = limits ? *limits : defaults;
    if (!s->limits.body_grace_ms)
        s->limits.body_grace_ms = BODY_GRACE_MS;
    s->scratch = xzalloc(HTTP_STASH_BYTES);
    s->date_s = -1;
    *ret = s;
    return 0;
}

struct http_server *http_server_ref(struct http_server *s)
{
    s->refs++;
    return s;
}

void http_server_unref(struct http_server *s)
{
    if (--s->refs)
        return;
    assert(s->is_freed && !s->conns && !s->pool);
    free(s->scratch);
    free(s);
}

bool http_server_closes(const struct http_server *s)
{
    return s->is_draining && !s->leave_fn;
}

const char *http_server_date(struct http_server *s)
{
    time_t t = time(NULL);
    if (t != s->date_s) {
        struct tm tm;
        s->date_s = t;
        (void)strftime(s->date, sizeof s->date, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", gmtime_r(&t, &tm));
    }
    return s->date;
}

unsigned http_server_connections(const struct http_server *s)
{
    return s->conn_count;
}

/* --- the timer --- */

static void server_sweep(void *arg)
{
    struct http_server *s = http_server_ref(arg);
    int64_t now_ms = loop_now_ms(s->loop);
    for (struct http_listener *li = s->listeners; li; li = li->next) {
        if (li->is_paused)
            watch_set(li->watch, LOOP_READ);
        li->is_paused = false;
    }
    struct http_conn *c = s->conns ? http_conn_ref(s->conns) : NULL;
    while (c) {
        struct http_conn *next = c->next ? http_conn_ref(c->next) : NULL;
        http_conn_sweep(c, now_ms);
        http_conn_unref(c);
        if (next && next->is_closed) { /* a handler that was notified of c's end has closed it too: start over */
            http_conn_unref(next);
            next = s->conns ? http_conn_ref(s->conns) : NULL;
        }
        c = next;
    }
    if (!s->conns && s->sweep)
        timer_set(s->sweep, -1, 0);
    http_server_unref(s);
}

static void start_sweep(struct http_server *s)
{
    if (!s->sweep)
        s->sweep = timer_new(s->loop, SWEEP_MS, SWEEP_MS, server_sweep, s);
    else if (!s->conns)
        timer_set(s->sweep, SWEEP_MS, SWEEP_MS);
}

/* --- connections --- */

int http_server_adopt(struct http_server *s, int fd, const char *peer, struct http_conn **ret)
{
    struct http_conn *c;
    int r = http_conn_new(s, fd, peer, &c);
    if (r < 0) {
        (void)close(fd);
        return r;
    }
    start_sweep(s);
    c->next = s->conns;
    if (c->next)
        c->next->prev = c;
    s->conns = c;
    if (s->conn_count < s->limits.connections) {
        s->conn_count++;
    } else {
        c->is_rejected = true;
        s->rejected_count++;
    }
    if (ret)
        *ret = c;
    return 0;
}

static void drain_check(struct http_server *s)
{
    if (!s->is_draining || s->conn_count || !s->drain_fn)
        return;
    s->grace = timer_free(s->grace);
    loop_fn *fn = STEAL(s->drain_fn);
    loop_defer(s->loop, fn, s->drain_arg); /* it may free the server, which is on the stack here */
}

void http_server_forget(struct http_server *s, struct http_conn *c)
{
    if (c->prev)
        c->prev->next = c->next;
    else
        s->conns = c->next;
    if (c->next)
        c->next->prev = c->prev;
    c->prev = c->next = NULL;
    if (c->is_rejected)
        s->rejected_count--;
    else
        s->conn_count--;
    drain_check(s);
}

static void name_peer(const struct sockaddr_storage *addr, char out[HTTP_PEER_MAX])
{
    char host[INET6_ADDRSTRLEN] = "";
    if (addr->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
        (void)inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
        (void)snprintf(out, HTTP_PEER_MAX, "%s:%u", host, ntohs(in->sin_port));
    } else if (addr->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;
        (void)inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
        (void)snprintf(out, HTTP_PEER_MAX, "[%s]:%u", host, ntohs(in6->sin6_port));
    } else {
        (void)snprintf(out, HTTP_PEER_MAX, "unix");
    }
}

/* Whether it may be closed for another client: it has never sent a whole head, or it is between two requests. */
static bool may_go(const struct http_conn *c, bool is_idle)
{
    if (c->is_rejected || c->is_known != is_idle)
        return false;
    return is_idle ? c->phase == HTTP_PHASE_IDLE && !c->req && c->stash.len == 0 && output_queue_len(&c->out) == 0
                   : c->phase <= HTTP_PHASE_HEAD;
}

/* Of those that may go, the oldest of the address that has most of them. */
static struct http_conn *choose_to_go(const struct http_server *s, bool is_idle)
{
    unsigned counts[ADDRESS_SLOTS] = { 0 }, most = 0;
    struct http_conn *oldest = NULL;
    for (const struct http_conn *c = s->conns; c; c = c->next)
        if (may_go(c, is_idle) && ++counts[c->slot] > counts[most])
            most = c->slot;
    for (struct http_conn *c = s->conns; c; c = c->next) /* the newest is first */
        if (may_go(c, is_idle) && c->slot == most)
            oldest = c;
    return oldest;
}

/* Makes room for a client. Clients that send half of a head and wait, or a request that needs no token and wait, so
 * lock nobody out, however many connections one address has. */
static void displace_oldest(struct http_server *s)
{
    struct http_conn *c = choose_to_go(s, false);
    if (!c)
        c = choose_to_go(s, true);
    if (c)
        http_conn_drop(c, false);
}

void http_server_give(struct http_server *s, int fd, const char *peer, const char *cert)
{
    if (s->conn_count >= s->limits.connections && !s->is_draining)
        displace_oldest(s);
    bool is_full = s->conn_count >= s->limits.connections;
    if (s->is_draining || (is_full && s->rejected_count >= HTTP_REJECTS)) {
        (void)close(fd);
        return;
    }
    struct http_conn *c;
    if (http_server_adopt(s, fd, peer, &c) < 0)
        return;
    c->cert = *cert ? xstrdup(cert) : NULL;
    if (is_full)
        http_conn_fail(c, 503, "too many connections: try again later");
}

static void listener_accept(void *arg, int events)
{
    struct http_listener *li = arg;
    struct http_server *s = li->server;
    (void)events;
    for (int i = 0; i < ACCEPT_BATCH; i++) {
        struct sockaddr_storage addr = { 0 };
        socklen_t len = sizeof addr;
        int fd = accept4(li->fd, (struct sockaddr *)&addr, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            char peer[HTTP_PEER_MAX];
            name_peer(&addr, peer);
            http_server_give(s, fd, peer, "");
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            /* The listener stays readable: without a pause this would spin until a descriptor is free. */
            li->is_paused = true;
            watch_set(li->watch, 0);
            start_sweep(s);
        }
        if (errno != ECONNABORTED && errno != EINTR)
            return;
    }
}

/* --- listeners --- */

static int add_listener(struct http_server *s, int fd, const char *path, struct err *err)
{
    struct http_listener *li = xzalloc(sizeof *li);
    li->fd = fd;
    li->server = s;
    int r = listen(fd, BACKLOG) < 0 ? -errno : watch_new(s->loop, fd, LOOP_READ, listener_accept, li, &li->watch);
    if (r < 0) {
        (void)close(fd);
        free(li);
        return err_set(err, ERR_INTERNAL, -r, "listen");
    }
    li->path = xstrdup(path);
    li->next = s->listeners;
    s->listeners = li;
    return 0;
}

int http_server_listen_fd(struct http_server *s, int fd, uint16_t *ret_port, struct err *err)
{
    struct sockaddr_storage addr = { 0 };
    socklen_t len = sizeof addr;
    if (getsockname(fd, (struct sockaddr *)&addr, &len) < 0 ||
        (addr.ss_family != AF_INET && addr.ss_family != AF_INET6)) {
        (void)close(fd);
        return err_set(err, ERR_INTERNAL, errno, "a socket that was handed over is not a TCP listener");
    }
    int r = add_listener(s, fd, NULL, err);
    if (r == 0 && ret_port) /* the port is at the same offset in both families */
        *ret_port = ntohs(((struct sockaddr_in *)&addr)->sin_port);
    return r;
}

void http_server_take(struct http_server *s, int fd)
{
    struct sockaddr_storage addr = { 0 };
    socklen_t len = sizeof addr;
    char peer[HTTP_PEER_MAX];
    struct http_conn *c;
    if (getpeername(fd, (struct sockaddr *)&addr, &len) < 0) {
        (void)close(fd); /* it has left in between */
        return;
    }
    name_peer(&addr, peer);
    if (http_server_adopt(s, fd, peer, &c) == 0)
        c->deadline_ms = loop_now_ms(s->loop) + s->limits.idle_ms; /* it is idle */
}

int http_server_bind(const char *host, uint16_t port, int *ret_fd, uint16_t *ret_port, struct err *err)
{
    struct sockaddr_storage addr = { 0 };
    struct sockaddr_in *in = (struct sockaddr_in *)&addr;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&addr;
    bool is_v4 = inet_pton(AF_INET, host, &in->sin_addr) == 1;
    addr.ss_family = is_v4 ? AF_INET : AF_INET6;
    in->sin_port = htons(port); /* at the same offset in both families */
    socklen_t len = is_v4 ? sizeof *in : sizeof *in6;
    if (!is_v4 && inet_pton(AF_INET6, host, &in6->sin6_addr) != 1)
        return err_set(err, ERR_INVALID, 0, "listen on \"%s\": a numeric IPv4 or IPv6 address is needed", host);
    CLEANUP(close_fd_p) int fd = socket(addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set(err, ERR_INTERNAL, errno, "listen on %s: socket", host);
    int on = 1;
    /* Accepted sockets inherit TCP_NODELAY; both are optimizations, so a failure is ignored. */
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&addr, len) < 0)
        return err_set(err, errno == EADDRINUSE ? ERR_CONFLICT : ERR_INTERNAL, errno, "listen on %s port %u", host,
                       port);
    if (getsockname(fd, (struct sockaddr *)&addr, &len) < 0)
        return err_set(err, ERR_INTERNAL, errno, "listen on %s port %u", host, port);
    if (listen(fd, BACKLOG) < 0)
        return err_set(err, ERR_INTERNAL, errno, "listen on %s port %u", host, port);
    if (ret_port)
        *ret_port = ntohs(in->sin_port);
    *ret_fd = steal_fd(&fd);
    return 0;
}

int http_server_listen_tcp(struct http_server *s, const char *host, uint16_t port, uint16_t *ret_port, struct err *err)
{
    int fd = NO_FD;
    int r = http_server_bind(host, port, &fd, ret_port, err);
    if (r < 0)
        return r;
    r = add_listener(s, fd, NULL, err);
    return r < 0 ? err_wrap(err, r, "listen on %s port %u", host, port) : 0;
}

/* A socket file without a listener was left by a server that was killed. */
static int remove_stale(const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISSOCK(st.st_mode))
        return -EEXIST;
    CLEANUP(close_fd_p) int fd = unixsock_dial(path);
    if (fd != -ECONNREFUSED)
        return fd >= 0 || fd == -EAGAIN ? -EADDRINUSE : fd;
    return unlink(path) < 0 ? -errno : 0;
}

int http_server_listen_unix(struct http_server *s, const char *path, struct err *err)
{
    struct sockaddr_un addr;
    int r = unixsock_address(path, &addr);
    if (r < 0)
        return err_set(err, ERR_INVALID, 0, "listen on %s: a unix socket's path has 1 to %zu bytes", path,
                       UNIXSOCK_PATH_MAX);
    r = remove_stale(path);
    if (r < 0)
        return err_set(err, ERR_CONFLICT, -r, "listen on %s", path);
    CLEANUP(close_fd_p) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set(err, ERR_INTERNAL, errno, "listen on %s: socket", path);
    /* Nobody can connect before listen(), so the mode is in force before the first client. */
    if (bind(fd, (struct sockaddr *)&addr, sizeof addr) < 0 || chmod(path, 0600) < 0)
        return err_set(err, ERR_INTERNAL, errno, "listen on %s", path);
    r = add_listener(s, steal_fd(&fd), path, err);
    return r < 0 ? err_wrap(err, r, "listen on %s", path) : 0;
}

static void close_listeners(struct http_server *s)
{
    while (s->listeners) {
        struct http_listener *li = s->listeners;
        s->listeners = li->next;
        li->watch = watch_free(li->watch);
        (void)close(li->fd);
        if (li->path)
            (void)unlink(li->path); /* another process may have removed it already */
        free(li->path);
        free(li);
    }
}

/* --- stopping --- */

void http_server_leave(struct http_server *s, http_leave_fn *fn, void *arg)
{
    s->leave_fn = fn;
    s->leave_arg = arg;
    for (struct http_listener **at = &s->listeners; *at;) {
        struct http_listener *li = *at;
        if (li->path) {
            at = &li->next;
            continue;
        }
        *at = li->next;
        li->watch = watch_free(li->watch);
        fn(arg, li->fd, true);
        free(li);
    }
    for (struct http_conn *c = s->conns, *next; c; c = next) {
        next = c->next; /* giving one away calls nobody who could close another */
        http_conn_leave(c);
    }
}

static void cut_all(struct http_server *s)
{
    while (s->conns)
        http_conn_drop(s->conns, true);
}

static void on_grace_over(void *arg)
{
    struct http_server *s = http_server_ref(arg);
    cut_all(s);
    http_server_unref(s);
}

void http_server_drain(struct http_server *s, int64_t grace_ms, loop_fn *done, void *arg)
{
    close_listeners(s);
    s->is_draining = true;
    s->drain_fn = done;
    s->drain_arg = arg;
    s->grace = timer_free(s->grace);
    s->grace = timer_new(s->loop, grace_ms, 0, on_grace_over, s);
    for (struct http_conn *c = s->conns, *next; c; c = next) {
        next = c->next; /* dropping an idle connection calls nobody */
        if (c->phase == HTTP_PHASE_IDLE && output_queue_len(&c->out) == 0)
            http_conn_drop(c, false);
        else if (c->phase == HTTP_PHASE_IDLE && !s->leave_fn)
            c->will_close = true;
    }
    drain_check(s);
}

struct http_server *http_server_free(struct http_server *s)
{
    if (!s)
        return NULL;
    s->drain_fn = NULL;
    s->leave_fn = NULL;
    close_listeners(s);
    cut_all(s);
    s->sweep = timer_free(s->sweep);
    s->grace = timer_free(s->grace);
    s->is_freed = true;
    http_req_free_pool(s);
    http_server_unref(s);
    return NULL;
}
