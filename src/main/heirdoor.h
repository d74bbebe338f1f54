/* The socket in the data folder through which another server may take over from this one (main/handover.h): the side of
 * the running server, on its loop. May include: base/, loop/, main/. */
#pragma once
#include <stdint.h>

#include "base/err.h"
#include "loop/loop.h"
#include "main/handover.h"

struct heirdoor;

struct heirdoor_events {
    void (*fill)(void *arg, struct handover_note *offer); /* agents and sandboxes of this moment */
    void (*on_go)(void *arg);                             /* once; heirdoor_take() gives the connection */
    void *arg;
};

/* The data folder's lock must be held: a socket that is there is left over. */
int heirdoor_open(struct loop *l, const char *dir, const struct heirdoor_events *ev, struct heirdoor **ret,
                  struct err *err);
int heirdoor_take(struct heirdoor *h); /* the connection of the one that said GO, the caller's; NO_FD when none did */
struct heirdoor *heirdoor_close(struct heirdoor *h); /* removes the socket */
