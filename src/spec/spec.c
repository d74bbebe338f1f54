/* Theory of operation. The table itself (spec_ops, from ops.def) and the check of parameters against a row. Rows are
 * constant; spec_check() changes the caller's object in place and keeps nothing.
 *
 * check_fields() takes each field of the row; check_value() selects the function of its type. Each returns a verdict
 * and possibly a value that replaces the given one: "12" becomes 12 where a number is meant, a clamped number is moved
 * into its range, a lenient field of the wrong type and a null are removed. Objects and lists with members recurse. The
 * first value that fails ends the check, and err names field, value and limit; members that are not fields stay.
 *
 * What was clamped, dropped or is not a field becomes a warning. A request without any costs one comparison: that of
 * the object's size with the number of fields found in it. */
#include "spec/spec.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/warnings.h"
#include "spec/fields.h"

#define KEY_MAX     LIMIT_MAX(NAME_BYTES) /* of a key in FIELD_STR_MAP */
#define WORDS_MAX   LIMIT_MAX(COMMAND_WORDS)
#define SHOWN       40  /* bytes of a refused value that go into the message */
#define WHERE_MAX   256 /* bytes of "rules[3].action" */
#define GUESSES_MAX 64  /* names that are compared with a missing one */

/* What a check of one value came to. */
enum verdict { FINE, REFUSED, WRONG_TYPE };

/* One object of the request, and the field that it is the value of. */
struct place {
    const struct place *in; /* NULL: the request itself */
    const struct field *field;
    ssize_t index; /* in a list; -1: not in one */
};

/* One check: what it goes by, and what it tells. */
struct check {
    const struct settings *settings; /* or NULL */
    json_t **warnings;               /* or NULL */
    const struct place *place;
    struct err *err;
};

const struct op spec_ops[OP_ALL] = {
#define OP(id, fn, method, path, fields, reply, flags, help) \
    [OP_ID_##id] = { #id, fn, method, path, fields, reply, flags, help, OP_GROUP },
#define OPS_REST_END
#include "spec/ops.def"
};

static const char *const type_names[] = {
    [FIELD_STR] = "text",
    [FIELD_INT] = "a whole number",
    [FIELD_NUM] = "a number",
    [FIELD_BOOL] = "true or false",
    [FIELD_OBJ] = "an object",
    [FIELD_STR_MAP] = "an object of texts",
    [FIELD_STR_LIST] = "an array of texts",
    [FIELD_OBJ_LIST] = "an array of objects",
    [FIELD_COMMAND] = "text or an array of texts",
    [FIELD_ANY] = "any value",
};

/* --- warnings --- */

/* "rules[3].": what stands before the names of the fields of this object. */
static void add_place(struct buf *to, const struct place *at)
{
    if (!at)
        return;
    add_place(to, at->in);
    (void)(at->index < 0 ? buf_addf(to, "%s.", at->field->name) : buf_addf(to, "%s[%zd].", at->field->name, at->index));
}

/* text begins with the name of a field. */
static void warn_here(const struct check *k, const char *text)
{
    CLEANUP(buf_done) struct buf where = BUF_INIT(WHERE_MAX); /* tables nest a few names, which are short */
    if (!k->warnings)
        return;
    add_place(&where, k->place);
    warnings_add(k->warnings, "%s%s", buf_text(&where), text);
}

static const struct field *field_named(const struct field *fields, const char *name)
{
    for (const struct field *f = fields; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

/* The engine adds the second one to what a worker sends. */
static bool is_unknown(const struct field *fields, const char *name)
{
    return !field_named(fields, name) && strcmp(name, "_caller_worker_id") != 0;
}

static void warn_unknown(const struct check *k, const struct field *fields, const json_t *obj)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)obj, name, value)
    {
        struct nearest near = { .name = name };
        CLEANUP(buf_done) struct buf where = BUF_INIT(WHERE_MAX);
        if (!is_unknown(fields, name))
            continue;
        if (json_array_size(*k->warnings) > WARNINGS_MAX)
            break; /* none is added any more */
        for (const struct field *f = fields; f->name; f++)
            nearest_offer(&near, f->name);
        add_place(&where, k->place);
        (void)buf_addf(&where, "%.*s", SHOWN, name);
        warnings_add_unknown(k->warnings, "field", buf_text(&where), near.found);
    }
}

/* --- texts --- */

static bool has_nul(const json_t *text)
{
    return memchr(json_string_value(text), '\0', json_string_length(text)) != NULL;
}

