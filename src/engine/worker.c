/* One connected worker, from its upgrade to its end. A message is parsed (message.c), judged by the worker's session
 * when its listener has rules (session.c), and handed to the registry, a trigger or an invocation. While a registration
 * hook runs, later messages wait in `held`, so that each socket keeps its order; they are bounded in number and bytes.
 * A worker that does not read is held back before it can fill memory, except for replies that others wait for. Leaving
 * follows the contract's order: functions, calls, triggers, then those who watch. */
#include "engine/worker.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/invocation.h"
#include "engine/message.h"
#include "engine/presence.h"
#include "engine/registry.h"
#include "engine/session.h"
#include "engine/trigger.h"
#include "http/ws_closing.h"

#define WORKER_MAGIC 0x4a0c1e77u
#define QUEUE_MARK   (1024 * 1024) /* above this ws_send() asks the source to pause */

void worker_send(struct worker *w, json_t *msg)
{
    size_t len;
    CLEANUP(free_p) char *text = json_write(msg, &len);
    json_decref(msg);
    if (!w->ws)
        return; /* it is leaving (and was the caller of what it carried out), or never had one */
    /* A worker that does not read its replies may not call. But its replies to others are always read, or two workers
     * that wait for each other would deadlock. */
    size_t queued = ws_send(w->ws, true, text, len);
    ws_hold(w->ws, queued > QUEUE_MARK && w->n_running == 0);
}

bool worker_is_full(const struct worker *w)
{
    return w->ws && ws_queued(w->ws) > ENGINE_BACKLOG_MAX;
}

void worker_set_str(char **slot, const json_t *about, const char *key)
{
    const char *text = json_get_str(about, key, NULL);
    if (!text)
        return;
    char *clean = message_clean_text(text, ENGINE_NAME_CHARS);
    free(*slot);
    *slot = clean;
}

/* --- messages that wait for a registration hook --- */

struct held {
    STAILQ_ENTRY(held) link;
    size_t len;
    char text[];
};

static struct held *held_take(struct worker *w)
{
    struct held *h = STAILQ_FIRST(&w->held);
    if (h) {
        STAILQ_REMOVE_HEAD(&w->held, link);
        w->n_held--;
        w->held_bytes -= h->len;
        share_give(w->engine->bytes, w->tenant, h->len);
    }
    return h;
}

/* --- leaving --- */

/* In the contract's order: functions, calls, triggers, then the watchers. */
static void worker_forget(struct worker *w)
{
    struct engine *e = w->engine;
    assert(w->magic == WORKER_MAGIC);
    (void)map_remove(e->workers, w->id);
    registry_worker_left(e, w);
    invocation_worker_left(e, w);
    trigger_worker_left(e, w);
    presence_worker(e, "worker_disconnected", w->id);
    share_give(e->connections, w->tenant, 1);
    log_event(LOG_DEBUG, "engine.worker_left", "worker", w->id, "name", w->name, NULL);
    w->magic = 0;
    free(w->name);
    free(w->description);
    free(w->version);
    free(w->runtime);
    free(w->os);
    free(w->ip);
    free(w->host);
    json_decref(w->pid);
    json_decref(w->isolation);
    for (struct held *h; (h = held_take(w));)
        free(h);
    (void)session_free(w->session);
    free(w);
}

static void worker_closed(void *arg, struct ws *ws, int code, const char *reason)
{
    struct worker *w = arg;
    (void)ws, (void)code, (void)reason;
    w->ws = NULL;
    worker_forget(w);
}

void worker_retire(struct worker *w, int code, const char *reason)
{
    struct ws *ws = STEAL(w->ws);
    if (ws)
        ws_closing_add(w->engine->parting, ws, code, reason);
    worker_forget(w);
}

/* --- messages --- */

static void refused(const struct worker *w, const char *what, const char *id, int r)
{
    if (r < 0)
        log_event(LOG_DEBUG, "engine.refused", "what", what, "id", id, "worker", w->id, "why", strerror(-r), NULL);
}

void worker_refused(const struct worker *w, const char *what)
{
    if (w->engine->on_refused)
        w->engine->on_refused(w->engine->auth_arg, w->identity, w->ip, what);
}

static void worker_process(struct worker *w, const char *data, size_t len, bool is_judged);

/* A registration that waits for the operator's hook. The worker may leave meanwhile. */
struct hook_wait {
    struct engine *engine;
    char worker[UUID_MAX];
    struct message message;
};

