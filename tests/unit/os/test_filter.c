/* The system call filter, tried: a child installs it and makes the calls. */
#include "os/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tap.h"

#define HIGH_BIT (1L << 32) /* in a register's upper half, which the kernel ignores for an int */

static struct filter filter;

/* Runs fn under the filter in a child. Its exit code is the number of failed expectations (printed). */
static int confined(int (*fn)(void))
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int r = filter_install(&filter);
        int bad = r < 0 ? 100 : fn();
        fflush(stdout);
        _exit(bad);
    }
    int status = -1;
    (void)waitpid(pid, &status, 0);
    return status;
}

static int expect(const char *what, long result, int want_errno)
{
    int got = result < 0 ? errno : 0;
    if (got == want_errno)
        return 0;
    printf("# %s: errno %d, not %d\n", what, got, want_errno);
    return 1;
}

/* Every unconditional row answers its errno before the kernel looks at the arguments. */
static int try_rows(void)
{
    int bad = 0, want;
    const char *reason, *name;
    for (size_t i = 0; (name = filter_row(i, &want, &reason)); i++) {
        static const char *const conditional[] = { "clone",      "unshare", "personality", "socket",
                                                   "socketpair", "ioctl",   "mmap",        "setsockopt",
                                                   "prlimit64",  "shmget",  "setrlimit",   "memfd_create" };
        int is_conditional = 0;
        for (size_t k = 0; k < sizeof conditional / sizeof *conditional; k++)
            is_conditional |= strcmp(name, conditional[k]) == 0;
        int nr = strcmp(name, "open_tree_attr") == 0 ? 467 : seccomp_syscall_resolve_name(name);
        if (!is_conditional && nr >= 0)
            bad += expect(name, syscall(nr, -1L, -1L, -1L, -1L, -1L, -1L), want);
        bad += reason[0] == '\0';
    }
    return bad;
}

TEST(every_denied_call_is_denied)
{
    CHECK_INT(confined(try_rows), 0);
}

static int try_namespaces(void)
{
    static const long flags[] = { CLONE_NEWNS,  CLONE_NEWUTS, CLONE_NEWIPC,    CLONE_NEWUSER,
                                  CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWCGROUP, CLONE_NEWUSER | CLONE_NEWNS };
    int bad = 0;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        bad += expect("clone with a namespace flag", syscall(SYS_clone, flags[i] | SIGCHLD, 0, 0, 0, 0), EPERM);
        bad += expect("clone with a high bit", syscall(SYS_clone, flags[i] | SIGCHLD | HIGH_BIT, 0, 0, 0, 0), EPERM);
        bad += expect("unshare", syscall(SYS_unshare, flags[i]), EPERM);
        bad += expect("unshare with a high bit", syscall(SYS_unshare, flags[i] | HIGH_BIT), EPERM);
    }
    bad += expect("unshare a time namespace", syscall(SYS_unshare, 0x80L), EPERM);
    bad += expect("unshare files", syscall(SYS_unshare, (long)CLONE_FILES), 0);
    return bad;
}

TEST(no_namespace_can_be_made)
{
    CHECK_INT(confined(try_namespaces), 0);
}

static int try_sockets(void)
{
    int bad = 0;
    for (long family = 0; family < 64; family++) {
        int is_allowed = family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
        if (is_allowed)
            continue;
        bad += expect("socket family", syscall(SYS_socket, family, (long)SOCK_STREAM, 0L), EPERM);
        bad += expect("socket family with a high bit", syscall(SYS_socket, family | HIGH_BIT, (long)SOCK_STREAM, 0L),
                      EPERM);
        bad += expect("socketpair family", syscall(SYS_socketpair, family, (long)SOCK_STREAM, 0L, NULL), EPERM);
    }
    bad += expect("socket family -1", syscall(SYS_socket, -1L, (long)SOCK_STREAM, 0L), EPERM);
    bad += expect("unix", socket(AF_UNIX, SOCK_STREAM, 0), 0);
    bad += expect("inet", socket(AF_INET, SOCK_STREAM, 0), 0);
    bad += expect("inet6", socket(AF_INET6, SOCK_DGRAM, 0), 0);
    bad += expect("netlink route", socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), 0);
    for (int protocol = 1; protocol < 32; protocol++)
        bad += expect("another netlink", socket(AF_NETLINK, SOCK_RAW, protocol), EPERM);
    int pair[2];
    bad += expect("unix pair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    return bad;
}

