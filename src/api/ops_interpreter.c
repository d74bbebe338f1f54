/* Handlers of code: snippets in a fresh interpreter, packages, and contexts whose variables live on. */
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "api/handlers.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "sandbox/exec/context.h"
#include "sandbox/exec/interpreter.h"

/* --- a fresh interpreter --- */

static void emit_code(struct call *c, const char *language, int64_t duration_ms)
{
    struct manager *m = call_manager(c);
    json_t *data = json_pack("{s:s, s:I}", "language", language, "duration", (json_int_t)duration_ms);
    (void)event_log_emit(m->events, "sandbox.exec", call_str(c, "id", ""), data);
}

static void end_code(struct call *c, const char *language, json_t *reply, const struct err *err)
{
    call_on_cancel(c, NULL, NULL);
    if (!reply) {
        call_fail(c, err);
        return;
    }
    emit_code(c, language, json_get_int(reply, "executionTime", 0));
    call_ok(c, json_incref(reply));
}

static void on_interpreted(void *arg, json_t *reply, const struct err *err)
{
    struct call *c = arg;
    end_code(c, call_str(c, "language", "python"), reply, err);
}

static void on_installed(void *arg, json_t *reply, const struct err *err)
{
    struct call *c = arg;
    call_on_cancel(c, NULL, NULL);
    handlers_record(c, reply, err);
}

static void on_interpreter_cancel(void *arg)
{
    struct call *c = arg;
    interpreter_cancel(call_state(c));
    call_error(c, ERR_GONE, "the client left");
}

void api_interp_execute(struct call *c)
{
    struct err err = ERR_INIT;
    struct interpreter *i = NULL;
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    if (interpreter_execute(s, call_str(c, "language", "python"), call_str(c, "code", ""), on_interpreted, c, &i,
                            &err) < 0) {
        call_fail(c, &err);
        return;
    }
    call_set_state(c, i);
    call_on_cancel(c, on_interpreter_cancel, c);
}

void api_interp_install(struct call *c)
{
    struct err err = ERR_INIT;
    struct interpreter *i = NULL;
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    const json_t *packages = json_get(call_params(c), "packages");
    if (interpreter_install(s, call_str(c, "manager", "python"), packages, on_installed, c, &i, &err) < 0) {
        call_fail(c, &err);
        return;
    }
    call_set_state(c, i);
    call_on_cancel(c, on_interpreter_cancel, c);
}

static void on_kernels(void *arg, json_t *reply, const struct err *err)
{
    struct call *c = arg;
    call_on_cancel(c, NULL, NULL);
    handlers_reply(c, json_incref(reply), err);
}

void api_interp_kernels(struct call *c)
{
    struct err err = ERR_INIT;
    struct interpreter *i = NULL;
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    if (interpreter_kernels(s, on_kernels, c, &i, &err) < 0) {
        call_fail(c, &err);
        return;
    }
    call_set_state(c, i);
    call_on_cancel(c, on_interpreter_cancel, c);
}

/* --- contexts --- */

static struct context *find_context(struct call *c)
{
    struct err err = ERR_INIT;
    if (!handlers_sandbox(c))
        return NULL;
    struct context *x =
        context_find(call_manager(c)->contexts, call_str(c, "id", ""), call_str(c, "contextId", ""), &err);
    if (!x)
        call_fail(c, &err);
    return x;
}

/* The same in a sandbox that runs. */
static struct context *find_usable(struct call *c)
{
    return handlers_running(c) ? find_context(c) : NULL;
}

static void answer_context(void *arg, struct context *x, const struct err *err)
{
    handlers_reply(arg, x ? context_json(x) : NULL, err);
}

void api_context_create(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    struct context_plan plan = { .language = call_str(c, "language", "python"),
                                 .cwd = call_str(c, "cwd", NULL),
                                 .env = json_get(call_params(c), "env") };
    if (context_create(call_manager(c)->contexts, s, &plan, answer_context, c, &err) < 0)
        call_fail(c, &err);
}

void api_context_list(struct call *c)
{
    if (handlers_sandbox(c))
        call_ok(c, context_list(call_manager(c)->contexts, call_str(c, "id", "")));
}

void api_context_get(struct call *c)
{
    struct context *x = find_context(c);
    if (x)
        call_ok(c, context_json(x));
}

void api_context_restart(struct call *c)
{
    struct err err = ERR_INIT;
    struct context *x = find_usable(c);
    if (x && context_restart(x, answer_context, c, &err) < 0)
        call_fail(c, &err);
}

void api_context_delete(struct call *c)
{
    struct err err = ERR_INIT;
    struct context *x = find_context(c);
    if (!x)
        return;
    if (context_delete(x, &err) < 0)
        call_fail(c, &err);
    else
        call_ok(c, json_pack("{s:s}", "deleted", call_str(c, "contextId", "")));
}

