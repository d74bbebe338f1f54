/* native_doctor(): every check runs in a forked child with a deadline, so that a probe may change namespaces, hang
 * or crash without harm; its text comes back in a shared page. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "os/cgroup.h"
#include "runtime/native/disk.h"
#include "runtime/native/doctor_probe.h"
#include "runtime/native/native.h"

#define PROBE_SECONDS 5

enum need { ALWAYS, ROOT_ONLY, USER_ONLY, EXTRA }; /* who cannot make sandboxes without it */

struct check {
    const char *name;
    doctor_probe_fn *probe;
    enum need need;
    const char *fix;
};

static const struct check checks[] = {
    { "kernel", doctor_probe_kernel, ALWAYS, "install Linux 5.19 or newer, or 5.11 for a server that is not root" },
    { "root", doctor_probe_root, EXTRA,
      "run as root for resource limits and full images, or delegate a cgroup and a uid range" },
    { "user namespaces", doctor_probe_userns, ALWAYS,
      "sysctl -w user.max_user_namespaces=65536 kernel.unprivileged_userns_clone=1 "
      "kernel.apparmor_restrict_unprivileged_userns=0 (those that exist)" },
    { "namespaces of a box", doctor_probe_clone, ALWAYS,
      "in a container: allow clone3 and namespaces (--privileged, or a wider seccomp profile)" },
    { "proc in a user namespace", doctor_probe_proc, ALWAYS, "in a container: --security-opt systempaths=unconfined" },
    { "idmapped mounts", doctor_probe_idmap, ROOT_ONLY,
      "put the data folder on ext4, xfs, btrfs or tmpfs of a kernel 5.19 or newer" },
    { "overlayfs", doctor_probe_overlay, ROOT_ONLY,
      "modprobe overlay; the data folder must not be on overlayfs itself" },
    { "overlayfs in a user namespace", doctor_probe_overlay_userns, USER_ONLY,
      "use Linux 5.11 or newer, or run as root" },
    { "seccomp", doctor_probe_seccomp, ALWAYS, "use a kernel with CONFIG_SECCOMP_FILTER" },
    { "landlock", doctor_probe_landlock, EXTRA, "use a kernel with CONFIG_SECURITY_LANDLOCK and lsm=...,landlock" },
    { "uid range", doctor_probe_idrange, EXTRA,
      "usermod --add-subuids 200000-265535 --add-subgids 200000-265535 NAME, and install uidmap" },
    { "newuidmap", doctor_probe_tools, EXTRA, "install the package uidmap" },
    { "network namespace", doctor_probe_netns, ALWAYS, "use a kernel with CONFIG_NET_NS" },
    { "tun", doctor_probe_tun, EXTRA, "modprobe tun; in a container: --device /dev/net/tun" },
    { "veth", doctor_probe_veth, EXTRA, "modprobe veth" },
    { "data folder", doctor_probe_data_dir, ALWAYS, "set III_DATA_DIR to a folder this user may write" },
    { "state", doctor_probe_state, EXTRA,
      "see the log of the start that found it, copy what you need, then remove the file" },
    { "disk space", doctor_probe_disk, EXTRA, "free at least 1 GiB on the data folder's disk" },
    { "kernel maxima", doctor_probe_maxima, EXTRA,
      "sysctl -w NAME=VALUE for those named, and a file in /etc/sysctl.d to keep it "
      "(docs/security/kernel-counters.md)" },
    { "open files", doctor_probe_files, EXTRA, "ulimit -Hn 65536, or LimitNOFILE=65536 in the unit" },
};

/* ---- one probe in one child ---- */

struct answer {
    int result;
    char detail[DOCTOR_DETAIL];
};

static int wait_gently(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

static void run_probe(doctor_probe_fn *probe, const struct doctor_env *env, struct answer *shared)
{
    *shared = (struct answer){ .result = -EIO };
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t none;
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)signal(SIGALRM, SIG_DFL);
        (void)signal(SIGPIPE, SIG_IGN);
        (void)alarm(PROBE_SECONDS);
        shared->result = probe(env, shared->detail, sizeof shared->detail);
        _exit(0);
    }
    int status = pid < 0 ? -1 : wait_gently(pid);
    if (pid < 0)
        shared->result = -EAGAIN;
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        (void)snprintf(shared->detail, sizeof shared->detail, "no response within %d s", PROBE_SECONDS);
    if (shared->result < 0 && !shared->detail[0])
        (void)snprintf(shared->detail, sizeof shared->detail, "%s", strerror(-shared->result));
}

static void row_report(json_t *list, const char *name, const struct answer *a, bool is_required, const char *fix)
{
    bool is_ok = a->result == 0;
    json_t *row = json_pack("{s:s, s:b, s:o, s:b}", "name", name, "ok", is_ok, "detail",
                            json_text(a->detail, strnlen(a->detail, sizeof a->detail)), "required", is_required);
    if (row && !is_ok)
        (void)json_object_set_new(row, "fix", json_string(fix));
    (void)json_array_append_new(list, row); /* NULL is rejected: out of memory costs a row, not the report */
}

/* ---- control groups: one probe, a row per controller ---- */

