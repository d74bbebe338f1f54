#include "api/dispatch.h"

#include <assert.h>

/* An operation without a handler does not link. */
static op_fn *const handlers[OP_ALL] = {
#define OP(id, ...)           [OP_ID_##id] = api_##id,
#define OP_ALIAS(id, of, ...) [OP_ID_##id] = api_##of,
#define OPS_REST_END
#include "spec/ops.def"
};

op_fn *dispatch_handler(const struct op *op)
{
    assert(op >= spec_ops && op < spec_ops + OP_ALL);
    return handlers[op - spec_ops];
}
