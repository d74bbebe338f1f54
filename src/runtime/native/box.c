/* Theory of operation. Makes, starts, adopts and kills boxes. A struct native_box is in one state of enum
 * native_box_state: prepared → (furnishing →) starting → running → dying. The launcher owns the boxes in a list; this
 * file opens and closes what a box holds.
 *
 * The child between clone3 and exec is a copy of the launcher. It joins its control groups itself (moving it from
 * outside stalls for milliseconds), waits until its ids are mapped, and execs the agent from a sealed memory file, so
 * that nothing in the box ever refers to a file of the host.
 *
 * A failed make returns a half-made box, which the caller kills like any other. Killing is asynchronous: SIGKILL to
 * the init of the pid namespace, then native_box_is_over() until the process is reaped and the cgroup is removed. An
 * adopted box is not our child; it is trusted only if its pid and start time match what the launcher that made it
 * recorded. */
#include "runtime/native/box.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "os/mount.h"
#include "os/proc.h"
#include "os/seqsock.h"
#include "os/stage_plan.h"
#include "os/write_all.h"
#include "runtime/native/counters.h"
#include "runtime/native/disk.h"

#define BOX_NAMESPACES (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET)
#define BACKLOG        16
#define CONNECT_S      3
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

static struct native_box *native_box_alloc(struct native_box_site *site)
{
    struct native_box *c = xzalloc(sizeof(*c));
    c->site = site;
    int *const fds[] = { &c->pidfd, &c->control, &c->conn, &c->stage_conn, &c->listen, &c->userns,
                         &c->box,   &c->upper,   &c->dev,  &c->sys,        &c->usr,    &c->maker };
    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
        *fds[i] = NO_FD;
    return c;
}

void native_box_close_start(struct native_box *c)
{
    int *const fds[] = { &c->control, &c->conn,  &c->stage_conn, &c->listen, &c->userns,
                         &c->box,     &c->upper, &c->dev,        &c->sys,    &c->usr };
    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
        if (*fds[i] >= 0)
            (void)close(steal_fd(fds[i])); /* sockets and mounts: nothing is buffered */
    while (c->n_trees)
        (void)close(c->trees[--c->n_trees].fd); /* nothing is buffered */
}

struct native_box *native_box_free(struct native_box *c)
{
    if (!c)
        return NULL;
    native_box_close_start(c);
    if (c->pidfd >= 0)
        (void)close(c->pidfd); /* only a handle */
    if (c->maker >= 0) {
        (void)close(c->maker);                /* a maker that is still at work cannot send, and exits */
        (void)waitpid(c->maker_pid, NULL, 0); /* our child: it has exited */
    }
    free(c->waiting);
    if (c->has_slot)
        c->site->slots[c->slot / 8] &= (uint8_t) ~(1u << c->slot % 8);
    free(c);
    return NULL;
}
DEFINE_CLEANUP(struct native_box *, native_box_free)

int native_box_memory_file(const char *name, const void *data, size_t len, bool is_program)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create(name, flags | (is_program ? MFD_EXEC : 0));
    if (fd < 0 && errno == EINVAL) /* before Linux 6.3 every memory file is executable */
        fd = memfd_create(name, flags);
    if (fd < 0)
        return -errno;
    int r = write_all_write(fd, data, len);
    if (r == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        r = -errno;
    if (r < 0) {
        (void)close(fd); /* incomplete, or useless unless sealed */
        return r;
    }
    return fd;
}

/* An address below the run folder; through its descriptor, so that a long data folder does not overflow it. */
static socklen_t socket_address(const struct native_box_site *site, const char *name, struct sockaddr_un *ret)
{
    ret->sun_family = AF_UNIX;
    int n = snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s.sock", site->run_fd, name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n + 1);
}

