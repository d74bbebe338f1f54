/* Theory of operation. The seccomp filter of the workload: one table of rows, compiled to BPF by libseccomp once at
 * start, with a few instructions of our own before it (head[]). The server's own filter has all of these rows and those
 * of a second table. A struct filter owns the program; installing it copies it into the kernel and is permanent. A row
 * that libseccomp cannot express makes filter_build() fail.
 *
 * Left out on purpose, so that nobody adds them by reflex:
 *   ptrace, process_vm_readv/writev, pidfd_getfd, kcmp   debuggers work; uid and pid namespace keep them inside the box
 *   seccomp, landlock_*, prctl                           a program may confine itself further
 *   chroot, mknod, setuid family, chown                  package managers need them; the user namespace bounds them
 *   adjtimex, clock_adjtime                              reading the clock state is harmless, setting needs host rights
 *   mbind, set_mempolicy, move_pages                     databases use them; they reach only own memory
 *   splice, vmsplice, tee                                harmless once AF_ALG is gone, and cat, pv and proxies use them
 *   inotify_*, epoll_*, timerfd_*, memfd_*               common programs use them
 *   statmount, listmount                                 read only, and bounded by the mount namespace
 *
 * Arguments of type int are compared under a 32-bit mask: the kernel ignores the upper half of the register, so an
 * exact 64-bit comparison in a deny list could be bypassed by setting a bit there. */
#include "os/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "os/filter_strict.h"
#include "os/watched_filter.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

#define SOCK_TYPE_MASK 0xfu /* without SOCK_NONBLOCK and SOCK_CLOEXEC */
#define NSFS_TYPE      0xb7u
#define PIDFD_TYPE     0xffu
#define PIDFD_FIRST_NS 1u  /* PIDFD_GET_CGROUP_NAMESPACE */
#define PIDFD_LAST_NS  10u /* PIDFD_GET_UTS_NAMESPACE; 11 is PIDFD_GET_INFO, which is harmless */

enum when { ALWAYS, CLONE_FLAGS, CLONE_PROCESS, UNSHARE_FLAGS, FAMILY, REQUESTS, PERSONA, HUGE, CORE_LIMIT, HEAD };

struct row {
    const char *name;
    int nr; /* for a libseccomp older than the call (from 424 on the same everywhere); 0: every version knows it */
    int err;
    enum when when;
    const char *reason;
};

#define NEW_NAMESPACE "a new user namespace exposes most kernel bugs of recent years to an unprivileged user"
#define MOUNTING      "file system set-up is parser code in the kernel, and a mount can shadow what the box trusts"
#define HANDLES       "file handles reach past the root folder and across mounts"
#define KERNEL_CODE   "loads code into the host's kernel"
#define KEYS          "keyrings are shared by uid, not by namespace, and were a source of escapes"
#define RINGS         "io_uring runs file and socket calls that this filter would not see"
#define HOST_STATE    "changes state of the whole host"
#define HOST_CLOCK    "the clock belongs to the host"
#define PORTS         "raw access to hardware ports"
#define HUGE_PAGES    "huge pages are reserved for the whole host, and no limit of a box counts them"
#define CORE_DUMPS    "returns success without effect: a lower limit than ours makes the host run its handler for crashes"
#define OBSOLETE      "no program needs it, old code is the least tested"

