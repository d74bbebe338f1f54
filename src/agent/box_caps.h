/* What a box's processes may do: capabilities and system calls. May include: agent/box_root.h.
 * Each returns 0 or -errno, with the step that failed in b->why. */
#pragma once
#include "agent/box_root.h"

#define BOX_CAPS_INSNS 4096 /* the kernel's BPF_MAXINSNS */

/* No program executed from here on can have more than a box's capabilities. The caller keeps its own until it
 * executes one. */
int box_caps_bound(struct box_root *b);
/* Leaves the caller with the capabilities of its children, and lets no process of the box trace it. */
int box_caps_drop(struct box_root *b);
/* Sets no_new_privs and installs the filter permanently: an array of struct sock_filter read from filter_fd. */
/* ret_listener (or NULL): makes the listener of denied calls (os/watched_filter.h); NO_LISTENER when the kernel gives
 * none, and then the filter answers them itself. */
#define BOX_CAPS_NO_LISTENER (-EBADF)
int box_caps_filter(struct box_root *b, int filter_fd, int *ret_listener);
