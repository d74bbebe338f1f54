/* Theory of operation. A struct call is one operation from any entry point: REST, engine, MCP, or a step of another
 * call. The API's list owns it; it holds references to its caller and HTTP request, and owns its parameters.
 *
 * call_start() checks in the contract's order: role, rate of the sandbox, schema, tenant of every id, audit (strict
 * mode), Idempotency-Key; then the handler runs. A call with the key of another call gets that call's response instead.
 *
 * The handler finishes the call exactly once. Every finish records the outcome in the audit log, then call_settle()
 * detaches it from cancellation, call_reply() responds, and call_retire() traces and frees it. magic is cleared by the
 * free, so a second finish aborts. A client that disconnects cancels the call, except one with an Idempotency-Key: its
 * response is kept for the retry. An error after a stream has started becomes the stream's last event. */
#include "api/call.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/access.h"
#include "api/admission.h"
#include "api/api_core.h"
#include "api/call_core.h"
#include "api/fn.h"
#include "api/in_flight.h"
#include "api/lookup.h"
#include "api/params.h"
#include "api/prefer.h"
#include "api/span.h"
#include "api/sse.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/share.h"
#include "base/warnings.h"
#include "engine/engine.h"
#include "http/ws.h"
#include "http/ws_closing.h"
#include "loop/json_work.h"

#define CALL_MAGIC  0xca11ca11u
#define MESSAGE_MAX 4096 /* of what the client of a stream sends, which is ignored */

/* An operation without a handler does not link. */
static op_fn *const handlers[OP_ALL] = {
#define OP(id, ...)           [OP_ID_##id] = api_##id,
#define OP_ALIAS(id, of, ...) [OP_ID_##id] = api_##of,
#define OPS_REST_END
#include "spec/ops.def"
};

struct call {
    LIST_ENTRY(call) running;
    unsigned magic; /* cleared by the free: a second finish aborts instead of corrupting memory */
    struct api *api;
    const struct op *op;
    struct caller *who; /* referenced; NULL: the server itself */
    json_t *params;
    struct http_req *http; /* referenced; NULL without HTTP */
    struct engine_call *engine;
    struct fn_part *fn; /* of OP_FUNCTION rows */
    call_event_fn *on_event;
    call_done_fn *done;
    void *done_arg;
    void *state;
    loop_fn *on_cancel;
    void *cancel_arg;
    char *sandbox_id;
    json_t *failure; /* members of the body of a failure, or NULL */
    char *named;     /* the sandbox that a parameter names, by the id that records and rates know it by; or NULL */
    struct idempotency_claim *claim; /* of its Idempotency-Key: the answer is kept */
    int64_t started_us;
    bool is_cancelled, is_streaming, has_span, is_kept;
    bool is_strict;             /* what would be a warning is an error */
    json_t *warnings;           /* base/warnings.h; NULL: none */
    json_t **warnings_wanted;   /* of whoever takes those that the reply cannot hold; or NULL */
    bool is_not_waking;         /* its sandbox stays asleep, and the handler says so */
    bool is_step;               /* of another call, which is authorised, recorded and traced */
    bool is_refused;            /* for its rate: neither recorded nor traced, since anyone can send many */
    bool is_recorded, is_begun; /* its outcome is in the audit log */
    char *remote;               /* of a caller without HTTP; or NULL */
    struct span span;           /* a child of the client's traceparent */
    struct ws *ws;              /* of a stream over a WebSocket; NULL: its client has left, or was refused */
    bool is_socket;             /* the stream goes over a WebSocket */
    int close_code;             /* of the WebSocket; 0: 1000 */
    loop_fn *on_drain;          /* of a stream that is not server-sent events */
    void *drain_arg;
    struct call **slot; /* of whoever may cancel it: cleared when it is finished; or NULL */
};

/* --- making and ending --- */

static void on_client_gone(void *arg)
{
    struct call *c = arg;
    assert(c->magic == CALL_MAGIC);
    if (c->claim)
        return; /* the client may retry: the call is completed and its response kept */
    c->is_cancelled = true;
    loop_fn *fn = STEAL(c->on_cancel);
    if (fn)
        fn(c->cancel_arg); /* may finish the call */
}

