/* Theory of operation. struct tls_listener_client owns the listening sockets and a list of listener processes, newest
 * first. The first process is in use once it has sent TLS_WIRE_READY; then it gets the listening sockets and older ones
 * are told to retire: they accept no more and exit with their last connection. A process that exits or sends an invalid
 * message is closed and, when it was the one in use, restarted after a growing pause; clients wait in the listening
 * sockets' backlog meanwhile. A reload starts a second process with the new files; when they are rejected the old
 * process stays in use. */
#include "tls/tls_listener_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "loop/helper.h"
#include "os/seqsock.h"
#include "tls/tls_wire.h"

enum { START_MS = 10000, END_MS = 3000, MAX_RETIRED = 8, BATCH = 64 };

enum state { STARTING, SERVING, RETIRED };

struct process {
    struct tls_listener_client *keep;
    struct process *next;
    struct helper helper;
    enum state state;
    bool is_reload; /* its failure must not cause a restart */
};

struct tls_listener_client {
    struct loop *loop;
    struct tls_listener_client_events events;
    struct keeper *keeper;
    unsigned job;
    char *cert;                /* for messages only */
    struct process *processes; /* newest first */
    struct helper_retry retry;
    struct timer *late;
    int listeners[TLS_WIRE_PORTS];
    bool is_over;
};

static void restart_later(struct tls_listener_client *k);

static void note_event(struct tls_listener_client *k, bool is_bad, const char *what, const char *text)
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

static void process_remove(struct process *d, int wait_ms)
{
    struct process **at = &d->keep->processes;
    while (*at != d)
        at = &(*at)->next;
    *at = d->next;
    helper_stop(&d->helper, wait_ms);
    free(d);
}

static void tell_retire(struct process *d)
{
    struct tls_wire_msg m = { .kind = TLS_WIRE_RETIRE };
    d->state = RETIRED;
    (void)tls_wire_send(d->helper.sock, &m, NO_FD);
}

/* --- messages from listeners --- */

static void became_ready(struct process *d, const char *text)
{
    struct tls_listener_client *k = d->keep;
    struct process *old = find(k, SERVING);
    unsigned retired = 0;
    k->late = timer_free(k->late);
    k->retry.pause_ms = 0;
    d->state = SERVING;
    for (unsigned i = 0; i < TLS_WIRE_PORTS; i++) {
        struct tls_wire_msg m = { .kind = TLS_WIRE_LISTEN, .port = (uint16_t)i };
        if (k->listeners[i] >= 0) /* a listener process that has exited is noticed by its exit */
            (void)tls_wire_send(d->helper.sock, &m, k->listeners[i]);
    }
    if (old)
        tell_retire(old);
    for (struct process *p = k->processes; p; p = p->next)
        if (p->state == RETIRED && ++retired > MAX_RETIRED && p->helper.sock >= 0)
            helper_close(&p->helper); /* it closes the remaining connections, and we see its exit */
    note_event(k, false, d->is_reload ? "reloaded" : "started", k->cert);
    if (*text)
        note_event(k, true, "certificate", text);
}

static void end_start(struct process *d, const char *why)
{
    struct tls_listener_client *k = d->keep;
    bool is_reload = d->is_reload;
    k->late = timer_free(k->late);
    process_remove(d, 0); /* it has exited or is about to; it got no sockets */
    note_event(k, true, "refused", why);
    if (!is_reload)
        restart_later(k);
}

static void take_message(struct process *d, const struct tls_wire_msg *m, int fd)
{
    char peer[TLS_WIRE_PEER_MAX];
    struct tls_listener_client *k = d->keep;
    if (m->kind == TLS_WIRE_CONN && d->state != STARTING) {
        tls_wire_peer(m, peer);
        k->events.on_conn(k->events.arg, m->port ? TLS_LISTENER_CLIENT_ENGINE : TLS_LISTENER_CLIENT_REST, fd, peer,
                          m->text);
        return;
    }
    if (fd >= 0)
        (void)close(fd);
    if (d->state == STARTING && m->kind == TLS_WIRE_READY)
        became_ready(d, m->text);
    else if (d->state == STARTING && m->kind == TLS_WIRE_FAILED)
        end_start(d, m->text);
}

