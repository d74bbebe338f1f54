#include "ssh/ssh_listener_client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "loop/helper.h"
#include "ssh/ssh_wire.h"

enum { START_MS = 10000, END_MS = 3000, BATCH = 16 };

struct ssh_listener_client {
    struct loop *loop;
    struct ssh_listener_client_events events;
    struct helper helper;
    struct helper_retry retry;
    int listener;
    bool is_ready, is_over;
    char key[SSH_WIRE_TEXT_MAX];
};

static void restart_later(struct ssh_listener_client *k);

static void give_listener(struct ssh_listener_client *k)
{
    struct ssh_wire_msg m = { .kind = SSH_WIRE_LISTEN };
    if (k->is_ready && k->listener >= 0)
        (void)ssh_wire_send(k->helper.sock, &m, k->listener); /* one that has exited is noticed by its exit */
}

static void take_message(struct ssh_listener_client *k, const struct ssh_wire_msg *m, int fd)
{
    if (m->kind == SSH_WIRE_CONN && k->is_ready && !k->is_over) {
        k->events.on_conn(k->events.arg, fd, m->text);
        return;
    }
    if (fd >= 0)
        (void)close(fd);
    if (m->kind == SSH_WIRE_READY && !k->is_ready) {
        k->is_ready = true;
        k->retry.pause_ms = 0;
        (void)snprintf(k->key, sizeof(k->key), "%s", m->text);
        k->events.on_note(k->events.arg, false, "started", k->key);
        give_listener(k);
    } else if (m->kind == SSH_WIRE_FAILED) {
        k->events.on_note(k->events.arg, true, "refused", m->text);
    }
}

static void listener_message(void *arg, int events)
{
    struct ssh_listener_client *k = arg;
    (void)events;
    for (int i = 0; i < BATCH; i++) {
        struct ssh_wire_msg m;
        int fd = NO_FD, r = ssh_wire_receive(k->helper.sock, &m, &fd);
        if (r < 0) { /* dead, or no longer trusted: in both cases it exits next */
            k->helper.watch = watch_free(k->helper.watch);
            helper_kill(&k->helper);
        }
        if (r <= 0)
            return;
        take_message(k, &m, fd);
    }
}

static void listener_exited(void *arg)
{
    struct ssh_listener_client *k = arg;
    listener_message(k, 0); /* why, if it said so */
    helper_stop(&k->helper, 0);
    k->is_ready = false;
    k->events.on_note(k->events.arg, true, "died", "connections through it are lost; it is restarted");
    restart_later(k);
}

static int start(struct ssh_listener_client *k, struct err *err)
{
    return helper_start(&k->helper, "the SSH listener", err);
}

static void restart_due(void *arg)
{
    struct ssh_listener_client *k = arg;
    struct err err = ERR_INIT;
    int r = k->is_over ? 0 : start(k, &err);
    if (!k->is_over && r == 0) {
        r = helper_watch(&k->helper, k->loop, listener_message, listener_exited, k, &err);
        if (r < 0)
            helper_stop(&k->helper, 0);
    }
    if (r < 0) {
        k->events.on_note(k->events.arg, true, "refused", err.msg);
        restart_later(k);
    }
}

static void restart_later(struct ssh_listener_client *k)
{
    if (!k->is_over)
        helper_retry_later(&k->retry, k->loop, restart_due, k);
}

static int wait_first(struct ssh_listener_client *k, struct err *err)
{
    struct pollfd p = { .fd = k->helper.sock, .events = POLLIN };
    struct ssh_wire_msg m = { 0 };
    int fd = NO_FD, r;
    do
        r = poll(&p, 1, START_MS);
    while (r < 0 && errno == EINTR);
    if (r <= 0)
        return err_sys(err, r < 0 ? -errno : -ETIMEDOUT, "wait for the SSH listener");
    r = ssh_wire_receive(k->helper.sock, &m, &fd);
    if (r == 1 && m.kind == SSH_WIRE_FAILED)
        return err_set(err, ERR_INVALID, 0, "%s", m.text);
    if (r != 1 || m.kind != SSH_WIRE_READY)
        return err_set(err, ERR_INTERNAL, 0, "the SSH listener exited while it started");
    take_message(k, &m, fd);
    return 0;
}

int ssh_listener_client_new(struct loop *l, struct keeper *keeper, unsigned job,
                            const struct ssh_listener_client_events *events, struct ssh_listener_client **ret,
                            struct err *err)
{
    struct ssh_listener_client *k = xzalloc(sizeof(*k));
    *k = (struct ssh_listener_client){
        .loop = l, .events = *events, .helper = HELPER_INIT(keeper, job), .listener = NO_FD
    };
    k->helper.is_blocking = true; /* the listener's own end */
    int r = start(k, err);
    if (r == 0)
        r = wait_first(k, err);
    if (r == 0)
        r = helper_watch(&k->helper, k->loop, listener_message, listener_exited, k, err);
    if (r < 0)
        (void)ssh_listener_client_free(k);
    else
        *ret = k;
    return r;
}

void ssh_listener_client_listen(struct ssh_listener_client *k, int fd)
{
    k->listener = fd;
    give_listener(k);
}

const char *ssh_listener_client_key(const struct ssh_listener_client *k)
{
    return k->key;
}

void ssh_listener_client_stop(struct ssh_listener_client *k)
{
    if (!k || k->is_over)
        return;
    k->is_over = true;
    if (k->listener >= 0)
        (void)close(steal_fd(&k->listener));
    helper_close(&k->helper); /* it closes its own and exits */
}

struct ssh_listener_client *ssh_listener_client_free(struct ssh_listener_client *k)
{
    if (!k)
        return NULL;
    ssh_listener_client_stop(k);
    helper_stop(&k->helper, END_MS);
    helper_retry_done(&k->retry);
    free(k);
    return NULL;
}
