#include "runtime/native/counters.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "runtime/native/box.h"

#define USED_PARTS  2       /* of a counter in use: then somebody must go */
#define LEAST_PARTS 8       /* ending a box that has less of it would not help */
#define QUIET_US    2000000 /* for a box to end */
#define PIDS_MAX    4096

static const struct {
    const char *what, *setting;
    uint64_t bytes; /* that one of them costs at least */
} kinds[NATIVE_COUNTERS] = {
    [NATIVE_FILES] = { "open files", "fs.file-max", 256 }, /* a struct file */
    [NATIVE_TCP_PAGES] = { "pages of TCP buffers", "net.ipv4.tcp_mem", 4096 },
    [NATIVE_TCP_ORPHANS] = { "TCP connections without a process", "net.ipv4.tcp_max_orphans", 1024 },
    [NATIVE_UDP_PAGES] = { "pages of UDP buffers", "net.ipv4.udp_mem", 4096 },
};

/* Number n (from 0) of a file of /proc; 0 when it has none. */
static uint64_t file_number(const char *path, unsigned n)
{
    char text[128];
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    uint64_t value = 0;
    if (len <= 0)
        return 0;
    text[len] = '\0';
    char *at = text;
    for (unsigned i = 0; i <= n; i++)
        value = strtoull(at, &at, 10);
    return value;
}

/* A host where memory is used up before the table of open files is full needs no watch: systemd sets it so. */
static uint64_t files_max(void)
{
    uint64_t max = file_number("/proc/sys/fs/file-max", 0);
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    return max > memory / kinds[NATIVE_FILES].bytes ? 0 : max;
}

void native_counters_init(struct native_counters *c, unsigned boxes)
{
    uint64_t all = file_number("/proc/sys/kernel/pty/max", 0), kept = file_number("/proc/sys/kernel/pty/reserve", 0);
    uint64_t share = (all > kept ? all - kept : 0) / (boxes ? boxes : 1);
    *c = (struct native_counters){
        .ptys = share < LIMIT_MIN(PTYS)   ? LIMIT_MIN(PTYS)
                : share > LIMIT_MAX(PTYS) ? LIMIT_MAX(PTYS)
                                          : (unsigned)share,
        .max = { [NATIVE_FILES] = files_max(),
                 [NATIVE_TCP_PAGES] = file_number("/proc/sys/net/ipv4/tcp_mem", 2),
                 [NATIVE_TCP_ORPHANS] = file_number("/proc/sys/net/ipv4/tcp_max_orphans", 0),
                 [NATIVE_UDP_PAGES] = file_number("/proc/sys/net/ipv4/udp_mem", 2) },
        .files_fd = open("/proc/sys/fs/file-nr", O_RDONLY | O_CLOEXEC),
        .sockets_fd = open("/proc/net/sockstat", O_RDONLY | O_CLOEXEC),
    };
}

static void limit_lower(__rlimit_resource_t which, rlim_t most)
{
    struct rlimit now;
    if (getrlimit(which, &now) < 0)
        return;
    now.rlim_max = now.rlim_max < most ? now.rlim_max : most;
    now.rlim_cur = now.rlim_max;
    (void)setrlimit(which, &now); /* lowering is always allowed */
}

void native_counters_rlimits(void)
{
    limit_lower(RLIMIT_SIGPENDING, LIMIT_MAX(SIGNALS));
    limit_lower(RLIMIT_MSGQUEUE, LIMIT_MAX(MQUEUE_BYTES));
}

uint32_t native_counters_nproc(const struct native_box_site *site, uint32_t pids_max)
{
    struct utsname u;
    char *rest;
    if (cgroup_host_controllers(&site->cgroups) & 1u << CGROUP_PIDS || uname(&u) < 0)
        return 0;
    unsigned long major = strtoul(u.release, &rest, 10), minor = *rest == '.' ? strtoul(rest + 1, NULL, 10) : 0;
    return major > 5 || (major == 5 && minor >= 14) ? pids_max : 0;
}

/* ---- the watch ---- */

