/* A request as the launcher gets it: checked, and then its list walked. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/native/cell.h"
#include "runtime/native/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    struct wire_request *q =
        malloc(size > sizeof(*q) ? size : sizeof(*q)); /* exact, so that a read past the end shows */
    if (!q)
        return 0;
    if (size)
        memcpy(q, data, size);
    if (wire_request_check(q, size, &err) == 0) {
        uint32_t at = 0;
        size_t total = 0;
        for (const char *s; (s = cellroot_next(q, &at));)
            total += strlen(s) + 1;
        if (total != q->extra_len)
            abort();
    }
    free(q);
    return 0;
}
