#include "cli/follow.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/display.h"
#include "cli/engine_connect.h"
#include "cli/operation_args.h"
#include "cli/operation_output.h"
#include "cli/operation_verb.h"

struct watching {
    const struct verbs_args *a;
    const char *box; /* only events of this sandbox; NULL: all */
    int code;
    bool has_header;
};

static int print_json_line(const json_t *event)
{
    (void)json_dumpf(event, stdout, JSON_COMPACT);
    (void)fputc('\n', stdout);
    return fflush(stdout) == EOF;
}

static int say_error(struct watching *w, const json_t *event)
{
    w->code = engine_connect_fail_text(json_get_str(event, "error", "the stream failed"));
    return 1;
}

/* Runs a stream to its end. Returns the exit code. */
static int follow_stream(struct watching *w, const struct rest_client *link, const struct op *op, const json_t *params,
                         rest_client_event_fn *fn)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    struct err err = ERR_INIT;
    int r = rest_client_op(link, &(struct rest_client_call){ .op = op, .params = params, .on_event = fn, .arg = w },
                           &answer, &err);
    int code = operation_verb_verdict(link, &answer, r, &err);
    return code != 0 ? code : w->code;
}

/* --- logs --- */

/* The contract: the last event, which has no line, is shown as an empty line on standard output. */
static int print_line(void *arg, const json_t *event)
{
    struct watching *w = arg;
    const char *type = json_get_str(event, "type", "");
    if (verbs_wants_json(w->a))
        return print_json_line(event);
    if (strcmp(type, "error") == 0)
        return say_error(w, event);
    bool is_err = strcmp(type, "stderr") == 0;
    if (!w->a->program->is_contract) { /* as it was printed */
        FILE *to = is_err ? stderr : stdout;
        operation_output_raw(json_get(event, "data"), to);
        if (strcmp(type, "end") != 0)
            (void)fputc('\n', to);
        return fflush(to) == EOF;
    }
    (void)printf("%s[%s]%s ", display_on(stdout, is_err ? DISPLAY_BAD : DISPLAY_FAINT), is_err ? "stderr" : "stdout",
                 display_off(stdout));
    if (json_is_string(json_get(event, "data")))
        operation_output_raw(json_get(event, "data"), stdout);
    (void)fputc('\n', stdout);
    return fflush(stdout) == EOF;
}

int follow_logs(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer found = { 0 };
    struct watching w = { .a = a };
    JSON_OWNED params = json_pack("{s:s, s:i, s:b}", "id", a->words[0], "tail", 100, "follow", 0);
    if (!params)
        return engine_connect_fail_text("the id is not UTF-8");
    int code = operation_args_take(a, params, NULL);
    code = code ? code : operation_verb_link(a, &link);
    code = code ? code : operation_verb_get(&link, a->words[0], &found);
    return code != 0 ? code : follow_stream(&w, &link, a->verb->op, params, print_line);
}

/* --- events --- */

static int print_happening(void *arg, const json_t *event)
{
    struct watching *w = arg;
    if (w->box && strcmp(json_get_str(event, "sandboxId", ""), w->box) != 0)
        return 0;
    if (verbs_wants_json(w->a))
        return print_json_line(event);
    operation_output_event(event, stdout);
    return ferror(stdout);
}

int follow_events(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    struct watching w = { .a = a, .box = verbs_value(a, "sandbox-id") };
    JSON_OWNED params = json_object();
    int code = a->n_words > 0 ? verbs_usage_error(a->verb, "unknown command \"%s\"", a->words[0])
                              : operation_args_take(a, params, NULL);
    if (code == 0 && verbs_value(a, "follow") && (verbs_value(a, "limit") || verbs_value(a, "offset")))
        code = verbs_usage_error(a->verb, "-f shows new events: --limit and --offset are for past ones");
    if (code == 0)
        code = operation_verb_link(a, &link);
    if (code != 0)
        return code;
    if (verbs_value(a, "follow")) {
        CLEANUP(rest_client_answer_done) struct rest_client_answer box = { 0 };
        code = w.box ? operation_verb_get(&link, w.box, &box) : 0;
        if (code != 0)
            return code;
        w.box = w.box ? json_get_str(box.body, "id", "") : NULL; /* a name was given, perhaps */
        JSON_OWNED filter = json_pack("{s:O*}", "topic", json_object_get(params, "topic"));
        return follow_stream(&w, &link, &spec_ops[OP_ID_stream_events], filter, print_happening);
    }
    code = operation_verb_call(&link, a->verb->op, params, &answer);
    if (code != 0 || verbs_wants_json(a))
        return code != 0 ? code : operation_verb_show(a, a->verb->op, answer.body);
    const json_t *events = json_get(answer.body, "events");
    for (size_t i = json_array_size(events); i > 0; i--) /* newest at the bottom, where people look */
        operation_output_event(json_array_get(events, i - 1), stdout);
    return fflush(stdout) == EOF ? 1 : 0;
}

/* --- metrics --- */

static int print_sample(void *arg, const json_t *sample)
{
    struct watching *w = arg;
    if (strcmp(json_get_str(sample, "type", ""), "error") == 0)
        return say_error(w, sample);
    if (verbs_wants_json(w->a))
        return print_json_line(sample);
    if (!w->has_header)
        (void)printf("%s%8s %14s %6s %12s %12s%s\n", display_on(stdout, DISPLAY_BOLD), "CPU %", "MEMORY MB", "PIDS",
                     "RX BYTES", "TX BYTES", display_off(stdout));
    w->has_header = true;
    (void)printf("%8.1f %6lld /%6lld %6lld %12lld %12lld\n", json_get_num(sample, "cpuPercent", 0),
                 (long long)json_get_int(sample, "memoryUsageMb", 0),
                 (long long)json_get_int(sample, "memoryLimitMb", 0), (long long)json_get_int(sample, "pids", 0),
                 (long long)json_get_int(sample, "networkRxBytes", 0),
                 (long long)json_get_int(sample, "networkTxBytes", 0));
    return fflush(stdout) == EOF;
}

int follow_metrics(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    struct watching w = { .a = a };
    JSON_OWNED params = json_object();
    bool is_followed = verbs_value(a, "follow");
    int code = operation_args_take(a, params, NULL);
    if (code == 0 && is_followed && a->n_words == 0)
        code = verbs_usage_error(a->verb, "-f follows one sandbox: pass its id, or use `%s top`", a->program->name);
    if (code == 0 && !is_followed && verbs_value(a, "interval"))
        code = verbs_usage_error(a->verb, "--interval is for -f");
    if (code == 0)
        code = operation_verb_link(a, &link);
    if (code != 0)
        return code;
    if (a->n_words > 0)
        (void)json_object_set_new(params, "id", json_string(a->words[0]));
    if (is_followed)
        return follow_stream(&w, &link, a->verb->op, params, print_sample);
    const struct op *op = &spec_ops[a->n_words > 0 ? OP_ID_metrics_sandbox : OP_ID_metrics_global];
    code = operation_verb_call(&link, op, params, &answer);
    return code != 0 ? code : operation_verb_show(a, op, answer.body);
}