static void begin_span(struct call *c, const char *traceparent)
{
    struct span parent;
    bool has_parent = span_parse(traceparent, &parent);
    c->has_span = has_parent || c->api->has_spans;
    if (c->has_span)
        span_begin(has_parent ? &parent : NULL, &c->span);
}

static void count_http(const struct call *c, bool is_begun)
{
    const char *tenant = c->who ? c->who->tenant : "";
    c->api->n_http += is_begun ? 1 : -1U;
    (is_begun ? share_add : share_give)(c->api->http_share, tenant, 1);
}

struct call *call_new(struct api *a, const struct op *op, json_t *params, struct http_req *http, struct caller *who)
{
    struct call *c = xzalloc(sizeof(*c));
    c->magic = CALL_MAGIC;
    c->api = a;
    c->op = op;
    c->params = params;
    c->who = who ? caller_ref(who) : NULL;
    LIST_INSERT_HEAD(&a->calls, c, running);
    c->started_us = clock_mono_us();
    a->n_calls++;
    c->is_strict = a->settings->strict;
    if (http) {
        c->http = http_req_ref(http);
        if (!(op->flags & OP_UPGRADE))
            prefer_handling(http, &c->is_strict);
        http_req_on_gone(http, on_client_gone, c);
        begin_span(c, http_req_header(http, "traceparent"));
        if (!(op->flags & OP_UPGRADE))
            count_http(c, true);
    }
    if (op->flags & OP_FUNCTION)
        c->fn = fn_part_new(a->functions);
    return c;
}

/* Every finish calls it first: a client that disconnects while the response is written must not cancel the call.
 */
static void call_settle(struct call *c)
{
    assert(c->magic == CALL_MAGIC);
    c->on_cancel = NULL;
    if (c->slot)
        *c->slot = NULL;
    c->slot = NULL;
}

/* Trace, then the end of the call. err NULL: it went well. */
static void call_retire(struct call *c, const struct err *err)
{
    struct api *a = c->api;
    if (c->fn && !c->is_step)
        fn_log(c->fn, c->op->fn, clock_mono_us() - c->started_us);
    if (a->on_trace && !c->is_step && !c->is_refused) {
        struct api_trace t = { .op = c->op,
                               .sandbox_id = c->sandbox_id,
                               .tenant = c->who ? c->who->tenant : "",
                               .duration_us = clock_mono_us() - c->started_us,
                               .err = err,
                               .span = c->has_span ? &c->span : NULL };
        a->on_trace(a->trace_arg, &t);
    }
    if (c->http) {
        http_req_on_gone(c->http, NULL, NULL);
        http_req_on_drain(c->http, NULL, NULL);
        if (c->ws)
            ws_closing_add(a->closing, STEAL(c->ws), c->close_code ? c->close_code : 1000, "");
        c->http = http_req_unref(c->http);
        if (!(c->op->flags & OP_UPGRADE))
            count_http(c, false);
    }
    a->n_calls--;
    LIST_REMOVE(c, running);
    (void)caller_unref(c->who);
    json_decref(c->params);
    json_decref(c->warnings);
    free(c->sandbox_id);
    free(c->named);
    free(c->remote);
    json_decref(c->failure);
    (void)fn_part_free(c->fn);
    c->magic = 0;
    free(c);
}

/* --- the audit log --- */

static bool is_audited(const struct call *c)
{
    return c->api->audit && c->op->flags & OP_MUTATES && !c->is_step && !c->is_refused;
}

/* status 0: it begins. */
static int record_line(struct call *c, int status, struct err *err)
{
    char trace[SPAN_TEXT_MAX] = "";
    const char *request_id = call_header(c, "x-request-id");
    if (!request_id && call_traceparent(c, trace))
        request_id = trace;
    json_t *target = audit_target(c->op, c->params);
    if (c->named)
        (void)json_object_set_new(target, "id", json_text(c->named, strlen(c->named)));
    else if (c->sandbox_id && !json_object_get(target, "id"))
        (void)json_object_set_new(target, "sandboxId", json_text(c->sandbox_id, strlen(c->sandbox_id)));
    if (c->fn)
        (void)json_object_del(target, FN_SANDBOX); /* it is there as all know it */
    struct audit_line line = { .request_id = request_id,
                               .who = c->who,
                               .remote = c->http ? http_req_peer(c->http) : c->remote,
                               .operation = c->op->fn,
                               .target = target,
                               .status = status,
                               .code = c->fn && status >= 400 ? c->fn->fault.code : NULL };
    if (status < 400 || c->is_begun)
        return audit_add(c->api->audit, &line, err);
    audit_refused(c->api->audit, &line); /* nothing was done */
    return 0;
}

