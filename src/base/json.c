#include "base/json.h"

#include <errno.h>
#include <math.h>
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

char *json_write(const json_t *j, size_t *ret_len)
{
    char *s = json_dumps(j, JSON_COMPACT | JSON_ENCODE_ANY);
    if (!s)
        s = xstrdup("null");
    if (ret_len)
        *ret_len = strlen(s);
    return s;
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
