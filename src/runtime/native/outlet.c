/* In the box: eth0, a bridge without ports (a sink that every kernel with our networks has), carries the default route,
 * so that any address can be connected to. A nat chain on the output hook sends what would leave by eth0 to the
 * loopback: TCP to our listener, where SO_ORIGINAL_DST still knows the destination, UDP to port 53 to our DNS socket.
 * All else runs into the sink. Root of the box has no CAP_NET_ADMIN, so none of this can be changed from inside. IPv6
 * has no route. */
#include "runtime/native/outlet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "os/netlink.h"

#define SINK       "eth0"
#define SINK_ADDR  0x64600002u /* 100.96.0.2: of the shared range, seen by nobody but the box */
#define TABLE      "iii"
#define CHAIN      "output"
#define DNS_PORT   53
#define BACKLOG    128
#define NAT_PRIO   (-100)
#define IFNAME_LEN 16

static struct nfgenmsg family(uint8_t nf_family, uint16_t subsystem)
{
    return (struct nfgenmsg){ .nfgen_family = nf_family, .version = NFNETLINK_V0, .res_id = htons(subsystem) };
}

static void begin_nft(struct netlink_msg *m, unsigned type, uint16_t flags)
{
    struct nfgenmsg head = family(NFPROTO_IPV4, 0);
    netlink_begin(m, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), flags, &head, sizeof(head));
}