/* Negative: strict mode, and the outcome could not be written. */
static int record_outcome(struct call *c, int status, struct err *err)
{
    if (c->is_recorded || !is_audited(c))
        return 0;
    c->is_recorded = true;
    return record_line(c, status, err);
}

/* --- repeated requests --- */

static void call_reply(struct call *c, int status, json_t *body);

/* The first call with this key has finished: replays its response. */
static void answer_repeated(void *arg, int status, json_t *body)
{
    struct call *c = arg;
    struct err err = ERR_INIT;
    call_settle(c);
    if (c->http)
        http_req_add_header(c->http, "Idempotency-Replayed", "true");
    (void)record_outcome(c, status, NULL); /* nothing was done now */
    call_reply(c, status, json_incref(body));
    if (status >= 400)
        (void)err_set(&err, status == err_status(ERR_TIMEOUT) ? ERR_TIMEOUT : ERR_INTERNAL, 0, "%.300s",
                      json_get_str(body, "error", ""));
    call_retire(c, status >= 400 ? &err : NULL);
}

static void on_waiter_gone(void *arg)
{
    struct call *c = arg;
    idempotency_leave(c->api->idempotency, c);
    call_error(c, ERR_GONE, "the client left");
}

/* Whether the handler is to run: not when another call with the same key gives the answer. */
static bool is_first(struct call *c)
{
    struct err err = ERR_INIT;
    const char *key = c->op->flags & OP_IDEMPOTENT ? call_header(c, "idempotency-key") : NULL;
    if (!key)
        return true;
    struct idempotency_request rq = { .key = key,
                                      .function = c->op->fn,
                                      .tenant = c->who ? c->who->tenant : "",
                                      .params = c->params,
                                      .now_ms = clock_wall_ms(),
                                      .fn = answer_repeated,
                                      .arg = c };
    call_on_cancel(c, on_waiter_gone, c);
    struct idempotency_claim *claim = NULL;
    if (idempotency_begin(c->api->idempotency, &rq, &claim, &err) < 0) {
        call_fail(c, &err);
        return false;
    }
    if (!claim)
        return false; /* answered, or waiting to be; the call may be gone */
    call_on_cancel(c, NULL, NULL);
    c->claim = claim;
    return true;
}

static void name_sandbox(struct call *c)
{
    const char *field = c->fn ? FN_SANDBOX : c->op->flags & OP_SANDBOX ? "id" : NULL;
    const char *given = field ? json_get_str(c->params, field, NULL) : NULL;
    if (!given)
        return;
    const struct sandbox *s = manager_find(c->api->manager, given, NULL);
    c->named = xstrdup(s ? s->id : given);
    call_set_sandbox(c, c->named);
}

/* Commands and file calls of one sandbox. One that is not there for the caller is the handler's to refuse. */
static int check_rate(struct call *c, struct err *err)
{
    unsigned wait_s = 0;
    if (!c->api->settings->rate_limit || !c->named || !access_sandbox(c->api->manager, c->who, c->named, NULL))
        return 0;
    int r = gate_rate_sandbox(c->api->gate, c->op, c->named, (uint64_t)clock_mono_us(), &wait_s, err);
    c->is_refused = r < 0;
    if (r < 0 && c->http)
        admission_retry_after(c->http, wait_s);
    return r;
}

static void tell_warnings(struct call *c);

/* The parameters against the row. What is ignored or changed becomes a warning, except where the headers of the reply
 * are another server's, or the query has a token. */
