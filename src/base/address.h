/* IP addresses: which kind an address is of, ranges, and the lists of hosts and ports that settings hold. Pure.
 * Untrusted: addresses and host names; lists are the operator's, and address_hosts_check() has read them. May include:
 * nothing. */
#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

struct address {
    uint8_t bytes[16]; /* network order; IPv4 as ::ffff:a.b.c.d */
};

enum address_kind {
    ADDRESS_PUBLIC,
    ADDRESS_RESERVED, /* documentation, benchmarks, tunnels, not assigned: nobody on the Internet has it */
    ADDRESS_PRIVATE,  /* of a network behind a router: RFC 1918, shared (CGNAT), unique local */
    ADDRESS_LOOPBACK,
    ADDRESS_CLOSED, /* link-local with the metadata services, unspecified, multicast, broadcast */
};

struct address address_v4(uint32_t host_order);
/* False: neither IPv4 nor IPv6. ret_port may be NULL. */
bool address_of(const struct sockaddr *a, struct address *ret, uint16_t *ret_port);
bool address_parse(const char *text, struct address *ret); /* a literal; IPv6 with or without brackets */
/* An IPv4 address in another form (mapped, NAT64, 6to4) is of the kind of that IPv4 address. */
enum address_kind address_kind(const struct address *a);

/* The network that one client controls, an IPv4 address or an IPv6 /64, as a number below ADDRESS_SLOTS: for counting
 * by client in a small array. Two networks may have the same number. */
#define ADDRESS_SLOTS 1024
unsigned address_slot(const struct address *a);

struct address_range {
    struct address base;
    unsigned bits; /* of 128 */
};
int address_range_parse(const char *text, struct address_range *ret); /* "a.b.c.d[/n]", "x::y[/n]"; else -EINVAL */
bool address_range_has(const struct address_range *r, const struct address *a);

/* A list of hosts, joined by commas: HOST, *.DOMAIN or a range of addresses; each with :PORT, with :* for every port,
 * or without for 80 and 443. IPv6 with a port is in brackets. -EINVAL: err names the entry. */
int address_hosts_check(const char *list, const char *setting, struct err *err);
/* Whether the list has this host (a name in any case, or a literal address) and port. NULL is an empty list. */
bool address_hosts_have(const char *list, const char *host, uint16_t port);

/* A list of ports, joined by commas: PORT, LOW-HIGH, or * for all. */
int address_ports_check(const char *list, const char *setting, struct err *err);
bool address_ports_have(const char *list, unsigned port); /* NULL is an empty list */
