/* The socket in the data folder through which another server may take over from this one (main/handover.h): the running
 * server's side, on its loop. May include: base/, loop/, main/. */
#pragma once
#include <stdint.h>

#include "base/err.h"
#include "loop/loop.h"
#include "main/handover.h"

struct takeover_socket;

struct takeover_socket_events {
    void (*fill)(void *arg, struct handover_note *offer); /* fills in the agents and sandboxes of this moment */
    void (*on_go)(void *arg); /* called once; takeover_socket_take() returns the connection */
    void *arg;
};

/* The data folder's lock must be held: an existing socket is stale. */
int takeover_socket_open(struct loop *l, const char *dir, const struct takeover_socket_events *ev,
                         struct takeover_socket **ret, struct err *err);
int takeover_socket_take(
    struct takeover_socket *h); /* the connection that sent GO, owned by the caller; NO_FD when there is none */
struct takeover_socket *takeover_socket_close(struct takeover_socket *h); /* removes the socket */