static void worker_drain(struct worker *w)
{
    struct engine *e = w->engine;
    char id[UUID_MAX];
    (void)memcpy(id, w->id, UUID_MAX);
    if (w->is_draining)
        return; /* a hook that failed at once: the loop below continues with the next message */
    w->is_draining = true;
    bool is_alive = true; /* a message may end the worker */
    while (is_alive && !w->is_waiting && w->n_held) {
        CLEANUP(free_p) struct held *h = held_take(w);
        worker_process(w, h->text, h->len, false);
        is_alive = map_get(e->workers, id) == w;
    }
    if (is_alive)
        w->is_draining = false;
}

static void hook_answered(void *arg, json_t *result, const struct engine_error *error)
{
    struct hook_wait *h = arg;
    struct worker *w = map_get(h->engine->workers, h->worker);
    if (w)
        w->is_waiting = false;
    if (w && !error && json_is_object(result)) {
        size_t len;
        CLEANUP(free_p) char *text = session_rewrite(w->session, &h->message, result, &len);
        worker_process(w, text, len, true);
    } else if (w) {
        log_event(LOG_DEBUG, "engine.refused", "what", "registration", "id", h->message.id, "worker", w->id, "why",
                  error ? error->message : "the hook's answer is not an object", NULL);
    }
    if (w && map_get(h->engine->workers, h->worker) == w)
        worker_drain(w);
    message_done(&h->message);
    free(h);
}

/* What the session's rules do with a message. False: it is handled as it is. */
static bool is_ruled(struct worker *w, struct message *m)
{
    bool is_registration =
        m->type == MESSAGE_REGISTER_FUNCTION || m->type == MESSAGE_REGISTER_TYPE || m->type == MESSAGE_REGISTER_TRIGGER;
    size_t len;
    if (!w->session || (!is_registration && m->type != MESSAGE_UNREGISTER_FUNCTION))
        return false;
    if (!session_may_register(w->session, m))
        return true; /* the contract: silently */
    const char *hook = session_hook(w->session, m);
    if (!hook) {
        CLEANUP(free_p) char *text = session_rewrite(w->session, m, NULL, &len);
        worker_process(w, text, len, true);
        return true;
    }
    struct hook_wait *h = xzalloc(sizeof(*h));
    JSON_OWNED payload = session_hook_payload(w->session, m);
    h->engine = w->engine;
    (void)memcpy(h->worker, w->id, UUID_MAX);
    h->message = *m;
    *m = (struct message){ 0 };
    w->is_waiting = true;
    engine_invoke(w->engine, hook, payload, NULL, hook_answered, h); /* may have answered */
    return true;
}

static void worker_handle(struct worker *w, const struct message *m)
{
    struct engine *e = w->engine;
    struct worker *old = NULL;
    /* A worker with limited rights owns nothing here that others could call or be called by. */
    if (w->is_limited && (m->type == MESSAGE_REGISTER_FUNCTION || m->type == MESSAGE_REGISTER_TYPE ||
                          m->type == MESSAGE_REGISTER_TRIGGER || m->type == MESSAGE_REATTACH)) {
        worker_refused(w, m->type == MESSAGE_REATTACH ? "engine::reattach" : "engine::register");
        worker_send(w, json_pack("{s:s, s:{s:s, s:s}}", "type", "error", "error", "code", "FORBIDDEN", "message",
                                 "registering needs an admin token"));
        return;
    }
    switch (m->type) {
    case MESSAGE_PING:
        worker_send(w, json_pack("{s:s}", "type", "pong"));
        break;
    case MESSAGE_REATTACH:
        old = map_get(e->workers, m->previous_worker_id);
        if (old && old != w && strcmp(old->token, m->reattach_token) == 0)
            worker_retire(old, 1000, "reattached");
        break;
    case MESSAGE_REGISTER_FUNCTION:
        refused(w, "function", m->id, registry_add(e, w, m));
        break;
    case MESSAGE_UNREGISTER_FUNCTION:
        registry_remove(e, w, m->id);
        break;
    case MESSAGE_INVOKE:
        invocation_from_worker(w, m);
        break;
    case MESSAGE_RESULT:
        invocation_result(w, m);
        break;
    case MESSAGE_REGISTER_TYPE:
        refused(w, "trigger type", m->id, trigger_add_type(e, w, m));
        break;
    case MESSAGE_UNREGISTER_TYPE:
        trigger_remove_type(e, w, m->id);
        break;
    case MESSAGE_REGISTER_TRIGGER:
        trigger_bind_message(w, m);
        break;
    case MESSAGE_UNREGISTER_TRIGGER:
        (void)trigger_unbind(e, w, m->id); /* a missing binding, or another worker's, is left alone */
        break;
    case MESSAGE_TRIGGER_RESULT:
        trigger_report(e, w, m);
        break;
    case MESSAGE_OBSERVE: {
        JSON_OWNED error = message_error_body("UNSUPPORTED", "this engine does not offer observers", NULL);
        worker_send(w, json_pack("{s:s, s:s, s:s, s:O}", "type", "observeresult", "id", m->id, "state", "error",
                                 "error", error));
        break;
    }
    case MESSAGE_BLANK:
    case MESSAGE_UNKNOWN:
    case MESSAGE_PONG:
    case MESSAGE_WORKER_REGISTERED:
    case MESSAGE_ERROR:
        break;
    }
}

