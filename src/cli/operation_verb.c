/* Commands generated from the operations' table. A row's name gives the command's path ("snapshot_create" becomes
 * "snapshot create") and its required fields the operands, in order; `spellings` lists the exceptions. Running a
 * command fills a JSON object of parameters from operands and options (operation_args.c), checks that nothing required
 * is missing, calls the REST API (rest_client.c) and prints the reply (operation_output.c). A usage error exits with
 * the program's code before anything is sent; a failed call prints the server's error and exits with 1. */
#include "cli/operation_verb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/display.h"
#include "cli/engine_connect.h"
#include "cli/operation_args.h"
#include "cli/operation_output.h"
#include "cli/usage.h"

enum { EXIT_SIGNALLED = 128 };

/* --- names and operands --- */

/* Commands with another name than their operation, or with other operands than the required fields (NULL). */
static const struct spelling {
    const char *op, *path, *operands;
} spellings[] = {
#define VERB(op, path, operands) { #op, path, operands },
#include "spec/ops.def"
};
/* First words of operations' names that have another name on the command line. */
static const struct {
    const char *name, *noun;
} nouns[] = { { "fs", "file" }, { "proc", "process" }, { "event", "events" } };

static const struct spelling *spelling_of(const struct op *op)
{
    for (size_t i = 0; i < sizeof(spellings) / sizeof(*spellings); i++)
        if (strcmp(spellings[i].op, op->name) == 0)
            return &spellings[i];
    return NULL;
}

void operation_verb_path(const struct op *op, char *ret, size_t size)
{
    const struct spelling *s = spelling_of(op);
    const char *line = strchr(op->name, '_');
    if (s || !line) {
        (void)snprintf(ret, size, "%s", s ? s->path : op->name);
        return;
    }
    size_t len = (size_t)(line - op->name);
    const char *noun = op->name;
    for (size_t i = 0; i < sizeof(nouns) / sizeof(*nouns); i++)
        if (strlen(nouns[i].name) == len && memcmp(nouns[i].name, noun, len) == 0) {
            noun = nouns[i].noun;
            len = strlen(noun);
            break;
        }
    bool is_plain = len == 7 && memcmp(noun, "sandbox", 7) == 0; /* `pause`, not `sandbox pause` */
    (void)snprintf(ret, size, "%.*s%s%s", is_plain ? 0 : (int)len, noun, is_plain ? "" : " ", line + 1);
    for (char *p = ret; *p; p++)
        if (*p == '_')
            *p = '-';
}

static void add_operand(struct operation_verb_operands *o, const struct field *f, bool is_needed)
{
    if (o->n == OPERATION_VERB_OPERANDS_MAX)
        return;
    o->fields[o->n++] = f;
    o->n_needed += is_needed;
}

void operation_verb_operands(const struct op *op, struct operation_verb_operands *ret)
{
    const struct spelling *s = spelling_of(op);
    const struct field *many = NULL;
    *ret = (struct operation_verb_operands){ .n = 0 };
    if (s && s->operands) {
        for (const char *names = s->operands; *names;) {
            char name[OPERATION_ARGS_NAME_MAX];
            size_t len = strcspn(names, " ?");
            (void)snprintf(name, sizeof(name), "%.*s", (int)len, names);
            const struct field *f = operation_args_field(op, name);
            if (f)
                add_operand(ret, f, names[len] != '?');
            names += len + strspn(names + len, "? ");
        }
        return;
    }
    for (const struct field *f = op->fields; f->name; f++) {
        bool is_word = f->type != FIELD_OBJ && f->type != FIELD_OBJ_LIST;
        if (!(f->flags & FIELD_REQUIRED) || !is_word)
            continue;
        if (operation_args_takes_many(f) && !many)
            many = f; /* takes all remaining arguments, so it comes last */
        else if (!operation_args_takes_many(f))
            add_operand(ret, f, true);
    }
    if (many)
        add_operand(ret, many, true);
}

const struct op *operation_verb_find(const char *name)
{
    for (size_t i = 0; i < OP_COUNT; i++)
        if (strcmp(spec_ops[i].name, name) == 0)
            return &spec_ops[i];
    return NULL;
}

/* --- calls --- */

