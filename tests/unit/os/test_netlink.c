/* Messages against the kernel, in a network namespace of this process. */
#include "os/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tap.h"

TEST(overflow_is_reported)
{
    static const char value[1000];
    static struct netlink_msg m;
    struct ifinfomsg head = { .ifi_family = AF_UNSPEC };
    CLEANUP(close_fd_p) int fd = netlink_open(NETLINK_ROUTE);
    netlink_begin(&m, RTM_NEWLINK, NLM_F_ACK, &head, sizeof(head));
    size_t nest = netlink_nest(&m, IFLA_LINKINFO);
    for (int i = 0; i < 10; i++)
        netlink_attr(&m, IFLA_INFO_DATA, value, sizeof(value));
    CHECK(m.is_full);
    netlink_end(&m, nest);
    (void)netlink_nest(&m, IFLA_LINKINFO);
    netlink_attr_u32(&m, IFLA_MASTER, 1); /* fits, but the message stays unusable */
    CHECK_INT(netlink_ask(fd, &m, 1), -E2BIG);
}

TEST(links_and_addresses)
{
    CLEANUP(close_fd_p) int fd = netlink_open(NETLINK_ROUTE);
    CHECK_INT(netlink_bridge(fd, "br0"), 0);
    CHECK_INT(netlink_bridge(fd, "br0"), -EEXIST);
    int index = netlink_index("br0");
    CHECK(index > 0);
    CHECK_INT(netlink_no_inet6(fd, index), 0);
    CHECK_INT(netlink_address(fd, index, 0x0a000001, 24), 0);
    CHECK_INT(netlink_up(fd, index, 0), 0);
    const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
    CHECK_INT(netlink_neighbour(fd, index, 0x64600001, mac), 0);
    CHECK_INT(netlink_neighbour(fd, index, 0x64600001, mac), 0);
    CHECK_INT(netlink_neighbour(fd, 9999, 0x64600001, mac), -ENODEV);
    CHECK_INT(netlink_default_route(fd, index, 0x64600001), 0); /* in no network of ours */
    CHECK_INT(netlink_delete(fd, index), 0);
    CHECK_INT(netlink_delete(fd, index), -ENODEV);
    CHECK_INT(netlink_index("br0"), -ENODEV);
}

/* The error of one message in the middle is the result, whatever the others say. */
TEST(several_messages)
{
    static struct netlink_msg m[3];
    CLEANUP(close_fd_p) int fd = netlink_open(NETLINK_ROUTE);
    for (int i = 0; i < 3; i++) {
        struct ifinfomsg head = { .ifi_family = AF_UNSPEC, .ifi_index = i == 1 ? 9999 : 1 };
        netlink_begin(&m[i], RTM_SETLINK, NLM_F_ACK, &head, sizeof(head));
    }
    CHECK_INT(netlink_ask(fd, m, 1), 0);
    CHECK_INT(netlink_ask(fd, m, 3), -ENODEV);
}

int main(void)
{
    RUN(overflow_is_reported);
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) {
        RUN(links_and_addresses);
        RUN(several_messages);
    } else {
        SKIP(links_and_addresses, "needs a network namespace");
        SKIP(several_messages, "needs a network namespace");
    }
    return tap_done();
}