static int make_sockets(struct native_box_site *site, struct native_box *c, int *ret_stage_control, struct err *err)
{
    int control[2], conn[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
        return err_sys(err, -errno, "socket pair for a box");
    c->control = control[0];
    *ret_stage_control = control[1];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, conn) < 0)
        return err_sys(err, -errno, "socket pair for a box");
    c->conn = conn[0];
    c->stage_conn = conn[1];
    c->listen = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un addr;
    socklen_t len = socket_address(site, c->name, &addr);
    if (c->listen < 0 || bind(c->listen, (struct sockaddr *)&addr, len) < 0 || listen(c->listen, BACKLOG) < 0)
        return err_sys(err, -errno, "listen on run/%s.sock", c->name);
    return 0;
}

/* A time namespace in which the box was booted just now: the host's uptime identifies the host and tells how old its
 * kernel is. The agent enters it by its exec. A kernel without time namespaces shows the host's. */
static void start_clock(void)
{
    struct timespec now;
    char text[64];
    if (unshare(CLONE_NEWTIME) < 0 || clock_gettime(CLOCK_BOOTTIME, &now) < 0)
        return;
    int n = snprintf(text, sizeof(text), "boottime -%lld 0\n", (long long)now.tv_sec);
    int fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)!write(fd, text, (size_t)n); /* the box works without it */
    (void)close(fd);                   /* nothing is buffered */
    /* Before 6.3 the exec that follows does not enter it, and a process outside the namespace of its children cannot
     * clone them as the agent does. */
    fd = open("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)setns(fd, CLONE_NEWTIME);
    (void)close(fd); /* only a handle */
}

/* In the child. It must not allocate or print; every failure is a silent exit, which the launcher notices. */
__attribute__((noreturn)) static void become_agent(const struct native_box_site *site, struct cgroup_join *join,
                                                   int control)
{
    static char arg0[] = "iii-guest", arg1[] = "--stage", arg2[] = "3", arg3[] = "--ptys", ptys[16],
                path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    char *const argv[] = { arg0, arg1, arg2, arg3, ptys, NULL }, *const envp[] = { path, NULL };
    char go;
    snprintf(ptys, sizeof(ptys), "%u", site->counters.ptys);
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* the change of user took /proc/self away, which start_clock() needs */
    if (!site->is_root) /* root has set them for the launcher, so that they bind the whole user namespace */
        native_counters_rlimits();
    if (cgroup_join_self(join) < 0 || unshare(CLONE_NEWCGROUP) < 0)
        _exit(101);
    start_clock();
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int keep = fcntl(control, F_DUPFD_CLOEXEC, 10), agent = fcntl(site->agent_fd, F_DUPFD_CLOEXEC, 10);
    if (null < 0 || keep < 0 || agent < 0)
        _exit(102);
    if (dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 || dup2(keep, 3) < 0 ||
        dup3(agent, 4, O_CLOEXEC) < 0)
        _exit(103);
    if (proc_close_from(5) < 0) /* before waiting: a copy of the launcher's end would hide the launcher's death */
        _exit(104);
    if (recv(3, &go, 1, 0) != 1) /* the ids are mapped now */
        _exit(105);
    if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0 || (site->own.how != IDRANGE_SINGLE && setgroups(0, NULL) < 0))
        _exit(106);
    (void)signal(SIGPIPE, SIG_DFL); /* none of the three can fail */
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    (void)umask(022);
    (void)setsid(); /* fails only for a group leader, which is fine */
    (void)syscall(SYS_execveat, 4, "", argv, envp, AT_EMPTY_PATH);
    _exit(107);
}

/* The kernel charges the inotify instances, timers, message queues, ... of a user namespace to whoever created it as
 * well. So a box creates its own, with its root as effective user: created by root, all boxes and root itself would
 * share one set of counters. Capabilities are kept over the change (SECBIT_NO_SETUID_FIXUP). */
static int box_spawn(struct native_box_site *site, struct native_box *c, const struct idrange *range, int stage_control,
                     struct err *err)
{
    struct cgroup_join join = { .clone_into = NO_FD };
    int r = c->has_cgroup ? cgroup_join_open(&c->cgroup, &join, err) : 0;
    if (r < 0)
        return r;
    if (site->is_root && seteuid(range->uid_base) < 0) {
        cgroup_join_done(&join);
        return err_sys(err, -errno, "become user %u for a box", (unsigned)range->uid_base);
    }
    pid_t pid = proc_clone(BOX_NAMESPACES, join.clone_into, &c->pidfd);
    if (pid == 0)
        become_agent(site, &join, stage_control);
    if (site->is_root && seteuid(0) < 0)
        abort(); /* never continue as the user of a box */
    cgroup_join_done(&join);
    if (pid < 0)
        return err_sys(err, pid, "make the namespaces of a box");
    c->pid = pid;
    c->start_time = proc_start_time(pid);
    return 0;
}

