/* The first byte picks the row, the rest is the JSON of its parameters. What passes must pass again unchanged. */
#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"
#include "spec/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    JSON_OWNED params = NULL;
    if (size < 1 || json_read((const char *)data + 1, size - 1, &params, &err) < 0 || !json_is_object(params))
        return 0;
    const struct op *op = &spec_ops[data[0] % OP_COUNT];
    if (spec_check(op, params, &err) < 0)
        return 0;
    JSON_OWNED before = json_deep_copy(params);
    if (spec_check(op, params, &err) < 0 || !json_equal(before, params))
        abort();
    return 0;
}
