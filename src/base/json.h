/* JSON by jansson, plus the few readers every room needs. Null counts as absent everywhere. May include: base/. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"

static inline json_t *json_unref(json_t *j)
{
    json_decref(j);
    return NULL;
}
DEFINE_CLEANUP(json_t *, json_unref)
#define JSON_OWNED CLEANUP(json_unref_p) json_t *

/* Strict RFC 8259 text, depth-limited, any top-level value; NUL bytes and trailing bytes rejected. -EINVAL with line
 * and column in err. */
int json_read(const char *text, size_t len, json_t **ret, struct err *err);
char *json_write(const json_t *j, size_t *ret_len); /* compact, any value; caller frees; ret_len may be NULL */

/* The member if it exists and is not null; otherwise NULL. Borrowed. */
json_t *json_get(const json_t *obj, const char *key);
const char *json_get_str(const json_t *obj, const char *key, const char *fallback); /* borrowed */
int64_t json_get_int(const json_t *obj, const char *key, int64_t fallback);         /* ints and integral reals */
double json_get_num(const json_t *obj, const char *key, double fallback);
bool json_get_bool(const json_t *obj, const char *key, bool fallback);

/* A JSON string from bytes that may not be UTF-8: bad sequences become U+FFFD, NUL is kept as \u0000. */
json_t *json_text(const char *bytes, size_t len);
