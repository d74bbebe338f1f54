#include "engine/listener.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "engine/channel.h"
#include "engine/engine_config.h"
#include "engine/request_json.h"
#include "engine/session.h"
#include "engine/telemetry.h"
#include "engine/worker.h"
#include "http/ws_closing.h"

#define BODY_MAX 4096 /* no request to this port needs a body */

struct listener {
    struct engine *engine;
    const json_t *rules; /* borrowed from the configuration; NULL: everything is allowed */
};

static void ignore_message(void *arg, struct ws *w, bool is_text, const char *data, size_t len)
{
    (void)arg, (void)w, (void)is_text, (void)data, (void)len; /* replaced at once by ws_closing */
}

static void ignore_close(void *arg, struct ws *w, int code, const char *reason)
{
    (void)arg, (void)w, (void)code, (void)reason;
}

/* Sends the one frame that precedes a session, then closes. */
static void refuse_session(struct engine *e, struct http_req *r, const char *why)
{
    static const struct ws_events events = { .on_message = ignore_message, .on_close = ignore_close };
    size_t len;
    JSON_OWNED frame = json_pack("{s:s, s:{s:s, s:s}}", "type", "error", "error", "code", "AUTH_ERROR", "message", why);
    CLEANUP(free_p) char *text = json_write(frame, &len);
    struct ws *w = NULL;
    if (ws_accept(e->loop, r, BODY_MAX, &events, NULL, &w) < 0)
        return;
    (void)ws_send(w, true, text, len);
    ws_closing_add(e->parting, w, 1008, "AUTH_ERROR");
}

static struct http_body_rule listener_head(void *arg, struct http_req *r)
{
    struct engine *e = ((struct listener *)arg)->engine;
    if (e->on_head)
        e->on_head(e->auth_arg, r);
    return (struct http_body_rule){ .max_bytes = BODY_MAX };
}

static void listener_admit(struct listener *l, struct http_req *r, struct worker_pass *pass)
{
    struct engine *e = l->engine;
    const char *tenant = *session_tenant(pass->session) || pass->verdict != ENGINE_LIMITED
                             ? session_tenant(pass->session)
                             : pass->identity;
    (void)snprintf(pass->tenant, sizeof(pass->tenant), "%s", tenant);
    if (e->is_stopping)
        request_json_refuse(r, 503, "the server stops");
    else if (map_count(e->workers) + e->n_telemetry >= ENGINE_WORKERS_MAX)
        request_json_refuse(r, 503, "too many workers are connected");
    else if (!share_take(e->connections, pass->tenant, 1))
        request_json_refuse(r, 503, "too many workers of this tenant are connected");
    else if (strcmp(http_req_path(r), "/") == 0)
        worker_accept(e, r, pass); /* takes the session */
    else
        telemetry_accept(e, r, pass->tenant);
    pass->session = session_free(pass->session);
}

struct judged {
    struct listener *listener;
    struct http_req *req;
};

static void auth_done(void *arg, json_t *result, const struct engine_error *error)
{
    struct judged *j = arg;
    struct err err = ERR_INIT;
    struct worker_pass pass = { .verdict = ENGINE_FULL, .is_anonymous = true };
    if (http_req_is_gone(j->req))
        ;
    else if (error || !json_is_object(result) || session_new(j->listener->rules, result, &pass.session, &err) < 0)
        refuse_session(j->listener->engine, j->req,
                       error      ? error->message
                       : *err.msg ? err.msg
                                  : "the auth function answered nothing");
    else
        listener_admit(j->listener, j->req, &pass);
    http_req_unref(j->req);
    free(j);
}

static void listener_request(void *arg, struct http_req *r)
{
    struct listener *l = arg;
    struct engine *e = l->engine;
    const char *path = http_req_path(r);
    const char *auth = json_get_str(json_get(l->rules, "rbac"), "auth_function_id", NULL);
    struct worker_pass pass = { .verdict = ENGINE_REFUSED };
    if (channel_hub_serve(e->channels, r))
        return;
    if (strcmp(path, "/") != 0 && strcmp(path, "/otel") != 0)
        request_json_refuse(r, 404, "not found: this port serves /, /otel and /ws/channels/");
    else if (e->is_stopping)
        request_json_refuse(r, 503, "the server stops");
    else if (auth) {
        CLEANUP(free_p) char *address = request_json_peer_address(r);
        JSON_OWNED payload = json_pack("{s:o, s:o, s:s}", "headers", request_json_headers(r), "query_params",
                                       request_json_query_lists(http_req_query(r)), "ip_address", address);
        struct judged *j = xzalloc(sizeof(*j));
        *j = (struct judged){ l, http_req_ref(r) };
        engine_invoke(e, auth, payload, NULL, auth_done, j);
    } else if ((pass.verdict = engine_authenticate(e, r, pass.identity)) == ENGINE_REFUSED) {
        refuse_session(e, r, "a token is needed: Authorization: Bearer ..., or ?token=...");
    } else {
        if (l->rules)
            (void)session_new(l->rules, NULL, &pass.session, NULL); /* without an answer there is nothing to reject */
        listener_admit(l, r, &pass);
    }
}

static struct http_app app_of(struct listener *l)
{
    return (struct http_app){ .arg = l, .on_head = listener_head, .on_request = listener_request };
}

/* --- life --- */

static uint16_t port_of(const json_t *rules)
{
    return (uint16_t)json_get_int(rules, "port", LIMIT_DEFAULT(ENGINE_PORT));
}

int listener_init(struct engine *e, uint16_t engine_port, struct err *err)
{
    int r = 0;
    e->listeners = xzalloc((ENGINE_LISTENERS_MAX + 1) * sizeof(struct listener));
    e->listeners[0].engine = e;
    e->n_listeners = 1;
    for (size_t i = 0; r == 0 && i < json_array_size(e->config); i++) {
        const json_t *entry = json_array_get(e->config, i), *rules = json_get(entry, "config");
        if (strcmp(json_get_str(entry, "name", ""), "iii-worker-manager") != 0)
            continue;
        r = session_check_rules(rules, err);
        if (r == 0 && port_of(rules) == engine_port && engine_port)
            e->listeners[0].rules = rules;
        else if (r == 0 && e->n_listeners == ENGINE_LISTENERS_MAX)
            r = err_set(err, ERR_INVALID, 0, "iii-worker-manager: limit of %d entries reached",
                        ENGINE_LISTENERS_MAX - 1);
        else if (r == 0)
            e->listeners[e->n_listeners++] = (struct listener){ e, rules };
    }
    return r;
}

void listener_done(struct engine *e)
{
    free(e->listeners);
}

struct http_app listener_app(struct engine *e)
{
    return app_of(&e->listeners[0]);
}

size_t listener_list(struct engine *e, struct engine_listener ret[ENGINE_LISTENERS_MAX], size_t n)
{
    for (size_t i = 1; i < e->n_listeners && n < ENGINE_LISTENERS_MAX; i++) {
        const json_t *rules = e->listeners[i].rules;
        ret[n++] = (struct engine_listener){
            .worker = "iii-worker-manager",
            .host = json_get_str(rules, "host", NULL),
            .port = port_of(rules),
            .head_ms = json_get_int(rules, "handshake_timeout_ms", 0),
            .has_auth = json_get_str(json_get(rules, "rbac"), "auth_function_id", NULL) != NULL,
            .app = app_of(&e->listeners[i]),
        };
    }
    return n;
}
