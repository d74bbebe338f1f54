/* Egress of sandboxes with network: every TCP connection that they open and every name that they look up is redirected
 * to the relay here, checked against the sandbox's policy, and only then opened from the host. No packet is forwarded,
 * and the host's firewall is not changed. May include: base/, loop/, runtime/, sandbox/. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "sandbox/lifecycle/sandbox.h"

/* Connections to this address go to the host's own loopback, to the ports that III_GATEWAY_PORTS opens. */
#define EGRESS_GATEWAY "100.96.0.1"

/* Whether a list of ports, as in III_GATEWAY_PORTS, has this one. */
bool egress_gateway_opens(const char *ports, unsigned port);
#define EGRESS_GATEWAY_CLOSED                                                                      \
    "port %u of the host is closed to sandboxes: the operator opens it with III_GATEWAY_PORTS=%u " \
    "(egress.gateway_ports in the configuration file)"

struct egress;

struct egress *egress_new(struct manager *m);
struct egress *egress_free(struct egress *e);

/* Opens egress for a sandbox that has a box but is not in the map yet. done comes later, always: a failure is
 * logged and shows in egress_json(), the sandbox then has only its own loopback. Without network, or without a driver
 * that can: false, and no callback. */
bool egress_open(struct egress *e, struct sandbox *s, loop_fn *done, void *arg);

/* ERR_UNSUPPORTED: the sandbox's backend holds no policy. */
int egress_check(const struct sandbox *s, struct err *err);
json_t *egress_json(struct egress *e, const struct sandbox *s); /* EgressPolicy; caller owns */
/* Stores the policy; open connections that it does not allow are cut. ERR_INVALID, ERR_CONFLICT for one without
 * network. */
int egress_set(struct egress *e, struct sandbox *s, const json_t *policy, struct err *err);
