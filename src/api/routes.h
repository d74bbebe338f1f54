/* Method and path to a row of the table: a trie over path segments, literal segments before parameters. Paths are raw:
 * nothing is percent-decoded (ids never need it). May include: base/, spec/. */
#pragma once
#include <stddef.h>

#include "base/err.h"
#include "base/json.h"
#include "spec/spec.h"

struct routes;

struct routes *routes_new(const char *prefix, const struct op *ops, size_t n); /* ops stay the caller's */
struct routes *routes_free(struct routes *r);
DEFINE_CLEANUP(struct routes *, routes_free)

/* The row, with the path's parameters set in params (may be NULL). HEAD finds GET; one trailing slash is tolerated.
 * NULL: ERR_NOT_FOUND, or ERR_METHOD with the methods that would do in allow ("GET, HEAD, OPTIONS"). */
#define ROUTES_ALLOW_MAX 64
/* The parameters alone, of a path that this row was found for. */
int routes_params(const struct routes *r, const struct op *op, const char *path, json_t *params, struct err *err);
const struct op *routes_match(const struct routes *r, const char *method, const char *path, json_t *params,
                              char allow[ROUTES_ALLOW_MAX], struct err *err);