/* What to do about an error; iii stands for the program's name. */
static const char *way_out(int status, const char *error)
{
    switch (status) {
    case 401:
        return "; give a token: --token SECRET, or III_SANDBOX_TOKEN";
    case 403:
        return strcmp(error, "Invalid token") == 0 ? "; check --token or III_SANDBOX_TOKEN" : "";
    case 404:
        return strncmp(error, "sandbox ", 8) == 0 ? "; `iii ps` shows the sandboxes that exist" : "";
    case 429:
        return "; wait, or ask for a higher limit";
    case 413:
        return "; split it: `iii exec -i ID 'cat >FILE' <LOCAL` accepts any size";
    default:
        return "";
    }
}

static int say_json(const char *error, int status)
{
    static const struct {
        int status;
        const char *code;
    } codes[] = {
#define X(name, wire, http, sys) { http, wire },
#include "base/errors.def"
#undef X
    };
    const char *code = status ? "internal" : "unreachable";
    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
        if (codes[i].status == status)
            code = codes[i].code;
    JSON_OWNED told =
        json_pack("{s:o, s:s, s:i}", "error", json_text(error, strlen(error)), "code", code, "status", status);
    (void)json_dumpf(told, stderr, JSON_COMPACT);
    (void)fputc('\n', stderr);
    return 1;
}

/* There is no reply: why, and where the server is looked for. */
static int say_unreachable(const struct rest_client *l, const struct err *err)
{
    CLEANUP(free_p) char *clean = display_clean(err->msg);
    const char *at = strstr(clean, l->url), *colon = at ? strstr(at, ": ") : NULL; /* behind method and address */
    bool is_away = err->code == ERR_UPSTREAM || err->code == ERR_TIMEOUT || err->sys;
    (void)fprintf(stderr, "%serror:%s ", display_on(stderr, DISPLAY_BAD), display_off(stderr));
    if (is_away && strstr(clean, "certificate"))
        (void)fprintf(stderr, "%s: %s; --ca-cert or III_CA_CERT is the CA bundle that verifies the server\n", l->server,
                      colon ? colon + 2 : clean);
    else if (is_away)
        (void)fprintf(stderr,
                      "no server answers at %s: %s; `%s serve` starts one, --server or III_SANDBOX_URL names another\n",
                      l->server, colon ? colon + 2 : clean, l->program->name);
    else
        (void)fprintf(stderr, "%s\n", clean);
    return 1;
}

int operation_verb_verdict(const struct rest_client *l, const struct rest_client_answer *answer, int r,
                           const struct err *err)
{
    if (l->is_json && (r < 0 || answer->status >= 400))
        return say_json(r < 0 ? err->msg : answer->error, r < 0 ? 0 : answer->status);
    if (r < 0)
        return say_unreachable(l, err);
    if (answer->signal)
        return EXIT_SIGNALLED + answer->signal;
    if (answer->status < 400)
        return 0;
    CLEANUP(free_p) char *clean = display_clean(answer->error);
    (void)fprintf(stderr, "%serror:%s %s (%d)", display_on(stderr, DISPLAY_BAD), display_off(stderr), clean,
                  answer->status);
    usage_text(l->program, way_out(answer->status, answer->error), stderr);
    (void)fputc('\n', stderr);
    return 1;
}

int operation_verb_link(const struct verbs_args *a, struct rest_client *ret)
{
    struct err err = ERR_INIT;
    struct operation_output_style style;
    int code = operation_output_style(a, &style);
    if (code != 0)
        return code;
    if (rest_client_open(a, ret, &err) < 0)
        return err.code == ERR_INVALID ? verbs_usage_error(a->verb, "%s", err.msg) : engine_connect_fail_text(err.msg);
    ret->is_json = style.form == OPERATION_OUTPUT_JSON;
    return 0;
}

int operation_verb_get(const struct rest_client *l, const char *id, struct rest_client_answer *ret)
{
    JSON_OWNED params = json_pack("{s:s}", "id", id);
    return params ? operation_verb_call(l, &spec_ops[OP_ID_sandbox_get], params, ret)
                  : engine_connect_fail_text("the id is not UTF-8");
}

int operation_verb_call(const struct rest_client *l, const struct op *op, const json_t *params,
                        struct rest_client_answer *ret)
{
    struct err err = ERR_INIT;
    int r = rest_client_op(l, &(struct rest_client_call){ .op = op, .params = params }, ret, &err);
    return operation_verb_verdict(l, ret, r, &err);
}

