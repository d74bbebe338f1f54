/* Replies of operations as people read them. The reply's schema (spec/) decides the form: one text member is printed as
 * it is, a list of objects becomes a table, everything else NAME value pairs. A table takes its columns from the
 * schema, drops those that say nothing in these rows, and shrinks the widest until a row fits on a terminal; struct
 * table owns the text of each column and lives for one print. Values are untrusted and pass display_clean(), except
 * file content and command output. Nothing here can fail: a member of an unexpected type is printed as JSON. */
#include "cli/operation_output.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/buf.h"
#include "cli/display.h"

enum { COLUMNS_MAX = 32, NAME_MAX_BYTES = 64, LEAST_WIDTH = 8 };

/* --- single values --- */

const char *operation_output_time(int64_t ms, char ret[32])
{
    time_t s = (time_t)(ms / 1000);
    struct tm tm;
    if (!localtime_r(&s, &tm) || !strftime(ret, 32, "%Y-%m-%d %H:%M:%S", &tm))
        (void)snprintf(ret, 32, "-");
    return ret;
}

void operation_output_raw(const json_t *text, FILE *to)
{
    if (json_is_string(text))
        (void)fwrite(json_string_value(text), 1, json_string_length(text), to);
}

const char *operation_output_colour(const char *state, FILE *to)
{
    static const struct {
        const char *word;
        enum display_colour colour;
    } known[] = { { "running", DISPLAY_GOOD },  { "completed", DISPLAY_GOOD },  { "idle", DISPLAY_GOOD },
                  { "active", DISPLAY_GOOD },   { "healthy", DISPLAY_GOOD },    { "paused", DISPLAY_FAINT },
                  { "pending", DISPLAY_FAINT }, { "cancelled", DISPLAY_FAINT }, { "failed", DISPLAY_BAD },
                  { "expired", DISPLAY_BAD },   { "error", DISPLAY_BAD },       { "dead", DISPLAY_BAD } };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(known[i].word, state) == 0)
            return display_on(to, known[i].colour);
    return "";
}

static bool is_time(const char *name)
{
    static const char *const others[] = { "timestamp",   "expires",       "created",      "lastUsed",
                                          "lastChecked", "lastTriggered", "lastHeartbeat" };
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (strcmp(name, others[i]) == 0)
            return true;
    return n > 2 && strcmp(name + n - 2, "At") == 0;
}

/* A value for a table or after a name; caller frees. */
static char *shown(const char *name, const json_t *value)
{
    char when[32];
    if (!value || json_is_null(value))
        return xstrdup("-");
    if (json_is_string(value))
        return display_clean(json_string_value(value));
    if (json_is_boolean(value))
        return xstrdup(json_is_true(value) ? "yes" : "no");
    if (json_is_integer(value) && is_time(name))
        return xstrdup(json_integer_value(value) ? operation_output_time(json_integer_value(value), when) : "-");
    if (json_is_real(value))
        return xasprintf("%.6g", json_real_value(value));
    if (!json_is_array(value)) {
        CLEANUP(free_p) char *text = json_write(value, NULL);
        return display_clean(text);
    }
    CLEANUP(buf_done) struct buf list = BUF_INIT(SIZE_MAX / 4);
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *one = json_array_get(value, i);
        CLEANUP(free_p) char *text = json_is_string(one) ? xstrdup(json_string_value(one)) : json_write(one, NULL);
        (void)buf_addf(&list, "%s%s", i ? "," : "", text);
    }
    return display_clean(buf_text(&list));
}

/* "containerPort" as a heading: "CONTAINER PORT"; "createdAt": "CREATED". */
static void heading(const char *name, char ret[NAME_MAX_BYTES])
{
    size_t n = 0, len = strlen(name);
    if (is_time(name) && len > 2 && strcmp(name + len - 2, "At") == 0)
        len -= 2;
    for (size_t i = 0; i < len && n + 2 < NAME_MAX_BYTES; i++) {
        if (isupper((unsigned char)name[i]) && i)
            ret[n++] = ' ';
        ret[n++] = (char)toupper((unsigned char)name[i]);
    }
    ret[n] = '\0';
}

/* --- tables --- */

