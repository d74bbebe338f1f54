/* Volumes: folders below <data_dir>/volumes, mounted into and unmounted from running boxes. Only the launcher process
 * uses this. May include: base/, os/. */
#pragma once
#include "runtime/native/cell.h"
#include "runtime/native/chore.h"

/* q->object: the volume; q->workdir: where in the box. ERR_CONFLICT: something is mounted there, or on the way there.
 */
int volmount_attach(struct cell *c, const struct wire_request *q, struct err *err);
/* Not mounted there (any more) is fine. Open files of it stay usable for those who have them. */
int volmount_detach(struct cell *c, const struct wire_request *q, struct err *err);
/* Takes the folder out of volumes/ at once and removes its files later. */
int volmount_remove(struct cell_site *site, const struct wire_request *q, struct chore_list *chores, struct err *err);
