/* Finding what a killed launcher left behind. Only the launcher process uses this. May include: base/, os/. */
#pragma once
#include "base/buf.h"
#include "runtime/native/cell.h"
#include "runtime/native/chore.h"

bool sweep_is_kept(const struct buf *kept, const char *id); /* kept: NUL-ended ids */
/* Everything below the data folder that is in no cell and whose sandbox id is not kept: folders without a process go to
 * the chores, the rest comes back as a list of dying cells to be watched. */
struct cell *sweep_run(struct cell_site *site, const struct cell *known, const struct buf *kept,
                       struct chore_list *chores);
/* At the start: cell_reserve() for every box there is. */
void sweep_reserve(struct cell_site *site);
