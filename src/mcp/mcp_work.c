/* Requests that need the server: one operation each, started now and answered when it is done. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/warnings.h"
#include "mcp/mcp_path.h"
#include "mcp/mcp_session_core.h"
#include "mcp/mcp_text.h"

static void work_free(struct mcp_work *w)
{
    struct mcp_session *s = w->exchange->session;
    LIST_REMOVE(w, entry);
    s->n_works--;
    json_decref(w->id);
    json_decref(w->progress_token);
    json_decref(w->args);
    json_decref(w->params);
    json_decref(w->events);
    json_decref(w->warnings);
    if (w->output)
        mcp_output_done(w->output);
    free(w->output);
    mcp_resource_done(&w->resource);
    free(w->uri);
    json_decref(w->uris);
    if (s->subscription == w)
        s->subscription = NULL;
    free(w);
}

/* --- the server's answer --- */

/* The text of the contract's client: which request failed, and the server's error. */
static char *failure_text(const struct mcp_work *w, int status, const json_t *body)
{
    const struct op *op = &spec_ops[w->tool ? w->tool->op : w->op];
    if (status == 0)
        return xstrdup(json_get_str(body, "error", "no server could be asked"));
    CLEANUP(free_p) char *path = mcp_path_of(op, w->params, w->exchange->session->back->prefix);
    CLEANUP(free_p) char *said = json_write(body, NULL);
    return xasprintf("%s %s failed: %d %s", op->method, path, status, said);
}

static void on_call_done(void *arg, int status, json_t *body)
{
    struct mcp_work *w = arg;
    struct mcp_exchange *x = w->exchange;
    JSON_OWNED gathered = NULL;
    w->handle = NULL;
    if (!w->id) { /* the subscription of a session: nothing waits for its end */
        work_free(w);
        mcp_session_close_one(x);
        return;
    }
    if (w->output && status == 200) {
        status = mcp_output_answer(w->output, loop_now_ms(x->session->loop) - w->started_ms, &gathered);
        body = gathered;
    }
    bool has_failed = status == 0 || status >= 400, is_refused = has_failed && !w->tool;
    CLEANUP(free_p) char *failure = has_failed ? failure_text(w, status, body) : NULL;
    json_t *answer = w->events ? w->events : body, *result = NULL;
    if (w->tool)
        mcp_session_log(x, has_failed ? LOG_WARNING : LOG_INFO, "tools",
                        json_pack("{s:s, s:i, s:I}", "tool", w->tool->name, "status", status, "ms",
                                  (json_int_t)(loop_now_ms(x->session->loop) - w->started_ms)));
    if (w->tool && has_failed) {
        result = mcp_text_failure(failure);
    } else if (w->tool) {
        struct mcp_text_answer a = { .tool = w->tool,
                                     .args = w->args,
                                     .body = answer,
                                     .warnings = w->warnings,
                                     .is_structured = mcp_session_is_at_least(x, "2025-06-18") &&
                                                      !mcp_tool_is_lean(x->session->choice) };
        result = mcp_text_result(&a);
    } else if (!has_failed) {
        result = w->result(w, answer);
    }
    JSON_OWNED id = json_incref(w->id);
    CLEANUP(free_p) char *uri = STEAL(w->uri);
    work_free(w);
    if (is_refused && status == 404 && uri)
        mcp_session_refuse_uri(x, id, uri, failure);
    else if (is_refused)
        mcp_session_refuse(x, id, MCP_SESSION_INTERNAL, failure);
    else
        mcp_session_answer(x, id, result);
}

static void on_event(void *arg, json_t *event)
{
    struct mcp_work *w = arg;
    if (w->output) {
        mcp_output_event(w->output, event);
        return;
    }
    if (w->uris) {
        mcp_subscribe_event(w, event);
        return;
    }
    w->event_bytes += 64 + json_string_length(json_get(event, "data"));
    if (w->events && w->event_bytes <= MCP_WORK_EVENTS_MAX && strcmp(json_get_str(event, "type", ""), "end") != 0)
        (void)json_array_append(w->events, event);
}

