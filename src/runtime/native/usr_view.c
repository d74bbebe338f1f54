/* The host's /usr as a box sees it: an overlay of its own over the host's files, read-only.
 *
 * Owners are mapped, so that root of the box seems to own /usr. That alone would let it read files that only root of
 * the host may read. But overlayfs checks every access twice: as the process that asks, and as whoever mounted it. We
 * mount as a user who owns nothing, without the capabilities that override modes. So a box reads what every user of the
 * host may read, whatever is installed later.
 *
 * The inodes are the box's own: inotify, locks and leases do not reach what others do with the same files.
 *
 * Where this cannot be done (kernels before 6.15, a file system without idmapped mounts), the host's folder is mounted
 * as it is. Its files belong to nobody inside, so modes hold there as well. */
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/mount.h"
#include "runtime/native/box.h"

#define NOBODY (IDRANGE_POOL_BASE - 1) /* no box and no user of a host has it */

static int caps_set(struct __user_cap_data_struct data[2])
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

/* Mounts with the credentials that the overlay keeps for all later accesses. */
static int make_as_nobody(int fs, int *ret)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct all[2], few[2];
    if (syscall(SYS_capget, &head, all) < 0)
        return -errno;
    few[0] = all[0];
    few[1] = all[1];
    few[0].effective &= ~(1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH);
    int r = caps_set(few);
    if (r < 0)
        return r;
    (void)setfsgid(NOBODY); /* these two return only the former value */
    (void)setfsuid(NOBODY);
    r = mount_fs_make(fs, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    (void)setfsuid(0);
    (void)setfsgid(0);
    if (caps_set(all) < 0)
        abort(); /* a launcher without them would fail at everything, in odd ways */
    if (r < 0)
        return r;
    *ret = r;
    return 0;
}

/* An overlay needs two layers: the other is the empty folder that stages start in. */
static int make_view(const struct native_box_site *site, int layer, int *ret)
{
    CLEANUP(close_fd_p) int fs = mount_fs_open("overlay");
    CLEANUP(close_fd_p) int top = openat(layer, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(close_fd_p) int empty = openat(site->run_fd, "root", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = fs < 0 ? fs : top < 0 || empty < 0 ? -errno : mount_fs_dir(fs, "lowerdir+", top);
    if (r >= 0)
        r = mount_fs_dir(fs, "lowerdir+", empty);
    return r < 0 ? r : make_as_nobody(fs, ret);
}

int native_box_root_usr(struct native_box_site *site, struct native_box *c, struct err *err)
{
    CLEANUP(close_fd_p) int layer = mount_clone(site->usr_fd, "");
    uint64_t attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    if (layer < 0)
        return err_sys(err, layer, "clone the host's /usr");
    if (!site->is_overlay_by_name && mount_set(layer, attributes, c->userns) == 0 &&
        make_view(site, layer, &c->usr) == 0)
        return 0;
    CLEANUP(close_fd_p) int plain = mount_clone(site->usr_fd, "");
    int r = plain < 0 ? plain : mount_set(plain, attributes, -1);
    if (r < 0)
        return err_sys(err, r, "clone the host's /usr");
    c->usr = steal_fd(&plain);
    return 0;
}
