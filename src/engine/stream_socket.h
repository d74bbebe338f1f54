/* The subscribers of streams: a WebSocket on the port of iii-stream that joins streams and gets their messages. Private
 * to engine/. */
#pragma once
#include "engine/engine_core.h"
#include "engine/stream.h"

#define STREAM_SOCKET_MAX        4096 /* concurrent subscribers: more get 503 */
#define STREAM_SOCKET_JOINED_MAX 256  /* subscriptions of one, with those that wait for a join handler */
#define STREAM_SOCKET_BACKLOG_MAX                                                       \
    (8 * 1024 * 1024) /* bytes queued for a subscriber that does not read: it is closed \
                       */

/* False: the configuration has no iii-stream. */
bool stream_socket_listener(struct engine *e, struct engine_listener *ret);
void stream_socket_publish(struct engine *e, const struct stream_name *n, const json_t *message);
void stream_socket_ping(struct engine *e);
void stream_socket_stop(struct engine *e);
