#include "tls/doorkeep.h"

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
#include "tls/doorwire.h"

enum { START_MS = 10000, AGAIN_MS = 50, AGAIN_MAX_MS = 5000, END_MS = 3000, MAX_RETIRED = 8, BATCH = 64 };

enum state { STARTING, SERVING, RETIRED };

struct door {
    struct doorkeep *keep;
    struct door *next;
    pid_t pid;
    int pidfd, sock;
    struct watch *watch, *exit_watch;
    enum state state;
    bool is_reload; /* its failure is no reason to try again */
};

struct doorkeep {
    struct loop *loop;
    struct doorkeep_events events;
    struct keeper *keeper;
    unsigned job;
    char *cert;         /* for words only */
    struct door *doors; /* newest first */
    struct timer *again, *late;
    int64_t again_ms;
    int listeners[DOORWIRE_PORTS];
    bool is_over;
};

static void restart_later(struct doorkeep *k);

static void note(struct doorkeep *k, bool is_bad, const char *what, const char *text)
{
    k->events.on_note(k->events.arg, is_bad, what, text);
}

static struct door *find(struct doorkeep *k, enum state state)
{
    for (struct door *d = k->doors; d; d = d->next)
        if (d->state == state)
            return d;
    return NULL;
}

/* --- starting --- */