static int take_range(struct native_box_site *site, struct native_box *c, struct idrange *ret, struct err *err)
{
    if (!site->is_root) {
        *ret = site->own;
        return 0;
    }
    for (uint32_t i = 0; i < IDRANGE_POOL_SLOTS && !c->has_slot; i++) {
        c->slot = site->next_slot++ % IDRANGE_POOL_SLOTS;
        c->has_slot = !(site->slots[c->slot / 8] & 1u << c->slot % 8); /* in use: try the next */
        site->slots[c->slot / 8] |= (uint8_t)(1u << c->slot % 8);
    }
    if (!c->has_slot)
        return err_set(err, ERR_CAPACITY, 0, "all %u ranges of user ids are in use", IDRANGE_POOL_SLOTS);
    return idrange_slot(c->slot, ret);
}

int native_box_new_prepared(struct native_box_site *site, struct native_box **ret, struct err *err)
{
    CLEANUP(close_fd_p) int stage_control = NO_FD;
    struct idrange range;
    char group[CGROUP_NAME_MAX], path[64];
    unsigned char random[8];
    struct native_box *c = *ret = native_box_alloc(site); /* even half-made: the caller kills it like any other */
    ident_random(random, sizeof(random));
    ident_hex(random, sizeof(random), c->name);
    int r = take_range(site, c, &range, err);
    if (r < 0)
        return r;
    snprintf(group, sizeof(group), "%s-%s", site->tag, c->name);
    if (site->cgroups.trees) {
        struct cgroup_limits none = { 0 };
        if ((r = cgroup_make(&site->cgroups, group, &none, &c->cgroup, err)) < 0)
            return r;
        c->has_cgroup = true;
    }
    if ((r = make_sockets(site, c, &stage_control, err)) < 0 ||
        (r = box_spawn(site, c, &range, stage_control, err)) < 0)
        return r;
    if ((r = idrange_map(&range, c->pid, err)) < 0)
        return r;
    if (site->is_root) {
        snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)c->pid);
        c->userns = open(path, O_RDONLY | O_CLOEXEC);
        if (c->userns < 0)
            return err_sys(err, -errno, "open the user namespace of a box");
    }
    /* The child execs the agent while we prepare its folders. */
    if (send(c->control, "g", 1, MSG_NOSIGNAL) != 1)
        return err_sys(err, -errno, "start the agent of a box");
    return native_box_root_prepare(site, c, err);
}

