/* The durable queue behind the action `enqueue`, the function iii::durable::publish and the trigger types
 * `durable:subscriber` and `queue`: jobs are in the store before they are acknowledged, tried again with growing
 * pauses, and kept as dead letters when they fail for good. Private to engine/. Invariants: (1) at least once: a job
 * leaves the store after its function has answered; (2) of one queue at most ENQUEUE_PARALLEL jobs run; (3) a job whose
 * function is not registered waits, which costs it no try. */
#pragma once
#include "engine/engine_core.h"

#define ENQUEUE_JOBS_MAX 100000 /* that wait or run */
#define ENQUEUE_DEAD_MAX 10000  /* dead letters: then the oldest go */
#define ENQUEUE_PARALLEL 10
#define ENQUEUE_RETRIES  3
#define ENQUEUE_PAUSE_MS 1000 /* before the second try; twice as long before each further one */

struct enqueue_job { /* all borrowed */
    const char *queue, *function_id;
    json_t *data, *metadata;
    const char *traceparent, *baggage;
};

void enqueue_init(struct engine *e); /* with what the store still has */
void enqueue_stop(struct engine *e); /* no job is started or counted as failed from here on */
void enqueue_done(struct engine *e);
/* {"messageReceiptId": …} when the job is on disk; NULL with err. Caller owns. */
json_t *enqueue_add(struct enqueue *q, const struct enqueue_job *job, struct err *err);
void enqueue_function_came(struct engine *e, const char *function_id);
