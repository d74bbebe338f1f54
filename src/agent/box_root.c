/* Theory of operation. Builds the root file system of a box from detached mounts (fsopen, open_tree, move_mount): each
 * is made and configured by descriptor and attached last, so no path of an untrusted image is resolved while we are
 * privileged. struct box_root owns the detached mounts in proc, pts, shm and sys; attaching one hands it over, and the
 * rest is closed with the process.
 *
 * box_root_prepare() does everything that needs no image. The later calls expect the order of stage.c and vm_root.c:
 * sys and nodes while the host's /sys and /dev are in sight, then the root, then attach. Linux before 6.15 can neither
 * clone from detached mounts nor mount on them, so proc is attached to /proc for the work on it (put_on_proc) and
 * detached again (take_off_proc).
 *
 * A step that fails returns -errno and leaves its description in b->why. There is no undo: the caller exits, and the
 * mount namespace disappears with it. */
#include "agent/box_root.h"

#include <net/if.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "os/mount.h"
#include "os/sysview.h"

#define SHM_SIZE    "256m"
#define SHM_INODES  "65536"
#define WORKDIR_MAX 1024

int box_root_fail(struct box_root *b, int r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(b->why, sizeof(b->why), fmt, ap);
    va_end(ap);
    return r < 0 ? r : -EIO;
}

static int loopback_up(struct box_root *b)
{
    struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return box_root_fail(b, -errno, "socket for the loopback interface");
    int r = ioctl(fd, SIOCSIFFLAGS, &req) < 0 ? -errno : 0;
    close(fd);
    return r < 0 ? box_root_fail(b, r, "bring the loopback interface up") : 0;
}

int box_root_detached(struct box_root *b, const char *type, const struct box_root_option *opt, uint64_t attributes,
                      int *ret)
{
    int fs = mount_fs_open(type);
    if (fs < 0)
        return box_root_fail(b, fs, "open file system %s", type);
    int r = 0;
    for (; opt && opt->key && r >= 0; opt++)
        r = opt->value ? mount_fs_string(fs, opt->key, opt->value) : mount_fs_flag(fs, opt->key);
    if (r >= 0)
        r = mount_fs_make(fs, attributes);
    close(fs);
    if (r < 0)
        return box_root_fail(b, r, "mount %s", type);
    *ret = r;
    return 0;
}

/* Entries of proc that describe the whole host. Files are covered by the null device, folders by one that is already
 * removed and can never get an entry. Entries that this kernel lacks are skipped. */
static const char *const covered_files[] = { "kallsyms",      "kcore",        "keys",      "key-users",  "timer_list",
                                             "sched_debug",   "partitions",   "diskstats", "swaps",      "cmdline",
                                             "modules",       "iomem",        "ioports",   "interrupts", "mdstat",
                                             "latency_stats", "sysrq-trigger" };
static const char *const covered_folders[] = { "fs", "bus", "irq", "scsi", "acpi", "driver", "asound" };

