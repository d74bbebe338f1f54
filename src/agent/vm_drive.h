/* Drives that come and go while a virtual machine runs, mounted in the agent's mount namespace by the warden. A child
 * does it: only that one enters a namespace where hostile processes are. May include: os/vm_handshake.h. */
#pragma once
#include <sys/types.h>

#include "agent/box_root.h"
#include "os/vm_handshake.h"

/* What a note asks for. 0, or -errno with the reason in b->why: -ELOOP, -EXDEV, -ENOTDIR as mount_walk() (os/mount.h)
 * for a place that will not do. */
int vm_drive_do(struct box_root *b, const struct vm_handshake *note, pid_t agent);
