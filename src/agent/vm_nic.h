/* Network interfaces of a VM, all of which exist since boot. An unused one is down and named so. They are identified
 * by the hardware address they were created with, whatever they have now. May include: os/vm_handshake.h. */
#pragma once
#include "agent/box_root.h"
#include "os/vm_handshake.h"

/* Resets all interfaces: a clone is in no network of its source. */
int vm_nic_reset(struct box_root *b);
/* Configures egress as in a handshake, or nothing where it has no address. 0, or -errno with the step in b->why. */
int vm_nic_set(struct box_root *b, const struct vm_handshake_nic *nic);
/* Handles the notes VM_HANDSHAKE_PLUG and VM_HANDSHAKE_UNPLUG. */
int vm_nic_do(struct box_root *b, const struct vm_handshake *note);
