/* Boxes that burn CPU yield to those that do not. Only the launcher process uses this. May include: base/, os/.
 *
 * Every box is light or heavy. While the light ones together use a good part of the CPU time that there is for boxes,
 * the biggest of them become heavy; one that has used little for a second is light again. A heavy box runs in the
 * kernel's idle class: any light one takes the CPU from it at once, it gets all that is left, and heavy ones share
 * equally. So a lone computation loses nothing.
 *
 * While there are heavy ones and the rest of the host wants little, all boxes together yield to it in the same way: the
 * server, and whoever waits for its answer, are not kept waiting by a fork bomb. A host that is busy itself shares with
 * the boxes as equals. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "runtime/native/box.h"

struct cpu_priority {
    int64_t next_us, looked_us; /* 0: no look is due, none was taken */
    uint64_t all_us, idle_us;   /* at that look: CPU time of all boxes, and what nobody wanted */
    bool is_host_first;         /* all boxes yield to the host */
};

/* How long until native_cpu_priority_step() has something to do: -1 = nothing until a box runs. */
int native_cpu_priority_wait_ms(struct cpu_priority *y, const struct native_box *box_list);
void native_cpu_priority_step(struct cpu_priority *y, const struct native_box_site *site, struct native_box *box_list);
