/* Theory of operation. This process holds the key. A connection is in the queue of handshakes (oldest first), or handed
 * over to the server as the plain end of a tls_pump. Handshakes are the expensive part and unauthenticated clients can
 * start them, so at most SHAKES_PER_TURN steps run before other descriptors get their turn, and when MAX_SHAKING are in
 * progress, or a quarter of them by one address, the oldest of the address with most is dropped: who floods loses, not
 * who is new. The server's end of the control socket owns this
 * process: when it closes, accepting stops and the remaining connections get LAST_MS. A failed handshake ends only its
 * connection. */
#include "tls/tls_listener.h"

#include <errno.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "loop/loop.h"
#include "os/seqsock.h"
#include "tls/tls_confine.h"
#include "tls/tls_context.h"
#include "tls/tls_pump.h"
#include "tls/tls_wire.h"

enum {
    MAX_CONNS = 8192,
    MAX_SHAKING = 1024,
    SHAKE_MS = 10000,
    SHAKES_PER_TURN = 4,
    ACCEPT_BATCH = 16,
    TICK_MS = 250,
    LAST_MS = 2000, /* time for the remaining connections after the server has exited */
};

enum stage { SHAKING, SENDING, COPYING };

struct conn {
    struct process *process;
    struct conn *prev, *next; /* in the list of its stage */
    struct conn *next_due;    /* in the queue of handshakes that can continue */
    struct tls_pump *pump;
    struct tls_wire_msg msg;
    enum stage stage;
    bool is_due;
    unsigned slot; /* address_slot() of the peer */
    int plain;     /* while it waits to be sent */
    int64_t deadline_ms;
};

struct list {
    struct conn *first, *last;
    unsigned count;
};

struct listener {
    int fd;
    struct watch *watch;
};

struct process {
    struct loop *loop;
    SSL_CTX *ctx;
    struct watch *control;
    struct timer *tick;
    struct listener listeners[TLS_WIRE_PORTS];
    struct list lists[COPYING + 1];
    unsigned shaking[ADDRESS_SLOTS]; /* by address */
    struct conn *due_first, *due_last;
    bool is_paused, is_retired, is_turn_due;
    int64_t last_ms; /* when the remaining connections are cut; 0: never */
};

/* --- lists --- */

static void list_remove(struct conn *c)
{
    struct list *li = &c->process->lists[c->stage];
    if (c->prev)
        c->prev->next = c->next;
    else
        li->first = c->next;
    if (c->next)
        c->next->prev = c->prev;
    else
        li->last = c->prev;
    c->prev = c->next = NULL;
    li->count--;
    c->process->shaking[c->slot] -= c->stage == SHAKING;
}

static void list_add(struct conn *c, enum stage stage)
{
    struct list *li = &c->process->lists[stage];
    c->stage = stage;
    c->prev = li->last;
    if (li->last)
        li->last->next = c;
    else
        li->first = c;
    li->last = c;
    li->count++;
    c->process->shaking[c->slot] += stage == SHAKING;
}

static unsigned conn_count(const struct process *d)
{
    return d->lists[SHAKING].count + d->lists[SENDING].count + d->lists[COPYING].count;
}

static void take_out_of_line(struct conn *c)
{
    struct conn **at = &c->process->due_first, *before = NULL;
    while (*at && *at != c) {
        before = *at;
        at = &before->next_due;
    }
    if (!*at)
        return;
    *at = c->next_due;
    if (c->process->due_last == c)
        c->process->due_last = before;
    c->next_due = NULL;
    c->is_due = false;
}

static void end_if_idle(struct process *d)
{
    if (d->is_retired && !conn_count(d))
        loop_stop(d->loop);
}

static void conn_forget(struct conn *c)
{
    struct process *d = c->process;
    if (c->is_due)
        take_out_of_line(c);
    list_remove(c);
    if (c->plain >= 0)
        (void)close(c->plain);
    free(c);
    end_if_idle(d);
}

static void conn_drop(struct conn *c)
{
    (void)tls_pump_free(c->pump);
    conn_forget(c);
}

/* Drops the oldest handshake of this address. */
static void drop_shaking(struct process *d, unsigned slot)
{
    struct conn *c = d->lists[SHAKING].first;
    while (c && c->slot != slot)
        c = c->next;
    if (c)
        conn_drop(c);
}

static unsigned busiest_slot(const struct process *d)
{
    unsigned most = 0;
    for (unsigned i = 1; i < ADDRESS_SLOTS; i++)
        most = d->shaking[i] > d->shaking[most] ? i : most;
    return most;
}

/* --- listening --- */

