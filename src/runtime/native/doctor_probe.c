/* Theory of operation. Tests what the kernel lets us do by doing it; nothing is concluded from a version or a sysctl
 * alone.
 *
 * Each probe runs in its own forked child (native_doctor.c), so it may enter namespaces, mount, or crash without
 * harm; everything it makes disappears with it, except files in the scratch folder, which the caller empties. A
 * probe returns 0 or -errno and fills `detail` with what it found, or what to change. A probe that hangs is killed
 * by the caller's deadline. */
#include "runtime/native/doctor_probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/mount.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "os/filter.h"
#include "os/idrange.h"

#define DISK_LOW_BYTES (UINT64_C(1) << 30)
#define FILES_LOW      8192u /* two descriptors for each box, and connections */

#define BOX_FILES   32768u /* of fs.file-max for each box: it is ended only when half of all are open */
#define BOX_INOTIFY 32u
#define HOST_TASKS  4096u /* processes of everybody else */

#define SAY(...) ((void)snprintf(detail, size, __VA_ARGS__))

static int write_text(const char *path, const char *text)
{
    CLEANUP(close_fd_p) int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* A sysctl's value, or -1 when this kernel has none. */
static long sysctl_value(const char *path)
{
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[32];
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    return strtol(text, NULL, 10);
}

/* Moves this process into new namespaces, as uid 0 of its own user namespace. */
static int namespaces_enter(int flags)
{
    char uids[32], gids[32];
    (void)snprintf(uids, sizeof uids, "0 %u 1", (unsigned)geteuid());
    (void)snprintf(gids, sizeof gids, "0 %u 1", (unsigned)getegid());
    if (unshare(CLONE_NEWUSER | flags) < 0)
        return -errno;
    int r = write_text("/proc/self/setgroups", "deny");
    if (r == 0)
        r = write_text("/proc/self/uid_map", uids);
    return r == 0 ? write_text("/proc/self/gid_map", gids) : r;
}

/* Exit code of a child that runs fn (an errno, 0 = fine). */
static int in_child(int (*fn)(void))
{
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        _exit(-fn() & 0xff);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

int doctor_probe_kernel(const struct doctor_env *env, char *detail, size_t size)
{
    struct utsname u;
    char *end = NULL;
    if (uname(&u) < 0)
        return -errno;
    unsigned long major = strtoul(u.release, &end, 10);
    if (*end != '.')
        return -EIO;
    unsigned long minor = strtoul(end + 1, NULL, 10);
    /* With root, overlayfs must accept idmapped layers (5.19); without, it must work in a user namespace (5.11). */
    unsigned long oldest = env->is_root ? 519 : 511, version = major * 100 + (minor > 99 ? 99 : minor);
    bool is_new_enough = version >= oldest;
    if (is_new_enough)
        SAY("Linux %s %s", u.release, u.machine);
    else
        SAY("Linux %s %s: 5.%lu or newer is needed", u.release, u.machine, oldest - 500);
    return is_new_enough ? 0 : -ENOSYS;
}

int doctor_probe_root(const struct doctor_env *env, char *detail, size_t size)
{
    if (env->is_root)
        SAY("root: all features");
    else
        SAY("uid %u: user namespaces only", (unsigned)geteuid());
    return env->is_root ? 0 : -EPERM;
}

int doctor_probe_userns(const struct doctor_env *env, char *detail, size_t size)
{
    (void)env;
    long max = sysctl_value("/proc/sys/user/max_user_namespaces");
    long debian = sysctl_value("/proc/sys/kernel/unprivileged_userns_clone");
    long apparmor = sysctl_value("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
    int r = namespaces_enter(0);
    SAY("%s; max_user_namespaces=%ld%s%s", r == 0 ? "made one" : strerror(-r), max,
        debian == 0 ? ", kernel.unprivileged_userns_clone=0" : "",
        apparmor == 1 ? ", kernel.apparmor_restrict_unprivileged_userns=1" : "");
    return r;
}

/* All namespaces of a box in one clone3, as the launcher makes them. */
int doctor_probe_clone(const struct doctor_env *env, char *detail, size_t size)
{
    (void)env;
    struct clone_args args = { .flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS |
                                        CLONE_NEWNET | CLONE_NEWCGROUP,
                               .exit_signal = SIGCHLD };
    long pid = syscall(SYS_clone3, &args, sizeof args);
    if (pid == 0)
        _exit(0);
    if (pid < 0)
        return -errno;
    while (waitpid((pid_t)pid, NULL, 0) < 0 && errno == EINTR)
        ;
    SAY("clone3 with user, pid, mount, ipc, uts, net and cgroup namespaces");
    return 0;
}

static int mount_proc(void)
{
    return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 ? -errno : 0;
}

int doctor_probe_proc(const struct doctor_env *env, char *detail, size_t size)
{
    (void)env;
    int r = namespaces_enter(CLONE_NEWNS | CLONE_NEWPID);
    if (r == 0)
        r = in_child(mount_proc);
    if (r == -EPERM)
        SAY("denied: parts of /proc are covered by other mounts (as in a container)");
    else if (r == 0)
        SAY("mounts in a user namespace");
    return r;
}

/* ---- network ---- */

int doctor_probe_netns(const struct doctor_env *env, char *detail, size_t size)
{
    (void)env;
    int r = namespaces_enter(CLONE_NEWNET);
    if (r < 0)
        return r;
    CLEANUP(close_fd_p) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &req) < 0)
        return -errno;
    SAY("created one, loopback is up");
    return 0;
}

int doctor_probe_tun(const struct doctor_env *env, char *detail, size_t size)
{
    (void)env;
    int r = namespaces_enter(CLONE_NEWNET);
    if (r < 0)
        return r;
    CLEANUP(close_fd_p) int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
    struct ifreq req = { .ifr_name = "probe0", .ifr_flags = IFF_TUN | IFF_NO_PI };
    if (fd < 0 || ioctl(fd, TUNSETIFF, &req) < 0)
        return -errno;
    SAY("created a tun device in a new namespace");
    return 0;
}

struct link_request {
    struct nlmsghdr head;
    struct ifinfomsg info;
    char attributes[128];
};

static struct rtattr *add_attribute(struct link_request *q, unsigned short type, const void *data, size_t len)
{
    struct rtattr *a = (struct rtattr *)(void *)((char *)q + NLMSG_ALIGN(q->head.nlmsg_len));
    a->rta_type = type;
    a->rta_len = (unsigned short)RTA_LENGTH(len);
    if (len)
        memcpy(RTA_DATA(a), data, len);
    q->head.nlmsg_len = NLMSG_ALIGN(q->head.nlmsg_len) + RTA_ALIGN(a->rta_len);
    return a;
}

/* RTM_NEWLINK kind=veth; the pair disappears with the namespace. */
int doctor_probe_veth(const struct doctor_env *env, char *detail, size_t size)
{
    (void)env;
    int r = namespaces_enter(CLONE_NEWNET);
    if (r < 0)
        return r;
    struct link_request q = { .head = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)),
                                        .nlmsg_type = RTM_NEWLINK,
                                        .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK } };
    struct rtattr *kind = add_attribute(&q, IFLA_LINKINFO, NULL, 0);
    (void)add_attribute(&q, IFLA_INFO_KIND, "veth", 5);
    kind->rta_len = (unsigned short)((char *)&q + q.head.nlmsg_len - (char *)kind);
    CLEANUP(close_fd_p) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0 || send(fd, &q, q.head.nlmsg_len, 0) < 0)
        return -errno;
    struct {
        struct nlmsghdr head;
        struct nlmsgerr error;
        char rest[256];
    } answer;
    ssize_t n = recv(fd, &answer, sizeof answer, 0);
    if (n < (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)) || answer.head.nlmsg_type != NLMSG_ERROR)
        return -EIO;
    if (answer.error.error == 0)
        SAY("created a pair in a new namespace");
    return answer.error.error;
}

