/* Item 7: gaining privilege, and item 6's tracing of other processes. Each function tries one technique (capabilities,
 * set-uid programs, user namespaces, kernel settings, ptrace) and prints its rows with probe_row(); nothing is kept
 * between them. Attempts that change the calling process run in a child (probe_child()). With ctx->is_outside only
 * harmless attempts run, so that a row can be seen to succeed. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "escape/probe/probe.h"

#ifndef TIOCLINUX
#define TIOCLINUX 0x541C
#endif

/* Capabilities that even root of a sandbox must never hold. */
static const struct {
    const char *name;
    int cap;
} never[] = { { "SYS_ADMIN", CAP_SYS_ADMIN },
              { "SYS_PTRACE", CAP_SYS_PTRACE },
              { "SYS_MODULE", CAP_SYS_MODULE },
              { "SYS_RAWIO", CAP_SYS_RAWIO },
              { "SYS_BOOT", CAP_SYS_BOOT },
              { "SYS_TIME", CAP_SYS_TIME },
              { "NET_ADMIN", CAP_NET_ADMIN },
              { "NET_RAW", CAP_NET_RAW },
              { "MKNOD", CAP_MKNOD },
              { "SYSLOG", CAP_SYSLOG },
              { "BPF", 39 },
              { "PERFMON", 38 },
              { "CHECKPOINT_RESTORE", 40 },
              { "DAC_READ_SEARCH", CAP_DAC_READ_SEARCH },
              { "AUDIT_CONTROL", CAP_AUDIT_CONTROL },
              { "AUDIT_WRITE", CAP_AUDIT_WRITE },
              { "MAC_ADMIN", CAP_MAC_ADMIN },
              { "SYS_RESOURCE", CAP_SYS_RESOURCE },
              { "SYS_NICE", CAP_SYS_NICE },
              { "IPC_LOCK", CAP_IPC_LOCK },
              { "LINUX_IMMUTABLE", CAP_LINUX_IMMUTABLE } };

static uint64_t status_bits(const char *key)
{
    const char *text = probe_text("/proc/self/status");
    const char *at = text ? strstr(text, key) : NULL;
    return at ? strtoull(at + strlen(key), NULL, 16) : UINT64_MAX;
}

static void capabilities(void)
{
    uint64_t any = status_bits("CapEff:") | status_bits("CapPrm:") | status_bits("CapBnd:") | status_bits("CapAmb:");
    char held[200] = "";
    for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
        if (any & (1ull << never[i].cap))
            snprintf(held + strlen(held), sizeof(held) - strlen(held), " %s", never[i].name);
    probe_row(7, "capabilities that count outside", held[0] ? PROBE_REACHED : PROBE_DENIED,
              held[0] ? "holds%s" : "none%s", held);
    uint64_t inherited = status_bits("CapInh:");
    probe_row(7, "inheritable capabilities", inherited ? PROBE_REACHED : PROBE_DENIED, "%llx",
              (unsigned long long)inherited);
    int is_set = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
    probe_row(7, "no_new_privs is off", is_set == 1 ? PROBE_DENIED : PROBE_REACHED, "it is %d", is_set);
    probe_row(7, "no system call filter", status_bits("Seccomp:") == 2 ? PROBE_DENIED : PROBE_REACHED, "mode %d",
              (int)status_bits("Seccomp:"));
}

static int regain(const void *unused)
{
    (void)unused;
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2] = { 0 };
    if (syscall(SYS_capget, &head, data) < 0)
        return errno;
    data[0].effective |= 1u << CAP_SYS_ADMIN;
    data[0].permitted |= 1u << CAP_SYS_ADMIN;
    return syscall(SYS_capset, &head, data) < 0 ? errno : 0;
}

/* In the child that a set-uid program would create: its caller gains nothing from it. */
static int run_setuid(const void *arg)
{
    if (setgid(65534) < 0 || setuid(65534) < 0)
        return 100;
    char *const argv[] = { (char[]){ "probe" }, (char[]){ "--who" }, NULL };
    execv(arg, argv);
    return errno == EACCES || errno == EPERM ? 65 : 101;
}

