/* What a container uses, read from its control groups by the pid of its first process: fast, exact, and without the
 * engine. Only where that process is in our pid namespace, on our host. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "runtime/docker/docker_core.h"
#include "runtime/traffic.h"

#define FILE_MAX  8192
#define PATH_MAX_ 512

static ssize_t read_text(const char *path, char *out, size_t size)
{
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    out[n > 0 ? n : 0] = '\0';
    return n;
}

static bool read_number(const char *folder, const char *name, uint64_t *ret)
{
    char path[PATH_MAX_ + 64], text[64];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (read_text(path, text, sizeof(text)) <= 0 || text[0] < '0' || text[0] > '9')
        return false;
    *ret = strtoull(text, NULL, 10);
    return true;
}

/* "KEY NUMBER" of a file of such lines. */
static uint64_t read_row(const char *folder, const char *name, const char *key)
{
    char path[PATH_MAX_ + 64], text[FILE_MAX];
    size_t len = strlen(key);
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (read_text(path, text, sizeof(text)) <= 0)
        return 0;
    for (const char *p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
        if (strncmp(p, key, len) == 0 && p[len] == ' ')
            return strtoull(p + len + 1, NULL, 10);
    return 0;
}

/* One line of /proc/PID/cgroup: "N:controllers:/path". */
static bool read_group(const struct box *box, char *line, struct box_stats *st)
{
    char folder[PATH_MAX_];
    uint64_t n = 0;
    (void)strsep(&line, ":");
    const char *controllers = strsep(&line, ":");
    if (!line || !strstr(line, box->container)) /* the pid was reused, or the engine has another layout */
        return false;
    if (!*controllers) {
        (void)snprintf(folder, sizeof(folder), "/sys/fs/cgroup%s", line);
        if (access(folder, F_OK) < 0)
            (void)snprintf(folder, sizeof(folder), "/sys/fs/cgroup/unified%s", line);
        if (st->memory_limit_bytes)
            return true;
        st->cpu_usage_us = read_row(folder, "cpu.stat", "usage_usec");
        (void)read_number(folder, "memory.current", &st->memory_bytes);
        (void)read_number(folder, "memory.max", &st->memory_limit_bytes);
        st->oom_kills = read_row(folder, "memory.events", "oom_kill");
        (void)read_number(folder, "pids.current", &n);
        st->pids = (uint32_t)n;
        return true;
    }
    (void)snprintf(folder, sizeof(folder), "/sys/fs/cgroup/%s%s", controllers, line); /* version 1 */
    if (strstr(controllers, "cpuacct") && read_number(folder, "cpuacct.usage", &n))
        st->cpu_usage_us = n / 1000;
    if (strcmp(controllers, "memory") == 0) {
        (void)read_number(folder, "memory.usage_in_bytes", &st->memory_bytes);
        (void)read_number(folder, "memory.limit_in_bytes", &st->memory_limit_bytes);
        st->oom_kills = read_row(folder, "memory.oom_control", "oom_kill");
    }
    if (strcmp(controllers, "pids") == 0 && read_number(folder, "pids.current", &n))
        st->pids = (uint32_t)n;
    return true;
}

int docker_stat_read(struct box *box, struct box_stats *ret, struct err *err)
{
    char path[64], text[FILE_MAX], *rest = text;
    struct box_stats st = { 0 };
    bool is_found = false;
    (void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)box->agent.pid);
    if (box->agent.pid > 0 && read_text(path, text, sizeof(text)) > 0)
        for (char *line; (line = strsep(&rest, "\n"));)
            is_found |= read_group(box, line, &st);
    if (!is_found)
        return err_set(
            err, ERR_UNSUPPORTED, 0,
            "usage of container %.12s is not visible from here: the server has to run on the engine's host, in "
            "its process namespace",
            box->container);
    traffic_read(box->agent.pid, NULL, &st);
    *ret = st;
    return 0;
}
