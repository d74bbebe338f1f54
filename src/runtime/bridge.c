#include "runtime/bridge.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/netlink.h"
#include "runtime/visit.h"

#define BRIDGE      "switch0"
#define LARGEST_NET 24 /* prefix: one record for each of 253 neighbours */

static int bridge_build(void *arg, struct err *err)
{
    (void)arg;
    if (unshare(CLONE_NEWNET) < 0)
        return err_sys(err, -errno, "make a network namespace");
    CLEANUP(close_fd_p) int nl = netlink_open(NETLINK_ROUTE);
    int r = nl < 0 ? nl : netlink_bridge(nl, BRIDGE);
    int index = r < 0 ? r : netlink_index(BRIDGE);
    r = index < 0 ? index : netlink_no_inet6(nl, index); /* it must send nothing, and has no address to reach */
    if (r >= 0)
        r = netlink_up(nl, index, 0);
    if (r < 0)
        return err_sys(err, r, "make the bridge of a network (does the kernel have bridges?)");
    CLEANUP(close_fd_p) int ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    r = ns < 0 ? -errno : visit_send(&ns, 1);
    return r < 0 ? err_sys(err, r, "keep the network namespace") : 0;
}

int bridge_make(int *ret_ns, struct err *err)
{
    int fds[VISIT_FDS_MAX];
    int r = visit_run(bridge_build, NULL, fds, err);
    if (r < 0)
        return r;
    if (fds[0] < 0)
        return err_set(err, ERR_INTERNAL, 0, "the network namespace was lost");
    *ret_ns = fds[0];
    return 0;
}

void bridge_device(uint32_t subnet, char ret[IFNAMSIZ])
{
    (void)snprintf(ret, IFNAMSIZ, "net%u", subnet);
}

void bridge_mac(uint32_t address, uint8_t ret[6])
{
    const uint8_t mac[6] = {
        0x02, 0x69, (uint8_t)(address >> 24), (uint8_t)(address >> 16), (uint8_t)(address >> 8), (uint8_t)address
    };
    memcpy(ret, mac, sizeof(mac));
}

/* A device that does not exist, or that disappears with a namespace being destroyed, counts as removed. */
static int remove_device(int nl, const char *name)
{
    int index = netlink_index(name);
    int r = index < 0 ? index : netlink_delete(nl, index);
    return r == -ENODEV ? 0 : r;
}

static int bridge_plug_port(const struct bridge_veth *k)
{
    CLEANUP(close_fd_p) int nl = netlink_open(NETLINK_ROUTE);
    char port[IFNAMSIZ], device[IFNAMSIZ];
    uint8_t mac[6];
    if (nl < 0)
        return nl;
    bridge_mac(k->address, mac);
    bridge_device(k->subnet, device);
    (void)snprintf(port, sizeof(port), "p%08x", k->address);
    int r = remove_device(nl, port); /* left by a box that this one replaces and that is still being destroyed */
    if (r >= 0)
        r = netlink_veth(nl, port, device, k->far_ns, mac);
    if (r < 0)
        return r;
    int master = netlink_index(BRIDGE), index = netlink_index(port);
    if (master < 0 || index < 0)
        return master < 0 ? master : index;
    r = k->kbps ? netlink_rate(nl, index, k->kbps) : 0; /* limits what the member receives */
    if (r >= 0)
        r = netlink_no_inet6(nl, index);
    return r < 0 ? r : netlink_up(nl, index, master);
}

/* The hardware address follows from the address. So members need not ask for it, and a member that looks for addresses
 * which do not exist cannot fill the table of neighbours that all network namespaces of the host share. */
static int plug_neighbours(int nl, int index, const struct bridge_veth *k)
{
    uint32_t hosts = (1u << (32 - k->prefix)) - 1, first = k->address & ~hosts;
    int r = 0;
    for (uint32_t host = 1; r >= 0 && host < hosts; host++) {
        uint8_t mac[6];
        bridge_mac(first + host, mac);
        if (first + host != k->address)
            r = netlink_neighbour(nl, index, first + host, mac);
    }
    return r;
}

static int plug_far(const struct bridge_veth *k)
{
    char device[IFNAMSIZ];
    bridge_device(k->subnet, device);
    CLEANUP(close_fd_p) int nl = netlink_open(NETLINK_ROUTE);
    int index = nl < 0 ? nl : netlink_index(device);
    if (index < 0)
        return index;
    int r = k->kbps ? netlink_rate(nl, index, k->kbps)
                    : 0; /* limits what it sends; the member has no right to change that */
    if (r >= 0 && k->prefix)
        r = netlink_address(nl, index, k->address, k->prefix);
    if (r >= 0 && k->prefix >= LARGEST_NET)
        r = plug_neighbours(nl, index, k);
    if (r >= 0) /* the kernel's own IPv6 messages would count as use of the box */
        r = netlink_no_inet6(nl, index);
    return r < 0 ? r : netlink_up(nl, index, 0);
}

static int veth_remove(const struct bridge_veth *k)
{
    char device[IFNAMSIZ];
    bridge_device(k->subnet, device);
    CLEANUP(close_fd_p) int nl = netlink_open(NETLINK_ROUTE);
    return nl < 0 ? nl : remove_device(nl, device); /* both ends go */
}

static int netns_enter(int ns, struct err *err)
{
    return setns(ns, CLONE_NEWNET) < 0 ? err_sys(err, -errno, "join the network namespace of the box") : 0;
}

static int join_inside(void *arg, struct err *err)
{
    const struct bridge_veth *k = arg;
    int r = netns_enter(k->far_ns, err);
    if (r < 0)
        return r;
    if ((r = veth_remove(k)) < 0) /* left by an earlier process; its bridge is gone */
        return err_sys(err, r, "remove the old device of network %u", k->subnet);
    if (setns(k->bridge_ns, CLONE_NEWNET) < 0)
        return err_sys(err, -errno, "join the network's namespace");
    if ((r = bridge_plug_port(k)) < 0)
        return err_sys(err, r, "connect a veth pair to the bridge of network %u", k->subnet);
    if ((r = netns_enter(k->far_ns, err)) < 0)
        return r;
    if ((r = plug_far(k)) < 0) {
        (void)veth_remove(k); /* removes the half that was made */
        return err_sys(err, r, "set up the device of network %u in the box", k->subnet);
    }
    return 0;
}

static int leave_inside(void *arg, struct err *err)
{
    const struct bridge_veth *k = arg;
    int r = netns_enter(k->far_ns, err);
    if (r >= 0 && (r = veth_remove(k)) < 0)
        return err_sys(err, r, "remove the device of network %u", k->subnet);
    return r;
}

int bridge_join(const struct bridge_veth *k, struct err *err)
{
    struct bridge_veth copy = *k;
    return visit_run(join_inside, &copy, NULL, err);
}

int bridge_leave(const struct bridge_veth *k, struct err *err)
{
    struct bridge_veth copy = *k;
    return visit_run(leave_inside, &copy, NULL, err);
}