static const struct row table[] = {
    { "clone", 0, EPERM, CLONE_FLAGS, NEW_NAMESPACE },
    { "clone3", 435, ENOSYS, ALWAYS, "its flags are behind a pointer a filter cannot read; libc falls back to clone" },
    { "unshare", 0, EPERM, UNSHARE_FLAGS, NEW_NAMESPACE },
    { "setns", 0, EPERM, ALWAYS, "joins a namespace through a descriptor that may have leaked" },
    { "mount", 0, EPERM, ALWAYS, MOUNTING },
    { "umount2", 0, EPERM, ALWAYS, "uncovers what a mount hides" },
    { "pivot_root", 0, EPERM, ALWAYS, MOUNTING },
    { "fsopen", 430, EPERM, ALWAYS, MOUNTING },
    { "fsconfig", 431, EPERM, ALWAYS, MOUNTING },
    { "fsmount", 432, EPERM, ALWAYS, MOUNTING },
    { "fspick", 433, EPERM, ALWAYS, MOUNTING },
    { "move_mount", 429, EPERM, ALWAYS, MOUNTING },
    { "open_tree", 428, EPERM, ALWAYS, MOUNTING },
    { "open_tree_attr", 467, EPERM, ALWAYS, MOUNTING },
    { "mount_setattr", 442, EPERM, ALWAYS, MOUNTING },
    { "open_by_handle_at", 0, EPERM, ALWAYS, HANDLES },
    { "name_to_handle_at", 0, EPERM, ALWAYS, HANDLES },
    { "fanotify_init", 0, EPERM, ALWAYS, "watches whole file systems and hands out file handles" },
    { "init_module", 0, EPERM, ALWAYS, KERNEL_CODE },
    { "finit_module", 0, EPERM, ALWAYS, KERNEL_CODE },
    { "delete_module", 0, EPERM, ALWAYS, KERNEL_CODE },
    { "kexec_load", 0, EPERM, ALWAYS, KERNEL_CODE },
    { "kexec_file_load", 0, EPERM, ALWAYS, KERNEL_CODE },
    { "bpf", 0, EPERM, ALWAYS, "its verifier is a frequent way into the kernel" },
    { "perf_event_open", 0, EPERM, ALWAYS,
      "sees other boxes through the processor, and is a frequent way into the kernel" },
    { "userfaultfd", 0, EPERM, ALWAYS,
      "holds the kernel still in the middle of a copy: the tool that makes races reliable" },
    { "io_uring_setup", 425, ENOSYS, ALWAYS, RINGS },
    { "io_uring_enter", 426, ENOSYS, ALWAYS, RINGS },
    { "io_uring_register", 427, ENOSYS, ALWAYS, RINGS },
    { "io_setup", 0, ENOSYS, ALWAYS, "its requests are counted for the whole host (fs.aio-max-nr), not by user" },
    { "mmap", 0, EPERM, HUGE, HUGE_PAGES },
    { "memfd_create", 0, EPERM, HUGE, HUGE_PAGES },
    { "shmget", 0, EPERM, HUGE, HUGE_PAGES },
    { "prlimit64", 0, 0, CORE_LIMIT, CORE_DUMPS },
    { "setrlimit", 0, 0, CORE_LIMIT, CORE_DUMPS },
    { "keyctl", 0, EPERM, ALWAYS, KEYS },
    { "add_key", 0, EPERM, ALWAYS, KEYS },
    { "request_key", 0, EPERM, ALWAYS, KEYS },
    { "personality", 0, EPERM, PERSONA,
      "turns off address randomisation and changes how calls are read; asking and 0 are fine" },
    { "socket", 0, EPERM, FAMILY,
      "only unix, inet, inet6 and netlink route: AF_ALG, AF_VSOCK, AF_PACKET and the rest are attack surface" },
    { "socketpair", 0, EPERM, FAMILY, "the same families as socket" },
    { "socket", 0, EPROTONOSUPPORT, HEAD,
      "of inet and inet6 only TCP, UDP and ICMP, by type as by protocol: the rest (SCTP, DCCP, MPTCP, SMC, UDP-Lite) "
      "loads seldom used modules" },
    { "setsockopt", 0, EPERM, HEAD,
      "TCP_ULP and UDP_ENCAP hand a socket's pages to the kernel's cryptography, which wrote over cached files "
      "before" },
    { "ioctl", 0, EPERM, REQUESTS,
      "TIOCSTI and TIOCLINUX type into the terminal, TIOCSETD loads line disciplines; those of nsfs and of pidfds hand "
      "out "
      "namespaces or walk over them" },
    { "swapon", 0, EPERM, ALWAYS, HOST_STATE },
    { "swapoff", 0, EPERM, ALWAYS, HOST_STATE },
    { "reboot", 0, EPERM, ALWAYS, HOST_STATE },
    { "acct", 0, EPERM, ALWAYS, HOST_STATE },
    { "quotactl", 0, EPERM, ALWAYS, HOST_STATE },
    { "quotactl_fd", 443, EPERM, ALWAYS, HOST_STATE },
    { "vhangup", 0, EPERM, ALWAYS, HOST_STATE },
    { "syslog", 0, EPERM, ALWAYS, "the kernel log tells addresses and what other boxes do" },
    { "settimeofday", 0, EPERM, ALWAYS, HOST_CLOCK },
    { "clock_settime", 0, EPERM, ALWAYS, HOST_CLOCK },
    { "iopl", 0, EPERM, ALWAYS, PORTS },
    { "ioperm", 0, EPERM, ALWAYS, PORTS },
    { "modify_ldt", 0, EPERM, ALWAYS, "segments for 16-bit and 32-bit code, which is refused anyway" },
    { "lookup_dcookie", 0, EPERM, ALWAYS, OBSOLETE },
    { "uselib", 0, EPERM, ALWAYS, OBSOLETE },
    { "ustat", 0, EPERM, ALWAYS, OBSOLETE },
    { "sysfs", 0, EPERM, ALWAYS, OBSOLETE },
    { "_sysctl", 0, EPERM, ALWAYS, OBSOLETE },
    { "nfsservctl", 0, EPERM, ALWAYS, OBSOLETE },
};

