/* Links, addresses and routes by rtnetlink, and raw transactions for netfilter. Blocking, but the kernel replies at
 * once. A socket belongs to the network namespace it was opened in. All calls return 0 or -errno. May include:
 * base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message under construction, including nested attributes; its header has its length. An overflow is recorded and
 * reported by netlink_ask(). */
#define NETLINK_MAX 4096
struct netlink_msg {
    _Alignas(8) unsigned char bytes[NETLINK_MAX];
    bool is_full;
};

void netlink_begin(struct netlink_msg *m, uint16_t type, uint16_t flags, const void *head, size_t head_len);
void netlink_attr(struct netlink_msg *m, uint16_t type, const void *data, size_t len);
void netlink_attr_u32(struct netlink_msg *m, uint16_t type, uint32_t value); /* host order */
void netlink_attr_be32(struct netlink_msg *m, uint16_t type, uint32_t value);
void netlink_attr_str(struct netlink_msg *m, uint16_t type, const char *text);
size_t netlink_nest(struct netlink_msg *m, uint16_t type); /* to be passed to netlink_end() */
void netlink_end(struct netlink_msg *m, size_t nest);

int netlink_open(int protocol); /* NETLINK_ROUTE, NETLINK_NETFILTER: descriptor or -errno */
/* Sends n messages as one and waits for the acknowledgement of each that requests one (NLM_F_ACK); returns the first
 * error. */
int netlink_ask(int fd, const struct netlink_msg *msgs, size_t n);

/* A veth pair: `name` here, `peer` with this hardware address in the namespace of peer_ns. */
int netlink_veth(int fd, const char *name, const char *peer, int peer_ns, const uint8_t peer_mac[6]);
int netlink_bridge(int fd, const char *name);
/* Sets it up, as a port of the bridge `master` when master > 0. Packets received on it are never forwarded. */
int netlink_up(int fd, int index, int master);
/* Disables IPv6 on it; a kernel without IPv6 is fine. */
int netlink_no_inet6(int fd, int index);
int netlink_delete(int fd, int index);
int netlink_address(int fd, int index, uint32_t address, uint8_t prefix); /* host order */
/* Routes everything to the gateway, which need not be in a network of ours. */
int netlink_default_route(int fd, int index, uint32_t gateway);
/* Records whose hardware address this is, for good: nobody is asked for it, and it does not count against the table of
 * neighbours that the whole host shares. */
int netlink_neighbour(int fd, int index, uint32_t address, const uint8_t mac[6]);
/* Limits what is sent through it to this rate, with a queue of 50 ms. */
int netlink_rate(int fd, int index, uint32_t kbit_per_s);
int netlink_index(const char *name); /* in the current namespace; or -ENODEV */
