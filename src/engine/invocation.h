/* Calls in progress: who called, who carries them out, and how the reply gets back. Private to engine/.
 *
 * Invariant: a call is in the list of its executor (or of this process) until it is answered, and in the list of its
 * caller as long as that one is connected. */
#pragma once
#include "engine/engine_core.h"
#include "engine/message.h"

struct invocation {
    const char *function_id;
    const char *echo_id;        /* what the reply names as the function; NULL: function_id */
    json_t *payload, *metadata; /* borrowed; payload NULL: {} */
    const char *traceparent, *baggage;
    struct worker *caller;
    const char *tenant;    /* when no worker calls; NULL: the operator */
    const char *caller_id; /* NULL: no reply wanted */
    engine_done_fn *done;
    void *arg;
    struct outside *outside; /* the call came through it: only functions of this process may be called */
};

/* Starts a call, or answers it with an error. May have finished it when it returns. */
void invocation_start(struct engine *e, const struct invocation *i);
/* The payload as an executor outside of this process sees it: an object names the calling worker. Caller owns. */
json_t *invocation_payload(const struct engine_call *c);
void invocation_from_worker(struct worker *w, const struct message *m);
void invocation_result(struct worker *w, const struct message *m); /* of a worker; unknown ids are ignored */
/* Answers invocation_stopped for the calls it carried out; drops the calls it had started. */
void invocation_worker_left(struct engine *e, struct worker *w);
/* The outside engine disconnected: the replies to its calls are dropped. */
void invocation_outside_left(struct engine *e, const struct outside *o);
void invocation_forget_outside(struct engine *e, const struct outside *o); /* o is being freed */
void invocation_stop_all(struct engine *e); /* calls that this process carries out are answered invocation_stopped */
