/* How much of the host's disk a box without a disk of its own takes. Blocks: only in a child of the launcher
 * (task.h). What is counted belongs to the guest, which changes it meanwhile. May include: base/, os/. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#define NATIVE_DISK_USAGE_PIDS_MAX 4096
#define NATIVE_DISK_USAGE_ENDLESS  INT64_MAX /* built so that it cannot be counted: nobody does that by accident */

/* Bytes on disk of cmd_sandbox_fd/name with all in it, and of the files that the processes hold though they are
 * deleted. Stops after a few seconds with what it has. */
int64_t native_disk_usage_count(int cmd_sandbox_fd, const char *name, const pid_t *pids, size_t n_pids);
