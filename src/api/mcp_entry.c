#include "api/mcp_entry.h"

#include <stdlib.h>
#include <string.h>

#include "api/admission.h"
#include "api/api_core.h"
#include "api/call.h"
#include "base/alloc.h"
#include "base/share.h"
#include "base/warnings.h"
#include "mcp/mcp_http.h"
#include "mcp/mcp_session.h"

#define PATH "/mcp"

struct mcp_entry {
    struct api *api;
    struct mcp_http *http;
    struct share *running; /* tool calls */
};

/* What one session runs on: the server itself, on behalf of who began the session. */
struct backing {
    struct mcp_backend back;
    struct mcp_entry *entry;
    struct caller *who; /* referenced */
    char peer[64];
};

/* Who sent the message that a session may begin with. */
struct arrival {
    struct caller *who;
    const char *peer;
};

/* One operation under way. */
struct passage {
    struct mcp_entry *entry;
    struct caller *who; /* referenced */
    struct mcp_backend_sink sink;
    struct call *running; /* set and cleared by call_run_held() */
    json_t *body;         /* of an answer that came before backend_start() had returned */
    json_t *warnings;     /* that the body has no place for; NULL: none */
    int status;
    bool is_starting, is_dropped;
};

/* Ends the passage. */
static void deliver(void *arg)
{
    struct passage *p = arg;
    struct mcp_backend_sink sink = p->sink;
    JSON_OWNED body = p->body;
    JSON_OWNED warnings = p->warnings;
    int status = p->status;
    bool is_wanted = !p->is_dropped;
    share_give(p->entry->running, p->who->tenant, 1);
    (void)caller_unref(p->who);
    free(p);
    if (!is_wanted)
        return;
    warnings_add_all(sink.warnings, warnings);
    sink.done(sink.arg, status, body);
}

static void on_call_done(void *arg, int status, json_t *body)
{
    struct passage *p = arg;
    p->status = status;
    p->body = json_incref(body);
    if (p->is_starting)
        loop_defer(p->entry->api->loop, deliver, p);
    else
        deliver(p);
}

static size_t on_event(void *arg, json_t *event)
{
    struct passage *p = arg;
    if (!p->is_dropped)
        p->sink.on_event(p->sink.arg, event);
    return 0; /* what it keeps is bounded */
}

static void *backend_start(void *arg, enum op_id op, const json_t *params, const struct mcp_backend_sink *sink)
{
    struct backing *b = arg;
    struct passage *p = xzalloc(sizeof(*p));
    struct err err = ERR_INIT;
    *p = (struct passage){ .entry = b->entry, .sink = *sink, .is_starting = true };
    p->who = caller_ref(b->who);
    bool has_room = share_has_room(b->entry->running, "", 1) && share_has_room(b->entry->running, b->who->tenant, 1);
    share_add(b->entry->running, b->who->tenant, 1);
    if (!has_room) {
        (void)err_set(&err, ERR_CAPACITY, 0,
                      "limit of %d concurrent tool calls, or %d of one tenant, reached: try again", API_HTTP_MAX,
                      API_HTTP_MAX / SHARE_PARTS);
        JSON_OWNED body = json_pack("{s:s}", "error", err.msg);
        on_call_done(p, err_status(err.code), body);
        return p;
    }
    JSON_OWNED copy = json_deep_copy(params);
    const struct call_sink to = { .on_event = on_event,
                                  .done = on_call_done,
                                  .arg = p,
                                  .who = b->who,
                                  .remote = b->peer,
                                  .traceparent = sink->traceparent,
                                  .warnings = &p->warnings };
    call_run_held(b->entry->api, op, copy, &to, &p->running);
    p->is_starting = false;
    return p;
}

static void backend_drop(void *arg, void *handle)
{
    struct passage *p = handle;
    p->is_dropped = true;
    if (p->running)
        call_cancel(p->running); /* its end, now or later, frees the passage */
}

static struct mcp_backend *open_back(void *arg, void *caller)
{
    struct mcp_entry *d = arg;
    const struct arrival *from = caller;
    struct backing *b = xzalloc(sizeof(*b));
    b->entry = d;
    b->who = caller_ref(from->who);
    (void)snprintf(b->peer, sizeof(b->peer), "%s", from->peer);
    b->back = (struct mcp_backend){ .arg = b,
                                    .prefix = d->api->settings->api_prefix,
                                    .is_strict = d->api->settings->strict,
                                    .start = backend_start,
                                    .drop = backend_drop };
    return &b->back;
}

static void close_back(void *arg, struct mcp_backend *back)
{
    struct backing *b = back->arg;
    b->who = caller_unref(b->who);
    free(b);
}

/* --- the entry point --- */

static bool claims(void *arg, struct http_req *r)
{
    return strcmp(http_req_path(r), PATH) == 0 || strcmp(http_req_path(r), PATH "/") == 0;
}

static bool serve(void *arg, struct http_req *r)
{
    struct mcp_entry *d = arg;
    struct err err = ERR_INIT;
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    struct admission from = { .http = r, .operation = "mcp::connect" };
    if (admission_check(d->api, &from, &who, &err) == 0) {
        struct arrival arrived = { .who = who, .peer = http_req_peer(r) };
        mcp_http_serve(d->http, r,
                       &(struct mcp_http_from){ .owner = who->id, .tenant = who->tenant, .caller = &arrived });
    } else {
        admission_refuse(r, &err);
    }
    return true;
}

struct mcp_entry *mcp_entry_new(struct api *a)
{
    struct mcp_entry *d = xzalloc(sizeof(*d));
    d->api = a;
    d->running = share_new(API_HTTP_MAX);
    const struct mcp_http_host host = {
        .arg = d, .open = open_back, .close = close_back, .origins = a->settings->mcp_origins
    };
    d->http = mcp_http_new(a->loop, &host);
    api_add_entry(a, &(struct api_entry){ .path_prefix = PATH, .claims = claims, .fn = serve, .arg = d });
    return d;
}

struct mcp_entry *mcp_entry_free(struct mcp_entry *d)
{
    if (d) {
        d->http = mcp_http_free(d->http);
        share_free(d->running);
        free(d);
    }
    return NULL;
}

void mcp_entry_end_of(struct mcp_entry *d, const char *token_id)
{
    mcp_http_end_of(d->http, token_id);
}

void mcp_entry_stop(struct mcp_entry *d)
{
    mcp_http_stop(d->http);
}
