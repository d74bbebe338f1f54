#include "engine/engine.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/channel.h"
#include "engine/channel_handle_core.h"
#include "engine/cron_trigger.h"
#include "engine/engine_config.h"
#include "engine/engine_core.h"
#include "engine/enqueue.h"
#include "engine/http_function.h"
#include "engine/http_route.h"
#include "engine/introspect.h"
#include "engine/invocation.h"
#include "engine/kv.h"
#include "engine/listener.h"
#include "engine/presence.h"
#include "engine/pubsub.h"
#include "engine/registry.h"
#include "engine/remote_engine.h"
#include "engine/stream.h"
#include "engine/stream_socket.h"
#include "engine/telemetry.h"
#include "engine/trigger.h"
#include "engine/worker.h"
#include "http/url.h"
#include "http/ws.h"
#include "http/ws_closing.h"

#define PING_MS   30000 /* TCP detects a vanished peer only when something is sent */
#define TOKEN_MAX LIMIT_MAX(JWT_BYTES)

static void on_ping_timer(void *arg)
{
    struct engine *e = arg;
    for (struct map_iter it = map_iter(e->workers); map_next(&it);)
        ws_ping(((struct worker *)it.value)->ws);
    stream_socket_ping(e);
}

int engine_new(const struct engine_options *o, struct engine **ret, struct err *err)
{
    JSON_OWNED config = NULL;
    int r = engine_config_read(o->workers ? o->workers : "", &config, err);
    if (r < 0)
        return r;
    struct engine *e = xzalloc(sizeof(*e));
    e->config = STEAL(config);
    e->data_dir = xstrdup(o->data_dir ? o->data_dir : ".");
    e->loop = o->loop;
    e->store = o->store;
    e->channels = o->channels;
    e->trust = o->trust;
    e->closed_ports = o->closed_ports;
    e->closed_arg = o->closed_arg;
    e->auth = o->auth;
    e->on_head = o->on_head;
    e->auth_arg = o->auth_arg;
    e->on_refused = o->on_refused;
    e->name = xstrdup(o->name);
    e->version = xstrdup(o->version);
    e->started_ms = clock_wall_ms();
    uuid_new(e->id);
    e->workers = map_new();
    e->calls = map_new();
    e->parting = ws_closing_new();
    e->connections = share_new(ENGINE_WORKERS_MAX);
    e->bytes = share_new(ENGINE_BYTES_MAX);
    e->subscriber_share = share_new(STREAM_SOCKET_MAX);
    LIST_INIT(&e->inside);
    LIST_INIT(&e->ends);
    LIST_INIT(&e->telemetry);
    LIST_INIT(&e->http_calls);
    LIST_INIT(&e->subscribers);
    registry_init(e);
    trigger_init(e);
    presence_init(e);
    introspect_init(e);
    pubsub_init(e);
    r = kv_init(e, err);
    if (r == 0)
        r = stream_init(e, err);
    if (r == 0)
        r = listener_init(e, o->port, err);
    cron_trigger_init(e);
    http_route_init(e);
    enqueue_init(e); /* last: it may run jobs from the store */
    e->ping_timer = timer_new(e->loop, PING_MS, PING_MS, on_ping_timer, e);
    if (r < 0)
        (void)engine_free(e);
    else
        *ret = e;
    return r;
}

void engine_stop(struct engine *e)
{
    if (e->is_stopping)
        return;
    e->is_stopping = true;
    enqueue_stop(e);
    http_route_stop(e);
    telemetry_stop(e);
    stream_socket_stop(e);
    http_function_stop(e);
    stream_stop(e);
    kv_stop(e);
    for (struct map_iter it = map_iter(e->workers); map_next(&it);)
        worker_retire(it.value, 1001, "the server stops");
    channel_handle_stop_all(e);
}

