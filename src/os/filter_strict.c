/* Theory of operation. The strict profile is an allow list in front of the deny list: a call that is not named here
 * never reaches the program of filter.c; one that is continues there, so what the deny list forbids stays forbidden.
 *
 * What is listed is what shells, Python, Node, git, pip, compilers and the agent were seen to need (test_seccomp.py
 * runs them). Left out are calls that these programs do without: tracing and reading other processes, System V IPC and
 * POSIX message queues, POSIX timers, NUMA policies, splice and vmsplice, chroot, scheduling classes, confining oneself
 * (seccomp, landlock), clocks, and every call newer than the list.
 *
 * Numbers from 424 on are answered with ENOSYS, because libraries try new calls and fall back; older ones with EPERM.
 */
#include "os/filter_strict.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>

#define NEW_CALLS 424u /* from here on numbers are the same on every architecture */
#define CALLS_MAX 512

static const char *const allowed[] = {
    /* files */
    "read",
    "write",
    "open",
    "close",
    "stat",
    "fstat",
    "lstat",
    "newfstatat",
    "statx",
    "lseek",
    "pread64",
    "pwrite64",
    "readv",
    "writev",
    "preadv",
    "pwritev",
    "preadv2",
    "pwritev2",
    "access",
    "faccessat",
    "faccessat2",
    "openat",
    "openat2",
    "creat",
    "dup",
    "dup2",
    "dup3",
    "fcntl",
    "flock",
    "fsync",
    "fdatasync",
    "sync",
    "syncfs",
    "sync_file_range",
    "truncate",
    "ftruncate",
    "fallocate",
    "fadvise64",
    "readahead",
    "getdents",
    "getdents64",
    "getcwd",
    "chdir",
    "fchdir",
    "rename",
    "renameat",
    "renameat2",
    "mkdir",
    "mkdirat",
    "rmdir",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "unlink",
    "unlinkat",
    "readlink",
    "readlinkat",
    "chmod",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "chown",
    "fchown",
    "lchown",
    "fchownat",
    "umask",
    "utime",
    "utimes",
    "utimensat",
    "futimesat",
    "statfs",
    "fstatfs",
    "mknod",
    "mknodat",
    "sendfile",
    "copy_file_range",
    "ioctl",
    "close_range",
    "setxattr",
    "lsetxattr",
    "fsetxattr",
    "getxattr",
    "lgetxattr",
    "fgetxattr",
    "listxattr",
    "llistxattr",
    "flistxattr",
    "removexattr",
    "lremovexattr",
    "fremovexattr",
    "inotify_init",
    "inotify_init1",
    "inotify_add_watch",
    "inotify_rm_watch",
    /* memory */
    "mmap",
    "mprotect",
    "munmap",
    "brk",
    "mremap",
    "msync",
    "mincore",
    "madvise",
    "mlock",
    "mlock2",
    "munlock",
    "mlockall",
    "munlockall",
    "memfd_create",
    "pkey_alloc",
    "pkey_free",
    "pkey_mprotect",
    "membarrier",
    "get_mempolicy",
    /* processes and threads */
    "clone",
    "clone3",
    "fork",
    "vfork",
    "execve",
    "execveat",
    "exit",
    "exit_group",
    "wait4",
    "waitid",
    "kill",
    "tkill",
    "tgkill",
    "getpid",
    "getppid",
    "gettid",
    "set_tid_address",
    "set_robust_list",
    "get_robust_list",
    "rseq",
    "futex",
    "futex_waitv",
    "sched_yield",
    "sched_getaffinity",
    "sched_setaffinity",
    "sched_getparam",
    "sched_getscheduler",
    "sched_getattr",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "sched_rr_get_interval",
    "getpriority",
    "setpriority",
    "prctl",
    "arch_prctl",
    "getrlimit",
    "setrlimit",
    "prlimit64",
    "getrusage",
    "times",
    "sysinfo",
    "uname",
    "getcpu",
    "pidfd_open",
    "pidfd_send_signal",
    "setpgid",
    "getpgid",
    "getpgrp",
    "setsid",
    "getsid",
    "restart_syscall",
    "unshare",
    "personality",
    /* users */
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getgroups",
    "setgroups",
    "setuid",
    "setgid",
    "setreuid",
    "setregid",
    "setresuid",
    "getresuid",
    "setresgid",
    "getresgid",
    "setfsuid",
    "setfsgid",
    "capget",
    /* signals, time, waiting */
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "rt_sigpending",
    "rt_sigtimedwait",
    "rt_sigqueueinfo",
    "rt_tgsigqueueinfo",
    "rt_sigsuspend",
    "sigaltstack",
    "pause",
    "alarm",
    "getitimer",
    "setitimer",
    "nanosleep",
    "clock_nanosleep",
    "clock_gettime",
    "clock_getres",
    "gettimeofday",
    "time",
    "timerfd_create",
    "timerfd_settime",
    "timerfd_gettime",
    "signalfd",
    "signalfd4",
    "eventfd",
    "eventfd2",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "pipe",
    "pipe2",
    "getrandom",
    /* sockets */
    "socket",
    "socketpair",
    "bind",
    "listen",
    "accept",
    "accept4",
    "connect",
    "getsockname",
    "getpeername",
    "sendto",
    "recvfrom",
    "sendmsg",
    "recvmsg",
    "sendmmsg",
    "recvmmsg",
    "shutdown",
    "setsockopt",
    "getsockopt",
};

