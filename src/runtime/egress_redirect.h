/* Egress of a box with network: all its outbound TCP and DNS is redirected, inside a network namespace of its own,
 * to sockets that the daemon holds. No packet leaves the namespace, so there is nothing to filter on the host. Only
 * privileged single-threaded processes use this. May include: base/, os/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define EGRESS_REDIRECT_ADDRESS \
    0x64600002u /* 100.96.0.2: the box's own address, of the shared range, visible to nobody else */
#define EGRESS_REDIRECT_GATEWAY 0x64600001u
#define EGRESS_REDIRECT_PREFIX  30

enum { EGRESS_REDIRECT_TCP, EGRESS_REDIRECT_DNS, EGRESS_REDIRECT_FDS };

struct egress_redirect_way {
    const char *device; /* up, with an address */
    bool is_gateway;    /* the box is behind the device: connections come in by it; else they leave by it */
    uint32_t address;   /* where the sockets listen: an address that the redirection can reach */
};

/* Works in the current namespace. ret_fds: listening TCP, UDP for DNS, both non-blocking. Repeated (after a
 * restart), it replaces the former redirection. */
int egress_redirect_open(const struct egress_redirect_way *way, int ret_fds[EGRESS_REDIRECT_FDS], struct err *err);