static int copy_self(const char *to)
{
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
        out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    char bytes[65536];
    ssize_t n = 0;
    while (from >= 0 && out >= 0 && (n = read(from, bytes, sizeof(bytes))) > 0)
        if (write(out, bytes, (size_t)n) != n)
            n = -1;
    if (from >= 0)
        close(from);
    if (out >= 0)
        close(out);
    return from < 0 || out < 0 || n < 0 ? -1 : 0;
}

/* Runs a set-uid copy of our own program with --who; its exit code is 64 + (euid is 0). */
static void setuid_program(void)
{
    static const char path[] = "/tmp/probe-setuid";
    if (geteuid() != 0 || copy_self(path) < 0 || chmod(path, 04755) < 0) {
        probe_row(7, "set-uid program", PROBE_SKIPPED, "cannot make one: %s", strerror(errno));
        return;
    }
    int code = probe_child(run_setuid, path);
    probe_row(7, "set-uid program", code == 64 ? PROBE_REACHED : PROBE_DENIED, "its effective user is %s",
              code == 64 ? "root" : "who started it");
    struct {
        uint32_t magic, permitted, inheritable, permitted2, inheritable2;
    } caps = { 0x02000001, ~0u, 0, 0xff, 0 };
    (void)chmod(path, 0755);
    if (setxattr(path, "security.capability", &caps, sizeof(caps), 0) < 0) {
        probe_row(7, "file with capabilities", PROBE_DENIED, "cannot be made: %s", strerror(errno));
    } else {
        code = probe_child(run_setuid, path);
        probe_row(7, "file with capabilities", code == 66 ? PROBE_REACHED : PROBE_DENIED, "started, it holds %s",
                  code == 66 ? "them" : "none");
    }
    unlink(path);
}

static void nodes(void)
{
    static const struct {
        const char *name;
        mode_t type;
        unsigned major, minor;
    } want[] = { { "memory (1:1)", S_IFCHR, 1, 1 },
                 { "kernel messages (1:11)", S_IFCHR, 1, 11 },
                 { "first disk (8:0)", S_IFBLK, 8, 0 },
                 { "virtual disk (254:0)", S_IFBLK, 254, 0 },
                 { "loop control (10:237)", S_IFCHR, 10, 237 },
                 { "fuse (10:229)", S_IFCHR, 10, 229 },
                 { "kvm (10:232)", S_IFCHR, 10, 232 },
                 { "tun (10:200)", S_IFCHR, 10, 200 } };
    static const char *const folders[] = { "/tmp", "/dev/shm", "/dev" };
    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        int opened = -1;
        char path[64], name[80];
        const char *made = NULL;
        for (size_t k = 0; k < sizeof(folders) / sizeof(*folders); k++) {
            snprintf(path, sizeof(path), "%s/probe-node", folders[k]);
            if (mknod(path, want[i].type | 0666, makedev(want[i].major, want[i].minor)) < 0)
                continue;
            made = folders[k];
            opened = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
            if (opened >= 0)
                close(opened);
            unlink(path);
        }
        snprintf(name, sizeof(name), "device node: %s", want[i].name);
        probe_row(7, name, made ? PROBE_REACHED : PROBE_DENIED, made ? "made in %s" : "%s",
                  made ? made : "cannot be made");
    }
}

static void hardware(void)
{
    static const char *const names[] = { "mem",   "kmem",   "port", "kmsg",           "sda",       "vda",
                                         "nvme0", "kvm",    "fuse", "loop-control",   "net/tun",   "vhost-net",
                                         "vsock", "uinput", "dri",  "mapper/control", "cpu/0/msr", "hpet",
                                         "rtc0",  "console" };
    char found[160] = "";
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char path[64];
        struct stat st;
        snprintf(path, sizeof(path), "/dev/%s", names[i]);
        if (lstat(path, &st) == 0)
            snprintf(found + strlen(found), sizeof(found) - strlen(found), " %s", names[i]);
    }
    probe_row(7, "hardware in /dev", found[0] ? PROBE_REACHED : PROBE_DENIED, found[0] ? "there are%s" : "none%s",
              found);
}