void spec_header_name(const struct field *f, char out[SPEC_HEADER_MAX])
{
    size_t n = 0;
    for (const char *at = f->name; *at && n + 2 < SPEC_HEADER_MAX; at++) {
        bool is_capital = *at >= 'A' && *at <= 'Z';
        if (is_capital)
            out[n++] = '-';
        out[n++] = at == f->name ? (char)(*at & ~0x20) : *at;
    }
    out[n] = '\0';
}

bool spec_is_choice(const char *choices, const char *text)
{
    size_t n = strlen(text);
    for (const char *at = choices; *at;) {
        size_t len = strcspn(at, "|");
        if (len == n && memcmp(at, text, n) == 0)
            return true;
        at += len + (at[len] == '|');
    }
    return false;
}

static void no_choice(const struct field *f, const char *text, struct err *err)
{
    struct nearest near = { .name = text };
    for (const char *at = f->choices; *at;) {
        char known[NEAREST_MAX];
        size_t len = strcspn(at, "|");
        (void)snprintf(known, sizeof(known), "%.*s", (int)len, at);
        nearest_offer(&near, known);
        at += len + (at[len] == '|');
    }
    (void)err_set(err, ERR_INVALID, 0, "%s: \"%.*s\" is none of %s%s%s%s", f->name, SHOWN, text, f->choices,
                  *near.found ? "; did you mean \"" : "", near.found, *near.found ? "\"?" : "");
}

static enum verdict check_str(const struct field *f, const json_t *v, struct err *err)
{
    if (!json_is_string(v))
        return WRONG_TYPE;
    size_t n = json_string_length(v);
    if (!(f->flags & FIELD_BYTES) && has_nul(v))
        (void)err_set(err, ERR_INVALID, 0, "%s: holds a NUL byte", f->name);
    else if (n < f->min && n == 0)
        (void)err_set(err, ERR_INVALID, 0, "%s: must not be empty", f->name);
    else if (n < f->min || n > f->max)
        (void)err_set(err, ERR_INVALID, 0, "%s: %zu bytes long, allowed are %.0f to %.0f", f->name, n, f->min, f->max);
    else if (f->choices && !spec_is_choice(f->choices, json_string_value(v)))
        no_choice(f, json_string_value(v), err);
    else
        return FINE;
    return REFUSED;
}

/* --- numbers and booleans: JSON values, or their text --- */

/* Plain decimal only: strtod would also take hexadecimal, infinities and leading blanks. */
static bool read_number(const json_t *v, double *ret)
{
    if (json_is_number(v)) {
        *ret = json_number_value(v);
        return true;
    }
    const char *text = json_string_value(v);
    if (!text || !*text || has_nul(v) || text[strspn(text, "0123456789+-.eE")] ||
        !isdigit((unsigned char)text[strlen(text) - 1]))
        return false;
    char *end;
    *ret = strtod(text, &end);
    return *end == '\0' && isfinite(*ret);
}

static bool read_whole(const json_t *v, int64_t *ret)
{
    if (json_is_integer(v)) {
        *ret = json_integer_value(v);
        return true;
    }
    const char *text = json_string_value(v);
    if (text) {
        const char *digits = text + (*text == '-');
        if (!*digits || has_nul(v) || digits[strspn(digits, "0123456789")])
            return false;
        *ret = strtoll(text, NULL, 10); /* out of range saturates, and then the field's own range decides */
        return true;
    }
    double d = json_real_value(v); /* 0 when it is not a real, which the next line rejects */
    if (!json_is_real(v) || d != floor(d))
        return false;
    *ret = d >= 9e18 ? INT64_MAX : d <= -9e18 ? INT64_MIN : (int64_t)d;
    return true;
}

const char *spec_ceiling(const struct field *f)
{
    const struct settings_row *row = settings_rows;
    while (f->ceiling && row->offset != f->ceiling)
        row++;
    return f->ceiling ? row->env : NULL;
}

static double most_of(const struct check *k, const struct field *f)
{
    if (!f->ceiling || !k->settings)
        return f->max;
    double most = (double)*(const int64_t *)((const char *)k->settings + f->ceiling);
    return most < f->max ? most : f->max;
}

