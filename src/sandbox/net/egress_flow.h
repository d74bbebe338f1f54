/* One connection of a sandbox to the outside: bytes both ways between the redirected socket and a socket on
 * the host; half-closes are kept, buffers are bounded. Both sides are untrusted. May include: base/, loop/, sandbox/.
 */
#pragma once
#include "loop/loop.h"
#include "sandbox/net/egress_parse.h"

struct egress_flow;

/* What all connections of one sandbox may move together, each way. Zero: no limit. */
struct egress_flow_rate {
    int64_t bytes_per_s;
    int64_t left[2]; /* private: bytes that may be read now, from the sandbox and for it */
    int64_t filled_us;
};

struct egress_flow_plan {
    int client_fd;    /* non-blocking; taken, also on failure */
    uint32_t address; /* host order */
    uint16_t port;
    struct egress_flow_rate *rate; /* outlives the flow; NULL: none */
    uint64_t *moved;               /* [2], as in the rate: all bytes so far; outlives the flow */
    int64_t opened_at;             /* wall clock, ms: for the receiver */
    bool must_name;                /* the client must say whom it wants, and it must be allowed: see egress_flow.c */
    char *refusal; /* nothing is connected: the reply to an HTTP request; others are cut. Taken. Or NULL */
};
struct egress_flow_events {
    bool (*on_name)(void *arg, struct egress_flow *f, const char *name);   /* false: cut it */
    void (*on_refused)(void *arg, struct egress_flow *f, const char *why); /* what it said is not acceptable: cut */
    void (*on_done)(void *arg, struct egress_flow *f);                     /* the receiver frees f */
};
/* Callbacks never come from inside this call. */
struct egress_flow *egress_flow_new(struct loop *l, const struct egress_flow_plan *plan,
                                    const struct egress_flow_events *ev, void *arg);
struct egress_flow *egress_flow_free(struct egress_flow *f); /* resets both sides; no callback */
const struct egress_flow_plan *egress_flow_plan(const struct egress_flow *f);