static void watch_listeners(struct process *d)
{
    bool is_open = !d->is_paused && !d->is_retired;
    for (unsigned i = 0; i < TLS_WIRE_PORTS; i++)
        if (d->listeners[i].watch)
            watch_set(d->listeners[i].watch, is_open ? LOOP_READ : 0);
}

static void listener_retire(struct process *d)
{
    d->is_retired = true;
    for (unsigned i = 0; i < TLS_WIRE_PORTS; i++) {
        struct listener *li = &d->listeners[i];
        li->watch = watch_free(li->watch);
        if (li->fd >= 0)
            (void)close(steal_fd(&li->fd));
    }
    end_if_idle(d);
}

/* --- handing over --- */

static void control_event(void *arg, int events);

static void server_gone(struct process *d)
{
    d->control = watch_free(d->control);
    d->last_ms = loop_now_ms(d->loop) + LAST_MS;
    while (d->lists[SENDING].first)
        conn_drop(d->lists[SENDING].first);
    while (d->lists[SHAKING].first)
        conn_drop(d->lists[SHAKING].first);
    listener_retire(d);
}

static void hand_over(struct process *d)
{
    int r = 0;
    while (d->control && r == 0 && d->lists[SENDING].first) {
        struct conn *c = d->lists[SENDING].first;
        r = tls_wire_send(TLS_WIRE_FD, &c->msg, c->plain);
        if (r < 0)
            break;
        (void)close(steal_fd(&c->plain));
        list_remove(c);
        list_add(c, COPYING);
    }
    if (d->control && r < 0 && r != -EAGAIN && r != -ETOOMANYREFS && r != -ENOBUFS)
        server_gone(d);
    else if (d->control) /* a message that did not fit is retried when the socket is writable, and on each tick */
        watch_set(d->control, LOOP_READ | (r == -EAGAIN ? LOOP_WRITE : 0));
}

/* --- connections --- */

static void conn_ready(void *arg, struct tls_pump *p, int plain_fd)
{
    struct conn *c = arg;
    c->plain = plain_fd;
    c->msg.version = (uint16_t)tls_pump_version(p);
    tls_pump_peer(p, c->msg.text);
    list_remove(c);
    list_add(c, SENDING);
    hand_over(c->process);
}

static void conn_end(void *arg, struct tls_pump *p, const char *why)
{
    (void)p, (void)why;
    conn_forget(arg);
}

/* One batch of handshake steps, then other events. */
static void handshake_turn(void *arg)
{
    struct process *d = arg;
    d->is_turn_due = false;
    for (int i = 0; i < SHAKES_PER_TURN && d->due_first; i++) {
        struct conn *c = d->due_first;
        take_out_of_line(c);
        tls_pump_shake(c->pump);
    }
    if (d->due_first) {
        d->is_turn_due = true;
        loop_defer(d->loop, handshake_turn, d);
    }
}

static void conn_due(void *arg, struct tls_pump *p)
{
    struct conn *c = arg;
    struct process *d = c->process;
    (void)p;
    c->is_due = true;
    if (d->due_last)
        d->due_last->next_due = c;
    else
        d->due_first = c;
    d->due_last = c;
    if (!d->is_turn_due) {
        d->is_turn_due = true;
        loop_defer(d->loop, handshake_turn, d);
    }
}

static void conn_admit(struct process *d, unsigned port, int fd, const struct sockaddr_storage *addr)
{
    static const struct tls_pump_events events = { .on_ready = conn_ready, .on_end = conn_end, .on_due = conn_due };
    struct address from = { 0 };
    (void)address_of((const struct sockaddr *)addr, &from, NULL); /* else it is one of those without an address */
    unsigned slot = address_slot(&from);
    if (d->shaking[slot] >= MAX_SHAKING / 4)
        drop_shaking(d, slot);
    else if (d->lists[SHAKING].count >= MAX_SHAKING)
        drop_shaking(d, busiest_slot(d));
    struct tls_pump *pump;
    if (conn_count(d) >= MAX_CONNS) {
        (void)close(fd);
        return;
    }
    if (tls_pump_new(d->loop, d->ctx, fd, NULL, &pump) < 0)
        return;
    struct conn *c = xzalloc(sizeof *c);
    *c = (struct conn){
        .process = d, .pump = pump, .slot = slot, .plain = NO_FD, .deadline_ms = loop_now_ms(d->loop) + SHAKE_MS
    };
    c->msg.kind = TLS_WIRE_CONN;
    c->msg.port = (uint16_t)port;
    tls_wire_set_peer(&c->msg, addr);
    list_add(c, SHAKING);
    tls_pump_start(pump, &events, c);
}

