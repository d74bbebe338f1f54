/* Mounts and unmounts hot-plugged drives in the agent's mount namespace, for the init process. A child does it, so
 * that only the child enters a namespace with hostile processes. May include: os/vm_handshake.h. */
#pragma once
#include <sys/types.h>

#include "agent/box_root.h"
#include "os/vm_handshake.h"

/* Does what a note asks for. 0, or -errno with the reason in b->why: -ELOOP, -EXDEV, -ENOTDIR as mount_walk()
 * (os/mount.h) for a mount point that is rejected. */
int vm_drive_do(struct box_root *b, const struct vm_handshake *note, pid_t agent);
