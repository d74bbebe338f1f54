#include "os/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define RATE_BURST_LEAST 65536u              /* one packet of the largest size that a veth pair transfers at once */
#define RATE_QUEUE_MOST  (16u * 1024 * 1024) /* bytes queued behind a fast one */

#define ANSWER_S 5 /* the kernel replies inside the call; this is only for a lost message */

static struct nlmsghdr *head_of(struct netlink_msg *m)
{
    return (struct nlmsghdr *)(void *)m->bytes;
}

void netlink_begin(struct netlink_msg *m, uint16_t type, uint16_t flags, const void *head, size_t head_len)
{
    struct nlmsghdr *h = mnl_nlmsg_put_header(m->bytes);
    h->nlmsg_type = type;
    h->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
    m->is_full = false;
    memcpy(mnl_nlmsg_put_extra_header(h, head_len), head, head_len);
}

void netlink_attr(struct netlink_msg *m, uint16_t type, const void *data, size_t len)
{
    m->is_full |= !mnl_attr_put_check(head_of(m), sizeof(m->bytes), type, len, data);
}

void netlink_attr_u32(struct netlink_msg *m, uint16_t type, uint32_t value)
{
    m->is_full |= !mnl_attr_put_u32_check(head_of(m), sizeof(m->bytes), type, value);
}

void netlink_attr_be32(struct netlink_msg *m, uint16_t type, uint32_t value)
{
    netlink_attr_u32(m, type, htonl(value));
}

void netlink_attr_str(struct netlink_msg *m, uint16_t type, const char *text)
{
    m->is_full |= !mnl_attr_put_strz_check(head_of(m), sizeof(m->bytes), type, text);
}

size_t netlink_nest(struct netlink_msg *m, uint16_t type)
{
    struct nlattr *a = mnl_attr_nest_start_check(head_of(m), sizeof(m->bytes), type);
    m->is_full |= !a;
    return a ? (size_t)((unsigned char *)a - m->bytes) : 0;
}

void netlink_end(struct netlink_msg *m, size_t nest)
{
    if (!m->is_full)
        mnl_attr_nest_end(head_of(m), (struct nlattr *)(void *)(m->bytes + nest));
}

