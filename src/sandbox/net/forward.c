/* Theory of operation. A forward is a listening socket on the host for one port of a sandbox; it owns its relays or UDP
 * tunnels and ends them with itself.
 *
 * TCP: each accepted connection becomes a relay. Past the limit, or without an agent, it is reset at once, so that the
 * client sees an error instead of a hang. UDP: each sender gets its own tunnel, so that replies find their way back; a
 * tunnel without traffic for settings.udp_idle_s is closed. A connection to a sandbox that sleeps wakes it when it has
 * autoResume, and becomes a relay when it runs; else it is reset. A paused one without autoResume accepts it, and its
 * bytes wait within the tunnel's window. */
#include "sandbox/net/forward.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/ident.h"
#include "base/limits.h"
#include "base/share.h"
#include "os/inherit.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/net/relay.h"

enum {
    BACKLOG = 128,
    BATCH = 32,     /* connections or datagrams handled in one turn */
    RETRY_MS = 100, /* after the process ran out of descriptors */
    DATAGRAM_BYTES = 65536
};

struct wire { /* one connection */
    struct wire *prev, *next;
    struct forward *forward;
    struct relay *relay; /* TCP */
    int fd;              /* TCP, of one that waits for its sandbox to wake; else NO_FD */
    struct manager_waiter *waiter;
    struct timer *deadline;
    struct guest_tunnel *tunnel; /* UDP; NULL when it has ended */
    struct sockaddr_storage peer;
    socklen_t peer_len;
    int64_t used_ms;
};

struct forward {
    struct sandbox *sandbox;
    struct loop *loop;
    bool is_udp;
    uint16_t inner_port, host_port;
    int fd;
    struct watch *watch;
    struct timer *timer; /* TCP: after EMFILE; UDP: looks for silent senders */
    struct wire *wires;
    unsigned n_wires;
};

static struct wire *add_wire(struct forward *f)
{
    struct wire *w = xzalloc(sizeof(*w));
    w->forward = f;
    w->fd = NO_FD;
    w->next = f->wires;
    if (w->next)
        w->next->prev = w;
    f->wires = w;
    f->n_wires++;
    share_add(f->sandbox->manager->port_connections, f->sandbox->tenant, 1);
    return w;
}

static void reset(int fd)
{
    struct linger hard = { .l_onoff = 1 };
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)); /* else it is an ordinary close */
    (void)close(fd);
}

static void drop_wire(struct wire *w)
{
    struct forward *f = w->forward;
    *(w->prev ? &w->prev->next : &f->wires) = w->next;
    if (w->next)
        w->next->prev = w->prev;
    f->n_wires--;
    if (w->waiter)
        manager_start_cancel(w->waiter);
    timer_free(w->deadline);
    if (w->fd >= 0)
        reset(w->fd);
    share_give(f->sandbox->manager->port_connections, f->sandbox->tenant, 1);
    relay_free(w->relay);
    if (w->tunnel)
        guest_tunnel_drop(w->tunnel);
    free(w);
}

static bool has_room(const struct forward *f)
{
    const struct share *all = f->sandbox->manager->port_connections;
    return share_has_room(all, "", 1) && share_has_room(all, f->sandbox->tenant, 1) &&
           f->n_wires < (uint64_t)f->sandbox->manager->settings->port_connections;
}

/* --- TCP --- */

static void on_relay_done(void *arg, struct relay *r)
{
    (void)r; /* freed with its wire */
    drop_wire(arg);
}

static void start_relay(struct wire *w)
{
    struct forward *f = w->forward;
    if (!f->sandbox->link || relay_new(f->loop, w->fd, on_relay_done, w, &w->relay) < 0) {
        drop_wire(w);
        return;
    }
    (void)steal_fd(&w->fd);
    if (relay_open(w->relay, f->sandbox->link, f->inner_port) < 0)
        drop_wire(w);
}

static void on_awake(void *arg, struct sandbox *s, const struct err *err)
{
    struct wire *w = arg;
    (void)err; /* stop.c has logged it; the client sees the reset */
    w->deadline = timer_free(w->deadline);
    if (s)
        start_relay(w);
    else
        drop_wire(w);
}

static void on_still_asleep(void *arg)
{
    drop_wire(arg);
}