struct table {
    const char *names[COLUMNS_MAX];
    char heads[COLUMNS_MAX][NAME_MAX_BYTES];
    int widths[COLUMNS_MAX];
    size_t n, n_rows;
    char **cells; /* n_rows * n */
};

/* The schema itself, with references resolved. */
static const json_t *resolve(const json_t *schema)
{
    const char *ref = json_get_str(schema, "$ref", NULL);
    const char *slash = ref ? strrchr(ref, '/') : NULL;
    return slash ? spec_schema(slash + 1) : schema;
}

/* Whether a column is useful: some row has it, none has a nested value, and it does not repeat the id. */
static bool is_telling(const json_t *rows, const char *name, bool is_wide)
{
    bool has_one = false, is_other = strcmp(name, "id") == 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *value = json_get(row, name);
        if (!is_wide && (json_is_object(value) || (json_is_array(value) && json_is_object(json_array_get(value, 0)))))
            return false;
        has_one = has_one || value;
        is_other = is_other || !value || !json_equal(value, json_object_get(row, "id"));
    }
    return has_one && is_other;
}

static int letters(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += (*text & 0xc0) != 0x80;
    return n;
}

/* On a terminal the widest columns shrink until a row fits on a line; the first, which names the row, does not. */
static void squeeze(struct table *t, FILE *to)
{
    struct winsize size;
    if (!isatty(fileno(to)) || ioctl(fileno(to), TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return;
    for (;;) {
        int sum = 0;
        size_t widest = 1;
        for (size_t c = 0; c < t->n; c++) {
            sum += t->widths[c] + 2;
            widest = c > 1 && t->widths[c] > t->widths[widest] ? c : widest;
        }
        if (t->n < 2 || sum - 2 <= size.ws_col || t->widths[widest] <= LEAST_WIDTH)
            return;
        t->widths[widest]--;
    }
}

static void print_cell(const struct table *t, size_t c, const char *text, FILE *to)
{
    int len = letters(text), width = t->widths[c];
    const char *p = text;
    for (int left = len > width ? width - 1 : len; *p && (left > 0 || (*p & 0xc0) == 0x80); p++) {
        left -= (*p & 0xc0) != 0x80;
        if (left < 0)
            break;
        (void)fputc(*p, to);
    }
    if (len > width)
        (void)fputs("…", to);
    if (c + 1 < t->n)
        (void)fprintf(to, "%*s", len < width ? width - len + 2 : 2, "");
}

static void print_rows(const struct table *t, FILE *to)
{
    for (size_t c = 0; c < t->n; c++) {
        (void)fputs(display_on(to, DISPLAY_BOLD), to);
        print_cell(t, c, t->heads[c], to);
        (void)fputs(display_off(to), to);
    }
    (void)fputc('\n', to);
    for (size_t r = 0; r < t->n_rows; r++) {
        for (size_t c = 0; c < t->n; c++) {
            const char *text = t->cells[r * t->n + c], *colour = operation_output_colour(text, to);
            (void)fputs(colour, to);
            print_cell(t, c, text, to);
            (void)fputs(*colour ? display_off(to) : "", to);
        }
        (void)fputc('\n', to);
    }
}

static void print_table(const json_t *schema, const json_t *rows, const struct operation_output_style *style, FILE *to)
{
    struct table t = { .n_rows = json_array_size(rows) };
    const json_t *properties = schema ? json_get(resolve(schema), "properties") : json_array_get(rows, 0);
    const char *name;
    json_t *kind;
    json_object_foreach((json_t *)(uintptr_t)properties, name, kind)
    {
        const char *type = json_get_str(resolve(kind), "type", "");
        bool is_plain = t.n_rows ? is_telling(rows, name, style->is_wide) : strcmp(type, "object") != 0;
        if (!is_plain || t.n == COLUMNS_MAX)
            continue;
        heading(name, t.heads[t.n]);
        t.names[t.n++] = name;
    }
    t.cells = xzalloc((t.n_rows * t.n + 1) * sizeof(*t.cells));
    for (size_t c = 0; c < t.n; c++) {
        t.widths[c] = letters(t.heads[c]);
        for (size_t r = 0; r < t.n_rows; r++) {
            char *text = shown(t.names[c], json_object_get(json_array_get(rows, r), t.names[c]));
            t.cells[r * t.n + c] = text;
            t.widths[c] = letters(text) > t.widths[c] ? letters(text) : t.widths[c];
        }
    }
    if (!style->is_whole)
        squeeze(&t, to);
    if (t.n > 0)
        print_rows(&t, to);
    for (size_t i = 0; i < t.n_rows * t.n; i++)
        free(t.cells[i]);
    free(t.cells);
}

void operation_output_table(const json_t *rows, const struct operation_output_style *style, FILE *to)
{
    print_table(NULL, rows, style, to);
}

/* --- replies --- */

/* without: a member to leave out, or NULL. */
static void print_pairs(const json_t *object, const char *without, FILE *to)
{
    const char *name;
    json_t *value;
    int width = 0;
    json_object_foreach((json_t *)(uintptr_t)object, name, value) width =
        (int)strlen(name) > width ? (int)strlen(name) : width;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        if (without && strcmp(name, without) == 0)
            continue;
        CLEANUP(free_p) char *text = shown(name, value), *clean = display_clean(name);
        (void)fprintf(to, "%s%-*s%s  %s%s%s\n", display_on(to, DISPLAY_BOLD), width, clean, display_off(to),
                      operation_output_colour(text, to), text,
                      *operation_output_colour(text, to) ? display_off(to) : "");
    }
}

static void print_base64(const json_t *text, FILE *to)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT(SIZE_MAX / 4);
    if (base64_decode(json_string_value(text), json_string_length(text), &bytes) < 0)
        operation_output_raw(text, to);
    else
        (void)fwrite(buf_text(&bytes), 1, bytes.len, to);
}

