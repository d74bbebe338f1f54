/* Theory of operation. The tools are constant rows over the operation table, made from spec/ops.def: first those of the
 * contract at fixed places, then the others in order. Nothing here has state, except the two lists of descriptions that
 * are built at first use.
 *
 * A row's args is a small language, one struct word for each argument: "shown:field=default(choices)", with "!"
 * for a fixed value that clients do not see and "@" instead of ":" for seconds from now. next_word() parses it. From
 * the words come the input schema, with the types and limits of the operation's fields, and the parameters of a call,
 * which must pass spec_check(). Rows are ours and a test reads each; arguments are untrusted, and a bad one is
 * ERR_INVALID with its name. */
#include "mcp/mcp_tool.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/nearest.h"
#include "base/warnings.h"
#include "spec/schemas.h"

#define NAME_MAX_BYTES 64
#define TEXT_MAX_BYTES 256
#define PREFIX         "sandbox_" /* of every name: a test looks */
#define DEPTH_MAX      32

#define JSON     MCP_TOOL_JSON
#define TEXT     MCP_TOOL_TEXT
#define SAY      MCP_TOOL_SAY
#define EXEC     MCP_TOOL_EXEC
#define CODE     MCP_TOOL_CODE
#define ENV      MCP_TOOL_ENV
#define LINES    MCP_TOOL_LINES
#define CONTEXT  MCP_TOOL_CONTEXT
#define BYTES    MCP_TOOL_BYTES
#define DESTROYS MCP_TOOL_DESTROYS
#define REPEATS  MCP_TOOL_REPEATS
#define OPEN     MCP_TOOL_OPEN
#define CORE     MCP_TOOL_CORE
/* clang-format off */
#define ROW(name, title, op, args, form, detail, hints, help) { #name, title, OP_ID_##op, args, form, detail, hints, help }
/* clang-format on */
/* The places of the tools that are not in the contract: after those, in the order of the table. */
enum {
    LAST_OF_CONTRACT = 38,
#define TOOL(name, ...) AT_##name,
#include "spec/ops.def"
    TOOL_COUNT
};
const struct mcp_tool mcp_tool_rows[] = {
#define TOOL(name, ...)       [AT_##name] = ROW(name, __VA_ARGS__),
#define CONTRACT_TOOL(n, ...) [(n)-1] = ROW(__VA_ARGS__),
#include "spec/ops.def"
    [TOOL_COUNT] = { 0 },
};

const struct mcp_tool *mcp_tool_find(const char *name)
{
    for (const struct mcp_tool *t = mcp_tool_rows; t->name; t++)
        if (strcmp(t->name, name) == 0)
            return t;
    return NULL;
}

static bool has_name(const struct mcp_tool *t, const char *name, size_t len)
{
    bool is_prefix = len > 0 && name[len - 1] == '*';
    const char *full = t->name, *brief = t->name + strlen(PREFIX);
    len -= is_prefix;
    return (strncmp(full, name, len) == 0 && (is_prefix || !full[len])) ||
           (strncmp(brief, name, len) == 0 && (is_prefix || !brief[len]));
}

static bool is_in_set(const struct mcp_tool *t, const char *set, size_t len)
{
    if (len == strlen("all") && strncmp(set, "all", len) == 0)
        return true;
    if (len == strlen("core") && strncmp(set, "core", len) == 0)
        return t->hints & MCP_TOOL_CORE;
    return len == strlen("contract") && strncmp(set, "contract", len) == 0 && t - mcp_tool_rows <= LAST_OF_CONTRACT;
}

bool mcp_tool_is_lean(const char *choice)
{
    return choice && strcmp(choice, "core") == 0;
}

bool mcp_tool_is_chosen(const struct mcp_tool *t, const char *choice)
{
    if (!choice || !*choice)
        choice = "contract";
    for (const char *at = choice; *at; at += strcspn(at, ","), at += *at == ',') {
        at += strspn(at, " ");
        size_t len = strcspn(at, ", ");
        if (len > 0 && (is_in_set(t, at, len) || has_name(t, at, len)))
            return true;
    }
    return false;
}