static int check_params(struct call *c, struct err *err)
{
    if (c->op->flags & OP_UPGRADE)
        return spec_check(c->op, c->params, c->api->settings, NULL, err);
    if (c->http && call_is_socket(c->op, c->http))
        (void)json_object_del(c->params, "token"); /* for the admission */
    if (call_has_other_body(c))
        warnings_add(&c->warnings, "body: not read; send a JSON object with Content-Type: application/json");
    int r = spec_check(c->op, c->params, c->api->settings, &c->warnings, err);
    if (r == 0 && c->is_strict)
        r = warnings_refuse(c->warnings, err);
    if (r == 0 && c->op->flags & OP_NOT_JSON) /* its handler writes the response itself */
        tell_warnings(c);
    return r;
}

/* --- sandboxes that sleep --- */

/* A call that waits until its sandbox runs. */
struct waking {
    struct call *c;
    struct manager_waiter *waiter;
    struct timer *deadline;
};

static void waking_end(struct waking *w)
{
    call_on_cancel(w->c, NULL, NULL);
    if (w->waiter)
        manager_start_cancel(w->waiter);
    timer_free(w->deadline);
    free(w);
}

static void on_awake(void *arg, struct sandbox *s, const struct err *err)
{
    struct waking *w = arg;
    struct call *c = w->c;
    struct err why = err ? *err : (struct err)ERR_INIT;
    waking_end(w);
    if (!s && manager_find(c->api->manager, c->named, NULL))
        (void)err_wrap(&why, 0, "sandbox %s cannot be woken", c->named);
    if (s)
        handlers[c->op - spec_ops](c);
    else
        call_fail(c, &why);
}

static void on_still_asleep(void *arg)
{
    struct waking *w = arg;
    struct call *c = w->c;
    waking_end(w);
    call_error(c, ERR_TIMEOUT, "sandbox %s has not woken within %lld s (III_WAKE_TIMEOUT): try again", c->named,
               (long long)c->api->settings->wake_timeout_s);
}

static void on_sleeper_left(void *arg)
{
    struct waking *w = arg;
    struct call *c = w->c;
    waking_end(w);
    call_error(c, ERR_GONE, "the client left");
}

/* Runs the handler; with autoResume, when the sandbox is awake. All calls that wait for one share its start. */
static void call_dispatch(struct call *c)
{
    c->is_begun = true;
    bool is_use = c->named && !c->is_not_waking && c->op->flags & (OP_WAKES | OP_RATE_EXEC | OP_RATE_FS);
    struct sandbox *s = is_use ? access_sandbox(c->api->manager, c->who, c->named, NULL) : NULL;
    if (!s || !manager_is_to_wake(s)) {
        handlers[c->op - spec_ops](c);
        return;
    }
    if (manager_waiting(s) >= LIMIT_MAX(WAKE_CALLS)) {
        call_error(c, ERR_CAPACITY, "limit of %d calls that wait for sandbox %s to wake reached: try again",
                   (int)LIMIT_MAX(WAKE_CALLS), s->id);
        return;
    }
    struct waking *w = xzalloc(sizeof(*w));
    w->c = c;
    w->deadline = timer_new(c->api->loop, c->api->settings->wake_timeout_s * 1000, 0, on_still_asleep, w);
    call_on_cancel(c, on_sleeper_left, w);
    manager_start(s, call_by(c), on_awake, w, &w->waiter);
}

void call_let_sleep(struct call *c)
{
    c->is_not_waking = true;
}

void call_start(struct call *c)
{
    struct err err = ERR_INIT, unclear = ERR_INIT;
    int found = lookup_ids(c->api->manager, c->who, c->op, c->params, &unclear);
    name_sandbox(c);
    if (access_role(c->who, c->op, &err) < 0 || check_rate(c, &err) < 0)
        call_fail(c, &err);
    else if (found < 0)
        call_fail(c, &unclear);
    else if (check_params(c, &err) < 0 || access_ids(c->api->manager, c->who, c->op, c->params, &err) < 0)
        call_fail(c, &err);
    else if (is_audited(c) && audit_is_strict(c->api->audit) && record_line(c, 0, &err) < 0)
        call_fail(c, &err);
    else if (is_first(c))
        call_dispatch(c);
}

