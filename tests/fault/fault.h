/* Fault injection: an operation is run again and again in a process of its own, each time with one more of its system
 * calls or allocations failing, or with the process killed in front of it. Nothing of the product is changed: this
 * program's own read(), openat(), malloc() … stand before those of the C library (interpose.c).
 *
 * After each run: the operation has said that it failed and why, or it has worked; no descriptor is left open; and a
 * run without faults over the same folder succeeds and finds everything as it should be. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum fault_kind {
    FAULT_NONE,
    FAULT_OPEN,
    FAULT_READ,
    FAULT_WRITE,
    FAULT_SYNC,
    FAULT_CHANGE, /* names, modes, owners, attributes, mounts */
    FAULT_LOOK,   /* stat and the like */
    FAULT_FD,     /* new sockets, pipes, memory files */
    FAULT_PROCESS,
    FAULT_MAP,
    FAULT_WAIT,
    FAULT_ALLOC,
    FAULT_KINDS
};

#define FAULT_CALLS_MAX 8192
#define FAULT_SHORT     (-1) /* as an errno: a write that takes only half */
#define FAULT_KILL      (-2) /* as an errno: the process dies in front of the call */
/* Allocations up to this size are x*() of base/alloc.h and the like, which abort when there is no memory; what is
 * larger was sized by input and has to fail as an error. */
#define FAULT_SMALL (1u << 20)

/* Shared by all processes of one run (memory of a file that $III_FAULT_PLAN names). */
struct fault_plan {
    atomic_int is_armed; /* 0, or the role that counts: 1 the test, 2 a launcher, 3 both */
    atomic_int at;       /* which call fails; 0: none */
    atomic_int error;    /* errno, FAULT_SHORT or FAULT_KILL */
    atomic_bool is_alloc;
    atomic_int n_calls, n_allocs; /* seen while armed */
    atomic_bool has_fired;
    atomic_size_t alloc_size; /* of the one that failed */
    unsigned char kinds[FAULT_CALLS_MAX];
    char wrong[300]; /* what a check found */
};
enum { FAULT_ROLE_TEST = 1, FAULT_ROLE_LAUNCHER = 2 };

extern struct fault_plan *fault_plan; /* never NULL after fault_begin() */
void fault_set_role(int role);        /* of this process */

/* Makes the plan; `where` gets a folder for the cases. Call it first in main(). */
void fault_begin(void);
int fault_end(void); /* removes the folder; the TAP plan; main()'s value */

struct fault_case {
    const char *name;
    void (*setup)(const char *dir); /* once, without faults: what the operation starts from; may be NULL */
    int (*run)(const char *dir, struct err *err);
    /* After a run that failed, was killed or worked (was_done), in a process without faults: does what is left to do
     * and says what is wrong, or NULL. */
    const char *(*check)(const char *dir, bool was_done);
    /* Only system calls: a library below it (libseccomp, libarchive, the name service) crashes by itself without
     * memory. Such calls belong to the start of a process. */
    bool has_no_allocs;
};
void fault_run(const struct fault_case *c); /* one TAP test */

/* --- for operations in other processes (fault_runtime.c) --- */
struct fault_try {
    int at, error;
    bool is_alloc;
};
/* The next one to try, after the calls seen by a first run with nothing failing; false: that was all. *state begins
 * at 0. */
bool fault_next(int *state, struct fault_try *ret);
void fault_arm(int role, const struct fault_try *t); /* t NULL: only counts */
bool fault_disarm(void);                             /* true: it has fired */
const char *fault_text(const struct fault_try *t);   /* "EIO at call 17 (open)"; static */
void fault_say(bool is_good, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4); /* a TAP line */
unsigned fault_count_fds(void);
const char *fault_folder(void);
