/* Subscribers of streams. A request to upgrade is judged first: by the configured auth function, whose context is kept,
 * or by the server's token without one. A struct subscriber owns its WebSocket and its subscriptions. A join waits for
 * the handlers of stream:join; meanwhile the subscriber is referenced, because it may leave. A subscription that was
 * accepted gets one `sync` message with what is there, then every message that matches. A subscriber that does not read
 * is closed. When it leaves, each of its subscriptions fires stream:leave. */
#include "engine/stream_socket.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "base/log.h"
#include "engine/engine_config.h"
#include "engine/message.h"
#include "engine/request_json.h"
#include "engine/value_store.h"
#include "http/ws.h"
#include "http/ws_closing.h"

#define SUBSCRIBERS_PORT 3112
#define MESSAGE_MAX      65536
#define HEAD_MAX         4096

struct subscription {
    LIST_ENTRY(subscription) link;
    char *id, *stream, *group, *item; /* item NULL: the whole group */
};

struct subscriber {
    LIST_ENTRY(subscriber) link;
    struct engine *engine;
    struct ws *ws;                 /* NULL: gone */
    json_t *context;               /* from the auth function; NULL: none */
    char tenant[SHARE_TENANT_MAX]; /* those with the same context are one; "" without an auth function */
    LIST_HEAD(, subscription) joined;
    size_t n_joined; /* with those that wait */
    unsigned n_refs; /* the socket, and each join in progress */
};

static void subscriber_unref(struct subscriber *s)
{
    if (--s->n_refs)
        return;
    json_decref(s->context);
    free(s);
}

static void subscriber_send(struct subscriber *s, const json_t *message)
{
    size_t len;
    CLEANUP(free_p) char *text = json_write(message, &len);
    (void)ws_send(s->ws, true, text, len);
}

/* --- subscriptions --- */

static json_t *payload_of(const struct subscriber *s, const struct subscription *n)
{
    return json_pack("{s:s, s:s, s:s, s:s?, s:O?}", "subscription_id", n->id, "stream_name", n->stream, "group_id",
                     n->group, "id", n->item, "context", s->context);
}

static void subscription_free(struct subscription *n)
{
    free(n->id);
    free(n->stream);
    free(n->group);
    free(n->item);
    free(n);
}

static void subscription_end(struct subscriber *s, struct subscription *n)
{
    JSON_OWNED payload = payload_of(s, n);
    LIST_REMOVE(n, link);
    s->n_joined--;
    subscription_free(n);
    stream_fire_leave(s->engine, payload);
}

static struct subscription *subscription_find(const struct subscriber *s, const char *id)
{
    struct subscription *n = LIST_FIRST(&s->joined);
    while (n && strcmp(n->id, id) != 0)
        n = LIST_NEXT(n, link);
    return n;
}

/* A join that waits for its handlers, then for what it will show first. */
struct join {
    struct subscriber *subscriber;
    struct subscription *wanted;
};

static void join_loaded(void *arg, json_t *result, const struct engine_error *error)
{
    struct join *j = arg;
    struct subscriber *s = j->subscriber;
    const struct subscription *n = j->wanted;
    struct stream_name name = { n->stream, n->group, n->item };
    JSON_OWNED message = stream_message(&name, json_pack("{s:s, s:O?}", "type", "sync", "data", error ? NULL : result));
    if (s->ws && message)
        subscriber_send(s, message);
    subscription_free(j->wanted);
    free(j);
    subscriber_unref(s);
}

static void join_judged(void *arg, bool is_allowed)
{
    struct join *j = arg;
    struct subscriber *s = j->subscriber;
    struct subscription *n = j->wanted, *copy;
    struct stream_name name = { n->stream, n->group, n->item };
    if (!s->ws || !is_allowed) {
        JSON_OWNED message = stream_message(&name, json_pack("{s:s}", "type", "unauthorized"));
        if (s->ws) {
            subscriber_send(s, message);
            s->n_joined--;
        }
        subscription_free(n);
        free(j);
        subscriber_unref(s);
        return;
    }
    struct subscription *old = subscription_find(s, n->id);
    if (old)
        subscription_end(s, old); /* the same id again replaces the old one */
    copy = xzalloc(sizeof(*copy));
    copy->id = xstrdup(n->id);
    copy->stream = xstrdup(n->stream);
    copy->group = xstrdup(n->group);
    copy->item = xstrdup(n->item);
    LIST_INSERT_HEAD(&s->joined, copy, link);
    stream_load(s->engine, &name, join_loaded, j);
}