/* --- the arguments of a row --- */

struct word {
    char shown[NAME_MAX_BYTES], field[NAME_MAX_BYTES];
    char fallback[TEXT_MAX_BYTES]; /* "": none */
    char choices[TEXT_MAX_BYTES];  /* "": the field's */
    bool is_fixed, is_from_now;
};

/* Copies up to one of the stop letters; the rows are ours, and a test reads each of them. */
static void copy_part(const char **at, const char *stops, char *out, size_t size)
{
    size_t len = strcspn(*at, stops);
    (void)snprintf(out, size, "%.*s", (int)len, *at);
    *at += len;
}

static bool next_word(const char **at, struct word *ret)
{
    *ret = (struct word){ 0 };
    *at += strspn(*at, " ");
    if (!**at)
        return false;
    ret->is_fixed = **at == '!';
    *at += ret->is_fixed;
    copy_part(at, " :@=(", ret->shown, sizeof(ret->shown));
    (void)snprintf(ret->field, sizeof(ret->field), "%s", ret->shown);
    if (**at == ':' || **at == '@') {
        ret->is_from_now = *(*at)++ == '@';
        copy_part(at, " =(", ret->field, sizeof(ret->field));
    }
    if (**at == '=') {
        (*at)++;
        copy_part(at, " (", ret->fallback, sizeof(ret->fallback));
    }
    if (**at == '(') {
        (*at)++;
        copy_part(at, ")", ret->choices, sizeof(ret->choices));
        (*at)++;
    }
    return true;
}

static const struct field *field_of(const struct mcp_tool *t, const struct word *w)
{
    const struct field *f = spec_ops[t->op].fields;
    while (f->name && strcmp(f->name, w->field) != 0)
        f++;
    return f->name ? f : NULL;
}

/* --- what clients see --- */

/* Some clients accept neither a list of types nor an empty schema. */
static void spell_out(json_t *schema)
{
    static const char *const kinds[] = { "string", "number", "boolean", "object", "array", "null" };
    json_t *types = json_object_get(schema, "type");
    size_t words = json_object_get(schema, "description") ? 1 : 0;
    JSON_OWNED list = json_array();
    if (json_is_array(types)) {
        for (size_t i = 0; i < json_array_size(types); i++)
            (void)json_array_append_new(list, json_pack("{s:O}", "type", json_array_get(types, i)));
    } else if (json_object_size(schema) == words) {
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
            (void)json_array_append_new(list, json_pack("{s:s}", "type", kinds[i]));
    } else {
        return;
    }
    (void)json_object_del(schema, "type");
    (void)json_object_set(schema, "anyOf", list);
}

static void spell_out_all(json_t *schema)
{
    const char *key;
    json_t *value, *properties = json_object_get(schema, "properties"), *items = json_object_get(schema, "items");
    json_object_foreach(properties, key, value)
    {
        spell_out_all(value);
        spell_out(value);
    }
    if (json_is_object(items)) {
        spell_out_all(items);
        spell_out(items);
    }
}

/* Lengths are left out: they cost tokens in every conversation, and the server checks them anyway. */
static void leave_out_lengths(json_t *schema)
{
    static const char *const names[] = { "maxLength", "minLength", "maxItems", "maxProperties", "minProperties" };
    const char *key;
    json_t *value;
    size_t i;
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        (void)json_object_del(schema, names[i]);
    if (json_number_value(json_object_get(schema, "maximum")) > 9e18) { /* what JSON numbers can be */
        (void)json_object_del(schema, "minimum");
        (void)json_object_del(schema, "maximum");
        (void)json_object_del(schema, "format");
    }
    json_object_foreach(schema, key, value)
    {
        if (json_is_object(value))
            leave_out_lengths(value);
    }
}

