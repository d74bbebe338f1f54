/* Mounts an overlay on kernels before 6.15: layers by name, of attached mounts. A layer's name is the number of its
 * open descriptor, with /proc/self/fd as the working folder: nothing to escape, nothing to resolve again, and
 * hundreds of layers fit into the one page of options. Header only, because the launcher (glibc) and the agent
 * (musl) both use it. May include: os/mount.h. */
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include <sys/mount.h>

#include "os/mount.h"

struct overlay_compat {
    char text[4000]; /* the kernel reads one page at most */
    size_t len;
    bool is_full;
};

static inline void overlay_compat_add(struct overlay_compat *o, const char *before, int fd, const char *after)
{
    int n = snprintf(o->text + o->len, sizeof(o->text) - o->len, "%s%d%s", before, fd, after);
    o->is_full |= n < 0 || (size_t)n >= sizeof(o->text) - o->len;
    o->len += o->is_full ? 0 : (size_t)n;
}

/* Adds the next layer, topmost first. The descriptor must stay open until the mount. */
static inline void overlay_compat_lower(struct overlay_compat *o, int fd)
{
    overlay_compat_add(o, o->len ? ":" : "lowerdir=", fd, "");
}

/* After the layers: folders of dir_fd for the changes. Short names without commas. */
static inline void overlay_compat_upper(struct overlay_compat *o, int dir_fd, const char *upper, const char *work)
{
    char name[80];
    snprintf(name, sizeof(name), "/%s", upper);
    overlay_compat_add(o, ",upperdir=", dir_fd, name);
    snprintf(name, sizeof(name), "/%s", work);
    overlay_compat_add(o, ",workdir=", dir_fd, name);
}

/* Mounts it on the folder target (an absolute name) with further options, and returns a detached copy; the target is
 * unchanged. */
static inline int overlay_compat_mount(struct overlay_compat *o, const char *target, const char *options)
{
    int n = snprintf(o->text + o->len, sizeof(o->text) - o->len, ",%s", options);
    if (o->is_full || n < 0 || (size_t)n >= sizeof(o->text) - o->len)
        return -E2BIG;
    int back = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = back < 0 || chdir("/proc/self/fd") < 0 ? -errno : 0;
    if (r >= 0 && mount("overlay", target, "overlay", MS_NOSUID | MS_NODEV, o->text) < 0)
        r = -errno;
    if (r >= 0) {
        r = mount_clone(AT_FDCWD, target);
        if (umount2(target, MNT_DETACH) < 0 && r >= 0) {
            close(r);
            r = -errno;
        }
    }
    if (back >= 0) {
        if (fchdir(back) < 0 && r >= 0) {
            close(r);
            r = -errno;
        }
        close(back);
    }
    return r;
}