static void take_connection(struct forward *f, int fd)
{
    struct sandbox *s = f->sandbox;
    int one = 1;
    bool is_asleep = manager_is_to_wake(s);
    if (!has_room(f) || (!is_asleep && !s->link) || (is_asleep && manager_waiting(s) >= LIMIT_MAX(WAKE_CALLS))) {
        reset(fd);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* only slower without */
    struct wire *w = add_wire(f);
    w->fd = fd;
    if (!is_asleep) {
        start_relay(w);
        return;
    }
    w->deadline = timer_new(f->loop, s->manager->settings->wake_timeout_s * 1000, 0, on_still_asleep, w);
    manager_start(s, NULL, on_awake, w, &w->waiter);
}

static void on_retry(void *arg)
{
    struct forward *f = arg;
    if (f->watch)
        watch_set(f->watch, LOOP_READ);
}

static void on_connection(void *arg, int events)
{
    struct forward *f = arg;
    (void)events;
    for (int i = 0; i < BATCH; i++) {
        int fd = accept4(f->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            take_connection(f, fd);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            watch_set(f->watch, 0); /* it would be reported again and again */
            timer_set(f->timer, RETRY_MS, 0);
        }
        return;
    }
}

/* --- UDP --- */

static void on_datagram_back(void *arg, const char *data, size_t len)
{
    struct wire *w = arg;
    struct forward *f = w->forward;
    w->used_ms = loop_now_ms(f->loop);
    /* A datagram that cannot go is lost, as datagrams are. */
    (void)sendto(f->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&w->peer, w->peer_len);
    guest_tunnel_credit(w->tunnel, len);
}

static void on_tunnel_closed(void *arg, const struct err *err)
{
    struct wire *w = arg;
    (void)err; /* the next datagram opens another */
    w->tunnel = NULL;
    drop_wire(w);
}

static struct wire *open_wire(struct forward *f, const struct sockaddr_storage *peer, socklen_t len)
{
    static const struct guest_tunnel_events events = { .on_data = on_datagram_back, .on_closed = on_tunnel_closed };
    if (!f->sandbox->link || !has_room(f))
        return NULL;
    struct wire *w = add_wire(f);
    w->peer = *peer;
    w->peer_len = len;
    if (guest_tunnel_open(f->sandbox->link, true, NULL, f->inner_port, &events, w, &w->tunnel) < 0) {
        drop_wire(w);
        return NULL;
    }
    return w;
}

static void on_datagram(void *arg, int events)
{
    struct forward *f = arg;
    char data[DATAGRAM_BYTES] __attribute__((uninitialized)); /* the build zeroes locals, too expensive for this one */
    (void)events;
    for (int i = 0; i < BATCH; i++) {
        struct sockaddr_storage peer;
        memset(&peer, 0, sizeof(peer));
        socklen_t len = sizeof(peer);
        ssize_t n = recvfrom(f->fd, data, sizeof(data), MSG_DONTWAIT, (struct sockaddr *)&peer, &len);
        if (n < 0)
            return;
        struct wire *w = f->wires;
        while (w && (w->peer_len != len || memcmp(&w->peer, &peer, len) != 0))
            w = w->next;
        if (!w)
            w = open_wire(f, &peer, len);
        if (!w)
            continue; /* too many senders: lost */
        w->used_ms = loop_now_ms(f->loop);
        (void)guest_tunnel_send(w->tunnel, data, (size_t)n); /* past the window: lost */
    }
}

static void on_idle(void *arg)
{
    struct forward *f = arg;
    int64_t oldest_ms = loop_now_ms(f->loop) - f->sandbox->manager->settings->udp_idle_s * 1000;
    for (struct wire *next, *w = f->wires; w; w = next) {
        next = w->next;
        if (w->used_ms < oldest_ms)
            drop_wire(w);
    }
}

/* --- opening and closing --- */

static int fill_address(const char *host, uint16_t port, struct sockaddr_storage *ret, socklen_t *ret_len)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    memset(ret, 0, sizeof(*ret));
    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
        memcpy(ret, &v4, sizeof(v4));
        *ret_len = sizeof(v4);
    } else if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) {
        memcpy(ret, &v6, sizeof(v6));
        *ret_len = sizeof(v6);
    } else {
        return -EINVAL;
    }
    return 0;
}

