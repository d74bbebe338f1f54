/* One exposed port: a listening socket of the host whose connections (TCP) or datagrams (UDP) go to a port inside a
 * sandbox, through its agent, so that the sandbox needs no network. Untrusted: who connects, and what answers.
 * May include: base/, loop/, guest/, sandbox/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "sandbox/lifecycle/sandbox.h"

struct forward;

struct forward_plan {
    bool is_udp;
    uint16_t inner_port, host_port; /* host_port 0: a free one of settings.port_range */
};

/* Listens on settings.port_host. ERR_CONFLICT when the port is taken, ERR_FORBIDDEN when the server may not have it.
 * s must outlive it. */
int forward_open(struct sandbox *s, const struct forward_plan *plan, struct forward **ret, struct err *err);
struct forward *forward_free(struct forward *f); /* closes the listener and every connection */
DEFINE_CLEANUP(struct forward *, forward_free)
/* Takes nothing new from now on; a descriptor of its socket for the next server, the caller's. -1: none to be had. */
int forward_give(struct forward *f);
uint16_t forward_host_port(const struct forward *f); /* the real one */