static void subscriber_join(struct subscriber *s, const json_t *data)
{
    const char *id = json_get_str(data, "subscriptionId", NULL), *item = json_get_str(data, "id", NULL);
    const char *stream = json_get_str(data, "streamName", NULL), *group = json_get_str(data, "groupId", NULL);
    if (!value_store_is_name(id) || !value_store_is_name(stream) || !value_store_is_name(group) ||
        (item && !value_store_is_name(item)))
        return;
    if (s->n_joined >= STREAM_SOCKET_JOINED_MAX) {
        CLEANUP(free_p)
        char *why = xasprintf("limit of %d subscriptions of one connection reached", STREAM_SOCKET_JOINED_MAX);
        JSON_OWNED error = message_error_body("subscription_limit", why, NULL);
        JSON_OWNED message = json_pack("{s:s, s:O}", "type", "error", "error", error);
        subscriber_send(s, message);
        return;
    }
    struct join *j = xzalloc(sizeof(*j));
    j->subscriber = s;
    j->wanted = xzalloc(sizeof(*j->wanted));
    j->wanted->id = xstrdup(id);
    j->wanted->stream = xstrdup(stream);
    j->wanted->group = xstrdup(group);
    j->wanted->item = xstrdup(item);
    s->n_refs++;
    s->n_joined++;
    JSON_OWNED payload = payload_of(s, j->wanted);
    stream_fire_join(s->engine, payload, join_judged, j);
}

/* --- the socket --- */

static void subscriber_message(void *arg, struct ws *ws, bool is_text, const char *data, size_t len)
{
    struct subscriber *s = arg;
    JSON_OWNED message = NULL;
    (void)ws, (void)is_text;
    if (json_read(data, len, &message, NULL) < 0)
        return; /* the contract: ignored */
    const char *type = json_get_str(message, "type", "");
    const json_t *about = json_get(message, "data");
    if (strcmp(type, "join") == 0)
        subscriber_join(s, about);
    struct subscription *n =
        strcmp(type, "leave") == 0 ? subscription_find(s, json_get_str(about, "subscriptionId", "")) : NULL;
    if (n)
        subscription_end(s, n);
}

static void subscriber_forget(struct subscriber *s)
{
    struct subscription *n;
    s->ws = NULL;
    LIST_REMOVE(s, link);
    s->engine->n_subscribers--;
    share_give(s->engine->subscriber_share, s->tenant, 1);
    while ((n = LIST_FIRST(&s->joined)))
        subscription_end(s, n);
    subscriber_unref(s);
}

static void subscriber_closed(void *arg, struct ws *ws, int code, const char *reason)
{
    (void)ws, (void)code, (void)reason;
    subscriber_forget(arg);
}

static void subscriber_end(struct subscriber *s, int code, const char *reason)
{
    ws_closing_add(s->engine->parting, s->ws, code, reason);
    subscriber_forget(s);
}

void stream_socket_publish(struct engine *e, const struct stream_name *name, const json_t *message)
{
    size_t len = 0;
    CLEANUP(free_p) char *text = e->n_subscribers ? json_write(message, &len) : NULL;
    struct subscriber *next;
    for (struct subscriber *s = LIST_FIRST(&e->subscribers); s; s = next) {
        const struct subscription *n;
        next = LIST_NEXT(s, link);
        LIST_FOREACH(n, &s->joined, link)
        if (strcmp(n->stream, name->stream) == 0 && strcmp(n->group, name->group) == 0 &&
            (!n->item || (name->item && strcmp(n->item, name->item) == 0)))
            (void)ws_send(s->ws, true, text, len);
    }
    /* In a second walk: ending one fires stream:leave, and a function of this process may then change the list. */
    struct subscriber *full;
    do {
        full = LIST_FIRST(&e->subscribers);
        while (full && ws_queued(full->ws) <= STREAM_SOCKET_BACKLOG_MAX)
            full = LIST_NEXT(full, link);
        if (full)
            subscriber_end(full, 1008, "too many bytes are queued: read faster");
    } while (full);
}

void stream_socket_ping(struct engine *e)
{
    struct subscriber *s;
    LIST_FOREACH(s, &e->subscribers, link)
    ws_ping(s->ws);
}

