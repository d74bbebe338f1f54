/* The keeper: a process that keeps the privileges that the server was started with, so that the server itself can
 * drop them. It has a fixed list of programs (this same binary with fixed arguments), starts one on request, and
 * exits with the server. All it parses is one struct of fixed size. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

#define KEEPER_JOBS_MAX 7
#define KEEPER_ARGS_MAX 8
#define KEEPER_RUN_MAX  32 /* concurrent processes */

/* One program. args: after the program's name, NULL-terminated; copied by the fork. Without args it is never
 * started. */
struct keeper_job {
    const char *args[KEEPER_ARGS_MAX];
    bool is_many; /* several may run at the same time; else a new one kills the former */
    /* Names of the variables that it gets of the server's environment, in which there are tokens: "NAME", or "BEGIN*"
     * for all that begin so; NULL-terminated, for as long as the keeper lives. NULL: none at all. KEEPER_KEPT begins
     * every list. */
    const char *const *kept;
};
/* Where programs and libraries are, and what developers set. */
#define KEEPER_KEPT                                                                                                \
    "PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "LLVM_PROFILE_FILE", \
        "MUTATE_COVER"
#define KEEPER_KEPT_MAX 64

struct keeper;

/* Forks, so call it before there are threads. The jobs cannot change later. */
int keeper_new(const struct keeper_job *jobs, size_t n, struct keeper **ret, struct err *err);
/* Starts a job with fd (borrowed) as its descriptor 3. The new process is our own child: the caller reaps it.
 * *ret_pidfd is close-on-exec; the caller closes it. Blocks for about a millisecond. Thread-safe. */
int keeper_run(struct keeper *k, unsigned job, int fd, pid_t *ret_pid, int *ret_pidfd, struct err *err);
/* Sends SIGKILL to a process that keeper_run() started and that this process may not signal any more. Already gone
 * is fine. */
void keeper_kill(struct keeper *k, pid_t pid);
bool keeper_is_root(const struct keeper *k);  /* whether its jobs run as root */
struct keeper *keeper_free(struct keeper *k); /* ends the keeper; its jobs continue */
