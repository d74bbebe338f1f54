/* Theory of operation. The launcher starts the agent inside fresh namespaces long before anyone asks for a box (a
 * "blank"), so that at create nothing is left but the image. The order below is forced: as a blank   proc, devpts and
 * shared memory are mounted detached: they depend on the namespaces only, and the kernel refuses proc once the host's
 * own is out of sight. Loopback up. Bounding set dropped: it does not bind us yet. with a plan  root attached and
 * pivoted to, host mounts detached, then everything else attached by descriptor: no name is looked up in the image but
 * beneath its root and without links. at the end   capabilities, then no_new_privs and the filter: it forbids the calls
 * used above. */
#include "guest/agent/stage.h"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "os/mount.h"
#include "os/oldoverlay.h"
#include "os/proc.h"
#include "os/seqsock.h"
#include "os/stage_plan.h"
#include "os/sysview.h"

#define NO_SUCH_FD     (-EBADF)
#define SHM_MB         256u /* charged to the box's memory limit as well; the plan may want another size */
#define SHM_SIZE       "256m"
#define SHM_INODES     "65536"
#define FILTER_INSNS   4096 /* the kernel's BPF_MAXINSNS */
#define CAP_LAST_TRY   63
#define OLD_LAYERS_MAX 256

struct stage {
    int control;
    int proc, pts, shm;     /* detached mounts */
    int sys;                /* the same, only when is_self_mounted */
    int fds[STAGE_FDS_MAX]; /* as they came with the plan */
    size_t n_fds;
    const struct stage_plan *plan;
    const char *paths; /* plan->extra_len bytes */
    char why[200];
};

/* What root of a box may still do: ordinary work on its own files, ids and ports. Left out on purpose, although usual
 * elsewhere: NET_RAW (forged packets), MKNOD (device nodes), AUDIT_WRITE (the host's log). */
static const unsigned kept_caps[] = { CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FOWNER,  CAP_FSETID,           CAP_KILL,
                                      CAP_SETGID, CAP_SETUID,       CAP_SETPCAP, CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT,
                                      CAP_SETFCAP };

__attribute__((format(printf, 3, 4))) static int stage_fail(struct stage *s, int r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(s->why, sizeof(s->why), fmt, ap);
    va_end(ap);
    return r < 0 ? r : -EIO;
}

static uint64_t kept_mask(void)
{
    uint64_t mask = 0;
    for (size_t i = 0; i < sizeof(kept_caps) / sizeof(*kept_caps); i++)
        mask |= 1ull << kept_caps[i];
    return mask;
}

static int drop_bounding_set(struct stage *s)
{
    uint64_t keep = kept_mask();
    for (unsigned cap = 0; cap <= CAP_LAST_TRY; cap++) {
        if (keep & (1ull << cap))
            continue;
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
            continue;
        if (errno == EINVAL) /* past the last one this kernel has */
            return 0;
        return stage_fail(s, -errno, "drop capability %u", cap);
    }
    return 0;
}

static int loopback_up(struct stage *s)
{
    struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return stage_fail(s, -errno, "socket for the loopback interface");
    int r = ioctl(fd, SIOCSIFFLAGS, &req) < 0 ? -errno : 0;
    close(fd);
    return r < 0 ? stage_fail(s, r, "bring the loopback interface up") : 0;
}

struct mount_option {
    const char *key, *value; /* value NULL: a flag */
};

static int detached(struct stage *s, const char *type, const struct mount_option *opt, uint64_t attributes, int *ret)
{
    int fs = mount_fs_open(type);
    if (fs < 0)
        return stage_fail(s, fs, "open file system %s", type);
    int r = 0;
    for (; opt && opt->key && r >= 0; opt++)
        r = opt->value ? mount_fs_string(fs, opt->key, opt->value) : mount_fs_flag(fs, opt->key);
    if (r >= 0)
        r = mount_fs_make(fs, attributes);
    close(fs);
    if (r < 0)
        return stage_fail(s, r, "mount %s", type);
    *ret = r;
    return 0;
}

/* What proc says about the whole host: covered, files by the null device and folders by one that is removed already, in
 * which nothing can ever be. Whatever this kernel does not have is left out. */
