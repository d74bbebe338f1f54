#include "guest/agent/vm_nic.h"

#include <arpa/inet.h>
#include <errno.h>
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

static void put_address(struct sockaddr *to, uint32_t address)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(address) };
    memcpy(to, &in, sizeof(in));
}

static int find(int sock, const uint8_t mac[6], char name[IFNAMSIZ])
{
    struct if_nameindex *all = if_nameindex();
    int r = -ENODEV;
    for (struct if_nameindex *i = all; i && i->if_name && r < 0; i++) {
        struct ifreq req = { 0 };
        (void)snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", i->if_name);
        if (ioctl(sock, SIOCGIFHWADDR, &req) < 0 || req.ifr_hwaddr.sa_family != ARPHRD_ETHER ||
            memcmp(req.ifr_hwaddr.sa_data, mac, 6) != 0)
            continue;
        memcpy(name, req.ifr_name, IFNAMSIZ);
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

static int set_address(int sock, const char *name, const struct vmhello_nic *nic)
{
    struct ifreq req = { 0 };
    (void)snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
    put_address(&req.ifr_addr, nic->address); /* 0 takes the old ones away */
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

/* Going down first takes the routes of an earlier identity along. */
static int apply(int sock, const char *name, const struct vmhello_nic *nic)
{
    struct vmhello_nic none = { 0 };
    int r = set_up(sock, name, false);
    if (r >= 0)
        r = set_address(sock, name, &none);
    if (r < 0 || nic->address == 0)
        return r;
    r = set_address(sock, name, nic);
    if (r >= 0)
        r = set_up(sock, name, true);
    return r < 0 || nic->gateway == 0 ? r : set_gateway(sock, name, nic->gateway);
}

int vm_nic_set(struct boxroot *b, const struct vmhello_nic *nic)
{
    static const uint8_t none[6];
    char name[IFNAMSIZ] = "";
    const uint8_t *m = nic->mac;
    if (memcmp(m, none, sizeof(none)) == 0)
        return 0;
    int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int r = sock < 0 ? -errno : find(sock, m, name);
    if (r >= 0)
        r = apply(sock, name, nic);
    if (sock >= 0)
        (void)close(sock);
    if (r == -ENODEV && !name[0])
        return boxroot_fail(b, r, "no interface has the hardware address %02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1],
                            m[2], m[3], m[4], m[5]);
    return r < 0 ? boxroot_fail(b, r, "set the address of interface %s", name) : 0;
}
