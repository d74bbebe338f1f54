#include "cli/cmd_exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/display.h"
#include "cli/duration.h"
#include "cli/engine_connect.h"
#include "cli/operation_args.h"
#include "cli/operation_output.h"
#include "cli/operation_verb.h"

json_t *cmd_exec_env(const struct verbs_args *a)
{
    json_t *env = json_object();
    size_t at = 0;
    for (const char *given; (given = verbs_next(a, "env", &at));) {
        JSON_OWNED pairs = NULL; /* an object of pairs, as other options of an operation are given */
        if (*given == '{' && json_read(given, strlen(given), &pairs, NULL) == 0 && json_is_object(pairs)) {
            (void)json_object_update(env, pairs);
            continue;
        }
        const char *equals = strchr(given, '=');
        CLEANUP(free_p) char *name = xstrndup(given, equals ? (size_t)(equals - given) : strlen(given));
        const char *value = equals ? equals + 1 : getenv(name);
        if (!*name || (value && json_object_set_new(env, name, json_string(value)) < 0)) {
            (void)verbs_usage_error(a->verb, "--env: \"%.80s\" is not NAME=VALUE in UTF-8", given);
            json_decref(env);
            return NULL;
        }
    }
    return env;
}

/* Several words are a program and its arguments; a single one with a blank in it, and for the contract any, is a line
 * for the sandbox's shell. NULL: not UTF-8. */
