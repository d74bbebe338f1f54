/* Calls under way: who asked, who carries out, and how the answer gets back. Private to engine/.
 * Invariant: a call is in the list of its executor (or of this process) until it is answered, and in the list of its
 * caller as long as that one is connected. */
#pragma once
#include "engine/engine_core.h"
#include "engine/message.h"

struct invocation {
    const char *function_id;
    json_t *payload, *metadata; /* borrowed; payload NULL: {} */
    const char *traceparent, *baggage;
    struct worker *caller;
    const char *caller_id; /* NULL: no answer wanted */
    engine_done_fn *done;
    void *arg;
    struct outside *outside; /* the call came through it: only functions of this process are asked */
};

/* Begins a call, or answers it with an error. May have finished it when it returns. */
void invocation_start(struct engine *e, const struct invocation *i);
void invocation_from_worker(struct worker *w, const struct message *m);
void invocation_result(struct worker *w, const struct message *m); /* of a worker; unknown ids are ignored */
/* Answers invocation_stopped for what it carried out; what it had started is dropped. */
void invocation_worker_left(struct engine *e, struct worker *w);
/* The outside engine is gone: the answers of its calls go nowhere. */
void invocation_outside_left(struct engine *e, const struct outside *o);
void invocation_forget_outside(struct engine *e, const struct outside *o); /* o is being freed */
void invocation_stop_all(struct engine *e); /* what this process carries out is answered invocation_stopped */