int operation_verb_show(const struct verbs_args *a, const struct op *op, const json_t *reply)
{
    struct operation_output_style style;
    int code = operation_output_style(a, &style);
    if (code == 0 && style.form == OPERATION_OUTPUT_JSON)
        display_json(reply, stdout);
    else if (code == 0 && style.form == OPERATION_OUTPUT_NAME)
        operation_output_names(op->reply, reply, stdout);
    else if (code == 0)
        code = operation_output_reply(op->reply, reply, &style, stdout);
    return fflush(stdout) == EOF ? 1 : code;
}

/* --- running --- */

struct showing {
    bool is_json;
    int code; /* of a command, when its stream reports it */
};

static int stream_event(void *arg, const json_t *event)
{
    struct showing *s = arg;
    const char *type = json_get_str(event, "type", "");
    if (strcmp(type, "exit") == 0)
        s->code = (int)strtol(json_get_str(event, "data", "1"), NULL, 10) & 0xff;
    if (s->is_json || !*type) {
        (void)json_dumpf(event, stdout, JSON_COMPACT);
        (void)fputc('\n', stdout);
        return fflush(stdout) == EOF;
    }
    if (strcmp(type, "error") == 0) {
        s->code = 1;
        (void)engine_connect_fail_text(
            json_get_str(event, "error", json_get_str(event, "errorValue", "the stream failed")));
    } else if (strcmp(type, "stdout") == 0 || strcmp(type, "stderr") == 0) {
        FILE *to = strcmp(type, "stderr") == 0 ? stderr : stdout;
        operation_output_raw(json_get(event, "data"), to);
        (void)fflush(to);
    } else if (json_get(event, "path")) { /* of a file watch */
        const char *from = json_get_str(event, "oldPath", NULL), *message = json_get_str(event, "message", NULL);
        (void)printf("%-10s ", type);
        operation_output_raw(json_get(event, "path"), stdout);
        if (from || message) {
            (void)fputs(from ? " from " : ": ", stdout);
            operation_output_raw(json_get(event, from ? "oldPath" : "message"), stdout);
        }
        (void)fputc('\n', stdout);
        return fflush(stdout) == EOF;
    }
    return 0;
}

static int run_with(const struct verbs_args *a, const json_t *params)
{
    const struct op *op = a->verb->op;
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    struct showing showing = { 0 };
    struct err err = ERR_INIT;
    bool may_stream = op->flags & (OP_STREAM | OP_MAY_STREAM);
    int code = operation_verb_link(a, &link);
    if (code != 0)
        return code;
    showing.is_json = link.is_json;
    struct rest_client_call call = { .op = op, .params = params, .arg = &showing };
    call.on_event = may_stream ? stream_event : NULL;
    call.wants_events = op->flags & OP_MAY_STREAM && verbs_value(a, "stream");
    int r = rest_client_op(&link, &call, &answer, &err);
    code = operation_verb_verdict(&link, &answer, r, &err);
    if (code != 0)
        return code;
    return answer.body ? operation_verb_show(a, op, answer.body) : showing.code;
}

int operation_verb_run(const struct verbs_args *a)
{
    JSON_OWNED params = json_object();
    struct operation_verb_operands o;
    struct err err = ERR_INIT;
    char kebab[OPERATION_ARGS_NAME_MAX];
    int code = operation_args_take(a, params, NULL);
    if (code != 0)
        return code;
    operation_verb_operands(a->verb->op, &o);
    for (int i = 0; i < a->n_words; i++) {
        size_t at = (size_t)i < o.n ? (size_t)i : o.n - 1;
        if (operation_args_put(params, o.fields[at], a->words[i], &err) < 0)
            return verbs_usage_error(a->verb, "%s", err.msg);
    }
    for (const struct field *f = a->verb->op->fields; f->name; f++) {
        if (!(f->flags & FIELD_REQUIRED) || json_object_get(params, f->name))
            continue;
        operation_args_kebab(f->name, kebab);
        return verbs_usage_error(a->verb, "--%s is missing: %s", a->verb->flags & VERBS_QUIET ? f->name : kebab,
                                 f->help);
    }
    return run_with(a, params);
}

int operation_verb_api(const struct verbs_args *a)
{
    JSON_OWNED params = json_object();
    int code = operation_args_take(a, params, NULL);
    return code != 0 ? code : run_with(a, params);
}
