#include "tls/tls_listener_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "os/proc.h"
#include "os/seqsock.h"
#include "tls/tls_wire.h"

enum { START_MS = 10000, AGAIN_MS = 50, AGAIN_MAX_MS = 5000, END_MS = 3000, MAX_RETIRED = 8, BATCH = 64 };

enum state { STARTING, SERVING, RETIRED };

struct process {
    struct tls_listener_client *keep;
    struct process *next;
    pid_t pid;
    int pidfd, sock;
    struct watch *watch, *exit_watch;
    enum state state;
    bool is_reload; /* its failure is no reason to try again */
};

struct tls_listener_client {
    struct loop *loop;
    struct tls_listener_client_events events;
    struct keeper *keeper;
    unsigned job;
    char *cert;                /* for words only */
    struct process *processes; /* newest first */
    struct timer *again, *late;
    int64_t again_ms;
    int listeners[TLS_WIRE_PORTS];
    bool is_over;
};

static void restart_later(struct tls_listener_client *k);

static void note(struct tls_listener_client *k, bool is_bad, const char *what, const char *text)
{
    k->events.on_note(k->events.arg, is_bad, what, text);
}

static struct process *find(struct tls_listener_client *k, enum state state)
{
    for (struct process *d = k->processes; d; d = d->next)
        if (d->state == state)
            return d;
    return NULL;
}

/* --- starting --- */

static int spawn(struct tls_listener_client *k, struct process *d, struct err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return err_sys(err, -errno, "socket pair for the TLS door");
    int r = keeper_run(k->keeper, k->job, pair[1], &d->pid, &d->pidfd, err);
    (void)close(pair[1]);
    d->sock = pair[0];
    return r < 0 ? err_wrap(err, r, "start the TLS door") : 0;
}

/* Takes d out and lets go of it; the process ends by itself when its socket closes. is_reaped: it has ended already. */
static void remove_process(struct process *d, bool is_reaped)
{
    struct process **at = &d->keep->processes;
    while (*at != d)
        at = &(*at)->next;
    *at = d->next;
    d->watch = watch_free(d->watch);
    d->exit_watch = watch_free(d->exit_watch);
    if (d->sock >= 0)
        (void)close(d->sock);
    if (d->pid > 0 && !is_reaped) {
        struct pollfd p = { .fd = d->pidfd, .events = POLLIN };
        if (d->pidfd < 0 || poll(&p, 1, END_MS) != 1)
            keeper_kill(d->keep->keeper, d->pid); /* not ours to signal */
    }
    if (d->pid > 0)
        (void)waitpid(d->pid, NULL, 0);
    if (d->pidfd >= 0)
        (void)close(d->pidfd);
    free(d);
}

static void send_listeners(struct process *d)
{
    for (unsigned i = 0; i < TLS_WIRE_PORTS; i++) {
        struct tls_wire_msg m = { .kind = TLS_WIRE_LISTEN, .port = (uint16_t)i };
        if (d->keep->listeners[i] >= 0)
            (void)tls_wire_send(d->sock, &m, d->keep->listeners[i]); /* a door that is gone shows by its exit */
    }
}

static void tell_retire(struct process *d)
{
    struct tls_wire_msg m = { .kind = TLS_WIRE_RETIRE };
    d->state = RETIRED;
    (void)tls_wire_send(d->sock, &m, NO_FD);
}

/* --- what doors say --- */

static void limit_retired(struct tls_listener_client *k)
{
    unsigned count = 0;
    for (struct process *d = k->processes; d; d = d->next)
        if (d->state == RETIRED && ++count > MAX_RETIRED && d->sock >= 0) {
            d->watch = watch_free(d->watch);
            (void)close(steal_fd(&d->sock)); /* it cuts what is left, and its exit is seen */
        }
}

static void became_ready(struct process *d, const char *text)
{
    struct tls_listener_client *k = d->keep;
    struct process *old = find(k, SERVING);
    k->late = timer_free(k->late);
    k->again_ms = 0;
    d->state = SERVING;
    send_listeners(d);
    if (old)
        tell_retire(old);
    limit_retired(k);
    note(k, false, d->is_reload ? "reloaded" : "started", k->cert);
    if (*text)
        note(k, true, "certificate", text);
}

static void end_start(struct process *d, const char *why)
{
    struct tls_listener_client *k = d->keep;
    bool is_reload = d->is_reload;
    k->late = timer_free(k->late);
    if (d->pid > 0)
        keeper_kill(d->keep->keeper, d->pid);
    /* not ours to signal */ /* it has ended or is about to; nothing was given to it */
    remove_process(d, false);
    note(k, true, "refused", why);
    if (!is_reload)
        restart_later(k);
}