#define NEW_PROGRAM "the server starts no program: the keeper does"
#define NEW_PROCESS "the server has threads, and no child that it made itself"
#define OTHERS      "looks into or stops another process"
#define OTHER_USER  "the server is who it is"
#define OTHER_FILES "a file belongs to whom its maker says; folders of other roots are not ours to enter"

/* With the address sanitizer, its leak check clones a tracer at exit: those rows are left out then. */
static const struct row server_table[] = {
#ifndef __SANITIZE_ADDRESS__
    { "execve", 0, EPERM, ALWAYS, NEW_PROGRAM },
    { "execveat", 0, EPERM, ALWAYS, NEW_PROGRAM },
    { "clone", 0, EPERM, CLONE_PROCESS, NEW_PROCESS },
    { "fork", 0, EPERM, ALWAYS, NEW_PROCESS },
    { "vfork", 0, EPERM, ALWAYS, NEW_PROCESS },
    { "ptrace", 0, EPERM, ALWAYS, OTHERS },
    { "kill", 0, EPERM, ALWAYS, OTHERS },
#endif
    { "unshare", 0, EPERM, ALWAYS, NEW_NAMESPACE },
    { "tkill", 0, EPERM, ALWAYS, OTHERS },
    { "rt_sigqueueinfo", 0, EPERM, ALWAYS, OTHERS },
    { "pidfd_send_signal", 424, EPERM, ALWAYS, OTHERS },
    { "pidfd_getfd", 438, EPERM, ALWAYS, OTHERS },
    { "process_vm_readv", 0, EPERM, ALWAYS, OTHERS },
    { "process_vm_writev", 0, EPERM, ALWAYS, OTHERS },
    { "process_madvise", 440, EPERM, ALWAYS, OTHERS },
    { "kcmp", 0, EPERM, ALWAYS, OTHERS },
    { "migrate_pages", 0, EPERM, ALWAYS, OTHERS },
    { "move_pages", 0, EPERM, ALWAYS, OTHERS },
    { "setuid", 0, EPERM, ALWAYS, OTHER_USER },
    { "setgid", 0, EPERM, ALWAYS, OTHER_USER },
    { "setreuid", 0, EPERM, ALWAYS, OTHER_USER },
    { "setregid", 0, EPERM, ALWAYS, OTHER_USER },
    { "setresuid", 0, EPERM, ALWAYS, OTHER_USER },
    { "setresgid", 0, EPERM, ALWAYS, OTHER_USER },
    { "setgroups", 0, EPERM, ALWAYS, OTHER_USER },
    { "setfsuid", 0, EPERM, ALWAYS, OTHER_USER },
    { "setfsgid", 0, EPERM, ALWAYS, OTHER_USER },
    { "capset", 0, EPERM, ALWAYS, OTHER_USER },
    { "chroot", 0, EPERM, ALWAYS, OTHER_FILES },
    { "mknod", 0, EPERM, ALWAYS, OTHER_FILES },
    { "mknodat", 0, EPERM, ALWAYS, OTHER_FILES },
    { "chown", 0, EPERM, ALWAYS, OTHER_FILES },
    { "lchown", 0, EPERM, ALWAYS, OTHER_FILES },
    { "fchown", 0, EPERM, ALWAYS, OTHER_FILES },
    { "fchownat", 0, EPERM, ALWAYS, OTHER_FILES },
    { "sethostname", 0, EPERM, ALWAYS, HOST_STATE },
    { "setdomainname", 0, EPERM, ALWAYS, HOST_STATE },
    { "adjtimex", 0, EPERM, ALWAYS, HOST_CLOCK },
    { "clock_adjtime", 0, EPERM, ALWAYS, HOST_CLOCK },
};

