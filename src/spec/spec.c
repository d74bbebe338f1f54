/* Theory of operation. The table itself (spec_ops, from ops.def) and the check of parameters against a row. Rows are
 * constant; spec_check() changes the caller's object in place and keeps nothing.
 *
 * check_fields() takes each field of the row; check_value() selects the function of its type. Each returns a verdict
 * and possibly a value that replaces the given one: "12" becomes 12 where a number is meant, a clamped number is moved
 * into its range, a lenient field of the wrong type and a null are removed. Objects and lists with members recurse. The
 * first value that fails ends the check, and err names field, value and limit; members that are not fields stay. */
#include "spec/spec.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "spec/fields.h"

#define KEY_MAX   LIMIT_MAX(NAME_BYTES) /* of a key in FIELD_STR_MAP */
#define WORDS_MAX LIMIT_MAX(COMMAND_WORDS)
#define SHOWN     40 /* bytes of a refused value that go into the message */

/* What a check of one value came to. */
enum verdict { FINE, REFUSED, WRONG_TYPE };

const struct op spec_ops[OP_ALL] = {
#define OP(id, fn, method, path, fields, reply, flags, help) \
    [OP_ID_##id] = { #id, fn, method, path, fields, reply, flags, help },
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

/* --- texts --- */

static bool has_nul(const json_t *text)
{
    return memchr(json_string_value(text), '\0', json_string_length(text)) != NULL;
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
        (void)err_set(err, ERR_INVALID, 0, "%s: \"%.*s\" is none of %s", f->name, SHOWN, json_string_value(v),
                      f->choices);
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

static enum verdict check_int(const struct field *f, const json_t *v, json_t **ret, struct err *err)
{
    int64_t n;
    if ((f->flags & FIELD_JSON && !json_is_number(v)) || !read_whole(v, &n))
        return WRONG_TYPE;
    /* A lenient field wants a non-negative integer: a negative one is a wrong type, not a small value. */
    if (n < 0 && f->min >= 0 && f->flags & FIELD_LENIENT)
        return WRONG_TYPE;
    bool is_low = (double)n<f->min, is_high = (double)n> f->max;
    if ((is_low || is_high) && !(f->flags & FIELD_CLAMP)) {
        (void)err_set(err, ERR_INVALID, 0, "%s: %lld is not between %.0f and %.0f", f->name, (long long)n, f->min,
                      f->max);
        return REFUSED;
    }
    *ret = json_integer(is_low ? (int64_t)f->min : is_high ? (int64_t)f->max : n);
    return FINE;
}

static enum verdict check_num(const struct field *f, const json_t *v, json_t **ret, struct err *err)
{
    double d;
    if (!read_number(v, &d))
        return WRONG_TYPE;
    if ((d < f->min || d > f->max) && !(f->flags & FIELD_CLAMP)) {
        (void)err_set(err, ERR_INVALID, 0, "%s: %g is not between %g and %g", f->name, d, f->min, f->max);
        return REFUSED;
    }
    *ret = json_real(d < f->min ? f->min : d > f->max ? f->max : d);
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

static int check_fields(const struct field *fields, json_t *obj, struct err *err);

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

static enum verdict check_obj_list(const struct field *f, json_t *v, struct err *err)
{
    size_t i;
    json_t *value;
    if (!json_is_array(v))
        return WRONG_TYPE;
    if (check_count(f, json_array_size(v), "entries", err) != FINE)
        return REFUSED;
    json_array_foreach(v, i, value)
    {
        if (!json_is_object(value)) {
            (void)err_set(err, ERR_INVALID, 0, "%s[%zu]: must be an object", f->name, i);
            return REFUSED;
        }
        if (f->members && check_fields(f->members, value, err) < 0) {
            (void)err_wrap(err, 0, "%s[%zu]", f->name, i);
            return REFUSED;
        }
    }
    return FINE;
}

static enum verdict check_obj(const struct field *f, json_t *v, struct err *err)
{
    if (!json_is_object(v))
        return WRONG_TYPE;
    if (check_count(f, json_object_size(v), "members", err) != FINE)
        return REFUSED;
    if (f->members && check_fields(f->members, v, err) < 0) {
        (void)err_wrap(err, 0, "%s", f->name);
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
static enum verdict check_value(const struct field *f, json_t *v, json_t **ret, struct err *err)
{
    switch (f->type) {
    case FIELD_STR:
        return check_text(f, v, ret, err);
    case FIELD_INT:
        return check_int(f, v, ret, err);
    case FIELD_NUM:
        return check_num(f, v, ret, err);
    case FIELD_BOOL:
        return check_bool(f, v, ret);
    case FIELD_OBJ:
        return check_obj(f, v, err);
    case FIELD_STR_MAP:
        return check_map_text(f, v, ret, err);
    case FIELD_STR_LIST:
        return check_list(f, v, err);
    case FIELD_OBJ_LIST:
        return check_obj_list(f, v, err);
    case FIELD_COMMAND:
        return check_command(f, v, err);
    case FIELD_ANY:
        return FINE;
    }
    return FINE;
}

static int check_fields(const struct field *fields, json_t *obj, struct err *err)
{
    for (const struct field *f = fields; f->name; f++) {
        json_t *v = json_object_get(obj, f->name), *other = NULL;
        if (json_is_null(v)) {
            (void)json_object_del(obj, f->name); /* it is there: it was just found */
            v = NULL;
        }
        if (!v) {
            if (f->flags & FIELD_REQUIRED)
                return err_set(err, ERR_INVALID, 0, "%s is required", f->name);
            continue;
        }
        enum verdict is = check_value(f, v, &other, err);
        if (is == REFUSED && f->flags & FIELD_PATH && f->type == FIELD_STR)
            return err_set(err, ERR_NOT_FOUND, 0, "not found: no %s is like \"%.*s\"", f->name, SHOWN,
                           json_string_value(v));
        if (is == REFUSED)
            return -EINVAL;
        if (is == WRONG_TYPE && !(f->flags & FIELD_LENIENT))
            return err_set(err, ERR_INVALID, 0, "%s: must be %s", f->name, type_names[f->type]);
        if (is == WRONG_TYPE)
            (void)json_object_del(obj, f->name);
        else if (other && json_object_set_new(obj, f->name, other) < 0)
            return err_set(err, ERR_INTERNAL, ENOMEM, "%s", f->name);
    }
    return 0;
}

int spec_check(const struct op *op, json_t *params, struct err *err)
{
    return check_fields(op->fields, params, err);
}
