/* Theory of operation. verb_program_new() makes the table of one name of the binary. Rows written by hand
 * (verb_table.c, sandbox_verbs.c) come first and take precedence; a row for every operation of spec/ that has no
 * command yet follows, then a group for every first word that has none, then `api OPERATION`. A row that talks to the
 * REST API gets options for the fields of its operation and the general ones. All rows and texts belong to struct
 * verb_program. */
#include "cli/verb_program.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "cli/operation_args.h"
#include "cli/operation_verb.h"
#include "spec/spec.h"

enum { ROWS_MAX = 2 * OP_COUNT + 160, PATH_BYTES = 64 };

struct verb_program {
    struct verbs_program program;
    struct verbs_verb rows[ROWS_MAX + 1];
    size_t n;
    void **owned; /* everything the rows point to */
    size_t n_owned;
};

#define GENERAL                                                                                                 \
    { "server", 0, "URL", "Address of the server [III_SANDBOX_URL, otherwise http://localhost:3111]" },         \
        { "token", 0, "SECRET", "Token for the server [III_SANDBOX_TOKEN, otherwise III_AUTH_TOKEN]" },         \
        { "ca-cert", 0, "FILE", "CA bundle to verify the server [III_CA_CERT, otherwise the system's store]" }, \
        { "output", 'o', "FORMAT", "table, wide (all columns), json, or name (ids alone) [table]" },            \
        { "json", 0, NULL, "The same as -o json: the server's response" },                                      \
    {                                                                                                           \
        "no-trunc", 0, NULL, "Do not cut columns to the width of the terminal"                                  \
    }
#define ABOUT                                                                                     \
    "The server is that of --server, III_SANDBOX_URL or ~/.config/iii-sandbox/config.json,\n"     \
    "otherwise http://localhost:3111. A sandbox is named by its id, its UUID, its name, or the\n" \
    "beginning of its id."
static const struct verbs_option contract_general[] = { GENERAL, { 0 } };
static const struct verbs_option general[] = {
    { "config", 'c', "FILE", "Configuration file, for serve and worker add" }, GENERAL, { 0 }
};

static void *keep_text(struct verb_program *b, void *what)
{
    b->owned = xrealloc(b->owned, (b->n_owned + 1) * sizeof(*b->owned));
    return b->owned[b->n_owned++] = what;
}

static bool has_row(const struct verb_program *b, const char *path)
{
    for (size_t i = 0; i < b->n; i++)
        if (strcmp(b->rows[i].path, path) == 0)
            return true;
    return false;
}

static struct verbs_verb *add_row(struct verb_program *b, const struct verbs_verb *row)
{
    if (b->n == ROWS_MAX || has_row(b, row->path))
        return NULL;
    b->rows[b->n] = *row;
    b->rows[b->n].program = &b->program;
    return &b->rows[b->n++];
}

/* --- options --- */

struct options {
    struct verbs_option *list;
    size_t n;
};

static void add_option(struct options *o, struct verbs_option option)
{
    for (size_t i = 0; i < o->n; i++) {
        if (strcmp(o->list[i].name, option.name) == 0)
            return; /* the hand-written one takes precedence */
        if (o->list[i].letter == option.letter)
            option.letter = 0;
    }
    o->list = xrealloc(o->list, (o->n + 2) * sizeof(*o->list));
    o->list[o->n++] = option;
    o->list[o->n] = (struct verbs_option){ 0 };
}

static const char *placeholder(const struct field *f)
{
    switch (f->type) {
    case FIELD_INT:
    case FIELD_NUM:
        return "N";
    case FIELD_BOOL:
        return "[=false]";
    case FIELD_STR_MAP:
        return "K=V";
    case FIELD_OBJ:
    case FIELD_OBJ_LIST:
    case FIELD_ANY:
        return "JSON";
    case FIELD_STR_LIST:
        return "TEXT...";
    case FIELD_STR:
    case FIELD_COMMAND:
        break;
    }
    return f->choices ? f->choices : "TEXT";
}

static bool is_operand(const struct operation_verb_operands *o, const struct field *f)
{
    for (size_t i = 0; o && i < o->n; i++)
        if (o->fields[i] == f)
            return true;
    return false;
}