static int explain(const struct forward *f, const char *host, uint16_t port, int sys, struct err *err)
{
    const char *protocol = f->is_udp ? "udp" : "tcp";
    if (sys == EINVAL)
        return err_set(err, ERR_INTERNAL, 0, "III_PORT_HOST: \"%s\" is not a numeric address", host);
    if (sys == EADDRINUSE && !port)
        return err_set(err, ERR_CAPACITY, sys, "no port of III_PORT_RANGE is free on %s", host);
    if (sys == EADDRINUSE)
        return err_set(err, ERR_CONFLICT, sys, "host port %u/%s: choose another hostPort, or 0 for a free one", port,
                       protocol);
    if (sys == EACCES)
        return err_set(err, ERR_FORBIDDEN, sys,
                       "host port %u/%s: permission denied; choose a hostPort of 1024 or higher", port, protocol);
    return err_set(err, ERR_INTERNAL, sys, "listen on %s port %u/%s (III_PORT_HOST)", host, port, protocol);
}

static int bind_to(struct forward *f, const char *host, uint16_t port)
{
    struct sockaddr_storage address;
    socklen_t len;
    int one = 1;
    if (fill_address(host, port, &address, &len) < 0)
        return -EINVAL;
    f->fd = socket(address.ss_family, (f->is_udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (f->fd < 0)
        return -errno;
    /* Not for UDP: there it would let two sockets share a port. */
    if (!f->is_udp)
        (void)setsockopt(f->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(f->fd, (struct sockaddr *)&address, len) == 0 && (f->is_udp || listen(f->fd, BACKLOG) == 0))
        return 0;
    int r = -errno;
    (void)close(steal_fd(&f->fd)); /* nobody knows it */
    return r;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage a;
    struct sockaddr_in v4 = { .sin_port = 0 };
    socklen_t len = sizeof(a);
    if (getsockname(fd, (struct sockaddr *)&a, &len) == 0)
        memcpy(&v4, &a, sizeof(v4)); /* the port is at the same place in both families */
    return ntohs(v4.sin_port);
}

/* The kernel's choice when the range has it, else the first free one of the range, from a random place on. */
static int bind_free(struct forward *f, const char *host)
{
    const char *range = f->sandbox->manager->settings->port_range;
    uint16_t from = 0;
    int r = bind_to(f, host, 0);
    if (r < 0 || address_ports_have(range, port_of(f->fd)))
        return r;
    (void)close(steal_fd(&f->fd)); /* nobody knows it */
    ident_random(&from, sizeof(from));
    r = -EADDRINUSE;
    for (unsigned i = 0; i <= UINT16_MAX && (r == -EADDRINUSE || r == -EACCES); i++) {
        uint16_t port = (uint16_t)(from + i);
        if (port && address_ports_have(range, port))
            r = bind_to(f, host, port);
    }
    return r;
}

static int open_socket(struct forward *f, uint16_t port, struct err *err)
{
    const struct manager *m = f->sandbox->manager;
    const char *host = m->settings->port_host;
    f->fd =
        port ? inherit_take_at(m->inherited, INHERIT_PORT, host, port, f->is_udp ? SOCK_DGRAM : SOCK_STREAM) : NO_FD;
    int r = f->fd >= 0 ? 0 : port ? bind_to(f, host, port) : bind_free(f, host);
    if (r < 0)
        return explain(f, host, port, -r, err);
    f->host_port = port_of(f->fd);
    r = watch_new(f->loop, f->fd, LOOP_READ, f->is_udp ? on_datagram : on_connection, f, &f->watch);
    return r < 0 ? explain(f, host, port, -r, err) : 0;
}

int forward_open(struct sandbox *s, const struct forward_plan *plan, struct forward **ret, struct err *err)
{
    struct forward *f = xzalloc(sizeof(*f));
    f->sandbox = s;
    f->loop = s->manager->loop;
    f->is_udp = plan->is_udp;
    f->fd = NO_FD;
    f->inner_port = plan->inner_port;
    int r = open_socket(f, plan->host_port, err);
    if (r < 0) {
        forward_free(f);
        return r;
    }
    if (f->is_udp)
        f->timer = timer_new(f->loop, 1000, 1000, on_idle, f);
    else
        f->timer = timer_new(f->loop, -1, 0, on_retry, f);
    *ret = f;
    return 0;
}

struct forward *forward_free(struct forward *f)
{
    if (!f)
        return NULL;
    while (f->wires)
        drop_wire(f->wires);
    timer_free(f->timer);
    watch_free(f->watch);
    if (f->fd >= 0)
        (void)close(f->fd);
    free(f);
    return NULL;
}

int forward_give(struct forward *f)
{
    f->watch = watch_free(f->watch);
    return fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
}

uint16_t forward_host_port(const struct forward *f)
{
    return f->host_port;
}