/* The member that is a list of objects, when there is exactly one. */
static const char *list_member(const json_t *schema)
{
    const json_t *properties = json_get(schema, "properties");
    const char *name, *found = NULL;
    json_t *kind;
    json_object_foreach((json_t *)(uintptr_t)properties, name, kind)
    {
        const json_t *items = json_get(resolve(kind), "items");
        if (!items || strcmp(json_get_str(resolve(items), "type", ""), "object") != 0)
            continue;
        if (found)
            return NULL;
        found = name;
    }
    return found;
}

/* Whether the other members are only counts, which a table does not need. */
static bool is_plain_list(const json_t *reply, const char *list)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)reply, name, value)
    {
        if (strcmp(name, list) != 0 && !json_is_integer(value))
            return false;
    }
    return json_object_size(reply) <= 4;
}

static int print_text_answer(const json_t *reply, const json_t *text, FILE *to)
{
    const char *error = json_get_str(reply, "error", NULL);
    if (json_is_string(json_get(reply, "encoding")) && strcmp(json_get_str(reply, "encoding", ""), "base64") == 0)
        print_base64(text, to);
    else
        operation_output_raw(text, to);
    (void)fflush(to);
    if (error)
        (void)fprintf(stderr, "%s%s", error, error[0] && error[strlen(error) - 1] == '\n' ? "" : "\n");
    return error != NULL;
}

static int print_object(const json_t *schema, const json_t *reply, const struct operation_output_style *style, FILE *to)
{
    const char *list = list_member(schema), *name;
    const json_t *output = json_object_get(reply, "output"), *diff = json_object_get(reply, "diff");
    json_t *variables = json_get(reply, "vars"), *value;
    if (json_is_integer(json_get(reply, "exitCode")) && json_is_string(json_get(reply, "stdout"))) {
        operation_output_raw(json_object_get(reply, "stdout"), to);
        (void)fflush(to);
        operation_output_raw(json_object_get(reply, "stderr"), stderr);
        if (json_get_bool(reply, "stdoutTruncated", false) || json_get_bool(reply, "stderrTruncated", false))
            (void)fprintf(stderr, "note: the output exceeds what the server keeps; use --stream to get all of it\n");
        return (int)json_get_int(reply, "exitCode", 1) & 0xff;
    }
    if (json_is_string(output) || json_is_string(diff))
        return print_text_answer(reply, json_is_string(output) ? output : diff, to);
    if (list && json_is_array(json_get(reply, list))) {
        if (!is_plain_list(reply, list))
            print_pairs(reply, list, to);
        print_table(json_get(resolve(json_get(json_get(schema, "properties"), list)), "items"), json_get(reply, list),
                    style, to);
        return 0;
    }
    if (!variables)
        print_pairs(reply, NULL, to);
    json_object_foreach(variables, name, value)
    {
        CLEANUP(free_p) char *text = shown("", value), *clean = display_clean(name);
        (void)fprintf(to, "%s=%s\n", clean, text);
    }
    return 0;
}