/* Adds options for the fields of an operation that are not operands; kebab: in their command-line form. */
static void add_fields(struct verb_program *b, struct options *o, const struct op *op,
                       const struct operation_verb_operands * not, bool is_kebab)
{
    char name[OPERATION_ARGS_NAME_MAX];
    for (const struct field *f = op->fields; f->name; f++) {
        if (is_operand(not, f) || (is_kebab && f->flags & FIELD_PATH))
            continue;
        operation_args_kebab(f->name, name);
        const char *shown = is_kebab ? keep_text(b, xstrdup(name)) : f->name;
        bool is_many = f->type == FIELD_STR_LIST || f->type == FIELD_STR_MAP;
        const char *help =
            keep_text(b, xasprintf("%s%s%s%s%s", f->help, is_many ? "; may be repeated" : "", f->fallback ? " [" : "",
                                   f->fallback ? f->fallback : "", f->fallback ? "]" : ""));
        add_option(o, (struct verbs_option){ shown, 0, placeholder(f), help });
    }
}

static void add_general(struct options *o, const struct op *op)
{
    if (op && op->flags & OP_MAY_STREAM)
        add_option(o, (struct verbs_option){ "stream", 0, NULL, "Stream events instead of one response" });
    for (const struct verbs_option *g = contract_general; g->name; g++)
        add_option(o, *g);
}

/* --- rows --- */

/* Rows written by hand. Those of the REST API: their own options, then those of their operation, then the general ones.
 */
static void add_by_hand(struct verb_program *b, const struct verbs_verb *rows)
{
    for (const struct verbs_verb *v = rows; v->path; v++) {
        struct options o = { 0 };
        struct verbs_verb *row =
            v->flags & (b->program.is_contract ? VERBS_III : VERBS_CONTRACT) ? NULL : add_row(b, v);
        if (!row || !(v->flags & VERBS_REST))
            continue;
        for (const struct verbs_option *own = v->options; own && own->name; own++)
            add_option(&o, *own);
        if (v->op) {
            struct operation_verb_operands words;
            operation_verb_operands(v->op, &words);
            add_fields(b, &o, v->op, &words, true);
        }
        add_general(&o, NULL);
        row->options = keep_text(b, o.list);
    }
}

static char *operands_text(const struct operation_verb_operands *o)
{
    struct buf out = BUF_INIT(1024);
    for (size_t i = 0; i < o->n; i++) {
        const struct field *f = o->fields[i];
        char name[OPERATION_ARGS_NAME_MAX];
        bool is_many = operation_args_takes_many(f);
        operation_args_kebab(f->name, name);
        if (f->type == FIELD_STR_MAP)
            (void)snprintf(name, sizeof(name), "NAME=VALUE");
        for (char *p = name; *p; p++)
            *p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
        (void)buf_addf(&out, "%s%s%s%s%s", i ? " " : "", i >= o->n_needed ? "[" : "", name, is_many ? "..." : "",
                       i >= o->n_needed ? "]" : "");
    }
    return buf_steal(&out, NULL);
}

/* Whether a group written by hand takes the operations of that name: `iii token`, `iii image`. */
static bool is_closed(const struct verb_program *b, const char *path)
{
    size_t len = strcspn(path, " ");
    for (size_t i = 0; path[len] && i < b->n; i++)
        if (b->rows[i].flags & VERBS_III && strlen(b->rows[i].path) == len && memcmp(b->rows[i].path, path, len) == 0)
            return true;
    return false;
}

/* Another path of an operation that came before: one command is enough. */
static bool is_alias(const struct op *op)
{
    for (const struct op *other = spec_ops; other < op; other++)
        if (strcmp(other->fn, op->fn) == 0)
            return true;
    return false;
}

static void add_operation(struct verb_program *b, const struct op *op)
{
    char path[PATH_BYTES];
    struct operation_verb_operands words;
    struct options o = { 0 };
    operation_verb_path(op, path, sizeof(path));
    if (!*path || has_row(b, path) || is_closed(b, path) || is_alias(op))
        return;
    operation_verb_operands(op, &words);
    add_fields(b, &o, op, &words, true);
    add_general(&o, op);
    const struct field *last = words.n ? words.fields[words.n - 1] : NULL;
    bool is_many = last && operation_args_takes_many(last);
    struct verbs_verb row = { .path = keep_text(b, xstrdup(path)),
                              .operands = keep_text(b, operands_text(&words)),
                              .summary = op->help,
                              .options = keep_text(b, o.list),
                              .run = operation_verb_run,
                              .flags = VERBS_REST | VERBS_MORE | (op->flags & OP_SANDBOX ? VERBS_BOX : 0u),
                              .min_words = (int)words.n_needed,
                              .max_words = is_many ? -1 : (int)words.n,
                              .op = op };
    row.examples = keep_text(b, xasprintf("iii %s%s%s", path, *row.operands ? " " : "", row.operands));
    (void)add_row(b, &row);
}

