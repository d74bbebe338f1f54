#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"

int json_read(const char *text, size_t len, json_t **ret, struct err *err)
{
    json_error_t why;
    json_t *j = json_loadb(text, len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!j)
        return err_set(err, ERR_INVALID, 0, "invalid JSON at line %d, column %d: %s", why.line, why.column, why.text);
    *ret = j;
    return 0;
}

/* How deep a text is nested and how many keys and values it has, without building any of them. What is not JSON is
 * counted somehow: the parser refuses it. */
static int check_shape(const char *text, size_t len, struct err *err)
{
    size_t values = 0, depth = 0;
    bool is_next = true; /* a key or a value may begin here */
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
            continue;
        values += is_next && c != ']' && c != '}';
        is_next = c == '[' || c == '{' || c == ',' || c == ':';
        depth += c == '[' || c == '{';
        depth -= depth && (c == ']' || c == '}');
        if (c == '"')
            for (i++; i < len && text[i] != '"'; i++)
                i += text[i] == '\\';
        if (depth > JSON_DEPTH_MAX)
            return err_set(err, ERR_INVALID, 0, "invalid JSON: nested more than %d levels deep", JSON_DEPTH_MAX);
        if (values > JSON_VALUES_MAX)
            return err_set(err, ERR_TOO_LARGE, 0, "JSON with more than %d keys and values: send fewer at a time",
                           JSON_VALUES_MAX);
    }
    return 0;
}

int json_read_input(const char *text, size_t len, json_t **ret, struct err *err)
{
    int r = check_shape(text, len, err);
    return r < 0 ? r : json_read(text, len, ret, err);
}

/* Documents are built from many small parts, and when a part cannot be allocated jansson returns a document without it.
 * So small allocations abort, as x*() do; large ones fail, and the code that reads or writes the text reports it. */
#define SMALL_BYTES (1u << 20)

static void *json_alloc(size_t size)
{
    void *p = malloc(size);
    if (!p && size <= SMALL_BYTES)
        abort();
    return p;
}

__attribute__((constructor)) static void set_memory(void)
{
    json_set_alloc_funcs(json_alloc, free);
}

static int write_string(struct buf *out, const char *s, size_t len)
{
    static const char hex[] = "0123456789ABCDEF", shorts[] = "btn?fr"; /* of bytes 8 to 13; 11 has none */
    int r = buf_add_char(out, '"');
    for (size_t i = 0, from = 0; r >= 0 && i <= len; i++) {
        unsigned char c = i < len ? (unsigned char)s[i] : '"';
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        char escape[] = { '\\', (char)c, '0', '0', hex[c >> 4], hex[c & 15] };
        bool is_short = c >= 0x20 || (c >= '\b' && c <= '\r' && c != '\v');
        if (c < 0x20)
            escape[1] = is_short ? shorts[c - '\b'] : 'u';
        r = buf_add(out, s + from, i - from);
        if (r >= 0 && i < len)
            r = buf_add(out, escape, is_short ? 2 : sizeof(escape));
        from = i + 1;
    }
    return r < 0 ? r : buf_add_char(out, '"');
}

static int add_bytes(const char *bytes, size_t len, void *arg)
{
    return buf_add(arg, bytes, len) < 0 ? -1 : 0;
}

static int write_value(struct buf *out, const json_t *j);

static int write_object(struct buf *out, const json_t *j)
{
    const char *key;
    json_t *value;
    int r = buf_add_char(out, '{'), n = 0;
    json_object_foreach((json_t *)(uintptr_t)j, key, value)
    {
        if (r >= 0 && n++)
            r = buf_add_char(out, ',');
        if (r >= 0)
            r = write_string(out, key, strlen(key));
        if (r >= 0)
            r = buf_add_char(out, ':');
        if (r >= 0)
            r = write_value(out, value);
    }
    return r < 0 ? r : buf_add_char(out, '}');
}

