/* The reference pages as markdown, made from the rows. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/settings.h"
#include "spec/schemas.h"
#include "spec/spec.h"

#define PAGE_MAX (4u << 20)

/* Rows and tables are ours and far below PAGE_MAX, so adding to a page fails only without memory, and then the page is
 * short: the test that compares it with the committed one notices. */
#define PUT(...) ((void)buf_addf(page, __VA_ARGS__))

static const char *const type_words[] = {
    [FIELD_STR] = "string",
    [FIELD_INT] = "integer",
    [FIELD_NUM] = "number",
    [FIELD_BOOL] = "boolean",
    [FIELD_OBJ] = "object",
    [FIELD_STR_MAP] = "object of strings",
    [FIELD_STR_LIST] = "array of strings",
    [FIELD_OBJ_LIST] = "array of objects",
    [FIELD_COMMAND] = "string or array of strings",
    [FIELD_ANY] = "any",
};

/* A table cell: | would end it, < would start a tag. */
static void put_cell(struct buf *page, const char *text)
{
    for (; *text; text++)
        PUT("%s%c", *text == '|' || *text == '<' ? "\\" : "", *text);
}

static void put_size(struct buf *page, double bytes)
{
    if (bytes >= 1073741824)
        PUT("%.0f GiB", bytes / 1073741824);
    else if (bytes >= 1048576)
        PUT("%.0f MiB", bytes / 1048576);
    else
        PUT("%.0f bytes", bytes);
}

static void put_limits(struct buf *page, const struct field *f)
{
    if (f->choices) {
        put_cell(page, f->choices);
    } else if (f->type == FIELD_STR || f->type == FIELD_COMMAND) {
        PUT("%s", f->min > 0 ? "not empty, " : "");
        PUT("at most ");
        put_size(page, f->max);
    } else if (f->type == FIELD_INT || f->type == FIELD_NUM) {
        const char *setting = spec_ceiling(f);
        bool is_open = f->max > 9e15, is_clamped = f->flags & FIELD_CLAMP;
        if (is_open && is_clamped)
            PUT("any number");
        else if (is_open)
            PUT("%.0f or more", f->min);
        else if (setting)
            PUT("%g to %s", f->min, setting);
        else
            PUT("%g to %.10g", f->min, f->max);
        PUT("%s", is_clamped && !is_open ? " (clamped)" : "");
    } else if (f->type != FIELD_BOOL && f->type != FIELD_ANY) {
        PUT("%.0f to %.0f entries", f->min, f->max);
    }
}

static void put_field(struct buf *page, const char *parent, const struct field *f)
{
    PUT("| `%s%s`%s | %s | ", parent, f->name,
        f->flags & FIELD_PATH      ? " (path)"
        : f->flags & FIELD_HEADER  ? " (header)"
        : f->flags & FIELD_CHANNEL ? " (engine)"
                                   : "",
        type_words[f->type]);
    put_limits(page, f);
    PUT(" | %s | ", f->flags & FIELD_REQUIRED ? "required" : f->fallback ? f->fallback : "");
    put_cell(page, f->help);
    PUT(" |\n");
    if (!f->members)
        return;
    char inner[96];
    (void)snprintf(inner, sizeof(inner), "%s%s%s.", parent, f->name, f->type == FIELD_OBJ_LIST ? "[]" : "");
    for (const struct field *m = f->members; m->name; m++)
        put_field(page, inner, m); /* members of members are as deep as the tables nest them */
}

static void put_op(struct buf *page, const struct op *op)
{
    char anchor[64] = "";
    for (size_t i = 0; op->reply[i] && i + 1 < sizeof(anchor); i++)
        anchor[i] = (char)tolower((unsigned char)op->reply[i]);
    PUT("\n### %s %s\n\n%s.", op->method, op->path, op->help);
    PUT(" Function `%s`.", op->fn);
    if (op->flags & OP_NO_AUTH)
        PUT(" Needs no token.");
    if (op->flags & OP_IDEMPOTENT)
        PUT(" Accepts an `Idempotency-Key`.");
    if (op->flags & OP_RAW_BODY)
        PUT(" The body is bytes, of any length; fields are in the query.");
    if (op->flags & OP_NOT_JSON)
        PUT(" Response: bytes.\n");
    else
        PUT(" Response: %s[%s](#%s).\n", op->flags & OP_STREAM ? "server-sent events, each a " : "", op->reply, anchor);
    if (!op->fields->name)
        return;
    PUT("\n| Field | Type | Limits | Default | Meaning |\n|---|---|---|---|---|\n");
    for (const struct field *f = op->fields; f->name; f++)
        put_field(page, "", f);
}