#define ROWS        (sizeof table / sizeof *table)
#define SERVER_ROWS (sizeof server_table / sizeof *server_table)
#define INT_MASK    UINT64_C(0xffffffff)

const char *filter_row(size_t i, int *ret_errno, const char **ret_reason)
{
    if (i >= ROWS)
        return NULL;
    *ret_errno = table[i].err;
    *ret_reason = table[i].reason;
    return table[i].name;
}

/* Denies nr when (argument & mask) == value. */
static int deny_if(scmp_filter_ctx ctx, const struct row *row, int nr, struct scmp_arg_cmp cmp)
{
    return seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO((uint32_t)row->err), nr, 1, &cmp);
}

static int deny_flags(scmp_filter_ctx ctx, const struct row *row, int nr, uint64_t more)
{
    /* CLONE_NEWTIME is one of clone's signal bits, so only unshare (and clone3) can request it. */
    uint64_t flags = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |
                     CLONE_NEWCGROUP | more;
    int r = 0;
    for (unsigned bit = 0; bit < 32 && r == 0; bit++)
        if (flags & UINT64_C(1) << bit)
            r = deny_if(ctx, row, nr, SCMP_A0_64(SCMP_CMP_MASKED_EQ, UINT64_C(1) << bit, UINT64_C(1) << bit));
    return r;
}

/* Every family but four: those from 32 up by any of their high bits, those below one by one. Netlink passes with
 * protocol 0 (route) only. */
static int deny_families(scmp_filter_ctx ctx, const struct row *row, int nr)
{
    int r = 0;
    for (unsigned bit = 5; bit < 32 && r == 0; bit++)
        r = deny_if(ctx, row, nr, SCMP_A0_64(SCMP_CMP_MASKED_EQ, UINT64_C(1) << bit, UINT64_C(1) << bit));
    for (unsigned family = 0; family < 32 && r == 0; family++)
        if (family != AF_UNIX && family != AF_INET && family != AF_INET6 && family != AF_NETLINK)
            r = deny_if(ctx, row, nr, SCMP_A0_64(SCMP_CMP_MASKED_EQ, INT_MASK, family));
    for (unsigned bit = 0; bit < 32 && r == 0; bit++) {
        struct scmp_arg_cmp cmp[] = { SCMP_A0_64(SCMP_CMP_MASKED_EQ, INT_MASK, AF_NETLINK),
                                      SCMP_A2_64(SCMP_CMP_MASKED_EQ, UINT64_C(1) << bit, UINT64_C(1) << bit) };
        r = seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO((uint32_t)row->err), nr, 2, cmp);
    }
    return r;
}

/* Requests of nsfs by their type byte, whatever their number and size; of pidfds those that open a namespace. */
static int deny_requests(scmp_filter_ctx ctx, const struct row *row, int nr)
{
    static const unsigned requests[] = { TIOCSTI, TIOCLINUX, TIOCSETD };
    int r = deny_if(ctx, row, nr, SCMP_A1_64(SCMP_CMP_MASKED_EQ, 0xff00, NSFS_TYPE << 8));
    for (size_t i = 0; i < sizeof requests / sizeof *requests && r == 0; i++)
        r = deny_if(ctx, row, nr, SCMP_A1_64(SCMP_CMP_MASKED_EQ, INT_MASK, requests[i]));
    for (unsigned n = PIDFD_FIRST_NS; n <= PIDFD_LAST_NS && r == 0; n++)
        r = deny_if(ctx, row, nr, SCMP_A1_64(SCMP_CMP_MASKED_EQ, 0xffff, PIDFD_TYPE << 8 | n));
    return r;
}

