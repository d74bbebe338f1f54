/* Addresses of a virtual machine's interfaces, named by hardware address. May include: os/vmhello.h. */
#pragma once
#include "guest/agent/boxroot.h"
#include "os/vmhello.h"

/* Address, prefix and gateway of one interface, or down; an empty entry is left alone. 0, or -errno with the reason in
 * b->why. Whatever the interface had before is gone. */
int vm_nic_set(struct boxroot *b, const struct vmhello_nic *nic);
