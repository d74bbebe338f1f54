/* This process as a worker of an outside engine, or only its client. struct outside owns the WebSocket, the map of our
 * calls over there (struct asked) and the timers. States: waiting to connect, connecting, connected (after
 * workerregistered). On every connection the functions are registered again in the contract's order. A lost connection
 * fails our pending calls, drops the replies to theirs and starts a new attempt after a growing, jittered pause; the
 * reattach token of the last handshake is presented. n_refs counts the owner and each of their calls that this process
 * still carries out, so a late reply never touches freed memory. */
#include "engine/remote_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ident.h"
#include "base/log.h"
#include "engine/engine_core.h"
#include "engine/invocation.h"
#include "engine/message.h"
#include "engine/worker.h"
#include "http/url.h"
#include "http/ws.h"

#define FIRST_PAUSE_MS 1000
#define PAUSE_MAX_MS   30000
#define PING_MS        20000

struct outside {
    struct engine *engine;
    char *url, *token;
    struct ws *ws; /* NULL while it waits to reconnect */
    struct timer *retry, *ping;
    int64_t pause_ms;
    char *worker_id, *reattach_token; /* from the last handshake */
    bool has_handshake;
    bool is_client;    /* offers no functions */
    const char *topic; /* of a client, or NULL; borrowed */
    remote_engine_event_fn *on_event;
    char event_fn[UUID_MAX]; /* the function that the topic calls, and the id of the trigger */
    struct map *pending;     /* invocation id -> struct asked */
    unsigned n_refs;         /* the owner, and each of its calls that this process carries out */
};

/* A call of ours at the outside engine. */
struct asked {
    engine_done_fn *done;
    void *arg;
};

/* A call of the outside engine that this process carries out. */
struct served {
    struct outside *outside;
    char *invocation_id, *function_id;
};

static void outside_unref(struct outside *o)
{
    if (--o->n_refs)
        return;
    map_free(o->pending);
    free(o->url);
    free(o->token);
    free(o->worker_id);
    free(o->reattach_token);
    free(o);
}

static void send_json(struct outside *o, json_t *msg)
{
    size_t len;
    CLEANUP(free_p) char *text = json_write(msg, &len);
    json_decref(msg);
    if (o->ws)
        (void)ws_send(o->ws, true, text, len);
}

/* --- their calls --- */

static void served_done(void *arg, json_t *result, const struct engine_error *error)
{
    struct served *s = arg;
    struct outside *o = s->outside;
    JSON_OWNED body = error ? message_error_body(error->code, error->message, error->stacktrace) : NULL;
    if (s->invocation_id) /* on a later connection than the call's too: callers wait for the id */
        send_json(o, message_result(s->invocation_id, s->function_id, body ? NULL : result, body));
    free(s->invocation_id);
    free(s->function_id);
    free(s);
    outside_unref(o);
}

static void outside_serve(struct outside *o, const struct message *m)
{
    if (o->is_client) {
        if (o->on_event && strcmp(m->function_id, o->event_fn) == 0)
            o->on_event(o->engine, m->data);
        if (m->invocation_id)
            send_json(o, message_result(m->invocation_id, m->function_id, NULL, NULL));
        return;
    }
    struct served *s = xzalloc(sizeof(*s));
    *s = (struct served){ .outside = o,
                          .invocation_id = xstrdup(m->invocation_id),
                          .function_id = xstrdup(m->function_id) };
    o->n_refs++;
    if (json_is_object(m->data))
        (void)json_object_del(m->data, "_caller_worker_id"); /* the outside engine's caller id means nothing here */
    struct invocation i = { .function_id = m->function_id,
                            .payload = m->data,
                            .metadata = m->metadata,
                            .done = served_done,
                            .arg = s,
                            .outside = o };
    invocation_start(o->engine, &i);
}

/* --- our calls --- */

void remote_engine_invoke(struct outside *o, const char *function_id, json_t *payload, engine_done_fn *done, void *arg)
{
    char id[UUID_MAX];
    JSON_OWNED empty = json_object();
    if (!o->ws) {
        struct engine_error error = { .code = "invocation_error", .message = "the outside engine is not connected" };
        done(arg, NULL, &error);
        return;
    }
    struct asked *a = xzalloc(sizeof(*a));
    *a = (struct asked){ .done = done, .arg = arg };
    uuid_new(id);
    map_set(o->pending, id, a);
    send_json(o, message_invoke(id, function_id, payload ? payload : empty));
}

