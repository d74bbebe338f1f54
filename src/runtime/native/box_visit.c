#include "runtime/native/box_visit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>

#include "base/cleanup.h"

int native_box_visit_join(const struct native_box *c, int namespaces, struct err *err)
{
    if (!c->site->is_root && setns(c->pidfd, CLONE_NEWUSER) < 0)
        return err_sys(err, -errno, "join the user namespace of box %s", c->name);
    return setns(c->pidfd, namespaces) < 0 ? err_sys(err, -errno, "join the namespaces of box %s", c->name) : 0;
}

int native_box_visit_open(const struct native_box *c, const char *kind, struct err *err)
{
    char path[64];
    struct pollfd p = { .fd = c->pidfd, .events = POLLIN };
    snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)c->pid, kind);
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, -errno, "open the %s namespace of box %s", kind, c->name);
    if (poll(&p, 1, 0) != 0) /* checked last: if the process still lives, the pid was not reused */
        return err_set(err, ERR_GONE, 0, "box %s has ended", c->name);
    return steal_fd(&fd);
}