static const struct {
    const char *name;
    int nr; /* for a libseccomp older than the call */
} newer[] = { { "fchmodat2", 452 }, { "futex_waitv", 449 }, { "epoll_pwait2", 441 }, { "close_range", 436 } };

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static int number_of(const char *name)
{
    int nr = seccomp_syscall_resolve_name(name);
    for (size_t i = 0; nr == __NR_SCMP_ERROR && i < sizeof(newer) / sizeof(*newer); i++)
        if (strcmp(newer[i].name, name) == 0)
            return newer[i].nr;
    return nr;
}

static struct sock_filter deny(unsigned nr)
{
    return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (nr >= NEW_CALLS ? ENOSYS : EPERM));
}

/* One span of allowed numbers. Beyond it: continue with the next; in it: jump to the end of the list, where the deny
 * list begins; before it: denied. */
static size_t put_span(struct sock_filter *to, unsigned low, unsigned high)
{
    to[0] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, high, 3, 0);
    to[1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, low, 0, 1);
    to[2] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0);
    to[3] = deny(low - 1);
    return 4;
}

int filter_strict_head(struct sock_filter insns[FILTER_STRICT_MAX], size_t *ret_count, struct err *err)
{
    int numbers[CALLS_MAX];
    size_t n = 0, count = 0;
    for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++) {
        int nr = number_of(allowed[i]);
        if (nr == __NR_SCMP_ERROR)
            return err_sys(err, -ENOENT, "build the strict system call filter: %s", allowed[i]);
        if (nr >= 0) /* else this architecture never had the call */
            numbers[n++] = nr;
    }
    qsort(numbers, n, sizeof(*numbers), by_number);
    insns[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t at = 0, end; at < n && count + 5 < FILTER_STRICT_MAX; at = end) {
        for (end = at + 1; end < n && numbers[end] - numbers[end - 1] <= 1; end++)
            ;
        unsigned low = (unsigned)numbers[at], high = (unsigned)numbers[end - 1];
        /* New and old numbers have different errors: a gap over the border is denied as new, which is harmless. */
        count += put_span(insns + count, low, high);
    }
    insns[count++] = deny(NEW_CALLS);
    for (size_t i = 0; i < count; i++)
        if (insns[i].code == (BPF_JMP | BPF_JA))
            insns[i].k = (unsigned)(count - i - 1);
    *ret_count = count;
    return 0;
}

const char *filter_strict_row(size_t i)
{
    return i < sizeof(allowed) / sizeof(*allowed) ? allowed[i] : NULL;
}
