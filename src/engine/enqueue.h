/* The durable queue behind the action `enqueue`, the function iii::durable::publish and the trigger types
 * `durable:subscriber` and `queue`: jobs are committed to the store before they are acknowledged, retried with growing
 * pauses, and kept as dead letters when the last try fails. Private to engine/.
 *
 * Invariants: (1) at least once: a job leaves the store after its function has replied; (2) at most ENQUEUE_PARALLEL
 * jobs of one queue run at a time; (3) a job whose function is not registered waits, which costs it no try. */
#pragma once
#include "engine/engine_core.h"

#define ENQUEUE_JOBS_MAX 100000 /* waiting or running */
#define ENQUEUE_DEAD_MAX 10000  /* dead letters: above this the oldest are removed */
#define ENQUEUE_PARALLEL 10
#define ENQUEUE_RETRIES  3
#define ENQUEUE_PAUSE_MS 1000 /* before the second try; doubled before each further one */

struct enqueue_job { /* all borrowed */
    const char *queue, *function_id;
    json_t *data, *metadata;
    const char *traceparent, *baggage;
    const char *tenant; /* whose share it uses; NULL: the operator's */
};

void enqueue_init(struct engine *e); /* loads the jobs in the store */
void enqueue_stop(struct engine *e); /* from here on no job starts or counts as failed */
void enqueue_done(struct engine *e);
/* {"messageReceiptId": …} once the job is on disk; NULL with err. Caller owns. */
json_t *enqueue_add(struct enqueue *q, const struct enqueue_job *job, struct err *err);
void enqueue_function_came(struct engine *e, const char *function_id);