void stream_socket_stop(struct engine *e)
{
    struct subscriber *s;
    while ((s = LIST_FIRST(&e->subscribers)))
        subscriber_end(s, 1001, "the server stops");
}

/* --- connecting --- */

static void subscriber_accept(struct engine *e, struct http_req *r, json_t *context)
{
    static const struct ws_events events = { .on_message = subscriber_message, .on_close = subscriber_closed };
    char hex[DIGEST_HEX] = "";
    if (context) {
        size_t len;
        CLEANUP(free_p) char *text = json_write(context, &len);
        digest_of(text, len, hex);
        hex[SHARE_TENANT_MAX - 1] = '\0';
    }
    if (!share_take(e->subscriber_share, hex, 1)) {
        request_json_refuse(r, 503, "too many subscribers of this tenant are connected");
        return;
    }
    struct subscriber *s = xzalloc(sizeof(*s));
    *s = (struct subscriber){ .engine = e, .n_refs = 1 };
    (void)memcpy(s->tenant, hex, sizeof(s->tenant));
    LIST_INIT(&s->joined);
    if (ws_accept(e->loop, r, MESSAGE_MAX, &events, s, &s->ws) < 0) {
        share_give(e->subscriber_share, hex, 1);
        free(s);
        return;
    }
    ws_charge(s->ws, e->bytes, s->tenant);
    s->context = json_incref(context);
    LIST_INSERT_HEAD(&e->subscribers, s, link);
    e->n_subscribers++;
}

struct judged {
    struct engine *engine;
    struct http_req *req;
};

static void auth_done(void *arg, json_t *result, const struct engine_error *error)
{
    struct judged *j = arg;
    if (http_req_is_gone(j->req))
        ;
    else if (error || j->engine->is_stopping) /* not as lenient as the contract: the function is the only guard */
        request_json_refuse(j->req, 401, "the auth function of iii-stream did not accept this connection");
    else
        subscriber_accept(j->engine, j->req, json_get(result, "context"));
    http_req_unref(j->req);
    free(j);
}

static void socket_request(void *arg, struct http_req *r)
{
    struct engine *e = arg;
    const char *auth = json_get_str(engine_config_of(e->config, "iii-stream"), "auth_function", NULL);
    char identity[ENGINE_ID_MAX];
    if (strcmp(http_req_path(r), "/") != 0)
        request_json_refuse(r, 404, "not found: this port serves subscribers of streams at /");
    else if (e->is_stopping)
        request_json_refuse(r, 503, "the server stops");
    else if (e->n_subscribers >= STREAM_SOCKET_MAX)
        request_json_refuse(r, 503, "too many subscribers are connected");
    else if (auth) {
        struct judged *j = xzalloc(sizeof(*j));
        *j = (struct judged){ e, http_req_ref(r) };
        JSON_OWNED payload =
            json_pack("{s:o, s:s, s:o, s:s}", "headers", request_json_headers(r), "path", http_req_path(r),
                      "query_params", request_json_query_lists(http_req_query(r)), "addr", http_req_peer(r));
        engine_invoke(e, auth, payload, NULL, auth_done, j);
    } else if (engine_authenticate(e, r, identity) != ENGINE_FULL) {
        request_json_refuse(r, 401, "an admin token is needed: Authorization: Bearer ..., or ?token=...");
    } else {
        subscriber_accept(e, r, NULL);
    }
}

static struct http_body_rule socket_head(void *arg, struct http_req *r)
{
    struct engine *e = arg;
    if (e->on_head)
        e->on_head(e->auth_arg, r);
    return (struct http_body_rule){ .max_bytes = HEAD_MAX };
}

bool stream_socket_listener(struct engine *e, struct engine_listener *ret)
{
    bool is_there = false;
    for (size_t i = 0; i < json_array_size(e->config); i++)
        if (strcmp(json_get_str(json_array_get(e->config, i), "name", ""), "iii-stream") == 0)
            is_there = true;
    const json_t *config = engine_config_of(e->config, "iii-stream");
    *ret = (struct engine_listener){ .worker = "iii-stream",
                                     .host = json_get_str(config, "host", NULL),
                                     .port = (uint16_t)json_get_int(config, "port", SUBSCRIBERS_PORT),
                                     .has_auth = json_get_str(config, "auth_function", NULL) != NULL,
                                     .app = { .arg = e, .on_head = socket_head, .on_request = socket_request } };
    return is_there;
}
