#include "cli/basics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/display.h"
#include "cli/duration.h"
#include "cli/engine_connect.h"
#include "cli/exec_input.h"
#include "cli/exec_terminal.h"
#include "cli/operation_args.h"
#include "cli/operation_output.h"
#include "cli/operation_verb.h"

static const struct op *const get_op = &spec_ops[OP_ID_sandbox_get];

/* --- create, list, kill --- */

int basics_create(const struct verbs_args *a)
{
    JSON_OWNED params = json_object();
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    int code = operation_args_take(a, params);
    if (code == 0 && a->n_words > 0)
        (void)json_object_set_new(params, "image", json_string(a->words[0]));
    if (code == 0)
        code = operation_verb_link(a, &link);
    if (code == 0)
        code = operation_verb_call(&link, a->verb->op, params, &answer);
    if (code != 0)
        return code;
    if (verbs_value(a, "json")) {
        display_json(answer.body, stdout);
        return fflush(stdout) == EOF ? 1 : 0;
    }
    int64_t ms = json_get_int(answer.body, "expiresAt", 0);
    time_t s = (time_t)(ms / 1000);
    struct tm tm;
    char day[32], when[40] = "never";
    if (ms && gmtime_r(&s, &tm) && strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm))
        (void)snprintf(when, sizeof(when), "%s.%03dZ", day, (int)(ms % 1000));
    CLEANUP(free_p) char *id = display_clean(json_get_str(answer.body, "id", ""));
    CLEANUP(free_p) char *image = display_clean(json_get_str(answer.body, "image", ""));
    CLEANUP(free_p) char *state = display_clean(json_get_str(answer.body, "status", ""));
    const char *colour = operation_output_colour(state, stdout);
    (void)printf("Created sandbox: %s\n  Image: %s\n  Status: %s%s%s\n  Expires: %s\n", id, image, colour, state,
                 *colour ? display_off(stdout) : "", when);
    return fflush(stdout) == EOF ? 1 : 0;
}

int basics_list(const struct verbs_args *a)
{
    JSON_OWNED params = json_object();
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    int code = operation_args_take(a, params);
    if (code == 0)
        code = operation_verb_link(a, &link);
    if (code == 0)
        code = operation_verb_call(&link, a->verb->op, params, &answer);
    if (code != 0)
        return code;
    const json_t *items = json_get(answer.body, "items");
    size_t n = json_array_size(items), total = (size_t)json_get_int(answer.body, "total", 0);
    if (verbs_value(a, "json")) {
        display_json(answer.body, stdout);
        return fflush(stdout) == EOF ? 1 : 0;
    }
    if (n == 0) {
        (void)puts("No active sandboxes");
        return 0;
    }
    (void)printf("%s%-32s%-25s%-10s%s%s\n", display_on(stdout, DISPLAY_BOLD), "ID", "IMAGE", "STATUS", "EXPIRES",
                 display_off(stdout));
    for (size_t i = 0; i < n; i++) {
        const json_t *box = json_array_get(items, i);
        char when[16] = "never";
        time_t s = (time_t)(json_get_int(box, "expiresAt", 0) / 1000);
        struct tm tm;
        if (s && localtime_r(&s, &tm))
            (void)strftime(when, sizeof(when), "%H:%M:%S", &tm);
        CLEANUP(free_p) char *id = display_clean(json_get_str(box, "id", ""));
        CLEANUP(free_p) char *image = display_clean(json_get_str(box, "image", ""));
        CLEANUP(free_p) char *state = display_clean(json_get_str(box, "status", ""));
        const char *colour = operation_output_colour(state, stdout);
        (void)printf("%-32s%-24s %s%-10s%s%s\n", id, image, colour, state, *colour ? display_off(stdout) : "", when);
    }
    if (n < total && display_is_terminal(stderr))
        (void)fprintf(stderr, "%zu of %zu; use --page and --page-size for the others\n", n, total);
    return fflush(stdout) == EOF ? 1 : 0;
}

/* The contract's first step of every command on a sandbox: check that it exists. */
static int find_box(const struct verbs_args *a, struct rest_client *link, const char *id)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    JSON_OWNED params = json_pack("{s:s}", "id", id);
    int code = link->url ? 0 : operation_verb_link(a, link);
    if (!params)
        return engine_connect_fail_text("the id is not UTF-8");
    return code != 0 ? code : operation_verb_call(link, get_op, params, &answer);
}

int basics_kill(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    int code = 0;
    for (int i = 0; i < a->n_words; i++) {
        CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
        int r = find_box(a, &link, a->words[i]);
        JSON_OWNED params = json_pack("{s:s}", "id", a->words[i]);
        if (r == 0)
            r = operation_verb_call(&link, a->verb->op, params, &answer);
        if (r == 0 && verbs_value(a, "json"))
            display_json(answer.body, stdout);
        else if (r == 0)
            (void)printf("Killed sandbox: %s\n", a->words[i]);
        code = r != 0 ? r : code;
    }
    return fflush(stdout) == EOF ? 1 : code;
}