TEST(only_four_socket_families_pass)
{
    CHECK_INT(confined(try_sockets), 0);
}

static int try_terminal(void)
{
    int bad = 0, master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        return 50;
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY), discipline = 0;
    struct winsize size;
    bad += expect("TIOCSTI", ioctl(slave, TIOCSTI, "x"), EPERM);
    bad += expect("TIOCSTI with a high bit", syscall(SYS_ioctl, slave, TIOCSTI | HIGH_BIT, "x"), EPERM);
    bad += expect("TIOCLINUX", ioctl(slave, TIOCLINUX, "\x06"), EPERM);
    bad += expect("TIOCSETD", ioctl(slave, TIOCSETD, &discipline), EPERM);
    bad += expect("TIOCGWINSZ", ioctl(slave, TIOCGWINSZ, &size), 0);
    return bad;
}

TEST(terminal_injection_is_denied)
{
    CHECK_INT(confined(try_terminal), 0);
}

static int try_persona(void)
{
    int bad = 0;
    bad += expect("ask", personality(0xffffffff), 0);
    bad += expect("plain", personality(0), 0);
    for (unsigned bit = 0; bit < 32; bit++) {
        bad += expect("one bit", personality(1UL << bit), EPERM);
        bad += expect("all but one bit", personality(0xffffffffUL & ~(1UL << bit)), EPERM);
    }
    bad += expect("one bit with a high bit", syscall(SYS_personality, (long)ADDR_NO_RANDOMIZE | HIGH_BIT), EPERM);
    return bad;
}

TEST(only_the_plain_personality_passes)
{
    CHECK_INT(confined(try_persona), 0);
}

static void *thread_main(void *arg)
{
    return arg;
}

