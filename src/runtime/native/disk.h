/* A disk of its own for a box: a file boxes/NAME/disk.img of fixed size with an ext4 on a loop device, which the upper
 * folder lies on. So writing past the limit is ENOSPC at that moment, whatever the file is: sparse, deleted but open,
 * or one inode too many. Root only. Only the launcher process uses this. May include: base/, os/.
 *
 * Nothing holds the disk but the box's own mounts: the loop device is let go by the kernel (autoclear) when the last of
 * them is gone, whoever died in whatever order. */
#pragma once
#include "base/limits.h"
#include "runtime/native/box.h"

#define NATIVE_DISK_IMAGE      "disk.img"
#define NATIVE_DISK_MB_MIN     LIMIT_MIN(DISK_MB)
#define NATIVE_DISK_INODES_MIN 256u

/* Why a disk cannot be made here, in err; 0 when it can. */
int native_disk_check(struct err *err);
/* Starts making one for the cell, in a child: c->maker becomes readable when it is there or failed. */
int native_disk_start(struct native_box_site *site, struct native_box *c, const struct wire_request *q,
                      struct err *err);
/* What came of it: a detached mount of the empty disk, the caller's; closes c->maker. */
int native_disk_take(struct native_box *c, struct err *err);
/* Once more the disk of a living box: a detached mount, the caller's. Blocks for milliseconds: run it in a child. */
int native_disk_open(const struct native_box_site *site, const char *name, struct err *err);