static json_t *command_of(const struct verbs_args *a, char **words, int n)
{
    if (n == 1 && (a->program->is_contract || strpbrk(words[0], " \t\n")))
        return json_string(words[0]);
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        if (json_array_append_new(list, json_string(words[i])) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

int cmd_exec_plan(const struct verbs_args *a, char **words, int n, struct exec_session_plan *ret)
{
    const char *timeout = verbs_value(a, "timeout"), *cwd = verbs_value(a, "workdir");
    struct err err = ERR_INIT;
    *ret = (struct exec_session_plan){ .cwd = cwd ? cwd : verbs_value(a, "cwd"),
                                       .user = verbs_value(a, "user"),
                                       .has_stdin = verbs_value(a, "interactive"),
                                       .is_tty = verbs_value(a, "tty") };
    if (timeout && duration_or_seconds(timeout, &ret->timeout_ms, &err) < 0)
        return verbs_usage_error(a->verb, "--timeout: %s", err.msg);
    ret->env = cmd_exec_env(a);
    if (!ret->env)
        return verbs_failed(a);
    if (n > 0 && !(ret->command = command_of(a, words, n)))
        return verbs_usage_error(a->verb, "the command is not UTF-8");
    if (ret->is_tty && verbs_wants_json(a))
        return verbs_usage_error(a->verb, "--json cannot be used with -t");
    if (ret->is_tty && !verbs_value(a, "detach") && !isatty(STDIN_FILENO)) {
        (void)engine_connect_fail_text("-t needs a terminal on standard input; omit it in scripts");
        return verbs_failed(a);
    }
    return 0;
}

/* A 504 of a command has its output so far. */
static int say_timed_out(const struct rest_client *l, const struct rest_client_answer *answer)
{
    const json_t *result = json_get(answer->body, "result");
    struct err none = ERR_INIT;
    if (!l->is_json) {
        operation_output_raw(json_get(result, "stdout"), stdout);
        (void)fflush(stdout);
        operation_output_raw(json_get(result, "stderr"), stderr);
    }
    (void)operation_verb_verdict(l, answer, 0, &none);
    return EXEC_SESSION_TIMED_OUT;
}

/* As one call, whose output comes at the end. */
static int exec_call(const struct verbs_args *a, const struct rest_client *l, const char *id,
                     const struct exec_session_plan *plan)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    const struct op *op = &spec_ops[OP_ID_cmd_run];
    struct err err = ERR_INIT;
    JSON_OWNED params =
        json_pack("{s:s, s:O*, s:s*, s:s*}", "id", id, "command", plan->command, "cwd", plan->cwd, "user", plan->user);
    if (plan->timeout_ms)
        (void)json_object_set_new(params, "timeout", json_integer((plan->timeout_ms + 999) / 1000));
    if (json_object_size(plan->env) > 0)
        (void)json_object_set(params, "env", plan->env);
    int r = rest_client_op(l, &(struct rest_client_call){ .op = op, .params = params }, &answer, &err);
    if (r == 0 && answer.status == 504)
        return say_timed_out(l, &answer);
    if (operation_verb_verdict(l, &answer, r, &err) != 0)
        return verbs_failed(a);
    int code = operation_verb_show(a, op, answer.body);
    return l->is_json && code == 0 ? (int)json_get_int(answer.body, "exitCode", 1) & 0xff : code;
}

int cmd_exec_in(const struct verbs_args *a, const struct rest_client *l, const char *id,
                const struct exec_session_plan *plan)
{
    bool is_joined =
        plan->has_stdin || plan->is_tty || !(a->program->is_contract || l->is_json) || verbs_value(a, "stream");
    if (is_joined && l->is_json)
        return verbs_usage_error(a->verb, "-i and --stream show the output as it comes: omit --json");
    if (!is_joined && !plan->command)
        return verbs_usage_error(a->verb, "--json needs a command");
    return is_joined ? exec_session_run(l, id, plan, verbs_failed(a)) : exec_call(a, l, id, plan);
}

int cmd_exec_run(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer box = { 0 };
    CLEANUP(exec_session_plan_done) struct exec_session_plan plan = { 0 };
    bool is_contract = a->program->is_contract;
    char **words = is_contract ? a->words + 1 : a->tail;
    int n = is_contract ? a->n_words - 1 : a->n_tail;
    if (n < 1 && !verbs_value(a, "tty"))
        return verbs_usage_error(a->verb, "missing operand: %s exec ID COMMAND", a->program->name);
    int code = cmd_exec_plan(a, words, n, &plan);
    if (code == 0 && operation_verb_link(a, &link) != 0)
        code = verbs_failed(a);
    if (code == 0 && operation_verb_get(&link, a->words[0], &box) != 0)
        code = verbs_failed(a);
    if (code != 0)
        return code;
    if (strcmp(json_get_str(box.body, "status", ""), "paused") == 0) {
        CLEANUP(free_p)
        char *text =
            xasprintf("sandbox %s is paused; `%s resume %s` resumes it", a->words[0], a->program->name, a->words[0]);
        (void)engine_connect_fail_text(text);
        return verbs_failed(a);
    }
    return cmd_exec_in(a, &link, is_contract ? a->words[0] : json_get_str(box.body, "id", ""), &plan);
}

/* The contract: the output and a newline when there is output; exit 1 when the code failed. */
int cmd_exec_code(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer box = { 0 }, answer = { 0 };
    CLEANUP(free_p) char *code_text = NULL;
    JSON_OWNED params = json_object();
    size_t len = 0;
    bool is_stdin = a->n_words < 2 || strcmp(a->words[1], "-") == 0;
    int code = operation_args_take(a, params, NULL);
    if (code == 0 && is_stdin && operation_args_slurp("-", &code_text, &len) < 0)
        return 1;
    const char *text = is_stdin ? code_text : a->words[1];
    code = code ? code : operation_verb_link(a, &link);
    code = code ? code : operation_verb_get(&link, a->words[0], &box);
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
    size_t output_len = json_string_length(output);
    if (link.is_json)
        display_json(answer.body, stdout);
    else
        operation_output_raw(output, stdout);
    if (!link.is_json && output_len > 0 &&
        (a->program->is_contract || json_string_value(output)[output_len - 1] != '\n'))
        (void)fputc('\n', stdout);
    if (error && !link.is_json)
        (void)fprintf(stderr, "%s\n", error);
    return fflush(stdout) == EOF || error ? 1 : 0;
}
