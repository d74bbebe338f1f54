/* Calls in progress. A struct engine_call connects a caller (a worker, this process, a trigger or an outside engine) to
 * an executor (a worker or a C function). It is in e->calls while a worker carries it out and in e->inside while this
 * process does, and in its caller's list while the caller is connected. outcome → call_finish() is the only end: it
 * detaches the call from every list first, then replies to the caller or calls done, then frees. An executor that
 * leaves fails its calls with invocation_stopped; a caller that leaves only loses its reply, and a function of this
 * process learns of it through on_gone. */
#include "engine/invocation.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/enqueue.h"
#include "engine/http_function.h"
#include "engine/registry.h"
#include "engine/session.h"
#include "engine/worker.h"

#define CALL_MAGIC 0xe1ca1100u

/* How a call ended. */
struct outcome {
    json_t *result, *warnings;
    struct engine_error error; /* code NULL: success */
    const char *traceparent, *baggage;
};

/* --- life --- */

static struct engine_call *call_new(struct engine *e, const struct invocation *i)
{
    struct engine_call *c = xzalloc(sizeof(*c));
    c->magic = CALL_MAGIC;
    c->engine = e;
    c->function_id = xstrdup(i->function_id);
    c->caller_id = xstrdup(i->caller_id);
    c->echo_id = xstrdup(i->echo_id);
    c->traceparent = xstrdup(i->traceparent);
    c->caller = i->caller;
    c->done = i->done;
    c->done_arg = i->arg;
    c->outside = i->outside;
    c->payload = i->payload ? json_incref(i->payload) : json_object();
    c->metadata = json_incref(i->metadata);
    (void)snprintf(c->tenant, sizeof(c->tenant), "%s", i->caller ? i->caller->tenant : i->tenant ? i->tenant : "");
    if (c->caller) {
        (void)memcpy(c->caller_worker, c->caller->id, UUID_MAX);
        (void)memcpy(c->identity, c->caller->identity, sizeof(c->identity));
        (void)snprintf(c->peer, sizeof(c->peer), "%s", c->caller->ip ? c->caller->ip : "");
        c->has_identity = c->caller->has_identity;
        LIST_INSERT_HEAD(&c->caller->started, c, of_caller);
        c->caller->n_started++;
    }
    return c;
}

static void leave_caller(struct engine_call *c)
{
    if (c->caller) {
        LIST_REMOVE(c, of_caller);
        c->caller->n_started--;
        c->caller = NULL;
    }
}

static void leave_executor(struct engine_call *c)
{
    if (c->executor) {
        LIST_REMOVE(c, of_executor);
        c->executor->n_running--;
        (void)map_remove(c->engine->calls, c->id);
        c->executor = NULL;
    } else if (c->is_local) {
        LIST_REMOVE(c, of_executor);
        c->is_local = false;
    }
}

static void call_free(struct engine_call *c)
{
    leave_caller(c);
    leave_executor(c);
    json_decref(c->payload);
    json_decref(c->metadata);
    free(c->traceparent);
    free(c->function_id);
    free(c->echo_id);
    free(c->caller_id);
    c->magic = 0;
    free(c);
}

/* --- replying --- */

static void answer_worker(struct worker *w, const char *caller_id, const char *function_id, const struct outcome *o)
{
    JSON_OWNED error = o->error.code ? message_error_body(o->error.code, o->error.message, o->error.stacktrace) : NULL;
    json_t *msg = message_result(caller_id, function_id, error ? NULL : o->result, error);
    message_set_str(msg, "traceparent", o->traceparent);
    message_set_str(msg, "baggage", o->baggage);
    message_set(msg, "warnings", o->warnings);
    worker_send(w, msg);
}

/* The only place where a call ends. */
static void call_finish(struct engine_call *c, const struct outcome *o)
{
    assert(c->magic == CALL_MAGIC);
    c->on_gone = NULL;
    leave_executor(c); /* first: the reply may trigger any other call */
    struct worker *caller = c->caller;
    leave_caller(c);
    if (caller && c->caller_id)
        answer_worker(caller, c->caller_id, c->echo_id ? c->echo_id : c->function_id, o);
    else if (c->done)
        c->done(c->done_arg, o->error.code ? NULL : o->result, o->error.code ? &o->error : NULL);
    call_free(c);
}

static void finish_error(struct engine_call *c, const char *code, const char *text)
{
    struct outcome o = { .error = { .code = code, .message = text } };
    call_finish(c, &o);
}

void engine_ok(struct engine_call *c, json_t *result)
{
    engine_ok_warned(c, result, NULL);
}

void engine_ok_warned(struct engine_call *c, json_t *result, json_t *warnings)
{
    struct outcome o = { .result = result, .warnings = warnings };
    call_finish(c, &o);
    json_decref(result);
}

void engine_fail_text(struct engine_call *c, const char *code, const char *text)
{
    finish_error(c, code, text);
}

void engine_fail(struct engine_call *c, const char *code, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    finish_error(c, code, text);
}

/* --- what a function of this process may ask --- */

json_t *engine_call_metadata(const struct engine_call *c)
{
    return c->metadata;
}

