/* The socket in the data folder through which another server may take over from this one (main/handover.h): the side of
 * the running server, on its loop. May include: base/, loop/, main/. */
#pragma once
#include <stdint.h>

#include "base/err.h"
#include "loop/loop.h"
#include "main/handover.h"

struct takeover_socket;

struct takeover_socket_events {
    void (*fill)(void *arg, struct handover_note *offer); /* agents and sandboxes of this moment */
    void (*on_go)(void *arg);                             /* once; takeover_socket_take() gives the connection */
    void *arg;
};

/* The data folder's lock must be held: a socket that is there is left over. */
int takeover_socket_open(struct loop *l, const char *dir, const struct takeover_socket_events *ev,
                         struct takeover_socket **ret, struct err *err);
int takeover_socket_take(
    struct takeover_socket *h); /* the connection of the one that said GO, the caller's; NO_FD when none did */
struct takeover_socket *takeover_socket_close(struct takeover_socket *h); /* removes the socket */
