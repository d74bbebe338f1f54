/* Messages on their way to webhooks: in the store before anything is sent, retried with growing pauses, dead letters in
 * the end. May include: base/, loop/, store/, sandbox/. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/observe/webhook_send.h"

struct webhook_queue;

struct webhook_queue_counts {
    int64_t delivered, failed, died,
        dropped;           /* since the start: messages, attempts that failed, dead letters, refused */
    int64_t pending, dead; /* now */
};

struct webhook_queue_events {
    const json_t *(*record)(void *arg, const char *webhook_id); /* with url and internal.secrets; borrowed */
    /* After each attempt; may pause the lane. */
    void (*on_outcome)(void *arg, const char *webhook_id, const struct webhook_send_outcome *o);
    void *arg;
};

struct webhook_queue *webhook_queue_new(struct manager *m, const struct webhook_queue_events *ev);
struct webhook_queue *webhook_queue_free(struct webhook_queue *q); /* what was being sent is sent again by the next */
/* Each webhook has a lane, made before the messages are loaded. */
void webhook_queue_open(struct webhook_queue *q, const char *webhook_id, const char *tenant);
void webhook_queue_close(struct webhook_queue *q, const char *webhook_id); /* with all its messages */
int webhook_queue_load(struct webhook_queue *q, struct err *err);
/* From now on messages are sent; trust outlives the queue. */
void webhook_queue_start(struct webhook_queue *q, const struct tls_context_trust *trust);
/* What a lane may do: nothing while it is paused, one attempt at a time while it fails. host: of its URL. */
struct webhook_queue_state {
    const char *host;
    bool is_paused, is_failing;
};
void webhook_queue_set(struct webhook_queue *q, const char *webhook_id, const struct webhook_queue_state *st);

/* It is in the store when this returns 0. ERR_CAPACITY: the share of its tenant is used up. */
int webhook_queue_add(struct webhook_queue *q, const char *webhook_id, const char *topic, const char *body,
                      struct err *err);
struct webhook_queue_query {
    bool wants_pending, wants_dead;
    int64_t limit, offset;
};
/* {deliveries, total}, oldest first; caller owns. NULL with err. */
json_t *webhook_queue_page(struct webhook_queue *q, const char *webhook_id, const struct webhook_queue_query *what,
                           struct err *err);
/* delivery_id NULL: all dead letters. How many, or ERR_NOT_FOUND. */
int webhook_queue_retry(struct webhook_queue *q, const char *webhook_id, const char *delivery_id, struct err *err);
/* How many were removed. */
int64_t webhook_queue_purge(struct webhook_queue *q, const char *webhook_id, const struct webhook_queue_query *what);
struct webhook_queue_counts webhook_queue_counts(const struct webhook_queue *q);
struct webhook_queue_counts webhook_queue_lane_counts(const struct webhook_queue *q, const char *webhook_id);
const struct tls_context_trust *webhook_queue_trust(const struct webhook_queue *q); /* NULL: not started */
/* The pause before the next attempt, without jitter. tries: that have failed, at least 1. */
#define WEBHOOK_QUEUE_PAUSE_MAX_MS (8 * 3600 * 1000)
int64_t webhook_queue_pause(int64_t first_ms, int64_t tries);