/* --- beginning --- */

struct mcp_work *mcp_work_new(struct mcp_exchange *x, const json_t *id, enum op_id op, json_t *params)
{
    if (x->session->n_works >= MCP_SESSION_RUNNING_MAX) {
        json_decref(params);
        mcp_session_refuse(x, id, MCP_SESSION_BUSY, "limit of 64 concurrent requests in this session reached");
        return NULL;
    }
    struct mcp_work *w = xzalloc(sizeof(*w));
    *w = (struct mcp_work){ .exchange = x, .id = json_deep_copy(id), .op = op, .params = params };
    w->events = spec_ops[op].flags & OP_STREAM ? json_array() : NULL;
    w->started_ms = loop_now_ms(x->session->loop);
    LIST_INSERT_HEAD(&x->session->works, w, entry);
    x->session->n_works++;
    return w;
}

void mcp_work_start(struct mcp_work *w)
{
    struct mcp_session *s = w->exchange->session;
    const struct mcp_backend_sink sink = { .on_event = on_event,
                                           .done = on_call_done,
                                           .arg = w,
                                           .traceparent = w->exchange->traceparent,
                                           .warnings = &w->warnings };
    if (w->progress_token)
        timer_set(s->ticker, MCP_WORK_TICK_MS, MCP_WORK_TICK_MS);
    w->handle = s->back->start(s->back->arg, w->op, w->params, &sink);
}

/* The newest revisions show errors in arguments to the model, so that it can correct them. */
static void refuse_args(struct mcp_exchange *x, const json_t *id, const struct mcp_tool *t, const struct err *err)
{
    CLEANUP(free_p) char *text = xasprintf("%s: %s", t->name, err->msg);
    if (mcp_session_is_at_least(x, "2025-11-25"))
        mcp_session_answer(x, id, mcp_text_failure(text));
    else
        mcp_session_refuse(x, id, MCP_SESSION_PARAMS, text);
}

void mcp_work_call_tool(struct mcp_exchange *x, const json_t *id, const json_t *params)
{
    const char *name = json_get_str(params, "name", "");
    const struct mcp_tool *t = mcp_tool_find(name);
    json_t *args = json_get(params, "arguments"), *checked = NULL;
    JSON_OWNED warnings = NULL;
    struct err err = ERR_INIT;
    if (!t || !mcp_tool_is_chosen(t, x->session->choice)) {
        CLEANUP(free_p) char *text = xasprintf("Unknown tool: %.100s", name);
        mcp_session_refuse(x, id, MCP_SESSION_PARAMS, text);
        return;
    }
    int r = mcp_tool_params(t, args, clock_wall_ms(), &checked, &warnings, &err);
    if (r == 0 && x->session->back->is_strict && (r = warnings_refuse(warnings, &err)) < 0)
        checked = json_unref(checked);
    if (r < 0) {
        refuse_args(x, id, t, &err);
        return;
    }
    struct mcp_work *w = mcp_work_new(x, id, t->op, checked);
    if (!w)
        return;
    w->tool = t;
    w->args = json_incref(args);
    w->warnings = STEAL(warnings);
    json_t *token = json_get(json_get(params, "_meta"), "progressToken");
    if (json_is_integer(token) || (json_is_string(token) && json_string_length(token) <= MCP_SESSION_ID_MAX))
        w->progress_token = json_incref(token); /* one that can be sent back as it is */
    if (w->progress_token && t->op == OP_ID_cmd_run) {
        /* A client that wants progress gets the newest line of a command, so the streaming operation runs it. */
        w->op = OP_ID_cmd_run_stream;
        w->output = xzalloc(sizeof(*w->output));
        mcp_output_init(w->output);
    }
    mcp_work_start(w);
}

