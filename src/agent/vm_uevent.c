#include "agent/vm_uevent.h"

#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/loop.h"

int vm_uevent_open(void)
{
    struct sockaddr_nl kernel = { .nl_family = AF_NETLINK, .nl_groups = 1 }; /* sent when a device is complete */
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&kernel, sizeof(kernel)) == 0)
        return fd;
    int r = -errno;
    if (fd >= 0)
        (void)close(fd);
    return r;
}

bool vm_uevent_wait(int fd, uint64_t end_us)
{
    char text[8192];
    struct pollfd p = { .fd = fd, .events = POLLIN };
    uint64_t now = agent_loop_now_us();
    if (fd < 0 || now >= end_us || poll(&p, 1, (int)((end_us - now) / 1000) + 1) == 0)
        return false;
    while (recv(fd, text, sizeof(text), 0) > 0) /* what they say does not matter; those lost are as good */
        ;
    return true;
}
