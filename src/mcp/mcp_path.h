/* An operation and its parameters as a REST request. May include: base/, spec/. */
#pragma once
#include "base/json.h"
#include "spec/spec.h"

/* "/prefix/sandboxes/sbx_1/exec", path parts percent-encoded. Caller frees. */
char *mcp_path_of(const struct op *op, const json_t *params, const char *prefix);
/* The same with the query behind it, for operations without a body; what cannot stand in a query is left to the body.
 */
char *mcp_path_with_query(const struct op *op, const json_t *params, const char *prefix);
/* Parameters that belong into a JSON body; NULL: none is needed. Caller owns. */
json_t *mcp_path_body(const struct op *op, const json_t *params);
