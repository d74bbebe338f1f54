/* What boxes may take of counters that the kernel keeps for the whole host. Only the launcher process uses this. May
 * include: base/, os/.
 *
 * Most counters are kept for a user id, and a box has ids of its own (box_spawn() in box.c). Those are bounded by the
 * kernel's settings for one user, or by native_counters_rlimits(). What is left is shared by all users. Of
 * pseudo-terminals each box gets an equal share. Open files and the memory of sockets cannot be divided: they are
 * watched, and while more than half is in use, the box that uses most is to be ended.
 * docs/security/kernel-counters.md lists all counters. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct native_box;
struct native_box_site;

enum native_counter { NATIVE_FILES, NATIVE_TCP_PAGES, NATIVE_TCP_ORPHANS, NATIVE_UDP_PAGES, NATIVE_COUNTERS };

struct native_counters {
    unsigned ptys;                 /* pseudo-terminals of one box */
    uint64_t max[NATIVE_COUNTERS]; /* 0: unknown, or never reached */
    int files_fd, sockets_fd;      /* /proc/sys/fs/file-nr, /proc/net/sockstat */
    int64_t quiet_until_us;        /* a box that was found has until then to end */
};

/* boxes: how many may run at the same time. */
void native_counters_init(struct native_counters *c, unsigned boxes);
/* Limits of queued signals, POSIX timers and message queues for this process and its children. A user namespace that is
 * made afterwards cannot exceed them in total either. Async-signal-safe. */
void native_counters_rlimits(void);
/* RLIMIT_NPROC for a box that may have this many processes; 0: none is needed or of use. Where no cgroup limits them,
 * it is all there is, and since Linux 5.14 it counts in each user namespace. */
uint32_t native_counters_nproc(const struct native_box_site *site, uint32_t pids_max);
/* Call it a few times a second while boxes run. Returns the box to be ended, with the reason; usually NULL. */
const struct native_box *native_counters_step(struct native_counters *c, const struct native_box *box_list, char *why,
                                              size_t size);