static void write_row(const char *path, const char *text)
{
    char name[100];
    snprintf(name, sizeof(name), "write %s", path);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int why = errno;
    if (fd < 0 && (why == ENOENT || why == EROFS)) {
        probe_row(7, name, PROBE_DENIED, "%s", strerror(why));
        return;
    }
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)) {
        close(fd);
        probe_row(7, name, PROBE_DENIED, "the null device is mounted on it");
        return;
    }
    ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
    why = fd < 0 ? why : errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    if (n >= 0)
        probe_row(7, name, PROBE_REACHED, "wrote %zd bytes", n);
    else
        probe_row(7, name,
                  why == EPERM || why == EACCES || why == EINVAL || why == EBUSY ? PROBE_DENIED : PROBE_REACHED, "%s",
                  strerror(why));
}

static int try_terminal(const void *unused)
{
    (void)unused;
    int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), zero = 0, number = -1;
    if (master < 0 || ioctl(master, TIOCSPTLCK, &zero) < 0 || ioctl(master, TIOCGPTN, &number) < 0) {
        probe_row(7, "terminal injection", PROBE_SKIPPED, "no terminal can be made: %s", strerror(errno));
        return 0;
    }
    char path[40], what[16] = { 0 };
    snprintf(path, sizeof(path), "/dev/pts/%d", number);
    (void)setsid();
    int slave = open(path, O_RDWR | O_CLOEXEC);
    (void)ioctl(slave, TIOCSCTTY, 0);
    int discipline = 0;
    probe_call(7, "TIOCSTI types into a terminal", ioctl(slave, TIOCSTI, "x"));
    probe_call(7, "TIOCSTI with a high bit", syscall(SYS_ioctl, slave, (1L << 32) | TIOCSTI, "x"));
    probe_call(7, "TIOCLINUX of a console", ioctl(slave, TIOCLINUX, what));
    probe_call(7, "TIOCSETD loads a line discipline", ioctl(slave, TIOCSETD, &discipline));
    close(slave);
    close(master);
    return 0;
}

/* Quotas are kept by project id: a process that may change it escapes them. */
static void project_id(void)
{
    struct {
        uint32_t flags, extent, extents, project, cow;
        unsigned char pad[8];
    } attr = { 0 };
    int fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ioctl(fd, (int)0x801c581f, &attr) < 0) {
        probe_row(7, "project id of a file", PROBE_DENIED, "cannot even be read: %s", strerror(errno));
    } else {
        attr.project++;
        int r = ioctl(fd, (int)0x401c5820, &attr);
        probe_row(7, "project id of a file", r < 0 ? PROBE_DENIED : PROBE_REACHED, "%s",
                  r < 0 ? strerror(errno) : "changed");
    }
    close(fd);
}

void probe_gain(const struct probe_ctx *ctx)
{
    capabilities();
    if (!ctx->is_outside || geteuid() == 0)
        setuid_program();
    (void)probe_child(try_terminal, NULL);
    int code = probe_child(regain, NULL);
    errno = code > 0 ? code : 0;
    probe_call(7, "capset of SYS_ADMIN", code == 0 ? 0 : -1);
    nodes();
    hardware();
    if (ctx->is_outside)
        return;
    write_row("/proc/self/uid_map", "0 0 4294967295\n");
    write_row("/proc/self/gid_map", "0 0 4294967295\n");
    write_row("/proc/self/setgroups", "allow\n");
    project_id();
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    probe_call(7, "oom_score_adj -1000", fd < 0 ? -1 : write(fd, "-1000", 5));
}

