/* What a monitor says before a vsock stream begins. A line that is taken is "OK " and the decimal port, and nothing
 * behind its end is looked at; every other line ends after a bounded number of bytes. */
#include "../feed.h"

#include "vm/vmm/vsock_connect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vsock_connect_answer a = { 0 };
    char again[32];
    size_t at = 0;
    int r = 0;
    while (r == 0 && at < size)
        r = vsock_connect_take(&a, (char)data[at++]);
    MUST(at <= 14 && r <= 1);
    if (r == 1) {
        int len = snprintf(again, sizeof(again), "OK %u\n", a.host_port);
        MUST((size_t)len == at && memcmp(again, data, at) == 0);
    }
    return 0;
}