static void add_api(struct verb_program *b, const struct op *op)
{
    struct options o = { 0 };
    if (is_alias(op) || op->flags & (OP_RAW_BODY | OP_NOT_JSON)) /* bytes are the business of `cp` */
        return;
    add_fields(b, &o, op, NULL, false);
    add_option(&o,
               (struct verbs_option){ "params", 0, "JSON|@FILE|-", "All parameters as one object; options replace" });
    add_general(&o, op);
    struct verbs_verb row = { .path = keep_text(b, xasprintf("api %s", op->name)),
                              .operands = "",
                              .summary = op->help,
                              .about = keep_text(b, xasprintf("%s %s, the engine's %s.", op->method, op->path, op->fn)),
                              .options = keep_text(b, o.list),
                              .run = operation_verb_api,
                              .flags = VERBS_QUIET | VERBS_REST,
                              .op = op };
    (void)add_row(b, &row);
}

/* Adds a group for the first word of every path; its commands are its summary. */
static void add_groups(struct verb_program *b)
{
    for (size_t i = 0, n = b->n; i < n; i++) {
        const char *blank = strchr(b->rows[i].path, ' ');
        CLEANUP(free_p) char *noun = blank ? xstrndup(b->rows[i].path, (size_t)(blank - b->rows[i].path)) : NULL;
        if (!noun || has_row(b, noun))
            continue;
        struct buf words = BUF_INIT(4096);
        for (size_t j = 0; j < n; j++)
            if (verbs_is_below(&b->rows[j], noun))
                (void)buf_addf(&words, "%s%s", words.len ? ", " : "", verbs_last_word(&b->rows[j]));
        struct verbs_verb row = { .path = keep_text(b, xstrdup(noun)),
                                  .operands = "COMMAND",
                                  .summary = keep_text(b, buf_steal(&words, NULL)),
                                  .flags = VERBS_GROUP | VERBS_MORE };
        (void)add_row(b, &row);
    }
}

struct verb_program *verb_program_new(bool is_contract)
{
    struct verb_program *b = xzalloc(sizeof(*b));
    b->program = (struct verbs_program){
        .name = is_contract ? VERB_PROGRAM_CONTRACT : VERB_PROGRAM_NAME,
        .summary = is_contract ? "the commands of `iii`, with the spellings of its older client"
                               : "run untrusted code in sandboxes that start in milliseconds",
        .usage = is_contract ? VERB_PROGRAM_CONTRACT " [OPTIONS] COMMAND"
                             : VERB_PROGRAM_NAME " [-c FILE] [OPTIONS] [COMMAND]",
        .about = is_contract ? ABOUT : ABOUT " Without a command, `iii` serves if there is a ./config.yaml.",
        .examples = is_contract ? "iii-sandbox create python\n"
                                  "iii-sandbox exec \"$SB\" 'echo hello | wc -c'\n"
                                  "iii-sandbox run \"$SB\" 'print(6 * 7)'\n"
                                  "iii-sandbox list"
                                : "iii serve                              # the server, on this host\n"
                                  "iii run -it python                     # a sandbox with a Python prompt\n"
                                  "iii run python python3 -c 'print(2+2)'\n"
                                  "iii run -d --name web -p 8000 python python3 -m http.server 8000\n"
                                  "iii exec -it web sh\n"
                                  "iii cp data.csv web:/workspace/\n"
                                  "iii rm web",
        .shown_version = is_contract ? VERB_PROGRAM_CONTRACT "/" : "",
        .rows = b->rows,
        .general = is_contract ? contract_general : general,
        .usage_exit = is_contract ? 1 : 2,
        .is_contract = is_contract,
    };
    add_by_hand(b, sandbox_verbs_rows);
    add_by_hand(b, verb_table_rows);
    for (size_t i = 0; i < OP_COUNT; i++)
        add_operation(b, &spec_ops[i]);
    add_groups(b);
    for (size_t i = 0; i < OP_COUNT; i++)
        add_api(b, &spec_ops[i]);
    return b;
}

const struct verbs_program *verb_program_get(const struct verb_program *b)
{
    return &b->program;
}

struct verb_program *verb_program_free(struct verb_program *b)
{
    if (!b)
        return NULL;
    for (size_t i = 0; i < b->n_owned; i++)
        free(b->owned[i]);
    free(b->owned);
    free(b);
    return NULL;
}
