/* Finding what a killed launcher left behind. Only the launcher process uses this. May include: base/, os/. */
#pragma once
#include "base/buf.h"
#include "runtime/native/box.h"
#include "runtime/native/task.h"

bool sweep_is_kept(const struct buf *kept, const char *id); /* kept: NUL-ended ids */
/* Everything below the data folder that is in no cell and whose sandbox id is not kept: folders without a process go to
 * the chores, the rest comes back as a list of dying cells to be watched. */
struct native_box *sweep_run(struct native_box_site *site, const struct native_box *known, const struct buf *kept,
                             struct native_task_list *tasks);
/* At the start: native_box_reserve() for every box there is. */
void sweep_reserve(struct native_box_site *site);
