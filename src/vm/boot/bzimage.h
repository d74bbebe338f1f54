/* Linux kernel images: extracts the uncompressed kernel (an ELF file that a VMM starts at its PVH entry) from a
 * bzImage. The input is untrusted: every offset and length is checked, and the size of the output is bounded. May
 * include: base/, os/, archive/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define BZIMAGE_ELF_MAX (512u << 20) /* of a kernel, compressed or not */

struct bzimage {
    size_t at, len;   /* the compressed stream */
    char version[64]; /* "6.1.0-54-cloud-amd64"; "" when the image does not say */
};

bool bzimage_is_elf(const uint8_t *data, size_t len);
/* Finds the compressed kernel. -EINVAL when it is not a bzImage or is inconsistent. */
int bzimage_parse(const uint8_t *data, size_t len, struct bzimage *ret, struct err *err);
/* Checks for an x86-64 ELF file. *ret_is_pvh: it has a PVH entry, which QEMU and Firecracker need. */
int bzimage_check_elf(const uint8_t *data, size_t len, bool *ret_is_pvh, struct err *err);
/* Writes the kernel in the file `from` (bzImage or vmlinux) as a vmlinux into the empty file `out`. version: as
 * above. */
int bzimage_to_elf(int from, int out, char version[64], struct err *err);
