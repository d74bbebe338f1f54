/* A private disk for a box: a file boxes/NAME/disk.img of fixed size with an ext4 on a loop device, which holds the
 * upper folder. So writing past the limit fails with ENOSPC at once, whatever the file is: sparse, deleted but open, or
 * one inode too many. Root only. Only the launcher process uses this. May include: base/, os/.
 *
 * Only the box's own mounts hold the disk: the kernel releases the loop device (autoclear) with the last of them,
 * whichever process dies in whatever order. */
#pragma once
#include "base/limits.h"
#include "runtime/native/box.h"

#define NATIVE_DISK_IMAGE      "disk.img"
#define NATIVE_DISK_MB_MIN     LIMIT_MIN(DISK_MB)
#define NATIVE_DISK_INODES_MIN 256u

/* Sets err to why a disk cannot be made here; 0 when it can. */
int native_disk_check(struct err *err);
/* Starts making a disk for the box, or with q->is_kept mounting the one that its folder has, in a child: c->maker
 * becomes readable when it is done or failed. */
int native_disk_start(struct native_box_site *site, struct native_box *c, const struct wire_request *q,
                      struct err *err);
/* The result: a detached mount of the disk, which the caller closes; closes c->maker. */
int native_disk_take(struct native_box *c, struct err *err);
/* Grows the disk of a living box to q->disk_mb and q->inodes; one that has that size already is fine. Blocks: run it
 * in a child. A box over kept files gets the size of its create (native_disk_start). */
int native_disk_grow(const struct native_box_site *site, const struct wire_request *q, struct err *err);
/* Opens the disk of a living box again: a detached mount, which the caller closes. Blocks for milliseconds: run it
 * in a child. */
int native_disk_open(const struct native_box_site *site, const char *name, struct err *err);

/* Volumes with a size: an ext4 with a journal in volumes/ID.img, on a loop device that volumes/ID.loop names. All of
 * these block: run them in a child. volumes: the folder. */
int native_disk_volume_open(int volumes, const char *id); /* the image; -ENOENT: it is a folder, or new */
int native_disk_volume_make(int volumes, const char *id, uint32_t mb, struct err *err); /* the image */
/* A detached mount, which the caller closes. Shares the device when the image is mounted. */
int native_disk_volume_mount(int volumes, const char *id, int image, struct err *err);
int native_disk_volume_device(int volumes, const char *id, dev_t *ret); /* of its files, while it is mounted */
int native_disk_volume_remove(int volumes, const char *id);             /* quick: what is mounted goes later */
