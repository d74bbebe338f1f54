/* Networks between boxes: each is a network namespace of its own with nothing in it but a bridge, a "switch". A member
 * has one end of a cable (veth pair), the switch the other. Nothing of it is in the host's namespace, so no firewall of
 * the host is touched, and a descriptor is all that keeps a switch alive: nothing can be left behind. Only privileged
 * processes of one thread use this (visit.h). May include: base/, os/. */
#pragma once
#include <net/if.h>
#include <stdint.h>

#include "base/err.h"

struct bridge_veth {
    int switch_ns, far_ns; /* borrowed */
    uint32_t subnet;       /* numbers the device at the far end */
    uint32_t address;      /* of the member */
    uint8_t prefix;        /* 0: the far end gets no address, there is somebody else behind it */
    uint32_t kbps;         /* each way; 0 = no limit */
};

int bridge_make(int *ret_ns, struct err *err); /* the receiver's */
/* What an earlier switch left there under that number is replaced. */
int bridge_join(const struct bridge_veth *k, struct err *err);
/* Only far_ns and subnet count. Not a member: fine. */
int bridge_leave(const struct bridge_veth *k, struct err *err);

void bridge_device(uint32_t subnet, char ret[IFNAMSIZ]); /* at the far end */
/* Made from the address, so that a member that comes back is still who its peers remember. */
void bridge_mac(uint32_t address, uint8_t ret[6]);
