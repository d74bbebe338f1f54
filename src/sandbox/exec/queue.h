/* Queued commands: durable, in order for each sandbox, tried again with growing pauses, kept as dead letters when they
 * fail for good. May include: base/, loop/, store/, sandbox/. Invariants: (1) of one sandbox at most one job runs, and
 * jobs run in the order in which they came; one that waits for its next try holds back those behind it; (2) a state the
 * API shows is in the store first; (3) after a restart a job that was running is pending again: at least once. */
#pragma once
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "sandbox/lifecycle/manager.h"

#define QUEUE_OUTPUT_MAX (1024 * 1024) /* bytes of each stream that a job's result keeps */
#define QUEUE_DEAD_MAX   1000          /* dead letters of sandboxes that are gone: then the oldest go */

struct queue;

struct queue_plan {
    const json_t *command; /* borrowed */
    int64_t max_tries, timeout_ms;
    bool retries_exit;         /* a non-zero exit code is a failure, too */
    const struct quota *quota; /* of the caller, for a wake; NULL: no limits. Borrowed */
};

struct queue *queue_new(struct manager *m);
struct queue *queue_free(struct queue *q); /* what runs is killed and is pending after the next start */
/* Jobs from the store: to be called when the sandboxes' records are known and not adopted yet. */
void queue_load(struct queue *q);
/* Fails pending and running jobs, removes finished ones. */
void queue_sandbox_gone(struct queue *q, const char *sandbox_id);

/* All give a QueueJob the caller owns, or NULL with err. */
json_t *queue_submit(struct queue *q, struct sandbox *s, const struct queue_plan *plan, struct err *err);
json_t *queue_status(struct queue *q, const char *id, struct err *err);
json_t *queue_retry(struct queue *q, const char *id, struct err *err); /* a dead letter, from the beginning */
struct queue_filter {
    const struct tenant_by *by; /* who asks; NULL: everybody's */
    const char *sandbox_id;     /* NULL: of all */
    const char *status;         /* NULL: any */
    int64_t limit, offset;
};
/* {jobs, total} of those that match, oldest first. */
json_t *queue_page(struct queue *q, const struct queue_filter *f, struct err *err);
/* "": no owner; NULL: no such job. ret_sandbox: the one it is for. */
const char *queue_owner(const struct queue *q, const char *id, const char **ret_sandbox);
/* A pending or running job (which is killed); ERR_CONFLICT when it is finished. */
int queue_cancel(struct queue *q, const char *id, struct err *err);

int64_t queue_pause_ms(int64_t tries); /* before the next try, after so many have failed */