static void take_message(struct process *d, const struct tls_wire_msg *m, int fd)
{
    char peer[TLS_WIRE_PEER_MAX];
    struct tls_listener_client *k = d->keep;
    if (m->kind == TLS_WIRE_CONN && d->state != STARTING) {
        tls_wire_peer(m, peer);
        k->events.on_conn(k->events.arg, m->port ? TLS_LISTENER_CLIENT_ENGINE : TLS_LISTENER_CLIENT_REST, fd, peer);
        return;
    }
    if (fd >= 0)
        (void)close(fd);
    if (d->state == STARTING && m->kind == TLS_WIRE_READY)
        became_ready(d, m->text);
    else if (d->state == STARTING && m->kind == TLS_WIRE_FAILED)
        end_start(d, m->text);
}

/* 1: a message is in *m, 0: none now, negative: the end or nonsense. */
static int read_message(struct process *d, struct tls_wire_msg *m, int *ret_fd)
{
    size_t n_fds = 0;
    int fd = NO_FD;
    ssize_t got = seqsock_recv(d->sock, m, sizeof *m, &fd, 1, &n_fds);
    if (got == -EAGAIN || got == -EBADMSG) /* the second: no descriptor was free for it, so that connection is lost */
        return 0;
    if (got <= 0 || !tls_wire_is_from_listener(m, (size_t)got, n_fds)) {
        seqsock_close_all(&fd, n_fds);
        return got < 0 ? (int)got : -EPIPE;
    }
    *ret_fd = fd;
    return 1;
}

static void on_message(void *arg, int events)
{
    struct process *d = arg;
    struct tls_listener_client *k = d->keep;
    (void)events;
    for (int i = 0; i < BATCH; i++) {
        struct tls_wire_msg m;
        int fd = NO_FD, r = read_message(d, &m, &fd);
        if (r < 0) { /* dead, or not to be believed any more: either way its exit is next */
            d->watch = watch_free(d->watch);
            keeper_kill(d->keep->keeper, d->pid); /* not ours to signal */
        }
        if (r <= 0)
            return;
        enum state before = d->state;
        take_message(d, &m, fd);
        if (before == STARTING && k->processes != d)
            return; /* removed */
    }
}

static void on_exit_seen(void *arg)
{
    struct process *d = arg;
    struct tls_listener_client *k = d->keep;
    enum state state = d->state;
    if (state == STARTING) {
        struct tls_wire_msg m;
        int fd = NO_FD;
        if (read_message(d, &m, &fd) == 1 && m.kind == TLS_WIRE_FAILED)
            end_start(d, m.text);
        else
            end_start(d, "the TLS door ended while it started");
        return;
    }
    remove_process(d, true);
    if (state == SERVING) {
        note(k, true, "died", "connections through it are lost; it is started again");
        restart_later(k);
    }
}

/* --- the door's life --- */

static int start_process(struct tls_listener_client *k, bool is_reload, struct process **ret, struct err *err)
{
    struct process *d = xzalloc(sizeof *d);
    *d = (struct process){ .keep = k, .next = k->processes, .pidfd = NO_FD, .sock = NO_FD, .is_reload = is_reload };
    k->processes = d;
    int r = spawn(k, d, err);
    if (r < 0) {
        if (d->pid > 0)
            keeper_kill(d->keep->keeper, d->pid); /* not ours to signal */
        remove_process(d, false);
        return r;
    }
    *ret = d;
    return 0;
}

static int watch_process(struct process *d, struct err *err)
{
    int r = watch_new(d->keep->loop, d->sock, LOOP_READ, on_message, d, &d->watch);
    if (r == 0)
        r = loop_on_exit(d->keep->loop, d->pidfd, on_exit_seen, d, &d->exit_watch);
    return r < 0 ? err_sys(err, r, "watch the TLS door") : 0;
}

static void on_late(void *arg)
{
    struct tls_listener_client *k = arg;
    struct process *d = find(k, STARTING);
    if (d)
        end_start(d, "the TLS door did not start in time");
}

/* While the loop runs: nothing waits. */
static void start_on_loop(struct tls_listener_client *k, bool is_reload)
{
    struct err err = ERR_INIT;
    struct process *d = NULL;
    int r = start_process(k, is_reload, &d, &err);
    if (r == 0) {
        r = watch_process(d, &err);
        if (r < 0)
            end_start(d, err.msg);
        else
            k->late = timer_new(k->loop, START_MS, 0, on_late, k);
        return;
    }
    note(k, true, "refused", err.msg);
    if (!is_reload)
        restart_later(k);
}

