/* Networks and the way out of native boxes. Only the launcher process uses this. May include: base/, os/, runtime/. */
#pragma once
#include "runtime/native/cell.h"
#include "runtime/outlet.h"

struct boxnet; /* all switches of a launcher */

/* Making one that is there is fine, and so is removing one that is not. Removing cuts all members. */
int boxnet_make(struct boxnet **nets, struct cell_site *site, const struct wire_request *q, struct err *err);
void boxnet_remove(struct boxnet **nets, const char *id);
/* q->object: the network; q->subnet numbers the device; q->address and q->prefix are the member's. */
int boxnet_join(struct boxnet *nets, struct cell *c, const struct wire_request *q, struct err *err);
int boxnet_leave(struct cell *c, const struct wire_request *q, struct err *err); /* not a member: fine */
struct boxnet *boxnet_free(struct boxnet *nets);
/* Done again (after a restart) it replaces the former way. */
int boxnet_outlet(struct cell *c, int ret_fds[OUTLET_FDS], struct err *err);
