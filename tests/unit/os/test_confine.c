/* Each case enters the real profile in a child and tries what it forbids there. A child answers with the number of the
 * attempt that went wrong, 0 when none did. */
#include "os/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tap.h"

#ifdef __SANITIZE_ADDRESS__
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif
#define OTHER_ID 65533

static char folder[] = "/tmp/iii-confine-XXXXXX";

typedef int attempt_fn(void);

/* The line of the first attempt that ended otherwise. */
#define WANT(cond)           \
    do {                     \
        if (!(cond))         \
            return __LINE__; \
    } while (0)

/* Runs fn in a child; its result comes through a pipe, since a line number is more than an exit code holds. */
static int in_child(attempt_fn *fn)
{
    int pair[2], line = -1;
    if (pipe(pair) < 0)
        return -1;
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        line = fn();
        _exit(write(pair[1], &line, sizeof(line)) == sizeof(line) ? 0 : 1);
    }
    (void)close(pair[1]);
    if (read(pair[0], &line, sizeof(line)) != sizeof(line))
        line = -1; /* it died */
    (void)close(pair[0]);
    (void)waitpid(pid, NULL, 0);
    return line;
}

static bool is_refused(long result, int why)
{
    return result == -1 && errno == why;
}

/* --- system calls --- */

static void *nothing(void *arg)
{
    return arg;
}

static int try_programs(void)
{
    char *const argv[] = { (char *)(uintptr_t) "true", NULL };
    WANT(confine_calls(NULL) == 0);
    WANT(is_refused(execve("/bin/true", argv, NULL), EPERM));
    WANT(is_refused(syscall(SYS_execveat, AT_FDCWD, "/bin/true", argv, NULL, 0), EPERM));
    WANT(is_refused(fork(), EPERM));
    WANT(is_refused(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0), EPERM));
    WANT(is_refused(syscall(SYS_clone, CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, 0, 0, 0, 0), EPERM));
    WANT(is_refused(ptrace(PTRACE_TRACEME, 0, NULL, NULL), EPERM));
    WANT(is_refused(kill(getppid(), 0), EPERM));
    return 0;
}

static int try_calls(void)
{
    struct {
        uint32_t version;
        int pid;
    } head = { _LINUX_CAPABILITY_VERSION_3, 0 };
    WANT(confine_calls(NULL) == 0);
    WANT(is_refused(syscall(SYS_clone3, NULL, 0), ENOSYS));
    WANT(is_refused(mount("none", folder, "tmpfs", 0, NULL), EPERM));
    WANT(is_refused(umount2("/", MNT_DETACH), EPERM));
    WANT(is_refused(unshare(CLONE_NEWUSER), EPERM));
    WANT(is_refused(unshare(CLONE_FS), EPERM));
    WANT(is_refused(setns(0, 0), EPERM));
    WANT(is_refused(syscall(SYS_bpf, 0, NULL, 0), EPERM));
    WANT(is_refused(syscall(SYS_keyctl, 0, 0, 0, 0, 0), EPERM));
    WANT(is_refused(syscall(SYS_io_uring_setup, 1, NULL), ENOSYS));
    WANT(is_refused(syscall(SYS_userfaultfd, 0), EPERM));
    WANT(is_refused(syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0), EPERM));
    WANT(is_refused(syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0), EPERM));
    WANT(is_refused(syscall(SYS_pidfd_getfd, 0, 0, 0), EPERM));
    WANT(is_refused(syscall(SYS_pidfd_send_signal, 0, 0, NULL, 0), EPERM));
    WANT(is_refused(syscall(SYS_setresuid, getuid(), getuid(), getuid()), EPERM));
    WANT(is_refused(syscall(SYS_setresgid, getgid(), getgid(), getgid()), EPERM));
    WANT(is_refused(syscall(SYS_capset, &head, NULL), EPERM));
    WANT(is_refused(chown(folder, getuid(), getgid()), EPERM));
    WANT(is_refused(chroot("/"), EPERM));
    WANT(is_refused(mknod("/tmp/none", S_IFIFO, 0), EPERM));
    WANT(is_refused(syscall(SYS_reboot, 0, 0, 0, NULL), EPERM));
    return 0;
}

