/* The keeper: a process that stays as privileged as the server was started, so that the server itself can give all of
 * it up. It knows a fixed list of programs (this same binary with fixed arguments), starts one when asked, and ends
 * with the server. All it parses is one struct of fixed size. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

#define KEEPER_JOBS_MAX 5
#define KEEPER_ARGS_MAX 8
#define KEEPER_RUN_MAX  32 /* processes at the same time */

/* One program. args: after the program's name, NULL-ended; copied by the fork. Without any it is never started. */
struct keeper_job {
    const char *args[KEEPER_ARGS_MAX];
    bool is_many; /* several of it may run at the same time; else a new one ends the former */
    bool is_bare; /* gets no environment */
};

struct keeper;

/* Forks, so call it before there are threads. The jobs are fixed from then on. */
int keeper_new(const struct keeper_job *jobs, size_t n, struct keeper **ret, struct err *err);
/* Starts a job with fd (borrowed) as its descriptor 3.
 * The new process is our own child: whoever asked waits for it. *ret_pidfd is close-on-exec, the caller's. Blocks for
 * about a millisecond. Any thread may call it. */
int keeper_run(struct keeper *k, unsigned job, int fd, pid_t *ret_pid, int *ret_pidfd, struct err *err);
/* SIGKILL to what keeper_run() started, and this process may not signal any more. Gone already is fine. */
void keeper_kill(struct keeper *k, pid_t pid);
bool keeper_is_root(const struct keeper *k);  /* what it starts has root's rights */
struct keeper *keeper_free(struct keeper *k); /* ends it; its jobs go on */
