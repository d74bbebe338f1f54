/* Linux kernel images: the uncompressed kernel (an ELF file that a VMM starts at its PVH entry) out of a bzImage.
 * Input is a file somebody gave us: every offset and length is checked, and what it unpacks to is bounded.
 * May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define BZIMAGE_ELF_MAX (512u << 20) /* of a kernel, packed or not */

struct bzimage {
    size_t at, len;   /* the compressed stream */
    char version[64]; /* "6.1.0-54-cloud-amd64"; "" when the image does not say */
};

bool bzimage_is_elf(const uint8_t *data, size_t len);
/* Finds the compressed kernel. -EINVAL when it is no bzImage or one that lies. */
int bzimage_parse(const uint8_t *data, size_t len, struct bzimage *ret, struct err *err);
/* Unpacks a stream (gzip, xz, zstd, lz4 as the kernel has them) into the file out, from its current position on; at
 * most max bytes. what names it in errors. */
int bzimage_inflate(const uint8_t *data, size_t len, int out, size_t max, const char *what, struct err *err);
/* An x86-64 ELF that has a PVH entry, so that QEMU and Firecracker can start it; *ret_is_pvh false: only without. */
int bzimage_check_elf(const uint8_t *data, size_t len, bool *ret_is_pvh, struct err *err);
/* The kernel in the file `from` (bzImage or vmlinux) as a vmlinux into the empty file `out`. version: as above. */
int bzimage_to_elf(int from, int out, char version[64], struct err *err);