void call_run(struct api *api, enum op_id op, json_t *params, call_event_fn *on_event, call_done_fn *done, void *arg)
{
    struct call *running = NULL;
    struct call_sink sink = { .on_event = on_event, .done = done, .arg = arg };
    call_run_held(api, op, params, &sink, &running);
    if (running)
        running->slot = NULL; /* the call outlives this variable */
}

void call_run_held(struct api *api, enum op_id op, json_t *params, const struct call_sink *sink, struct call **slot)
{
    /* One level is copied: checking replaces members of the object, and the caller's must stay as it is. */
    json_t *own = json_is_object(params) ? json_copy(params) : json_object();
    struct call *c = call_new(api, &spec_ops[op], own, NULL, sink->who);
    begin_span(c, sink->traceparent);
    c->engine = sink->engine;
    c->on_event = sink->on_event;
    c->done = sink->done;
    c->done_arg = sink->arg;
    c->slot = slot;
    c->remote = xstrdup(sink->remote);
    c->warnings_wanted = sink->warnings;
    if (params && !json_is_object(params) && !json_is_null(params))
        warnings_add(&c->warnings, "payload: not read; it is not an object");
    *slot = c;
    call_start(c);
}

void call_step(struct call *of, enum op_id op, json_t *params, call_done_fn *done, void *arg)
{
    struct call *c = call_new(of->api, &spec_ops[op], params, NULL, of->who);
    struct err err = ERR_INIT;
    c->is_step = true;
    c->done = done;
    c->done_arg = arg;
    c->has_span = of->has_span;
    c->span = of->span;
    c->is_strict = of->is_strict;
    if (c->fn)
        fn_part_inherit(c->fn, of->fn);
    name_sandbox(c);
    if (check_params(c, &err) < 0)
        call_fail(c, &err);
    else
        call_dispatch(c);
}

void call_keep(struct call *c)
{
    c->is_kept = true;
}

void call_end_of(struct api *a, const char *token_id)
{
    struct call *c = LIST_FIRST(&a->calls);
    while (c) {
        bool is_gone = c->http && !c->is_socket ? http_req_is_gone(c->http) : c->is_cancelled;
        bool is_left_alone = c->is_kept || is_gone;
        if (is_left_alone || !c->who || strcmp(c->who->id, token_id) != 0) {
            c = LIST_NEXT(c, running);
            continue;
        }
        struct http_req *http = c->http ? http_req_ref(c->http) : NULL;
        c->is_cancelled = true;
        c->close_code = 1008;
        on_client_gone(c); /* may finish it */
        if (http) {
            http_req_abort(http); /* later output is dropped */
            http_req_unref(http);
        }
        c = LIST_FIRST(&a->calls); /* any call may have ended; aborted ones do not match again */
    }
}

void call_cancel(struct call *c)
{
    on_client_gone(c);
}

/* --- what was asked --- */

const struct op *call_op(const struct call *c)
{
    return c->op;
}

json_t *call_params(const struct call *c)
{
    return c->params;
}

const char *call_str(const struct call *c, const char *name, const char *fallback)
{
    return json_get_str(c->params, name, fallback);
}

int64_t call_int(const struct call *c, const char *name, int64_t fallback)
{
    return json_get_int(c->params, name, fallback);
}

double call_num(const struct call *c, const char *name, double fallback)
{
    return json_get_num(c->params, name, fallback);
}

bool call_bool(const struct call *c, const char *name, bool fallback)
{
    return json_get_bool(c->params, name, fallback);
}

const struct caller *call_who(const struct call *c)
{
    return c->who;
}

const struct tenant_by *call_by(const struct call *c)
{
    return access_by(c->who);
}

const char *call_view(const struct call *c)
{
    return c->who ? c->who->by.view : NULL;
}

struct manager *call_manager(const struct call *c)
{
    return c->api->manager;
}

struct api *call_api(const struct call *c)
{
    return c->api;
}

struct loop *call_loop(const struct call *c)
{
    return c->api->loop;
}

struct http_req *call_http(const struct call *c)
{
    return c->http;
}

struct engine_call *call_engine(const struct call *c)
{
    return c->engine;
}

struct fn_part *call_fn(const struct call *c)
{
    return c->fn;
}