const char *engine_call_identity(const struct engine_call *c)
{
    return c->has_identity ? c->identity : NULL;
}

const char *engine_call_peer(const struct engine_call *c)
{
    return c->peer;
}

const char *engine_call_host(const struct engine_call *c)
{
    return c->caller ? c->caller->host : NULL;
}

const char *engine_call_traceparent(const struct engine_call *c)
{
    return c->traceparent;
}

const char *engine_call_caller(const struct engine_call *c)
{
    return *c->caller_worker ? c->caller_worker : NULL;
}

const char *engine_call_function(const struct engine_call *c)
{
    return c->function_id;
}

struct engine *engine_call_engine(const struct engine_call *c)
{
    return c->engine;
}

void engine_call_on_gone(struct engine_call *c, loop_fn *fn, void *arg)
{
    assert(c->magic == CALL_MAGIC);
    c->on_gone = fn;
    c->gone_arg = arg;
}

bool engine_call_is_gone(const struct engine_call *c)
{
    return c->is_gone;
}

/* --- starting --- */

json_t *invocation_payload(const struct engine_call *c)
{
    if (!json_is_object(c->payload) || !*c->caller_worker)
        return json_incref(c->payload);
    json_t *copy = json_copy(c->payload);
    message_set_str(copy, "_caller_worker_id", c->caller_worker);
    return copy;
}

static void send_to_worker(struct engine_call *c, const struct function *f, const struct invocation *i)
{
    struct worker *w = f->owner;
    if (worker_is_full(w)) {
        finish_error(c, "channel_send_failed",
                     "the worker of this function does not read: too many bytes are queued for it");
        return;
    }
    if (!c->caller_id || !uuid_parse(c->caller_id, c->id)) /* kept when it is free: logs on both sides then agree */
        uuid_new(c->id);
    while (map_get(c->engine->calls, c->id))
        uuid_new(c->id);
    JSON_OWNED payload = invocation_payload(c);
    json_t *msg = message_invoke(c->id, f->id + f->skip, payload);
    message_set(msg, "metadata", c->metadata);
    message_set_str(msg, "traceparent", i->traceparent);
    message_set_str(msg, "baggage", i->baggage);
    json_decref(c->payload);
    c->payload = NULL; /* sent: nothing here reads it again */
    c->executor = w;
    LIST_INSERT_HEAD(&w->running, c, of_executor);
    w->n_running++;
    map_set(c->engine->calls, c->id, c);
    worker_send(w, msg);
}

void invocation_start(struct engine *e, const struct invocation *i)
{
    struct engine_call *c = call_new(e, i);
    if (e->is_stopping) {
        finish_error(c, "invocation_stopped", "the engine stops");
        return;
    }
    struct function *f = i->outside ? registry_find_local(e, i->function_id) : registry_find(e, i->function_id);
    if (!f) {
        engine_fail(c, "function_not_found", "function \"%.200s\" was not found in namespace \"default\"",
                    i->function_id);
        return;
    }
    if (f->owner && !f->http) {
        send_to_worker(c, f, i);
        return;
    }
    c->is_local = true;
    LIST_INSERT_HEAD(&e->inside, c, of_executor);
    if (f->http)
        http_function_call(f, c, c->payload);
    else
        f->fn(f->arg, c, c->payload); /* may have replied: do not touch c */
}

void engine_invoke(struct engine *e, const char *function_id, json_t *payload, json_t *metadata, engine_done_fn *done,
                   void *arg)
{
    struct invocation i = {
        .function_id = function_id, .payload = payload, .metadata = metadata, .done = done, .arg = arg
    };
    invocation_start(e, &i);
}

/* --- from and to workers --- */

static void call_refuse(struct worker *w, const struct message *m, const char *code, const char *text)
{
    struct outcome o = { .error = { .code = code, .message = text } };
    if (m->invocation_id)
        answer_worker(w, m->invocation_id, m->function_id, &o);
}

static bool is_refused(struct worker *w, const struct message *m)
{
    char text[MESSAGE_ID_MAX + 200];
    if (m->namespace && m->namespace[strspn(m->namespace, " \t\r\n")] == '\0') {
        call_refuse(w, m, "INVALID_NAMESPACE", "namespace is blank: leave it out or say \"default\"");
        return true;
    }
    if (m->namespace && strcmp(m->namespace, "default") != 0) {
        (void)snprintf(text, sizeof(text), "function \"%.200s\" was not found in namespace \"%.64s\"", m->function_id,
                       m->namespace);
        call_refuse(w, m, "function_not_found", text);
        return true;
    }
    if (w->n_started >= ENGINE_CALLS_MAX) {
        (void)snprintf(text, sizeof(text), "limit of %d unanswered calls of this worker reached", ENGINE_CALLS_MAX);
        call_refuse(w, m, "invocation_error", text);
        return true;
    }
    return false;
}

