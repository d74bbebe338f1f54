/* Everything that happens, as events: kept (the newest III_MAX_EVENTS), paged, and handed to live subscribers. Bodies
 * are in the store only; what is kept in memory is an index of ids and topics, made when someone first asks. May
 * include: base/, loop/, store/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "store/store.h"

#define EVENTLOG_KEEP     10000        /* when the settings say nothing */
#define EVENTLOG_DATA_MAX (256 * 1024) /* bytes of data in one published event */

struct eventlog;
struct eventlog_sub;

struct eventlog *eventlog_new(struct store *store);
struct eventlog *eventlog_free(struct eventlog *e);
void eventlog_set_keep(struct eventlog *e, int64_t keep);
/* Records and publishes. Takes data (NULL: {}); sandboxId is added to it when absent. Returns the event (borrowed until
 * the next turn). */
json_t *eventlog_emit(struct eventlog *e, const char *topic, const char *sandbox_id, json_t *data);
/* What a client publishes: data (borrowed, NULL: {}) stays as it is. NULL with ERR_TOO_LARGE past EVENTLOG_DATA_MAX. */
struct eventlog_news {
    const char *topic, *sandbox_id;
    const json_t *data;
    const char *tenant; /* of the publisher; "": the sandbox's owner */
};
json_t *eventlog_publish(struct eventlog *e, const struct eventlog_news *news, struct err *err);
/* The same for a sandbox that is gone already, whose owner is known to the caller only. */
void eventlog_emit_for(struct eventlog *e, const char *tenant, const char *topic, const char *sandbox_id, json_t *data);
/* Tells whose a sandbox is, NULL when there is none: what is emitted about it is that tenant's to read. */
typedef const char *eventlog_owner_fn(void *arg, const char *sandbox_id);
void eventlog_on_owner(struct eventlog *e, eventlog_owner_fn *fn, void *arg);
int64_t eventlog_count(const struct eventlog *e); /* events since the server started */

typedef void eventlog_fn(void *arg, json_t *event);
struct eventlog_sub *eventlog_subscribe(struct eventlog *e, eventlog_fn *fn, void *arg);
struct eventlog_sub *eventlog_unsubscribe(struct eventlog_sub *sub);

/* Which events, newest first. A NULL text matches all. */
struct eventlog_query {
    const char *sandbox_id, *topic;
    const char *tenant; /* only those of this one; NULL: all */
    int64_t limit, offset;
};
bool eventlog_wants(const struct eventlog_query *q, const json_t *event);
/* {events, total}; caller owns. NULL with err when the store cannot be read. */
json_t *eventlog_page(struct eventlog *e, const struct eventlog_query *q, struct err *err);

/* Places in the log: every event has one, growing by one from event to event. */
int64_t eventlog_end(struct eventlog *e); /* the place of the next event */
int64_t eventlog_after(struct eventlog *e,
                       const char *id); /* the place behind an event; the oldest one when it is not kept */
/* The first event at *place or behind it that the query wants (limit and offset do not count), oldest first; *place is
 * moved behind it. Caller owns; NULL: there is none yet. */
json_t *eventlog_next(struct eventlog *e, const struct eventlog_query *q, int64_t *place);
