/* Commands and code: what they are given, and their streamed output put together as the result of a call that waits. */
#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "call.h"
#include "generated/tables.h"

#define KEPT_MAX ((size_t)10 << 20) /* of each stream, as the server does for a command that is waited for */

enum { OUT, ERR };

struct run {
    iii_output_fn *tell[2];
    iii_rich_result_fn *on_result;
    void *arg;
    struct text kept[2];
    bool is_cut[2], has_left;
    json_t *end;      /* the last event; of code, what its events told */
    const char *last; /* type of the last event */
};

static const char *text_of(const json_t *event, const char *name)
{
    const char *text = json_string_value(json_object_get(event, name));
    return text ? text : "";
}

static int leave(struct run *r)
{
    r->has_left = true;
    return SINK_LEAVE;
}

static int take_output(struct run *r, int which, const json_t *data, struct iii_error *err)
{
    const char *text = json_string_value(data);
    size_t size = json_string_length(data);

    if (!text)
        return iii_fail(err, III_PROTOCOL, 0, "an event of output has none");
    r->is_cut[which] |= size > KEPT_MAX - r->kept[which].size;
    if (!r->is_cut[which])
        iii_text_add(&r->kept[which], text, size);
    if (r->kept[which].failed)
        return iii_fail(err, III_NO_MEMORY, 0, "out of memory");
    return r->tell[which] && r->tell[which](text, size, r->arg) != 0 ? leave(r) : 0;
}

static int tell_result(struct run *r, json_t *value, struct iii_error *err)
{
    void *result = NULL;
    int e = iii_table_decode(&iii_type_rich_result, json_incref(value), &result, err);
    if (e == 0 && r->on_result(result, r->arg) != 0)
        e = leave(r);
    iii_free(result);
    return e;
}

/* What a stream says about its own failure, by the name of the code. */
static int stream_failure(const json_t *event, struct iii_error *err)
{
    int code = III_OTHER;
    for (const struct error_name *n = iii_error_names; n->name; n++)
        if (strcmp(n->name, text_of(event, "code")) == 0)
            code = n->code;
    return iii_fail(err, code, code == III_OTHER ? 0 : code, "%s", text_of(event, "error"));
}

static int on_event(json_t *event, void *arg, struct iii_error *err)
{
    struct run *r = arg;
    const char *type = text_of(event, "type");
    json_t *result = json_object_get(event, "result");

    if (strcmp(type, "stdout") == 0)
        return take_output(r, OUT, json_object_get(event, "data"), err);
    if (strcmp(type, "stderr") == 0)
        return take_output(r, ERR, json_object_get(event, "data"), err);
    if (strcmp(type, "error") == 0 && json_object_get(event, "error"))
        return stream_failure(event, err);
    if (strcmp(type, "result") == 0) {
        if (json_array_append(json_object_get(r->end, "results"), result) != 0)
            return iii_fail(err, III_PROTOCOL, 0, "an event of a result has none");
        return r->on_result ? tell_result(r, result, err) : 0;
    }
    if (strcmp(type, r->last) == 0)
        r->last = "";
    return json_object_update(r->end, event) == 0 ? 0 : iii_fail(err, III_NO_MEMORY, 0, "out of memory");
}

/* The members of `end` and the output become a result. */
static int finish(struct run *r, const struct table_type *type, void **ret, struct iii_error *err)
{
    static const char *const names[] = { "stdout", "stderr" };

    if (r->last[0] && !r->has_left)
        return iii_fail(err, III_PROTOCOL, 0, "the stream broke off before its end");
    for (int i = OUT; i <= ERR; i++)
        json_object_set_new(r->end, names[i], json_stringn(r->kept[i].data ? r->kept[i].data : "", r->kept[i].size));
    return iii_table_decode(type, json_incref(r->end), ret, err);
}

static void run_done(struct run *r)
{
    iii_text_done(&r->kept[OUT]);
    iii_text_done(&r->kept[ERR]);
    json_decref(r->end);
}

/* Commands */

enum iii_exit iii_exit_of(const struct iii_exec_result *r)
{
    if (r->timed_out && *r->timed_out)
        return III_OUT_OF_TIME;
    if (r->oom_killed && *r->oom_killed)
        return III_OUT_OF_MEMORY;
    return r->signal ? III_KILLED : III_EXITED;
}

static int judge(const struct iii_exec_result *result, const char *what, bool must_succeed, struct iii_error *err)
{
    if (iii_exit_of(result) == III_OUT_OF_TIME)
        return iii_fail(err, III_TIMED_OUT, III_TIMED_OUT, "%s: the command timed out", what);
    return must_succeed && result->exit_code != 0 ? iii_call_failed(what, result, err) : 0;
}

/* Gives the result away, also with a failure that is the command's own. */
static int exec_result(struct run *r, const struct iii_exec_options *o, struct iii_command command,
                       struct iii_exec_result **ret, struct iii_error *err)
{
    struct iii_exec_result *result = NULL;

    json_object_set_new(r->end, "exitCode", json_integer(r->has_left ? -1 : strtol(text_of(r->end, "data"), NULL, 10)));
    json_object_set_new(r->end, "stdoutTruncated", json_boolean(r->is_cut[OUT]));
    json_object_set_new(r->end, "stderrTruncated", json_boolean(r->is_cut[ERR]));
    int e = finish(r, &iii_type_exec_result, (void **)&result, err);
    if (e == 0)
        e = judge(result, command.shell ? command.shell : command.words[0], o->check, err);
    if (ret)
        *ret = result;
    else
        iii_free(result);
    return e;
}

