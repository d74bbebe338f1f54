/* Theory of operation. A VM sends frames through its TAP device, with any contents that its kernel chooses. So each TAP
 * has an nftables ingress chain that accepts only what the interface may send: ARP and IPv4 with its own addresses.
 *
 * For a network, accepted frames are forwarded to the veth pair, and all frames from the veth pair to the TAP, so no
 * frame of a VM reaches the network stack of that namespace. For egress, only TCP and DNS are accepted, into the
 * redirection (runtime/egress_redirect.h).
 *
 * All of it is in the VMM's network namespace, where the tool enters for each request (runtime/visit.h); nothing is
 * kept between requests. A request replaces what an earlier one left on that interface. A join that fails removes
 * its veth pair. */
#include "vm/net/tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_tun.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/mount.h"
#include "os/nft.h"
#include "os/vm_handshake.h"
#include "runtime/bridge.h"
#include "runtime/visit.h"

#define FAMILY   NFPROTO_NETDEV
#define DNS_PORT 53
/* Offsets in an Ethernet frame. */
#define ETHER_FROM     6
#define ETHER_TYPE     12
#define PROTOCOL_AT    9
#define IP_FROM        12
#define ARP_FROM_ETHER 8
#define ARP_FROM_IP    14
#define PORT_TO        2

static void tap_name(unsigned nic, char ret[IFNAMSIZ])
{
    (void)snprintf(ret, IFNAMSIZ, VM_TOOL_WIRE_TAP "%u", nic);
}

int vm_tap_open(unsigned nic)
{
    struct ifreq req = { .ifr_flags = IFF_TAP | IFF_NO_PI };
    CLEANUP(close_fd_p) int fd = open(VM_TAP_DEVICE, O_RDWR | O_CLOEXEC);
    tap_name(nic, req.ifr_name);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &req) < 0)
        return -errno;
    return steal_fd(&fd);
}

int vm_tap_keep(unsigned nic, uid_t owner)
{
    CLEANUP(close_fd_p) int fd = vm_tap_open(nic);
    if (fd < 0)
        return fd;
    if (ioctl(fd, TUNSETOWNER, (unsigned long)owner) < 0 || ioctl(fd, TUNSETPERSIST, 1ul) < 0)
        return -errno;
    return 0;
}