static void asked_done(struct outside *o, const struct message *m)
{
    struct asked *a = map_remove(o->pending, m->uuid);
    if (!a)
        return;
    struct engine_error error = { .code = json_get_str(m->error, "code", ""),
                                  .message = json_get_str(m->error, "message", "") };
    a->done(a->arg, m->result, m->error ? &error : NULL);
    free(a);
}

static void fail_pending(struct outside *o)
{
    struct engine_error error = { .code = "invocation_error",
                                  .message = "the connection to the outside engine was lost" };
    for (struct map_iter it = map_iter(o->pending); map_next(&it);) {
        struct asked *a = map_remove(o->pending, it.key);
        a->done(a->arg, NULL, &error);
        free(a);
    }
}

/* --- the connection --- */

static void outside_connected(struct outside *o, const struct message *m)
{
    free(o->worker_id);
    free(o->reattach_token);
    o->worker_id = xstrdup(m->id);
    o->reattach_token = xstrdup(m->reattach_token);
    o->has_handshake = true;
    o->pause_ms = FIRST_PAUSE_MS;
    log_event(LOG_DEBUG, "engine.outside_joined", "url", o->url, "worker", o->worker_id, NULL);
}

static void outside_message(void *arg, struct ws *w, bool is_text, const char *data, size_t len)
{
    struct outside *o = arg;
    struct err err = ERR_INIT;
    CLEANUP(message_done) struct message m = { 0 };
    (void)w, (void)is_text;
    if (message_read(data, len, &m, &err) < 0) {
        log_event(LOG_DEBUG, "engine.outside_bad_message", "error", err.msg, NULL);
        return;
    }
    if (m.type == MESSAGE_WORKER_REGISTERED)
        outside_connected(o, &m);
    else if (m.type == MESSAGE_INVOKE)
        outside_serve(o, &m);
    else if (m.type == MESSAGE_RESULT)
        asked_done(o, &m);
    else if (m.type == MESSAGE_PING)
        send_json(o, json_pack("{s:s}", "type", "pong"));
    else if (m.type == MESSAGE_ERROR)
        log_event(LOG_DEBUG, "engine.outside_refused", "code", json_get_str(m.error, "code", ""), "error",
                  json_get_str(m.error, "message", ""), NULL);
}

static void outside_closed(void *arg, struct ws *w, int code, const char *reason)
{
    struct outside *o = arg;
    (void)w, (void)code;
    o->ws = NULL;
    o->has_handshake = false;
    uint32_t dice;
    ident_random(&dice, sizeof(dice));
    /* Plus or minus 30 %, so that many workers do not reconnect at the same moment. */
    int64_t pause = o->pause_ms * (700 + (int64_t)(dice % 601)) / 1000;
    o->pause_ms = o->pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : o->pause_ms * 2;
    timer_set(o->retry, pause, 0);
    log_event(LOG_DEBUG, "engine.outside_lost", "url", o->url, "reason", reason, NULL);
    fail_pending(o);
    invocation_outside_left(o->engine, o);
}

/* Frames sent before the handshake is complete wait in the socket's queue: the order is the contract's. */
static void outside_register(struct outside *o)
{
    if (o->worker_id && o->reattach_token)
        send_json(o, json_pack("{s:s, s:s, s:s}", "type", "reattach", "previous_worker_id", o->worker_id,
                               "reattach_token", o->reattach_token));
    for (struct map_iter it = map_iter(o->engine->local); !o->is_client && map_next(&it);) {
        const struct function *f = it.value;
        if (f->is_inside)
            continue;
        json_t *m = json_pack("{s:s, s:s}", "type", "registerfunction", "id", f->id);
        message_set_str(m, "description", f->description);
        message_set(m, "request_format", f->request_schema);
        message_set(m, "response_format", f->response_schema);
        message_set(m, "metadata", f->metadata);
        send_json(o, m);
    }
    if (o->topic) {
        send_json(o, json_pack("{s:s, s:s, s:{s:b}}", "type", "registerfunction", "id", o->event_fn, "metadata",
                               "internal", true));
        send_json(o, json_pack("{s:s, s:s, s:s, s:s, s:{s:s}}", "type", "registertrigger", "id", o->event_fn,
                               "trigger_type", "subscribe", "function_id", o->event_fn, "config", "topic", o->topic));
    }
    JSON_OWNED about = json_pack("{s:s, s:s, s:s, s:s, s:i}", "name", o->engine->name, "version", o->engine->version,
                                 "runtime", "c", "os", "linux", "pid", (int)getpid());
    json_t *m = message_invoke(NULL, "engine::workers::register", about);
    (void)json_object_set_new(m, "action", json_pack("{s:s}", "type", "void"));
    send_json(o, m);
}