const char *call_header(const struct call *c, const char *name)
{
    return c->http ? http_req_header(c->http, name) : NULL;
}

bool call_traceparent(const struct call *c, char out[SPAN_TEXT_MAX])
{
    if (c->has_span)
        span_text(&c->span, out);
    return c->has_span;
}

int64_t call_started_us(const struct call *c)
{
    return c->started_us;
}

void call_set_state(struct call *c, void *state)
{
    c->state = state;
}

void *call_state(const struct call *c)
{
    return c->state;
}

void call_on_cancel(struct call *c, loop_fn *fn, void *arg)
{
    assert(c->magic == CALL_MAGIC);
    c->on_cancel = fn;
    c->cancel_arg = arg;
}

bool call_is_cancelled(const struct call *c)
{
    return c->is_cancelled;
}

void call_set_sandbox(struct call *c, const char *sandbox_id)
{
    char *copy = xstrdup(sandbox_id);
    free(c->sandbox_id);
    c->sandbox_id = copy;
}

/* --- the answer --- */

static json_t *error_body(const struct err *err)
{
    json_t *body = json_object();
    (void)json_object_set_new(body, "error", json_text(err->msg, strlen(err->msg))); /* no memory: an empty object */
    return body;
}

void call_taken(struct call *c, int status)
{
    struct err err = ERR_INIT;
    (void)record_outcome(c, status, NULL);
    call_settle(c);
    for (int code = ERR_NONE + 1; code < ERR_COUNT && err.code == ERR_NONE; code++)
        if (err_status((enum err_code)code) == status)
            (void)err_set(&err, (enum err_code)code, 0, "answered with %d", status);
    if (status >= 400 && err.code == ERR_NONE)
        (void)err_set(&err, ERR_UPSTREAM, 0, "answered with %d", status);
    call_retire(c, status >= 400 ? &err : NULL);
}

void call_refuse(struct http_req *r, const struct err *err)
{
    size_t len;
    JSON_OWNED body = error_body(err);
    CLEANUP(free_p) char *text = json_write(body, &len);
    http_req_reply(r, err_status(err->code), "application/json", text, len);
}

/* The reply of a call over HTTP, which may be over when its text is there. */
struct reply {
    struct api *api;
    struct http_req *req; /* referenced, as the next one */
    struct caller *who;
    int status;
};

static void send_reply(void *arg, char *text, size_t len)
{
    struct reply *p = arg;
    if (!http_req_is_gone(p->req)) { /* else there may be no API, either */
        in_flight_reply(p->api, p->req, p->who, len);
        http_req_reply(p->req, p->status, "application/json", text, len);
    }
    (void)http_req_unref(p->req);
    (void)caller_unref(p->who);
    free(text);
    free(p);
}

int call_warn_all(struct call *c, const json_t *warnings, struct err *err)
{
    warnings_add_all(&c->warnings, warnings);
    return c->is_strict ? warnings_refuse(warnings, err) : 0;
}

int call_warn(struct call *c, struct err *err, const char *fmt, ...)
{
    JSON_OWNED one = NULL;
    char text[sizeof(err->msg)];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    warnings_add(&one, "%s", text);
    return call_warn_all(c, one, err);
}

/* The reply with its warnings, if its type has room for them: an object that the table names the members of. Takes
 * body, which may be a record that others hold, too. */
static json_t *with_warnings(struct call *c, json_t *body)
{
    if (!c->warnings || !json_is_object(body) || !spec_reply_is_object(c->op))
        return body;
    json_t *copy = json_copy(body), *all = json_incref(json_get(body, "warnings"));
    JSON_OWNED own = STEAL(c->warnings);
    warnings_add_all(&all, own);
    (void)json_object_set_new(copy, "warnings", all);
    json_decref(body);
    return copy;
}