char *spec_reference_md(void)
{
    struct buf b = BUF_INIT(PAGE_MAX), *page = &b;
    PUT("# API reference\n\nGenerated from the operation table (`src/spec/`); do not edit.\n\n"
        "Paths follow the prefix, by default `/sandbox`. Send fields in the query string or in a JSON body\n"
        "(`Content-Type: application/json`); the body overrides the query, the path overrides both. Numbers and\n"
        "booleans may be strings, and null means absent. Every success is 200 with the result as JSON.\n\n"
        "Unknown fields are ignored and numbers marked *clamped* are moved into their range. Both are named in the\n"
        "member `warnings` of the reply: [Warnings](warnings.md).\n\n## Operations\n");
    for (int i = 0; i < OP_COUNT; i++)
        put_op(page, &spec_ops[i]);
    PUT("\n## Errors\n\nA failed request has the body `{\"error\": \"why\"}` and one of these statuses.\n\n"
        "| Status | Kind |\n|---|---|\n");
    for (int code = ERR_NONE + 1; code < ERR_COUNT; code++)
        PUT("| %d | `%s` |\n", err_status((enum err_code)code), err_name((enum err_code)code));
    PUT("\n## Objects\n\nNotation: `{name:type}` is an object, `?` marks members that may be absent, `[type]` is an "
        "array, `<type>` an object whose values are of that type, `'a|b'` one of these strings, `@Name` another "
        "object of this list, `type~` may be null, `(a b)` is either of them. Times are milliseconds since the Unix "
        "epoch.\n");
    for (const struct schema *s = schemas_rows; s->name; s++)
        PUT("\n### %s\n\n%s.\n\n`%s`\n", s->name, s->help, s->shape);
    return buf_steal(page, NULL);
}

static void put_code(struct buf *page, const char *text)
{
    if (*text)
        PUT("`%s` | ", text);
    else
        PUT("| ");
}

char *spec_settings_md(void)
{
    struct buf b = BUF_INIT(PAGE_MAX), *page = &b;
    PUT("# Configuration\n\nGenerated from `src/base/settings.def`; do not edit. A flag of `iii serve` overrides the "
        "environment, the "
        "environment overrides the configuration file (`--config FILE`, YAML), the file overrides the default. An "
        "empty variable "
        "counts "
        "as not set; an invalid number in the environment is reported and the default is used. Booleans are "
        "`true` "
        "or `1`, `false` or `0`.\n\nA running server reads the file again when it changes; the rows "
        "`functions.*` take effect with the next call, other rows at the next start: "
        "[operations](operations.md#a-configuration-that-changes).\n\n| Environment | Flag | File | Default | Allowed "
        "| Meaning "
        "|\n|---|---|---|---|---|---|\n");
    for (const struct settings_row *row = settings_rows; row->field; row++) {
        PUT("| `%s` | ", row->env);
        put_code(page, row->flag);
        put_code(page, row->yaml);
        put_code(page, row->fallback);
        if (row->type == 'i')
            PUT("%lld to %lld | ", (long long)row->min, (long long)row->max);
        else if (row->type == 's' || row->type == 'j')
            PUT("at most %lld bytes | ", (long long)row->max);
        else
            PUT("true, false | ");
        put_cell(page, row->help);
        PUT(" |\n");
    }
    return buf_steal(page, NULL);
}

char *spec_limits_md(void)
{
    static const struct {
        const char *name, *min, *max, *usual, *unit, *what;
    } rows[] = {
#define ROW(row, min, max, usual, unit, what) { #row, #min, #max, #usual, unit, what },
        LIMITS_EACH(ROW)
#undef ROW
    };
    struct buf b = BUF_INIT(PAGE_MAX), *page = &b;
    PUT("# Limits by number\n\nMade from `src/base/limits.def`; do not edit. The bounds and defaults that requests, "
        "settings, "
        "backends and documents share. An empty field: there is no such bound, or no default. What they mean for one "
        "sandbox is in [limits](limits.md); what an operator can change is in [configuration](configuration.md).\n\n"
        "| Name | Smallest | Largest | Default | Unit | What |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        PUT("| `%s` | %s | %s | %s | %s | %s |\n", rows[i].name, rows[i].min, rows[i].max, rows[i].usual, rows[i].unit,
            rows[i].what);
    return buf_steal(page, NULL);
}
