/* The event loop: libuv behind our own names. One thread; nothing that runs on it may block.
 * Freeing a watch or timer inside its own callback is legal. May include: base/, os/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"

struct loop;
struct watch;
struct timer;

int loop_new(struct loop **ret, struct err *err);
struct loop *loop_free(struct loop *l); /* everything made on it must be freed before */
DEFINE_CLEANUP(struct loop *, loop_free)
void loop_run(struct loop *l);                                                          /* until loop_stop() */
void loop_stop(struct loop *l);                                                         /* from any callback */
void loop_run_until(struct loop *l, bool (*is_over)(const void *arg), const void *arg); /* asked after each turn */
int64_t loop_now_ms(const struct loop *l);                                              /* monotonic, cached per turn */

/* For one that takes much of the loop's time: whether another has called this in the last milliseconds. who is any
 * address that identifies the caller. */
bool loop_others_are_busy(struct loop *l, const void *who);

/* Descriptors, level-triggered. The watch does not own the fd: free the watch before closing it. */
enum { LOOP_READ = 1, LOOP_WRITE = 2, LOOP_HUP = 4 };
typedef void watch_fn(void *arg, int events);
int watch_new(struct loop *l, int fd, int events, watch_fn *fn, void *arg, struct watch **ret);
void watch_set(struct watch *w, int events); /* 0 stops; no system call when nothing changes */
struct watch *watch_free(struct watch *w);
DEFINE_CLEANUP(struct watch *, watch_free)

/* Timers. delay 0 fires on the next turn. repeat 0 fires once (the timer stays allocated until freed). */
typedef void timer_fn(void *arg);
struct timer *timer_new(struct loop *l, int64_t delay_ms, int64_t repeat_ms, timer_fn *fn, void *arg);
void timer_set(struct timer *t, int64_t delay_ms, int64_t repeat_ms); /* restarts; delay < 0 stops */
struct timer *timer_free(struct timer *t);
DEFINE_CLEANUP(struct timer *, timer_free)

/* Calls fn on this thread after the current callback has returned, in order. */
typedef void loop_fn(void *arg);
void loop_defer(struct loop *l, loop_fn *fn, void *arg);
/* Runs deferred calls until none are left, for at most as many rounds as loop_free() does: for an orderly shutdown. */
void loop_settle(struct loop *l);

/* Runs work on a pool thread, then done on the loop. work may access only arg. */
int loop_work(struct loop *l, loop_fn *work, loop_fn *done, void *arg);

/* One handler for each signal; lives as long as the loop. */
int loop_on_signal(struct loop *l, int signo, loop_fn *fn, void *arg);

/* Calls fn when the loop is freed, before it asserts that nothing is left: for objects without an owner. */
struct loop_end;
struct loop_end *loop_on_end(struct loop *l, loop_fn *fn, void *arg);
struct loop_end *loop_end_free(struct loop_end *e); /* not from inside fn, after which it is freed */

/* Calls fn once when the process behind the pidfd has exited (it is not reaped here). */
int loop_on_exit(struct loop *l, int pidfd, loop_fn *fn, void *arg, struct watch **ret);
