/* Egress of a box: eth0, a bridge without ports (a sink that every kernel with our networks has), has the default
 * route to a gateway that does not exist, so that any address can be connected to. Outbound TCP and DNS are redirected
 * to the loopback (egress_redirect.h); everything else ends in the sink. Root of the box has no CAP_NET_ADMIN, so none
 * of this can be changed from inside. */
#include "runtime/native/net.h"

#include <errno.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "os/netlink.h"
#include "runtime/bridge.h"
#include "runtime/visit.h"

_Static_assert(VISIT_FDS_MAX == (int)EGRESS_REDIRECT_FDS, "a visit brings both egress sockets");

struct native_net {
    struct native_net *next;
    char id[IDENT_MAX];
    int ns;
};

static struct native_net *net_find(struct native_net *nets, const char *id)
{
    while (nets && strcmp(nets->id, id) != 0)
        nets = nets->next;
    return nets;
}

int native_net_make(struct native_net **nets, struct native_box_site *site, const struct wire_request *q,
                    struct err *err)
{
    int ns = NO_FD;
    if (net_find(*nets, q->object))
        return 0;
    if (!site->is_root)
        return err_set(
            err, ERR_UNSUPPORTED, 0,
            "networks need a server that runs as root: an unprivileged user has no rights over two sandboxes at once");
    int r = bridge_make(&ns, err);
    if (r < 0)
        return r;
    struct native_net *n = xzalloc(sizeof(*n));
    memcpy(n->id, q->object, sizeof(n->id));
    n->ns = ns;
    n->next = *nets;
    *nets = n;
    return 0;
}

void native_net_remove(struct native_net **nets, const char *id)
{
    for (struct native_net **at = nets; *at; at = &(*at)->next) {
        struct native_net *n = *at;
        if (strcmp(n->id, id) != 0)
            continue;
        *at = n->next;
        (void)close(n->ns); /* the last reference: the kernel removes the bridge and its veth pairs */
        free(n);
        return;
    }
}

struct native_net *native_net_free(struct native_net *nets)
{
    while (nets)
        native_net_remove(&nets, nets->id);
    return NULL;
}

int native_net_join(struct native_net *nets, struct native_box *c, const struct wire_request *q, struct err *err)
{
    const struct native_net *n = net_find(nets, q->object);
    if (!n)
        return err_set(err, ERR_NOT_FOUND, 0, "network %s is not set up", q->object);
    CLEANUP(close_fd_p) int box = native_box_visit_open(c, "net", err);
    if (box < 0)
        return box;
    struct bridge_veth k = { .bridge_ns = n->ns,
                             .far_ns = box,
                             .subnet = q->subnet,
                             .address = q->address,
                             .prefix = (uint8_t)q->prefix,
                             .kbps = q->net_kbps };
    return bridge_join(&k, err);
}

int native_net_leave(struct native_box *c, const struct wire_request *q, struct err *err)
{
    CLEANUP(close_fd_p) int box = native_box_visit_open(c, "net", err);
    struct bridge_veth k = { .bridge_ns = NO_FD, .far_ns = box, .subnet = q->subnet };
    return box < 0 ? box : bridge_leave(&k, err);
}

static int make_sink(void)
{
    CLEANUP(close_fd_p) int nl = netlink_open(NETLINK_ROUTE);
    if (nl < 0)
        return nl;
    int index = netlink_index(WIRE_SINK), r = 0;
    if (index < 0 && (r = netlink_bridge(nl, WIRE_SINK)) >= 0)
        index = netlink_index(WIRE_SINK);
    if (index < 0)
        return r < 0 ? r : index;
    uint8_t mac[6];
    bridge_mac(EGRESS_REDIRECT_GATEWAY,
               mac); /* nobody has it; asking for one would fill the host's table of neighbours */
    if ((r = netlink_no_inet6(nl, index)) < 0 || (r = netlink_address(nl, index, EGRESS_REDIRECT_ADDRESS, 32)) < 0 ||
        (r = netlink_up(nl, index, 0)) < 0 || (r = netlink_neighbour(nl, index, EGRESS_REDIRECT_GATEWAY, mac)) < 0)
        return r;
    return netlink_default_route(nl, index, EGRESS_REDIRECT_GATEWAY);
}

static int open_inside(void *arg, struct err *err)
{
    static const struct egress_redirect_way way = { .device = WIRE_SINK, .address = INADDR_LOOPBACK };
    struct native_box *c = arg;
    int fds[EGRESS_REDIRECT_FDS], r = native_box_visit_join(c, CLONE_NEWNET, err);
    if (r < 0)
        return r;
    if ((r = make_sink()) < 0)
        return err_sys(err, r, "set up egress of box %s", c->name);
    if ((r = egress_redirect_open(&way, fds, err)) < 0)
        return err_wrap(err, r, "box %s", c->name);
    r = visit_send(fds, EGRESS_REDIRECT_FDS); /* our copies are closed with this process */
    return r < 0 ? err_sys(err, r, "hand over the sockets of box %s", c->name) : 0;
}

int native_net_egress_redirect(struct native_box *c, int ret_fds[EGRESS_REDIRECT_FDS], struct err *err)
{
    int r = visit_run(open_inside, c, ret_fds, err);
    if (r >= 0 && (ret_fds[EGRESS_REDIRECT_TCP] < 0 || ret_fds[EGRESS_REDIRECT_DNS] < 0))
        r = err_set(err, ERR_INTERNAL, 0, "the sockets of box %s were lost", c->name);
    return r;
}