static json_t *argument_schema(const struct mcp_tool *t, const struct word *w)
{
    struct field f = *field_of(t, w);
    if (*w->fallback)
        f.fallback = NULL;
    if (*w->choices)
        f.choices = w->choices;
    if (w->is_from_now)
        return json_pack("{s:s, s:i, s:s}", "type", "integer", "minimum", 1, "description", "Seconds from now on");
    if (f.type == FIELD_COMMAND) { /* an array is accepted, too, but one form is clearer to a model */
        f.type = FIELD_STR;
        f.help = "Shell command";
    }
    json_t *schema = spec_field_schema(&f);
    leave_out_lengths(schema);
    if (*w->fallback)
        (void)json_object_set_new(schema, "default", json_string(w->fallback));
    return schema;
}

static json_t *input_schema(const struct mcp_tool *t)
{
    json_t *properties = json_object();
    JSON_OWNED required = json_array();
    struct word w;
    for (const char *at = t->args; next_word(&at, &w);) {
        if (w.is_fixed)
            continue;
        (void)json_object_set_new(properties, w.shown, argument_schema(t, &w));
        if (field_of(t, &w)->flags & FIELD_REQUIRED && !*w.fallback)
            (void)json_array_append_new(required, json_string(w.shown));
    }
    json_t *schema = json_pack("{s:s, s:o}", "type", "object", "properties", properties);
    if (json_array_size(required) > 0)
        (void)json_object_set(schema, "required", required);
    spell_out_all(schema);
    return schema;
}

/* Replaces references by their schema: many clients cannot resolve them. */
static json_t *without_refs(const json_t *schema, int depth)
{
    const char *key, *ref = json_get_str(schema, "$ref", NULL), *last = ref ? strrchr(ref, '/') : NULL;
    json_t *value;
    if (!json_is_object(schema) && !json_is_array(schema))
        return json_deep_copy(schema);
    if (depth > DEPTH_MAX)
        return json_is_array(schema) ? json_array() : json_object();
    if (last)
        return without_refs(spec_schema(last + 1), depth + 1);
    if (json_is_array(schema)) {
        json_t *list = json_array();
        for (size_t i = 0; i < json_array_size(schema); i++)
            (void)json_array_append_new(list, without_refs(json_array_get(schema, i), depth + 1));
        return list;
    }
    json_t *copy = json_object();
    json_object_foreach((json_t *)(uintptr_t)schema, key, value)
    {
        (void)json_object_set_new(copy, key, without_refs(value, depth + 1));
    }
    return copy;
}

json_t *mcp_tool_output_schema(const struct mcp_tool *t)
{
    json_t *schema = without_refs(spec_schema(spec_ops[t->op].reply), 0);
    spell_out_all(schema);
    if (t->form == MCP_TOOL_LINES) /* a stream's events */
        schema = json_pack("{s:s, s:o}", "type", "array", "items", schema);
    if (strcmp(json_get_str(schema, "type", ""), "object") == 0)
        return schema;
    return json_pack("{s:s, s:{s:o}, s:[s]}", "type", "object", "properties", "result", schema, "required", "result");
}

/* Keeps the first clause of each argument's description: defaults and ranges are the server's to apply. */
static void shorten_arguments(json_t *schema)
{
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(schema, "properties"), key, value)
    {
        const char *help = json_get_str(value, "description", "");
        size_t clause = strcspn(help, ";(");
        while (clause > 0 && help[clause - 1] == ' ')
            clause--;
        (void)json_object_set_new(value, "description", json_stringn(help, clause));
    }
}

json_t *mcp_tool_describe(const struct mcp_tool *t, enum mcp_tool_detail detail)
{
    bool is_read = !(spec_ops[t->op].flags & OP_MUTATES);
    if (detail == MCP_TOOL_LEAN) {
        json_t *schema = input_schema(t);
        shorten_arguments(schema);
        return json_pack("{s:s, s:s, s:o, s:{s:b}}", "name", t->name, "description", t->help, "inputSchema", schema,
                         "annotations", "readOnlyHint", is_read);
    }
    json_t *about =
        json_pack("{s:s, s:s, s:s, s:o, s:{s:s, s:b, s:b, s:b, s:b}}", "name", t->name, "title", t->title,
                  "description", t->help, "inputSchema", input_schema(t), "annotations", "title", t->title,
                  "readOnlyHint", is_read, "destructiveHint", (t->hints & MCP_TOOL_DESTROYS) != 0, "idempotentHint",
                  is_read || t->hints & MCP_TOOL_REPEATS, "openWorldHint", (t->hints & MCP_TOOL_OPEN) != 0);
    if (detail == MCP_TOOL_FULL)
        (void)json_object_set_new(about, "outputSchema", mcp_tool_output_schema(t));
    return about;
}