static void on_again(void *arg)
{
    struct tls_listener_client *k = arg;
    if (!k->is_over && !find(k, STARTING) && !find(k, SERVING))
        start_on_loop(k, false);
}

static void restart_later(struct tls_listener_client *k)
{
    if (k->is_over)
        return;
    k->again_ms = k->again_ms ? (k->again_ms * 2 < AGAIN_MAX_MS ? k->again_ms * 2 : AGAIN_MAX_MS) : AGAIN_MS;
    if (!k->again)
        k->again = timer_new(k->loop, k->again_ms, 0, on_again, k);
    else
        timer_set(k->again, k->again_ms, 0);
}

void tls_listener_client_reload(struct tls_listener_client *k)
{
    if (k->is_over)
        return;
    if (find(k, STARTING))
        note(k, true, "refused", "a door is being started already: try again in a moment");
    else
        start_on_loop(k, true);
}

/* --- beginning and end --- */

static int wait_first(struct process *d, char *text, struct err *err)
{
    struct pollfd p = { .fd = d->sock, .events = POLLIN };
    struct tls_wire_msg m;
    int fd = NO_FD, r;
    do
        r = poll(&p, 1, START_MS);
    while (r < 0 && errno == EINTR);
    if (r <= 0)
        return err_sys(err, r < 0 ? -errno : -ETIMEDOUT, "wait for the TLS door");
    r = read_message(d, &m, &fd);
    if (r != 1 || (m.kind != TLS_WIRE_READY && m.kind != TLS_WIRE_FAILED))
        return err_set(err, ERR_INTERNAL, 0, "the TLS door ended while it started");
    if (m.kind == TLS_WIRE_FAILED)
        return err_set(err, ERR_INVALID, 0, "%s", m.text);
    (void)snprintf(text, TLS_WIRE_TEXT_MAX, "%s", m.text);
    return 0;
}

int tls_listener_client_new(struct loop *l, const struct tls_listener_client_start *start,
                            const struct tls_listener_client_events *events, struct tls_listener_client **ret,
                            struct err *err)
{
    char text[TLS_WIRE_TEXT_MAX] = "";
    struct tls_listener_client *k = xzalloc(sizeof *k);
    struct process *d = NULL;
    *k = (struct tls_listener_client){ .loop = l, .events = *events, .listeners = { NO_FD, NO_FD } };
    k->cert = xstrdup(start->cert);
    k->keeper = start->keeper;
    k->job = start->job;
    int r = start_process(k, false, &d, err);
    if (r == 0)
        r = wait_first(d, text, err);
    if (r == 0)
        r = watch_process(d, err);
    if (r < 0) {
        (void)tls_listener_client_free(k);
        return r;
    }
    became_ready(d, text);
    *ret = k;
    return 0;
}

void tls_listener_client_listen(struct tls_listener_client *k, enum tls_listener_client_port port, int fd)
{
    struct process *d = find(k, SERVING);
    struct tls_wire_msg m = { .kind = TLS_WIRE_LISTEN, .port = (uint16_t)port };
    k->listeners[port] = fd;
    if (d)
        (void)tls_wire_send(d->sock, &m, fd); /* a door that is gone shows by its exit */
}

int tls_listener_client_lend(const struct tls_listener_client *k, enum tls_listener_client_port port)
{
    return fcntl(k->listeners[port], F_DUPFD_CLOEXEC, 0);
}

void tls_listener_client_retire(struct tls_listener_client *k)
{
    k->is_over = true;
    for (unsigned i = 0; i < TLS_WIRE_PORTS; i++)
        if (k->listeners[i] >= 0)
            (void)close(steal_fd(&k->listeners[i]));
    for (struct process *d = k->processes; d; d = d->next)
        if (d->state == SERVING)
            tell_retire(d);
}

struct tls_listener_client *tls_listener_client_free(struct tls_listener_client *k)
{
    if (!k)
        return NULL;
    tls_listener_client_retire(k);
    for (struct process *d = k->processes; d; d = d->next) { /* all at once, so that they end side by side */
        d->watch = watch_free(d->watch);
        if (d->sock >= 0)
            (void)close(steal_fd(&d->sock));
    }
    while (k->processes)
        remove_process(k->processes, false);
    k->again = timer_free(k->again);
    k->late = timer_free(k->late);
    free(k->cert);
    free(k);
    return NULL;
}
