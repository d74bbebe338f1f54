#include "runtime/native/switchnet.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <sched.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "os/netlink.h"
#include "runtime/native/visit.h"

#define BRIDGE "switch0"

struct switchnet {
    struct switchnet *next;
    char id[IDENT_MAX];
    int ns;
};

struct cable {
    int switch_ns, box_ns;
    char port[IFNAMSIZ], device[IFNAMSIZ]; /* at the switch, in the box */
    uint32_t address;
    uint8_t prefix;
    uint32_t kbps; /* 0 = no limit */
};

static struct switchnet *find(struct switchnet *nets, const char *id)
{
    while (nets && strcmp(nets->id, id) != 0)
        nets = nets->next;
    return nets;
}

static int build(void *arg, struct err *err)
{
    (void)arg;
    if (unshare(CLONE_NEWNET) < 0)
        return err_sys(err, -errno, "make a network namespace");
    CLEANUP(close_fd_p) int nl = netlink_open(NETLINK_ROUTE);
    int r = nl < 0 ? nl : netlink_bridge(nl, BRIDGE);
    int index = r < 0 ? r : netlink_index(BRIDGE);
    r = index < 0 ? index : netlink_up(nl, index, 0);
    if (r < 0)
        return err_sys(err, r, "make the bridge of a network (does the kernel have bridges?)");
    CLEANUP(close_fd_p) int ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    r = ns < 0 ? -errno : visit_send(&ns, 1);
    return r < 0 ? err_sys(err, r, "keep the network namespace") : 0;
}

int switchnet_make(struct switchnet **nets, struct cell_site *site, const struct wire_request *q, struct err *err)
{
    int fds[VISIT_FDS_MAX];
    if (find(*nets, q->object))
        return 0;
    if (!site->is_root)
        return err_set(
            err, ERR_UNSUPPORTED, 0,
            "networks need a server that runs as root: an ordinary user has no rights over two sandboxes at once");
    int r = visit_run(build, NULL, fds, err);
    if (r < 0)
        return r;
    if (fds[0] < 0)
        return err_set(err, ERR_INTERNAL, 0, "the network namespace got lost");
    struct switchnet *n = xzalloc(sizeof(*n));
    memcpy(n->id, q->object, sizeof(n->id));
    n->ns = fds[0];
    n->next = *nets;
    *nets = n;
    return 0;
}

void switchnet_remove(struct switchnet **nets, const char *id)
{
    for (struct switchnet **at = nets; *at; at = &(*at)->next) {
        struct switchnet *n = *at;
        if (strcmp(n->id, id) != 0)
            continue;
        *at = n->next;
        (void)close(n->ns); /* the last of it: bridge and cables go too */
        free(n);
        return;
    }
}

struct switchnet *switchnet_free(struct switchnet *nets)
{
    while (nets)
        switchnet_remove(&nets, nets->id);
    return NULL;
}

/* Not there, or gone meanwhile (with a namespace that the kernel is taking down), is as good as removed. */
static int remove_device(int nl, const char *name)
{
    int index = netlink_index(name);
    int r = index < 0 ? index : netlink_delete(nl, index);
    return r == -ENODEV ? 0 : r;
}

static int plug_switch(const struct cable *k)
{
    CLEANUP(close_fd_p) int nl = netlink_open(NETLINK_ROUTE);
    if (nl < 0)
        return nl;
    /* Made from the address, so that a member that comes back is still who its peers remember. */
    uint8_t mac[6] = { 0x02,
                       0x69,
                       (uint8_t)(k->address >> 24),
                       (uint8_t)(k->address >> 16),
                       (uint8_t)(k->address >> 8),
                       (uint8_t)k->address };
    int r = remove_device(nl, k->port); /* of a box that this one replaces and that is not quite gone */
    if (r >= 0)
        r = netlink_veth(nl, k->port, k->device, k->box_ns, mac);
    if (r < 0)
        return r;
    int master = netlink_index(BRIDGE), index = netlink_index(k->port);
    if (master < 0 || index < 0)
        return master < 0 ? master : index;
    r = k->kbps ? netlink_rate(nl, index, k->kbps) : 0; /* what the box receives */
    return r < 0 ? r : netlink_up(nl, index, master);
}

static int plug_box(const struct cable *k)
{
    CLEANUP(close_fd_p) int nl = netlink_open(NETLINK_ROUTE);
    int index = nl < 0 ? nl : netlink_index(k->device);
    if (index < 0)
        return index;
    int r = k->kbps ? netlink_rate(nl, index, k->kbps) : 0; /* what it sends; it has no right to change that */
    if (r >= 0)
        r = netlink_address(nl, index, k->address, k->prefix);
    return r < 0 ? r : netlink_up(nl, index, 0);
}

static int unplug(const struct cable *k)
{
    CLEANUP(close_fd_p) int nl = netlink_open(NETLINK_ROUTE);
    return nl < 0 ? nl : remove_device(nl, k->device); /* both ends go */
}

static int join_inside(void *arg, struct err *err)
{
    const struct cable *k = arg;
    if (setns(k->box_ns, CLONE_NEWNET) < 0)
        return err_sys(err, -errno, "join the network namespace of the box");
    int r = unplug(k); /* what a former launcher left; its switch is gone */
    if (r < 0)
        return err_sys(err, r, "remove the old device %s", k->device);
    if (setns(k->switch_ns, CLONE_NEWNET) < 0)
        return err_sys(err, -errno, "join the network's namespace");
    if ((r = plug_switch(k)) < 0)
        return err_sys(err, r, "connect %s to the switch", k->port);
    if (setns(k->box_ns, CLONE_NEWNET) < 0)
        return err_sys(err, -errno, "join the network namespace of the box");
    r = plug_box(k);
    if (r < 0) {
        (void)unplug(k); /* half a cable is none */
        return err_sys(err, r, "set up %s in the box", k->device);
    }
    return 0;
}

static int leave_inside(void *arg, struct err *err)
{
    const struct cable *k = arg;
    if (setns(k->box_ns, CLONE_NEWNET) < 0)
        return err_sys(err, -errno, "join the network namespace of the box");
    int r = unplug(k);
    return r < 0 ? err_sys(err, r, "remove device %s", k->device) : 0;
}

static struct cable cable_of(const struct wire_request *q)
{
    struct cable k = { .switch_ns = NO_FD, .box_ns = NO_FD, .address = q->address, .prefix = (uint8_t)q->prefix };
    k.kbps = q->net_kbps;
    snprintf(k.port, sizeof(k.port), "p%08x", q->address);
    snprintf(k.device, sizeof(k.device), "net%u", q->subnet);
    return k;
}

int switchnet_join(struct switchnet *nets, struct cell *c, const struct wire_request *q, struct err *err)
{
    struct cable k = cable_of(q);
    const struct switchnet *n = find(nets, q->object);
    if (!n)
        return err_set(err, ERR_NOT_FOUND, 0, "network %s is not set up", q->object);
    CLEANUP(close_fd_p) int box = visit_open(c, "net", err);
    if (box < 0)
        return box;
    k.switch_ns = n->ns;
    k.box_ns = box;
    return visit_run(join_inside, &k, NULL, err);
}

int switchnet_leave(struct cell *c, const struct wire_request *q, struct err *err)
{
    struct cable k = cable_of(q);
    CLEANUP(close_fd_p) int box = visit_open(c, "net", err);
    if (box < 0)
        return box;
    k.box_ns = box;
    return visit_run(leave_inside, &k, NULL, err);
}
