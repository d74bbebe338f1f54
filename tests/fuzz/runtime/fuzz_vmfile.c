/* The record beside a saved machine: what is taken of it is safe as part of a path, and a machine that could be. */
#include "../feed.h"

#include "runtime/vm/vm_core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vmimage image = { 0 };
    struct err err = ERR_INIT;
    int64_t changed = 0;
    char *text = feed_bytes(data, size);
    int r = vmfile_parse(text, size, &image, &changed, &err);
    MUST(r == 0 || err.code);
    if (r == 0) {
        MUST(!image.folder && image.base[0] && strspn(image.base, "0123456789abcdef") == strlen(image.base));
        MUST(image.memory_mb >= VMWIRE_MEMORY_MIN && image.memory_mb <= VMWIRE_MEMORY_MAX);
        MUST(image.cpus >= 1 && image.cpus <= VMWIRE_CPUS_MAX && image.disk_mb <= VMWIRE_DISK_MB);
    }
    free(text);
    return 0;
}
