/* Processes by pidfd: clone3 and what goes with it. Header only, because the launcher (glibc) and the agent (musl) both
 * use it. Each returns -errno on failure. May include: nothing. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* Like fork(), into new namespaces (CLONE_NEW*); ret_pidfd is close-on-exec. cgroup_fd >= 0: starts in that v2
 * group. The child must only make calls that are safe after fork() in a single-threaded program. */
static inline pid_t proc_clone(uint64_t flags, int cgroup_fd, int *ret_pidfd)
{
    int pidfd = -1;
    struct clone_args args = { .flags = flags | CLONE_PIDFD,
                               .pidfd = (uint64_t)(uintptr_t)&pidfd,
                               .exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD };
    if (cgroup_fd >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)cgroup_fd;
    }
    long pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid < 0)
        return -errno;
    if (pid > 0)
        *ret_pidfd = pidfd;
    return (pid_t)pid;
}

static inline int proc_open(pid_t pid)
{
    long fd = syscall(SYS_pidfd_open, pid, 0);
    return fd < 0 ? -errno : (int)fd;
}

static inline int proc_signal(int pidfd, int signo)
{
    return syscall(SYS_pidfd_send_signal, pidfd, signo, NULL, 0) < 0 ? -errno : 0;
}

static inline int proc_close_from(int first)
{
    return syscall(SYS_close_range, (unsigned)first, ~0u, 0) < 0 ? -errno : 0;
}

/* Field n of the text of a /proc/PID/stat, 3 (the state) or later; NULL when it has fewer. */
static inline const char *proc_stat_field(const char *text, int n)
{
    const char *p = strrchr(text, ')'); /* the name may contain anything, so count from its end */
    for (int field = 2; p && field < n; field++)
        if ((p = strchr(p, ' ')))
            p++;
    return p;
}

/* Ticks by which our time namespace shifts the times in /proc. Constant for the life of a process. */
static inline int64_t proc_time_offset(void)
{
    static int64_t ticks;
    static int is_known;
    char text[256] = "";
    if (is_known)
        return ticks;
    int fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        (void)close(fd); /* read only */
    const char *at = n > 0 ? strstr(text, "boottime") : NULL;
    if (at) { /* "boottime SECONDS NANOSECONDS" */
        char *rest = NULL;
        long long hz = sysconf(_SC_CLK_TCK), seconds = strtoll(at + strlen("boottime"), &rest, 10);
        ticks = seconds * hz + strtoll(rest, NULL, 10) / (1000000000 / hz);
    }
    is_known = 1;
    return ticks;
}

/* Field 22 of /proc/PID/stat: with the pid it names one process uniquely, in any time namespace. 0 when there is no
 * such process. */
static inline uint64_t proc_start_time(pid_t pid)
{
    char path[48], text[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    (void)close(fd); /* read only */
    if (n <= 0)
        return 0;
    text[n] = '\0';
    const char *start = proc_stat_field(text, 22);
    return start ? strtoull(start, NULL, 10) - (uint64_t)proc_time_offset() : 0;
}
