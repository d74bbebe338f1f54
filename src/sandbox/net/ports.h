/* The exposed ports of all sandboxes. Which ones is part of a sandbox's record, so that they are open again after a
 * restart. May include: base/, sandbox/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "os/inherit.h"
#include "sandbox/lifecycle/sandbox.h"
#include "sandbox/net/forward.h"

struct ports;
struct tenant_by;

struct ports *ports_new(struct manager *m);
struct ports *ports_free(struct ports *p);
void ports_give(struct ports *p, struct inherit *to); /* the listeners for the next server; nothing new is taken */

/* Every port of this host that leads to this server or to a sandbox, as address_ports_have() reads it. Caller frees. */
char *ports_closed(const struct ports *p);
size_t ports_count(const struct sandbox *s);
/* Opens the listener and stores the mapping. *ret: a PortMapping the caller owns. ERR_CONFLICT for a port that is
 * exposed already, ERR_FORBIDDEN outside settings.port_range, ERR_RATE_LIMITED past settings.max_ports, else as
 * forward_open(). */
int ports_expose(struct ports *p, struct sandbox *s, const struct tenant_by *by, const struct forward_plan *plan,
                 json_t **ret, struct err *err);
/* [PortMapping]; caller owns. A listener that could not be opened after a restart is tried again. */
json_t *ports_list(struct ports *p, struct sandbox *s);
int ports_unexpose(struct ports *p, struct sandbox *s, uint16_t inner_port, struct err *err); /* or ERR_NOT_FOUND */
/* ERR_NOT_FOUND unless the TCP port is exposed. */
int ports_need(const struct sandbox *s, uint16_t inner_port, struct err *err);
