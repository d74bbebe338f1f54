/* Denied system calls of boxes are seen: a process of its own holds the seccomp listener of each box, answers every
 * denied call with the error of the box's filter, and writes what it saw into a pipe to the box's agent. Used by the
 * launcher. May include: base/, os/.
 *
 * Invariants:
 * 1. It never lets a call pass. Whoever holds a listener could: so neither the box, nor the agent, nor the server does.
 * 2. A call waits for it at most a turn of its loop, and more only in a box that is denied more than
 *    CALL_WATCH_ANSWERS calls in each CALL_WATCH_TICK_MS. If the process is gone, the kernel answers ENOSYS: still
 *    denied, no longer seen.
 * 3. It outlives the launcher, as boxes do, and exits with the last box. */
#pragma once
#include <sys/types.h>

#include "base/err.h"
#include "os/filter.h"

#define CALL_WATCH_TICK_MS 10
#define CALL_WATCH_ANSWERS 50   /* of one box in each tick: 5,000 a second */
#define CALL_WATCH_LOOKUPS 50   /* callers of one box that are looked up in /proc in each period; others have no name */
#define CALL_WATCH_LINES   16   /* of one box in each period: pairs of program and call */
#define CALL_WATCH_PERIOD  1000 /* ms between two reports of one box */

struct call_watch {
    int channel, mounts; /* to the process, and the namespace that it runs in; NO_FD: none */
    pid_t pid;
    const struct filter *filters; /* FILTER_PROFILES of them */
};

/* Before the caller enters a mount namespace of its own, which the process must not hold open. */
void call_watch_init(struct call_watch *w, const struct filter *filters);
/* Hands over a box: the listener of its filter, and the pipe for reports; the caller closes both. Starts the process
 * when there is none. 0 or -errno: the box's denied calls are answered ENOSYS then. */
int call_watch_add(struct call_watch *w, enum filter_profile profile, int listener, int report);
void call_watch_done(struct call_watch *w); /* the process stays until the last box is gone */
