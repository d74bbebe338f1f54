/* The parameters of a request as one JSON object. Precedence, low to high: query string, JSON body, path.
 * Untrusted: everything. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/json.h"

#define PARAMS_QUERY_MAX 1000 /* pairs in a query string */

/* Adds the pairs of a raw query string ("a=1&b=%20") as texts; of equal names the last counts. -EINVAL: err says where.
 */
int params_add_query(json_t *params, const char *query, struct err *err);
/* A body to be read: not one of another content type, and not an empty one. content_type may be NULL. */
bool params_has_json(const char *content_type, const char *body, size_t len);
/* Adds the members of an object; what is none adds nothing. Takes parsed, which may be NULL. */
int params_take_body(json_t *params, json_t *parsed, struct err *err);
/* A body that is there, and was not read because of its content type. */
bool params_is_ignored(const char *content_type, const char *body, size_t len);
