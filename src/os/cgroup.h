/* Control groups of boxes, on v1, v2 and hybrid hosts, found at run time. Every box has one group NAME under one parent
 * "iii-sandbox" in each hierarchy ("tree") that is used. May include: base/.
 *
 * Invariants:
 *  1. A struct cgroup is only a name: it owns no descriptor, copying it is free, and "adopt" is cgroup_open().
 *  2. No process is moved from outside, which stalls for an RCU grace period (about 15 ms). A new process joins itself:
 *     clone3(CLONE_INTO_CGROUP) with join.clone_into, then it writes "0" into every join.tasks[] descriptor. The kernel
 *     checks the opener's rights there, so this works from any uid. A cgroup namespace is rooted where its maker is, so
 *     unshare(CLONE_NEWCGROUP) comes after joining, not in the same clone3 (that would be the launcher's group).
 *  3. A limit of 0 means "none". A limit that the host cannot enforce is skipped; see cgroup_host_controllers().
 *  4. Nothing here blocks longer than the given deadline; nothing allocates.
 * Untrusted: nothing. Names are checked all the same: letters, digits, '-', '_' and '.', not starting with '.'. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define CGROUP_PARENT    "iii-sandbox"
#define CGROUP_NAME_MAX  64 /* with NUL */
#define CGROUP_TREES_MAX 6

enum cgroup_controller { CGROUP_MEMORY, CGROUP_CPU, CGROUP_PIDS, CGROUP_CPUACCT, CGROUP_FREEZER, CGROUP_CONTROLLERS };

struct cgroup_tree {
    bool is_v2;
    unsigned controllers;  /* bit per enum cgroup_controller that this tree serves */
    bool can_kill;         /* v2 with cgroup.kill */
    bool can_freeze;       /* v2 with cgroup.freeze, or the v1 freezer */
    int parent_fd;         /* the folder "iii-sandbox" of this tree, O_PATH */
    char parent_path[256]; /* the same as a path, for messages and for cgroup namespaces */
};

struct cgroup_host {
    struct cgroup_tree tree[CGROUP_TREES_MAX];
    unsigned trees;
    bool has_memsw;                    /* v1: memory plus swap can be limited */
    char why[CGROUP_CONTROLLERS][240]; /* which tree serves a controller, or why none does */
};

struct cgroup_limits {
    uint64_t memory_mb;
    uint64_t cpu_milli; /* 1000 = one core */
    uint64_t pids;
};

struct cgroup {
    const struct cgroup_host *host;
    char name[CGROUP_NAME_MAX];
};

struct cgroup_join {
    int clone_into; /* for struct clone_args.cgroup with CLONE_INTO_CGROUP, or -EBADF: no v2 tree */
    int tasks[CGROUP_TREES_MAX];
    unsigned n; /* number of open tasks[] */
};

struct cgroup_stats {
    uint64_t cpu_usage_us;
    uint64_t memory_bytes, memory_limit_bytes; /* limit 0 = none */
    uint64_t memory_peak_bytes;                /* 0 when the kernel does not report it */
    uint64_t pids;
    uint64_t oom_kills;
};

/* Finds the hierarchies and makes the parent group (NULL: CGROUP_PARENT) in each. Root uses the top of each tree, an
 * unprivileged user the highest folder above its own group that it may write (a delegated subtree). Returns 0 even
 * when nothing is usable: then host->trees is 0 and boxes run without limits. -errno only when /proc cannot be read. */
int cgroup_host_init(struct cgroup_host *host, const char *parent, struct err *err);
void cgroup_host_done(struct cgroup_host *host);
/* In a child that has closed its descriptors: opens the parent groups again. */
int cgroup_host_reopen(struct cgroup_host *host, struct err *err);
/* Bit per controller that is enforced. Freezing and CPU accounting count when any tree has them. */
unsigned cgroup_host_controllers(const struct cgroup_host *host);
const char *cgroup_controller_name(enum cgroup_controller c);
/* Removes the parent group in every tree if it is empty (tests, doctor, uninstall). */
void cgroup_host_remove(struct cgroup_host *host);