int netlink_open(int protocol)
{
    struct sockaddr_nl own = { .nl_family = AF_NETLINK };
    struct timeval limit = { .tv_sec = ANSWER_S };
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
    if (fd < 0)
        return -errno;
    if (bind(fd, (struct sockaddr *)&own, sizeof(own)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0) {
        int r = -errno;
        (void)close(fd); /* never used */
        return r;
    }
    return fd;
}

int netlink_ask(int fd, const struct netlink_msg *msgs, size_t n)
{
    _Alignas(8) unsigned char out[4 * NETLINK_MAX] = { 0 }, in[16384];
    size_t len = 0;
    int expected = 0;
    for (size_t i = 0; i < n; i++) {
        struct nlmsghdr *h = (struct nlmsghdr *)(void *)(out + len);
        size_t size = ((const struct nlmsghdr *)(const void *)msgs[i].bytes)->nlmsg_len;
        if (msgs[i].is_full || len + size > sizeof(out))
            return -E2BIG;
        memcpy(h, msgs[i].bytes, size);
        h->nlmsg_seq = (uint32_t)i + 1;
        expected += (h->nlmsg_flags & NLM_F_ACK) != 0;
        len += size;
    }
    if (send(fd, out, len, MSG_NOSIGNAL) < 0)
        return -errno;
    for (; expected > 0; expected--) { /* the kernel sends one datagram for each */
        ssize_t got = recv(fd, in, sizeof(in), 0);
        if (got < 0 || mnl_cb_run(in, (size_t)got, 0, 0, NULL, NULL) < 0)
            return -errno;
    }
    return 0;
}

static int msg_ask(int fd, const struct netlink_msg *m)
{
    return netlink_ask(fd, m, 1);
}

int netlink_veth(int fd, const char *name, const char *peer, int peer_ns, const uint8_t peer_mac[6])
{
    struct netlink_msg m;
    struct ifinfomsg head = { .ifi_family = AF_UNSPEC };
    netlink_begin(&m, RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &head, sizeof(head));
    netlink_attr_str(&m, IFLA_IFNAME, name);
    size_t info = netlink_nest(&m, IFLA_LINKINFO);
    netlink_attr_str(&m, IFLA_INFO_KIND, "veth");
    size_t data = netlink_nest(&m, IFLA_INFO_DATA);
    size_t other = netlink_nest(&m, VETH_INFO_PEER);
    memcpy(mnl_nlmsg_put_extra_header(head_of(&m), sizeof(head)), &head, sizeof(head));
    netlink_attr_str(&m, IFLA_IFNAME, peer);
    netlink_attr(&m, IFLA_ADDRESS, peer_mac, 6);
    netlink_attr_u32(&m, IFLA_NET_NS_FD, (uint32_t)peer_ns);
    netlink_end(&m, other);
    netlink_end(&m, data);
    netlink_end(&m, info);
    return msg_ask(fd, &m);
}

int netlink_bridge(int fd, const char *name)
{
    struct netlink_msg m;
    struct ifinfomsg head = { .ifi_family = AF_UNSPEC };
    netlink_begin(&m, RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &head, sizeof(head));
    netlink_attr_str(&m, IFLA_IFNAME, name);
    size_t info = netlink_nest(&m, IFLA_LINKINFO);
    netlink_attr_str(&m, IFLA_INFO_KIND, "bridge");
    uint8_t off = 0; /* multicast snooping makes the bridge send IGMP itself */
    size_t data = netlink_nest(&m, IFLA_INFO_DATA);
    netlink_attr(&m, IFLA_BR_MCAST_SNOOPING, &off, sizeof(off));
    netlink_end(&m, data);
    netlink_end(&m, info);
    return msg_ask(fd, &m);
}

/* A new namespace inherits the host's ip_forward: a box in two networks must not become their router. */
static int no_forwarding(int fd, int index)
{
    struct netlink_msg m;
    struct ifinfomsg head = { .ifi_family = AF_UNSPEC, .ifi_index = index };
    netlink_begin(&m, RTM_SETLINK, NLM_F_ACK, &head, sizeof(head));
    size_t spec = netlink_nest(&m, IFLA_AF_SPEC), inet = netlink_nest(&m, AF_INET),
           conf = netlink_nest(&m, IFLA_INET_CONF);
    netlink_attr_u32(&m, IPV4_DEVCONF_FORWARDING, 0);
    netlink_end(&m, conf);
    netlink_end(&m, inet);
    netlink_end(&m, spec);
    return msg_ask(fd, &m);
}

int netlink_up(int fd, int index, int master)
{
    struct netlink_msg m;
    struct ifinfomsg head = { .ifi_family = AF_UNSPEC, .ifi_index = index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP };
    int r = no_forwarding(fd, index);
    if (r < 0)
        return r;
    netlink_begin(&m, RTM_NEWLINK, NLM_F_ACK, &head, sizeof(head));
    if (master > 0)
        netlink_attr_u32(&m, IFLA_MASTER, (uint32_t)master);
    return msg_ask(fd, &m);
}

int netlink_no_inet6(int fd, int index)
{
    struct netlink_msg m;
    struct ifinfomsg head = { .ifi_family = AF_UNSPEC, .ifi_index = index };
    uint8_t mode = IN6_ADDR_GEN_MODE_NONE;
    netlink_begin(&m, RTM_SETLINK, NLM_F_ACK, &head, sizeof(head));
    size_t spec = netlink_nest(&m, IFLA_AF_SPEC), inet6 = netlink_nest(&m, AF_INET6);
    netlink_attr(&m, IFLA_INET6_ADDR_GEN_MODE, &mode, sizeof(mode));
    netlink_end(&m, inet6);
    netlink_end(&m, spec);
    int r = msg_ask(fd, &m);
    return r == -EAFNOSUPPORT || r == -EOPNOTSUPP ? 0 : r;
}

int netlink_delete(int fd, int index)
{
    struct netlink_msg m;
    struct ifinfomsg head = { .ifi_family = AF_UNSPEC, .ifi_index = index };
    netlink_begin(&m, RTM_DELLINK, NLM_F_ACK, &head, sizeof(head));
    return msg_ask(fd, &m);
}

int netlink_address(int fd, int index, uint32_t address, uint8_t prefix)
{
    struct netlink_msg m;
    struct ifaddrmsg head = { .ifa_family = AF_INET, .ifa_prefixlen = prefix, .ifa_index = (uint32_t)index };
    netlink_begin(&m, RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, &head, sizeof(head));
    netlink_attr_be32(&m, IFA_LOCAL, address);
    netlink_attr_be32(&m, IFA_ADDRESS, address);
    return msg_ask(fd, &m);
}

int netlink_default_route(int fd, int index, uint32_t gateway)
{
    struct netlink_msg m;
    struct rtmsg head = { .rtm_family = AF_INET,
                          .rtm_table = RT_TABLE_MAIN,
                          .rtm_protocol = RTPROT_STATIC,
                          .rtm_scope = RT_SCOPE_UNIVERSE,
                          .rtm_type = RTN_UNICAST,
                          .rtm_flags = RTNH_F_ONLINK };
    netlink_begin(&m, RTM_NEWROUTE, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, &head, sizeof(head));
    netlink_attr_be32(&m, RTA_GATEWAY, gateway);
    netlink_attr_u32(&m, RTA_OIF, (uint32_t)index);
    return msg_ask(fd, &m);
}

int netlink_neighbour(int fd, int index, uint32_t address, const uint8_t mac[6])
{
    struct netlink_msg m;
    struct ndmsg head = { .ndm_family = AF_INET, .ndm_ifindex = index, .ndm_state = NUD_PERMANENT };
    netlink_begin(&m, RTM_NEWNEIGH, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, &head, sizeof(head));
    netlink_attr_be32(&m, NDA_DST, address);
    netlink_attr(&m, NDA_LLADDR, mac, 6);
    return msg_ask(fd, &m);
}

int netlink_rate(int fd, int index, uint32_t kbit_per_s)
{
    struct netlink_msg m;
    struct tcmsg head = { .tcm_family = AF_UNSPEC, .tcm_ifindex = index, .tcm_parent = TC_H_ROOT };
    uint64_t rate = (uint64_t)kbit_per_s * 125; /* bytes a second */
    uint32_t burst = rate / 100 > RATE_BURST_LEAST ? (uint32_t)(rate / 100) : RATE_BURST_LEAST;
    struct tc_tbf_qopt opt = { .rate = { .rate = rate >= UINT32_MAX ? UINT32_MAX : (uint32_t)rate,
                                         .linklayer = TC_LINKLAYER_ETHERNET },
                               .limit = burst + (uint32_t)(rate / 20 < RATE_QUEUE_MOST ? rate / 20 : RATE_QUEUE_MOST) };
    netlink_begin(&m, RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, &head, sizeof(head));
    netlink_attr_str(&m, TCA_KIND, "tbf");
    size_t options = netlink_nest(&m, TCA_OPTIONS);
    netlink_attr(&m, TCA_TBF_PARMS, &opt, sizeof(opt));
    netlink_attr_u32(&m, TCA_TBF_BURST, burst);
    if (rate >= UINT32_MAX)
        netlink_attr(&m, TCA_TBF_RATE64, &rate, sizeof(rate));
    netlink_end(&m, options);
    return msg_ask(fd, &m);
}

int netlink_index(const char *name)
{
    unsigned index = if_nametoindex(name);
    return index ? (int)index : -ENODEV;
}