static int spawn(struct doorkeep *k, struct door *d, struct err *err)
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
static void remove_door(struct door *d, bool is_reaped)
{
    struct door **at = &d->keep->doors;
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

static void send_listeners(struct door *d)
{
    for (unsigned i = 0; i < DOORWIRE_PORTS; i++) {
        struct doorwire_msg m = { .kind = DOORWIRE_LISTEN, .port = (uint16_t)i };
        if (d->keep->listeners[i] >= 0)
            (void)doorwire_send(d->sock, &m, d->keep->listeners[i]); /* a door that is gone shows by its exit */
    }
}

static void tell_retire(struct door *d)
{
    struct doorwire_msg m = { .kind = DOORWIRE_RETIRE };
    d->state = RETIRED;
    (void)doorwire_send(d->sock, &m, NO_FD);
}

/* --- what doors say --- */

static void limit_retired(struct doorkeep *k)
{
    unsigned count = 0;
    for (struct door *d = k->doors; d; d = d->next)
        if (d->state == RETIRED && ++count > MAX_RETIRED && d->sock >= 0) {
            d->watch = watch_free(d->watch);
            (void)close(steal_fd(&d->sock)); /* it cuts what is left, and its exit is seen */
        }
}

static void became_ready(struct door *d, const char *text)
{
    struct doorkeep *k = d->keep;
    struct door *old = find(k, SERVING);
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

static void end_start(struct door *d, const char *why)
{
    struct doorkeep *k = d->keep;
    bool is_reload = d->is_reload;
    k->late = timer_free(k->late);
    if (d->pid > 0)
        keeper_kill(d->keep->keeper, d->pid);
    /* not ours to signal */ /* it has ended or is about to; nothing was given to it */
    remove_door(d, false);
    note(k, true, "refused", why);
    if (!is_reload)
        restart_later(k);
}

static void take_message(struct door *d, const struct doorwire_msg *m, int fd)
{
    char peer[DOORWIRE_PEER_MAX];
    struct doorkeep *k = d->keep;
    if (m->kind == DOORWIRE_CONN && d->state != STARTING) {
        doorwire_peer(m, peer);
        k->events.on_conn(k->events.arg, m->port ? DOORKEEP_ENGINE : DOORKEEP_REST, fd, peer);
        return;
    }
    if (fd >= 0)
        (void)close(fd);
    if (d->state == STARTING && m->kind == DOORWIRE_READY)
        became_ready(d, m->text);
    else if (d->state == STARTING && m->kind == DOORWIRE_FAILED)
        end_start(d, m->text);
}

/* 1: a message is in *m, 0: none now, negative: the end or nonsense. */
static int read_message(struct door *d, struct doorwire_msg *m, int *ret_fd)
{
    size_t n_fds = 0;
    int fd = NO_FD;
    ssize_t got = seqsock_recv(d->sock, m, sizeof *m, &fd, 1, &n_fds);
    if (got == -EAGAIN || got == -EBADMSG) /* the second: no descriptor was free for it, so that connection is lost */
        return 0;
    if (got <= 0 || !doorwire_is_from_door(m, (size_t)got, n_fds)) {
        seqsock_close_all(&fd, n_fds);
        return got < 0 ? (int)got : -EPIPE;
    }
    *ret_fd = fd;
    return 1;
}

static void on_message(void *arg, int events)
{
    struct door *d = arg;
    struct doorkeep *k = d->keep;
    (void)events;
    for (int i = 0; i < BATCH; i++) {
        struct doorwire_msg m;
        int fd = NO_FD, r = read_message(d, &m, &fd);
        if (r < 0) { /* dead, or not to be believed any more: either way its exit is next */
            d->watch = watch_free(d->watch);
            keeper_kill(d->keep->keeper, d->pid); /* not ours to signal */
        }
        if (r <= 0)
            return;
        enum state before = d->state;
        take_message(d, &m, fd);
        if (before == STARTING && k->doors != d)
            return; /* removed */
    }
}

static void on_exit_seen(void *arg)
{
    struct door *d = arg;
    struct doorkeep *k = d->keep;
    enum state state = d->state;
    if (state == STARTING) {
        struct doorwire_msg m;
        int fd = NO_FD;
        if (read_message(d, &m, &fd) == 1 && m.kind == DOORWIRE_FAILED)
            end_start(d, m.text);
        else
            end_start(d, "the TLS door ended while it started");
        return;
    }
    remove_door(d, true);
    if (state == SERVING) {
        note(k, true, "died", "connections through it are lost; it is started again");
        restart_later(k);
    }
}

/* --- the door's life --- */

static int start_door(struct doorkeep *k, bool is_reload, struct door **ret, struct err *err)
{
    struct door *d = xzalloc(sizeof *d);
    *d = (struct door){ .keep = k, .next = k->doors, .pidfd = NO_FD, .sock = NO_FD, .is_reload = is_reload };
    k->doors = d;
    int r = spawn(k, d, err);
    if (r < 0) {
        if (d->pid > 0)
            keeper_kill(d->keep->keeper, d->pid); /* not ours to signal */
        remove_door(d, false);
        return r;
    }
    *ret = d;
    return 0;
}

static int watch_door(struct door *d, struct err *err)
{
    int r = watch_new(d->keep->loop, d->sock, LOOP_READ, on_message, d, &d->watch);
    if (r == 0)
        r = loop_on_exit(d->keep->loop, d->pidfd, on_exit_seen, d, &d->exit_watch);
    return r < 0 ? err_sys(err, r, "watch the TLS door") : 0;
}

static void on_late(void *arg)
{
    struct doorkeep *k = arg;
    struct door *d = find(k, STARTING);
    if (d)
        end_start(d, "the TLS door did not start in time");
}

/* While the loop runs: nothing waits. */
static void start_on_loop(struct doorkeep *k, bool is_reload)
{
    struct err err = ERR_INIT;
    struct door *d = NULL;
    int r = start_door(k, is_reload, &d, &err);
    if (r == 0) {
        r = watch_door(d, &err);
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
    struct doorkeep *k = arg;
    if (!k->is_over && !find(k, STARTING) && !find(k, SERVING))
        start_on_loop(k, false);
}

static void restart_later(struct doorkeep *k)
{
    if (k->is_over)
        return;
    k->again_ms = k->again_ms ? (k->again_ms * 2 < AGAIN_MAX_MS ? k->again_ms * 2 : AGAIN_MAX_MS) : AGAIN_MS;
    if (!k->again)
        k->again = timer_new(k->loop, k->again_ms, 0, on_again, k);
    else
        timer_set(k->again, k->again_ms, 0);
}

void doorkeep_reload(struct doorkeep *k)
{
    if (k->is_over)
        return;
    if (find(k, STARTING))
        note(k, true, "refused", "a door is being started already: try again in a moment");
    else
        start_on_loop(k, true);
}

/* --- beginning and end --- */

static int wait_first(struct door *d, char *text, struct err *err)
{
    struct pollfd p = { .fd = d->sock, .events = POLLIN };
    struct doorwire_msg m;
    int fd = NO_FD, r;
    do
        r = poll(&p, 1, START_MS);
    while (r < 0 && errno == EINTR);
    if (r <= 0)
        return err_sys(err, r < 0 ? -errno : -ETIMEDOUT, "wait for the TLS door");
    r = read_message(d, &m, &fd);
    if (r != 1 || (m.kind != DOORWIRE_READY && m.kind != DOORWIRE_FAILED))
        return err_set(err, ERR_INTERNAL, 0, "the TLS door ended while it started");
    if (m.kind == DOORWIRE_FAILED)
        return err_set(err, ERR_INVALID, 0, "%s", m.text);
    (void)snprintf(text, DOORWIRE_TEXT_MAX, "%s", m.text);
    return 0;
}

int doorkeep_new(struct loop *l, const struct doorkeep_start *start, const struct doorkeep_events *events,
                 struct doorkeep **ret, struct err *err)
{
    char text[DOORWIRE_TEXT_MAX] = "";
    struct doorkeep *k = xzalloc(sizeof *k);
    struct door *d = NULL;
    *k = (struct doorkeep){ .loop = l, .events = *events, .listeners = { NO_FD, NO_FD } };
    k->cert = xstrdup(start->cert);
    k->keeper = start->keeper;
    k->job = start->job;
    int r = start_door(k, false, &d, err);
    if (r == 0)
        r = wait_first(d, text, err);
    if (r == 0)
        r = watch_door(d, err);
    if (r < 0) {
        (void)doorkeep_free(k);
        return r;
    }
    became_ready(d, text);
    *ret = k;
    return 0;
}

void doorkeep_listen(struct doorkeep *k, enum doorkeep_port port, int fd)
{
    struct door *d = find(k, SERVING);
    struct doorwire_msg m = { .kind = DOORWIRE_LISTEN, .port = (uint16_t)port };
    k->listeners[port] = fd;
    if (d)
        (void)doorwire_send(d->sock, &m, fd); /* a door that is gone shows by its exit */
}

int doorkeep_lend(const struct doorkeep *k, enum doorkeep_port port)
{
    return fcntl(k->listeners[port], F_DUPFD_CLOEXEC, 0);
}

void doorkeep_retire(struct doorkeep *k)
{
    k->is_over = true;
    for (unsigned i = 0; i < DOORWIRE_PORTS; i++)
        if (k->listeners[i] >= 0)
            (void)close(steal_fd(&k->listeners[i]));
    for (struct door *d = k->doors; d; d = d->next)
        if (d->state == SERVING)
            tell_retire(d);
}

struct doorkeep *doorkeep_free(struct doorkeep *k)
{
    if (!k)
        return NULL;
    doorkeep_retire(k);
    for (struct door *d = k->doors; d; d = d->next) { /* all at once, so that they end side by side */
        d->watch = watch_free(d->watch);
        if (d->sock >= 0)
            (void)close(steal_fd(&d->sock));
    }
    while (k->doors)
        remove_door(k->doors, false);
    k->again = timer_free(k->again);
    k->late = timer_free(k->late);
    free(k->cert);
    free(k);
    return NULL;
}
