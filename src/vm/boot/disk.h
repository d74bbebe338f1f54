/* The private disk of a guest: an ext4 in a sparse file, with the folders upper/ and work/ for the overlay that the
 * agent mounts. Made once for each size, then copied. All calls block. May include: base/, os/, runtime/. */
#pragma once
#include <stdint.h>

#include "base/err.h"
#include "base/limits.h"

#define VM_DISK_MB_MIN LIMIT_MIN(DISK_MB)
#define VM_DISK_MB_MAX LIMIT_MAX(DISK_MB)

/* Formats the empty file with mb MiB for files; the file system's own metadata comes on top. Runs mkfs. */
int vm_disk_make(int fd, uint64_t mb, struct err *err);
/* The same for a volume: empty, and with a journal, since it outlives a VM that is killed. */
int vm_disk_make_volume(int fd, uint64_t mb, struct err *err);
/* Copies from into the empty file to: by reflink where the file system can, else only the allocated ranges. Needs no
 * privilege and starts no program. */
int vm_disk_copy(int from, int to, struct err *err);