/* ---- file systems ---- */

static int sleep_in_userns(int ready)
{
    char ok = unshare(CLONE_NEWUSER) < 0 ? 'x' : 'k';
    (void)!write(ready, &ok, 1); /* on failure the reader sees the end of file */
    (void)pause();
    return 0;
}

/* A child that waits in a new user namespace, to be mapped or asked for its descriptor. */
static pid_t park_in_userns(void)
{
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid == 0)
        _exit(sleep_in_userns(ready[1]));
    (void)close(ready[1]);
    char ok = 'x';
    if (pid > 0 && read(ready[0], &ok, 1) == 1 && ok != 'k') {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        pid = -EPERM;
    }
    (void)close(ready[0]);
    return pid;
}

static void child_unpark(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static int idmap_with(const char *folder, pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
    CLEANUP(close_fd_p) int ns = open(path, O_RDONLY | O_CLOEXEC);
    if (ns < 0)
        return -errno;
    CLEANUP(close_fd_p) int tree = (int)syscall(SYS_open_tree, AT_FDCWD, folder, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)ns };
    if (tree < 0 || syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof attr) < 0)
        return -errno;
    return 0;
}

int doctor_probe_idmap(const struct doctor_env *env, char *detail, size_t size)
{
    struct idrange range;
    struct err err = ERR_INIT;
    if (!env->is_root) {
        SAY("root only; without root, images are unpacked for each user instead");
        return -EPERM;
    }
    if (!env->scratch[0])
        return -ENOENT;
    pid_t pid = park_in_userns();
    if (pid < 0)
        return pid;
    int r = idrange_slot(IDRANGE_POOL_SLOTS - 1, &range);
    if (r == 0)
        r = idrange_map(&range, pid, &err);
    if (r == 0)
        r = idmap_with(env->scratch, pid);
    child_unpark(pid);
    if (r == 0)
        SAY("the data folder's file system supports them");
    return r;
}

