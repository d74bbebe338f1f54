/* The record beside a saved machine: what is taken of it is safe as part of a path, and a machine that could be. */
#include "../feed.h"

#include "vm/vm_core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vm_image image = { 0 };
    struct err err = ERR_INIT;
    int64_t changed = 0;
    char *text = feed_bytes(data, size);
    int r = vm_image_file_parse(text, size, &image, &changed, &err);
    MUST(r == 0 || err.code);
    if (r == 0) {
        MUST(!image.folder && image.base[0] && strspn(image.base, "0123456789abcdefhost") == strlen(image.base));
        MUST(image.memory_mb >= VM_TOOL_WIRE_MEMORY_MIN && image.memory_mb <= VM_TOOL_WIRE_MEMORY_MAX);
        MUST(image.cpus >= 1 && image.cpus <= VM_TOOL_WIRE_CPUS_MAX && image.disk_mb <= VM_TOOL_WIRE_DISK_MB);
    }
    free(text);
    return 0;
}