/* FINE with *value moved into the field's range, or REFUSED. */
static enum verdict check_range(const struct check *k, const struct field *f, double *value)
{
    char text[200];
    double most = most_of(k, f), moved = *value < f->min ? f->min : *value > most ? most : *value;
    if (moved == *value)
        return FINE;
    const char *setting = k->settings ? spec_ceiling(f) : NULL;
    (void)snprintf(text, sizeof(text), "%s: %.16g is not between %.16g and %.16g%s%s%s", f->name, *value, f->min, most,
                   setting ? " (" : "", setting ? setting : "", setting ? ")" : "");
    if (!(f->flags & FIELD_CLAMP)) {
        (void)err_set(k->err, ERR_INVALID, 0, "%s", text);
        return REFUSED;
    }
    warn_here(k, text);
    *value = moved;
    return FINE;
}

static enum verdict check_int(const struct check *k, const struct field *f, const json_t *v, json_t **ret)
{
    int64_t n;
    if ((f->flags & FIELD_JSON && !json_is_number(v)) || !read_whole(v, &n))
        return WRONG_TYPE;
    /* A lenient field wants a non-negative integer: a negative one is a wrong type, not a small value. */
    if (n < 0 && f->min >= 0 && f->flags & FIELD_LENIENT)
        return WRONG_TYPE;
    double moved = (double)n;
    if (check_range(k, f, &moved) != FINE)
        return REFUSED;
    *ret = json_integer(moved == (double)n ? n : (int64_t)moved);
    return FINE;
}

static enum verdict check_num(const struct check *k, const struct field *f, const json_t *v, json_t **ret)
{
    double d;
    if (!read_number(v, &d))
        return WRONG_TYPE;
    if (check_range(k, f, &d) != FINE)
        return REFUSED;
    *ret = json_real(d);
    return FINE;
}

static enum verdict check_bool(const struct field *f, const json_t *v, json_t **ret)
{
    const char *text = json_string_value(v);
    if (json_is_boolean(v))
        return FINE;
    if (f->flags & FIELD_JSON || !text || has_nul(v) || !spec_is_choice("true|false|1|0", text))
        return WRONG_TYPE;
    *ret = json_boolean(*text == 't' || *text == '1');
    return FINE;
}

/* --- objects and arrays --- */

static int check_fields(const struct check *k, const struct field *fields, json_t *obj);

/* The fields of an object that is the value of f, or of its entry `index`. */
static int check_inner(const struct check *k, const struct field *f, ssize_t index, json_t *obj)
{
    const struct place here = { .in = k->place, .field = f, .index = index };
    struct check inner = *k;
    inner.place = &here;
    return f->members ? check_fields(&inner, f->members, obj) : 0;
}

static enum verdict check_count(const struct field *f, size_t n, const char *what, struct err *err)
{
    if (n >= f->min && n <= f->max)
        return FINE;
    (void)err_set(err, ERR_INVALID, 0, "%s: %zu %s, allowed are %.0f to %.0f", f->name, n, what, f->min, f->max);
    return REFUSED;
}

static enum verdict check_entry(const struct field *f, const char *key, const json_t *v, struct err *err)
{
    size_t max = f->entry_max > 0 ? (size_t)f->entry_max : SPEC_ENTRY_MAX;
    if (!json_is_string(v))
        (void)err_set(err, ERR_INVALID, 0, "%s[%.*s]: must be text", f->name, SHOWN, key);
    else if (has_nul(v))
        (void)err_set(err, ERR_INVALID, 0, "%s[%.*s]: holds a NUL byte", f->name, SHOWN, key);
    else if (json_string_length(v) > max)
        (void)err_set(err, ERR_INVALID, 0, "%s[%.*s]: %zu bytes long, at most %zu are allowed", f->name, SHOWN, key,
                      json_string_length(v), max);
    else
        return FINE;
    return REFUSED;
}

static enum verdict check_map(const struct field *f, json_t *v, struct err *err)
{
    const char *key;
    json_t *value;
    if (!json_is_object(v))
        return WRONG_TYPE;
    if (check_count(f, json_object_size(v), "entries", err) != FINE)
        return REFUSED;
    json_object_foreach(v, key, value)
    {
        if (strlen(key) > KEY_MAX) {
            (void)err_set(err, ERR_INVALID, 0, "%s: a key is %zu bytes long, at most %d are allowed", f->name,
                          strlen(key), KEY_MAX);
            return REFUSED;
        }
        if (check_entry(f, key, value, err) != FINE)
            return REFUSED;
    }
    return FINE;
}

/* A query string can hold an object only as its JSON text; a client that cannot send a body with GET needs that. */
static enum verdict check_map_text(const struct field *f, json_t *v, json_t **ret, struct err *err)
{
    json_t *read = NULL;
    const char *text = json_string_value(v);
    if (!text || *text != '{' || json_read(text, json_string_length(v), &read, NULL) < 0)
        return check_map(f, v, err);
    enum verdict is = check_map(f, read, err);
    if (is == FINE)
        *ret = read;
    else
        json_decref(read);
    return is;
}

