/* The way out of a box with network: all TCP that leaves it, and all DNS, is turned inside a network namespace of the
 * box's own to sockets that the daemon holds. No packet ever leaves it, so there is nothing to filter on the host. Only
 * privileged processes of one thread use this. May include: base/, os/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define OUTLET_ADDRESS 0x64600002u /* 100.96.0.2: the box's own, of the shared range, seen by nobody but itself */
#define OUTLET_GATEWAY 0x64600001u
#define OUTLET_PREFIX  30

enum { OUTLET_TCP, OUTLET_DNS, OUTLET_FDS };

struct outlet_way {
    const char *device; /* up, with an address */
    bool is_gateway;    /* the box is behind it: connections come in by it; else the box is here, they leave by it */
    uint32_t address;   /* where the sockets listen: one that a redirection leads to */
};

/* In the namespace that we are in. ret_fds: listening TCP, UDP for DNS, both non-blocking. Done again (after a restart)
 * it replaces the former way. */
int outlet_open(const struct outlet_way *way, int ret_fds[OUTLET_FDS], struct err *err);