int native_box_start(struct native_box_site *site, struct native_box *c, const struct wire_request *q, struct err *err)
{
    CLEANUP(close_fd_p) int root = NO_FD;
    struct cgroup_limits limits = { q->memory_mb, q->cpu_milli, q->pids_max };
    int r = native_box_root_mount(site, c, q, &root, err);
    if (r < 0)
        return r;
    struct stage_plan plan = { .version = STAGE_PLAN_VERSION,
                               .is_self_mounted = !site->is_root,
                               .has_usr = q->is_host,
                               .is_kept = q->is_kept,
                               .is_watched = true,
                               .nofile = q->nofile,
                               .nproc = native_counters_nproc(site, q->pids_max),
                               .shm_mb = q->shm_mb };
    char paths[STAGE_EXTRA_MAX];
    memcpy(plan.hostname, q->hostname, sizeof(plan.hostname));
    memcpy(plan.workdir, q->workdir, sizeof(plan.workdir));
    if (!site->is_root) {
        int n = snprintf(paths, sizeof(paths), "%s/boxes/%s", site->data_dir, c->name) + 1;
        if ((size_t)n + q->extra_len > sizeof(paths))
            return err_set(err, ERR_TOO_LARGE, 0, "image has too many layers");
        memcpy(paths + n, q + 1, q->extra_len);
        plan.extra_len = (uint32_t)n + q->extra_len;
    }
    int fds[STAGE_FDS_MAX] = { c->stage_conn, c->listen, site->filter_fds[q->seccomp], root, c->dev, c->sys, c->usr };
    size_t n_fds = !site->is_root ? STAGE_FD_ROOT : q->is_host ? STAGE_FDS_MAX : STAGE_FD_USR;
    struct iovec parts[2] = { { &plan, sizeof(plan) }, { paths, plan.extra_len } };
    if ((r = seqsock_send(c->control, parts, fds, n_fds)) < 0)
        return err_sys(err, r, "send a box its plan");
    /* From here on the stage works in parallel. */
    c->seccomp = (enum filter_profile)q->seccomp;
    memcpy(c->id, q->id, sizeof(c->id));
    if (!q->is_kept && symlinkat(c->id, c->box, "id") < 0)
        return err_sys(err, -errno, "note the sandbox id of box %s", c->name);
    if (c->has_cgroup && (r = cgroup_limits_set(&c->cgroup, &limits, err)) < 0)
        return r;
    c->state = NATIVE_BOX_STARTING;
    return 0;
}

void native_box_kill(struct native_box *c)
{
    char path[40];
    c->state = NATIVE_BOX_DYING;
    if (c->pidfd >= 0)
        (void)proc_signal(c->pidfd, SIGKILL); /* the init of its pid namespace: the kernel kills everything in it */
    if (c->has_cgroup)
        (void)cgroup_thaw(&c->cgroup); /* a frozen v1 group would delay the signal */
    snprintf(path, sizeof(path), "%s.sock", c->name);
    (void)unlinkat(c->site->run_fd, path, 0); /* gone already is fine */
    native_box_close_start(c);
}

bool native_box_is_over(struct native_box *c)
{
    siginfo_t info = { 0 };
    struct pollfd p = { .fd = c->pidfd, .events = POLLIN };
    if (!c->is_ended && c->pidfd >= 0 && waitid(P_PIDFD, (id_t)c->pidfd, &info, WEXITED | WNOHANG) == 0)
        c->is_ended = info.si_pid != 0;
    else if (!c->is_ended) /* adopted: not our child */
        c->is_ended = c->pidfd < 0 || poll(&p, 1, 0) == 1;
    if (!c->is_ended)
        return false;
    if (c->has_cgroup && cgroup_remove(&c->cgroup) == -EBUSY)
        return false;
    c->has_cgroup = false;
    return true;
}

static int connect_agent(struct native_box_site *site, struct native_box *c, struct err *err)
{
    struct timeval limit = { .tv_sec = CONNECT_S }, none = { 0 };
    struct sockaddr_un addr;
    socklen_t len = socket_address(site, c->name, &addr);
    c->conn = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int r = c->conn < 0 || connect(c->conn, (struct sockaddr *)&addr, len) < 0 ? -errno : 0;
    if (r == -EAGAIN) {
        /* A paused agent accepts no connections, and those of servers that died meanwhile fill its queue. Thaw it for
         * a moment; if it was not frozen, it is only slow. A connect() that may block is woken when the queue has
         * room; no poll() is. */
        if (c->has_cgroup)
            (void)cgroup_thaw(&c->cgroup);
        bool is_done = fcntl(c->conn, F_SETFL, 0) == 0 &&
                       setsockopt(c->conn, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0 &&
                       connect(c->conn, (struct sockaddr *)&addr, len) == 0 &&
                       fcntl(c->conn, F_SETFL, O_NONBLOCK) == 0 &&
                       setsockopt(c->conn, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none)) == 0;
        r = is_done ? 0 : -errno;
    }
    return r < 0 ? err_set(err, ERR_GONE, -r, "connect to the agent of box %s", c->name) : 0;
}

/* Reads an unsigned number and moves *p behind it and the required character. */
static bool read_number(const char **p, char after, unsigned long long *ret)
{
    char *end = NULL;
    errno = 0;
    unsigned long long number = **p >= '0' && **p <= '9' ? strtoull(*p, &end, 10) : 0;
    if (!end || *end != after || errno)
        return false;
    *p = end + (after != '\0');
    *ret = number;
    return true;
}