/* A number or boolean as its JSON text; NULL: it is neither. Caller owns. */
static json_t *scalar_text(const json_t *v)
{
    if (!json_is_number(v) && !json_is_boolean(v))
        return NULL;
    CLEANUP(free_p) char *text = json_write(v, NULL);
    return json_string(text);
}

static enum verdict check_text(const struct field *f, json_t *v, json_t **ret, struct err *err)
{
    json_t *text = f->flags & FIELD_SCALAR ? scalar_text(v) : NULL;
    enum verdict is = check_str(f, text ? text : v, err);
    if (is == FINE)
        *ret = text;
    else
        json_decref(text);
    return is;
}

static enum verdict check_list(const struct field *f, json_t *v, struct err *err)
{
    size_t i;
    json_t *value;
    char where[24];
    if (!json_is_array(v))
        return WRONG_TYPE;
    if (check_count(f, json_array_size(v), "entries", err) != FINE)
        return REFUSED;
    json_array_foreach(v, i, value)
    {
        json_t *text = f->flags & FIELD_SCALAR ? scalar_text(value) : NULL;
        if (text && json_array_set_new(v, i, text) == 0)
            value = text;
        (void)snprintf(where, sizeof(where), "%zu", i);
        if (check_entry(f, where, value, err) != FINE)
            return REFUSED;
    }
    return FINE;
}

static enum verdict check_obj_list(const struct check *k, const struct field *f, json_t *v)
{
    size_t i;
    json_t *value;
    if (!json_is_array(v))
        return WRONG_TYPE;
    if (check_count(f, json_array_size(v), "entries", k->err) != FINE)
        return REFUSED;
    json_array_foreach(v, i, value)
    {
        if (!json_is_object(value)) {
            (void)err_set(k->err, ERR_INVALID, 0, "%s[%zu]: must be an object", f->name, i);
            return REFUSED;
        }
        if (check_inner(k, f, (ssize_t)i, value) < 0) {
            (void)err_wrap(k->err, 0, "%s[%zu]", f->name, i);
            return REFUSED;
        }
    }
    return FINE;
}

static enum verdict check_obj(const struct check *k, const struct field *f, json_t *v)
{
    if (!json_is_object(v))
        return WRONG_TYPE;
    if (check_count(f, json_object_size(v), "members", k->err) != FINE)
        return REFUSED;
    if (check_inner(k, f, -1, v) < 0) {
        (void)err_wrap(k->err, 0, "%s", f->name);
        return REFUSED;
    }
    return FINE;
}

/* The length of an argument list is the sum of its arguments. */
static enum verdict check_command(const struct field *f, json_t *v, struct err *err)
{
    size_t i, total = 0;
    json_t *word;
    if (json_is_string(v))
        return check_str(f, v, err);
    if (!json_is_array(v))
        return WRONG_TYPE;
    if (json_array_size(v) == 0 || json_array_size(v) > WORDS_MAX) {
        (void)err_set(err, ERR_INVALID, 0, "%s: %zu arguments, allowed are 1 to %d", f->name, json_array_size(v),
                      WORDS_MAX);
        return REFUSED;
    }
    json_array_foreach(v, i, word)
    {
        if (!json_is_string(word) || has_nul(word)) {
            (void)err_set(err, ERR_INVALID, 0, "%s[%zu]: must be text without NUL bytes", f->name, i);
            return REFUSED;
        }
        total += json_string_length(word);
    }
    if (json_string_length(json_array_get(v, 0)) == 0 || total > f->max) {
        (void)err_set(err, ERR_INVALID, 0,
                      "%s: the program must not be empty, and all arguments together have at most %.0f bytes", f->name,
                      f->max);
        return REFUSED;
    }
    return FINE;
}

/* *ret is set when the value is to be replaced by another. */
static enum verdict check_value(const struct check *k, const struct field *f, json_t *v, json_t **ret)
{
    switch (f->type) {
    case FIELD_STR:
        return check_text(f, v, ret, k->err);
    case FIELD_INT:
        return check_int(k, f, v, ret);
    case FIELD_NUM:
        return check_num(k, f, v, ret);
    case FIELD_BOOL:
        return check_bool(f, v, ret);
    case FIELD_OBJ:
        return check_obj(k, f, v);
    case FIELD_STR_MAP:
        return check_map_text(f, v, ret, k->err);
    case FIELD_STR_LIST:
        return check_list(f, v, k->err);
    case FIELD_OBJ_LIST:
        return check_obj_list(k, f, v);
    case FIELD_COMMAND:
        return check_command(f, v, k->err);
    case FIELD_ANY:
        return FINE;
    }
    return FINE;
}