/* All but 0 and 0xffffffff (the query). A number is neither exactly when some bit is set and the next one,
 * cyclically, is not: 32 masked comparisons, which is what a rule can express about one argument. */
static int deny_persona(scmp_filter_ctx ctx, const struct row *row, int nr)
{
    int r = 0;
    for (unsigned bit = 0; bit < 32 && r == 0; bit++) {
        uint64_t set = UINT64_C(1) << bit, clear = UINT64_C(1) << (bit + 1) % 32;
        r = deny_if(ctx, row, nr, SCMP_A0_64(SCMP_CMP_MASKED_EQ, set | clear, set));
    }
    return r;
}

/* The flag that asks for huge pages: in argument 3 of mmap, 1 of memfd_create, 2 of shmget. */
static int deny_huge(scmp_filter_ctx ctx, const struct row *row, int nr)
{
    if (strcmp(row->name, "mmap") == 0)
        return deny_if(ctx, row, nr, SCMP_A3_64(SCMP_CMP_MASKED_EQ, MAP_HUGETLB, MAP_HUGETLB));
    if (strcmp(row->name, "shmget") == 0)
        return deny_if(ctx, row, nr, SCMP_A2_64(SCMP_CMP_MASKED_EQ, SHM_HUGETLB, SHM_HUGETLB));
    return deny_if(ctx, row, nr, SCMP_A1_64(SCMP_CMP_MASKED_EQ, MFD_HUGETLB, MFD_HUGETLB));
}

/* prlimit64 takes the resource after the process; with a null pointer it only asks. */
static int deny_core_limit(scmp_filter_ctx ctx, const struct row *row, int nr)
{
    if (strcmp(row->name, "setrlimit") == 0)
        return deny_if(ctx, row, nr, SCMP_A0_64(SCMP_CMP_MASKED_EQ, INT_MASK, RLIMIT_CORE));
    struct scmp_arg_cmp cmp[] = { SCMP_A1_64(SCMP_CMP_MASKED_EQ, INT_MASK, RLIMIT_CORE), SCMP_A2_64(SCMP_CMP_NE, 0) };
    return seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO((uint32_t)row->err), nr, 2, cmp);
}

static int add_row(scmp_filter_ctx ctx, const struct row *row)
{
    int nr = seccomp_syscall_resolve_name(row->name);
    if (nr == __NR_SCMP_ERROR && row->nr == 0)
        return -ENOENT; /* a misspelt name must not pass as a denied call */
    if (nr == __NR_SCMP_ERROR)
        nr = row->nr;
    if (nr < 0)
        return 0; /* this architecture never had the call */
    switch (row->when) {
    case ALWAYS:
        return seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO((uint32_t)row->err), nr, 0, NULL);
    case CLONE_FLAGS:
        return deny_flags(ctx, row, nr, 0);
    case CLONE_PROCESS:
        return deny_if(ctx, row, nr, SCMP_A0_64(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
    case UNSHARE_FLAGS:
        return deny_flags(ctx, row, nr, CLONE_NEWTIME);
    case FAMILY:
        return deny_families(ctx, row, nr);
    case REQUESTS:
        return deny_requests(ctx, row, nr);
    case PERSONA:
        return deny_persona(ctx, row, nr);
    case HUGE:
        return deny_huge(ctx, row, nr);
    case CORE_LIMIT:
        return deny_core_limit(ctx, row, nr);
    case HEAD:
        return 0; /* written by hand below: head[] */
    }
    return -EINVAL;
}

static int add_rows(scmp_filter_ctx ctx, const struct row *rows, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        int r = add_row(ctx, &rows[i]);
        if (r < 0)
            return err_sys(err, r, "build the system call filter: rule for %s", rows[i].name);
    }
    return 0;
}

