/* Query string and body, split at the first NUL, merged and then matched as a path too: all three are raw client bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/params.h"
#include "api/routes.h"
#include "base/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    char allow[ROUTES_ALLOW_MAX];
    CLEANUP(free_p) char *query = xstrndup((const char *)data, size);
    size_t used = strlen(query) < size ? strlen(query) + 1 : size;
    JSON_OWNED params = json_object();
    (void)params_add_query(params, query, &err); /* any verdict is fine; crashing is not */
    (void)params_add_body(params, "application/json", (const char *)data + used, size - used, &err);

    CLEANUP(routes_free_p) struct routes *r = routes_new("sandbox", spec_ops, OP_COUNT);
    const struct op *op = routes_match(r, "POST", query, params, allow, &err);
    if (op)
        (void)spec_check(op, params, &err);
    return 0;
}