/* Reads "pid:start time:slot" from the link that native_box_root_prepare() made. */
static bool read_note(const struct native_box_site *site, const char *name, struct native_box *ret)
{
    char path[WIRE_NAME_MAX + 8], text[64];
    unsigned long long pid, start, slot;
    snprintf(path, sizeof(path), "%.16s/pid", name);
    ssize_t n = readlinkat(site->boxes_fd, path, text, sizeof(text) - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    const char *p = text;
    if (!read_number(&p, ':', &pid) || !read_number(&p, ':', &start) || !read_number(&p, '\0', &slot) || pid <= 1 ||
        pid > INT_MAX || slot >= IDRANGE_POOL_SLOTS)
        return false;
    ret->pid = (pid_t)pid;
    ret->start_time = start;
    ret->slot = (unsigned)slot;
    return true;
}

int native_box_adopt(struct native_box_site *site, const struct wire_request *q, struct native_box **ret,
                     struct err *err)
{
    char group[CGROUP_NAME_MAX];
    struct native_box note;
    CLEANUP(native_box_free_p) struct native_box *c = native_box_alloc(site);
    memcpy(c->name, q->name, sizeof(c->name));
    memcpy(c->id, q->id, sizeof(c->id));
    c->state = NATIVE_BOX_RUNNING;
    c->pid = q->pid;
    c->slot = q->slot;
    c->has_slot = site->is_root && q->slot < IDRANGE_POOL_SLOTS; /* reserved at our start by native_box_reserve() */
    c->start_time = q->start_time;
    c->is_paused = q->is_paused;
    c->pidfd = proc_open(q->pid);
    /* The start time is read after the pidfd is open: if it matches, the pidfd is of that very process. The server is
     * untrusted: the process must be the one that the launcher recorded when it made the box, in a folder that only
     * launchers write. Otherwise another process could be killed, entered or mounted into. */
    if (c->pidfd < 0 || q->start_time == 0 || proc_start_time(q->pid) != q->start_time ||
        !read_note(site, q->name, &note) || note.pid != q->pid || note.start_time != q->start_time ||
        (site->is_root && note.slot != q->slot))
        return err_set(err, ERR_GONE, 0, "box %s is no longer running", q->name);
    snprintf(group, sizeof(group), "%s-%s", site->tag, c->name);
    c->has_cgroup = site->cgroups.trees && cgroup_open(&site->cgroups, group, &c->cgroup) == 0;
    snprintf(group, sizeof(group), "%s/" NATIVE_DISK_IMAGE, c->name);
    c->has_disk = faccessat(site->boxes_fd, group, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    int r = q->is_linked ? 0 : connect_agent(site, c, err);
    if (r < 0)
        return r;
    *ret = STEAL(c);
    return 0;
}

void native_box_reserve(struct native_box_site *site, const char *name)
{
    struct native_box note;
    if (site->is_root && read_note(site, name, &note))
        site->slots[note.slot / 8] |= (uint8_t)(1u << note.slot % 8);
}

struct native_box *native_box_orphan(struct native_box_site *site, const char *name)
{
    char group[CGROUP_NAME_MAX];
    struct native_box *c = native_box_alloc(site);
    snprintf(c->name, sizeof(c->name), "%s", name);
    if (read_note(site, name, c)) {
        c->has_slot = site->is_root;
        c->pidfd = proc_open(c->pid);
        if (c->pidfd >= 0 && proc_start_time(c->pid) != c->start_time)
            (void)close(steal_fd(&c->pidfd)); /* the pid was reused */
    }
    snprintf(group, sizeof(group), "%s-%s", site->tag, name);
    c->has_cgroup = site->cgroups.trees && cgroup_open(&site->cgroups, group, &c->cgroup) == 0;
    if (c->has_cgroup)
        (void)cgroup_kill(&c->cgroup); /* also processes that outlived the first one */
    return c;
}

/* --- visits --- */

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