/* A missing field may be there under a wrong name. */
static int refuse_missing(const struct check *k, const struct field *fields, const struct field *f, const json_t *obj)
{
    const char *name;
    json_t *value;
    size_t n = 0;
    json_object_foreach((json_t *)(uintptr_t)obj, name, value)
    {
        struct nearest near = { .name = name };
        if (n++ == GUESSES_MAX)
            break;
        nearest_offer(&near, f->name);
        if (*near.found && is_unknown(fields, name))
            return err_set(k->err, ERR_INVALID, 0, "%s is required; \"%.*s\" is not a field", f->name, SHOWN, name);
    }
    return err_set(k->err, ERR_INVALID, 0, "%s is required", f->name);
}

/* A value of the wrong type counts as absent in a lenient field. */
static int drop_lenient(const struct check *k, const struct field *f, json_t *obj)
{
    char text[100];
    bool is_count = f->type == FIELD_INT && f->min >= 0 && f->flags & FIELD_LENIENT;
    (void)snprintf(text, sizeof(text), "%s: must be %s%s", f->name, type_names[f->type], is_count ? ", 0 or more" : "");
    if (!(f->flags & FIELD_LENIENT))
        return err_set(k->err, ERR_INVALID, 0, "%s", text);
    warn_here(k, text);
    return json_object_del(obj, f->name);
}

static int check_fields(const struct check *k, const struct field *fields, json_t *obj)
{
    size_t given = json_object_size(obj), known = 0;
    for (const struct field *f = fields; f->name; f++) {
        json_t *v = json_object_get(obj, f->name), *other = NULL;
        known += v != NULL;
        if (json_is_null(v)) {
            (void)json_object_del(obj, f->name); /* it is there: it was just found */
            v = NULL;
        }
        if (!v) {
            if (f->flags & FIELD_REQUIRED)
                return refuse_missing(k, fields, f, obj);
            continue;
        }
        enum verdict is = check_value(k, f, v, &other);
        if (is == REFUSED && f->flags & FIELD_PATH && f->type == FIELD_STR)
            return err_set(k->err, ERR_NOT_FOUND, 0, "not found: no %s is like \"%.*s\"", f->name, SHOWN,
                           json_string_value(v));
        if (is == REFUSED || (is == WRONG_TYPE && drop_lenient(k, f, obj) < 0))
            return -EINVAL;
        if (other && json_object_set_new(obj, f->name, other) < 0)
            return err_set(k->err, ERR_INTERNAL, ENOMEM, "%s", f->name);
    }
    if (known < given && k->warnings)
        warn_unknown(k, fields, obj);
    return 0;
}

int spec_check(const struct op *op, json_t *params, const struct settings *settings, json_t **warnings, struct err *err)
{
    const struct check k = { .settings = settings, .warnings = warnings, .err = err };
    return check_fields(&k, op->fields, params);
}

/* The next word of a list that commas separate: *at is moved behind it. false: there is none. */
static bool next_word(const char **at, char word[NEAREST_MAX])
{
    if (!**at)
        return false;
    size_t len = strcspn(*at, ",");
    (void)snprintf(word, NEAREST_MAX, "%.*s", (int)(len < NEAREST_MAX ? len : NEAREST_MAX), *at);
    *at += len + ((*at)[len] == ',');
    return true;
}

bool spec_op_in(const struct op *op, const char *words)
{
    char word[NEAREST_MAX];
    while (next_word(&words, word))
        if (strcmp(word, op->group) == 0 || strcmp(word, op->fn) == 0)
            return true;
    return false;
}

int spec_check_words(const char *words, struct err *err)
{
    char word[NEAREST_MAX];
    while (next_word(&words, word)) {
        struct nearest near = { .name = word };
        int i = 0;
        for (; i < OP_ALL && !spec_op_in(&spec_ops[i], word); i++) {
            nearest_offer(&near, spec_ops[i].group);
            nearest_offer(&near, spec_ops[i].fn);
        }
        if (i == OP_ALL)
            return err_set(err, ERR_INVALID, 0, "operations: \"%s\" is not a group or an operation%s%s%s", word,
                           *near.found ? "; did you mean " : "", near.found, *near.found ? "?" : "");
    }
    return 0;
}
