/* Signed URLs of files: files/content of one sandbox and one path without a token, until they expire. Untrusted: the
 * request. May include: base/, http/, spec/, api/. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"
#include "http/server.h"
#include "spec/spec.h"

struct api;
struct caller;

/* Whether the request shows one: then it counts, and no token that comes with it. op: its row, or NULL. */
bool file_link_is_one(const struct http_req *r, const struct op *op);
/* On whose behalf it is: a reference to the token that signed it. ERR_FORBIDDEN, with the same text whatever is wrong.
 */
int file_link_check(struct api *a, struct http_req *r, const struct op *op, struct caller **ret, struct err *err);
/* When it is carried out: uses up one that works once. ERR_FORBIDDEN as above. */
int file_link_use(struct api *a, const struct http_req *r, const struct op *op, struct err *err);
void file_link_strip(json_t *params); /* leaves the fields of the row */
