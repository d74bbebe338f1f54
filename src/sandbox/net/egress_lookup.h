/* One DNS query of a sandbox on its way to the host's resolver and back. May include: base/, loop/, sandbox/. */
#pragma once
#include <netinet/in.h>

#include "loop/loop.h"
#include "sandbox/net/egress_parse.h"

struct egress_lookup;

/* reply NULL: no answer in time, or none that fits the query. Both are changed in place; the receiver frees k. */
typedef void egress_lookup_fn(void *arg, struct egress_lookup *k, uint8_t *reply, size_t len);

/* from: who asked, kept for the receiver. NULL when the resolver cannot be reached at all. Never calls back from
 * inside. */
struct egress_lookup *egress_lookup_new(struct loop *l, const struct sockaddr_in *server, const uint8_t *msg,
                                        size_t len, egress_lookup_fn *fn, void *arg);
struct egress_lookup *egress_lookup_free(struct egress_lookup *k);
void egress_lookup_set_from(struct egress_lookup *k, const struct sockaddr_in *from);
const struct sockaddr_in *egress_lookup_from(const struct egress_lookup *k);

/* "a.b.c.d" or "a.b.c.d:port"; "": the first IPv4 nameserver of /etc/resolv.conf. -EINVAL, or -ENOENT when there is
 * none. */
int egress_lookup_server(const char *setting, struct sockaddr_in *ret);
