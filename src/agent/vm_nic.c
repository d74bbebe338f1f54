#include "agent/vm_nic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define UNUSED      "nic" /* followed by its number */
#define EGRESS_NAME "eth0"

/* No interface was used since the last reset. A VM restored from a template need not scan them again, which would
 * cost an emulated one more than the rest of its start. Only the init process has this. */
static bool is_unused;

static void put_address(struct sockaddr *to, uint32_t address)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(address) };
    memcpy(to, &in, sizeof(in));
}

/* The hardware address it was created with; false: not one of ours. */
static bool came_with(int sock, const char *name, uint8_t ret[6])
{
    struct ifreq req = { 0 };
    union {
        struct ethtool_perm_addr head;
        uint8_t bytes[sizeof(struct ethtool_perm_addr) + 32];
    } ask = { .head = { .cmd = ETHTOOL_GPERMADDR, .size = 32 } };
    uint8_t ours[6];
    (void)snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
    req.ifr_data = (void *)&ask;
    vm_handshake_mac(0, ours);
    if (ioctl(sock, SIOCETHTOOL, &req) < 0 || ask.head.size != 6)
        return false;
    memcpy(ret, ask.bytes + sizeof(ask.head), 6);
    return memcmp(ret, ours, 5) == 0;
}

static int nic_find(int sock, const uint8_t mac[6], char name[IFNAMSIZ])
{
    struct if_nameindex *all = if_nameindex();
    int r = -ENODEV;
    for (struct if_nameindex *i = all; i && i->if_name && r < 0; i++) {
        uint8_t has[6];
        if (!came_with(sock, i->if_name, has) || memcmp(has, mac, sizeof(has)) != 0)
            continue;
        (void)snprintf(name, IFNAMSIZ, "%s", i->if_name);
        r = 0;
    }
    if (all)
        if_freenameindex(all);
    return r;
}

static int set_up(int sock, const char *name, bool is_up)
{
    struct ifreq req = { 0 };
    (void)snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
    if (ioctl(sock, SIOCGIFFLAGS, &req) < 0)
        return -errno;
    req.ifr_flags = (short)(is_up ? req.ifr_flags | IFF_UP : req.ifr_flags & ~IFF_UP);
    return ioctl(sock, SIOCSIFFLAGS, &req) < 0 ? -errno : 0;
}

static int set_address(int sock, const char *name, const struct vm_handshake_nic *nic)
{
    struct ifreq req = { 0 };
    (void)snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
    put_address(&req.ifr_addr, nic->address); /* 0 removes the old ones */
    if (ioctl(sock, SIOCSIFADDR, &req) < 0)
        return -errno;
    if (nic->address == 0)
        return 0;
    put_address(&req.ifr_netmask, nic->prefix ? ~0u << (32 - nic->prefix) : 0);
    return ioctl(sock, SIOCSIFNETMASK, &req) < 0 ? -errno : 0;
}

static int set_gateway(int sock, const char *name, uint32_t gateway)
{
    char device[IFNAMSIZ];
    struct rtentry route = { .rt_flags = RTF_UP | RTF_GATEWAY, .rt_dev = device };
    (void)snprintf(device, sizeof(device), "%s", name);
    put_address(&route.rt_dst, 0);
    put_address(&route.rt_genmask, 0);
    put_address(&route.rt_gateway, gateway);
    return ioctl(sock, SIOCADDRT, &route) < 0 ? -errno : 0;
}

static int set_mac(int sock, const char *name, const uint8_t mac[6])
{
    struct ifreq req = { 0 };
    (void)snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
    req.ifr_hwaddr.sa_family = ARPHRD_ETHER;
    memcpy(req.ifr_hwaddr.sa_data, mac, 6);
    return ioctl(sock, SIOCSIFHWADDR, &req) < 0 ? -errno : 0;
}

static int set_name(int sock, char name[IFNAMSIZ], const char *to)
{
    struct ifreq req = { 0 };
    (void)snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
    (void)snprintf(req.ifr_newname, sizeof(req.ifr_newname), "%s", to);
    if (ioctl(sock, SIOCSIFNAME, &req) < 0)
        return -errno;
    (void)snprintf(name, IFNAMSIZ, "%s", to);
    return 0;
}