/* A write through the merged folder copies lower/file up. */
static int overlay_at(const char *scratch, const char *more)
{
    char path[DOCTOR_DETAIL], options[DOCTOR_DETAIL * 4];
    static const char *const folders[] = { "lower", "upper", "work", "merged" };
    if (!scratch[0])
        return -ENOENT;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", scratch, folders[i]);
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
            return -errno;
    }
    (void)snprintf(path, sizeof path, "%s/lower/file", scratch);
    CLEANUP(close_fd_p) int low = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (low < 0)
        return -errno;
    (void)snprintf(options, sizeof options, "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work%s", scratch, scratch,
                   scratch, more);
    (void)snprintf(path, sizeof path, "%s/merged", scratch);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mount("overlay", path, "overlay", 0, options) < 0)
        return -errno;
    (void)snprintf(path, sizeof path, "%s/merged/file", scratch);
    CLEANUP(close_fd_p) int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    return fd < 0 || write(fd, "x", 1) != 1 ? -errno : 0;
}

int doctor_probe_overlay(const struct doctor_env *env, char *detail, size_t size)
{
    if (!env->is_root) {
        SAY("root only; see overlayfs in a user namespace");
        return -EPERM;
    }
    if (unshare(CLONE_NEWNS) < 0)
        return -errno;
    int r = overlay_at(env->scratch, "");
    if (r == 0)
        SAY("copies up on the data folder's file system");
    return r;
}

int doctor_probe_overlay_userns(const struct doctor_env *env, char *detail, size_t size)
{
    int r = namespaces_enter(CLONE_NEWNS);
    if (r == 0)
        r = overlay_at(env->scratch, ",userxattr");
    if (r == 0)
        SAY("copies up with userxattr");
    return r;
}

/* ---- confinement ---- */

int doctor_probe_seccomp(const struct doctor_env *env, char *detail, size_t size)
{
    (void)env;
    struct filter filter;
    struct err err = ERR_INIT;
    int r = filter_build(&filter, &err);
    if (r < 0) {
        SAY("%s", err.msg);
        return r;
    }
    unsigned count = filter.count;
    r = filter_install(&filter);
    filter_done(&filter);
    if (r < 0)
        return r;
    if (unshare(CLONE_NEWNS) == 0 || errno != EPERM) {
        SAY("the filter was installed but is not effective");
        return -EIO;
    }
    SAY("%u instructions, unshare is denied under them", count);
    return 0;
}

int doctor_probe_landlock(const struct doctor_env *env, char *detail, size_t size)
{
    (void)env;
    const long ask_version = 1;
    long abi = syscall(444 /* landlock_create_ruleset */, NULL, 0, ask_version);
    if (abi < 0)
        return -errno;
    SAY("ABI %ld", abi);
    return 0;
}

int doctor_probe_idrange(const struct doctor_env *env, char *detail, size_t size)
{
    struct idrange range;
    struct err err = ERR_INIT;
    char why[200] = "";
    int r = env->is_root ? idrange_slot(IDRANGE_POOL_SLOTS - 1, &range) : idrange_user(&range, why, sizeof why);
    if (r < 0)
        return r;
    pid_t pid = park_in_userns();
    if (pid < 0)
        return pid;
    r = idrange_map(&range, pid, &err);
    child_unpark(pid);
    if (r < 0) {
        SAY("%s", err.msg);
        return r;
    }
    if (range.how == IDRANGE_SINGLE) {
        SAY("one uid only: %s", why);
        return -EPERM;
    }
    if (range.how == IDRANGE_ROOT)
        SAY("%u boxes of %u ids each, from %u", IDRANGE_POOL_SLOTS, IDRANGE_SIZE, IDRANGE_POOL_BASE);
    else
        SAY("%u uids from %u, %u gids from %u", range.uid_count, range.uid_base, range.gid_count, range.gid_base);
    return 0;
}

int doctor_probe_tools(const struct doctor_env *env, char *detail, size_t size)
{
    const char *uid = idrange_tool("newuidmap"), *gid = idrange_tool("newgidmap");
    SAY("%s, %s%s", uid ? uid : "no newuidmap", gid ? gid : "no newgidmap",
        env->is_root ? " (root needs neither)" : "");
    return uid && gid ? 0 : -ENOENT;
}

/* ---- limits ---- */

