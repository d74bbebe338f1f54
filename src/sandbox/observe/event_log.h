/* Everything that happens, as events: kept (III_MAX_EVENTS; beyond it the oldest of those tenants that have most go),
 * paged, and handed to live subscribers. Bodies are in the store only; what is kept in memory is an index of ids and
 * topics, made when someone first asks or when there are too many. May include: base/, loop/, store/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "store/store.h"

#define EVENT_LOG_KEEP      10000        /* when the settings say nothing */
#define EVENT_LOG_DATA_MAX  (256 * 1024) /* bytes of data in one published event */
#define EVENT_LOG_BYTES_MAX (256u << 20) /* of all that are kept */

struct event_log;
struct event_log_sub;

struct event_log *event_log_new(struct store *store);
struct event_log *event_log_free(struct event_log *e);
void event_log_set_keep(struct event_log *e, int64_t keep);
/* Records and publishes. Takes data (NULL: {}); sandboxId is added to it when absent. Returns the event (borrowed until
 * the next turn). */
json_t *event_log_emit(struct event_log *e, const char *topic, const char *sandbox_id, json_t *data);
/* What a client publishes: data (borrowed, NULL: {}) stays as it is. NULL with ERR_TOO_LARGE past EVENT_LOG_DATA_MAX.
 */
struct event_log_news {
    const char *topic, *sandbox_id;
    const json_t *data;
    const char *tenant; /* of the publisher; "": the sandbox's owner */
};
json_t *event_log_publish(struct event_log *e, const struct event_log_news *news, struct err *err);
/* The same for a sandbox that is gone already, whose owner is known to the caller only. */
void event_log_emit_for(struct event_log *e, const char *tenant, const char *topic, const char *sandbox_id,
                        json_t *data);
/* Tells whose a sandbox is, NULL when there is none: what is emitted about it is that tenant's to read. */
typedef const char *event_log_owner_fn(void *arg, const char *sandbox_id);
void event_log_on_owner(struct event_log *e, event_log_owner_fn *fn, void *arg);
int64_t event_log_count(const struct event_log *e); /* events since the server started */

typedef void event_log_fn(void *arg, json_t *event);
struct event_log_sub *event_log_subscribe(struct event_log *e, event_log_fn *fn, void *arg);
struct event_log_sub *event_log_unsubscribe(struct event_log_sub *sub);

/* Which events, newest first. A NULL text matches all. */
struct event_log_query {
    const char *sandbox_id, *topic;
    const char *tenant; /* only those of this one; NULL: all */
    int64_t limit, offset;
};
bool event_log_wants(const struct event_log_query *q, const json_t *event);
/* {events, total}; caller owns. NULL with err when the store cannot be read. */
json_t *event_log_page(struct event_log *e, const struct event_log_query *q, struct err *err);

/* Places in the log: every event has one, growing from event to event. */
int64_t event_log_end(struct event_log *e); /* the place of the next event */
int64_t event_log_after(struct event_log *e,
                        const char *id); /* the place behind an event; the oldest one when it is not kept */
/* The first event at *place or behind it that the query wants (limit and offset do not count), oldest first; *place is
 * moved behind it. Caller owns; NULL: there is none yet. */
json_t *event_log_next(struct event_log *e, const struct event_log_query *q, int64_t *place);