int vm_tap_device(uid_t owner)
{
    struct stat st;
    CLEANUP(close_fd_p) int fs = mount_fs_open("tmpfs");
    int r = fs < 0 ? fs : mount_fs_string(fs, "mode", "0755");
    if (r >= 0)
        r = mount_fs_string(fs, "size", "4k");
    CLEANUP(close_fd_p) int top = r < 0 ? r : mount_fs_make(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    if (top < 0)
        return top;
    if (stat(VM_TAP_DEVICE, &st) < 0 || mknodat(top, "tun", S_IFCHR | 0600, st.st_rdev) < 0 ||
        fchownat(top, "tun", owner, owner, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return steal_fd(&top);
}

/* --- rules --- */

struct sender {
    uint8_t mac[6];
    uint32_t address; /* network order */
};

static void rule_match(struct netlink_msg *m, uint32_t base, uint32_t offset, const void *value, size_t len)
{
    nft_load_payload(m, base, offset, (uint32_t)len);
    nft_must_equal(m, value, len);
}

static void match_frame(struct netlink_msg *m, const struct sender *s, uint16_t type)
{
    uint16_t ether_type = htons(type);
    rule_match(m, NFT_PAYLOAD_LL_HEADER, ETHER_FROM, s->mac, sizeof(s->mac));
    rule_match(m, NFT_PAYLOAD_LL_HEADER, ETHER_TYPE, &ether_type, sizeof(ether_type));
}

static void match_ip(struct netlink_msg *m, const struct sender *s)
{
    match_frame(m, s, ETH_P_IP);
    rule_match(m, NFT_PAYLOAD_NETWORK_HEADER, IP_FROM, &s->address, sizeof(s->address));
}

static void match_arp(struct netlink_msg *m, const struct sender *s)
{
    match_frame(m, s, ETH_P_ARP);
    rule_match(m, NFT_PAYLOAD_NETWORK_HEADER, ARP_FROM_ETHER, s->mac, sizeof(s->mac));
    rule_match(m, NFT_PAYLOAD_NETWORK_HEADER, ARP_FROM_IP, &s->address, sizeof(s->address));
}

static void forward_to(struct netlink_msg *m, int index)
{
    uint32_t device = (uint32_t)index;
    nft_load_value(m, &device, sizeof(device));
    nft_forward(m);
}

/* All messages of one transaction. */
struct rules {
    struct netlink_msg m[16];
    size_t n;
};

static struct netlink_msg *rules_next(struct rules *r)
{
    return &r->m[r->n++];
}

static void begin_rules(struct rules *r, const char *table)
{
    r->n = 0;
    nft_batch_begin(rules_next(r));
    nft_table_anew(&r->m[r->n], FAMILY, table);
    r->n += NFT_TABLE_MSGS;
}

static struct nft_chain add_ingress(struct rules *r, const char *table, const char *name, const char *device)
{
    struct nft_chain c = {
        .table = table, .name = name, .type = "filter", .hook = NF_NETDEV_INGRESS, .device = device, .is_closed = true
    };
    nft_chain_add(rules_next(r), FAMILY, &c);
    return c;
}

static int rules_apply(struct rules *r)
{
    CLEANUP(close_fd_p) int nl = netlink_open(NETLINK_NETFILTER);
    nft_batch_end(rules_next(r));
    return nl < 0 ? nl : netlink_ask(nl, r->m, r->n);
}

static void add_out_rule(struct rules *r, const struct nft_chain *c, const struct sender *s, uint8_t protocol)
{
    uint16_t port = htons(DNS_PORT);
    struct netlink_msg *m = rules_next(r);
    size_t list = nft_rule_begin(m, FAMILY, c);
    match_ip(m, s);
    rule_match(m, NFT_PAYLOAD_NETWORK_HEADER, PROTOCOL_AT, &protocol, sizeof(protocol));
    if (protocol == IPPROTO_UDP)
        rule_match(m, NFT_PAYLOAD_TRANSPORT_HEADER, PORT_TO, &port, sizeof(port));
    nft_accept(m);
    nft_rule_end(m, list);
}

static int guard_egress_redirect(const char *tap)
{
    static struct rules r;
    struct sender s = { .address = htonl(EGRESS_REDIRECT_ADDRESS) };
    vm_handshake_mac(VM_TOOL_WIRE_NIC_OUT, s.mac);
    begin_rules(&r, tap);
    struct nft_chain c = add_ingress(&r, tap, "out", tap);
    add_out_rule(&r, &c, &s, IPPROTO_TCP);
    add_out_rule(&r, &c, &s, IPPROTO_UDP);
    struct netlink_msg *m = rules_next(&r);
    size_t list = nft_rule_begin(m, FAMILY, &c);
    match_arp(m, &s);
    nft_accept(m);
    nft_rule_end(m, list);
    return rules_apply(&r);
}

/* Forwards frames between a TAP device and a veth pair. */
static int tap_forward(const struct vm_tool_wire_request *q, const char *tap, const char *veth)
{
    static struct rules r;
    struct sender s = { .address = htonl(q->address) };
    int tap_index = netlink_index(tap), veth_index = netlink_index(veth);
    if (tap_index < 0 || veth_index < 0)
        return -ENODEV;
    bridge_mac(q->address, s.mac);
    begin_rules(&r, tap);
    struct nft_chain out = add_ingress(&r, tap, "out", tap), in = add_ingress(&r, tap, "in", veth);
    struct netlink_msg *m = rules_next(&r);
    size_t list = nft_rule_begin(m, FAMILY, &out);
    match_ip(m, &s);
    forward_to(m, veth_index);
    nft_rule_end(m, list);
    m = rules_next(&r);
    list = nft_rule_begin(m, FAMILY, &out);
    match_arp(m, &s);
    forward_to(m, veth_index);
    nft_rule_end(m, list);
    m = rules_next(&r);
    list = nft_rule_begin(m, FAMILY, &in);
    forward_to(m, tap_index);
    nft_rule_end(m, list);
    return rules_apply(&r);
}

/* --- visits --- */

struct place {
    const struct vm_tap_instance *instance;
    const struct vm_tool_wire_request *q; /* NULL: egress */
};

static int instance_enter(const struct vm_tap_instance *m, struct err *err)
{
    if (!m->is_root && setns(m->pidfd, CLONE_NEWUSER) < 0)
        return err_sys(err, -errno, "join the VM's user namespace");
    return setns(m->pidfd, CLONE_NEWNET) < 0 ? err_sys(err, -errno, "join the VM's network namespace") : 0;
}

static int no_tap(unsigned nic, struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED, 0,
                   "interface %u of this VM is not connected (it was made by another release, or this host had "
                   "no " VM_TAP_DEVICE " then): create a new sandbox",
                   nic);
}

static int raise_tap(const char *tap)
{
    CLEANUP(close_fd_p) int nl = netlink_open(NETLINK_ROUTE);
    int index = nl < 0 ? nl : netlink_index(tap);
    int r = index < 0 ? index : netlink_no_inet6(nl, index);
    return r < 0 ? r : netlink_up(nl, index, 0);
}

static int join_inside(void *arg, struct err *err)
{
    const struct place *p = arg;
    char tap[IFNAMSIZ], veth[IFNAMSIZ];
    int r = instance_enter(p->instance, err);
    if (r < 0)
        return r;
    tap_name(p->q->nic, tap);
    bridge_device(p->q->subnet, veth);
    if (netlink_index(tap) < 0)
        return no_tap(p->q->nic, err);
    if ((r = tap_forward(p->q, tap, veth)) < 0)
        return err_sys(err, r, "connect %s and %s (does the kernel have nftables for devices, and nft_fwd_netdev?)",
                       tap, veth);
    r = raise_tap(tap); /* only once its rules are in place */
    return r < 0 ? err_sys(err, r, "set up %s", tap) : 0;
}

static int leave_inside(void *arg, struct err *err)
{
    static struct rules rules;
    const struct place *p = arg;
    char tap[IFNAMSIZ];
    int r = instance_enter(p->instance, err);
    if (r < 0)
        return r;
    tap_name(p->q->nic, tap);
    if (netlink_index(tap) < 0)
        return 0; /* it never had one */
    begin_rules(&rules, tap);
    (void)add_ingress(&rules, tap, "out", tap); /* an empty chain that drops everything */
    r = rules_apply(&rules);
    return r < 0 ? err_sys(err, r, "disconnect %s", tap) : 0;
}

static int open_inside(void *arg, struct err *err)
{
    static const struct egress_redirect_way way = { .device = VM_TOOL_WIRE_TAP_OUT,
                                                    .is_gateway = true,
                                                    .address = EGRESS_REDIRECT_GATEWAY };
    const struct place *p = arg;
    int fds[EGRESS_REDIRECT_FDS], r = instance_enter(p->instance, err);
    if (r < 0)
        return r;
    if (netlink_index(way.device) < 0)
        return no_tap(VM_TOOL_WIRE_NIC_OUT, err);
    if ((r = guard_egress_redirect(way.device)) < 0)
        return err_sys(err, r, "guard %s (does the kernel have nftables for devices?)", way.device);
    if ((r = raise_tap(way.device)) >= 0) {
        CLEANUP(close_fd_p) int nl = netlink_open(NETLINK_ROUTE);
        r = nl < 0 ? nl
                   : netlink_address(nl, netlink_index(way.device), EGRESS_REDIRECT_GATEWAY, EGRESS_REDIRECT_PREFIX);
    }
    if (r < 0)
        return err_sys(err, r, "set up %s", way.device);
    if ((r = egress_redirect_open(&way, fds, err)) < 0)
        return r;
    r = visit_send(fds, EGRESS_REDIRECT_FDS); /* our copies are closed with this process */
    return r < 0 ? err_sys(err, r, "hand over the sockets") : 0;
}

/* --- requests --- */

static int open_ns(const struct vm_tap_instance *m, struct err *err)
{
    char path[40];
    struct pollfd p = { .fd = m->pidfd, .events = POLLIN };
    (void)snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)m->pid);
    CLEANUP(close_fd_p) int ns = open(path, O_RDONLY | O_CLOEXEC);
    if (ns < 0)
        return err_sys(err, -errno, "open the VM's network namespace");
    if (poll(&p, 1, 0) != 0) /* checked last: if the process still lives, the pid was not reused */
        return err_set(err, ERR_GONE, 0, "the VM has ended");
    return steal_fd(&ns);
}