/* jansson calls snprintf() for each control character: a second for 10 MiB of them. */
static int write_value(struct buf *out, const json_t *j)
{
    char number[24];
    int r = 0;
    switch (json_typeof(j)) {
    case JSON_OBJECT:
        return write_object(out, j);
    case JSON_ARRAY:
        r = buf_add_char(out, '[');
        for (size_t i = 0; r >= 0 && i < json_array_size(j); i++) {
            if (i)
                r = buf_add_char(out, ',');
            if (r >= 0)
                r = write_value(out, json_array_get(j, i));
        }
        return r < 0 ? r : buf_add_char(out, ']');
    case JSON_STRING:
        return write_string(out, json_string_value(j), json_string_length(j));
    case JSON_INTEGER:
        (void)snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(j));
        return buf_add_str(out, number);
    case JSON_TRUE:
        return buf_add_str(out, "true");
    case JSON_FALSE:
        return buf_add_str(out, "false");
    case JSON_NULL:
        return buf_add_str(out, "null");
    case JSON_REAL: /* how many digits a real needs is jansson's to know */
        return json_dump_callback(j, add_bytes, out, JSON_ENCODE_ANY) < 0 ? -ENOMEM : 0;
    }
    return -EINVAL;
}

char *json_write(const json_t *j, size_t *ret_len)
{
    struct buf out = BUF_INIT(SIZE_MAX / 4); /* whoever makes the document bounds it */
    if (!j || write_value(&out, j) < 0) {
        if (j && out.len < SMALL_BYTES)
            abort();
        buf_done(&out);
        (void)buf_add_str(&out, "null");
    }
    return buf_steal(&out, ret_len);
}

size_t json_weight(const json_t *j, size_t enough, bool *ret_is_own)
{
    size_t sum = 16;
    const char *key;
    json_t *value;
    *ret_is_own &= !j || j->refcount == 1 || j->refcount == SIZE_MAX;
    if (json_is_string(j)) {
        sum += json_string_length(j);
    } else if (json_is_array(j)) {
        for (size_t i = 0; sum < enough && i < json_array_size(j); i++)
            sum += json_weight(json_array_get(j, i), enough - sum, ret_is_own);
    } else if (json_is_object(j)) {
        json_object_foreach((json_t *)(uintptr_t)j, key, value)
        {
            if (sum < enough)
                sum += strlen(key) + json_weight(value, enough - sum, ret_is_own);
        }
    }
    return sum;
}

json_t *json_get(const json_t *obj, const char *key)
{
    json_t *v = json_object_get(obj, key);
    return json_is_null(v) ? NULL : v;
}

const char *json_get_str(const json_t *obj, const char *key, const char *fallback)
{
    json_t *v = json_get(obj, key);
    return json_is_string(v) ? json_string_value(v) : fallback;
}

int64_t json_get_int(const json_t *obj, const char *key, int64_t fallback)
{
    json_t *v = json_get(obj, key);
    if (json_is_integer(v))
        return json_integer_value(v);
    if (json_is_real(v)) {
        double d = json_real_value(v);
        if (d == floor(d) && fabs(d) < 9e15)
            return (int64_t)d;
    }
    return fallback;
}

double json_get_num(const json_t *obj, const char *key, double fallback)
{
    json_t *v = json_get(obj, key);
    return json_is_number(v) ? json_number_value(v) : fallback;
}

bool json_get_bool(const json_t *obj, const char *key, bool fallback)
{
    json_t *v = json_get(obj, key);
    return json_is_boolean(v) ? json_is_true(v) : fallback;
}

json_t *json_text(const char *bytes, size_t len)
{
    json_t *j = json_stringn(bytes, len);
    if (j)
        return j;
    struct buf fixed = BUF_INIT(len * 3 + 16);
    (void)utf8_repair(bytes, len, &fixed); /* max is the worst case, so it fits */
    j = json_stringn_nocheck(buf_text(&fixed), fixed.len);
    buf_done(&fixed);
    return j;
}
