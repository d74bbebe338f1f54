/* Kernels and their modules, which an operator may have from anywhere. The first byte picks who reads the rest: a
 * bzImage, with what is packed in it; an ELF kernel; a module's needs. What was found lies in the input, and a
 * version's text is safe as a folder's name. */
#include "../feed.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/inflate.h"
#include "vm/boot/bzimage.h"
#include "vm/boot/module.h"

#define UNPACKED_MAX 65536

static void try_image(const uint8_t *data, size_t size)
{
    struct bzimage b;
    struct err err = ERR_INIT;
    struct stat st;
    if (bzimage_parse(data, size, &b, &err) < 0) {
        MUST(err.code == ERR_INVALID);
        return;
    }
    MUST(b.at < size && b.len <= size - b.at);
    MUST(!strchr(b.version, '/') && b.version[0] != '.' && strlen(b.version) < sizeof(b.version));
    int out = memfd_create("fuzz", MFD_CLOEXEC);
    MUST(out >= 0);
    (void)inflate_stream(data + b.at, b.len, out, UNPACKED_MAX, "it", &err); /* whatever comes of it */
    MUST(fstat(out, &st) == 0 && st.st_size <= UNPACKED_MAX);
    MUST(close(out) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char depends[256];
    bool is_pvh = false;
    struct err err = ERR_INIT;
    if (size == 0)
        return 0;
    uint8_t *copy = (uint8_t *)feed_bytes(data + 1, size - 1);
    if (data[0] % 3 == 0)
        try_image(copy, size - 1);
    else if (data[0] % 3 == 1)
        (void)bzimage_check_elf(copy, size - 1, &is_pvh, &err); /* whatever comes of it */
    else if (vm_module_depends(copy, size - 1, depends, sizeof(depends), &err) == 0)
        MUST(strlen(depends) < sizeof(depends));
    free(copy);
    return 0;
}
