/* Everything that happens, as events: kept (the newest EVENTLOG_KEEP), paged, and handed to live subscribers.
 * May include: base/, loop/, store/. */
#pragma once
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "store/store.h"

#define EVENTLOG_KEEP 10000

struct eventlog;
struct eventlog_sub;

struct eventlog *eventlog_new(struct store *store);
struct eventlog *eventlog_free(struct eventlog *e);
/* Records and publishes. Takes data (NULL: {}); sandboxId is added to it when absent. Returns the event (borrowed until the
 * next turn). */
json_t *eventlog_emit(struct eventlog *e, const char *topic, const char *sandbox_id, json_t *data);
typedef void eventlog_fn(void *arg, json_t *event);
struct eventlog_sub *eventlog_subscribe(struct eventlog *e, eventlog_fn *fn, void *arg);
struct eventlog_sub *eventlog_unsubscribe(struct eventlog_sub *sub);