int iii_exec_command(const iii_sandbox *s, struct iii_command command, const struct iii_exec_options *options,
                     struct iii_exec_result **ret, struct iii_error *err)
{
    struct iii_exec_options o = options ? *options : (struct iii_exec_options){ 0 };
    struct call c = iii_call(iii_sandbox_client(s), "POST", CALL_LONG);
    struct run r = { .tell = { o.on_stdout, o.on_stderr }, .arg = o.arg, .last = "exit" };
    int64_t timeout = o.timeout_s;
    size_t size = o.stdin_ && o.stdin_size == 0 ? strlen(o.stdin_) : o.stdin_size;
    char *input = o.stdin_ && size < SIZE_MAX / 2 ? malloc(BASE64_SIZE(size)) : NULL;

    if (ret)
        *ret = NULL;
    r.end = json_pack("{s:i}", "duration", 0);
    if (!r.end || (o.stdin_ && !input))
        iii_fail(&c.error, III_NO_MEMORY, 0, "out of memory");
    if (input)
        iii_base64_encode(o.stdin_, size, input);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/exec/stream", iii_sandbox_id(s), NULL);
    iii_call_command(&c, "command", IN_BODY, command);
    iii_call_options(&c, &iii_type_cmd_run_stream_options,
                     &(struct iii_cmd_run_stream_options){ .timeout = timeout > 0 ? &timeout : NULL,
                                                           .cwd = o.cwd,
                                                           .env = o.env,
                                                           .env_count = o.env_count,
                                                           .user = o.user,
                                                           .stdin_ = input,
                                                           .stdin_encoding = input ? "base64" : NULL });
    int e = iii_call_events(&c, on_event, &r, err);
    free(input);
    if (e == 0)
        e = exec_result(&r, &o, command, ret, err);
    run_done(&r);
    return e;
}

int iii_exec(const iii_sandbox *s, const char *line, const struct iii_exec_options *options,
             struct iii_exec_result **ret, struct iii_error *err)
{
    return iii_exec_command(s, III_SHELL(line), options, ret, err);
}

/* Code */

/* The old members of a context's result: all output, and the error in one line. */
static int code_result(struct run *r, struct iii_context_result **ret, struct iii_error *err)
{
    const json_t *name = json_object_get(r->end, "errorName");

    json_object_set_new(r->end, "output", json_stringn(r->kept[OUT].data ? r->kept[OUT].data : "", r->kept[OUT].size));
    if (json_is_string(name))
        json_object_set_new(r->end, "error",
                            json_sprintf("%s: %s", json_string_value(name), text_of(r->end, "errorValue")));
    struct iii_context_result *result = NULL;
    int e = finish(r, &iii_type_context_result, (void **)&result, err);
    if (ret)
        *ret = result;
    else
        iii_free(result);
    return e;
}

/* Languages without contexts: a fresh interpreter, whose whole output comes at once. */
static int run_snippet(const iii_sandbox *s, const char *code, const struct iii_code_options *o, struct run *r,
                       struct iii_error *err)
{
    III_AUTO struct iii_code_result *got = NULL;

    if (o->timeout_s != 0)
        return iii_fail(err, III_ARGUMENT, 0,
                        "timeout_s: only python and javascript take one; run the program with iii_exec()");
    int e = iii_interp_execute(s, code, &(struct iii_interp_execute_options){ .language = o->language }, &got, err);
    if (e != 0)
        return e;
    json_t *end = json_pack("{s:I, s:s?, s:s?}", "executionTime", (json_int_t)got->execution_time, "errorName",
                            got->error ? "Error" : NULL, "errorValue", got->error);
    json_t *output = json_stringn(got->output, got->output_len);
    e = !end || !output || json_object_update(r->end, end) != 0 ? iii_fail(err, III_NO_MEMORY, 0, "out of memory")
                                                                : take_output(r, OUT, output, err);
    json_decref(end);
    json_decref(output);
    r->last = "";
    return e == SINK_LEAVE ? 0 : e;
}

int iii_run_code(const iii_sandbox *s, const char *code, const struct iii_code_options *options,
                 struct iii_context_result **ret, struct iii_error *err)
{
    struct iii_code_options o = options ? *options : (struct iii_code_options){ 0 };
    struct run r = { .tell = { o.on_stdout, o.on_stderr }, .on_result = o.on_result, .arg = o.arg, .last = "end" };
    const char *language = o.language ? o.language : "python";
    bool is_context = o.context_id || strcmp(language, "python") == 0 || strcmp(language, "javascript") == 0;
    int64_t timeout = o.timeout_s;
    int e;

    if (ret)
        *ret = NULL;
    r.end =
        json_pack("{s:[], s:n, s:n, s:n, s:[], s:i, s:i, s:b, s:b, s:s}", "results", "error", "errorName", "errorValue",
                  "traceback", "executionCount", 1, "executionTime", 0, "timedOut", 0, "truncated", 0, "state", "idle");
    if (!r.end) {
        e = iii_fail(err, III_NO_MEMORY, 0, "out of memory");
    } else if (is_context) {
        struct call c = iii_call(iii_sandbox_client(s), "POST", CALL_LONG);
        iii_call_path(&c, "/sandbox/sandboxes/{id}/interpret/contexts/{contextId}/execute/stream", iii_sandbox_id(s),
                      o.context_id ? o.context_id : language, NULL);
        iii_call_text(&c, "code", IN_BODY, code);
        if (timeout > 0)
            iii_call_integer(&c, "timeout", IN_BODY, timeout);
        e = iii_call_events(&c, on_event, &r, err);
    } else {
        e = run_snippet(s, code, &o, &r, err);
    }
    if (e == 0)
        e = code_result(&r, ret, err);
    run_done(&r);
    return e;
}