/* 1: a message is in *m, 0: none now, negative: end of file or an invalid message. */
static int read_message(struct process *d, struct tls_wire_msg *m, int *ret_fd)
{
    size_t n_fds = 0;
    int fd = NO_FD;
    ssize_t got = seqsock_recv(d->helper.sock, m, sizeof *m, &fd, 1, &n_fds);
    if (got == -EAGAIN || got == -EBADMSG) /* the second: no descriptor was free for it, so that connection is lost */
        return 0;
    if (got <= 0 || !tls_wire_is_from_listener(m, (size_t)got, n_fds)) {
        seqsock_close_all(&fd, n_fds);
        return got < 0 ? (int)got : -EPIPE;
    }
    *ret_fd = fd;
    return 1;
}

static void process_message(void *arg, int events)
{
    struct process *d = arg;
    struct tls_listener_client *k = d->keep;
    (void)events;
    for (int i = 0; i < BATCH; i++) {
        struct tls_wire_msg m;
        int fd = NO_FD, r = read_message(d, &m, &fd);
        if (r < 0) { /* dead, or no longer trusted: in both cases it exits next */
            d->helper.watch = watch_free(d->helper.watch);
            helper_kill(&d->helper);
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
            end_start(d, "the TLS listener exited while it started");
        return;
    }
    process_remove(d, 0);
    if (state == SERVING) {
        note_event(k, true, "died", "connections through it are lost; it is restarted");
        restart_later(k);
    }
}

/* --- life of a listener --- */

static int start_process(struct tls_listener_client *k, bool is_reload, struct process **ret, struct err *err)
{
    struct process *d = xzalloc(sizeof *d);
    *d = (struct process){
        .keep = k, .next = k->processes, .helper = HELPER_INIT(k->keeper, k->job), .is_reload = is_reload
    };
    k->processes = d;
    int r = helper_start(&d->helper, "the TLS listener", err);
    if (r < 0) {
        process_remove(d, 0);
        return r;
    }
    *ret = d;
    return 0;
}

static void start_timeout(void *arg)
{
    struct tls_listener_client *k = arg;
    struct process *d = find(k, STARTING);
    if (d)
        end_start(d, "the TLS listener did not start in time");
}

/* While the loop runs: nothing blocks. */
static void start_on_loop(struct tls_listener_client *k, bool is_reload)
{
    struct err err = ERR_INIT;
    struct process *d = NULL;
    int r = start_process(k, is_reload, &d, &err);
    if (r == 0) {
        r = helper_watch(&d->helper, k->loop, process_message, on_exit_seen, d, &err);
        if (r < 0)
            end_start(d, err.msg);
        else
            k->late = timer_new(k->loop, START_MS, 0, start_timeout, k);
        return;
    }
    note_event(k, true, "refused", err.msg);
    if (!is_reload)
        restart_later(k);
}

static void restart_due(void *arg)
{
    struct tls_listener_client *k = arg;
    if (!k->is_over && !find(k, STARTING) && !find(k, SERVING))
        start_on_loop(k, false);
}

static void restart_later(struct tls_listener_client *k)
{
    if (k->is_over)
        return;
    helper_retry_later(&k->retry, k->loop, restart_due, k);
}

void tls_listener_client_reload(struct tls_listener_client *k)
{
    if (k->is_over)
        return;
    if (find(k, STARTING))
        note_event(k, true, "refused", "a TLS listener is already being started: try again in a moment");
    else
        start_on_loop(k, true);
}

/* --- creation and end --- */

static int wait_first(struct process *d, char *text, struct err *err)
{
    struct pollfd p = { .fd = d->helper.sock, .events = POLLIN };
    struct tls_wire_msg m;
    int fd = NO_FD, r;
    do
        r = poll(&p, 1, START_MS);
    while (r < 0 && errno == EINTR);
    if (r <= 0)
        return err_sys(err, r < 0 ? -errno : -ETIMEDOUT, "wait for the TLS listener");
    r = read_message(d, &m, &fd);
    if (r != 1 || (m.kind != TLS_WIRE_READY && m.kind != TLS_WIRE_FAILED))
        return err_set(err, ERR_INTERNAL, 0, "the TLS listener exited while it started");
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
        r = helper_watch(&d->helper, k->loop, process_message, on_exit_seen, d, err);
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
        (void)tls_wire_send(d->helper.sock, &m, fd); /* a listener that has exited is noticed by its exit */
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
    for (struct process *d = k->processes; d; d = d->next)
        helper_close(&d->helper); /* all of them first, so that they exit in parallel */
    while (k->processes)
        process_remove(k->processes, END_MS);
    helper_retry_done(&k->retry);
    k->late = timer_free(k->late);
    free(k->cert);
    free(k);
    return NULL;
}