static void batch(struct netlink_msg *m, uint16_t type)
{
    struct nfgenmsg head = family(AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
    netlink_begin(m, type, 0, &head, sizeof(head));
}

static size_t begin_expr(struct netlink_msg *m, const char *name, size_t *ret_elem)
{
    *ret_elem = netlink_nest(m, NFTA_LIST_ELEM);
    netlink_attr_str(m, NFTA_EXPR_NAME, name);
    return netlink_nest(m, NFTA_EXPR_DATA);
}

static void end_expr(struct netlink_msg *m, size_t elem, size_t data)
{
    netlink_end(m, data);
    netlink_end(m, elem);
}

static void load_meta(struct netlink_msg *m, uint32_t key)
{
    size_t elem, data = begin_expr(m, "meta", &elem);
    netlink_attr_be32(m, NFTA_META_DREG, NFT_REG_1);
    netlink_attr_be32(m, NFTA_META_KEY, key);
    end_expr(m, elem, data);
}

static void load_port(struct netlink_msg *m) /* destination port of the transport header */
{
    size_t elem, data = begin_expr(m, "payload", &elem);
    netlink_attr_be32(m, NFTA_PAYLOAD_DREG, NFT_REG_1);
    netlink_attr_be32(m, NFTA_PAYLOAD_BASE, NFT_PAYLOAD_TRANSPORT_HEADER);
    netlink_attr_be32(m, NFTA_PAYLOAD_OFFSET, 2);
    netlink_attr_be32(m, NFTA_PAYLOAD_LEN, 2);
    end_expr(m, elem, data);
}

static void load_value(struct netlink_msg *m, const void *value, size_t len)
{
    size_t elem, data = begin_expr(m, "immediate", &elem);
    netlink_attr_be32(m, NFTA_IMMEDIATE_DREG, NFT_REG_1);
    size_t box = netlink_nest(m, NFTA_IMMEDIATE_DATA);
    netlink_attr(m, NFTA_DATA_VALUE, value, len);
    netlink_end(m, box);
    end_expr(m, elem, data);
}

static void must_equal(struct netlink_msg *m, const void *value, size_t len)
{
    size_t elem, data = begin_expr(m, "cmp", &elem);
    netlink_attr_be32(m, NFTA_CMP_SREG, NFT_REG_1);
    netlink_attr_be32(m, NFTA_CMP_OP, NFT_CMP_EQ);
    size_t box = netlink_nest(m, NFTA_CMP_DATA);
    netlink_attr(m, NFTA_DATA_VALUE, value, len);
    netlink_end(m, box);
    end_expr(m, elem, data);
}

static void redirect(struct netlink_msg *m)
{
    size_t elem, data = begin_expr(m, "redir", &elem);
    netlink_attr_be32(m, NFTA_REDIR_REG_PROTO_MIN, NFT_REG_1);
    end_expr(m, elem, data);
}

/* What leaves by the sink with this protocol (and, unless 0, to this port) goes to the local port instead. */
static void add_rule(struct netlink_msg *m, uint8_t protocol, uint16_t to_port, uint16_t local_port)
{
    char device[IFNAME_LEN] = SINK;
    uint16_t match = htons(to_port), to = htons(local_port);
    begin_nft(m, NFT_MSG_NEWRULE, NLM_F_ACK | NLM_F_CREATE | NLM_F_APPEND);
    netlink_attr_str(m, NFTA_RULE_TABLE, TABLE);
    netlink_attr_str(m, NFTA_RULE_CHAIN, CHAIN);
    size_t list = netlink_nest(m, NFTA_RULE_EXPRESSIONS);
    load_meta(m, NFT_META_OIFNAME);
    must_equal(m, device, sizeof(device));
    load_meta(m, NFT_META_L4PROTO);
    must_equal(m, &protocol, sizeof(protocol));
    if (to_port) {
        load_port(m);
        must_equal(m, &match, sizeof(match));
    }
    load_value(m, &to, sizeof(to));
    redirect(m);
    netlink_end(m, list);
}

static void add_table(struct netlink_msg *m, unsigned type, uint16_t flags)
{
    begin_nft(m, type, (uint16_t)(NLM_F_ACK | flags));
    netlink_attr_str(m, NFTA_TABLE_NAME, TABLE);
}

static void add_chain(struct netlink_msg *m)
{
    begin_nft(m, NFT_MSG_NEWCHAIN, NLM_F_ACK | NLM_F_CREATE);
    netlink_attr_str(m, NFTA_CHAIN_TABLE, TABLE);
    netlink_attr_str(m, NFTA_CHAIN_NAME, CHAIN);
    size_t hook = netlink_nest(m, NFTA_CHAIN_HOOK);
    netlink_attr_be32(m, NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
    netlink_attr_be32(m, NFTA_HOOK_PRIORITY, (uint32_t)NAT_PRIO);
    netlink_end(m, hook);
    netlink_attr_str(m, NFTA_CHAIN_TYPE, "nat");
}

/* Make, delete, make: the first two empty a table that is there already, all in one transaction. */
static int turn_around(uint16_t tcp_port)
{
    struct netlink_msg m[8];
    CLEANUP(close_fd_p) int nl = netlink_open(NETLINK_NETFILTER);
    if (nl < 0)
        return nl;
    batch(&m[0], NFNL_MSG_BATCH_BEGIN);
    add_table(&m[1], NFT_MSG_NEWTABLE, NLM_F_CREATE);
    add_table(&m[2], NFT_MSG_DELTABLE, 0);
    add_table(&m[3], NFT_MSG_NEWTABLE, NLM_F_CREATE);
    add_chain(&m[4]);
    add_rule(&m[5], IPPROTO_UDP, DNS_PORT, DNS_PORT);
    add_rule(&m[6], IPPROTO_TCP, 0, tcp_port);
    batch(&m[7], NFNL_MSG_BATCH_END);
    return netlink_ask(nl, m, sizeof(m) / sizeof(*m));
}

static int make_sink(void)
{
    CLEANUP(close_fd_p) int nl = netlink_open(NETLINK_ROUTE);
    if (nl < 0)
        return nl;
    int index = netlink_index(SINK), r = 0;
    if (index < 0 && (r = netlink_bridge(nl, SINK)) >= 0)
        index = netlink_index(SINK);
    if (index < 0)
        return r < 0 ? r : index;
    if ((r = netlink_address(nl, index, SINK_ADDR, 32)) < 0 || (r = netlink_up(nl, index, 0)) < 0)
        return r;
    return netlink_default_route(nl, index);
}

static int open_socket(int type, uint16_t port, uint16_t *ret_port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
    socklen_t len = sizeof(at);
    int yes = 1;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CLEANUP(close_fd_p) int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
        bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || (type == SOCK_STREAM && listen(fd, BACKLOG) < 0) ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        return -errno;
    *ret_port = ntohs(at.sin_port);
    return steal_fd(&fd);
}

static int open_inside(void *arg, struct err *err)
{
    struct cell *c = arg;
    uint16_t port = 0, dns_port = 0;
    int r = visit_join(c, CLONE_NEWNET, err);
    if (r < 0)
        return r;
    if ((r = make_sink()) < 0)
        return err_sys(err, r, "make the way out of box %s", c->name);
    CLEANUP(close_fd_p) int dns = open_socket(SOCK_DGRAM, DNS_PORT, &dns_port);
    if (dns < 0)
        return err_sys(err, dns, "listen for DNS in box %s", c->name);
    CLEANUP(close_fd_p) int tcp = open_socket(SOCK_STREAM, 0, &port);
    if (tcp < 0)
        return err_sys(err, tcp, "listen for connections in box %s", c->name);
    if ((r = turn_around(port)) < 0)
        return err_sys(err, r, "redirect the connections of box %s (does the kernel have nftables with nat?)", c->name);
    int fds[VISIT_FDS_MAX] = { tcp, dns };
    r = visit_send(fds, VISIT_FDS_MAX);
    return r < 0 ? err_sys(err, r, "hand over the sockets of box %s", c->name) : 0;
}

int outlet_open(struct cell *c, int ret_fds[VISIT_FDS_MAX], struct err *err)
{
    int r = visit_run(open_inside, c, ret_fds, err);
    if (r >= 0 && (ret_fds[0] < 0 || ret_fds[1] < 0))
        r = err_set(err, ERR_INTERNAL, 0, "the sockets of box %s got lost", c->name);
    return r;
}
