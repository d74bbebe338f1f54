/* The target is a path in a file system that hostile processes change all the time. So the volume is attached to the
 * descriptor that mount_walk() returns, without leaving the root's own mount: no name is resolved twice. The walk
 * runs in the box's mount namespace with the box's root as file system user, so that folders it makes belong to the
 * box. */
#include "runtime/native/volume_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "os/mount.h"
#include "runtime/native/box.h"
#include "runtime/runtime.h"
#include "runtime/visit.h"

struct volume_visit {
    struct native_box *c;
    const char *target;
    int volume; /* the folder */
    int tree;   /* root: its detached mount */
    bool is_readonly;
};

/* Opens the folder, made when it is missing. */
static int open_volume(struct native_box_site *site, const char *id, struct err *err)
{
    char path[sizeof("volumes/") + IDENT_MAX];
    CLEANUP(close_fd_p) int data = open(site->data_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (data < 0)
        return err_sys(err, -errno, "open data folder");
    snprintf(path, sizeof(path), "volumes/%s", id);
    if ((mkdirat(data, "volumes", 0700) < 0 && errno != EEXIST) || (mkdirat(data, path, 0755) < 0 && errno != EEXIST))
        return err_sys(err, -errno, "make the folder of volume %s", id);
    int fd = mount_open_beneath(data, path, O_RDONLY | O_DIRECTORY, 0);
    return fd < 0 ? err_sys(err, fd, "open volume %s", id) : fd;
}

static uint64_t mount_attributes(bool is_readonly)
{
    return MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (is_readonly ? MOUNT_ATTR_RDONLY : 0);
}

/* Without root, a mount can be cloned only in a mount namespace of one's own. So we copy the host's as root of the
 * box's user namespace; the working folder moves to the copy. */
static int clone_unprivileged(struct volume_visit *e, struct err *err)
{
    if (setns(e->c->pidfd, CLONE_NEWUSER) < 0)
        return err_sys(err, -errno, "join the user namespace of box %s", e->c->name);
    if (fchdir(e->volume) < 0 || unshare(CLONE_NEWNS) < 0)
        return err_sys(err, -errno, "copy the mount namespace");
    e->tree = mount_clone(AT_FDCWD, ".");
    int r = e->tree < 0 ? e->tree : mount_set(e->tree, mount_attributes(e->is_readonly), -1);
    return r < 0 ? err_sys(err, r, "clone the volume's mount") : 0;
}

static bool is_same(int fd, int other)
{
    struct stat one, two;
    return fstat(fd, &one) == 0 && fstat(other, &two) == 0 && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

static int attach_inside(void *arg, struct err *err)
{
    struct volume_visit *e = arg;
    int r = e->c->site->is_root ? 0 : clone_unprivileged(e, err);
    if (r < 0)
        return r;
    if (setns(e->c->pidfd, CLONE_NEWNS) < 0)
        return err_sys(err, -errno, "join the mount namespace of box %s", e->c->name);
    struct idrange range;
    if (e->c->site->is_root) { /* files made in the box's overlay must belong to an id of the box */
        if ((r = idrange_slot(e->c->slot, &range)) < 0)
            return err_sys(err, r, "user id range %u", e->c->slot);
        (void)setfsgid(range.gid_base); /* these two return only the former value */
        (void)setfsuid(range.uid_base);
    }
    CLEANUP(close_fd_p) int at = mount_walk(e->target, true);
    CLEANUP(close_fd_p) int there = at == -EXDEV ? mount_walk(e->target, false) : NO_FD;
    if (there >= 0 && is_same(there, e->volume))
        return 0; /* an attach that is sent twice, because the first launcher died before it replied */
    if (at < 0)
        return runtime_place_error(at, e->target, err);
    r = mount_attach(e->tree, at);
    return r < 0 ? err_sys(err, r, "mount on %.200s", e->target) : 0;
}

int native_volume_mount_attach(struct native_box *c, const struct wire_request *q, struct err *err)
{
    struct volume_visit e = { .c = c, .target = q->workdir, .tree = NO_FD, .is_readonly = q->is_readonly };
    CLEANUP(close_fd_p) int volume = open_volume(c->site, q->object, err);
    if (volume < 0)
        return volume;
    e.volume = volume;
    if (!c->site->is_root)
        return visit_run(attach_inside, &e, NULL, err);
    CLEANUP(close_fd_p) int users = native_box_visit_open(c, "user", err);
    if (users < 0)
        return users;
    CLEANUP(close_fd_p) int tree = mount_clone(volume, "");
    int r = tree < 0 ? tree : mount_set(tree, mount_attributes(q->is_readonly), users);
    if (r < 0)
        return err_sys(err, r,
                       "map the owners of the volume (does the data folder's file system support idmapped mounts?)");
    e.tree = tree;
    return visit_run(attach_inside, &e, NULL, err);
}

static int detach_inside(void *arg, struct err *err)
{
    struct volume_visit *e = arg;
    int r = native_box_visit_join(e->c, CLONE_NEWNS, err);
    if (r < 0)
        return r;
    CLEANUP(close_fd_p) int at = mount_walk(e->target, false);
    /* Processes inside have moved the mount out of sight; it is removed with the box. */
    if (at < 0 || !is_same(at, e->volume))
        return 0;
    if (fchdir(at) < 0 || umount2(".", MNT_DETACH) < 0)
        return err_sys(err, -errno, "unmount %.200s", e->target);
    return 0;
}

int native_volume_mount_detach(struct native_box *c, const struct wire_request *q, struct err *err)
{
    struct volume_visit e = { .c = c, .target = q->workdir, .tree = NO_FD };
    CLEANUP(close_fd_p) int volume = open_volume(c->site, q->object, err);
    if (volume < 0)
        return volume;
    e.volume = volume;
    return visit_run(detach_inside, &e, NULL, err);
}

int native_volume_mount_remove(struct native_box_site *site, const struct wire_request *q,
                               struct native_task_list *tasks, struct err *err)
{
    char doomed[64];
    CLEANUP(close_fd_p) int data = open(site->data_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(close_fd_p) int volumes = data < 0 ? NO_FD : mount_open_beneath(data, "volumes", O_PATH | O_DIRECTORY, 0);
    if (volumes < 0)
        return volumes == -ENOENT ? 0 : err_sys(err, volumes, "open the folder of volumes");
    snprintf(doomed, sizeof(doomed), "tmp-%d-%s", (int)getpid(), q->object);
    if (renameat(volumes, q->object, site->boxes_fd, doomed) < 0)
        return errno == ENOENT ? 0 : err_sys(err, -errno, "remove volume %s", q->object);
    native_task_remove(tasks, doomed);
    return 0;
}
