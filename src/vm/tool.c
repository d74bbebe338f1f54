/* Theory of operation. The tool is a short-lived privileged process: the keeper starts one for each request of the
 * daemon. It reads one request from descriptor 3, checks every field, does it, sends one reply and exits. It has one
 * thread and no state.
 *
 * The daemon is untrusted here. No path comes from it: layers are names beneath the image folder, files come as
 * descriptors, a VM is named by 16 hex digits. A pid is only used when the process has the start time that the daemon
 * names and is one of our VMs.
 *
 * A VM belongs to a control group of its name where the host has groups, else to its pid. `start` leaves the VMM as
 * a child of the daemon; a failed `start` removes the group again. `kill` returns when no process of the VM is left,
 * or fails with EBUSY. */
#include "vm/tool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/strlist.h"
#include "os/cgroup.h"
#include "os/host_usr.h"
#include "os/mount.h"
#include "os/proc.h"
#include "os/seqsock.h"
#include "os/tree.h"
#include "runtime/bridge.h"
#include "vm/boot/base_image.h"
#include "vm/boot/disk.h"
#include "vm/boot/probe.h"
#include "vm/net/tap.h"
#include "vm/vmm/jail.h"

#define SOCKET_FD 3
#define KILL_US   10000000
#define FREEZE_MS 5000
#define PIDS_MAX  64 /* of a VMM, which has one process and a few threads */

struct tool {
    const char *data_dir, *image_dir;
    struct vm_jail_site site;
    struct vm_tool_wire_request q;
    char extra[VM_TOOL_WIRE_EXTRA_MAX + 1];
    int fds[VM_TOOL_WIRE_FDS];
    size_t n_fds;
    struct cgroup_host host;
    struct vm_tool_wire_reply reply;
    int fds_back[VM_TOOL_WIRE_REPLY_FDS];
};

