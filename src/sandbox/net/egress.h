/* Egress of sandboxes with network: every TCP connection that they open and every name that they look up is redirected
 * to the relay here, checked against the sandbox's policy, and only then opened from the host. No packet is forwarded,
 * and the host's firewall is not changed. May include: base/, loop/, runtime/, sandbox/. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "sandbox/lifecycle/sandbox.h"

/* Connections to this address go to the host's own loopback, to the ports that III_GATEWAY_PORTS opens. */
#define EGRESS_GATEWAY "100.96.0.1"

#define EGRESS_GATEWAY_CLOSED                                                                      \
    "port %u of the host is closed to sandboxes: the operator opens it with III_GATEWAY_PORTS=%u " \
    "(egress.gateway_ports in the configuration file)"

#define EGRESS_DENIED "egress.denied" /* event: {reason, address, port, name, missed} */

struct egress;

struct egress *egress_new(struct manager *m);
struct egress *egress_free(struct egress *e);
int64_t egress_denied(const struct egress *e); /* connections and lookups since the start */
/* fn gets what was denied, borrowed: {sandboxId, reason, address, port, name, missed}, as the event EGRESS_DENIED has
 * it. At most RECORDS_A_MIN a minute for each sandbox. NULL: nobody. */
void egress_on_denied(struct egress *e, void (*fn)(void *arg, json_t *what), void *arg);

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
