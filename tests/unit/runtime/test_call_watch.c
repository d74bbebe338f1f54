/* The process that answers denied system calls: a child with a watched filter stands for a box. */
#include "runtime/native/call_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/denied_call.h"
#include "os/seqsock.h"
#include "os/watched_filter.h"
#include "tap.h"

static struct filter filters[FILTER_PROFILES];
static struct call_watch watch;
static int *listener_copy; /* where the next box_start() leaves a copy of its listener; NULL: nowhere */

struct fake_box {
    pid_t pid;
    int orders; /* numbers of calls to make; replies are their errno */
    int reports;
};

static void serve_orders(int orders)
{
    uint32_t nr;
    (void)prctl(PR_SET_NAME, "b\033[31m\nx");
    while (read(orders, &nr, sizeof(nr)) == (ssize_t)sizeof(nr)) {
        errno = 0;
        long r = syscall(nr, -1L, -1L, -1L, -1L, -1L);
        uint32_t got = r < 0 ? (uint32_t)errno : 0;
        (void)!write(orders, &got, sizeof(got));
    }
    _exit(0);
}

/* False: this kernel gives no listener here. */
static bool box_start(struct fake_box *b, enum filter_profile profile)
{
    int orders[2], pass[2], pipes[2], listener = -1;
    size_t n_fds = 0;
    char word;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, orders) == 0 && pipe2(pipes, O_CLOEXEC) == 0 &&
          socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pass) == 0);
    b->pid = fork();
    if (b->pid == 0) {
        static struct sock_filter insns[BPF_MAXINSNS];
        memcpy(insns, filters[profile].insn, filters[profile].count * sizeof(*insns));
        struct sock_fprog prog = { .len = (unsigned short)watched_filter(insns, filters[profile].count),
                                   .filter = insns };
        seqsock_close_all((int[]){ orders[0], pipes[0], pipes[1] }, 3);
        (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
        struct iovec parts[2] = { { (char[]){ 'x' }, 1 }, { NULL, 0 } };
        (void)seqsock_send(pass[1], parts, &fd, fd >= 0 ? 1 : 0);
        (void)close(fd);
        serve_orders(orders[1]);
    }
    CHECK(seqsock_recv(pass[0], &word, 1, &listener, 1, &n_fds) == 1);
    seqsock_close_all((int[]){ orders[1], pass[0], pass[1] }, 3);
    b->orders = orders[0];
    b->reports = pipes[0];
    if (n_fds == 1)
        CHECK_INT(call_watch_add(&watch, profile, listener, pipes[1]), 0);
    if (listener_copy && n_fds == 1)
        *listener_copy = fcntl(listener, F_DUPFD_CLOEXEC, 0);
    listener_copy = NULL;
    seqsock_close_all((int[]){ listener, pipes[1] }, 2);
    return n_fds == 1;
}

static void box_stop(struct fake_box *b)
{
    (void)close(b->orders);
    (void)kill(b->pid, SIGKILL);
    (void)waitpid(b->pid, NULL, 0);
    (void)close(b->reports);
}

static int call_of(struct fake_box *b, uint32_t nr)
{
    uint32_t got = 0;
    CHECK(write(b->orders, &nr, sizeof(nr)) == (ssize_t)sizeof(nr));
    CHECK(read(b->orders, &got, sizeof(got)) == (ssize_t)sizeof(got));
    return (int)got;
}

static struct denied_call next_report(const struct fake_box *b)
{
    struct denied_call d = { 0 };
    CHECK(read(b->reports, &d, sizeof(d)) == (ssize_t)sizeof(d));
    return d;
}