static int group_name(const struct tool *t, char ret[CGROUP_NAME_MAX], struct err *err)
{
    CLEANUP(close_fd_p) int data = open(t->data_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = data < 0 ? -errno : vm_tool_wire_group(data, t->q.name, ret);
    return r < 0 ? err_sys(err, r, "open data folder %s", t->data_dir) : 0;
}

static int instance_start(struct tool *t, struct err *err)
{
    char name[CGROUP_NAME_MAX];
    struct cgroup group;
    struct cgroup_limits limits = { .memory_mb = t->q.memory_mb + VM_TOOL_WIRE_OVERHEAD_MB,
                                    .cpu_milli = t->q.cpu_milli };
    int r = group_name(t, name, err);
    if (r >= 0)
        r = cgroup_make(&t->host, name, &limits, &group, err);
    if (r < 0)
        return r;
    size_t n;
    int fds[VM_TOOL_WIRE_FDS];
    enum vm_tool_wire_fd first = vm_tool_wire_fds(t->q.vmm, &n);
    memset(fds, 0xff, sizeof(fds));
    memcpy(fds + first, t->fds, n * sizeof(*fds));
    struct vm_jail_plan plan = { .q = &t->q, .fds = fds, .site = &t->site, .group = t->host.trees ? &group : NULL };
    r = vm_jail_start(&plan, &t->reply, t->fds_back, err);
    if (r < 0) {
        (void)cgroup_kill(&group);
        (void)cgroup_remove(&group); /* empty; else the next sweep removes it */
    }
    return r;
}

/* Opens the process only if it is a VM and has the start time that the daemon named. -ESRCH: it is gone. */
static int open_process(const struct tool *t, struct err *err)
{
    char path[40];
    struct stat st;
    CLEANUP(close_fd_p) int pidfd = t->q.pid > 1 ? proc_open(t->q.pid) : -ESRCH;
    if (pidfd == -ESRCH || (pidfd >= 0 && proc_start_time(t->q.pid) != t->q.start_time)) {
        (void)err_set(err, ERR_GONE, 0, "the VM has ended");
        return -ESRCH;
    }
    (void)snprintf(path, sizeof(path), "/proc/%d", t->q.pid);
    if (pidfd < 0 || stat(path, &st) < 0)
        return err_sys(err, pidfd < 0 ? pidfd : -errno, "look at process %d", t->q.pid);
    if (geteuid() == 0 && !vm_jail_is_uid(st.st_uid))
        return err_set(err, ERR_FORBIDDEN, 0, "process %d is not a VM", t->q.pid);
    return steal_fd(&pidfd);
}

/* Waits until end_us. */
static bool has_exited(int pidfd, int64_t end_us)
{
    struct pollfd p = { .fd = pidfd, .events = POLLIN };
    int64_t left = end_us - clock_mono_us();
    return poll(&p, 1, left > 0 ? (int)(left / 1000) + 1 : 0) == 1;
}

/* --- a VM whose process nobody has named --- */

/* A file of the process as text; returns its length, 0 when there is none. */
static size_t read_proc(const char *pid, const char *file, char *text, size_t size)
{
    char path[40];
    (void)snprintf(path, sizeof(path), "/proc/%.20s/%s", pid, file);
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

/* A VM that root started has a user id derived from its name, which it cannot change. One of an unprivileged user is
 * recognized by the name among its arguments and by a user namespace that is not ours. */
static bool is_instance(const char *pid, const char *name)
{
    char path[40], text[8192];
    struct stat st, ours, theirs;
    (void)snprintf(path, sizeof(path), "/proc/%.20s", pid);
    (void)read_proc(pid, "stat", text, sizeof(text));
    const char *state = proc_stat_field(text, 3);
    if (stat(path, &st) < 0 || !state || *state == 'Z') /* exited, but its parent has not reaped it yet */
        return false;
    if (geteuid() == 0)
        return st.st_uid == vm_jail_uid_of(name);
    size_t n = read_proc(pid, "cmdline", text, sizeof(text));
    const char *word = text;
    while (word < text + n && strcmp(word, name) != 0)
        word += strlen(word) + 1;
    (void)snprintf(path, sizeof(path), "/proc/%.20s/ns/user", pid);
    return word < text + n && stat(path, &theirs) == 0 && stat("/proc/self/ns/user", &ours) == 0 &&
           theirs.st_ino != ours.st_ino;
}

/* Kills those there are now and waits for them. Returns how many there were, or -EBUSY. */
static int kill_all_named(const char *name, int64_t end_us)
{
    DIR *d = opendir("/proc");
    int n = 0;
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        if (e->d_name[0] < '1' || e->d_name[0] > '9')
            continue;
        CLEANUP(close_fd_p) int pidfd = proc_open((pid_t)strtol(e->d_name, NULL, 10));
        if (pidfd < 0 || !is_instance(e->d_name, name)) /* checked while we hold the pidfd: the pid cannot be reused */
            continue;
        (void)proc_signal(pidfd, SIGKILL); /* already gone is fine */
        n = n >= 0 && has_exited(pidfd, end_us) ? n + 1 : -EBUSY;
    }
    if (d)
        (void)closedir(d);
    return n;
}

static int end_processes(struct tool *t, struct err *err)
{
    char name[CGROUP_NAME_MAX];
    struct cgroup group;
    int r = group_name(t, name, err);
    if (r < 0)
        return r;
    int64_t end_us = clock_mono_us() + KILL_US;
    bool has_group = cgroup_open(&t->host, name, &group) == 0;
    if (!has_group && t->q.pid) {
        CLEANUP(close_fd_p) int pidfd = open_process(t, err);
        if (pidfd < 0)
            return pidfd == -ESRCH ? 0 : pidfd;
        if (proc_signal(pidfd, SIGKILL) < 0 || !has_exited(pidfd, end_us))
            return err_set(err, ERR_INTERNAL, 0, "process %d does not exit", t->q.pid);
        return 0;
    }
    if (!has_group) {
        int n = kill_all_named(t->q.name, end_us);
        while (n > 0) /* one of them may have started another */
            n = kill_all_named(t->q.name, end_us);
        return n < 0 ? err_set(err, ERR_INTERNAL, EBUSY, "the processes of VM %s do not exit", t->q.name) : 0;
    }
    do {
        pid_t pids[PIDS_MAX];
        size_t n = cgroup_pids(&group, pids, PIDS_MAX);
        (void)cgroup_kill(&group); /* empty is fine */
        while (n-- > 0) {
            CLEANUP(close_fd_p) int pidfd = proc_open(pids[n]);
            (void)(pidfd >= 0 && has_exited(pidfd, end_us)); /* one that does not exit keeps the group busy */
        }
        r = cgroup_is_empty(&group) ? cgroup_remove(&group) : -EBUSY;
        if (r != -EBUSY)
            return r < 0 ? err_sys(err, r, "remove control group %s", name) : 0;
    } while (clock_mono_us() < end_us);
    return err_set(err, ERR_INTERNAL, EBUSY, "processes of cgroup %s do not exit", name);
}

/* The VMM runs as another user than the daemon, so the daemon cannot remove its files. */
static int remove_box(const struct tool *t, struct err *err)
{
    char name[VM_TOOL_WIRE_NAME_MAX + sizeof(VM_TOOL_WIRE_BOX_SUFFIX)];
    CLEANUP(close_fd_p) int data = open(t->data_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(close_fd_p)
    int run = data < 0 ? NO_FD : mount_open_beneath(data, VM_TOOL_WIRE_RUN, O_PATH | O_DIRECTORY, 0);
    (void)snprintf(name, sizeof(name), "%s" VM_TOOL_WIRE_BOX_SUFFIX, t->q.name);
    return run < 0 ? 0 : tree_remove(run, name, err);
}

/* Freezes, thaws or limits a VM. */
static int group_change(struct tool *t, struct err *err)
{
    char name[CGROUP_NAME_MAX];
    struct cgroup group;
    struct cgroup_limits limits = { .memory_mb = t->q.memory_mb ? t->q.memory_mb + VM_TOOL_WIRE_OVERHEAD_MB : 0,
                                    .cpu_milli = t->q.cpu_milli };
    int r = group_name(t, name, err);
    if (r >= 0 && (r = cgroup_open(&t->host, name, &group)) < 0)
        return err_sys(err, r, "open control group %s", name);
    if (r < 0)
        return r;
    if (t->q.op == VM_TOOL_WIRE_LIMIT)
        return cgroup_limits_set(&group, &limits, err);
    bool is_freeze = t->q.op == VM_TOOL_WIRE_FREEZE;
    r = is_freeze ? cgroup_freeze(&group, FREEZE_MS) : cgroup_thaw(&group);
    return r < 0 ? err_sys(err, r, "%s control group %s", is_freeze ? "freeze" : "thaw", name) : 0;
}

static int net_request(struct tool *t, struct err *err)
{
    char name[CGROUP_NAME_MAX];
    int r = group_name(t, name, err);
    CLEANUP(close_fd_p) int pidfd = r < 0 ? r : open_process(t, err);
    if (pidfd < 0)
        return pidfd;
    struct cgroup group;
    pid_t pids[PIDS_MAX];
    bool is_member = !t->host.trees; /* of the control group of that VM */
    size_t n = is_member || cgroup_open(&t->host, name, &group) < 0 ? 0 : cgroup_pids(&group, pids, PIDS_MAX);
    while (n-- > 0)
        is_member |= pids[n] == t->q.pid;
    if (!is_member)
        return err_set(err, ERR_FORBIDDEN, 0, "process %d is not VM %s", t->q.pid, t->q.name);
    struct vm_tap_instance m = { .pidfd = pidfd, .pid = t->q.pid, .is_root = geteuid() == 0 };
    if (t->q.op == VM_TOOL_WIRE_EGRESS_REDIRECT)
        return vm_tap_egress_redirect(&m, t->fds_back, err);
    return t->q.op == VM_TOOL_WIRE_JOIN ? vm_tap_join(&m, &t->q, t->fds[VM_TOOL_WIRE_FD_OUT], err)
                                        : vm_tap_leave(&m, &t->q, err);
}

static int base_build(struct tool *t, struct err *err)
{
    CLEANUP(strlist_free_p) char **layers = NULL;
    const char *at = t->extra;
    for (uint32_t i = 0; i < t->q.n_layers; i++, at += strlen(at) + 1) {
        CLEANUP(free_p) char *path = xasprintf("%s/%s", t->image_dir, at);
        strlist_add(&layers, path);
    }
    return vm_base_image_build(t->image_dir, (const char *const *)layers, t->q.n_layers,
                               t->q.flags & VM_TOOL_WIRE_HOST_USR ? HOST_USR : NULL, t->fds[VM_TOOL_WIRE_FD_OUT], err);
}

/* Runs as the user who owns the kit, without further privilege: it boots a guest and writes the result there. */
static int probe_refresh(struct tool *t, struct err *err)
{
    CLEANUP(vm_kit_done) struct vm_kit kit = { 0 };
    int r = vm_probe_confine(t->data_dir, err);
    if (r >= 0)
        r = vm_kit_open(t->data_dir, NULL, &kit, err);
    return r < 0 ? r : vm_probe_refresh(t->data_dir, &kit, err);
}

static int request_run(struct tool *t, struct err *err)
{
    int r;
    switch (t->q.op) {
    case VM_TOOL_WIRE_START:
        return instance_start(t, err);
    case VM_TOOL_WIRE_KILL:
        r = end_processes(t, err);
        return r < 0 ? r : remove_box(t, err);
    case VM_TOOL_WIRE_LIMIT:
    case VM_TOOL_WIRE_FREEZE:
    case VM_TOOL_WIRE_THAW:
        return group_change(t, err);
    case VM_TOOL_WIRE_BRIDGE:
        return bridge_make(&t->fds_back[0], err);
    case VM_TOOL_WIRE_JOIN:
    case VM_TOOL_WIRE_LEAVE:
    case VM_TOOL_WIRE_EGRESS_REDIRECT:
        return net_request(t, err);
    case VM_TOOL_WIRE_BASE:
        return base_build(t, err);
    case VM_TOOL_WIRE_PROBE:
        return probe_refresh(t, err);
    default:
        return t->q.flags & VM_TOOL_WIRE_VOLUME ? vm_disk_make_volume(t->fds[VM_TOOL_WIRE_FD_OUT], t->q.disk_mb, err)
                                                : vm_disk_make(t->fds[VM_TOOL_WIRE_FD_OUT], t->q.disk_mb, err);
    }
}

static int request_receive(struct tool *t, struct err *err)
{
    struct {
        struct vm_tool_wire_request q;
        char extra[VM_TOOL_WIRE_EXTRA_MAX];
    } *msg = malloc(sizeof(*msg));
    if (!msg)
        return err_sys(err, -ENOMEM, "receive a request");
    ssize_t n = seqsock_recv(SOCKET_FD, msg, sizeof(*msg), t->fds, VM_TOOL_WIRE_FDS, &t->n_fds);
    int r = 0;
    if (n < (ssize_t)sizeof(t->q) || (size_t)n - sizeof(t->q) != msg->q.extra_len)
        r = err_set(err, ERR_INVALID, 0, "VM tool: a request of %zd bytes", n);
    if (r >= 0) {
        t->q = msg->q;
        memcpy(t->extra, msg->extra, t->q.extra_len);
        r = vm_tool_wire_check(&t->q, t->extra, t->n_fds, err);
    }
    free(msg);
    return r;
}

int vm_tool_main(int argc, char **argv)
{
    static struct tool t = { .fds_back = { NO_FD, NO_FD } };
    struct err err = ERR_INIT;
    if (argc != 7)
        return 2;
    t.data_dir = argv[2];
    t.image_dir = argv[3];
    t.site = (struct vm_jail_site){ .firecracker = argv[4], .libkrun = argv[5], .jailer = argv[6] };
    int r = request_receive(&t, &err);
    if (r >= 0)
        r = cgroup_host_init(&t.host, NULL, &err);
    if (r >= 0)
        r = request_run(&t, &err);
    struct iovec parts[2] = { { &t.reply, sizeof(t.reply) }, { NULL, 0 } };
    t.reply.version = VM_TOOL_WIRE_VERSION;
    t.reply.result = r < 0 ? r : 0;
    t.reply.code = r < 0 ? err.code : ERR_NONE;
    (void)snprintf(t.reply.text, sizeof(t.reply.text), "%.399s", r < 0 ? err.msg : "");
    size_t n = 0;
    while (n < VM_TOOL_WIRE_REPLY_FDS && t.fds_back[n] >= 0)
        n++;
    (void)seqsock_send(SOCKET_FD, parts, t.fds_back, n); /* a daemon that is gone sweeps later */
    return r < 0;
}
