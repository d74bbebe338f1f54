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
/* Adds the members of a JSON object. A body of another content type, an empty one and one that is not an object add
 * nothing; -EINVAL for malformed JSON. content_type may be NULL. */
int params_add_body(json_t *params, const char *content_type, const char *body, size_t len, struct err *err);
/* A body that is there, and was not read because of its content type. */
bool params_is_ignored(const char *content_type, const char *body, size_t len);