static int try_sockets(void)
{
    static const int refused[] = { AF_PACKET, 38 /* AF_ALG */, 40 /* AF_VSOCK */, 16 + 28, 17, 31 /* AF_BLUETOOTH */ };
    static const int allowed[] = { AF_UNIX, AF_INET };
    WANT(confine_calls(NULL) == 0);
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
        WANT(is_refused(socket(refused[i], SOCK_STREAM, 0), EPERM));
    WANT(is_refused(socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT), EPERM));
    for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++)
        WANT(socket(allowed[i], SOCK_STREAM, 0) >= 0);
    WANT(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE) >= 0); /* getaddrinfo() asks for our addresses */
    return 0;
}

static int try_ordinary_life(void)
{
    pthread_t thread;
    int pair[2];
    WANT(confine_calls(NULL) == 0);
    WANT(pthread_create(&thread, NULL, nothing, NULL) == 0);
    WANT(pthread_join(thread, NULL) == 0);
    WANT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
    WANT(open("/proc/self/status", O_RDONLY | O_CLOEXEC) >= 0);
    WANT(raise(0) == 0); /* abort() needs to signal itself */
    return 0;
}

TEST(no_program_and_no_process_is_started)
{
    CHECK_INT(in_child(try_programs), 0);
}

TEST(calls_into_the_kernels_depths_are_refused)
{
    CHECK_INT(in_child(try_calls), 0);
}

TEST(sockets_are_those_of_a_server)
{
    CHECK_INT(in_child(try_sockets), 0);
}

TEST(threads_files_and_pairs_work_on)
{
    CHECK_INT(in_child(try_ordinary_life), 0);
}

/* --- files --- */

static int enter_folder(void)
{
    const struct confine_place places[] = {
        { folder, CONFINE_WRITE }, { "/usr", CONFINE_READ }, { "/proc", CONFINE_READ }, { "/none/such", CONFINE_READ }
    };
    return confine_files(places, sizeof(places) / sizeof(*places), NULL);
}

static int try_files(void)
{
    char *const argv[] = { (char *)(uintptr_t) "true", NULL };
    WANT(chdir(folder) == 0);
    WANT(symlink("/etc/passwd", "link") == 0);
    WANT(enter_folder() >= 1);
    WANT(is_refused(open("/etc/shadow", O_RDONLY | O_CLOEXEC), EACCES));
    WANT(is_refused(open("/etc/passwd", O_RDONLY | O_CLOEXEC), EACCES));
    WANT(is_refused(open("link", O_RDONLY | O_CLOEXEC), EACCES));
    WANT(is_refused(open("../iii-none", O_WRONLY | O_CREAT | O_CLOEXEC, 0600), EACCES));
    WANT(is_refused(open("/usr/bin/env", O_WRONLY | O_CLOEXEC), EACCES));
    WANT(is_refused(mkdir("/usr/iii-none", 0700), EACCES));
    WANT(is_refused(unlink("/etc/hostname"), EACCES));
    WANT(is_refused(execve("/usr/bin/env", argv, NULL), EACCES));
    WANT(is_refused(mount("none", folder, "tmpfs", 0, NULL), EPERM));
    WANT(open("/usr/bin/env", O_RDONLY | O_CLOEXEC) >= 0);
    WANT(mkdir("inside", 0700) == 0);
    WANT(open("inside/file", O_RDWR | O_CREAT | O_CLOEXEC, 0600) >= 0);
    WANT(rename("inside/file", "file") == 0);
    WANT(truncate("file", 10) == 0);
    WANT(unlink("file") == 0 && rmdir("inside") == 0 && unlink("link") == 0);
    WANT(is_refused(mknod("null", S_IFCHR | 0600, 0), EACCES));
    return 0;
}

static int try_signal(void)
{
    int version = enter_folder();
    WANT(version >= 1);
    WANT(version < 6 || is_refused(kill(getppid(), 0), EPERM));
    return 0;
}

TEST(only_the_places_named_can_be_opened)
{
    CHECK_INT(in_child(try_files), 0);
}

TEST(nobody_outside_can_be_signalled)
{
    CHECK_INT(in_child(try_signal), 0);
}

/* --- identity --- */

static bool has_line(const char *line)
{
    char text[8192];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        (void)close(fd);
    text[n < 0 ? 0 : n] = '\0';
    return strstr(text, line) != NULL;
}

static bool has_no_capability(void)
{
    return has_line("\nCapInh:\t0000000000000000\n") && has_line("\nCapPrm:\t0000000000000000\n") &&
           has_line("\nCapEff:\t0000000000000000\n") && has_line("\nCapAmb:\t0000000000000000\n");
}

