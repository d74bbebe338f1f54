/* Boxes that burn CPU yield to those that do not. Only the launcher process uses this. May include: base/, os/.
 *
 * Every box is light or heavy. While the light ones together use a large part of the CPU time available to boxes, the
 * biggest of them become heavy; one that has used little for a second is light again. A heavy box runs in the kernel's
 * idle class: any light one preempts it at once, it gets all CPU time that is left, and heavy ones share equally. So a
 * single busy box loses nothing.
 *
 * While there are heavy boxes and the rest of the host uses little, all boxes together yield to it in the same way: a
 * fork bomb does not delay the server and its clients. A host that is busy itself shares with the boxes equally. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "runtime/native/box.h"

struct cpu_priority {
    int64_t next_us, looked_us; /* 0: none is due, none was taken */
    uint64_t all_us, idle_us;   /* at that sample: CPU time of all boxes, and idle time */
    bool is_host_first;         /* all boxes yield to the host */
};

/* How long until native_cpu_priority_step() has something to do: -1 = nothing until a box runs. */
int native_cpu_priority_wait_ms(struct cpu_priority *y, const struct native_box *box_list);
/* True: it took a sample, which it does a few times a second while a box runs. */
bool native_cpu_priority_step(struct cpu_priority *y, const struct native_box_site *site, struct native_box *box_list);
