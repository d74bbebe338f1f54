/* Writes the archive a kernel unpacks as its first root: cpio, "newc". Everything in it is root's and has time 0, so
 * equal contents are equal bytes. May include: base/. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

#define VMCPIO_MAX (128u << 20)

struct vmcpio {
    struct buf out; /* the archive so far */
    uint32_t inode;
};

void vmcpio_init(struct vmcpio *c);
void vmcpio_done(struct vmcpio *c);
/* path: relative ("dev/console"), its folders added before it. 0; -E2BIG above VMCPIO_MAX, -ENOMEM. */
int vmcpio_folder(struct vmcpio *c, const char *path, mode_t mode);
int vmcpio_file(struct vmcpio *c, const char *path, mode_t mode, const void *data, size_t len);
int vmcpio_device(struct vmcpio *c, const char *path, mode_t mode, unsigned major, unsigned minor); /* character */
int vmcpio_end(struct vmcpio *c); /* the trailer; add no more */
