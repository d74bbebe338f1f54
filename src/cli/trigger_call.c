#include "cli/trigger_call.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "cli/display.h"
#include "cli/engine_client.h"
#include "cli/engine_connect.h"
#include "cli/payload.h"
#include "cli/usage.h"

/* STARTING_MS: for an engine that is being started at this moment. */
enum { TIMEOUT_MS = 30000, STARTING_MS = 800, HELP_WAIT_MS = 3000, STDIN_MAX = 64 * 1024 * 1024, NAME_MAX_BYTES = 40 };

static int complain(const char *text)
{
    (void)fprintf(stderr, "Error: %s\n", text);
    return 1;
}

/* --- the payload --- */

static int read_payload(const struct verbs_args *a, json_t **ret, struct err *err)
{
    CLEANUP(buf_done) struct buf input = BUF_INIT(STDIN_MAX);
    const char *text = verbs_value(a, "json");
    if (text && strcmp(text, "-") == 0) {
        char piece[65536];
        size_t n;
        while ((n = fread(piece, 1, sizeof(piece), stdin)) > 0)
            if (buf_add(&input, piece, n) < 0)
                return err_set(err, ERR_TOO_LARGE, 0, "--json: standard input holds more than %d MiB", STDIN_MAX >> 20);
        if (ferror(stdin))
            return err_set(err, ERR_INVALID, errno, "--json: read standard input");
        text = buf_text(&input);
    }
    return payload_build(text, a->words + 1, a->n_words - 1, ret, err);
}

/* --- calling --- */

/* key=value is JSON when it parses as JSON. Where the function wants a string it stays the text that was typed:
 * cmd=true, content='{"a":1}'. The engine is asked only when that could matter. */
static void keep_texts(struct wire *w, const struct verbs_args *a, json_t *payload)
{
    CLEANUP(wire_answer_done) struct wire_answer info = { 0 };
    JSON_OWNED question = json_pack("{s:s}", "function_id", a->words[0]);
    for (int i = 1; question && i < a->n_words; i++) {
        const char *equals = strchr(a->words[i], '=');
        CLEANUP(free_p) char *key = xstrndup(a->words[i], (size_t)(equals - a->words[i]));
        const json_t *value = json_object_get(payload, key);
        if (json_is_string(value) || json_is_null(value))
            continue;
        if (!info.is_there && wire_call(w, "engine::functions::info", question, HELP_WAIT_MS, &info, NULL) < 0)
            return; /* the call itself says what is wrong */
        const json_t *about = json_get(json_get(json_get(info.result, "request_schema"), "properties"), key);
        const char *first = json_get_str(json_array_get(json_get(about, "anyOf"), 0), "type", "");
        bool is_text_or_channel = strcmp(first, "string") == 0 && !json_object_get(value, "channel_id");
        if (strcmp(json_get_str(about, "type", ""), "string") == 0 || is_text_or_channel)
            (void)json_object_set_new(payload, key, json_text(equals + 1, strlen(equals + 1)));
    }
}

static int call_and_print(const struct verbs_args *a, const char *function, json_t *payload)
{
    struct wire_where where;
    struct err err = ERR_INIT;
    CLEANUP(wire_close_p) struct wire *w = NULL;
    CLEANUP(wire_answer_done) struct wire_answer answer = { 0 };
    long long timeout_ms = TIMEOUT_MS;
    if (verbs_number(a, "timeout-ms", 1, INT64_MAX / 2000, &timeout_ms) < 0 ||
        engine_connect_where(a, "localhost", "iii-cli:trigger", &where) != 0)
        return 2;
    where.patience_ms = timeout_ms < STARTING_MS ? timeout_ms : STARTING_MS;
    int r = wire_open(&where, &w, &err);
    if (r == 0) {
        keep_texts(w, a, payload);
        wire_ask(w, function, payload, verbs_value(a, "namespace"), &answer);
        r = wire_wait(w, &answer.is_there, timeout_ms, &err);
    }
    if (w && r == -ETIMEDOUT) {
        (void)fprintf(stderr, "Error: timed out: no answer of the engine at %s:%u after %lld ms (--timeout-ms)\n",
                      where.host, where.port, timeout_ms);
        return 1;
    }
    if (r < 0)
        return complain(err.msg);
    if (answer.error) {
        const json_t *stack = json_get(answer.error, "stacktrace");
        JSON_OWNED shown =
            json_pack("{s:s, s:s, s:O}", "code", json_get_str(answer.error, "code", "UNKNOWN"), "message",
                      json_get_str(answer.error, "message", ""), "stacktrace", stack ? stack : json_null());
        (void)fprintf(stderr, "%sError:%s ", display_on(stderr, DISPLAY_BAD), display_off(stderr));
        display_json(shown, stderr);
        return 1;
    }
    if (answer.result)
        display_json(answer.result, stdout);
    return fflush(stdout) == 0 ? 0 : complain("standard output: cannot write");
}

/* --- help of one function --- */

