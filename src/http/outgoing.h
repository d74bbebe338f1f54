/* Which addresses the server itself may connect to. Every client of the server (http_client, ws_dial, registries) asks
 * here about the very address of each connection, after the name was resolved, so that neither a name nor a redirect
 * gets around it. Untrusted: hosts and addresses. May include: base/, os/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

enum outgoing_trust {
    OUTGOING_PUBLIC = 1, /* the host comes from a client, a worker or a registry: public addresses, and private_hosts */
    OUTGOING_OPERATOR,   /* the host is a setting: also loopback and private addresses; link-local only as a literal */
    OUTGOING_ANY,        /* a command line that its user directs */
};

struct outgoing {
    enum outgoing_trust trust;
    const char *private_hosts; /* hosts at private addresses or on this host (address_hosts_have()); NULL: none */
    const char *closed_ports;  /* ports of this host (address_ports_have()) that are closed in any case: the server's
                                  own, and those of sandboxes; NULL: none */
    const char *tenant;        /* on whose behalf: name lookups have a share for each; NULL: the operator's */
};

extern const struct outgoing outgoing_operator, outgoing_any; /* without closed ports */

/* host: as the URL names it, for private_hosts. ERR_FORBIDDEN, with the same text whatever the address is: who may not
 * go there does not learn what is there. An o of zeros allows nothing. */
int outgoing_check(const struct outgoing *o, const char *host, const struct sockaddr *a, struct err *err);
/* The same for a host that another program resolves and connects to (a proxy, a container engine): what the text alone
 * tells, which is a literal address in any spelling and localhost. */
int outgoing_check_host(const struct outgoing *o, const char *host, uint16_t port, struct err *err);