int doctor_probe_data_dir(const struct doctor_env *env, char *detail, size_t size)
{
    if (!env->scratch[0]) {
        SAY("%.300s cannot be written", env->data_dir);
        return -EACCES;
    }
    char path[DOCTOR_DETAIL];
    (void)snprintf(path, sizeof path, "%s/written", env->scratch);
    CLEANUP(close_fd_p) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, "x", 1) != 1)
        return -errno;
    (void)unlink(path);
    SAY("%.300s can be written", env->data_dir);
    return 0;
}

int doctor_probe_state(const struct doctor_env *env, char *detail, size_t size)
{
    DIR *d = opendir(env->data_dir);
    char found[128] = "";
    for (struct dirent *e; d && (e = readdir(d));)
        if (strncmp(e->d_name, "state.db.corrupt-", 17) == 0)
            (void)snprintf(found, sizeof found, "%.100s", e->d_name);
    if (d)
        (void)closedir(d); /* read only */
    if (found[0]) {
        SAY("a damaged state was kept aside as %s", found);
        return -EUCLEAN;
    }
    SAY("no damaged state was kept aside");
    return 0;
}

int doctor_probe_disk(const struct doctor_env *env, char *detail, size_t size)
{
    struct statvfs st;
    if (statvfs(env->scratch[0] ? env->scratch : env->data_dir, &st) < 0)
        return -errno;
    uint64_t bytes = (uint64_t)st.f_bavail * st.f_frsize;
    bool has_inodes = st.f_files == 0 || st.f_favail > 10000;
    SAY("%.1f GiB free%s", (double)bytes / (1 << 30), has_inodes ? "" : ", but almost no inodes");
    return bytes >= DISK_LOW_BYTES && has_inodes ? 0 : -ENOSPC;
}

int doctor_probe_files(const struct doctor_env *env, char *detail, size_t size)
{
    (void)env;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return -errno;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        return -errno;
    SAY("%llu descriptors, two per box", (unsigned long long)limit.rlim_max);
    return limit.rlim_max >= FILES_LOW ? 0 : -EMFILE;
}

/* A maximum of the kernel and what all boxes together need of it. */
struct maximum {
    const char *name, *path;
    uint64_t less, need; /* less: kept for others by the kernel itself */
};

/* How many of them are too low; detail gets their names, values and needs. */
static int maxima_check(const struct maximum *list, size_t n, char *detail, size_t size)
{
    size_t len = 0;
    int low = 0;
    for (size_t i = 0; i < n; i++) {
        long value = sysctl_value(list[i].path);
        if (value < 0 || (uint64_t)value >= list[i].less + list[i].need)
            continue;
        int more = snprintf(detail + len, size - len, "%s%s is %ld, needs %llu", low++ ? "; " : "", list[i].name, value,
                            (unsigned long long)(list[i].less + list[i].need));
        len += more > 0 && (size_t)more < size - len ? (size_t)more : 0;
    }
    return low;
}

int doctor_probe_maxima(const struct doctor_env *env, char *detail, size_t size)
{
    uint64_t boxes = env->boxes, tasks = boxes * env->pids + HOST_TASKS, kept = 0;
    long reserve = sysctl_value("/proc/sys/kernel/pty/reserve");
    kept = reserve > 0 ? (uint64_t)reserve : 0;
    /* A server without root makes all namespaces as one user, and its boxes share that user's counters. */
    uint64_t spaces = env->is_root ? 1 : boxes, watchers = env->is_root ? BOX_INOTIFY : boxes * BOX_INOTIFY;
    const struct maximum list[] = {
        { "kernel.pty.max", "/proc/sys/kernel/pty/max", kept, boxes * LIMIT_MIN(PTYS) },
        { "fs.file-max", "/proc/sys/fs/file-max", 0, boxes * BOX_FILES },
        { "kernel.pid_max", "/proc/sys/kernel/pid_max", 0, tasks },
        { "kernel.threads-max", "/proc/sys/kernel/threads-max", 0, tasks },
        { "fs.inotify.max_user_instances", "/proc/sys/fs/inotify/max_user_instances", 0, watchers },
        { "user.max_user_namespaces", "/proc/sys/user/max_user_namespaces", 0, spaces },
        { "user.max_net_namespaces", "/proc/sys/user/max_net_namespaces", 0, spaces },
        { "user.max_pid_namespaces", "/proc/sys/user/max_pid_namespaces", 0, spaces },
    };
    if (maxima_check(list, sizeof list / sizeof *list, detail, size) > 0)
        return -ERANGE;
    if (sysctl_value("/proc/sys/vm/overcommit_memory") == 2) {
        SAY("vm.overcommit_memory is 2: memory that a sandbox reserves and does not use is taken from all; set it to "
            "0");
        return -ERANGE;
    }
    SAY("enough for %u sandboxes of %u processes", env->boxes, env->pids);
    return 0;
}