static int rules_add(scmp_filter_ctx ctx, bool is_server, struct err *err)
{
    int r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (r == 0)
        r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
    if (r < 0)
        return err_sys(err, r, "build the system call filter");
    if (is_server) /* first: an unconditional denial replaces a conditional one */
        r = add_rows(ctx, server_table, SERVER_ROWS, err);
    return r < 0 ? r : add_rows(ctx, table, ROWS, err);
}

/* The lower half of an argument, which is all that the kernel reads of an int. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARG(n) (offsetof(struct seccomp_data, args) + 8 * (n))
#else
#define ARG(n) (offsetof(struct seccomp_data, args) + 8 * (n) + 4)
#endif
#define LOAD(at)                 BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (at))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define ANSWER(errno_)           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (errno_))

/* Runs before libseccomp's program. Numbers past the table, on any architecture, do not exist; x32 entries have bit
 * 30 set and end here as well. Then come checks that an allow list expresses in a few instructions and a deny list
 * in hundreds, each of which would cost every create: the protocols of inet sockets, and two socket options.
 * Everything else continues in libseccomp's program, which also rejects other architectures, whose numbers mean
 * other calls. */
static const struct sock_filter head[] = {
    LOAD(offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, FILTER_NEWEST, 0, 1),
    ANSWER(ENOSYS),
    IF_EQUAL(__NR_socket, 0, 13), /* else continue with setsockopt */
    LOAD(ARG(0)),
    IF_EQUAL(AF_INET, 1, 0),
    IF_EQUAL(AF_INET6, 0, 19), /* the other families are in the table */
    LOAD(ARG(1)),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SOCK_TYPE_MASK),
    BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, SOCK_RAW, 6, 0), /* seqpacket is SCTP, dccp is DCCP, even with protocol 0 */
    LOAD(ARG(2)),
    IF_EQUAL(0, 14, 0),
    IF_EQUAL(IPPROTO_TCP, 13, 0),
    IF_EQUAL(IPPROTO_UDP, 12, 0),
    IF_EQUAL(IPPROTO_ICMP, 11, 0),
    IF_EQUAL(IPPROTO_ICMPV6, 10, 0),
    ANSWER(EPROTONOSUPPORT),
    IF_EQUAL(__NR_setsockopt, 0, 8),
    LOAD(ARG(1)),
    IF_EQUAL(IPPROTO_TCP, 0, 2),
    LOAD(ARG(2)),
    IF_EQUAL(TCP_ULP, 3, 4),
    IF_EQUAL(IPPROTO_UDP, 0, 3),
    LOAD(ARG(2)),
    IF_EQUAL(UDP_ENCAP, 0, 1),
    ANSWER(EPERM),
};

static int program_export(scmp_filter_ctx ctx, enum filter_profile profile, struct filter *ret, struct err *err)
{
    struct sock_filter strict[FILTER_STRICT_MAX];
    size_t before = 0;
    CLEANUP(close_fd_p) int fd = memfd_create("filter", MFD_CLOEXEC);
    if (fd < 0)
        return err_sys(err, -errno, "build the system call filter: memfd");
    struct stat st;
    int r = profile == FILTER_STRICT ? filter_strict_head(strict, &before, err) : 0;
    if (r < 0)
        return r;
    r = seccomp_export_bpf(ctx, fd);
    if (r < 0 || fstat(fd, &st) < 0)
        return err_sys(err, r < 0 ? r : -errno, "build the system call filter: export");
    size_t body = (size_t)st.st_size, rest = before + sizeof head / sizeof *head,
           count = body / sizeof(struct sock_filter) + rest;
    if (count > BPF_MAXINSNS - WATCHED_FILTER_HEAD || body % sizeof(struct sock_filter) != 0)
        return err_set(err, ERR_INTERNAL, 0, "the system call filter has %zu instructions, the kernel takes %d", count,
                       BPF_MAXINSNS);
    CLEANUP(free_p) struct sock_filter *insn = try_alloc(count * sizeof *insn);
    if (!insn)
        return err_sys(err, -ENOMEM, "build the system call filter");
    memcpy(insn, strict, before * sizeof *insn);
    memcpy(insn + before, head, sizeof head);
    if (pread(fd, insn + rest, body, 0) != st.st_size)
        return err_sys(err, -EIO, "build the system call filter: read back");
    *ret = (struct filter){ .insn = STEAL(insn), .count = (unsigned short)count };
    return 0;
}

