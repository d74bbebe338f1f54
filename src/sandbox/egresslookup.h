/* One DNS query of a sandbox on its way to the host's resolver and back. May include: base/, loop/, sandbox/. */
#pragma once
#include <netinet/in.h>

#include "loop/loop.h"
#include "sandbox/egressdns.h"

struct egresslookup;

/* reply NULL: no answer in time, or none that fits the query. Both are changed in place; the receiver frees k. */
typedef void egresslookup_fn(void *arg, struct egresslookup *k, uint8_t *reply, size_t len);

/* from: who asked, kept for the receiver. NULL when the resolver cannot be reached at all. Never calls back from
 * inside. */
struct egresslookup *egresslookup_new(struct loop *l, const struct sockaddr_in *server, const uint8_t *msg, size_t len,
                                      egresslookup_fn *fn, void *arg);
struct egresslookup *egresslookup_free(struct egresslookup *k);
void egresslookup_set_from(struct egresslookup *k, const struct sockaddr_in *from);
const struct sockaddr_in *egresslookup_from(const struct egresslookup *k);
const struct egressdns_question *egresslookup_question(const struct egresslookup *k); /* of the query */

/* "a.b.c.d" or "a.b.c.d:port"; "": the first IPv4 nameserver of /etc/resolv.conf. -EINVAL, or -ENOENT when there is
 * none. */
int egresslookup_server(const char *setting, struct sockaddr_in *ret);
