/* What a box's processes may do: capabilities and system calls. May include: agent/box_root.h.
 * Each returns 0 or -errno, with the step that failed in b->why. */
#pragma once
#include "agent/box_root.h"

#define BOX_CAPS_INSNS 4096 /* the kernel's BPF_MAXINSNS */

/* No program started from here on can have more than a box's capabilities. Binds the caller only when it executes one.
 */
int box_caps_bound(struct box_root *b);
/* The caller is left with what its children get, and no process of the box can trace it. */
int box_caps_drop(struct box_root *b);
/* no_new_privs and the filter, for good: an array of struct sock_filter read from filter_fd. */
int box_caps_filter(struct box_root *b, int filter_fd);