struct engine *engine_free(struct engine *e)
{
    if (!e)
        return NULL;
    engine_stop(e);
    invocation_stop_all(e);
    trigger_done(e);
    presence_done(e);
    pubsub_done(e);
    kv_done(e);
    stream_done(e);
    listener_done(e);
    http_route_done(e);
    enqueue_done(e);
    registry_done(e);
    map_free(e->workers);
    map_free(e->calls);
    ws_closing_free(e->parting);
    share_free(e->connections);
    share_free(e->bytes);
    share_free(e->subscriber_share);
    timer_free(e->ping_timer);
    free(e->name);
    free(e->version);
    json_decref(e->config);
    free(e->data_dir);
    free(e);
    return NULL;
}

/* --- channels of a call --- */

bool engine_is_channel_ref(const json_t *value)
{
    const char *direction = json_get_str(value, "direction", "");
    return json_get_str(value, "channel_id", NULL) && json_get_str(value, "access_key", NULL) &&
           (strcmp(direction, "read") == 0 || strcmp(direction, "write") == 0);
}

int engine_call_open_channel(struct engine_call *c, const json_t *ref, const struct channel_handle_events *ev,
                             void *arg, struct channel_handle **ret, struct err *err)
{
    const char *base_url = c->outside ? remote_engine_url(c->outside) : NULL;
    int r = channel_handle_open(c->engine, base_url, ref, ev, arg, ret, err);
    if (r == 0 && c->has_identity)
        channel_handle_set_identity(*ret, c->identity);
    return r;
}

struct new_channel {
    engine_channel_fn *fn;
    void *arg;
};

static void channel_ready(void *arg, json_t *result, const struct engine_error *error)
{
    struct new_channel n = *(struct new_channel *)arg;
    struct err err = ERR_INIT;
    json_t *writer = json_get(result, "writer"), *reader = json_get(result, "reader");
    free(arg);
    if (!error && engine_is_channel_ref(writer) && engine_is_channel_ref(reader)) {
        n.fn(n.arg, writer, reader, NULL);
        return;
    }
    (void)err_set(&err, ERR_UPSTREAM, 0, "cannot create a channel: %.200s",
                  error ? error->message : "the engine's response is not valid");
    n.fn(n.arg, NULL, NULL, &err);
}

void engine_call_new_channel(struct engine_call *c, engine_channel_fn *fn, void *arg)
{
    struct new_channel *n = xzalloc(sizeof(*n));
    *n = (struct new_channel){ .fn = fn, .arg = arg };
    if (c->outside)
        remote_engine_invoke(c->outside, "engine::channels::create", NULL, channel_ready, n);
    else
        invocation_start(c->engine, &(struct invocation){ .function_id = "engine::channels::create",
                                                          .tenant = c->tenant,
                                                          .done = channel_ready,
                                                          .arg = n });
}

/* --- the port --- */

enum engine_verdict engine_authenticate(const struct engine *e, struct http_req *r, char ret_id[ENGINE_ID_MAX])
{
    const char *header = http_req_header(r, "authorization");
    CLEANUP(buf_done) struct buf query = BUF_INIT(TOKEN_MAX);
    ret_id[0] = '\0';
    if (!e->auth)
        return ENGINE_FULL;
    if (header && strncasecmp(header, "Bearer ", 7) == 0)
        return e->auth(e->auth_arg, header + 7, r, ret_id);
    bool has_query = url_query_get(http_req_query(r), "token", &query) == 1;
    return e->auth(e->auth_arg, has_query ? buf_text(&query) : NULL, r, ret_id);
}

void engine_end_of(struct engine *e, const char *identity)
{
    for (struct map_iter it = map_iter(e->workers); map_next(&it);) {
        struct worker *w = it.value;
        if (w->has_identity && strcmp(w->identity, identity) == 0)
            worker_retire(w, 1008, "the token was revoked");
    }
    channel_handle_end_of(e, identity); /* a channel that was handed over outlives its call */
}

struct http_app engine_http_app(struct engine *e)
{
    return listener_app(e);
}

size_t engine_listeners(struct engine *e, struct engine_listener ret[ENGINE_LISTENERS_MAX])
{
    size_t n = 0;
    if (stream_socket_listener(e, &ret[n]))
        n++;
    return listener_list(e, ret, n);
}
