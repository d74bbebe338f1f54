/* Writes the archive that a kernel unpacks as its initramfs: cpio, "newc". Everything in it belongs to root and has
 * time 0, so equal contents give equal bytes. May include: base/. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

#define VM_CPIO_MAX (128u << 20)

struct vm_cpio {
    struct buf out; /* the archive so far */
    uint32_t inode;
};

void vm_cpio_init(struct vm_cpio *c);
void vm_cpio_done(struct vm_cpio *c);
/* path: relative ("dev/console"); add its folders before it. 0; -E2BIG above VM_CPIO_MAX, -ENOMEM. */
int vm_cpio_folder(struct vm_cpio *c, const char *path, mode_t mode);
int vm_cpio_file(struct vm_cpio *c, const char *path, mode_t mode, const void *data, size_t len);
int vm_cpio_device(struct vm_cpio *c, const char *path, mode_t mode, unsigned major, unsigned minor); /* character */
int vm_cpio_end(struct vm_cpio *c); /* writes the trailer; add nothing after it */