static int proc_cover(struct box_root *b, const char *name, bool is_folder)
{
    int at = openat(b->proc, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (at < 0)
        return errno == ENOENT ? 0 : box_root_fail(b, -errno, "open /proc/%s", name);
    int with = is_folder ? mount_clone(b->shm, "x") : mount_clone(AT_FDCWD, "/dev/null");
    int r = with < 0 ? with : mount_set(with, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, -1);
    if (r >= 0)
        r = mount_attach(with, at);
    if (with >= 0)
        close(with);
    close(at);
    return r < 0 ? box_root_fail(b, r, "cover /proc/%s", name) : 0;
}

/* Attaches a mount on top of /proc of our own mount namespace, where older kernels let us work on it. */
static int put_on_proc(struct box_root *b, int mount)
{
    int at = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = at < 0 ? -errno : mount_attach(mount, at);
    if (at >= 0)
        close(at);
    return r < 0 ? box_root_fail(b, r, "attach a mount to cover parts of proc") : 0;
}

/* Detaches the topmost mount of /proc and keeps a detached copy of it, with everything mounted on it. */
static int take_off_proc(struct box_root *b, int *mount)
{
    int copy =
        (int)syscall(SYS_open_tree, *mount, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
    if (copy < 0 || umount2("/proc", MNT_DETACH) < 0) {
        int r = -errno;
        if (copy >= 0)
            close(copy);
        return box_root_fail(b, r, "detach a mount to cover parts of proc");
    }
    close(*mount);
    *mount = copy;
    return 0;
}

static int cover_proc(struct box_root *b)
{
    if (mkdirat(b->shm, "x", 0555) < 0)
        return box_root_fail(b, -errno, "make an empty folder");
    /* Linux 6.15 is the first that clones from detached mounts and mounts on them. */
    int probe = mount_clone(b->shm, "x");
    bool is_attached = probe < 0;
    if (probe >= 0)
        close(probe);
    int r = is_attached ? put_on_proc(b, b->shm) : 0;
    if (r >= 0 && is_attached)
        r = put_on_proc(b, b->proc);
    for (size_t i = 0; r >= 0 && i < sizeof(covered_files) / sizeof(*covered_files); i++)
        r = proc_cover(b, covered_files[i], false);
    for (size_t i = 0; r >= 0 && i < sizeof(covered_folders) / sizeof(*covered_folders); i++)
        r = proc_cover(b, covered_folders[i], true);
    if (r >= 0 && unlinkat(b->shm, "x", AT_REMOVEDIR) < 0)
        r = box_root_fail(b, -errno, "remove the empty folder");
    if (r >= 0 && is_attached)
        r = take_off_proc(b, &b->proc);
    return r < 0 || !is_attached ? r : take_off_proc(b, &b->shm);
}

int box_root_prepare(struct box_root *b, int ptys)
{
    char max[16];
    snprintf(max, sizeof(max), "%d", ptys);
    const struct box_root_option pts_opt[] = { { "ptmxmode", "0666" }, { "mode", "0620" }, { "max", max }, { 0 } };
    static const struct box_root_option shm_opt[] = {
        { "mode", "1777" }, { "size", SHM_SIZE }, { "nr_inodes", SHM_INODES }, { 0 }
    };
    b->shm_mb = LIMIT_DEFAULT(SHM_MB); /* charged to the box's memory limit as well; a plan may want another size */
    uint64_t inert = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
    int r = box_root_detached(b, "proc", NULL, inert, &b->proc);
    if (r >= 0)
        r = box_root_detached(b, "devpts", pts_opt, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, &b->pts);
    if (r >= 0)
        r = box_root_detached(b, "tmpfs", shm_opt, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, &b->shm);
    if (r >= 0)
        r = cover_proc(b);
    return r < 0 ? r : loopback_up(b);
}

static const char *const dev_nodes[] = { "null", "zero", "full", "random", "urandom", "tty" };
static const char *const dev_links[][2] = { { "/proc/self/fd", "fd" },
                                            { "/proc/self/fd/0", "stdin" },
                                            { "/proc/self/fd/1", "stdout" },
                                            { "/proc/self/fd/2", "stderr" },
                                            { "pts/ptmx", "ptmx" } };
_Static_assert(sizeof(dev_nodes) / sizeof(*dev_nodes) == BOX_ROOT_NODES, "every node has a name");

/* The device folder without privilege: mknod is denied, so the host's harmless nodes are bound by descriptor. They
 * are cloned while the host's /dev is in sight and attached once the folder has its place. */
int box_root_nodes(struct box_root *b, int ret_nodes[BOX_ROOT_NODES])
{
    for (size_t i = 0; i < BOX_ROOT_NODES; i++) {
        char path[32];
        snprintf(path, sizeof(path), "/dev/%s", dev_nodes[i]);
        ret_nodes[i] = mount_clone(AT_FDCWD, path);
        if (ret_nodes[i] < 0)
            return box_root_fail(b, ret_nodes[i], "clone the host's %s", path);
    }
    return 0;
}

/* Opens the folder to mount on; makes it when it is missing and rejects a link of the image. */
static int mount_point(int root, const char *name)
{
    int fd = mount_open_beneath(root, name, O_PATH | O_DIRECTORY, 0);
    if (fd != -ENOENT)
        return fd;
    if (mkdirat(root, name, 0755) < 0)
        return -errno;
    return mount_open_beneath(root, name, O_PATH | O_DIRECTORY, 0);
}

int box_root_dev(struct box_root *b, int root, const int nodes[BOX_ROOT_NODES])
{
    static const struct box_root_option opt[] = { { "mode", "0755" }, { "size", "64k" }, { "nr_inodes", "64" }, { 0 } };
    int dev = BOX_ROOT_NONE, at = mount_point(root, "dev");
    if (at < 0)
        return box_root_fail(b, at, "open /dev of the image");
    int r = box_root_detached(b, "tmpfs", opt, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, &dev);
    if (r < 0) {
        close(at);
        return r;
    }
    r = mount_attach(dev, at);
    close(at);
    for (size_t i = 0; r >= 0 && i < BOX_ROOT_NODES; i++) {
        int target = mount_open_beneath(dev, dev_nodes[i], O_RDONLY | O_CREAT | O_EXCL, 0666);
        r = target < 0 ? target : mount_attach(nodes[i], target);
        if (target >= 0)
            close(target);
    }
    for (size_t i = 0; r >= 0 && i < sizeof(dev_links) / sizeof(*dev_links); i++)
        r = symlinkat(dev_links[i][0], dev, dev_links[i][1]) < 0 ? -errno : 0;
    if (r >= 0 && (mkdirat(dev, "pts", 0755) < 0 || mkdirat(dev, "shm", 01777) < 0))
        r = -errno;
    if (r >= 0)
        r = mount_set(dev, MOUNT_ATTR_RDONLY, -1);
    close(dev);
    return r < 0 ? box_root_fail(b, r, "make the device folder") : 0;
}

int box_root_attach(struct box_root *b, int root, const char *name, int mount)
{
    int at = mount_point(root, name);
    int r = at < 0 ? at : mount_attach(mount, at);
    if (at >= 0)
        close(at);
    return r < 0 ? box_root_fail(b, r, "mount on /%s of the image", name) : 0;
}

int box_root_sys(struct box_root *b)
{
    static const struct box_root_option opt[] = {
        { "mode", "0755" }, { "size", "1m" }, { "nr_inodes", "4096" }, { 0 }
    };
    int r = box_root_detached(b, "tmpfs", opt, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NODEV, &b->sys);
    if (r < 0)
        return r;
    r = sysview_fill(b->sys);
    if (r >= 0)
        r = mount_set(b->sys, MOUNT_ATTR_RDONLY, -1);
    return r < 0 ? box_root_fail(b, r, "fill the folder for /sys") : 0;
}

/* The host's root is already detached, so links of the image are followed, but only inside it and never through
 * proc. Not with RESOLVE_IN_ROOT: our root is the same folder, and the kernel returns EAGAIN for ".." in a link
 * while anybody renames. */
int box_root_workdir(struct box_root *b, int root, const char *workdir)
{
    char path[WORKDIR_MAX];
    snprintf(path, sizeof(path), "%s", workdir);
    struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS };
    int at = -1;
    for (char *p = path + 1;; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        bool is_last = *p == '\0';
        *p = '\0';
        int next = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
        if (next < 0 && errno == ENOENT && at >= 0 && mkdirat(at, strrchr(path, '/') + 1, 0755) == 0)
            next = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
        else if (next < 0 && errno == ENOENT && at < 0 && mkdirat(root, path + 1, 0755) == 0)
            next = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
        int why = errno;
        if (at >= 0)
            close(at);
        at = next;
        if (at < 0)
            return box_root_fail(b, -why, "make the working folder %.120s", path);
        if (is_last)
            break;
        *p = '/';
    }
    close(at);
    return 0;
}

int box_root_shm(struct box_root *b, uint32_t mb)
{
    char size[24];
    if (b->shm_mb == mb)
        return 0;
    snprintf(size, sizeof(size), "%um", mb);
    int fs = (int)syscall(SYS_fspick, b->shm, "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC);
    int r = fs < 0 ? -errno : mount_fs_string(fs, "size", size);
    if (r >= 0 && syscall(SYS_fsconfig, fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0)
        r = -errno;
    if (fs >= 0)
        close(fs);
    if (r < 0)
        return box_root_fail(b, r, "give /dev/shm %s", size);
    b->shm_mb = mb;
    return 0;
}

int box_root_quiet(struct box_root *b)
{
    struct rlimit core = { 1, 1 }; /* with 0 the kernel starts the program of a core_pattern "|..." all the same */
    if (setrlimit(RLIMIT_CORE, &core) < 0)
        return box_root_fail(b, -errno, "forbid core dumps");
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return box_root_fail(b, -errno, "open /dev/null");
    for (int fd = 0; fd <= 2; fd++)
        if (dup3(null, fd, 0) < 0)
            return box_root_fail(b, -errno, "take /dev/null as descriptor %d", fd);
    close(null);
    return 0;
}

void box_root_done(struct box_root *b)
{
    int *const all[] = { &b->proc, &b->pts, &b->shm, &b->sys };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        if (*all[i] >= 0)
            (void)close(*all[i]);
        *all[i] = BOX_ROOT_NONE;
    }
}
