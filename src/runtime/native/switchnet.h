/* Networks between boxes: each is a network namespace of its own with nothing in it but a bridge, a "switch". A member
 * has one end of a cable (veth pair), the switch the other. Nothing of it is in the host's namespace, so no firewall of
 * the host is touched, and the launcher's descriptor is all that keeps a switch alive: nothing can be left behind. Only
 * the launcher process uses this. May include: base/, os/. */
#pragma once
#include "runtime/native/cell.h"

struct switchnet; /* all switches of a launcher */

/* Making one that is there is fine, and so is removing one that is not. Removing cuts all members. */
int switchnet_make(struct switchnet **nets, struct cell_site *site, const struct wire_request *q, struct err *err);
void switchnet_remove(struct switchnet **nets, const char *id);
/* q->object: the network; q->subnet numbers the device; q->address and q->prefix are the member's. */
int switchnet_join(struct switchnet *nets, struct cell *c, const struct wire_request *q, struct err *err);
int switchnet_leave(struct cell *c, const struct wire_request *q, struct err *err); /* not a member: fine */
struct switchnet *switchnet_free(struct switchnet *nets);
