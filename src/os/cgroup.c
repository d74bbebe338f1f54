/* Theory of operation. The control groups of one box: make, join, limit, freeze, kill, count, remove. A struct cgroup
 * is a name below host->tree[] (cgroup_host.c) and owns nothing; every operation opens files by descriptor below
 * parent_fd, so groups need no bookkeeping and survive a restart of the server.
 *
 * Each controller is served by one tree, and tree_of() chooses it; v1 and v2 differ only in file names and units, which
 * are handled where the file is written. A group that cannot be made completely is removed again. A limit that no tree
 * can enforce is skipped, and cgroup_host_controllers() tells.
 *
 * Freezing waits for its completion up to a deadline and thaws on a timeout. Killing does not wait. Removing fails
 * with -EBUSY while processes are still exiting, and the caller tries again. */
#include "os/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"

#define PATH_SIZE (CGROUP_NAME_MAX + 48)
/* Short on purpose: a group that has used its quota sleeps until the period ends, and all throttled groups wake
 * together. With the kernel's 100 ms a busy box takes a core for most of a tenth of a second before others get it. */
#define CPU_PERIOD_US    10000u
#define PERIOD_TEXT      "10000"
#define CPU_QUOTA_MIN_US 1000u /* the kernel rejects less */
#define KILL_ROUNDS      64
#define REMOVE_TRIES     32
#define MEMORY_NONE      (UINT64_C(1) << 60) /* v1 reports a page-rounded LONG_MAX for "no limit" */

static bool is_name(const char *name)
{
    size_t len = strlen(name);
    if (len == 0 || len >= CGROUP_NAME_MAX || name[0] == '.')
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = name[i];
        bool is_alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_alnum && c != '-' && c != '_' && c != '.')
            return false;
    }
    return true;
}

static int open_file(const struct cgroup *cg, const struct cgroup_tree *t, const char *file, int flags)
{
    char path[PATH_SIZE];
    int n = snprintf(path, sizeof path, "%s/%s", cg->name, file);
    if (n < 0 || (size_t)n >= sizeof path)
        return -ENAMETOOLONG;
    int fd = openat(t->parent_fd, path, flags | O_CLOEXEC | O_NOFOLLOW);
    return fd < 0 ? -errno : fd;
}