TEST(a_denied_call_has_its_error_and_is_reported)
{
    struct fake_box b, strict;
    if (!box_start(&b, FILTER_DEFAULT)) {
        printf("# no listener: an outer sandbox has one, or the kernel is older than 5.0\n");
        box_stop(&b);
        return;
    }
    CHECK_INT(call_of(&b, SYS_mount), EPERM);
    struct denied_call d = next_report(&b);
    CHECK_INT(d.nr, SYS_mount);
    CHECK_INT(d.error, EPERM);
    CHECK_INT(d.count, 1);
    CHECK_INT(d.lost, 0);
    CHECK_INT(d.pid, b.pid);
    CHECK_STR(d.program, "b\033[31m\nx");
    CHECK_INT(call_of(&b, 425), ENOSYS); /* io_uring_setup */
    CHECK_INT(call_of(&b, SYS_ptrace), ESRCH);
    d = next_report(&b);
    CHECK_INT(d.nr, 425);
    CHECK(box_start(&strict, FILTER_STRICT));
    CHECK_INT(call_of(&strict, SYS_ptrace), EPERM);
    CHECK_INT(next_report(&strict).nr, SYS_ptrace);
    box_stop(&strict);
    box_stop(&b);
}

/* Every call is answered and counted, in a few lines. */
TEST(a_flood_is_few_lines_and_every_call_is_answered)
{
    struct fake_box b;
    if (!box_start(&b, FILTER_DEFAULT)) {
        box_stop(&b);
        return;
    }
    uint64_t calls = 3 * CALL_WATCH_ANSWERS, counted = 0, lines = 0;
    for (uint64_t i = 0; i < calls; i++)
        CHECK_INT(call_of(&b, i % 2 ? SYS_mount : SYS_bpf), EPERM);
    while (counted < calls) {
        struct denied_call d = next_report(&b);
        CHECK(d.nr == SYS_mount || d.nr == SYS_bpf);
        counted += d.count + d.lost;
        lines++;
    }
    CHECK_INT(counted, calls);
    CHECK(lines <= 10);
    box_stop(&b);
}

TEST(lines_that_do_not_fit_are_counted)
{
    static const int denied[] = { SYS_mount,         SYS_bpf,         SYS_setns,        SYS_swapon,     SYS_swapoff,
                                  SYS_reboot,        SYS_acct,        SYS_keyctl,       SYS_add_key,    SYS_request_key,
                                  SYS_quotactl,      SYS_vhangup,     SYS_syslog,       SYS_pivot_root, SYS_umount2,
                                  SYS_fanotify_init, SYS_init_module, SYS_clock_settime };
    struct fake_box b;
    if (!box_start(&b, FILTER_DEFAULT)) {
        box_stop(&b);
        return;
    }
    uint64_t calls = sizeof(denied) / sizeof(*denied), counted = 0, lost = 0;
    CHECK(calls > CALL_WATCH_LINES + 1); /* the first is reported at once */
    for (size_t i = 0; i < calls; i++)
        CHECK_INT(call_of(&b, (uint32_t)denied[i]), EPERM);
    while (counted + lost < calls) {
        struct denied_call d = next_report(&b);
        counted += d.count;
        lost += d.lost;
    }
    CHECK_INT(counted + lost, calls);
    box_stop(&b);
}

TEST(without_the_process_a_call_is_still_denied)
{
    struct fake_box b, next;
    if (!box_start(&b, FILTER_DEFAULT)) {
        box_stop(&b);
        return;
    }
    CHECK_INT(call_of(&b, SYS_mount), EPERM);
    pid_t first = watch.pid;
    CHECK_INT(kill(first, SIGKILL), 0);
    CHECK_INT(waitpid(first, NULL, 0), first);
    CHECK_INT(call_of(&b, SYS_mount), ENOSYS);
    CHECK(box_start(&next, FILTER_DEFAULT)); /* has a new one */
    CHECK(watch.pid != first);
    CHECK_INT(call_of(&next, SYS_mount), EPERM);
    box_stop(&next);
    box_stop(&b);
}

/* Its listener is still open elsewhere, and readable: no event of it may reach the box that has its memory now. A turn
 * that took one would wait for a call of that box forever, and every other box would lose its answers. */
