/* What boxes see as /sys: the few facts that C libraries and language runtimes look up, copied from the host into a
 * plain folder, and nothing else of the host's hardware. Header only, because the launcher (glibc) and the agent
 * (musl) both use it. May include: nothing. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSVIEW_CPUS_MAX 1024

static inline int sysview_make_folders(int dir, char *path)
{
    for (char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
        *p = '\0';
        int r = mkdirat(dir, path, 0755);
        *p = '/';
        if (r < 0 && errno != EEXIST)
            return -errno;
    }
    return 0;
}

/* A file that the host lacks is skipped. */
static inline int sysview_copy(int dir, const char *name)
{
    char from[128], path[128], text[4096];
    snprintf(from, sizeof(from), "/sys/%s", name);
    snprintf(path, sizeof(path), "%s", name);
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    if (fd >= 0)
        (void)close(fd); /* read only */
    if (n < 0)
        return 0;
    int r = sysview_make_folders(dir, path);
    int to = r < 0 ? -1 : openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    if (to < 0)
        return r < 0 ? r : -errno;
    r = write(to, text, (size_t)n) == n ? 0 : -EIO;
    return close(to) < 0 ? -errno : r;
}

static inline int sysview_fill(int dir)
{
    static const char *const files[] = { "devices/system/cpu/online",
                                         "devices/system/cpu/possible",
                                         "devices/system/cpu/present",
                                         "devices/system/cpu/kernel_max",
                                         "devices/system/node/online",
                                         "devices/system/node/possible",
                                         "kernel/mm/transparent_hugepage/enabled",
                                         "kernel/mm/transparent_hugepage/hpage_pmd_size" };
    static const char *const folders[] = { "fs/cgroup/", "class/net/", "block/", "bus/", "firmware/" };
    char path[64];
    int r = 0;
    for (size_t i = 0; r >= 0 && i < sizeof(files) / sizeof(*files); i++)
        r = sysview_copy(dir, files[i]);
    for (size_t i = 0; r >= 0 && i < sizeof(folders) / sizeof(*folders); i++) {
        snprintf(path, sizeof(path), "%s", folders[i]);
        r = sysview_make_folders(dir, path);
    }
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    for (long i = 0; r >= 0 && i < cpus && i < SYSVIEW_CPUS_MAX; i++) {
        snprintf(path, sizeof(path), "devices/system/cpu/cpu%ld/", i);
        r = sysview_make_folders(dir, path);
    }
    return r;
}
