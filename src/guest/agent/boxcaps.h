/* What a box's processes may do: capabilities and system calls. May include: guest/agent/boxroot.h.
 * Each returns 0 or -errno, with the step that failed in b->why. */
#pragma once
#include "guest/agent/boxroot.h"

#define BOXCAPS_INSNS 4096 /* the kernel's BPF_MAXINSNS */

/* No program started from here on can have more than a box's capabilities. Binds the caller only when it executes one.
 */
int boxcaps_bound(struct boxroot *b);
/* The caller is left with what its children get, and no process of the box can trace it. */
int boxcaps_drop(struct boxroot *b);
/* no_new_privs and the filter, for good: an array of struct sock_filter read from filter_fd. */
int boxcaps_filter(struct boxroot *b, int filter_fd);