TEST(a_box_that_is_gone_has_no_events)
{
    struct fake_box gone, other, next;
    int copy = -1;
    uint32_t nr = SYS_mount;
    if (!box_start(&other, FILTER_DEFAULT)) {
        box_stop(&other);
        return;
    }
    listener_copy = &copy;
    CHECK(box_start(&gone, FILTER_DEFAULT)); /* no child forked later has its pipe */
    CHECK_INT(call_of(&gone, SYS_mount), EPERM);
    (void)close(gone.reports); /* as when the agent is gone */
    gone.reports = -1;
    CHECK_INT(call_of(&other, SYS_mount), EPERM);
    CHECK(box_start(&next, FILTER_DEFAULT));
    CHECK_INT(call_of(&other, SYS_mount), EPERM);
    CHECK(write(gone.orders, &nr, sizeof(nr)) == (ssize_t)sizeof(nr));
    CHECK_INT(poll(&(struct pollfd){ .fd = copy, .events = POLLIN }, 1, -1), 1);
    for (int i = 0; i < 3; i++)
        CHECK_INT(call_of(&other, SYS_bpf), EPERM);
    CHECK_INT(call_of(&next, SYS_bpf), EPERM);
    (void)close(copy);
    box_stop(&gone); /* its call waits until then: another process has the copy, too */
    box_stop(&next);
    box_stop(&other);
}

/* Ends and calls arrive in the same turns: nobody's call is lost, and the process lives. */
TEST(boxes_that_end_together_take_nobody_along)
{
    enum { MANY = 24 };
    struct fake_box stays, many[MANY];
    uint32_t nr = SYS_mount;
    if (!box_start(&stays, FILTER_DEFAULT)) {
        box_stop(&stays);
        return;
    }
    pid_t pid = watch.pid;
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < MANY; i++)
            CHECK(box_start(&many[i], FILTER_DEFAULT));
        CHECK_INT(call_of(&many[MANY - 1], SYS_bpf), EPERM); /* it has them all */
        CHECK_INT(kill(watch.pid, SIGSTOP), 0);              /* so that what follows is one turn */
        for (int i = 0; i < MANY; i++) {
            CHECK(write(many[i].orders, &nr, sizeof(nr)) == (ssize_t)sizeof(nr));
            if (i % 2)
                (void)kill(many[i].pid, SIGKILL);
        }
        CHECK(write(stays.orders, &nr, sizeof(nr)) == (ssize_t)sizeof(nr));
        for (int i = 1; i < MANY; i += 2)
            box_stop(&many[i]);
        CHECK_INT(kill(watch.pid, SIGCONT), 0);
        for (int i = 0; i < MANY; i += 2) {
            uint32_t got = 0;
            CHECK(read(many[i].orders, &got, sizeof(got)) == (ssize_t)sizeof(got));
            CHECK_INT(got, EPERM);
            box_stop(&many[i]);
        }
        uint32_t got = 0;
        CHECK(read(stays.orders, &got, sizeof(got)) == (ssize_t)sizeof(got));
        CHECK_INT(got, EPERM);
    }
    CHECK_INT(watch.pid, pid);
    CHECK_INT(waitpid(pid, NULL, WNOHANG), 0);
    box_stop(&stays);
}

TEST(it_exits_with_the_last_box_and_not_before)
{
    struct fake_box b;
    if (!box_start(&b, FILTER_DEFAULT)) {
        box_stop(&b);
        return;
    }
    pid_t pid = watch.pid;
    CHECK_INT(call_of(&b, SYS_mount), EPERM);
    call_watch_done(&watch);
    CHECK_INT(call_of(&b, SYS_bpf), EPERM); /* the launcher is gone, the box is not */
    box_stop(&b);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
    struct err err = ERR_INIT;
    for (int i = 0; i < FILTER_PROFILES; i++)
        if (filter_build_profile((enum filter_profile)i, &filters[i], &err) < 0) {
            printf("Bail out! %s\n", err.msg);
            return 1;
        }
    (void)signal(SIGPIPE, SIG_IGN);
    call_watch_init(&watch, filters);
    RUN(a_denied_call_has_its_error_and_is_reported);
    RUN(a_flood_is_few_lines_and_every_call_is_answered);
    RUN(lines_that_do_not_fit_are_counted);
    RUN(without_the_process_a_call_is_still_denied);
    RUN(a_box_that_is_gone_has_no_events);
    RUN(boxes_that_end_together_take_nobody_along);
    RUN(it_exits_with_the_last_box_and_not_before);
    for (int i = 0; i < FILTER_PROFILES; i++)
        filter_done(&filters[i]);
    return tap_done();
}