static void accept_some(struct process *d, unsigned port)
{
    for (int i = 0; i < ACCEPT_BATCH && d->listeners[port].fd >= 0; i++) {
        struct sockaddr_storage addr = { 0 };
        socklen_t len = sizeof addr;
        int fd = accept4(d->listeners[port].fd, (struct sockaddr *)&addr, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            conn_admit(d, port, fd, &addr);
            continue;
        }
        int sys = errno;
        if (sys == EMFILE || sys == ENFILE || sys == ENOMEM || sys == ENOBUFS) {
            drop_shaking(d, busiest_slot(d));
            d->is_paused = true; /* the listener stays readable: without a pause this would spin */
            watch_listeners(d);
        }
        if (sys != ECONNABORTED && sys != EINTR)
            return;
    }
}

static void accept_rest(void *arg, int events)
{
    (void)events;
    accept_some(arg, 0);
}

static void accept_engine(void *arg, int events)
{
    (void)events;
    accept_some(arg, 1);
}

static void listener_tick(void *arg)
{
    struct process *d = arg;
    int64_t now = loop_now_ms(d->loop);
    if (d->is_paused) {
        d->is_paused = false;
        watch_listeners(d);
    }
    while (d->lists[SHAKING].first && d->lists[SHAKING].first->deadline_ms <= now)
        conn_drop(d->lists[SHAKING].first);
    if (d->lists[SENDING].first)
        hand_over(d);
    if (d->last_ms && now >= d->last_ms)
        loop_stop(d->loop);
}

/* --- messages from the server --- */

static void add_listener(struct process *d, unsigned port, int fd)
{
    static watch_fn *const fns[TLS_WIRE_PORTS] = { accept_rest, accept_engine };
    struct listener *li = &d->listeners[port];
    if (d->is_retired || li->fd >= 0 || watch_new(d->loop, fd, LOOP_READ, fns[port], d, &li->watch) < 0) {
        (void)close(fd);
        return;
    }
    li->fd = fd;
}

static void control_event(void *arg, int events)
{
    struct process *d = arg;
    if (events & LOOP_WRITE)
        hand_over(d);
    for (;;) {
        struct tls_wire_msg m;
        int fd = NO_FD;
        size_t n_fds = 0;
        if (!d->control)
            return;
        ssize_t got = seqsock_recv(TLS_WIRE_FD, &m, sizeof m, &fd, 1, &n_fds);
        if (got == -EAGAIN)
            return;
        if (got <= 0 || !tls_wire_is_from_server(&m, (size_t)got, n_fds)) {
            seqsock_close_all(&fd, n_fds);
            server_gone(d);
        } else if (m.kind == TLS_WIRE_LISTEN) {
            add_listener(d, m.port, fd);
        } else {
            listener_retire(d);
        }
    }
}

/* --- the process --- */

static void send_message(enum tls_wire_kind kind, const char *text)
{
    struct tls_wire_msg m = { .kind = (uint16_t)kind };
    (void)snprintf(m.text, sizeof m.text, "%s", text);
    (void)tls_wire_send(TLS_WIRE_FD, &m, NO_FD); /* a server that has exited also shows on the control socket */
}

int tls_listener_main(int argc, char **argv)
{
    struct process d = { .listeners = { { .fd = NO_FD }, { .fd = NO_FD } } };
    char note[TLS_CONTEXT_NOTE_MAX];
    struct err err = ERR_INIT;
    if (argc != 6)
        return 2;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN); /* from a terminal; the server decides when the files are read again */
    (void)signal(SIGINT, SIG_IGN);
    (void)prctl(PR_SET_NAME, "iii-tls"); /* for ps only */
    struct rlimit lim;
    if (getrlimit(RLIMIT_NOFILE, &lim) == 0) {
        lim.rlim_cur = lim.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &lim); /* on failure the old limit bounds the number of connections */
    }
    struct tls_context_files files = {
        .cert = argv[2], .key = argv[3], .client_ca = argv[4], .is_client_optional = strcmp(argv[5], "optional") == 0
    };
    int r = tls_context_server(&files, &d.ctx, note, &err);
    if (r == 0)
        r = loop_new(&d.loop, &err);
    if (r == 0)
        r = tls_confine_enter(&err);
    if (r == 0 && (r = watch_new(d.loop, TLS_WIRE_FD, LOOP_READ, control_event, &d, &d.control)) < 0)
        (void)err_sys(&err, r, "TLS listener: watch the server's socket");
    if (r < 0) {
        send_message(TLS_WIRE_FAILED, err.msg);
        _exit(1);
    }
    send_message(TLS_WIRE_READY, note);
    d.tick = timer_new(d.loop, TICK_MS, TICK_MS, listener_tick, &d);
    loop_run(d.loop);
    _exit(0); /* the kernel closes the rest; freeing it one by one has no use */
}