static int write_file(const struct cgroup *cg, const struct cgroup_tree *t, const char *file, const char *text)
{
    CLEANUP(close_fd_p) int fd = open_file(cg, t, file, O_WRONLY);
    if (fd < 0)
        return fd;
    return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* Reads the start of a small file as text. Returns its length. */
static ssize_t read_file(const struct cgroup *cg, const struct cgroup_tree *t, const char *file, char *out, size_t size)
{
    CLEANUP(close_fd_p) int fd = open_file(cg, t, file, O_RDONLY);
    if (fd < 0)
        return fd;
    ssize_t n = read(fd, out, size - 1);
    if (n < 0)
        return -errno;
    out[n] = '\0';
    return n;
}

/* A file with one number; 0 when it cannot be read or contains "max". */
static uint64_t read_number(const struct cgroup *cg, const struct cgroup_tree *t, const char *file)
{
    char text[64];
    return read_file(cg, t, file, text, sizeof text) > 0 ? strtoull(text, NULL, 10) : 0;
}

/* The number after "key " at the start of a line. */
static uint64_t read_key(const struct cgroup *cg, const struct cgroup_tree *t, const char *file, const char *key)
{
    char text[2048];
    if (read_file(cg, t, file, text, sizeof text) <= 0)
        return 0;
    size_t len = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
        if (strncmp(line, key, len) == 0 && line[len] == ' ')
            return strtoull(line + len + 1, NULL, 10);
    return 0;
}

/* The tree that serves a controller, or NULL. */
static const struct cgroup_tree *tree_of(const struct cgroup_host *host, enum cgroup_controller c)
{
    for (unsigned i = 0; i < host->trees; i++)
        if (host->tree[i].controllers & 1u << c)
            return &host->tree[i];
    return NULL;
}

/* ---- limits ---- */

static void number_or(char *out, size_t size, uint64_t value, const char *none)
{
    if (value)
        (void)snprintf(out, size, "%" PRIu64, value);
    else
        (void)snprintf(out, size, "%s", none);
}

/* v1 requires memory <= memory+swap at every moment: raising needs the sum first, lowering needs it last. */
static int set_memory_v1(const struct cgroup *cg, const struct cgroup_tree *t, uint64_t bytes)
{
    char text[32];
    number_or(text, sizeof text, bytes, "-1");
    bool has_memsw = cg->host->has_memsw;
    int r = write_file(cg, t, "memory.limit_in_bytes", text);
    if (r == -EINVAL && has_memsw) {
        r = write_file(cg, t, "memory.memsw.limit_in_bytes", text);
        if (r == 0)
            r = write_file(cg, t, "memory.limit_in_bytes", text);
    }
    if (r == 0 && has_memsw)
        r = write_file(cg, t, "memory.memsw.limit_in_bytes", text);
    return r;
}

/* A group that uses more than its new memory.max loses processes to the OOM killer. So memory.high comes first: it
 * makes the kernel reclaim, and holds back what the group allocates meanwhile. v2 counts swap separately: only without
 * swap does the limit cover both together. */
static int set_memory_v2(const struct cgroup *cg, const struct cgroup_tree *t, uint64_t bytes)
{
    char text[32];
    number_or(text, sizeof text, bytes, "max");
    bool is_high = bytes && read_number(cg, t, "memory.current") > bytes;
    if (is_high)
        (void)write_file(cg, t, "memory.high", text); /* what could not be reclaimed shows below */
    int r = bytes && read_number(cg, t, "memory.current") > bytes ? -EBUSY : write_file(cg, t, "memory.max", text);
    if (is_high)
        (void)write_file(cg, t, "memory.high", "max"); /* a group that is gone needs none */
    if (r == 0)
        r = write_file(cg, t, "memory.swap.max", bytes ? "0" : "max");
    return r == -ENOENT ? 0 : r; /* a kernel without swap has no such file */
}

/* v2 counts socket buffers as memory. v1 counts them apart and, without this, not at all: one box could take what
 * net.ipv4.tcp_mem and udp_mem allow the whole host. */
static void limit_sockets(const struct cgroup *cg)
{
    char text[32];
    const struct cgroup_tree *t = tree_of(cg->host, CGROUP_MEMORY);
    (void)snprintf(text, sizeof text, "%" PRIu64, (uint64_t)LIMIT_MAX(SOCKET_MB) << 20);
    if (t && !t->is_v2)
        (void)write_file(cg, t, "memory.kmem.tcp.limit_in_bytes", text); /* a kernel without it has no such file */
}

static int set_cpu(const struct cgroup *cg, const struct cgroup_tree *t, uint64_t milli)
{
    char text[64];
    uint64_t quota = milli * (CPU_PERIOD_US / 1000);
    if (milli && quota < CPU_QUOTA_MIN_US)
        quota = CPU_QUOTA_MIN_US;
    if (!t->is_v2) {
        number_or(text, sizeof text, quota, "-1");
        return write_file(cg, t, "cpu.cfs_quota_us", text);
    }
    if (quota)
        (void)snprintf(text, sizeof text, "%" PRIu64 " %u", quota, CPU_PERIOD_US);
    else
        (void)snprintf(text, sizeof text, "max %u", CPU_PERIOD_US);
    return write_file(cg, t, "cpu.max", text);
}

static uint64_t memory_used(const struct cgroup *cg, const struct cgroup_tree *t)
{
    return read_number(cg, t, t->is_v2 ? "memory.current" : "memory.usage_in_bytes");
}

static int limit_failed(struct err *err, const struct cgroup *cg, int r, const char *what, uint64_t value)
{
    const struct cgroup_tree *t = tree_of(cg->host, CGROUP_MEMORY);
    if (r == -EBUSY && t && strcmp(what, "memory_mb") == 0)
        return err_set(err, ERR_CONFLICT, EBUSY,
                       "memory cannot be lowered to %" PRIu64 " MB: %" PRIu64 " MB are in use and cannot be reclaimed; "
                       "end processes or delete files of /dev/shm first",
                       value, (memory_used(cg, t) >> 20) + 1);
    return err_set(err, err_from_errno(-r), -r, "control group %s: set %s to %" PRIu64, cg->name, what, value);
}

/* A new group has no limits: there, "none" needs no write. */
static int apply_limits(const struct cgroup *cg, const struct cgroup_limits *l, bool is_new, struct err *err)
{
    if (l->memory_mb > UINT64_MAX >> 24 || l->cpu_milli > UINT32_MAX)
        return err_set(err, ERR_INVALID, 0, "control group %s: memory_mb or cpu_milli is out of range", cg->name);
    const struct cgroup_tree *t = tree_of(cg->host, CGROUP_MEMORY);
    if (t && (l->memory_mb || !is_new)) {
        uint64_t bytes = l->memory_mb << 20;
        int r = t->is_v2 ? set_memory_v2(cg, t, bytes) : set_memory_v1(cg, t, bytes);
        if (r < 0)
            return limit_failed(err, cg, r, "memory_mb", l->memory_mb);
    }
    t = tree_of(cg->host, CGROUP_CPU);
    if (t && (l->cpu_milli || !is_new)) {
        int r = set_cpu(cg, t, l->cpu_milli);
        if (r < 0)
            return limit_failed(err, cg, r, "cpu_milli", l->cpu_milli);
    }
    t = tree_of(cg->host, CGROUP_PIDS);
    if (t && (l->pids || !is_new)) {
        char text[32];
        number_or(text, sizeof text, l->pids, "max");
        int r = write_file(cg, t, "pids.max", text);
        if (r < 0)
            return limit_failed(err, cg, r, "pids", l->pids);
    }
    return 0;
}

int cgroup_limits_set(const struct cgroup *cg, const struct cgroup_limits *limits, struct err *err)
{
    return apply_limits(cg, limits, false, err);
}

/* ---- making and finding ---- */

int cgroup_make(const struct cgroup_host *host, const char *name, const struct cgroup_limits *limits,
                struct cgroup *ret, struct err *err)
{
    if (!is_name(name))
        return err_set(err, ERR_INVALID, 0, "control group name \"%.80s\": 1 to %d letters, digits, '-', '_', '.'",
                       name, CGROUP_NAME_MAX - 1);
    struct cgroup cg = { .host = host };
    (void)snprintf(cg.name, sizeof cg.name, "%s", name);
    unsigned made = 0;
    int r = 0;
    for (; made < host->trees && r == 0; made += r == 0)
        if (mkdirat(host->tree[made].parent_fd, name, 0755) < 0)
            r = err_set(err, err_from_errno(errno), errno, "make control group %.160s/%s", host->tree[made].parent_path,
                        name);
    const struct cgroup_tree *cpu = tree_of(host, CGROUP_CPU);
    if (r == 0 && cpu && !cpu->is_v2)
        (void)write_file(&cg, cpu, "cpu.cfs_period_us", PERIOD_TEXT); /* a kernel without quotas has no such file */
    if (r == 0)
        limit_sockets(&cg);
    if (r == 0)
        r = apply_limits(&cg, limits, true, err);
    if (r < 0) {
        while (made > 0)
            (void)unlinkat(host->tree[--made].parent_fd, name, AT_REMOVEDIR); /* new and empty: cannot fail */
        return r;
    }
    *ret = cg;
    return 0;
}

static bool is_in_trees(const struct cgroup_host *host, unsigned n, const char *name)
{
    for (unsigned i = 0; i < n; i++)
        if (faccessat(host->tree[i].parent_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            return true;
    return false;
}

int cgroup_open(const struct cgroup_host *host, const char *name, struct cgroup *ret)
{
    if (!is_name(name))
        return -EINVAL;
    if (!is_in_trees(host, host->trees, name))
        return -ENOENT;
    *ret = (struct cgroup){ .host = host };
    (void)snprintf(ret->name, sizeof ret->name, "%s", name);
    return 0;
}

int cgroup_list(const struct cgroup_host *host, const char *prefix, cgroup_list_fn *fn, void *userdata)
{
    size_t len = strlen(prefix);
    for (unsigned i = 0; i < host->trees; i++) {
        int fd = openat(host->tree[i].parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        if (!dir) {
            int r = -errno;
            if (fd >= 0)
                (void)close(fd);
            return r;
        }
        int r = 0;
        struct dirent *e;
        while (r == 0 && (e = readdir(dir))) {
            struct cgroup cg = { .host = host };
            if (e->d_type != DT_DIR || strncmp(e->d_name, prefix, len) != 0 || !is_name(e->d_name) ||
                is_in_trees(host, i, e->d_name) /* listed before */)
                continue;
            (void)snprintf(cg.name, sizeof cg.name, "%.*s", CGROUP_NAME_MAX - 1, e->d_name);
            r = fn(&cg, userdata);
        }
        (void)closedir(dir); /* was only read */
        if (r != 0)
            return r;
    }
    return 0;
}

/* ---- joining ---- */

int cgroup_join_open(const struct cgroup *cg, struct cgroup_join *ret, struct err *err)
{
    struct cgroup_join j = { .clone_into = NO_FD };
    for (unsigned i = 0; i < cg->host->trees; i++) {
        const struct cgroup_tree *t = &cg->host->tree[i];
        int fd = t->is_v2 ? openat(t->parent_fd, cg->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                          : open_file(cg, t, "tasks", O_WRONLY);
        int r = fd >= 0 ? 0 : t->is_v2 ? -errno : fd;
        if (r < 0) {
            cgroup_join_done(&j);
            return err_set(err, err_from_errno(-r), -r, "join control group %.160s/%s", t->parent_path, cg->name);
        }
        if (t->is_v2)
            j.clone_into = fd;
        else
            j.tasks[j.n++] = fd;
    }
    *ret = j;
    return 0;
}

int cgroup_join_self(struct cgroup_join *join)
{
    int r = 0;
    for (unsigned i = 0; i < join->n && r == 0; i++)
        if (write(join->tasks[i], "0", 1) != 1)
            r = -errno;
    cgroup_join_done(join);
    return r;
}

void cgroup_join_done(struct cgroup_join *join)
{
    for (unsigned i = 0; i < join->n; i++)
        (void)close(join->tasks[i]);
    if (join->clone_into >= 0)
        (void)close(join->clone_into);
    *join = (struct cgroup_join){ .clone_into = NO_FD };
}

/* ---- freezing and killing ---- */

static const struct cgroup_tree *freezer_of(const struct cgroup_host *host)
{
    for (unsigned i = 0; i < host->trees; i++)
        if (host->tree[i].can_freeze)
            return &host->tree[i];
    return NULL;
}

static int set_frozen(const struct cgroup *cg, const struct cgroup_tree *t, bool is_frozen)
{
    if (t->is_v2)
        return write_file(cg, t, "cgroup.freeze", is_frozen ? "1" : "0");
    return write_file(cg, t, "freezer.state", is_frozen ? "FROZEN" : "THAWED");
}

int cgroup_freeze(const struct cgroup *cg, unsigned deadline_ms)
{
    const struct cgroup_tree *t = freezer_of(cg->host);
    if (!t)
        return -EOPNOTSUPP;
    int r = set_frozen(cg, t, true);
    if (r < 0)
        return r;
    CLEANUP(close_fd_p) int fd = open_file(cg, t, t->is_v2 ? "cgroup.events" : "freezer.state", O_RDONLY);
    if (fd < 0)
        return fd;
    const char *want = t->is_v2 ? "frozen 1" : "FROZEN";
    int64_t deadline = clock_mono_us() + (int64_t)deadline_ms * 1000;
    for (;;) {
        char text[128];
        ssize_t n = pread(fd, text, sizeof text - 1, 0);
        if (n < 0)
            return -errno;
        text[n] = '\0';
        if (strstr(text, want))
            return 0;
        if (clock_mono_us() >= deadline)
            break;
        (void)sched_yield();
    }
    (void)set_frozen(cg, t, false); /* a half-frozen group is useless */
    return -ETIMEDOUT;
}

int cgroup_thaw(const struct cgroup *cg)
{
    const struct cgroup_tree *t = freezer_of(cg->host);
    return t ? set_frozen(cg, t, false) : -EOPNOTSUPP;
}

/* Calls fn for each pid in cgroup.procs, until it returns false; returns how many there were. May miss some while
 * processes exit. */
typedef bool each_pid_fn(pid_t pid, void *arg);
static int each_listed(const struct cgroup *cg, const struct cgroup_tree *t, each_pid_fn *fn, void *arg)
{
    CLEANUP(close_fd_p) int fd = open_file(cg, t, "cgroup.procs", O_RDONLY);
    if (fd < 0)
        return fd;
    char text[8192];
    int count = 0;
    size_t kept = 0;
    ssize_t n;
    while ((n = read(fd, text + kept, sizeof text - 1 - kept)) > 0) {
        text[kept + (size_t)n] = '\0';
        char *rest = text, *end;
        for (; (end = strchr(rest, '\n')); rest = end + 1) {
            long pid = strtol(rest, NULL, 10);
            if (pid <= 1)
                continue;
            count++;
            if (!fn((pid_t)pid, arg))
                return count;
        }
        kept = strlen(rest);
        memmove(text, rest, kept + 1);
    }
    return count;
}

static bool kill_one(pid_t pid, void *arg)
{
    (void)arg;
    (void)kill(pid, SIGKILL); /* already gone is fine */
    return true;
}

struct pid_list {
    pid_t *pids;
    size_t n, max;
};

static bool pid_list_add(pid_t pid, void *arg)
{
    struct pid_list *l = arg;
    if (l->n < l->max)
        l->pids[l->n++] = pid;
    return l->n < l->max;
}

size_t cgroup_pids(const struct cgroup *cg, pid_t *ret, size_t max)
{
    struct pid_list l = { .max = max };
    l.pids = ret;
    if (cg->host->trees > 0 && max > 0)
        (void)each_listed(cg, &cg->host->tree[0], pid_list_add, &l); /* a group that is gone has none */
    return l.n;
}

int cgroup_kill(const struct cgroup *cg)
{
    if (cg->host->trees == 0)
        return -EOPNOTSUPP;
    const struct cgroup_tree *t = &cg->host->tree[0];
    if (t->is_v2 && t->can_kill) {
        int r = write_file(cg, t, "cgroup.kill", "1");
        return r == -ENOENT ? 0 : r;
    }
    /* Without cgroup.kill: signal all until no new process appears. A frozen group is thawed so that the signals
     * arrive; freezing first would stop a fork bomb, but so does the box's pid namespace when its PID 1 dies. */
    for (int round = 0; round < KILL_ROUNDS; round++) {
        int n = each_listed(cg, t, kill_one, NULL);
        if (n <= 0)
            return n == -ENOENT ? 0 : n;
        const struct cgroup_tree *freezer = freezer_of(cg->host);
        if (freezer)
            (void)set_frozen(cg, freezer, false); /* already gone is fine */
        (void)sched_yield();
    }
    return 0;
}

bool cgroup_is_empty(const struct cgroup *cg)
{
    for (unsigned i = 0; i < cg->host->trees; i++) {
        char text[32];
        const struct cgroup_tree *t = &cg->host->tree[i];
        if (t->is_v2 ? read_key(cg, t, "cgroup.events", "populated") != 0
                     : read_file(cg, t, "tasks", text, sizeof text) > 0)
            return false;
    }
    return true;
}

/* ---- counting and removing ---- */

int cgroup_stats_get(const struct cgroup *cg, struct cgroup_stats *ret)
{
    struct cgroup probe;
    int r = cgroup_open(cg->host, cg->name, &probe);
    if (r < 0)
        return r;
    struct cgroup_stats s = { 0 };
    const struct cgroup_tree *t = tree_of(cg->host, CGROUP_MEMORY);
    if (t) {
        s.memory_bytes = read_number(cg, t, t->is_v2 ? "memory.current" : "memory.usage_in_bytes");
        s.memory_peak_bytes = read_number(cg, t, t->is_v2 ? "memory.peak" : "memory.max_usage_in_bytes");
        uint64_t limit = read_number(cg, t, t->is_v2 ? "memory.max" : "memory.limit_in_bytes");
        s.memory_limit_bytes = limit >= MEMORY_NONE ? 0 : limit;
        s.oom_kills = read_key(cg, t, t->is_v2 ? "memory.events" : "memory.oom_control", "oom_kill");
    }
    t = tree_of(cg->host, CGROUP_PIDS);
    if (t)
        s.pids = read_number(cg, t, "pids.current");
    s.cpu_usage_us = cgroup_cpu_used_us(cg);
    *ret = s;
    return 0;
}

uint64_t cgroup_cpu_used_us(const struct cgroup *cg)
{
    const struct cgroup_tree *t = tree_of(cg->host, CGROUP_CPUACCT);
    if (!t)
        return 0;
    return t->is_v2 ? read_key(cg, t, "cpu.stat", "usage_usec") : read_number(cg, t, "cpuacct.usage") / 1000;
}

uint64_t cgroup_kernel_bytes(const struct cgroup *cg)
{
    const struct cgroup_tree *t = tree_of(cg->host, CGROUP_MEMORY);
    if (!t)
        return 0;
    return t->is_v2 ? read_key(cg, t, "memory.stat", "kernel") : read_number(cg, t, "memory.kmem.usage_in_bytes");
}

uint64_t cgroup_socket_bytes(const struct cgroup *cg)
{
    const struct cgroup_tree *t = tree_of(cg->host, CGROUP_MEMORY);
    if (!t)
        return 0;
    return t->is_v2 ? read_key(cg, t, "memory.stat", "sock") : read_number(cg, t, "memory.kmem.tcp.usage_in_bytes");
}

uint64_t cgroup_host_cpu_used_us(const struct cgroup_host *host)
{
    struct cgroup parent = { .host = host, .name = "." };
    return cgroup_cpu_used_us(&parent);
}

/* ---- CPU priority ---- */

int cgroup_yield(const struct cgroup *cg, bool is_yielding)
{
    const struct cgroup_tree *t = tree_of(cg->host, CGROUP_CPU);
    if (!t)
        return -EOPNOTSUPP;
    int r = write_file(cg, t, "cpu.idle", is_yielding ? "1" : "0");
    if (r != -ENOENT)
        return r;
    if (t->is_v2)
        return write_file(cg, t, "cpu.weight", is_yielding ? "1" : "100");
    return write_file(cg, t, "cpu.shares", is_yielding ? "2" : "1024");
}

void cgroup_host_yield(const struct cgroup_host *host, bool is_yielding)
{
    struct cgroup parent = { .host = host, .name = "." };
    const struct cgroup_tree *t = tree_of(host, CGROUP_CPU);
    if (t)
        (void)write_file(&parent, t, "cpu.idle", is_yielding ? "1" : "0"); /* not before Linux 5.15 */
}

bool cgroup_is_yielding(const struct cgroup *cg)
{
    const struct cgroup_tree *t = tree_of(cg->host, CGROUP_CPU);
    if (!t)
        return false;
    uint64_t weight = read_number(cg, t, t->is_v2 ? "cpu.weight" : "cpu.shares");
    return read_number(cg, t, "cpu.idle") != 0 || weight == (t->is_v2 ? 1 : 2);
}

/* Removes groups directly below ours. */
static void remove_children(const struct cgroup *cg, const struct cgroup_tree *t)
{
    int fd = openat(t->parent_fd, cg->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    struct dirent *e;
    while ((e = readdir(dir)))
        if (e->d_type == DT_DIR && e->d_name[0] != '.')
            (void)unlinkat(fd, e->d_name, AT_REMOVEDIR); /* the parent's removal shows whether it worked */
    (void)closedir(dir);
}

int cgroup_remove(const struct cgroup *cg)
{
    int result = 0;
    for (unsigned i = 0; i < cg->host->trees; i++) {
        const struct cgroup_tree *t = &cg->host->tree[i];
        int r = -EBUSY;
        for (int try = 0; try < REMOVE_TRIES && r == -EBUSY; try++) {
            r = unlinkat(t->parent_fd, cg->name, AT_REMOVEDIR) < 0 ? -errno : 0;
            if (r != -EBUSY)
                break;
            if (try == 0)
                remove_children(cg, t);
            (void)sched_yield();
        }
        if (r < 0 && r != -ENOENT)
            result = r;
    }
    return result;
}