/* Makes the group in every tree and sets the limits. -EEXIST when a tree already has it (nothing is changed then);
 * on any other failure nothing is left. *ret borrows host. */
int cgroup_make(const struct cgroup_host *host, const char *name, const struct cgroup_limits *limits,
                struct cgroup *ret, struct err *err);
/* An existing group by name (adopt). -ENOENT when no tree has it. */
int cgroup_open(const struct cgroup_host *host, const char *name, struct cgroup *ret);
/* Changes limits of a live group. Lowering memory below what is used reclaims caches first and kills nothing: -EBUSY,
 * ERR_CONFLICT and the limit as it was when that does not suffice. Reclaiming may take long. */
int cgroup_limits_set(const struct cgroup *cg, const struct cgroup_limits *limits, struct err *err);

/* Opens what a new process needs to join (invariant 2). All close-on-exec; the caller calls cgroup_join_done(). */
int cgroup_join_open(const struct cgroup *cg, struct cgroup_join *ret, struct err *err);
/* In the child, single-threaded: writes "0" everywhere and closes the descriptors. Async-signal-safe. 0 or -errno. */
int cgroup_join_self(struct cgroup_join *join);
void cgroup_join_done(struct cgroup_join *join);

/* Freezes all processes; waits with sched_yield until they are frozen, -ETIMEDOUT after deadline_ms (thawed again
 * then). -EOPNOTSUPP when the host has no usable freezer. */
int cgroup_freeze(const struct cgroup *cg, unsigned deadline_ms);
int cgroup_thaw(const struct cgroup *cg);
/* SIGKILL to every process, frozen or not (a frozen v1 group is thawed). Does not wait. */
int cgroup_kill(const struct cgroup *cg);
bool cgroup_is_empty(const struct cgroup *cg);
/* Values that no tree reports stay 0. -ENOENT when the group is gone. */
int cgroup_stats_get(const struct cgroup *cg, struct cgroup_stats *ret);
/* Its present processes, at most max of them; returns how many. */
size_t cgroup_pids(const struct cgroup *cg, pid_t *ret, size_t max);
/* What the kernel holds for its processes (open files, sockets, dentries, ...), and of that the buffers of TCP and UDP
 * sockets, which v1 counts apart. 0 when no tree reports it. */
uint64_t cgroup_kernel_bytes(const struct cgroup *cg);
uint64_t cgroup_socket_bytes(const struct cgroup *cg);
/* CPU time so far, of one group and of all under the parent; 0 when no tree reports it. */
uint64_t cgroup_cpu_used_us(const struct cgroup *cg);
uint64_t cgroup_host_cpu_used_us(const struct cgroup_host *host);
/* A group that yields gets only the CPU time that no other group wants: SCHED_IDLE (cpu.idle), or before Linux 5.15
 * the smallest share. Its quota stays. */
int cgroup_yield(const struct cgroup *cg, bool is_yielding);
bool cgroup_is_yielding(const struct cgroup *cg);
/* The same for all groups together, towards the rest of the host. Only by cpu.idle; does nothing where there is
 * none. */
void cgroup_host_yield(const struct cgroup_host *host, bool is_yielding);
/* Removes the group in every tree, with a few retries after sched_yield. -EBUSY: processes are still exiting, try
 * later. Already gone is 0. Groups made below it from inside (never by us) are removed as well, one level deep. */
int cgroup_remove(const struct cgroup *cg);

/* Calls fn for each group whose name starts with prefix, once per name, whichever tree has it. A non-zero result of
 * fn stops. fn may remove the group. Returns the last result of fn, 0, or -errno. */
typedef int cgroup_list_fn(const struct cgroup *cg, void *userdata);
int cgroup_list(const struct cgroup_host *host, const char *prefix, cgroup_list_fn *fn, void *userdata);
