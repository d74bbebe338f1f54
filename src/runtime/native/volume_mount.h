/* Volumes: folders below <data_dir>/volumes, mounted into and unmounted from running boxes. Only the launcher process
 * uses this. May include: base/, os/. */
#pragma once
#include "runtime/native/box.h"
#include "runtime/native/task.h"

/* q->object: the volume; q->workdir: the mount point in the box. ERR_CONFLICT: something is mounted there, or on the
 * way there. */
int native_volume_mount_attach(struct native_box *c, const struct wire_request *q, struct err *err);
/* Not mounted there (any more) is fine. Open files stay usable. */
int native_volume_mount_detach(struct native_box *c, const struct wire_request *q, struct err *err);
/* Moves the folder out of volumes/ at once and removes its files later. */
int native_volume_mount_remove(struct native_box_site *site, const struct wire_request *q,
                               struct native_task_list *tasks, struct err *err);