static json_t *resource_list(const struct mcp_work *w, const json_t *answer)
{
    return mcp_resource_list(answer);
}

void mcp_work_list_resources(struct mcp_exchange *x, const json_t *id, const json_t *params)
{
    const char *cursor = json_get_str(params, "cursor", "1"); /* the number of a page */
    size_t digits = strspn(cursor, "0123456789");
    int page = digits > 8 || cursor[digits] ? 0 : (int)strtol(cursor, NULL, 10);
    if (page < 1) {
        mcp_session_refuse(x, id, MCP_SESSION_PARAMS, "cursor: it is none that this server gave");
        return;
    }
    struct mcp_work *w =
        mcp_work_new(x, id, OP_ID_sandbox_list, json_pack("{s:i, s:i}", "page", page, "pageSize", MCP_RESOURCE_PAGE));
    if (!w)
        return;
    w->result = resource_list;
    mcp_work_start(w);
}

static json_t *resource_contents(const struct mcp_work *w, const json_t *answer)
{
    return mcp_resource_contents(&w->resource, w->uri, answer);
}

void mcp_work_read_resource(struct mcp_exchange *x, const json_t *id, const json_t *params)
{
    const char *uri = json_get_str(params, "uri", NULL);
    struct mcp_resource r;
    struct err err = ERR_INIT;
    if (!uri) {
        mcp_session_refuse(x, id, MCP_SESSION_PARAMS, "uri: it is required");
        return;
    }
    if (mcp_resource_parse(uri, &r, &err) < 0) {
        mcp_session_refuse_uri(x, id, uri, err.msg);
        return;
    }
    struct mcp_work *w = mcp_work_new(x, id, r.op, json_incref(r.params));
    if (!w) {
        mcp_resource_done(&r);
        return;
    }
    w->resource = r;
    w->uri = xstrdup(uri);
    w->result = resource_contents;
    mcp_work_start(w);
}

/* --- progress and early ends --- */

void mcp_work_drop(struct mcp_work *w)
{
    struct mcp_exchange *x = w->exchange;
    const struct mcp_backend *back = x->session->back;
    if (w->handle)
        back->drop(back->arg, STEAL(w->handle));
    work_free(w);
    mcp_session_close_one(x);
}

void mcp_work_cancel(struct mcp_session *s, const json_t *id)
{
    struct mcp_work *w;
    LIST_FOREACH(w, &s->works, entry)
    {
        if (json_equal(w->id, id)) {
            mcp_work_drop(w);
            return;
        }
    }
}

void mcp_work_leave(struct mcp_exchange *x)
{
    struct mcp_work *w = LIST_FIRST(&x->session->works), *next;
    for (; w; w = next) {
        next = LIST_NEXT(w, entry);
        if (w->exchange == x)
            mcp_work_drop(w);
    }
}

void mcp_work_tick(void *arg)
{
    struct mcp_session *s = arg;
    struct mcp_work *w;
    bool is_wanted = false;
    LIST_FOREACH(w, &s->works, entry)
    {
        if (!w->progress_token)
            continue;
        is_wanted = true;
        w->ticks++;
        const struct mcp_exchange *x = w->exchange;
        long long seconds = (loop_now_ms(s->loop) - w->started_ms) / 1000;
        const char *line = w->output ? w->output->line : "";
        json_t *words =
            *line ? json_text(line, strlen(line)) : json_sprintf("%s: running for %lld s", w->tool->name, seconds);
        JSON_OWNED m = json_pack("{s:s, s:s, s:{s:O, s:i, s:o}}", "jsonrpc", "2.0", "method", "notifications/progress",
                                 "params", "progressToken", w->progress_token, "progress", w->ticks, "message", words);
        if (!x->is_gone)
            x->sink.send(x->sink.arg, m);
    }
    if (!is_wanted)
        timer_set(s->ticker, -1, 0);
}