static void outside_retry(void *arg)
{
    static const struct ws_events events = { .on_message = outside_message, .on_close = outside_closed };
    struct outside *o = arg;
    struct err err = ERR_INIT;
    CLEANUP(free_p) char *auth = o->token ? xasprintf("Authorization: Bearer %s", o->token) : NULL;
    CLEANUP(free_p) char *url = xasprintf("%s/", o->url);
    const char *const headers[] = { auth, NULL };
    const struct ws_target to = { .url = url,
                                  .headers = auth ? headers : NULL,
                                  .message_max = ENGINE_MESSAGE_MAX,
                                  .trust = o->engine->trust,
                                  .rule = outgoing_operator };
    if (ws_dial(o->engine->loop, &to, &events, o, &o->ws, &err) == 0)
        outside_register(o);
    else
        outside_closed(o, NULL, 1006, err.msg);
}

static void outside_ping(void *arg)
{
    struct outside *o = arg;
    if (o->ws)
        ws_ping(o->ws);
}

/* With the port written out and no slash at the end: every connection, including those of channels, goes to the same
 * address. */
static char *full_url(const struct url *u)
{
    bool is_v6 = strchr(u->host, ':') != NULL;
    char *text = xasprintf("ws%s://%s%s%s:%u%s", u->is_secure ? "s" : "", is_v6 ? "[" : "", u->host, is_v6 ? "]" : "",
                           u->port, u->path);
    for (size_t n = strlen(text); n && text[n - 1] == '/'; n--)
        text[n - 1] = '\0';
    return text;
}

int remote_engine_new(struct engine *e, const char *url, const char *token, struct outside **ret, struct err *err)
{
    struct url parts;
    bool is_plain = url_parse(url, "ws", URL_ENGINE_PORT, &parts) == 0;
    if ((!is_plain && url_parse(url, "wss", URL_ENGINE_PORT, &parts) < 0) || strchr(parts.path, '?'))
        return err_set(err, ERR_INVALID, 0,
                       "engine URL \"%.200s\" is not of the form ws://host:port or wss://host:port", url);
    struct outside *o = xzalloc(sizeof(*o));
    o->engine = e;
    parts.is_secure = !is_plain;
    o->url = full_url(&parts);
    o->token = token && *token ? xstrdup(token) : NULL;
    o->pause_ms = FIRST_PAUSE_MS;
    o->n_refs = 1;
    o->pending = map_new();
    o->retry = timer_new(e->loop, 0, 0, outside_retry, o);
    o->ping = timer_new(e->loop, PING_MS, PING_MS, outside_ping, o);
    *ret = o;
    return 0;
}

int remote_engine_new_client(struct engine *e, const char *url, const char *topic, remote_engine_event_fn *fn,
                             struct outside **ret, struct err *err)
{
    int r = remote_engine_new(e, url, NULL, ret, err);
    if (r < 0)
        return r;
    (*ret)->is_client = true;
    (*ret)->topic = topic;
    (*ret)->on_event = fn;
    uuid_new((*ret)->event_fn);
    return 0;
}

struct outside *remote_engine_free(struct outside *o)
{
    if (!o)
        return NULL;
    struct ws *w = STEAL(o->ws);
    if (w)
        ws_drop(w);
    fail_pending(o);
    o->retry = timer_free(o->retry);
    o->ping = timer_free(o->ping);
    invocation_forget_outside(o->engine, o);
    outside_unref(o);
    return NULL;
}

bool remote_engine_is_connected(const struct outside *o)
{
    return o->has_handshake;
}

const char *remote_engine_url(const struct outside *o)
{
    return o->url;
}