int operation_output_reply(const char *schema, const json_t *reply, const struct operation_output_style *style,
                           FILE *to)
{
    const json_t *shape = resolve(spec_schema(schema));
    if (json_is_object(reply))
        return print_object(shape, reply, style, to);
    if (json_is_array(reply) && json_is_object(json_array_get(reply, 0))) {
        const json_t *items = json_get(shape, "items"), *either = json_get(shape, "anyOf");
        print_table(items ? items : json_get(json_array_get(either, 0), "items"), reply, style, to);
    } else if (json_is_array(reply)) {
        for (size_t i = 0; i < json_array_size(reply); i++) {
            CLEANUP(free_p) char *text = shown("", json_array_get(reply, i));
            (void)fprintf(to, "%s\n", text);
        }
    } else if (json_is_string(reply) && strcmp(schema, "Base64") == 0) {
        print_base64(reply, to);
    } else if (json_is_string(reply)) {
        operation_output_raw(reply, to);
    } else {
        display_json(reply, to);
    }
    return 0;
}

/* --- forms --- */

int operation_output_style(const struct verbs_args *a, struct operation_output_style *ret)
{
    static const char *const forms[] = { "table", "wide", "json", "name" };
    const char *given = verbs_value(a, "output");
    *ret = (struct operation_output_style){ .is_whole = verbs_value(a, "no-trunc") };
    if (verbs_wants_json(a))
        ret->form = OPERATION_OUTPUT_JSON;
    else if (verbs_value(a, "quiet"))
        ret->form = OPERATION_OUTPUT_NAME;
    for (size_t i = 0; given && i < sizeof(forms) / sizeof(*forms); i++)
        if (strcmp(given, forms[i]) == 0) {
            ret->form = (enum operation_output_form)i;
            given = NULL;
        }
    ret->is_wide = ret->form == OPERATION_OUTPUT_WIDE;
    ret->is_whole = ret->is_whole || ret->is_wide;
    return given ? verbs_usage_error(a->verb, "-o: \"%s\" is not one of table, wide, json and name", given) : 0;
}

/* The name of a row: its first member, as the schema has them, else its own first. */
static void print_name(const json_t *schema, const json_t *row, FILE *to)
{
    const json_t *properties = json_get(resolve(schema), "properties");
    void *first = json_object_iter((json_t *)(uintptr_t)(properties ? properties : row));
    const char *key = first ? json_object_iter_key(first) : "";
    CLEANUP(free_p) char *text = shown("", json_is_object(row) ? json_object_get(row, key) : row);
    (void)fprintf(to, "%s\n", text);
}

void operation_output_names(const char *schema, const json_t *reply, FILE *to)
{
    const json_t *shape = resolve(spec_schema(schema)), *items = json_get(shape, "items");
    const char *list = json_is_object(reply) ? list_member(shape) : NULL;
    const json_t *rows = list ? json_get(reply, list) : json_is_array(reply) ? reply : NULL;
    if (list)
        items = json_get(resolve(json_get(json_get(shape, "properties"), list)), "items");
    for (size_t i = 0; i < json_array_size(rows); i++)
        print_name(items, json_array_get(rows, i), to);
    if (!rows)
        print_name(shape, reply, to);
}

void operation_output_event(const json_t *event, FILE *to)
{
    char when[32];
    CLEANUP(free_p) char *topic = display_clean(json_get_str(event, "topic", "-"));
    CLEANUP(free_p) char *box = display_clean(json_get_str(event, "sandboxId", "-"));
    CLEANUP(free_p) char *data = json_write(json_object_get(event, "data"), NULL);
    CLEANUP(free_p) char *clean = display_clean(data ? data : "");
    (void)fprintf(to, "%s%s%s  %s%-18s%s  %s  %s\n", display_on(to, DISPLAY_FAINT),
                  operation_output_time(json_get_int(event, "timestamp", 0), when), display_off(to),
                  display_on(to, DISPLAY_BOLD), topic, display_off(to), box, clean);
    (void)fflush(to);
}
