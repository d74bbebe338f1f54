/* One connection of a sandbox to the outside: bytes both ways between the socket its connection was turned to and a
 * socket of ours; half-closes kept, buffers bounded. Both sides are untrusted. May include: base/, loop/, sandbox/. */
#pragma once
#include "loop/loop.h"
#include "sandbox/egressdns.h"

struct egressflow;

/* What all connections of one sandbox may move together, each way. Zero: no limit. */
struct egressflow_rate {
    int64_t bytes_per_s;
    int64_t left[2]; /* private: bytes that may be read now, from the sandbox and for it */
    int64_t filled_us;
};

struct egressflow_plan {
    int client_fd;    /* non-blocking; taken, also on failure */
    uint32_t address; /* host order */
    uint16_t port;
    struct egressflow_rate *rate; /* outlives the flow; NULL: none */
    uint64_t *moved;              /* [2], as in the rate: all bytes so far; outlives the flow */
    bool must_name;               /* port 443 or 80: nothing is connected before the client has said whom it wants */
};
struct egressflow_events {
    bool (*on_name)(void *arg, struct egressflow *f, const char *name); /* false: cut it */
    void (*on_done)(void *arg, struct egressflow *f);                   /* the receiver frees f */
};
/* Callbacks never come from inside this call. */
struct egressflow *egressflow_new(struct loop *l, const struct egressflow_plan *plan,
                                  const struct egressflow_events *ev, void *arg);
struct egressflow *egressflow_free(struct egressflow *f); /* cuts both sides with a reset; no callback */
const struct egressflow_plan *egressflow_plan(const struct egressflow *f);