static const char *const covered_files[] = { "kallsyms",      "kcore",        "keys",      "key-users",  "timer_list",
                                             "sched_debug",   "partitions",   "diskstats", "swaps",      "cmdline",
                                             "modules",       "iomem",        "ioports",   "interrupts", "mdstat",
                                             "latency_stats", "sysrq-trigger" };
static const char *const covered_folders[] = { "fs", "bus", "irq", "scsi", "acpi", "driver", "asound" };

static int cover(struct stage *s, const char *name, bool is_folder)
{
    int at = openat(s->proc, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (at < 0)
        return errno == ENOENT ? 0 : stage_fail(s, -errno, "open /proc/%s", name);
    int with = is_folder ? mount_clone(s->shm, "x") : mount_clone(AT_FDCWD, "/dev/null");
    int r = with < 0 ? with : mount_set(with, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, -1);
    if (r >= 0)
        r = mount_attach(with, at);
    if (with >= 0)
        close(with);
    close(at);
    return r < 0 ? stage_fail(s, r, "cover /proc/%s", name) : 0;
}

/* Puts a mount on top of /proc of our own mount namespace, where older kernels let us work on it. */
static int put_on_proc(struct stage *s, int mount)
{
    int at = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = at < 0 ? -errno : mount_attach(mount, at);
    if (at >= 0)
        close(at);
    return r < 0 ? stage_fail(s, r, "attach a mount to cover parts of proc") : 0;
}

/* Takes the topmost mount of /proc off again and leaves a detached copy of it, with all that is mounted on it. */
static int take_off_proc(struct stage *s, int *mount)
{
    int copy =
        (int)syscall(SYS_open_tree, *mount, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
    if (copy < 0 || umount2("/proc", MNT_DETACH) < 0) {
        int r = -errno;
        if (copy >= 0)
            close(copy);
        return stage_fail(s, r, "detach a mount to cover parts of proc");
    }
    close(*mount);
    *mount = copy;
    return 0;
}

/* Linux 6.15 is the first to clone from detached mounts and to mount on them. */
static bool wants_attached(const struct stage *s)
{
    int fd = mount_clone(s->shm, "x");
    if (fd >= 0)
        close(fd);
    return fd < 0;
}

static int cover_proc(struct stage *s)
{
    if (mkdirat(s->shm, "x", 0555) < 0)
        return stage_fail(s, -errno, "make an empty folder");
    bool is_attached = wants_attached(s);
    int r = is_attached ? put_on_proc(s, s->shm) : 0;
    if (r >= 0 && is_attached)
        r = put_on_proc(s, s->proc);
    for (size_t i = 0; r >= 0 && i < sizeof(covered_files) / sizeof(*covered_files); i++)
        r = cover(s, covered_files[i], false);
    for (size_t i = 0; r >= 0 && i < sizeof(covered_folders) / sizeof(*covered_folders); i++)
        r = cover(s, covered_folders[i], true);
    if (r >= 0 && unlinkat(s->shm, "x", AT_REMOVEDIR) < 0)
        r = stage_fail(s, -errno, "remove the empty folder");
    if (r >= 0 && is_attached)
        r = take_off_proc(s, &s->proc);
    return r < 0 || !is_attached ? r : take_off_proc(s, &s->shm);
}

/* Everything that needs no image. */
static int prepare(struct stage *s)
{
    static const struct mount_option pts_opt[] = { { "ptmxmode", "0666" }, { "mode", "0620" }, { 0 } };
    static const struct mount_option shm_opt[] = {
        { "mode", "1777" }, { "size", SHM_SIZE }, { "nr_inodes", SHM_INODES }, { 0 }
    };
    uint64_t inert = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
    int r = detached(s, "proc", NULL, inert, &s->proc);
    if (r >= 0)
        r = detached(s, "devpts", pts_opt, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, &s->pts);
    if (r >= 0)
        r = detached(s, "tmpfs", shm_opt, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, &s->shm);
    if (r >= 0)
        r = cover_proc(s);
    if (r >= 0)
        r = loopback_up(s);
    if (r >= 0)
        r = drop_bounding_set(s);
    return r;
}

static bool is_text(const char *s, size_t size)
{
    return memchr(s, '\0', size) != NULL;
}

/* Waits for the plan. An end of file means that nobody will ever want this blank. */
static int receive_plan(struct stage *s)
{
    static union {
        struct stage_plan plan;
        char bytes[sizeof(struct stage_plan) + STAGE_EXTRA_MAX];
    } msg;
    const struct stage_plan *p = &msg.plan;
    ssize_t n = seqsock_recv(s->control, &msg, sizeof(msg), s->fds, STAGE_FDS_MAX, &s->n_fds);
    if (n == 0)
        _exit(0);
    if (n < (ssize_t)sizeof(*p) || p->version != STAGE_PLAN_VERSION || (size_t)n != sizeof(*p) + p->extra_len)
        return stage_fail(s, n < 0 ? (int)n : -EBADMSG, "plan of the wrong size or version");
    size_t want = p->is_self_mounted ? STAGE_FD_ROOT : p->has_usr ? STAGE_FDS_MAX : STAGE_FD_USR;
    if (s->n_fds != want)
        return stage_fail(s, -EBADMSG, "plan with %zu descriptors, not %zu", s->n_fds, want);
    if (!is_text(p->hostname, sizeof(p->hostname)) || !is_text(p->workdir, sizeof(p->workdir)) || p->workdir[0] != '/')
        return stage_fail(s, -EBADMSG, "plan with a bad hostname or working folder");
    if (p->extra_len && msg.bytes[n - 1] != '\0')
        return stage_fail(s, -EBADMSG, "plan with an open end");
    s->plan = p;
    s->paths = msg.bytes + sizeof(*p);
    return 0;
}

/* The same for kernels before 6.8, which know no layers one by one. No descriptor of the host's stays open. */
static int old_own_overlay(const char *box, const char *end)
{
    struct oldoverlay o = { 0 };
    int fds[OLD_LAYERS_MAX], n = 0, r = 0;
    for (const char *dir = box; r >= 0 && dir < end; dir += strlen(dir) + 1) {
        fds[n] = n < OLD_LAYERS_MAX - 1 ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        if (fds[n] < 0)
            r = n < OLD_LAYERS_MAX - 1 ? -errno : -E2BIG;
        else if (n++ > 0) /* the first one is the box */
            oldoverlay_lower(&o, fds[n - 1]);
    }
    if (r >= 0 && n > 0) {
        oldoverlay_upper(&o, fds[0], "upper", "work");
        r = oldoverlay_mount(&o, box, "userxattr,volatile");
    }
    while (n > 0)
        close(fds[--n]);
    return r;
}

static int new_own_overlay(const char *box, const char *end)
{
    char path[4200];
    int fs = mount_fs_open("overlay");
    int r = fs < 0 ? fs : mount_fs_flag(fs, "userxattr");
    for (const char *layer = box + strlen(box) + 1; r >= 0 && layer < end; layer += strlen(layer) + 1)
        r = mount_fs_string(fs, "lowerdir+", layer);
    snprintf(path, sizeof(path), "%s/upper", box);
    if (r >= 0)
        r = mount_fs_string(fs, "upperdir", path);
    snprintf(path, sizeof(path), "%s/work", box);
    if (r >= 0)
        r = mount_fs_string(fs, "workdir", path);
    if (r >= 0)
        r = mount_fs_flag(fs, "volatile");
    if (r >= 0)
        r = mount_fs_make(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (fs >= 0)
        close(fs);
    return r;
}

/* Without privilege outside, the overlay is made in our own user namespace: user.* attributes instead of trusted.*, and
 * a rename of a folder of the image answers EXDEV, which every mover knows how to handle. */
static int own_overlay(struct stage *s, int *ret)
{
    const char *box = s->paths, *end = s->paths + s->plan->extra_len;
    int r = box == end ? -EBADMSG : new_own_overlay(box, end);
    if (r == -EINVAL)
        r = old_own_overlay(box, end);
    if (r < 0)
        return stage_fail(s, r, "mount an overlay as an ordinary user (needs Linux 5.11 or newer; else run as root)");
    *ret = r;
    return 0;
}

static const char *const dev_nodes[] = { "null", "zero", "full", "random", "urandom", "tty" };
static const char *const dev_links[][2] = { { "/proc/self/fd", "fd" },
                                            { "/proc/self/fd/0", "stdin" },
                                            { "/proc/self/fd/1", "stdout" },
                                            { "/proc/self/fd/2", "stderr" },
                                            { "pts/ptmx", "ptmx" } };
#define DEV_NODES (sizeof(dev_nodes) / sizeof(*dev_nodes))

/* The device folder without privilege: nodes cannot be made, so the host's harmless ones are bound by descriptor. They
 * are cloned while the host's /dev is still in sight and attached once the folder has its place. */
static int own_dev_clone(struct stage *s, int ret_nodes[DEV_NODES])
{
    for (size_t i = 0; i < DEV_NODES; i++) {
        char path[32];
        snprintf(path, sizeof(path), "/dev/%s", dev_nodes[i]);
        ret_nodes[i] = mount_clone(AT_FDCWD, path);
        if (ret_nodes[i] < 0)
            return stage_fail(s, ret_nodes[i], "clone the host's %s", path);
    }
    return 0;
}

static int own_dev_fill(struct stage *s, int to, const int nodes[DEV_NODES])
{
    static const struct mount_option opt[] = { { "mode", "0755" }, { "size", "64k" }, { "nr_inodes", "64" }, { 0 } };
    int dev = NO_SUCH_FD;
    int r = detached(s, "tmpfs", opt, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, &dev);
    if (r < 0)
        return r;
    r = mount_attach(dev, to);
    for (size_t i = 0; r >= 0 && i < DEV_NODES; i++) {
        int target = mount_open_beneath(dev, dev_nodes[i], O_RDONLY | O_CREAT | O_EXCL, 0666);
        r = target < 0 ? target : mount_attach(nodes[i], target);
        if (target >= 0)
            close(target);
    }
    for (size_t i = 0; r >= 0 && i < sizeof(dev_links) / sizeof(*dev_links); i++)
        r = symlinkat(dev_links[i][0], dev, dev_links[i][1]) < 0 ? -errno : 0;
    if (r >= 0 && (mkdirat(dev, "pts", 0755) < 0 || mkdirat(dev, "shm", 01777) < 0))
        r = -errno;
    close(dev);
    return r < 0 ? stage_fail(s, r, "make the device folder") : 0;
}

static int enter_root(struct stage *s, int root)
{
    int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = here < 0 ? -errno : mount_attach(root, here);
    if (here >= 0)
        close(here);
    if (r < 0)
        return stage_fail(s, r, "attach the root");
    if (fchdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
        return stage_fail(s, -errno, "pivot to the new root");
    /* The old root now lies on top of the new one: detach it, and the host's files are out of reach for good. */
    if (umount2(".", MNT_DETACH) < 0)
        return stage_fail(s, -errno, "detach the host's root");
    if (chdir("/") < 0)
        return stage_fail(s, -errno, "go to the new root");
    return 0;
}

/* The folder to mount on: made when missing, refused when the image has a link there. */
static int mount_point(int root, const char *name)
{
    int fd = mount_open_beneath(root, name, O_PATH | O_DIRECTORY, 0);
    if (fd != -ENOENT)
        return fd;
    if (mkdirat(root, name, 0755) < 0)
        return -errno;
    return mount_open_beneath(root, name, O_PATH | O_DIRECTORY, 0);
}

static int attach_at(struct stage *s, int root, const char *name, int mount)
{
    int at = mount_point(root, name);
    int r = at < 0 ? at : mount_attach(mount, at);
    if (at >= 0)
        close(at);
    return r < 0 ? stage_fail(s, r, "mount on /%s of the image", name) : 0;
}

/* The folder for /sys without privilege: of our own, filled while the host's is in sight. */
static int own_sys(struct stage *s)
{
    static const struct mount_option opt[] = { { "mode", "0755" }, { "size", "1m" }, { "nr_inodes", "4096" }, { 0 } };
    int r = detached(s, "tmpfs", opt, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NODEV, &s->sys);
    if (r < 0)
        return r;
    r = sysview_fill(s->sys);
    if (r >= 0)
        r = mount_set(s->sys, MOUNT_ATTR_RDONLY, -1);
    return r < 0 ? stage_fail(s, r, "fill the folder for /sys") : 0;
}

static int attach_all(struct stage *s, int root, const int own_nodes[DEV_NODES], int usr)
{
    int r = attach_at(s, root, "proc", s->proc);
    if (r >= 0 && !s->plan->is_self_mounted) {
        r = attach_at(s, root, "dev", s->fds[STAGE_FD_DEV]);
    } else if (r >= 0) {
        int at = mount_point(root, "dev");
        r = at < 0 ? stage_fail(s, at, "open /dev of the image") : own_dev_fill(s, at, own_nodes);
        if (at >= 0)
            close(at);
    }
    if (r >= 0)
        r = attach_at(s, root, "sys", s->plan->is_self_mounted ? s->sys : s->fds[STAGE_FD_SYS]);
    if (r >= 0)
        r = attach_at(s, root, "dev/pts", s->pts);
    if (r >= 0)
        r = attach_at(s, root, "dev/shm", s->shm);
    if (r >= 0 && s->plan->has_usr)
        r = attach_at(s, root, "usr", usr);
    return r;
}

/* The host's root is gone already, so links of the image are followed, but only inside it and never through proc. Not
 * with RESOLVE_IN_ROOT: our own root says the same, and the kernel answers EAGAIN for ".." in a link while anybody
 * renames. */
static int make_workdir(struct stage *s, int root)
{
    char path[sizeof(s->plan->workdir)];
    snprintf(path, sizeof(path), "%s", s->plan->workdir);
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
            return stage_fail(s, -why, "make the working folder %.120s", path);
        if (is_last)
            break;
        *p = '/';
    }
    close(at);
    return 0;
}

static int settle(struct stage *s)
{
    struct rlimit files;
    struct rlimit core = { 0, 0 };
    if (sethostname(s->plan->hostname, strlen(s->plan->hostname)) < 0)
        return stage_fail(s, -errno, "set the hostname");
    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return stage_fail(s, -errno, "read resource limits");
    if (files.rlim_max > s->plan->nofile) /* what is less than that cannot be raised from here */
        files.rlim_max = s->plan->nofile;
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_CORE, &core) < 0 || setrlimit(RLIMIT_NOFILE, &files) < 0)
        return stage_fail(s, -errno, "set resource limits");
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return stage_fail(s, -errno, "open /dev/null");
    for (int fd = 0; fd <= 2; fd++)
        if (dup3(null, fd, 0) < 0)
            return stage_fail(s, -errno, "take /dev/null as descriptor %d", fd);
    close(null);
    return 0;
}

/* The agent is left with what its children get: the bounding set is that already. */
static int drop_own_caps(struct stage *s)
{
    uint64_t keep = kept_mask();
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2] = { { .effective = (uint32_t)keep, .permitted = (uint32_t)keep },
                                              { .effective = (uint32_t)(keep >> 32),
                                                .permitted = (uint32_t)(keep >> 32) } };
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
        return stage_fail(s, -errno, "clear ambient capabilities");
    if (syscall(SYS_capset, &head, data) < 0)
        return stage_fail(s, -errno, "drop capabilities");
    /* Non-dumpable: no process of the box can trace the agent or read its descriptors. */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return stage_fail(s, -errno, "become undumpable");
    return 0;
}

