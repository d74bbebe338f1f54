/* A volume with a size is an ext4 of its own (disk.h); one without is a folder, as where there are no loop devices.
 *
 * The target is a path in a file system that hostile processes change all the time. So the volume is attached to the
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
#include "runtime/native/disk.h"
#include "runtime/native/disk_usage.h"
#include "runtime/runtime.h"
#include "runtime/visit.h"

struct volume_visit {
    struct native_box *c;
    const char *target;
    int volume; /* attach: the folder, or the root of its mount */
    int tree;   /* root: its detached mount */
    dev_t dev;  /* detach: which files are those of the volume */
    ino_t ino;  /* 0: all of that device */
    bool is_readonly;
};

/* The folder of volumes, made when it is missing. It must be ours: what is in it is mounted. */
static int open_volumes(struct native_box_site *site, struct err *err)
{
    struct stat st;
    CLEANUP(close_fd_p) int data = open(site->data_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (data < 0)
        return err_sys(err, -errno, "open data folder");
    if (mkdirat(data, "volumes", 0700) < 0 && errno != EEXIST)
        return err_sys(err, -errno, "make the folder of volumes");
    CLEANUP(close_fd_p) int fd = mount_open_beneath(data, "volumes", O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, fd < 0 ? fd : -errno, "open the folder of volumes");
    if (st.st_uid != geteuid())
        return err_set(err, ERR_FORBIDDEN, 0, "the folder of volumes belongs to user %u, not to us",
                       (unsigned)st.st_uid);
    return steal_fd(&fd);
}

static int open_folder(int volumes, const char *id, bool may_make)
{
    if (may_make && mkdirat(volumes, id, 0755) < 0 && errno != EEXIST)
        return -errno;
    return mount_open_beneath(volumes, id, O_RDONLY | O_DIRECTORY, 0);
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

/* The volume as a detached mount: its own file system, or a clone of the mount that its folder is in. Without root a
 * clone is made inside, and *ret_tree stays NO_FD. */
static int volume_tree(struct native_box_site *site, const struct wire_request *q, int *ret_volume, int *ret_tree,
                       struct err *err)
{
    CLEANUP(close_fd_p) int volumes = open_volumes(site, err);
    if (volumes < 0)
        return volumes;
    CLEANUP(close_fd_p) int image = site->is_root ? native_disk_volume_open(volumes, q->object) : -ENOENT;
    CLEANUP(close_fd_p) int folder = image == -ENOENT ? open_folder(volumes, q->object, q->disk_mb == 0) : NO_FD;
    if (image == -ENOENT && folder == -ENOENT)
        image = native_disk_volume_make(volumes, q->object, q->disk_mb, err);
    else if (image < 0 && folder < 0)
        return err_sys(err, image == -ENOENT ? folder : image, "open volume %s", q->object);
    if (image < 0 && folder < 0)
        return image;
    if (image >= 0)
        *ret_tree = native_disk_volume_mount(volumes, q->object, image, err);
    else if (site->is_root && (*ret_tree = mount_clone(folder, "")) < 0)
        (void)err_sys(err, *ret_tree, "clone the mount of volume %s", q->object);
    if (site->is_root && *ret_tree < 0)
        return *ret_tree;
    *ret_volume = image >= 0 ? dup(*ret_tree) : steal_fd(&folder);
    return *ret_volume < 0 ? err_sys(err, -errno, "open volume %s", q->object) : 0;
}

int native_volume_mount_attach(struct native_box *c, const struct wire_request *q, struct err *err)
{
    struct volume_visit e = { .c = c, .target = q->workdir, .is_readonly = q->is_readonly };
    CLEANUP(close_fd_p) int volume = NO_FD;
    CLEANUP(close_fd_p) int tree = NO_FD;
    int r = volume_tree(c->site, q, &volume, &tree, err);
    if (r < 0)
        return r;
    e.volume = volume;
    e.tree = tree;
    if (!c->site->is_root)
        return visit_run(attach_inside, &e, NULL, err);
    CLEANUP(close_fd_p) int users = native_box_visit_open(c, "user", err);
    if (users < 0)
        return users;
    r = mount_set(tree, mount_attributes(q->is_readonly), users);
    if (r < 0)
        return err_sys(err, r,
                       "map the owners of the volume (does the data folder's file system support idmapped mounts?)");
    return visit_run(attach_inside, &e, NULL, err);
}

static int detach_inside(void *arg, struct err *err)
{
    struct volume_visit *e = arg;
    struct stat st;
    int r = native_box_visit_join(e->c, CLONE_NEWNS, err);
    if (r < 0)
        return r;
    CLEANUP(close_fd_p) int at = mount_walk(e->target, false);
    /* Processes inside have moved the mount out of sight; it is removed with the box. */
    if (at < 0 || fstat(at, &st) < 0 || st.st_dev != e->dev || (e->ino && st.st_ino != e->ino))
        return 0;
    if (fchdir(at) < 0 || umount2(".", MNT_DETACH) < 0)
        return err_sys(err, -errno, "unmount %.200s", e->target);
    return 0;
}

int native_volume_mount_detach(struct native_box *c, const struct wire_request *q, struct err *err)
{
    struct volume_visit e = { .c = c, .target = q->workdir };
    struct stat st;
    CLEANUP(close_fd_p) int volumes = open_volumes(c->site, err);
    if (volumes < 0)
        return volumes;
    if (!c->site->is_root || native_disk_volume_device(volumes, q->object, &e.dev) < 0) {
        CLEANUP(close_fd_p) int folder = open_folder(volumes, q->object, false);
        if (folder < 0 || fstat(folder, &st) < 0)
            return 0; /* it is mounted nowhere */
        e.dev = st.st_dev;
        e.ino = st.st_ino;
    }
    return visit_run(detach_inside, &e, NULL, err);
}

int native_volume_mount_remove(struct native_box_site *site, const struct wire_request *q,
                               struct native_task_list *tasks, struct err *err)
{
    char doomed[64];
    CLEANUP(close_fd_p) int volumes = open_volumes(site, err);
    if (volumes < 0)
        return volumes;
    int r = native_disk_volume_remove(volumes, q->object);
    if (r < 0)
        return err_sys(err, r, "remove volume %s", q->object);
    snprintf(doomed, sizeof(doomed), "tmp-%d-%s", (int)getpid(), q->object);
    if (renameat(volumes, q->object, site->boxes_fd, doomed) < 0)
        return errno == ENOENT ? 0 : err_sys(err, -errno, "remove volume %s", q->object);
    native_task_remove(tasks, doomed);
    return 0;
}

int64_t native_volume_mount_bytes(struct native_box_site *site, const char *id)
{
    struct stat st;
    CLEANUP(close_fd_p) int volumes = open_volumes(site, NULL);
    CLEANUP(close_fd_p) int image = volumes >= 0 && site->is_root ? native_disk_volume_open(volumes, id) : NO_FD;
    if (image >= 0)
        return fstat(image, &st) < 0 ? 0 : (int64_t)st.st_blocks * 512;
    return volumes < 0 ? 0 : native_disk_usage_count(volumes, id, NULL, 0);
}