static const char *read_again(int fd, char *text, size_t size)
{
    ssize_t n = fd < 0 ? -1 : pread(fd, text, size - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

/* The number after a word in a line of sockstat: "TCP: inuse 7 orphan 0 tw 57 alloc 10 mem 3". */
static uint64_t line_number(const char *text, const char *line, const char *word)
{
    const char *at = strstr(text, line), *end = at ? strchrnul(at, '\n') : NULL;
    at = at ? strstr(at, word) : NULL;
    return at && at < end ? strtoull(at + strlen(word), NULL, 10) : 0;
}

static void counters_read(const struct native_counters *c, uint64_t used[NATIVE_COUNTERS])
{
    char text[1024];
    used[NATIVE_FILES] = strtoull(read_again(c->files_fd, text, sizeof(text)), NULL, 10);
    (void)read_again(c->sockets_fd, text, sizeof(text));
    used[NATIVE_TCP_PAGES] = line_number(text, "TCP: ", " mem ");
    used[NATIVE_TCP_ORPHANS] = line_number(text, "TCP: ", " orphan ");
    used[NATIVE_UDP_PAGES] = line_number(text, "UDP: ", " mem ");
}

/* Descriptors of a process: since Linux 6.2 the size of its folder, before that the entries. */
static uint64_t count_descriptors(pid_t pid)
{
    char path[40];
    struct stat st;
    uint64_t n = 0;
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    if (stat(path, &st) == 0 && st.st_size > 0)
        return (uint64_t)st.st_size;
    DIR *d = opendir(path);
    while (d && readdir(d))
        n++;
    if (d)
        (void)closedir(d); /* read only */
    return n;
}

static uint64_t box_files(const struct native_box *c)
{
    static pid_t pids[PIDS_MAX];
    uint64_t all = 0;
    for (size_t i = 0, n = cgroup_pids(&c->cgroup, pids, PIDS_MAX); i < n; i++)
        all += count_descriptors(pids[i]);
    return all;
}

static uint64_t box_sockets(const struct native_box *c)
{
    return cgroup_socket_bytes(&c->cgroup);
}

static uint64_t box_kernel(const struct native_box *c)
{
    return cgroup_kernel_bytes(&c->cgroup);
}

static const struct native_box *biggest(const struct native_box *box_list, uint64_t (*use)(const struct native_box *c),
                                        uint64_t least)
{
    const struct native_box *found = NULL;
    for (const struct native_box *c = box_list; c; c = c->next) {
        uint64_t n = c->state == NATIVE_BOX_RUNNING && c->has_cgroup ? use(c) : 0;
        if (n < least)
            continue;
        found = c;
        least = n + 1;
    }
    return found;
}

/* Descriptors that are in flight between two sockets belong to no process. Then the box for which the kernel holds most
 * memory is the one. */
static const struct native_box *find_user(enum native_counter which, const struct native_box *box_list, uint64_t max)
{
    uint64_t least = max / LEAST_PARTS;
    if (which != NATIVE_FILES)
        return biggest(box_list, box_sockets, least * kinds[which].bytes);
    const struct native_box *c = biggest(box_list, box_files, least);
    return c ? c : biggest(box_list, box_kernel, least * kinds[which].bytes);
}

const struct native_box *native_counters_step(struct native_counters *c, const struct native_box *box_list, char *why,
                                              size_t size)
{
    uint64_t used[NATIVE_COUNTERS];
    int64_t now = clock_mono_us();
    if (now < c->quiet_until_us)
        return NULL;
    counters_read(c, used);
    for (enum native_counter i = 0; i < NATIVE_COUNTERS; i++) {
        if (c->max[i] == 0 || used[i] <= c->max[i] / USED_PARTS)
            continue;
        const struct native_box *found = find_user(i, box_list, c->max[i]);
        if (!found)
            continue;
        c->quiet_until_us = now + QUIET_US;
        snprintf(why, size,
                 "terminated: of %" PRIu64 " %s that this host allows (%s), %" PRIu64
                 " were in use, most of them by it",
                 c->max[i], kinds[i].what, kinds[i].setting, used[i]);
        return found;
    }
    return NULL;
}