/* Taking it down removes the routes of an earlier identity. The name comes last: it marks the interface as reset. */
static int nic_release(int sock, char name[IFNAMSIZ], const uint8_t mac[6])
{
    struct vm_handshake_nic none = { 0 };
    char unused[IFNAMSIZ];
    (void)snprintf(unused, sizeof(unused), UNUSED "%u", mac[5]);
    if (strcmp(name, unused) == 0)
        return 0;
    int r = set_up(sock, name, false);
    if (r >= 0)
        r = set_address(sock, name, &none);
    if (r >= 0)
        r = set_mac(sock, name, mac);
    return r < 0 ? r : set_name(sock, name, unused);
}

static int release_name(int sock, const char *name)
{
    char found[IFNAMSIZ];
    uint8_t mac[6];
    (void)snprintf(found, sizeof(found), "%s", name);
    return came_with(sock, name, mac) ? nic_release(sock, found, mac) : 0;
}

/* hardware NULL: it keeps its own. */
static int nic_use(int sock, const struct vm_handshake_nic *nic, const char *as, const uint8_t *hardware)
{
    char name[IFNAMSIZ];
    is_unused = false;
    int r = release_name(sock, as); /* another that had this name before the host was restarted */
    if (r >= 0)
        r = nic_find(sock, nic->mac, name);
    if (r >= 0)
        r = nic_release(sock, name, nic->mac);
    if (r >= 0)
        r = set_name(sock, name, as);
    if (r >= 0 && hardware)
        r = set_mac(sock, name, hardware);
    if (r >= 0)
        r = set_address(sock, name, nic);
    if (r >= 0)
        r = set_up(sock, name, true);
    return r < 0 || nic->gateway == 0 ? r : set_gateway(sock, name, nic->gateway);
}

static int nic_fail(struct box_root *b, int r, const struct vm_handshake_nic *nic)
{
    if (r == -ENODEV)
        return box_root_fail(b, r, "interface %u is not there (has this kernel virtio_net?)", nic->mac[5]);
    return r < 0 ? box_root_fail(b, r, "set up interface %u", nic->mac[5]) : 0;
}

int vm_nic_reset(struct box_root *b)
{
    if (is_unused)
        return 0;
    int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int r = sock < 0 ? -errno : 0;
    struct if_nameindex *all = r < 0 ? NULL : if_nameindex();
    for (struct if_nameindex *i = all; i && i->if_name && r >= 0; i++)
        r = release_name(sock, i->if_name);
    if (all)
        if_freenameindex(all);
    if (sock >= 0)
        (void)close(sock);
    is_unused = r >= 0;
    return r < 0 ? box_root_fail(b, r, "reset the interfaces") : 0;
}

int vm_nic_set(struct box_root *b, const struct vm_handshake_nic *nic)
{
    static const uint8_t none[6];
    if (memcmp(nic->mac, none, sizeof(none)) == 0 || nic->address == 0)
        return 0;
    int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int r = sock < 0 ? -errno : nic_use(sock, nic, EGRESS_NAME, NULL);
    if (sock >= 0)
        (void)close(sock);
    return nic_fail(b, r, nic);
}

int vm_nic_do(struct box_root *b, const struct vm_handshake *note)
{
    const struct vm_handshake_nic *nic = &note->nic[0];
    const uint32_t a = nic->address;
    /* The address that a native box has in a network (bridge_mac). */
    const uint8_t hardware[6] = { 0x02, 0x69, (uint8_t)(a >> 24), (uint8_t)(a >> 16), (uint8_t)(a >> 8), (uint8_t)a };
    int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    char name[IFNAMSIZ];
    int r = sock < 0 ? -errno : 0;
    if (r >= 0 && note->what == VM_HANDSHAKE_PLUG)
        r = nic_use(sock, nic, note->hostname, hardware);
    else if (r >= 0 && nic_find(sock, nic->mac, name) >= 0)
        r = nic_release(sock, name, nic->mac);
    if (sock >= 0)
        (void)close(sock);
    return nic_fail(b, r, nic);
}