int basics_renew(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    struct err err = ERR_INIT;
    int64_t ms;
    char *end;
    long long seconds = strtoll(a->words[1], &end, 10);
    if (!*end && seconds > 0 && seconds < INT64_MAX / 2000)
        ms = seconds * 1000;
    else if (duration_parse(a->words[1], &ms, &err) < 0)
        return verbs_usage_error(a->verb, "%s", err.msg);
    JSON_OWNED params = json_pack("{s:s, s:I}", "id", a->words[0], "expiresAt", (json_int_t)(clock_wall_ms() + ms));
    int code = operation_verb_link(a, &link);
    if (code == 0)
        code = operation_verb_call(&link, a->verb->op, params, &answer);
    return code != 0 ? code : operation_verb_show(a, a->verb->op, answer.body);
}

/* --- commands and code --- */

struct streaming {
    bool is_json;
    int code; /* -1: no exit yet */
};

static int output_event(void *arg, const json_t *event)
{
    struct streaming *s = arg;
    const char *type = json_get_str(event, "type", "");
    const json_t *data = json_get(event, "data");
    FILE *to = strcmp(type, "stderr") == 0 ? stderr : stdout;
    if (strcmp(type, "exit") == 0)
        s->code = (int)strtol(json_get_str(event, "data", "1"), NULL, 10);
    if (s->is_json) {
        (void)json_dumpf(event, stdout, JSON_COMPACT);
        (void)fputc('\n', stdout);
    } else if (to == stderr || strcmp(type, "stdout") == 0) {
        operation_output_raw(data, to);
    } else if (strcmp(type, "error") == 0) {
        (void)engine_connect_fail_text(json_get_str(event, "error", "the command's stream failed"));
    }
    return fflush(to) == EOF; /* the reader has closed */
}

static int exec_streamed(const struct verbs_args *a, const struct rest_client *link, const json_t *params)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    struct streaming s = { .is_json = verbs_value(a, "json"), .code = -2 };
    struct err err = ERR_INIT;
    int r = rest_client_op(
        link,
        &(struct rest_client_call){
            .op = &spec_ops[OP_ID_cmd_run_stream], .params = params, .on_event = output_event, .arg = &s },
        &answer, &err);
    int code = operation_verb_verdict(link, &answer, r, &err);
    if (code != 0)
        return code;
    if (s.code == -1)
        return engine_connect_fail_text("the command timed out and was killed; raise --timeout");
    return s.code < 0 ? engine_connect_fail_text("the stream ended before the command") : s.code & 0xff;
}

int basics_exec(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    JSON_OWNED params = json_object();
    static const char *const without_tty[] = { "timeout", "cwd", "stream", "json" };
    const struct field *command = operation_args_field(a->verb->op, "command");
    struct err err = ERR_INIT;
    bool is_tty = verbs_value(a, "tty"), is_fed = verbs_value(a, "interactive");
    if (a->n_words < 2 && !is_tty)
        return verbs_usage_error(a->verb, "missing operand: %s exec ID COMMAND", a->program->name);
    for (size_t i = 0; is_tty && i < sizeof(without_tty) / sizeof(*without_tty); i++)
        if (verbs_value(a, without_tty[i]))
            return verbs_usage_error(a->verb, "--%s cannot be used with -t", without_tty[i]);
    int code = operation_args_take(a, params);
    /* One word is a line for the sandbox's shell, several are a program and its arguments. */
    for (int i = 1; code == 0 && i < a->n_words; i++)
        if (operation_args_put(params, command, a->words[i], &err) < 0)
            code = verbs_usage_error(a->verb, "%s", err.msg);
    if (code == 0)
        code = find_box(a, &link, a->words[0]);
    if (code != 0)
        return code;
    (void)json_object_set_new(params, "id", json_string(a->words[0]));
    if (is_tty)
        return exec_terminal_run(&link, a->words[0], a->words + 1, a->n_words - 1);
    if (is_fed)
        return exec_input_run(a, &link, params);
    if (verbs_value(a, "stream"))
        return exec_streamed(a, &link, params);
    code = operation_verb_call(&link, a->verb->op, params, &answer);
    if (code != 0)
        return code;
    code = operation_verb_show(a, a->verb->op, answer.body);
    return verbs_value(a, "json") && code == 0 ? (int)json_get_int(answer.body, "exitCode", 1) & 0xff : code;
}

/* The contract: the output and a newline when there is output; exit 1 when the code failed. */
int basics_run(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    CLEANUP(free_p) char *code_text = NULL;
    JSON_OWNED params = json_object();
    size_t len = 0;
    bool is_stdin = a->n_words < 2 || strcmp(a->words[1], "-") == 0;
    int code = operation_args_take(a, params);
    if (code == 0 && is_stdin && operation_args_slurp("-", &code_text, &len) < 0)
        return 1;
    const char *text = is_stdin ? code_text : a->words[1];
    if (code == 0)
        code = find_box(a, &link, a->words[0]);
    if (code != 0)
        return code;
    (void)json_object_set_new(params, "id", json_string(a->words[0]));
    if (json_object_set_new(params, "code", json_stringn(text, is_stdin ? len : strlen(text))) < 0)
        return engine_connect_fail_text("the code is not UTF-8");
    code = operation_verb_call(&link, a->verb->op, params, &answer);
    if (code != 0)
        return code;
    const json_t *output = json_get(answer.body, "output");
    const char *error = json_get_str(answer.body, "error", NULL);
    if (verbs_value(a, "json"))
        display_json(answer.body, stdout);
    else if (json_string_length(output) > 0)
        operation_output_raw(output, stdout), (void)fputc('\n', stdout);
    if (error && !verbs_value(a, "json"))
        (void)fprintf(stderr, "%s\n", error);
    return fflush(stdout) == EOF || error ? 1 : 0;
}