/* What the body does not hold. */
static void tell_warnings(struct call *c)
{
    if (!c->warnings)
        return;
    if (c->warnings_wanted)
        *c->warnings_wanted = json_incref(c->warnings);
    CLEANUP(free_p) char *text = c->http ? json_dumps(c->warnings, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    if (text)
        http_req_add_header(c->http, "Iii-Warnings", text);
}

/* Takes body: one that nobody else holds can be written by another thread. */
static void call_reply(struct call *c, int status, json_t *body)
{
    if (status < 400)
        tell_warnings(c);
    if (c->claim)
        idempotency_settle(STEAL(c->claim), status, body, clock_wall_ms());
    if (c->http) {
        struct reply *p = xzalloc(sizeof(*p));
        *p = (struct reply){ .api = c->api, .req = http_req_ref(c->http), .status = status };
        p->who = c->who ? caller_ref(c->who) : NULL;
        json_work_write(c->api->loop, body, send_reply, p);
        return;
    }
    if (c->done)
        c->done(c->done_arg, status, body);
    json_decref(body);
}

void call_ok(struct call *c, json_t *body)
{
    struct err err = ERR_INIT;
    assert(!c->is_streaming);
    body = with_warnings(c, body);
    if (audit_is_strict(c->api->audit) &&
        record_outcome(c, 200, &err) < 0) { /* done but not in the audit log: reported to the client */
        json_decref(body);
        call_fail(c, &err);
        return;
    }
    call_settle(c);
    call_reply(c, 200, body);
    (void)record_outcome(c, 200, NULL); /* the line goes to the disk at the end of this turn in either case */
    call_retire(c, NULL);
}

/* "image name is empty" misleads a client that sent one in a body that was not parsed. */
static void explain_body(const struct call *c, struct err *err)
{
    size_t len;
    if (!c->http || err->code != ERR_INVALID || c->op->flags & OP_RAW_BODY)
        return;
    const char *body = http_req_body(c->http, &len);
    size_t used = strlen(err->msg);
    if (params_is_ignored(http_req_header(c->http, "content-type"), body, len))
        (void)snprintf(err->msg + used, sizeof(err->msg) - used,
                       " (the body was not read: send Content-Type: application/json)");
}

bool call_has_other_body(const struct call *c)
{
    size_t len = 0;
    const char *body = c->http ? http_req_body(c->http, &len) : NULL;
    size_t blank = body ? strspn(body, " \t\r\n") : 0;
    return body && blank < len &&
           (params_is_ignored(http_req_header(c->http, "content-type"), body, len) || body[blank] != '{');
}

void call_fail(struct call *c, const struct err *why)
{
    struct err explained = *why, *err = &explained;
    explain_body(c, err);
    if (c->fn)
        fn_fault_from(c->fn, err);
    (void)record_outcome(c, err_status(err->code), NULL); /* it fails in any case */
    call_settle(c);
    json_t *body =
        c->fn ? fn_fault_json(c->api, c->engine ? engine_call_host(c->engine) : NULL, &c->fn->fault) : error_body(err);
    (void)json_object_update_missing(body, c->failure);
    if (c->is_streaming) { /* the status is sent: the failure becomes the last event */
        json_t *event = json_object();
        (void)json_object_set_new(event, "type", json_string("error"));
        (void)json_object_set_new(event, "error", json_text(err->msg, strlen(err->msg)));
        (void)json_object_set_new(event, "code", json_string(err_name(err->code)));
        (void)json_object_set_new(event, "timestamp", json_integer(clock_wall_ms()));
        (void)call_stream_event(c, event, NULL);
    }
    if (c->is_streaming && c->http) {
        if (!c->is_socket)
            http_req_end(c->http);
        json_decref(body);
    } else {
        call_reply(c, err_status(err->code), body);
    }
    call_retire(c, err);
}

void call_fail_with(struct call *c, const struct err *err, json_t *members)
{
    c->failure = members;
    call_fail(c, err);
}

void call_error(struct call *c, enum err_code code, const char *fmt, ...)
{
    struct err err = { .code = code };
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(err.msg, sizeof(err.msg), fmt, ap);
    va_end(ap);
    call_fail(c, &err);
}

/* --- streams --- */

bool call_is_socket(const struct op *op, const struct http_req *r)
{
    return op->flags & OP_STREAM && strcmp(http_req_method(r), "GET") == 0 && http_req_wants_upgrade(r, "websocket");
}

/* Cancels the calls whose WebSocket is of no use any more; all: every one. */
static void cancel_sockets(struct api *a, bool is_all)
{
    struct call *c = LIST_FIRST(&a->calls);
    while (c) {
        if (!c->is_socket || c->is_cancelled || (c->ws && !is_all)) {
            c = LIST_NEXT(c, running);
            continue;
        }
        c->is_cancelled = true;
        c->close_code = 1001;
        on_client_gone(c);
        c = LIST_FIRST(&a->calls); /* any call may have ended; cancelled ones do not match again */
    }
}

void call_end_sockets(struct api *a)
{
    cancel_sockets(a, true);
}

static void cancel_refused(void *arg)
{
    cancel_sockets(arg, false);
}

static void on_socket_message(void *arg, struct ws *w, bool is_text, const char *data, size_t len)
{
    (void)arg, (void)w, (void)is_text, (void)data, (void)len;
}

static void on_socket_close(void *arg, struct ws *w, int code, const char *reason)
{
    struct call *c = arg;
    (void)w, (void)code, (void)reason;
    c->ws = NULL;
    if (!c->is_cancelled)
        on_client_gone(c);
}

void call_drained(struct call *c)
{
    if (c->on_drain)
        c->on_drain(c->drain_arg);
}

static void on_socket_drain(void *arg, struct ws *w)
{
    (void)w;
    call_drained(arg);
}

static void begin_socket(struct call *c)
{
    static const struct ws_events events = { .on_message = on_socket_message,
                                             .on_close = on_socket_close,
                                             .on_drain = on_socket_drain };
    c->is_socket = true;
    if (ws_accept(c->api->loop, c->http, MESSAGE_MAX, &events, c, &c->ws) < 0)
        loop_defer(c->api->loop, cancel_refused, c->api); /* answered; the handler is still inside its call */
    else
        ws_charge(c->ws, c->api->in_flight, c->who ? c->who->tenant : IN_FLIGHT_NOBODY);
}

void call_stream_begin(struct call *c)
{
    assert(c->magic == CALL_MAGIC && !c->is_streaming);
    c->is_streaming = true;
    tell_warnings(c);
    if (!c->http)
        return;
    if (call_is_socket(c->op, c->http)) {
        begin_socket(c);
        return;
    }
    const char *wish = http_req_header(c->http, "connection");
    http_req_add_header(c->http, "Cache-Control", "no-cache");
    if (!wish || !strcasestr(wish, "close")) /* the contract names it, though HTTP/1.1 implies it */
        http_req_add_header(c->http, "Connection", "keep-alive");
    http_req_begin(c->http, 200, "text/event-stream", -1);
}

size_t call_stream_event(struct call *c, json_t *event, const char *id)
{
    size_t queued = 0, len;
    assert(c->magic == CALL_MAGIC && c->is_streaming);
    if (c->is_socket) {
        CLEANUP(free_p) char *text = json_write(event, &len);
        queued = c->ws ? ws_send(c->ws, true, text, len) : 0;
    } else if (c->http) {
        CLEANUP(free_p) char *text = sse_event(event, id, &len);
        queued = http_req_send(c->http, text, len);
    } else if (c->on_event) {
        queued = c->on_event(c->done_arg, event);
    }
    json_decref(event);
    return queued;
}

void call_stream_comment(struct call *c, const char *text)
{
    size_t len;
    assert(c->magic == CALL_MAGIC && c->is_streaming);
    if (c->ws)
        ws_ping(c->ws);
    if (!c->http || c->is_socket)
        return;
    CLEANUP(free_p) char *line = sse_comment(text, &len);
    (void)http_req_send(c->http, line, len);
}

void call_stream_on_drain(struct call *c, loop_fn *fn, void *arg)
{
    c->on_drain = fn;
    c->drain_arg = arg;
    if (c->http && !c->is_socket)
        http_req_on_drain(c->http, fn, arg);
}

void call_stream_end(struct call *c)
{
    assert(c->is_streaming);
    (void)record_outcome(c, 200, NULL); /* most of it is sent */
    call_settle(c);
    if (c->http && !c->is_socket)
        http_req_end(c->http);
    else if (!c->http && c->done)
        c->done(c->done_arg, 200, json_null());
    call_retire(c, NULL);
}