/* Makes a group with every limit, and a child joins it, as a box does. */
static int try_group(const struct cgroup_host *host)
{
    struct cgroup cg;
    struct cgroup_join join;
    int r =
        cgroup_make(host, "probe", &(struct cgroup_limits){ .memory_mb = 64, .cpu_milli = 500, .pids = 16 }, &cg, NULL);
    if (r < 0)
        return r;
    r = cgroup_join_open(&cg, &join, NULL);
    if (r == 0) {
        struct clone_args args = { .exit_signal = SIGCHLD };
        if (join.clone_into >= 0) {
            args.flags = CLONE_INTO_CGROUP;
            args.cgroup = (uint64_t)join.clone_into;
        }
        long pid = syscall(SYS_clone3, &args, sizeof args);
        if (pid == 0)
            _exit(-cgroup_join_self(&join) & 0xff);
        r = pid < 0 ? -errno : -WEXITSTATUS(wait_gently((pid_t)pid));
        cgroup_join_done(&join);
    }
    (void)cgroup_remove(&cg); /* its only process is reaped; cgroup_host_remove() tries again */
    return r;
}

static void check_cgroups(json_t *list)
{
    static const char *const uses[CGROUP_CONTROLLERS] = {
        [CGROUP_MEMORY] = "memory limit",    [CGROUP_CPU] = "CPU limit", [CGROUP_PIDS] = "process limit",
        [CGROUP_CPUACCT] = "CPU accounting", [CGROUP_FREEZER] = "pause",
    };
    struct cgroup_host host;
    struct err err = ERR_INIT;
    char parent[32];
    (void)snprintf(parent, sizeof parent, "iii-doctor-%d", (int)getpid());
    int r = cgroup_host_init(&host, parent, &err);
    int tried = r == 0 && host.trees ? try_group(&host) : r;
    for (unsigned c = 0; c < CGROUP_CONTROLLERS; c++) {
        struct answer a = { .result = 0 };
        bool is_there = r == 0 && (cgroup_host_controllers(&host) & 1u << c);
        a.result = !is_there ? -ENOENT : tried;
        char where[sizeof host.why[c]];
        (void)snprintf(where, sizeof where, "%.*s", (int)sizeof where - 1, r < 0 ? err.msg : host.why[c]);
        char *probe = strstr(where, parent); /* show the folder that boxes will use, not the probe's */
        if (probe)
            (void)snprintf(probe, sizeof where - (size_t)(probe - where), "%s", CGROUP_PARENT);
        (void)snprintf(a.detail, sizeof a.detail, "%s%s%s", where, is_there && tried < 0 ? ": " : "",
                       is_there && tried < 0 ? strerror(-tried) : "");
        char name[64];
        (void)snprintf(name, sizeof name, "cgroup %s (%s)", cgroup_controller_name(c), uses[c]);
        row_report(list, name, &a, false,
                   "run as root, or in a delegated group: systemd-run --user --scope -p Delegate=yes iii serve");
    }
    if (r == 0) {
        cgroup_host_remove(&host);
        cgroup_host_done(&host);
    }
}

/* ---- the scratch folder ---- */

/* Removes only what a probe can have made: entries of its own folder, by descriptor, without following links. */
static void scratch_empty(const char *scratch)
{
    static const char *const leaves[] = { "lower/file", "upper/file", "written" };
    static const char *const folders[] = { "work/work", "work/index", "lower", "upper", "work", "merged" };
    CLEANUP(close_fd_p) int dir = open(scratch, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return;
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
        (void)unlinkat(dir, leaves[i], 0);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        (void)unlinkat(dir, folders[i], AT_REMOVEDIR);
}

json_t *native_doctor(const char *data_dir, unsigned boxes, unsigned pids)
{
    json_t *list = json_array();
    struct answer *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!list || shared == MAP_FAILED)
        return list;
    char scratch[200];
    int n = snprintf(scratch, sizeof scratch, "%s/doctor-XXXXXX", data_dir);
    if (n < 0 || (size_t)n >= sizeof scratch || !mkdtemp(scratch))
        scratch[0] = '\0';
    struct doctor_env env = {
        .data_dir = data_dir, .scratch = scratch, .is_root = geteuid() == 0, .boxes = boxes, .pids = pids
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        const struct check *c = &checks[i];
        run_probe(c->probe, &env, shared);
        bool is_required = c->need == ALWAYS || c->need == (env.is_root ? ROOT_ONLY : USER_ONLY);
        row_report(list, c->name, shared, is_required, c->fix);
        if (scratch[0])
            scratch_empty(scratch);
    }
    check_cgroups(list);
    struct err err = ERR_INIT;
    struct answer disk = { .result = native_disk_check(&err) };
    (void)snprintf(disk.detail, sizeof disk.detail, "%s", disk.result < 0 ? err.msg : "ext4 on loop devices");
    row_report(list, "disk limit (diskMb)", &disk, false,
               "run as root, with loop devices (modprobe loop) and e2fsprogs");
    if (scratch[0])
        (void)rmdir(scratch);
    (void)munmap(shared, sizeof *shared);
    return list;
}
