/* Volumes: disks of their own or folders below <data_dir>/volumes, mounted into and unmounted from running boxes. Only
 * the launcher process uses this. May include: base/, os/. */
#pragma once
#include "runtime/native/box.h"
#include "runtime/native/task.h"

/* q->object: the volume, made with q->disk_mb when there is none; q->workdir: the mount point in the box.
 * ERR_CONFLICT: something is mounted there, or on the way there. Blocks, as detach does (a file system is checked,
 * flushed): only in a child (task.h). */
int native_volume_mount_attach(struct native_box *c, const struct wire_request *q, struct err *err);
/* Not mounted there (any more) is fine. Open files stay usable. */
int native_volume_mount_detach(struct native_box *c, const struct wire_request *q, struct err *err);
/* Removes the disk, or moves the folder out of volumes/ and removes its files later. Quick. */
int native_volume_mount_remove(struct native_box_site *site, const struct wire_request *q,
                               struct native_task_list *tasks, struct err *err);
/* What it takes of the host's disk. Blocks: only in a child. */
int64_t native_volume_mount_bytes(struct native_box_site *site, const char *id);