static bool is_needed(const json_t *schema, const char *name)
{
    const json_t *required = json_get(schema, "required");
    for (size_t i = 0; i < json_array_size(required); i++)
        if (strcmp(json_string_value(json_array_get(required, i)) ? json_string_value(json_array_get(required, i)) : "",
                   name) == 0)
            return true;
    return false;
}

/* "string", "string or object": the type of one member in a schema. Caller frees. */
static char *type_text(const json_t *about)
{
    const json_t *type = json_get(about, "type"), *any = json_get(about, "oneOf");
    struct buf out = BUF_INIT(4096);
    if (!any)
        any = json_get(about, "anyOf");
    if (json_is_string(type))
        (void)buf_add_str(&out, json_string_value(type));
    size_t n = json_is_array(type) ? json_array_size(type) : json_array_size(any);
    for (size_t i = 0; i < n; i++) {
        const char *one = json_is_array(type) ? json_string_value(json_array_get(type, i))
                                              : json_get_str(json_array_get(any, i), "type", NULL);
        if (one)
            (void)buf_addf(&out, "%s%s", out.len ? " or " : "", one);
    }
    if (out.len == 0)
        (void)buf_add_str(&out, "any");
    char *text = buf_steal(&out, NULL), *clean = display_clean(text);
    free(text);
    return clean;
}

static void print_parameters(const json_t *schema)
{
    json_t *properties = json_get(schema, "properties"), *about;
    const char *name;
    int width = 4;
    if (json_object_size(properties) == 0) {
        printf("\nParameters: none are described.\n");
        return;
    }
    printf("\nParameters:\n");
    json_object_foreach(properties, name, about)
    {
        int len = (int)strlen(name);
        width = len > width && len <= NAME_MAX_BYTES ? len : width;
    }
    for (int pass = 0; pass < 2; pass++) { /* the required ones first */
        json_object_foreach(properties, name, about)
        {
            if (is_needed(schema, name) != (pass == 0))
                continue;
            CLEANUP(free_p) char *shown = display_clean(name), *type = type_text(about);
            CLEANUP(free_p) char *help = display_clean(json_get_str(about, "description", ""));
            printf("  %s%-*s%s  %-16s  %-8s  %s\n", display_on(stdout, DISPLAY_BOLD), width, shown, display_off(stdout),
                   type, pass == 0 ? "required" : "", help);
        }
    }
}

static void print_function(const struct verbs_verb *v, const char *id, const json_t *info)
{
    CLEANUP(free_p) char *title = display_clean(id), *about = display_clean(json_get_str(info, "description", ""));
    CLEANUP(free_p) char *worker = display_clean(json_get_str(info, "worker_name", ""));
    printf("%s%s%s%s%s\n", display_on(stdout, DISPLAY_BOLD), title, display_off(stdout), *worker ? "  by worker " : "",
           worker);
    if (*about)
        printf("\n%s\n", about);
    printf("\nUsage: iii trigger %s [KEY=VALUE]... [--json TEXT]\n", title);
    print_parameters(json_get(info, "request_schema"));
    usage_print_options(v, stdout);
}

static int function_help(const struct verbs_args *a)
{
    struct wire_where where;
    struct err err = ERR_INIT;
    CLEANUP(wire_close_p) struct wire *w = NULL;
    CLEANUP(wire_answer_done) struct wire_answer answer = { 0 };
    if (engine_connect_where(a, "localhost", "iii-cli:trigger", &where) != 0)
        return 2;
    JSON_OWNED question = json_pack("{s:s}", "function_id", a->words[0]);
    int r = question ? wire_open(&where, &w, &err) : err_set(&err, ERR_INVALID, 0, "the name is not UTF-8");
    if (r == 0)
        r = wire_call(w, "engine::functions::info", question, HELP_WAIT_MS, &answer, &err);
    if (r < 0) {
        (void)fprintf(stderr, "warning: %s; this is the general help\n", err.msg);
        usage_print(a->program, a->verb, stdout);
        return 0;
    }
    if (answer.error) {
        CLEANUP(free_p) char *id = display_clean(a->words[0]);
        (void)fprintf(
            stderr,
            "Error: function \"%s\" was not found. `iii trigger engine::functions::list` lists all functions.\n", id);
        return 1;
    }
    print_function(a->verb, a->words[0], answer.result);
    return 0;
}

/* --- the commands --- */

int trigger_run(const struct verbs_args *a)
{
    struct err err = ERR_INIT;
    JSON_OWNED payload = NULL;
    if (a->wants_help)
        return function_help(a);
    if (a->n_words == 0)
        return complain("missing FUNCTION_PATH: iii trigger FUNCTION_PATH [KEY=VALUE]...");
    if (strchr(a->words[0], '='))
        return complain("missing FUNCTION_PATH: the function's id comes before key=value arguments");
    if (read_payload(a, &payload, &err) < 0)
        return complain(err.msg);
    return call_and_print(a, a->words[0], payload);
}

int trigger_info(const struct verbs_args *a)
{
    JSON_OWNED question = json_pack("{s:s}", "function_id", a->words[0]);
    return question ? call_and_print(a, "engine::functions::info", question)
                    : complain("a function's id is UTF-8 text");
}
