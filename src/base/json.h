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
/* The same for what clients, workers and guests send: nested at most JSON_DEPTH_MAX deep, and with at most
 * JSON_VALUES_MAX keys and values, which is known before any of them is built (-EFBIG). */
#define JSON_DEPTH_MAX  512
#define JSON_VALUES_MAX 200000
int json_read_input(const char *text, size_t len, json_t **ret, struct err *err);
char *json_write(const json_t *j, size_t *ret_len); /* compact, any value; caller frees; ret_len may be NULL */
/* About how many bytes its text has; counting stops at enough. *ret_is_own becomes false when somebody else holds a
 * part of what was counted. */
size_t json_weight(const json_t *j, size_t enough, bool *ret_is_own);

/* The member if it exists and is not null; otherwise NULL. Borrowed. */
json_t *json_get(const json_t *obj, const char *key);
const char *json_get_str(const json_t *obj, const char *key, const char *fallback); /* borrowed */
int64_t json_get_int(const json_t *obj, const char *key, int64_t fallback);         /* ints and integral reals */
double json_get_num(const json_t *obj, const char *key, double fallback);
bool json_get_bool(const json_t *obj, const char *key, bool fallback);

/* A JSON string from bytes that may not be UTF-8: bad sequences become U+FFFD, NUL is kept as \u0000. */
json_t *json_text(const char *bytes, size_t len);