static int install_filter(struct stage *s)
{
    static struct sock_filter insns[FILTER_INSNS];
    ssize_t n = pread(s->fds[STAGE_FD_FILTER], insns, sizeof(insns), 0);
    if (n <= 0 || n % (ssize_t)sizeof(*insns) != 0)
        return stage_fail(s, n < 0 ? -errno : -EBADMSG, "read the system call filter");
    struct sock_fprog prog = { .len = (unsigned short)((size_t)n / sizeof(*insns)), .filter = insns };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return stage_fail(s, -errno, "set no_new_privs");
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) != 0)
        return stage_fail(s, -errno, "install the system call filter");
    return 0;
}

/* What root would have sent along: made here from paths, before the host's tree is out of sight. */
static int own_mounts(struct stage *s, int *ret_root, int nodes[DEV_NODES], int *ret_usr)
{
    int r = own_overlay(s, ret_root);
    if (r >= 0)
        r = own_dev_clone(s, nodes);
    if (r >= 0)
        r = own_sys(s);
    if (r < 0 || !s->plan->has_usr)
        return r;
    int usr = (int)syscall(SYS_open_tree, AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (usr < 0 || (r = mount_set(usr, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, -1)) < 0)
        return stage_fail(s, usr < 0 ? -errno : r, "clone the host's /usr");
    *ret_usr = usr;
    return 0;
}

/* The mount was made when nobody knew the size yet. */
static int resize_shm(struct stage *s)
{
    char size[24];
    if (s->plan->shm_mb == SHM_MB)
        return 0;
    snprintf(size, sizeof(size), "%um", s->plan->shm_mb);
    int fs = (int)syscall(SYS_fspick, s->shm, "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC);
    int r = fs < 0 ? -errno : mount_fs_string(fs, "size", size);
    if (r >= 0 && syscall(SYS_fsconfig, fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0)
        r = -errno;
    if (fs >= 0)
        close(fs);
    return r < 0 ? stage_fail(s, r, "give /dev/shm %s", size) : 0;
}

static int build(struct stage *s)
{
    int nodes[DEV_NODES], root = s->fds[STAGE_FD_ROOT], usr = s->fds[STAGE_FD_USR];
    memset(nodes, 0xff, sizeof(nodes));
    int r = s->plan->is_self_mounted ? own_mounts(s, &root, nodes, &usr) : 0;
    if (r >= 0)
        r = resize_shm(s);
    if (r >= 0)
        r = enter_root(s, root);
    if (r >= 0)
        r = attach_all(s, root, nodes, usr);
    if (r >= 0)
        r = make_workdir(s, root);
    if (r >= 0)
        r = settle(s);
    if (r >= 0)
        r = drop_own_caps(s);
    if (r >= 0)
        r = install_filter(s);
    seqsock_close_all(nodes, DEV_NODES);
    if (s->plan->is_self_mounted) {
        int own[] = { root, usr };
        seqsock_close_all(own, 2);
    }
    return r;
}

static void report(struct stage *s, int r)
{
    struct stage_report rep = { .version = STAGE_PLAN_VERSION, .result = r };
    snprintf(rep.text, sizeof(rep.text), "%s", r < 0 ? s->why : "");
    struct iovec parts[2] = { { &rep, sizeof(rep) }, { NULL, 0 } };
    (void)seqsock_send(s->control, parts, NULL, 0); /* a launcher that is gone needs no report */
}

int stage_run(int control_fd, struct stage_result *ret)
{
    struct stage s = {
        .control = control_fd, .proc = NO_SUCH_FD, .pts = NO_SUCH_FD, .shm = NO_SUCH_FD, .sys = NO_SUCH_FD
    };
    memset(s.fds, 0xff, sizeof(s.fds));
    int r = prepare(&s);
    if (r >= 0)
        r = receive_plan(&s);
    if (r >= 0)
        r = build(&s);
    int done[] = { s.proc, s.pts, s.shm, s.sys };
    seqsock_close_all(done, sizeof(done) / sizeof(*done));
    /* Before the report: whoever hears it may swap the root, and a descriptor of the old one would be in the way. */
    for (size_t i = 0; i < s.n_fds; i++)
        if (r < 0 || (i != STAGE_FD_CONN && i != STAGE_FD_LISTEN))
            (void)close(s.fds[i]);
    report(&s, r);
    (void)close(control_fd);
    if (r < 0)
        return r;
    ret->conn_fd = s.fds[STAGE_FD_CONN];
    ret->listen_fd = s.fds[STAGE_FD_LISTEN];
    snprintf(ret->default_workdir, sizeof(ret->default_workdir), "%s", s.plan->workdir);
    return 0;
}