static int veth_remove(const struct vm_tool_wire_request *q, int ns, struct err *err)
{
    struct bridge_veth k = { .bridge_ns = NO_FD, .far_ns = ns, .subnet = q->subnet };
    return bridge_leave(&k, err);
}

int vm_tap_join(const struct vm_tap_instance *m, const struct vm_tool_wire_request *q, int bridge_ns, struct err *err)
{
    struct place p = { .instance = m, .q = q };
    struct err ignored = ERR_INIT;
    CLEANUP(close_fd_p) int ns = open_ns(m, err);
    if (ns < 0)
        return ns;
    struct bridge_veth k = {
        .bridge_ns = bridge_ns, .far_ns = ns, .subnet = q->subnet, .address = q->address, .kbps = q->net_kbps
    };
    int r = bridge_join(&k, err);
    if (r < 0)
        return r;
    r = visit_run(join_inside, &p, NULL, err);
    if (r < 0)
        (void)veth_remove(q, ns, &ignored); /* the first error counts */
    return r;
}

int vm_tap_leave(const struct vm_tap_instance *m, const struct vm_tool_wire_request *q, struct err *err)
{
    struct place p = { .instance = m, .q = q };
    CLEANUP(close_fd_p) int ns = open_ns(m, err);
    int r = ns < 0 ? ns : visit_run(leave_inside, &p, NULL, err);
    return r < 0 ? r : veth_remove(q, ns, err);
}

int vm_tap_egress_redirect(const struct vm_tap_instance *m, int ret_fds[EGRESS_REDIRECT_FDS], struct err *err)
{
    struct place p = { .instance = m };
    int r = visit_run(open_inside, &p, ret_fds, err);
    if (r >= 0 && (ret_fds[EGRESS_REDIRECT_TCP] < 0 || ret_fds[EGRESS_REDIRECT_DNS] < 0))
        r = err_set(err, ERR_INTERNAL, 0, "the sockets got lost");
    return r;
}
