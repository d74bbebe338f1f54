/* A nat chain redirects what would leave the box (or comes from it) through that device to local ports: TCP to our
 * listener, where SO_ORIGINAL_DST gives the destination, UDP port 53 to our DNS socket. IPv6 has no route. Other UDP is
 * dropped before the kernel tracks it: entries of its table are no memory of the box. */
#include "runtime/egress_redirect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/nft.h"

#define DNS_PORT     53
#define BACKLOG      128
#define NAT_PRIO     (-100)
#define RAW_PRIO     (-300) /* before connection tracking */
#define IFNAME_LEN   16
#define PORT_AT      2 /* offset of the destination port in a TCP or UDP header */
#define RULES_FAMILY NFPROTO_IPV4

/* Traffic through the device with this protocol (and, unless 0, to this port) goes to the local port instead. */
struct turn {
    const struct egress_redirect_way *way;
    uint8_t protocol;
    uint16_t to_port, local_port;
};

/* A rule for what goes through the device with this protocol. */
static size_t rule_begin(struct netlink_msg *m, const struct nft_chain *c, const struct egress_redirect_way *way,
                         uint8_t protocol)
{
    char device[IFNAME_LEN] = "";
    (void)snprintf(device, sizeof(device), "%s", way->device);
    size_t list = nft_rule_begin(m, RULES_FAMILY, c);
    nft_load_meta(m, way->is_gateway ? NFT_META_IIFNAME : NFT_META_OIFNAME);
    nft_must_equal(m, device, sizeof(device));
    nft_load_meta(m, NFT_META_L4PROTO);
    nft_must_equal(m, &protocol, sizeof(protocol));
    return list;
}

static void add_drop(struct netlink_msg *m, const struct nft_chain *c, const struct egress_redirect_way *way)
{
    uint16_t dns = htons(DNS_PORT);
    size_t list = rule_begin(m, c, way, IPPROTO_UDP);
    nft_load_payload(m, NFT_PAYLOAD_TRANSPORT_HEADER, PORT_AT, sizeof(dns));
    nft_must_differ(m, &dns, sizeof(dns));
    nft_drop(m);
    nft_rule_end(m, list);
}

static void add_rule(struct netlink_msg *m, const struct nft_chain *c, const struct turn *t)
{
    uint16_t match = htons(t->to_port), to = htons(t->local_port);
    size_t list = rule_begin(m, c, t->way, t->protocol);
    if (t->to_port) {
        nft_load_payload(m, NFT_PAYLOAD_TRANSPORT_HEADER, PORT_AT, sizeof(match));
        nft_must_equal(m, &match, sizeof(match));
    }
    nft_load_value(m, &to, sizeof(to));
    nft_redirect(m);
    nft_rule_end(m, list);
}

static int turn_around(const struct egress_redirect_way *way, uint16_t tcp_port)
{
    struct nft_chain chain = { .table = "iii",
                               .name = "turn",
                               .type = "nat",
                               .hook = way->is_gateway ? NF_INET_PRE_ROUTING : NF_INET_LOCAL_OUT,
                               .priority = NAT_PRIO };
    struct nft_chain raw = {
        .table = "iii", .name = "drop", .type = "filter", .hook = chain.hook, .priority = RAW_PRIO
    };
    struct turn dns = { way, IPPROTO_UDP, DNS_PORT, DNS_PORT }, tcp = { way, IPPROTO_TCP, 0, tcp_port };
    struct netlink_msg m[NFT_TABLE_MSGS + 7];
    CLEANUP(close_fd_p) int nl = netlink_open(NETLINK_NETFILTER);
    if (nl < 0)
        return nl;
    struct netlink_msg *at = m;
    nft_batch_begin(at++);
    nft_table_anew(at, RULES_FAMILY, chain.table);
    at += NFT_TABLE_MSGS;
    nft_chain_add(at++, RULES_FAMILY, &chain);
    add_rule(at++, &chain, &dns);
    add_rule(at++, &chain, &tcp);
    nft_chain_add(at++, RULES_FAMILY, &raw);
    add_drop(at++, &raw, way);
    nft_batch_end(at++);
    return netlink_ask(nl, m, (size_t)(at - m));
}

static int open_socket(int type, uint32_t address, uint16_t port, uint16_t *ret_port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
    socklen_t len = sizeof(at);
    int yes = 1;
    at.sin_addr.s_addr = htonl(address);
    CLEANUP(close_fd_p) int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
        bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || (type == SOCK_STREAM && listen(fd, BACKLOG) < 0) ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        return -errno;
    *ret_port = ntohs(at.sin_port);
    return steal_fd(&fd);
}

/* Entries of the kernel's table of connections are no memory of the box: those of connections that are over go soon. In
 * every other state a socket of somebody counts, too. */
static void forget_soon(void)
{
    static const char *const seconds[][2] = {
        { "syn_sent", "30" }, { "syn_recv", "30" }, { "last_ack", "10" }, { "time_wait", "5" }, { "close", "2" }
    };
    char path[96];
    for (size_t i = 0; i < sizeof(seconds) / sizeof(*seconds); i++) {
        (void)snprintf(path, sizeof(path), "/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_%s", seconds[i][0]);
        CLEANUP(close_fd_p) int fd = open(path, O_WRONLY | O_CLOEXEC); /* of the namespace that we are in */
        if (fd >= 0)
            (void)!write(fd, seconds[i][1], strlen(seconds[i][1])); /* else the kernel's own: two minutes */
    }
}

int egress_redirect_open(const struct egress_redirect_way *way, int ret_fds[EGRESS_REDIRECT_FDS], struct err *err)
{
    uint16_t port = 0, dns_port = 0;
    CLEANUP(close_fd_p) int dns = open_socket(SOCK_DGRAM, way->address, DNS_PORT, &dns_port);
    if (dns < 0)
        return err_sys(err, dns, "listen for DNS");
    CLEANUP(close_fd_p) int tcp = open_socket(SOCK_STREAM, way->address, 0, &port);
    if (tcp < 0)
        return err_sys(err, tcp, "listen for connections");
    int r = turn_around(way, port);
    if (r < 0)
        return err_sys(err, r, "redirect connections (does the kernel have nftables with nat?)");
    forget_soon();
    ret_fds[EGRESS_REDIRECT_TCP] = steal_fd(&tcp);
    ret_fds[EGRESS_REDIRECT_DNS] = steal_fd(&dns);
    return 0;
}
