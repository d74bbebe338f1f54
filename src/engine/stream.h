/* Functions stream::* and trigger types stream, stream:join, stream:leave: JSON items by stream name, group and item
 * id. A worker may provide single streams itself by registering stream::get(NAME) and its siblings; another engine may
 * keep the items (adapter bridge). Private to engine/. */
#pragma once
#include "engine/engine_core.h"

#define STREAM_STREAMS_MAX 10000
#define STREAM_BYTES_MAX   (256 * 1024 * 1024) /* of all items in memory */

/* Opens the store that the configuration names. */
int stream_init(struct engine *e, struct err *err);
void stream_stop(struct engine *e); /* calls that wait for another engine are answered */
void stream_done(struct engine *e);

/* What a subscription sees: one item, or a group (item NULL). */
struct stream_name {
    const char *stream, *group, *item;
};

/* The item or null, or the list of the group's items; from the worker that provides the stream, if one does. done runs
 * once, perhaps before this returns. */
void stream_load(struct engine *e, const struct stream_name *n, engine_done_fn *done, void *arg);
/* {type: "stream", timestamp, streamName, groupId, id, event}. event is taken. Caller owns. */
json_t *stream_message(const struct stream_name *n, json_t *event);

/* Fires stream:join (fn gets is_allowed: no handler answered {"unauthorized": true}) or stream:leave (fn NULL). payload
 * {subscription_id, stream_name, group_id, id, context} is borrowed. fn runs once, perhaps before this returns. */
typedef void stream_joined_fn(void *arg, bool is_allowed);
void stream_fire_join(struct engine *e, json_t *payload, stream_joined_fn *fn, void *arg);
void stream_fire_leave(struct engine *e, json_t *payload);
