/* Theory of operation. The root file system of a box. With root: the layers and the writable folder are cloned as
 * idmapped mounts, so that on disk every file keeps its 0-based owner while the box sees its own range. The overlay is
 * mounted here with the box's root as file system user (as real root the kernel would make it read-only) and is sent to
 * the stage as a descriptor. No mount table outside the box ever has it, except briefly the launcher's own on kernels
 * before 6.15. Without root the stage mounts the overlay itself.
 *
 * Mount points and /etc/hosts are made in the empty upper folder while the box is prepared: that costs nothing at
 * create, and a link under such a name in an image is covered by a real folder instead of being followed.
 *
 * Mounts made ahead (trees, dev, sys, usr) belong to the box and are closed with it. If one cannot be made ahead,
 * the create makes it and reports the error. */
#include "runtime/native/box.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "os/mount.h"
#include "os/overlay_compat.h"
#include "os/sysview.h"
#include "runtime/native/kept.h"

#define OVERLAY_POINT "overlay" /* below run/: where older kernels attach the layers */

static const struct {
    const char *name;
    mode_t mode;
} upper_folders[] = {
    { "upper", 0755 },     { "work", 0700 },      { "upper/proc", 0555 }, { "upper/dev", 0755 },
    { "upper/sys", 0555 }, { "upper/etc", 0755 }, { "upper/tmp", 01777 }, { "upper/workspace", 0755 }
};

static int make_folder(int at, const char *name, mode_t mode, struct err *err)
{
    if (mkdirat(at, name, mode) < 0 || (mode & 07000 && fchmodat(at, name, mode, 0) < 0))
        return err_sys(err, -errno, "make box folder %s", name);
    return 0;
}

static int write_file(int at, const char *name, const char *text, struct err *err)
{
    CLEANUP(close_fd_p) int fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        return err_sys(err, -errno, "write %s", name);
    return 0;
}

/* A detached clone whose ids are mapped by the box's user namespace. */
static int clone_mapped(int dir_fd, const char *path, uint64_t attributes, const struct native_box *c, int *ret)
{
    int fd = mount_clone(dir_fd, path);
    if (fd < 0)
        return fd;
    int r = mount_set(fd, attributes | MOUNT_ATTR_NOSUID, c->userns);
    if (r < 0) {
        (void)close(fd); /* never used */
        return r;
    }
    *ret = fd;
    return 0;
}

/* A folder whose file system does not support idmapped mounts can still be read: its files belong to nobody. */
static int clone_readable(int dir_fd, const struct native_box *c, uint64_t attributes, int *ret)
{
    if (clone_mapped(dir_fd, "", attributes | MOUNT_ATTR_RDONLY, c, ret) == 0)
        return 0;
    int fd = mount_clone(dir_fd, "");
    int r = fd < 0 ? fd : mount_set(fd, attributes | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, -1);
    if (r < 0)
        return r;
    *ret = fd;
    return 0;
}

/* The mount of a folder of layers: an existing one, or a new one. Most layers share it. */
static int layers_tree(struct native_box_site *site, struct native_box *c, const char *dir, struct err *err)
{
    for (unsigned i = 0; i < c->n_trees; i++)
        if (strcmp(c->trees[i].dir, dir) == 0)
            return c->trees[i].fd;
    if (c->n_trees == NATIVE_BOX_TREES)
        return err_set(err, ERR_TOO_LARGE, 0, "image has layers in more than %d folders", NATIVE_BOX_TREES);
    CLEANUP(close_fd_p) int from = mount_open_beneath(site->image_fd, dir, O_PATH | O_DIRECTORY, 0);
    if (from < 0)
        return err_sys(err, from, "open layer folder %s", dir);
    struct native_box_tree *t = &c->trees[c->n_trees];
    int r = clone_mapped(from, "", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV, c, &t->fd);
    if (r < 0)
        return err_sys(err, r, "map the owners of %s/%s (does its file system support idmapped mounts?)",
                       site->image_dir, dir);
    snprintf(t->dir, sizeof(t->dir), "%s", dir);
    c->n_trees++;
    return t->fd;
}

