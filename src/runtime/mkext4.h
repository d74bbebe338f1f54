/* An ext4 in a file of ours, by e2fsprogs. For every driver whose boxes have a disk. Blocks: run it in a child process
 * or a tool. May include: base/, os/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* How large a file has to be for mb MiB of files: what the file system needs for itself comes on top. */
uint64_t mkext4_bytes(uint64_t mb, uint32_t inodes);
bool mkext4_is_there(void); /* whether e2fsprogs is installed */
/* Formats the file behind image (borrowed), which has its size already. What nobody wrote stays a hole. has_journal:
 * for what outlives the box. */
int mkext4_format(int image, uint32_t inodes, bool has_journal, struct err *err);
/* Makes folders of root's (mode 0755) at the top of a formatted image that is not mounted. names: NULL-ended. */
int mkext4_folders(int image, const char *const *names, struct err *err);
/* Takes an empty folder away from the top of an image that is not mounted. */
int mkext4_remove(int image, const char *name, struct err *err);
