/* Work that waits for something outside of this host, on threads of its own: name lookups. The pool of loop_work() has
 * few threads, and whoever makes them wait stops the file work of all. Jobs of one owner use a quarter of the threads
 * at most, and those of others do not wait behind them. May include: base/, loop/. */
#pragma once
#include "loop/loop.h"

#define WAIT_WORK_THREADS 32 /* jobs that run at the same time on all loops of this process */

struct wait_work;

/* Runs work on a thread, now or when there is room, then done on the loop; when the loop is freed first, done without
 * work. owner: whose share it uses; "": the operator's. The job is gone once done was called. */
struct wait_work *wait_work_start(struct loop *l, const char *owner, loop_fn *work, loop_fn *done, void *arg);
/* True: it had not begun, and neither function is called. False: done will be called. */
bool wait_work_cancel(struct wait_work *w);