/* Settings and triggers of the whole host. */
void probe_kernel(const struct probe_ctx *ctx)
{
    static const char *const files[] = { "kernel/core_pattern",
                                         "kernel/modprobe",
                                         "kernel/hotplug",
                                         "kernel/sysrq",
                                         "kernel/randomize_va_space",
                                         "kernel/dmesg_restrict",
                                         "kernel/panic",

                                         "kernel/threads-max",
                                         "kernel/kptr_restrict",
                                         "kernel/unprivileged_bpf_disabled",
                                         "kernel/perf_event_paranoid",
                                         "kernel/yama/ptrace_scope",
                                         "vm/overcommit_memory",
                                         "vm/panic_on_oom",
                                         "vm/swappiness",
                                         "vm/mmap_min_addr",
                                         "fs/file-max",
                                         "fs/suid_dumpable",
                                         "fs/protected_symlinks",
                                         "fs/pipe-max-size",
                                         "kernel/poweroff_cmd",
                                         "dev/tty/ldisc_autoload",
                                         "kernel/usermodehelper/bset" };
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        char path[100], now[256];
        snprintf(path, sizeof(path), "/proc/sys/%s", files[i]);
        const char *text = probe_text(path);
        if (!text)
            continue; /* this kernel has no such setting */
        snprintf(now, sizeof(now), "%s", text);
        write_row(path, now); /* writes back the current value: no change, wherever this runs */
    }
    if (ctx->is_outside)
        return;
    write_row("/proc/sys/vm/drop_caches", "0\n");
    write_row("/proc/sys/fs/binfmt_misc/register", ":probe:E::probe::/tmp/probe:\n");
    write_row("/proc/sysrq-trigger", "?");
    write_row("/proc/timer_stats", "0");
    write_row("/proc/irq/default_smp_affinity", "1\n");
    write_row("/proc/mtrr", "disable=99\n");
    write_row("/proc/acpi/wakeup", "\n");
    write_row("/proc/scsi/scsi", "\n");
    write_row("/sys/kernel/uevent_helper", "/tmp/probe\n");
    write_row("/sys/power/state", "\n");
    write_row("/sys/class/net/lo/mtu", "1500\n");
    write_row("/sys/kernel/mm/transparent_hugepage/enabled", "never\n");
    write_row("/sys/fs/cgroup/cgroup.procs", "1\n");
}

/* ---- tracing ---- */

static int attach(const void *arg)
{
    pid_t pid = *(const pid_t *)arg;
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
        return errno;
    return 0;
}

void probe_trace(const struct probe_ctx *ctx)
{
    pid_t target = 1, stranger = -1;
    if (ctx->is_outside) { /* a process of our own that is not our child's child */
        stranger = fork();
        if (stranger == 0) {
            alarm(30);
            pause();
            _exit(0);
        }
        target = stranger;
    }
    int code = probe_child(attach, &target);
    errno = code > 0 ? code : 0;
    probe_call(6, "ptrace of the first process", code == 0 ? 0 : -1);
    char bytes[8];
    struct iovec here = { bytes, sizeof(bytes) }, there = { (void *)(uintptr_t)0x400000, sizeof(bytes) },
                 nowhere = { (void *)(uintptr_t)1, sizeof(bytes) };
    probe_call(6, "process_vm_readv of the first process",
               syscall(SYS_process_vm_readv, target, &here, 1L, &there, 1L, 0L));
    probe_call(6, "process_vm_writev of the first process",
               syscall(SYS_process_vm_writev, target, &here, 1L, &nowhere, 1L, 0L));
    int fd = (int)syscall(434, target, 0);
    probe_call(6, "pidfd_getfd of the first process", syscall(438, fd, 0, 0));
    probe_call(6, "kcmp with the first process", syscall(SYS_kcmp, (long)getpid(), (long)target, 2L, 0L, 0L));
    probe_call(6, "process_madvise of the first process", syscall(440, fd, &there, 1L, 20L, 0L));
    if (fd >= 0)
        close(fd);
    if (stranger > 0) {
        kill(stranger, SIGKILL);
        waitpid(stranger, NULL, 0);
        return;
    }
    kill(1, SIGKILL);
    kill(1, SIGSTOP);
    probe_row(6, "kill of the first process", kill(1, 0) == 0 || errno == EPERM ? PROBE_DENIED : PROBE_REACHED,
              "it is still there");
}
