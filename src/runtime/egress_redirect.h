/* The way out of a box with network: all TCP that leaves it, and all DNS, is turned inside a network namespace of the
 * box's own to sockets that the daemon holds. No packet ever leaves it, so there is nothing to filter on the host. Only
 * privileged processes of one thread use this. May include: base/, os/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define EGRESS_REDIRECT_ADDRESS \
    0x64600002u /* 100.96.0.2: the box's own, of the shared range, seen by nobody but itself */
#define EGRESS_REDIRECT_GATEWAY 0x64600001u
#define EGRESS_REDIRECT_PREFIX  30

enum { EGRESS_REDIRECT_TCP, EGRESS_REDIRECT_DNS, EGRESS_REDIRECT_FDS };

struct egress_redirect_way {
    const char *device; /* up, with an address */
    bool is_gateway;    /* the box is behind it: connections come in by it; else the box is here, they leave by it */
    uint32_t address;   /* where the sockets listen: one that a redirection leads to */
};

/* In the namespace that we are in. ret_fds: listening TCP, UDP for DNS, both non-blocking. Done again (after a restart)
 * it replaces the former way. */
int egress_redirect_open(const struct egress_redirect_way *way, int ret_fds[EGRESS_REDIRECT_FDS], struct err *err);