static void enqueue_call(struct worker *w, const struct message *m)
{
    struct err err = ERR_INIT;
    JSON_OWNED empty = json_object();
    struct enqueue_job job = { .queue = m->queue,
                               .function_id = m->function_id,
                               .data = m->data ? m->data : empty,
                               .metadata = m->metadata,
                               .traceparent = m->traceparent,
                               .baggage = m->baggage,
                               .tenant = w->tenant };
    JSON_OWNED receipt = enqueue_add(w->engine->enqueue, &job, &err);
    struct outcome o = { .result = receipt };
    if (!receipt)
        o.error = (struct engine_error){ .code = "enqueue_error", .message = err.msg };
    if (m->invocation_id)
        answer_worker(w, m->invocation_id, m->function_id, &o);
}

/* A worker with limited rights may only call functions that check their caller, directly and here. */
static bool is_beyond(struct worker *w, const struct message *m)
{
    const struct function *f = registry_find(w->engine, m->function_id);
    if (!w->is_limited || (f && !f->owner && f->checks_caller && m->action != MESSAGE_ENQUEUE))
        return false;
    worker_refused(w, m->function_id);
    if (m->action != MESSAGE_VOID)
        call_refuse(w, m, "forbidden", "this token may not call that function");
    return true;
}

/* A call that the session's rules do not allow is answered, unless it is void. */
static bool is_forbidden(struct worker *w, const struct message *m)
{
    char text[MESSAGE_ID_MAX + 100];
    enum session_verdict verdict = session_may_call(w->session, w->engine, m->function_id);
    if (verdict == SESSION_ALLOWED)
        return false;
    (void)snprintf(text, sizeof(text), "function '%s' not allowed (%s)", m->function_id,
                   verdict == SESSION_BANNED ? "remove from rbac.forbidden_functions" : "add to rbac.expose_functions");
    if (m->action != MESSAGE_VOID)
        call_refuse(w, m, "FORBIDDEN", text);
    return true;
}

void invocation_from_worker(struct worker *w, const struct message *m)
{
    if (is_forbidden(w, m) || is_refused(w, m) || is_beyond(w, m))
        return;
    const char *middleware = session_middleware(w->session, w->engine, m->function_id);
    if (!middleware && m->action == MESSAGE_ENQUEUE) {
        enqueue_call(w, m);
        return;
    }
    struct invocation i = { .function_id = m->function_id,
                            .payload = m->data,
                            .metadata = m->metadata,
                            .traceparent = m->traceparent,
                            .baggage = m->baggage,
                            .caller = w,
                            .caller_id = m->action == MESSAGE_VOID ? NULL : m->invocation_id };
    JSON_OWNED wrapped = NULL;
    if (middleware) { /* it makes the real call itself, and its answer is the call's */
        wrapped = json_pack("{s:s, s:o, s:O?, s:O, s:s?}", "function_id", m->function_id, "payload",
                            m->data ? json_incref(m->data) : json_object(), "action", json_get(m->body, "action"),
                            "context", session_context(w->session), "namespace", m->namespace);
        i.function_id = middleware;
        i.echo_id = m->function_id;
        i.payload = wrapped;
    }
    invocation_start(w->engine, &i);
}

void invocation_result(struct worker *w, const struct message *m)
{
    struct engine_call *c = map_get(w->engine->calls, m->uuid);
    if (!c || c->executor != w)
        return; /* its caller has left, or it was never this worker's */
    struct outcome o = { .result = m->result, .traceparent = m->traceparent, .baggage = m->baggage };
    if (m->error)
        o.error = (struct engine_error){ .code = json_get_str(m->error, "code", ""),
                                         .message = json_get_str(m->error, "message", ""),
                                         .stacktrace = json_get_str(m->error, "stacktrace", NULL) };
    call_finish(c, &o);
}

/* --- leaving --- */

static void caller_gone(struct engine_call *c)
{
    c->is_gone = true;
    loop_fn *fn = STEAL(c->on_gone);
    if (fn)
        fn(c->gone_arg); /* may finish the call */
}

void invocation_worker_left(struct engine *e, struct worker *w)
{
    struct engine_call *c;
    (void)e;
    while ((c = LIST_FIRST(&w->running)))
        finish_error(c, "invocation_stopped", "Invocation stopped");
    while ((c = LIST_FIRST(&w->started))) {
        leave_caller(c);
        if (c->executor)
            call_free(c); /* no message asks another worker to stop; its reply will be unknown here */
        else
            caller_gone(c);
    }
}

void invocation_outside_left(struct engine *e, const struct outside *o)
{
    struct engine_call *c = LIST_FIRST(&e->inside);
    while (c) {
        if (c->outside == o && !c->is_gone) {
            caller_gone(c);
            c = LIST_FIRST(&e->inside); /* the list may have changed; finished calls are not in it */
        } else {
            c = LIST_NEXT(c, of_executor);
        }
    }
}

void invocation_forget_outside(struct engine *e, const struct outside *o)
{
    struct engine_call *c;
    LIST_FOREACH(c, &e->inside, of_executor)
    if (c->outside == o)
        c->outside = NULL;
}

void invocation_stop_all(struct engine *e)
{
    struct engine_call *c;
    while ((c = LIST_FIRST(&e->inside)))
        finish_error(c, "invocation_stopped", "the engine stops");
}
