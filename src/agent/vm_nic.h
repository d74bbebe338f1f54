/* Network interfaces of a virtual machine, which have all been there since it was booted. One that is used by nothing
 * is down and has a name that says so. They are known by the hardware address they came with, whatever they have now.
 * May include: os/vm_handshake.h. */
#pragma once
#include "agent/box_root.h"
#include "os/vm_handshake.h"

/* All are used by nothing: a clone is in no network of whom it was copied from. */
int vm_nic_reset(struct box_root *b);
/* Of a hello: the way out, or nothing where it has no address. 0, or -errno with the step in b->why. */
int vm_nic_set(struct box_root *b, const struct vm_handshake_nic *nic);
/* Of a note: VM_HANDSHAKE_PLUG, VM_HANDSHAKE_UNPLUG. */
int vm_nic_do(struct box_root *b, const struct vm_handshake *note);
