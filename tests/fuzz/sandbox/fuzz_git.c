/* What a sandbox's git prints is whatever the sandbox wants. The first byte picks the reader. */
#include <stdint.h>
#include <stdlib.h>

#include "sandbox/exec/git.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static json_t *(*const readers[])(const char *, size_t) = { git_status_json, git_log_json, git_refs_json };
    if (size < 1)
        return 0;
    JSON_OWNED got = readers[data[0] % 3]((const char *)data + 1, size - 1);
    CLEANUP(free_p) char *text = json_write(got, NULL);
    if (!text) /* it must always be JSON that can be sent */
        abort();
    return 0;
}
