/* A helper process of the server: started through the keeper with one end of a SEQPACKET socket pair, watched, stopped
 * and reaped; and the growing pauses between attempts to start one again. The launcher, the TLS listener and the
 * configuration reader are helpers. A helper exits when its socket closes; one that does not is killed by the keeper,
 * because this process may not signal it. May include: base/, os/. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "loop/loop.h"
#include "os/keeper.h"

struct helper {
    struct keeper *keeper; /* borrowed */
    unsigned job;
    pid_t pid; /* 0: not running */
    int pidfd, sock;
    bool is_blocking; /* the process's own end of the socket blocks; ours never does */
    struct watch *watch, *exit_watch;
};
#define HELPER_INIT(keeper_, job_)                                        \
    {                                                                     \
        .keeper = (keeper_), .job = (job_), .pidfd = NO_FD, .sock = NO_FD \
    }

/* Starts the process. name is for errors ("the launcher"). On failure nothing is left running. */
int helper_start(struct helper *h, const char *name, struct err *err);
/* on_message: the socket is readable (or writable, as watch_set() says). on_exit: the process has exited and is not
 * reaped yet; NULL: its socket tells. */
int helper_watch(struct helper *h, struct loop *l, watch_fn *on_message, loop_fn *on_exit, void *arg, struct err *err);
void helper_close(struct helper *h); /* asks it to exit: closes its socket and stops watching its messages */
void helper_kill(struct helper *h);  /* does not wait; fine when it has exited */
/* Closes, waits wait_ms for its exit, kills it if it is still running (and waits up to 2 s for that), and reaps it.
 * Blocks. h can be reused for another start. */
void helper_stop(struct helper *h, int wait_ms);

/* Pauses between attempts: 50 ms, doubling up to 5 s. Zeroed memory is a valid start. */
struct helper_retry {
    struct timer *timer;
    int64_t pause_ms;
};
void helper_retry_later(struct helper_retry *r, struct loop *l, loop_fn *fn, void *arg);
void helper_retry_done(struct helper_retry *r);