/* is_judged: it has passed the session's rules. */
static void worker_process(struct worker *w, const char *data, size_t len, bool is_judged)
{
    struct err err = ERR_INIT;
    CLEANUP(message_done) struct message m = { 0 };
    if (message_read(data, len, &m, &err) < 0) {
        log_event(LOG_DEBUG, "engine.bad_message", "worker", w->id, "error", err.msg, NULL);
        return;
    }
    bool can_pass = m.type == MESSAGE_RESULT || m.type == MESSAGE_PING || m.type == MESSAGE_PONG;
    if (w->is_waiting && !is_judged && !can_pass) {
        struct held *h = xzalloc(sizeof(*h) + len);
        h->len = len;
        (void)memcpy(h->text, data, len);
        STAILQ_INSERT_TAIL(&w->held, h, link);
        w->n_held++;
        w->held_bytes += len;
        bool has_room = share_has_room(w->engine->bytes, w->tenant, len);
        share_add(w->engine->bytes, w->tenant, len);
        if (w->n_held > SESSION_HELD_MAX || w->held_bytes > SESSION_HELD_BYTES_MAX || !has_room)
            worker_retire(w, 1008, "too many messages wait for a registration hook");
    } else if (is_judged || !is_ruled(w, &m)) {
        worker_handle(w, &m);
    }
}

void worker_receive(struct worker *w, bool is_text, const char *data, size_t len)
{
    assert(w->magic == WORKER_MAGIC);
    bool is_telemetry = !is_text && len >= 4 && /* meant for /otel */
                        (memcmp(data, "OTLP", 4) == 0 || memcmp(data, "MTRC", 4) == 0 || memcmp(data, "LOGS", 4) == 0);
    if (!is_telemetry)
        worker_process(w, data, len, false);
}

static void worker_message(void *arg, struct ws *ws, bool is_text, const char *data, size_t len)
{
    (void)ws;
    worker_receive(arg, is_text, data, len);
}

static void worker_drained(void *arg, struct ws *ws)
{
    (void)arg;
    ws_hold(ws, false);
}

/* --- connecting --- */

struct worker *worker_new(struct engine *e, const char *peer)
{
    struct worker *w = xzalloc(sizeof(*w));
    const char *port = strrchr(peer, ':');
    w->magic = WORKER_MAGIC;
    w->engine = e;
    w->ip = port ? xstrndup(peer, (size_t)(port - peer)) : xstrdup(peer);
    w->connected_ms = clock_wall_ms();
    uuid_new(w->id);
    uuid_new(w->token);
    LIST_INIT(&w->started);
    LIST_INIT(&w->running);
    STAILQ_INIT(&w->held);
    map_set(e->workers, w->id, w);
    return w;
}

void worker_accept(struct engine *e, struct http_req *r, struct worker_pass *pass)
{
    static const struct ws_events events = { .on_message = worker_message,
                                             .on_close = worker_closed,
                                             .on_drain = worker_drained };
    const char *host = http_req_header(r, "host");
    CLEANUP(free_p) char *peer = xstrdup(http_req_peer(r)), *called = xstrdup(host ? host : "");
    struct ws *ws = NULL;
    if (ws_accept(e->loop, r, ENGINE_MESSAGE_MAX, &events, NULL, &ws) < 0) {
        share_give(e->connections, pass->tenant, 1);
        return;
    }
    struct worker *w = worker_new(e, peer);
    w->host = STEAL(called);
    w->ws = ws;
    w->has_identity = e->auth != NULL && !pass->is_anonymous;
    w->session = STEAL(pass->session);
    w->is_limited = pass->verdict == ENGINE_LIMITED;
    memcpy(w->identity, pass->identity, sizeof(w->identity));
    memcpy(w->tenant, pass->tenant, sizeof(w->tenant));
    ws_set_arg(ws, w);
    ws_charge(ws, e->bytes, w->tenant);
    worker_send(
        w, json_pack("{s:s, s:s, s:s}", "type", "workerregistered", "worker_id", w->id, "reattach_token", w->token));
    presence_worker(e, "worker_connected", w->id);
}