json_t *mcp_tool_list(enum mcp_tool_detail detail)
{
    static json_t *lists[MCP_TOOL_FULL + 1]; /* constant once made: the rows in another form */
    if (!lists[detail]) {
        lists[detail] = json_array();
        for (const struct mcp_tool *t = mcp_tool_rows; t->name; t++)
            (void)json_array_append_new(lists[detail], mcp_tool_describe(t, detail));
    }
    return lists[detail];
}

/* --- arguments to parameters --- */

/* The value of an absent argument: the row's default or its fixed value. NULL: none. */
static json_t *default_value(const struct word *w)
{
    json_t *value = NULL;
    if (!*w->fallback)
        return NULL;
    if (w->is_fixed && json_read(w->fallback, strlen(w->fallback), &value, NULL) == 0)
        return value;
    return json_string(w->fallback);
}

static int check_word(const struct field *f, const struct word *w, const json_t *value, struct err *err)
{
    const char *text = json_string_value(value);
    if (!value)
        return f->flags & FIELD_REQUIRED ? err_set(err, ERR_INVALID, 0, "%s: it is required", w->shown) : 0;
    if (strcmp(w->shown, w->field) != 0 && !w->is_from_now && !text)
        return err_set(err, ERR_INVALID, 0, "%s: a text is needed", w->shown);
    if (*w->choices && (!text || !spec_is_choice(w->choices, text)))
        return err_set(err, ERR_INVALID, 0, "%s: \"%.60s\" is not one of %s", w->shown, text ? text : "", w->choices);
    return 0;
}

/* known: how many of the arguments the tool has. */
static void warn_unknown(const struct mcp_tool *t, const json_t *args, size_t known, json_t **warnings)
{
    const char *name;
    json_t *value;
    if (json_object_size(args) == known)
        return;
    json_object_foreach((json_t *)(uintptr_t)args, name, value)
    {
        struct nearest near = { .name = name };
        struct word w;
        bool is_known = false;
        for (const char *at = t->args; next_word(&at, &w);) {
            is_known |= !w.is_fixed && strcmp(w.shown, name) == 0;
            if (!w.is_fixed)
                nearest_offer(&near, w.shown);
        }
        if (!is_known && json_array_size(*warnings) <= WARNINGS_MAX)
            warnings_add_unknown(warnings, "argument", name, near.found);
    }
}

int mcp_tool_params(const struct mcp_tool *t, const json_t *args, int64_t now_ms, json_t **ret, json_t **warnings,
                    struct err *err)
{
    JSON_OWNED params = json_object();
    struct word w;
    size_t known = 0;
    if (args && !json_is_object(args) && !json_is_null(args))
        return err_set(err, ERR_INVALID, 0, "arguments: an object is needed");
    for (const char *at = t->args; next_word(&at, &w);) {
        json_t *given = w.is_fixed ? NULL : json_get(args, w.shown);
        known += !w.is_fixed && json_object_get(args, w.shown);
        JSON_OWNED value = given ? json_deep_copy(given) : default_value(&w);
        int r = check_word(field_of(t, &w), &w, value, err);
        if (r < 0)
            return r;
        double seconds = json_number_value(value);
        if (value && w.is_from_now && (!json_is_number(value) || !(seconds >= 1) || seconds > 1e9))
            return err_set(err, ERR_INVALID, 0, "%s: a number of seconds, from 1 on, is needed", w.shown);
        if (value && w.is_from_now)
            (void)json_object_set_new(params, w.field, json_integer(now_ms + (int64_t)(seconds * 1000)));
        else if (value)
            (void)json_object_set(params, w.field, value);
    }
    warn_unknown(t, args, known, warnings);
    int r = spec_check(&spec_ops[t->op], params, NULL, warnings, err);
    if (r == 0)
        *ret = STEAL(params);
    return r;
}