static int try_ordinary_life(void)
{
    int bad = 0, status = 0, number = 7, copy = 0;
    pthread_t thread;
    void *got = NULL;
    bad += expect("thread", -pthread_create(&thread, NULL, thread_main, &number), 0);
    bad += pthread_join(thread, &got) != 0 || got != &number;
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    bad += expect("fork", pid, 0);
    bad += waitpid(pid, &status, 0) != pid || status != 0;
    pid = fork();
    if (pid == 0) {
        (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        (void)raise(SIGSTOP);
        _exit(0);
    }
    bad += waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status);
    struct iovec local = { &copy, sizeof copy }, remote = { &number, sizeof number };
    bad += expect("process_vm_readv of a traced child", process_vm_readv(pid, &local, 1, &remote, 1, 0), 0);
    bad += copy != 7;
    bad += expect("ptrace own child", ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
    (void)waitpid(pid, &status, 0);
    bad += expect("memfd", memfd_create("x", 0), 0);
    bad += expect("prctl name", prctl(PR_SET_NAME, "x", 0, 0, 0), 0);
    bad += system("echo hi | grep -q hi && test $(ls / | wc -l) -gt 3") != 0;
    return bad;
}

TEST(ordinary_programs_live_under_it)
{
    CHECK_INT(confined(try_ordinary_life), 0);
}

static int try_unknown(void)
{
    int bad = 0;
    bad += expect("past the table", syscall(FILTER_NEWEST + 1), ENOSYS);
    bad += expect("far past the table", syscall(100000), ENOSYS);
#ifdef __x86_64__
    bad += expect("x32 getpid", syscall(0x40000000 + SYS_getpid), ENOSYS);
    bad += expect("x32 unshare", syscall(0x40000000 + SYS_unshare, (long)CLONE_NEWUSER), ENOSYS);
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11"); /* i386 getpid */
    bad += result != -ENOSYS;
    if (result != -ENOSYS)
        printf("# 32-bit getpid answered %ld\n", result);
#endif
    return bad;
}

TEST(other_entries_and_newer_calls_do_not_exist)
{
    CHECK_INT(confined(try_unknown), 0);
}

static int try_twice(void)
{
    return filter_install(&filter) == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 1;
}

TEST(a_second_install_and_no_new_privs_hold)
{
    CHECK_INT(confined(try_twice), 0);
}

TEST(it_is_small_and_built_quickly)
{
    struct filter again;
    int64_t start = clock_mono_us();
    CHECK_INT(filter_build(&again, NULL), 0);
    printf("# %u instructions, built in %lld us\n", again.count, (long long)(clock_mono_us() - start));
    CHECK_INT(again.count, filter.count);
    CHECK_INT(memcmp(again.insn, filter.insn, again.count * sizeof *again.insn), 0);
    CHECK(again.count < 1500);
    filter_done(&again);
    CHECK(!again.insn);
}

TEST(its_memfd_holds_the_same_and_is_sealed)
{
    int fd = filter_memfd(&filter, NULL);
    CHECK(fd >= 0);
    size_t size = filter.count * sizeof *filter.insn;
    char *copy = malloc(size + 1);
    CHECK_INT(pread(fd, copy, size + 1, 0), size);
    CHECK_INT(memcmp(copy, filter.insn, size), 0);
    CHECK(write(fd, "x", 1) < 0 && errno == EPERM);
    CHECK(ftruncate(fd, 0) < 0 && errno == EPERM);
    free(copy);
    (void)close(fd);
}

static int try_protocols(void)
{
    static const int fine[] = { 0, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP, IPPROTO_ICMPV6 };
    int bad = 0;
    for (int protocol = 0; protocol < 512; protocol++) {
        bool is_fine = false;
        for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
            is_fine |= protocol == fine[i];
        for (int family = 0; family < 2 && !is_fine; family++) {
            int inet = family ? AF_INET6 : AF_INET;
            bad += expect("rare protocol", socket(inet, SOCK_STREAM, protocol), EPROTONOSUPPORT);
            bad += expect("high bits", syscall(SYS_socket, HIGH_BIT | inet, SOCK_DGRAM, HIGH_BIT | protocol),
                          EPROTONOSUPPORT);
        }
    }
    for (int type = SOCK_RAW + 1; type < 16; type++) /* SCTP and DCCP have types of their own */
        bad += expect("rare type", socket(type % 2 ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC, 0), EPROTONOSUPPORT);
    bad += expect("TCP", socket(AF_INET, SOCK_STREAM, IPPROTO_TCP), 0);
    bad += expect("UDP", socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP), 0);
    bad += expect("unix with a protocol", socket(AF_UNIX, SOCK_STREAM, 0), 0);
    return bad;
}

TEST(inet_sockets_speak_only_tcp_udp_and_icmp)
{
    CHECK_INT(confined(try_protocols), 0);
}

