/* Networks between boxes: each is a bridge in a network namespace of its own. A member has one end of a veth pair,
 * the bridge the other. Nothing is in the host's namespace, so no firewall of the host is touched, and a descriptor
 * is all that keeps the namespace alive: nothing can be left behind. Only privileged single-threaded processes use
 * this (visit.h). May include: base/, os/. */
#pragma once
#include <net/if.h>
#include <stdint.h>

#include "base/err.h"

struct bridge_veth {
    int bridge_ns, far_ns; /* borrowed */
    uint32_t subnet;       /* number of the device at the far end */
    uint32_t address;      /* of the member */
    uint8_t prefix;        /* 0: the far end gets no address, because a VM is behind it */
    uint32_t kbps;         /* in each direction; 0 = no limit */
};

int bridge_make(int *ret_ns, struct err *err); /* caller closes */
/* Replaces what an earlier bridge left there under that number. */
int bridge_join(const struct bridge_veth *k, struct err *err);
/* Only far_ns and subnet are used. Not a member: fine. */
int bridge_leave(const struct bridge_veth *k, struct err *err);

void bridge_device(uint32_t subnet, char ret[IFNAMSIZ]); /* at the far end */
/* Derived from the address, so that a member that rejoins keeps its entry in its peers' ARP caches. */
void bridge_mac(uint32_t address, uint8_t ret[6]);