void api_context_interrupt(struct call *c)
{
    struct context *x = find_usable(c);
    if (x)
        call_ok(c, json_pack("{s:b}", "interrupted", context_interrupt(x)));
}

static int64_t timeout_of(struct call *c)
{
    return json_get(call_params(c), "timeout") ? call_int(c, "timeout", 0) * 1000 : 0;
}

static void on_executed(void *arg, json_t *result, const struct err *err)
{
    end_code(arg, "context", result, err);
}

static void on_execute_cancel(void *arg)
{
    struct call *c = arg;
    context_abandon(call_state(c));
    call_error(c, ERR_GONE, "the client left");
}

/* --- streamed: at most CONTEXT_OUTPUT_MAX and CONTEXT_RESULTS_MAX bytes are ever queued, however slow the reader ---
 */

static json_t *event_of(const char *type)
{
    return json_pack("{s:s, s:I}", "type", type, "timestamp", (json_int_t)clock_wall_ms());
}

static void stream_output(void *arg, const char *type, const char *data, size_t len)
{
    json_t *event = event_of(type);
    (void)json_object_set_new(event, "data", json_text(data, len));
    (void)call_stream_event(arg, event, NULL);
}

static void stream_result(void *arg, json_t *result)
{
    json_t *event = event_of("result");
    (void)json_object_set(event, "result", result);
    (void)call_stream_event(arg, event, NULL);
}

static void copy_members(json_t *to, const json_t *from, const char *const *names)
{
    for (; *names; names++)
        (void)json_object_set(to, *names, json_object_get(from, *names));
}

static void stream_done(void *arg, json_t *result, const struct err *err)
{
    static const char *const of_error[] = { "errorName", "errorValue", "traceback", NULL };
    static const char *const of_end[] = { "executionTime", "executionCount", "timedOut", "truncated", "state", NULL };
    struct call *c = arg;
    call_on_cancel(c, NULL, NULL);
    json_t *end = event_of("end");
    if (!result || json_get(result, "errorName")) {
        json_t *event = event_of("error");
        if (result)
            copy_members(event, result, of_error);
        else
            (void)json_object_update_new(
                event, json_pack("{s:s, s:s, s:[]}", "errorName", "ContextGone", "errorValue", err->msg, "traceback"));
        (void)call_stream_event(c, event, NULL);
    }
    if (result) {
        copy_members(end, result, of_end);
        emit_code(c, "context", json_get_int(result, "executionTime", 0));
    }
    (void)call_stream_event(c, end, NULL);
    call_stream_end(c);
}

static void on_stream_cancel(void *arg)
{
    struct call *c = arg;
    context_abandon(call_state(c));
    call_stream_end(c);
}

/* --- running it --- */

static void execute_in(struct call *c, struct context *x)
{
    static const struct context_events waited = { .on_done = on_executed }, streamed = { .on_output = stream_output,
                                                                                         .on_result = stream_result,
                                                                                         .on_done = stream_done };
    struct err err = ERR_INIT;
    bool is_stream = call_op(c)->flags & OP_STREAM;
    if (context_execute(x, call_str(c, "code", ""), timeout_of(c), is_stream ? &streamed : &waited, c, &err) < 0) {
        call_fail(c, &err);
        return;
    }
    if (is_stream)
        call_stream_begin(c);
    call_set_state(c, x);
    call_on_cancel(c, is_stream ? on_stream_cancel : on_execute_cancel, c);
}

static void on_turn(void *arg, struct context *x, const struct err *err)
{
    struct call *c = arg;
    call_on_cancel(c, NULL, NULL);
    if (x)
        execute_in(c, x);
    else
        call_fail(c, err);
}

static void on_turn_cancel(void *arg)
{
    struct call *c = arg;
    context_leave(call_state(c));
    call_error(c, ERR_GONE, "the client left");
}

void api_context_execute(struct call *c)
{
    struct err err = ERR_INIT;
    struct context_turn *turn = NULL;
    const char *id = call_str(c, "contextId", "");
    struct sandbox *s = handlers_running(c);
    if (s && !context_is_language(id)) {
        struct context *x = find_context(c);
        if (x)
            execute_in(c, x);
    } else if (s) {
        struct context_user user = { .fn = on_turn, .arg = c };
        if (context_default(call_manager(c)->contexts, s, id, &user, &turn, &err) < 0) {
            call_fail(c, &err);
            return;
        }
        call_set_state(c, turn);
        call_on_cancel(c, on_turn_cancel, c);
    }
}

void api_context_execute_stream(struct call *c)
{
    api_context_execute(c);
}