static int try_options(void)
{
    int one = 1, encap = UDP_ENCAP_ESPINUDP, tcp = socket(AF_INET, SOCK_STREAM, 0),
        udp = socket(AF_INET, SOCK_DGRAM, 0);
    return expect("TCP_ULP", setsockopt(tcp, IPPROTO_TCP, TCP_ULP, "tls", 4), EPERM) +
           expect("TCP_ULP, high bits",
                  syscall(SYS_setsockopt, tcp, HIGH_BIT | IPPROTO_TCP, HIGH_BIT | TCP_ULP, "tls", 4), EPERM) +
           expect("UDP_ENCAP", setsockopt(udp, IPPROTO_UDP, UDP_ENCAP, &encap, sizeof encap), EPERM) +
           expect("TCP_NODELAY", setsockopt(tcp, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one), 0) +
           expect("UDP_CORK", setsockopt(udp, IPPROTO_UDP, UDP_CORK, &one, sizeof one), 0) +
           expect("SO_REUSEADDR", setsockopt(tcp, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
}

TEST(options_that_lead_to_kernel_cryptography_are_refused)
{
    CHECK_INT(confined(try_options), 0);
}

static int try_huge_pages(void)
{
    int small = MAP_PRIVATE | MAP_ANONYMOUS, huge = small | MAP_HUGETLB;
    return expect("huge pages", mmap(NULL, 1 << 21, PROT_READ, huge, -1, 0) == MAP_FAILED ? -1 : 0, EPERM) +
           expect("huge pages, high bit",
                  syscall(SYS_mmap, 0L, 1L << 21, (long)PROT_READ, HIGH_BIT | huge | 30L << 26, -1L, 0L), EPERM) +
           expect("memory file of huge pages", memfd_create("x", MFD_HUGETLB), EPERM) +
           expect("shared memory of huge pages", shmget(IPC_PRIVATE, 1 << 21, SHM_HUGETLB | IPC_CREAT | 0600), EPERM) +
           expect("pages", mmap(NULL, 1 << 21, PROT_READ, small, -1, 0) == MAP_FAILED ? -1 : 0, 0) +
           expect("memory file", memfd_create("x", MFD_CLOEXEC), 0);
}

TEST(huge_pages_of_the_host_are_not_taken)
{
    CHECK_INT(confined(try_huge_pages), 0);
}

/* The limit of 1 keeps the kernel from starting the host's handler of crashes; 0 would not. */
static int try_core_limit(void)
{
    struct rlimit none = { 0, 0 }, now = { 7, 7 };
    int bad = expect("setrlimit", setrlimit(RLIMIT_CORE, &none), 0) +
              expect("the old call", syscall(SYS_setrlimit, HIGH_BIT | RLIMIT_CORE, &none), 0) +
              expect("prlimit64", syscall(SYS_prlimit64, 0L, HIGH_BIT | RLIMIT_CORE, &none, NULL), 0) +
              expect("asking", getrlimit(RLIMIT_CORE, &now), 0);
    struct rlimit files;
    bad += expect("another limit", getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = 100;
    bad += expect("another limit", setrlimit(RLIMIT_NOFILE, &files), 0) + (getrlimit(RLIMIT_NOFILE, &files) < 0);
    return bad + (now.rlim_cur != 1 || now.rlim_max != 1 || files.rlim_cur != 100);
}

TEST(the_limit_of_core_dumps_stays)
{
    struct rlimit one = { 1, 1 };
    if (setrlimit(RLIMIT_CORE, &one) < 0)
        return; /* started with a limit of 0, which only root can raise */
    CHECK_INT(confined(try_core_limit), 0);
}

static int try_namespace_requests(void)
{
    int bad = 0, ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC), pid = (int)syscall(SYS_pidfd_open, getpid(), 0);
    char arg[256] = { 0 };
    for (unsigned n = 1; n < 16; n++) {
        bad += expect("nsfs", ioctl(ns, 0xb700u | n, arg), EPERM);
        bad += expect("nsfs with a size", ioctl(ns, 0x8010b700u | n, arg), EPERM);
    }
    for (unsigned n = 1; n <= 10; n++)
        bad += expect("pidfd", ioctl(pid, 0xff00u | n, 0), EPERM);
    bad += ioctl(pid, 0xc040ff0bu, arg) < 0 && errno == EPERM; /* PIDFD_GET_INFO is not ours to refuse */
    return bad;
}

TEST(namespaces_are_not_handed_out_by_ioctl)
{
    CHECK_INT(confined(try_namespace_requests), 0);
}

int main(void)
{
    struct err err = ERR_INIT;
    if (filter_build(&filter, &err) < 0) {
        printf("Bail out! %s\n", err.msg);
        return 1;
    }
    RUN(every_denied_call_is_denied);
    RUN(no_namespace_can_be_made);
    RUN(only_four_socket_families_pass);
    RUN(terminal_injection_is_denied);
    RUN(only_the_plain_personality_passes);
    RUN(inet_sockets_speak_only_tcp_udp_and_icmp);
    RUN(options_that_lead_to_kernel_cryptography_are_refused);
    RUN(namespaces_are_not_handed_out_by_ioctl);
    RUN(huge_pages_of_the_host_are_not_taken);
    RUN(the_limit_of_core_dumps_stays);
    RUN(ordinary_programs_live_under_it);
    RUN(other_entries_and_newer_calls_do_not_exist);
    RUN(a_second_install_and_no_new_privs_hold);
    RUN(it_is_small_and_built_quickly);
    RUN(its_memfd_holds_the_same_and_is_sealed);
    filter_done(&filter);
    return tap_done();
}
