/* Finds what a killed launcher left. Only the launcher process uses this. May include: base/, os/. */
#pragma once
#include "base/buf.h"
#include "runtime/native/box.h"
#include "runtime/native/task.h"

bool sweep_is_kept(const struct buf *kept, const char *id); /* kept: NUL-terminated ids */
/* Sweeps everything below the data folder that belongs to no known box and whose sandbox id is not kept: folders
 * without a process go to the remover, the rest is returned as a list of dying boxes to be watched. Of one that is
 * kept, but not known, the processes end and the folder stays. keeps_marked: so does every folder of a halted box. */
struct native_box *sweep_run(struct native_box_site *site, const struct native_box *known, const struct buf *kept,
                             bool keeps_marked, struct native_task_list *tasks);
/* At start: calls native_box_reserve() for every box there is. */
void sweep_reserve(struct native_box_site *site);
