/* Counts the disk space of a box without a private disk. Blocks: only in a child of the launcher (task.h). The guest
 * owns the counted files and changes them meanwhile. May include: base/, os/. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#define NATIVE_DISK_USAGE_PIDS_MAX 4096
#define NATIVE_DISK_USAGE_ENDLESS  INT64_MAX /* built so that it cannot be counted, which never happens by accident */

/* Bytes on disk of boxes_fd/name with all in it, and of deleted files that the processes hold open. Stops after a
 * few seconds with what it has. */
int64_t native_disk_usage_count(int boxes_fd, const char *name, const pid_t *pids, size_t n_pids);
