/* Networks and egress of native boxes. Only the launcher process uses this. May include: base/, os/, runtime/. */
#pragma once
#include "runtime/egress_redirect.h"
#include "runtime/native/box.h"

struct native_net; /* all bridges of a launcher */

/* Making one that exists is fine, and so is removing one that does not. Removing disconnects all members. */
int native_net_make(struct native_net **nets, struct native_box_site *site, const struct wire_request *q,
                    struct err *err);
void native_net_remove(struct native_net **nets, const char *id);
/* q->object: the network; q->subnet numbers the device; q->address and q->prefix are the member's. */
int native_net_join(struct native_net *nets, struct native_box *c, const struct wire_request *q, struct err *err);
int native_net_leave(struct native_box *c, const struct wire_request *q, struct err *err); /* not a member: fine */
struct native_net *native_net_free(struct native_net *nets);
/* Repeated (after a restart), it replaces the former redirection. */
int native_net_egress_redirect(struct native_box *c, int ret_fds[EGRESS_REDIRECT_FDS], struct err *err);