static int program_build(bool is_server, enum filter_profile profile, struct filter *ret, struct err *err)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
    if (!ctx)
        return err_sys(err, -ENOMEM, "build the system call filter");
    int r = rules_add(ctx, is_server, err);
    if (r == 0)
        r = program_export(ctx, profile, ret, err);
    seccomp_release(ctx);
    return r;
}

int filter_build_profile(enum filter_profile profile, struct filter *ret, struct err *err)
{
    return program_build(false, profile, ret, err);
}

int filter_build(struct filter *ret, struct err *err)
{
    return filter_build_profile(FILTER_DEFAULT, ret, err);
}

int filter_build_server(struct filter *ret, struct err *err)
{
    return program_build(true, FILTER_DEFAULT, ret, err);
}

void filter_done(struct filter *f)
{
    free(f->insn);
    *f = (struct filter){ 0 };
}

int filter_memfd(const struct filter *f, struct err *err)
{
    CLEANUP(close_fd_p) int fd = memfd_create("filter", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    size_t size = f->count * sizeof *f->insn;
    if (fd < 0 || write(fd, f->insn, size) != (ssize_t)size ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        return err_sys(err, errno ? -errno : -EIO, "put the system call filter into a memfd");
    return steal_fd(&fd);
}

int filter_install(const struct filter *f)
{
    struct sock_fprog program = { .len = f->count, .filter = f->insn };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        return -errno;
    return 0;
}

int filter_self(struct err *err)
{
    struct filter filter = { 0 };
    int r = filter_build(&filter, err);
    if (r >= 0 && (r = filter_install(&filter)) < 0)
        (void)err_sys(err, r, "install the system call filter");
    filter_done(&filter);
    return r;
}

static const char *const profiles[FILTER_PROFILES] = { [FILTER_DEFAULT] = "default", [FILTER_STRICT] = "strict" };

const char *filter_profile_name(enum filter_profile profile)
{
    return profiles[profile];
}

bool filter_profile_find(const char *name, enum filter_profile *ret)
{
    for (int i = 0; i < FILTER_PROFILES; i++)
        if (strcmp(profiles[i], name) == 0) {
            *ret = (enum filter_profile)i;
            return true;
        }
    return false;
}

int filter_errno(const struct filter *f, const struct seccomp_data *data)
{
    uint32_t result = watched_filter_run(f->insn, f->count, data);
    if ((result & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO)
        return (int)(result & SECCOMP_RET_DATA);
    return result == SECCOMP_RET_ALLOW ? -1 : EPERM;
}

const char *filter_call_name(uint32_t arch, uint32_t nr, char buf[FILTER_CALL_NAME])
{
    /* libseccomp's own tokens for an architecture are the kernel's numbers */
    char *name = nr <= FILTER_NEWEST ? seccomp_syscall_resolve_num_arch(arch, (int)nr) : NULL;
    if (name)
        (void)snprintf(buf, FILTER_CALL_NAME, "%s", name);
    else
        (void)snprintf(buf, FILTER_CALL_NAME, "syscall_%u", nr);
    free(name);
    return buf;
}

const char *filter_arch_name(uint32_t arch)
{
    static const struct {
        uint32_t arch;
        const char *name;
    } names[] = { { SCMP_ARCH_X86_64, "x86_64" }, { SCMP_ARCH_X86, "x86" },         { SCMP_ARCH_AARCH64, "aarch64" },
                  { SCMP_ARCH_ARM, "arm" },       { SCMP_ARCH_RISCV64, "riscv64" }, { SCMP_ARCH_PPC64LE, "ppc64le" },
                  { SCMP_ARCH_S390X, "s390x" } };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].arch == arch)
            return names[i].name;
    return "unknown";
}