static int make_upper(int at, struct err *err)
{
    int r = 0;
    for (size_t i = 0; i < sizeof(upper_folders) / sizeof(*upper_folders); i++)
        if ((r = make_folder(at, upper_folders[i].name, upper_folders[i].mode, err)) < 0)
            return r;
    return write_file(at, "upper/etc/resolv.conf", "nameserver 127.0.0.1\n", err);
}

int native_box_root_note(const struct native_box *c, int folder, struct err *err)
{
    char note[64];
    snprintf(note, sizeof(note), "%d:%llu:%u", (int)c->pid, (unsigned long long)c->start_time, c->slot);
    (void)unlinkat(folder, "pid", 0); /* absent is fine */
    return symlinkat(note, folder, "pid") < 0 ? err_sys(err, -errno, "note the pid of box %s", c->name) : 0;
}

int native_box_root_prepare(struct native_box_site *site, struct native_box *c, struct err *err)
{
    int r = make_folder(site->boxes_fd, c->name, 0700, err);
    if (r < 0)
        return r;
    c->box = openat(site->boxes_fd, c->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (c->box < 0)
        return err_sys(err, -errno, "open box folder %s", c->name);
    if ((r = make_upper(c->box, err)) < 0 || (r = native_box_root_note(c, c->box, err)) < 0)
        return r;
    if (!site->is_root)
        return 0;
    r = clone_mapped(c->box, "", MOUNT_ATTR_NODEV, c, &c->upper);
    if (r < 0)
        return err_sys(
            err, r,
            "map the owners of the writable layer (does the data folder's file system support idmapped mounts?)");
    if ((r = clone_readable(site->dev_fd, c, MOUNT_ATTR_NOEXEC, &c->dev)) < 0 ||
        (r = clone_readable(site->sys_fd, c, MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NODEV, &c->sys)) < 0)
        return err_sys(err, r, "clone the folders for /dev and /sys");
    if (site->wants_usr && (r = native_box_root_usr(site, c, err)) < 0)
        return r;
    if (site->layers_dir[0])
        (void)layers_tree(site, c, site->layers_dir, NULL); /* only ahead of time; if it fails, create reports why */
    return 0;
}

const char *native_box_root_next(const struct wire_request *q, uint32_t *at)
{
    const char *s = (const char *)(q + 1) + *at;
    if (*at >= q->extra_len)
        return NULL;
    *at += (uint32_t)strlen(s) + 1; /* the last byte is a NUL: wire_request_check */
    return s;
}

/* Splits an absolute layer path into its folder below the image folder ("." when none) and its last name. */
static int split_layer(const struct native_box_site *site, const char *path, char dir[256], const char **ret_base,
                       struct err *err)
{
    size_t root = strlen(site->image_dir);
    const char *base = strrchr(path, '/');
    if (strncmp(path, site->image_dir, root) != 0 || path[root] != '/' || !base || base[1] == '\0')
        return err_set(err, ERR_INVALID, 0, "layer %s is not below the image folder %s", path, site->image_dir);
    size_t len = base > path + root ? (size_t)(base - (path + root + 1)) : 0;
    if (len >= 256)
        return err_set(err, ERR_INVALID, 0, "layer %s: its folder's name is longer than 255 bytes", path);
    snprintf(dir, 256, "%.*s", (int)len, path + root + 1);
    if (len == 0)
        memcpy(dir, ".", 2);
    *ret_base = base + 1;
    return 0;
}

/* An overlay being made: by descriptors, or by names on kernels that cannot do that (then fs is -EBADF, and what the
 * names refer to is kept open). */
struct stack {
    int fs;
    struct overlay_compat old;
    int kept[WIRE_LAYERS_MAX + 1];
    unsigned n_kept, n_attached;
};

static int stack_lower(struct stack *s, int *layer)
{
    if (s->fs >= 0)
        return mount_fs_dir(s->fs, "lowerdir+", *layer);
    overlay_compat_lower(&s->old, *layer);
    s->kept[s->n_kept++] = steal_fd(layer);
    return 0;
}

/* Adds the layers of a request, topmost first; above them the former upper folder, if any. */
static int add_layers(struct native_box_site *site, struct native_box *c, struct stack *s, const struct wire_request *q,
                      const struct native_box_root_upper *u, struct err *err)
{
    uint32_t at = 0;
    unsigned n = 0;
    int r = 0;
    if (u->former) {
        CLEANUP(close_fd_p) int former = openat(c->upper, u->former, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (former < 0 || (r = stack_lower(s, &former)) < 0)
            return err_sys(err, former < 0 ? -errno : r, "add the former writable layer to the overlay");
        n++;
    }
    for (const char *path; (path = native_box_root_next(q, &at)); n++) {
        if (n == WIRE_LAYERS_MAX)
            return err_set(err, ERR_TOO_LARGE, 0, "image has more than %d layers", WIRE_LAYERS_MAX);
        char dir[256];
        const char *base = NULL;
        if ((r = split_layer(site, path, dir, &base, err)) < 0)
            return r;
        int tree = layers_tree(site, c, dir, err);
        if (tree < 0)
            return tree;
        memcpy(site->layers_dir, dir, sizeof(dir));
        CLEANUP(close_fd_p) int layer = mount_open_beneath(tree, base, O_PATH | O_DIRECTORY, 0);
        if (layer < 0)
            return err_sys(err, layer, "open layer %s", path);
        if ((r = stack_lower(s, &layer)) < 0)
            return err_sys(err, r, "add layer %s to the overlay", path);
    }
    return n == 0 ? err_set(err, ERR_INVALID, 0, "image has no layer") : 0;
}

/* --- kernels that accept descriptors of detached mounts --- */

static int stack_by_fd(const struct native_box *c, struct stack *s, const struct native_box_root_upper *u,
                       struct err *err)
{
    CLEANUP(close_fd_p) int upper = openat(c->upper, u->upper, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    CLEANUP(close_fd_p) int work = openat(c->upper, u->work, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = 0, fs = s->fs;
    if (upper < 0 || work < 0)
        return err_sys(err, -errno, "open the writable layer");
    if ((r = mount_fs_dir(fs, "upperdir", upper)) < 0 || (r = mount_fs_dir(fs, "workdir", work)) < 0 ||
        (r = mount_fs_string(fs, "redirect_dir", "on")) < 0 || (r = mount_fs_string(fs, "metacopy", "off")) < 0 ||
        (r = mount_fs_flag(fs, "volatile")) < 0)
        return err_sys(err, r, "configure the overlay");
    r = mount_fs_make(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    return r < 0 ? err_sys(err, r, "mount the overlay") : r;
}

/* --- older kernels: the mounts are in the launcher's own mount table during the call --- */

static int stack_attach(const struct native_box_site *site, struct stack *s, int mount, struct err *err)
{
    CLEANUP(close_fd_p) int at = openat(site->run_fd, OVERLAY_POINT, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = at < 0 ? -errno : mount_attach(mount, at);
    if (r < 0)
        return err_sys(err, r, "attach a layer for the overlay");
    s->n_attached++;
    return 0;
}

static int stack_by_name(const struct native_box_site *site, const struct native_box *c, struct stack *s,
                         const struct native_box_root_upper *u, struct err *err)
{
    char target[64];
    int r = stack_attach(site, s, c->upper, err);
    for (unsigned i = 0; r >= 0 && i < c->n_trees; i++)
        r = stack_attach(site, s, c->trees[i].fd, err);
    if (r < 0)
        return r;
    snprintf(target, sizeof(target), "/proc/self/fd/%d/" OVERLAY_POINT, site->run_fd);
    overlay_compat_upper(&s->old, c->upper, u->upper, u->work);
    r = overlay_compat_mount(&s->old, target, "redirect_dir=on,metacopy=off,volatile");
    return r < 0 ? err_sys(err, r, "mount the overlay by name") : r;
}

/* Attached mounts cannot be used for another overlay: they are closed, and cloned again when they are needed. */
static void stack_done(const struct native_box_site *site, struct native_box *c, struct stack *s)
{
    char target[64];
    snprintf(target, sizeof(target), "/proc/self/fd/%d/" OVERLAY_POINT, site->run_fd);
    while (s->n_kept > 0)
        (void)close(s->kept[--s->n_kept]); /* O_PATH only */
    if (s->n_attached > 0)
        while (c->n_trees > 0)
            (void)close(c->trees[--c->n_trees].fd); /* O_PATH only */
    for (; s->n_attached > 0; s->n_attached--)
        (void)umount2(target, MNT_DETACH); /* it is in our own mount table, so this cannot fail */
    if (s->fs >= 0)
        (void)close(s->fs); /* mounted or given up */
}

/* Writes the box's name into its own files. */
static int write_names(int at, const struct wire_request *q, struct err *err)
{
    char text[256];
    snprintf(text, sizeof(text), "%s\n", q->hostname);
    int r = write_file(at, "upper/etc/hostname", text, err);
    if (r < 0)
        return r;
    snprintf(text, sizeof(text), "127.0.0.1\tlocalhost\n::1\tlocalhost\n127.0.1.1\t%s\n", q->hostname);
    return write_file(at, "upper/etc/hosts", text, err);
}

/* In this order: once the owners are mapped, we could not create anything there. */
int native_box_root_use_disk(struct native_box *c, const struct wire_request *q, int disk, struct err *err)
{
    CLEANUP(close_fd_p) int mount = disk;
    CLEANUP(close_fd_p) int top = openat(mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top < 0)
        return err_sys(err, -errno, "open the disk of box %s", c->name);
    int r = q->is_kept ? 0 : make_upper(top, err);
    if (r >= 0 && !q->is_kept) /* the box could have made a link of a name */
        r = write_names(top, q, err);
    if (r < 0)
        return r;
    close_fd_p(&top);
    top = NO_FD;
    if ((r = mount_set(mount, MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID, c->userns)) < 0)
        return err_sys(err, r, "map the owners of the disk of box %s", c->name);
    close_fd_p(&c->upper);
    c->upper = steal_fd(&mount);
    c->has_disk = true;
    return 0;
}

int native_box_root_mount(struct native_box_site *site, struct native_box *c, const struct wire_request *q, int *ret,
                          struct err *err)
{
    int r = c->has_disk || q->is_kept ? 0 : write_names(c->box, q, err);
    if (r < 0)
        return r;
    if (!site->is_root) {
        *ret = fcntl(c->box, F_DUPFD_CLOEXEC, 0);
        return *ret < 0 ? err_sys(err, -errno, "open the box folder") : 0;
    }
    char top[KEPT_UPPER] = "upper", former[KEPT_UPPER] = "";
    if (q->is_kept && !c->has_disk && (r = kept_uppers(c->box, top, former, err)) < 0)
        return r;
    const struct native_box_root_upper folders = { .upper = top, .work = "work", .former = *former ? former : NULL };
    if ((r = native_box_root_overlay(site, c, q, &folders, ret, err)) >= 0)
        site->wants_usr = q->is_host;
    return r;
}

int native_box_root_reopen(struct native_box_site *site, struct native_box *c, struct err *err)
{
    c->box = openat(site->boxes_fd, c->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (c->box < 0)
        return err_sys(err, -errno, "open box folder %s", c->name);
    int r = clone_mapped(c->box, "", MOUNT_ATTR_NODEV, c, &c->upper);
    return r < 0 ? err_sys(err, r, "map the owners of the writable layer") : 0;
}

int native_box_root_overlay(struct native_box_site *site, struct native_box *c, const struct wire_request *q,
                            const struct native_box_root_upper *u, int *ret, struct err *err)
{
    struct stack s = { .fs = NO_FD };
    struct idrange range;
    int r = idrange_slot(c->slot, &range);
    if (r < 0)
        return err_sys(err, r, "user id range %u", c->slot);
    if (!site->is_overlay_by_name && (s.fs = mount_fs_open("overlay")) < 0)
        return err_sys(err, s.fs, "open file system overlay");
    r = add_layers(site, c, &s, q, u, err);
    if (r >= 0) {
        (void)setfsgid(range.gid_base); /* these two return only the former value */
        (void)setfsuid(range.uid_base);
        r = s.fs >= 0 ? stack_by_fd(c, &s, u, err) : stack_by_name(site, c, &s, u, err);
        (void)setfsuid(0);
        (void)setfsgid(0);
    }
    stack_done(site, c, &s);
    if (r < 0)
        return r;
    *ret = r;
    return 0;
}

static const struct {
    const char *name;
    unsigned major, minor;
} nodes[] = { { "null", 1, 3 },   { "zero", 1, 5 },    { "full", 1, 7 },
              { "random", 1, 8 }, { "urandom", 1, 9 }, { "tty", 5, 0 } };

static const char *const links[][2] = { { "/proc/self/fd", "fd" },
                                        { "/proc/self/fd/0", "stdin" },
                                        { "/proc/self/fd/1", "stdout" },
                                        { "/proc/self/fd/2", "stderr" },
                                        { "pts/ptmx", "ptmx" } };

static int fill_dev(int dev, struct err *err)
{
    for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); i++)
        if (mknodat(dev, nodes[i].name, S_IFCHR | 0666, makedev(nodes[i].major, nodes[i].minor)) < 0 ||
            fchmodat(dev, nodes[i].name, 0666, 0) < 0)
            return err_sys(err, -errno, "make device node %s", nodes[i].name);
    for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++)
        if (symlinkat(links[i][0], dev, links[i][1]) < 0)
            return err_sys(err, -errno, "make device link %s", links[i][1]);
    if (mkdirat(dev, "pts", 0755) < 0 || mkdirat(dev, "shm", 0755) < 0)
        return err_sys(err, -errno, "make the folders of /dev");
    return 0;
}

static int fill_sys(int dir, struct err *err)
{
    int r = sysview_fill(dir);
    return r < 0 ? err_sys(err, r, "fill the folder for /sys") : 0;
}

/* A small file system made once and cloned for every box. It is attached in our own mount namespace, because older
 * kernels clone only attached mounts. */
static int make_shared(struct native_box_site *site, const char *name, int (*fill)(int, struct err *), int *ret,
                       struct err *err)
{
    CLEANUP(close_fd_p) int fs = mount_fs_open("tmpfs");
    if (fs < 0 || mount_fs_string(fs, "mode", "0755") < 0)
        return err_sys(err, -errno, "open file system tmpfs");
    CLEANUP(close_fd_p) int dir = mount_fs_make(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    if (dir < 0)
        return err_sys(err, dir, "mount the folder run/%s", name);
    int r = fill(dir, err);
    if (r < 0)
        return r;
    if (mkdirat(site->run_fd, name, 0700) < 0 && errno != EEXIST)
        return err_sys(err, -errno, "make run/%s", name);
    CLEANUP(close_fd_p) int at = openat(site->run_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    r = at < 0 ? -errno : mount_attach(dir, at);
    if (r < 0)
        return err_sys(err, r, "attach the folder run/%s", name);
    *ret = steal_fd(&dir);
    return 0;
}

int native_box_root_shared(struct native_box_site *site, struct err *err)
{
    int r = make_shared(site, "dev", fill_dev, &site->dev_fd, err);
    if (r >= 0)
        r = make_shared(site, "sys", fill_sys, &site->sys_fd, err);
    if (r < 0)
        return r;
    /* Linux 6.15 is the first that takes a layer as a descriptor of a detached mount. Tested by trying, not by the
     * version. */
    CLEANUP(close_fd_p) int fs = mount_fs_open("overlay");
    CLEANUP(close_fd_p) int tree = mount_clone(site->dev_fd, "");
    CLEANUP(close_fd_p) int layer = tree < 0 ? NO_FD : openat(tree, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    site->is_overlay_by_name = fs < 0 || layer < 0 || mount_fs_dir(fs, "lowerdir+", layer) < 0;
    if (site->is_overlay_by_name && mkdirat(site->run_fd, OVERLAY_POINT, 0700) < 0 && errno != EEXIST)
        return err_sys(err, -errno, "make run/" OVERLAY_POINT);
    return 0;
}
