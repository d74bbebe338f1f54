/* What a driver process inside a sandbox writes: any bytes must come out as frames inside of them, or be refused. */
#include <assert.h>
#include <stdint.h>

#include "sandbox/exec/kernel_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data;
    struct kernel_wire_frame f;
    int n;
    while ((n = kernel_wire_next(at, size, &f)) > 0) {
        assert((size_t)n <= size && f.data + f.len == at + n && f.len <= KERNEL_WIRE_PAYLOAD);
        at += n;
        size -= (size_t)n;
    }
    return 0;
}
