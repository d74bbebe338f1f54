#include "main/takeover_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"

enum { BACKLOG = 4, WORD_MS = 60000 }; /* the new server checks the state before it sends GO */

struct takeover_socket {
    struct loop *loop;
    struct takeover_socket_events events;
    int dir_fd, fd, conn;
    struct watch *watch, *conn_watch;
    struct timer *timer;
    bool has_asked, is_going;
};

static void hang_up(struct takeover_socket *h)
{
    h->conn_watch = watch_free(h->conn_watch);
    if (h->conn >= 0)
        (void)close(steal_fd(&h->conn));
    h->has_asked = false;
    timer_set(h->timer, -1, 0);
}

static void caller_timeout(void *arg)
{
    hang_up(arg);
}

static void caller_refuse(int conn, const char *why)
{
    struct handover_note no = handover_note(HANDOVER_NO);
    (void)snprintf(no.text, sizeof(no.text), "%.255s", why);
    (void)handover_send(conn, &no, NULL); /* it gets the message, or it has exited */
    /* Closing a unix socket with unread data resets the other end, and our reply would be lost. */
    (void)shutdown(conn, SHUT_RD);
    struct handover_note unread;
    while (recv(conn, &unread, sizeof(unread), MSG_DONTWAIT) > 0)
        ;
}

static void caller_message(void *arg, int events)
{
    struct takeover_socket *h = arg;
    struct handover_note note;
    struct err err = ERR_INIT;
    (void)events;
    int r = handover_receive(h->conn, &note, &err);
    if (r == -EAGAIN)
        return;
    if (r < 0 || note.type != (h->has_asked ? HANDOVER_GO : HANDOVER_ASK)) {
        if (r != -EPIPE)
            caller_refuse(h->conn, r < 0 ? err.msg : "unexpected message");
        hang_up(h);
        return;
    }
    if (h->has_asked) {
        h->is_going = true;
        h->conn_watch = watch_free(h->conn_watch);
        timer_set(h->timer, -1, 0);
        h->events.on_go(h->events.arg);
        return;
    }
    struct handover_note offer = handover_note(HANDOVER_OFFER);
    h->events.fill(h->events.arg, &offer);
    h->has_asked = true;
    log_event(LOG_INFO, "takeover.asked", "by", note.program, NULL);
    if (handover_send(h->conn, &offer, NULL) < 0)
        hang_up(h);
}

static void caller_accept(void *arg, int events)
{
    struct takeover_socket *h = arg;
    (void)events;
    int conn = accept4(h->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (conn < 0)
        return;
    struct ucred who; /* the folder is 0700, but a socket file says nothing about the peer of a connection */
    socklen_t len = sizeof(who);
    bool is_allowed =
        getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && (who.uid == 0 || who.uid == geteuid());
    const char *why = !is_allowed                   ? "only root and the user of the running server may take over"
                      : h->conn >= 0 || h->is_going ? "another takeover is in progress"
                                                    : NULL;
    if (!why && watch_new(h->loop, conn, LOOP_READ, caller_message, h, &h->conn_watch) < 0)
        why = "out of memory";
    if (why) {
        caller_refuse(conn, why);
        (void)close(conn);
        return;
    }
    h->conn = conn;
    timer_set(h->timer, WORD_MS, 0);
}

int takeover_socket_open(struct loop *l, const char *dir, const struct takeover_socket_events *ev,
                         struct takeover_socket **ret, struct err *err)
{
    struct takeover_socket *h = xzalloc(sizeof(*h));
    *h = (struct takeover_socket){ .loop = l, .events = *ev, .dir_fd = NO_FD, .fd = NO_FD, .conn = NO_FD };
    h->timer = timer_new(l, -1, 0, caller_timeout, h);
    struct sockaddr_un addr;
    int r = 0;
    h->dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (h->dir_fd < 0)
        r = err_sys(err, -errno, "open %s", dir);
    else if ((h->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) < 0)
        r = err_sys(err, -errno, "make %s/" HANDOVER_SOCKET, dir);
    if (r == 0) {
        socklen_t len = handover_address(dir, h->dir_fd, &addr);
        (void)unlinkat(h->dir_fd, HANDOVER_SOCKET, 0); /* left by a server that was killed */
        if (bind(h->fd, (struct sockaddr *)&addr, len) < 0 || fchmodat(h->dir_fd, HANDOVER_SOCKET, 0600, 0) < 0 ||
            listen(h->fd, BACKLOG) < 0)
            r = err_sys(err, -errno, "listen on %s/" HANDOVER_SOCKET, dir);
    }
    if (r == 0 && (r = watch_new(l, h->fd, LOOP_READ, caller_accept, h, &h->watch)) < 0)
        (void)err_sys(err, r, "watch %s/" HANDOVER_SOCKET, dir);
    if (r < 0)
        takeover_socket_close(h);
    else
        *ret = h;
    return r;
}

int takeover_socket_take(struct takeover_socket *h)
{
    return h->is_going ? steal_fd(&h->conn) : NO_FD;
}

struct takeover_socket *takeover_socket_close(struct takeover_socket *h)
{
    if (!h)
        return NULL;
    hang_up(h);
    timer_free(h->timer);
    h->watch = watch_free(h->watch);
    if (h->fd >= 0) {
        (void)close(h->fd);
        (void)unlinkat(h->dir_fd, HANDOVER_SOCKET, 0); /* another process may have removed it already */
    }
    if (h->dir_fd >= 0)
        (void)close(h->dir_fd);
    free(h);
    return NULL;
}
