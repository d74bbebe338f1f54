/* Makes an ext4 in a file with e2fsprogs, for every driver whose boxes have a disk. Blocks: run it in a child
 * process or a tool. May include: base/, os/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* The size of a file with mb MiB for files; the file system's own metadata comes on top. */
uint64_t mkext4_bytes(uint64_t mb, uint32_t inodes);
bool mkext4_is_there(void); /* whether e2fsprogs is installed */
/* Formats the file behind image (borrowed), which has its size already. Blocks that are not written stay sparse.
 * has_journal: for a disk that outlives the box. */
int mkext4_format(int image, uint32_t inodes, bool has_journal, struct err *err);
/* Grows the file system in the file behind image, which is not mounted, to the size of the file. */
int mkext4_grow(int image, struct err *err);
/* Sizes and formats the empty file behind image as a volume of mb MiB: with a journal, and without any folder. */
int mkext4_volume(int image, uint64_t mb, struct err *err);
/* Files and folders that a disk of mb MiB gets unasked. */
uint32_t mkext4_inodes(uint64_t mb);
/* Makes folders that belong to root (mode 0755) at the top of a formatted image that is not mounted. names:
 * NULL-terminated. */
int mkext4_folders(int image, const char *const *names, struct err *err);
/* Removes an empty folder from the top of an image that is not mounted. */
int mkext4_remove(int image, const char *name, struct err *err);