static int try_other_user(void)
{
    WANT(confine_identity(&(struct confine_who){ .uid = OTHER_ID, .gid = OTHER_ID }, 0, NULL) == 0);
    WANT(has_no_capability() && has_line("\nCapBnd:\t0000000000000000\n") && has_line("\nNoNewPrivs:\t1\n"));
    WANT(has_line("\nUid:\t65533\t65533\t65533\t65533\n") && has_line("\nGid:\t65533\t65533\t65533\t65533\n"));
    WANT(has_line("\nGroups:\t \n"));
    WANT(is_refused(setresuid(0, 0, 0), EPERM) && is_refused(setresgid(0, 0, 0), EPERM));
    WANT(prctl(PR_GET_DUMPABLE) == 0);
    WANT(is_refused(prctl(PR_SET_SECUREBITS, 0, 0, 0, 0), EPERM));
    return 0;
}

/* uid 0 counts for nothing but for what root owns. */
static int try_bare_root(void)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "%s/others", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    WANT(fd >= 0 && fchown(fd, OTHER_ID, OTHER_ID) == 0);
    WANT(confine_identity(&(struct confine_who){ .uid = 0, .gid = 0 }, 0, NULL) == 0);
    WANT(has_no_capability() && has_line("\nCapBnd:\t0000000000000000\n"));
    WANT(is_refused(open(path, O_RDONLY | O_CLOEXEC), EACCES));
    WANT(is_refused(chown(path, 0, 0), EPERM));
    WANT(is_refused(setresuid(1, 1, 1), EPERM));
    WANT(unlink(path) == 0); /* root's own folder */
    return 0;
}

static int try_kept(void)
{
    WANT(confine_identity(&(struct confine_who){ .uid = 0, .gid = 0 }, UINT64_C(1) << CAP_CHOWN, NULL) == 0);
    WANT(has_line("\nCapEff:\t0000000000000001\n") && has_line("\nCapBnd:\t0000000000000001\n"));
    return 0;
}

static int try_ordinary(void)
{
    WANT(confine_identity(&(struct confine_who){ .uid = getuid(), .gid = getgid() }, 0, NULL) == 0);
    WANT(has_no_capability() && has_line("\nNoNewPrivs:\t1\n") && prctl(PR_GET_DUMPABLE) == 0);
    return 0;
}

static int try_ordinary_after_root(void)
{
    WANT(setresgid(OTHER_ID, OTHER_ID, OTHER_ID) == 0 && setresuid(OTHER_ID, OTHER_ID, OTHER_ID) == 0);
    return try_ordinary();
}

TEST(root_becomes_somebody_without_capabilities)
{
    CHECK_INT(in_child(try_other_user), 0);
}

TEST(root_that_stays_root_keeps_nothing_of_it)
{
    CHECK_INT(in_child(try_bare_root), 0);
}

TEST(what_is_asked_to_be_kept_is_kept)
{
    CHECK_INT(in_child(try_kept), 0);
}

TEST(an_ordinary_user_stays_one)
{
    CHECK_INT(in_child(geteuid() == 0 ? try_ordinary_after_root : try_ordinary), 0);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    if (IS_SANITIZED)
        SKIP(no_program_and_no_process_is_started, "the leak check needs them");
    else
        RUN(no_program_and_no_process_is_started);
    RUN(calls_into_the_kernels_depths_are_refused);
    RUN(sockets_are_those_of_a_server);
    RUN(threads_files_and_pairs_work_on);
    if (confine_landlock() == 0) {
        SKIP(only_the_places_named_can_be_opened, "this kernel has no landlock");
        SKIP(nobody_outside_can_be_signalled, "this kernel has no landlock");
    } else {
        RUN(only_the_places_named_can_be_opened);
        RUN(nobody_outside_can_be_signalled);
    }
    if (geteuid() == 0) {
        RUN(root_becomes_somebody_without_capabilities);
        RUN(root_that_stays_root_keeps_nothing_of_it);
        RUN(what_is_asked_to_be_kept_is_kept);
    } else {
        SKIP(root_becomes_somebody_without_capabilities, "needs root");
        SKIP(root_that_stays_root_keeps_nothing_of_it, "needs root");
        SKIP(what_is_asked_to_be_kept_is_kept, "needs root");
    }
    RUN(an_ordinary_user_stays_one);
    (void)rmdir(folder);
    return tap_done();
}
