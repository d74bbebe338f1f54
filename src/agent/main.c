/* iii-guest: PID 1 of a sandbox. Modes:
 *   --stage CONTROL_FD --ptys N   native box: take the plan, build the root, drop privilege, then serve
 *   --connect FD [--listen FD]    serve a connected stream, and further links from a listening socket
 *   --listen-unix PATH            make the listening socket ourselves (tests)
 *   --dial-unix PATH              connect to the host's socket, and again whenever the link has ended (containers)
 * As /init of a VM it takes no options: see vm_boot.h.
 * --ptys N: pseudo-terminals of the box; --files N: descriptor limit of a process, where nobody else sets it
 * (containers) */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/conn.h"
#include "agent/denied.h"
#include "agent/exec.h"
#include "agent/job.h"
#include "agent/listening.h"
#include "agent/service.h"
#include "agent/spawn.h"
#include "agent/stage.h"
#include "agent/vm_boot.h"
#include "agent/vm_channel.h"
#include "os/unixsock.h"

struct options {
    int stage_fd, connect_fd, listen_fd, denied_fd, sockets_fd;
    int files, ptys;
    const char *listen_path, *dial_path;
    const struct vm_boot *vm;
};

/* Children inherit a clean state without a system call each: no signal is ignored or has a handler, and all are
 * blocked here. */
static void set_signals(void)
{
    sigset_t all;

    for (int i = 1; i < 65; i++)
        if (i != SIGKILL && i != SIGSTOP)
            (void)signal(i, SIG_DFL);
    (void)sigfillset(&all);
    (void)sigdelset(&all, SIGSEGV);
    (void)sigdelset(&all, SIGBUS);
    (void)sigdelset(&all, SIGABRT);
    (void)sigdelset(&all, SIGILL);
    (void)sigdelset(&all, SIGFPE);
    (void)sigdelset(&all, SIGSYS);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
}

static void agent_on_signal(struct agent_watch *w, uint32_t events)
{
    struct agent *a = (struct agent *)((char *)w - offsetof(struct agent, signals));
    struct signalfd_siginfo info[4];
    ssize_t n;

    (void)events;
    do {
        n = read(w->fd, info, sizeof(info));
        for (ssize_t i = 0; i < n / (ssize_t)sizeof(info[0]); i++)
            if (info[i].ssi_signo == SIGTERM)
                agent_loop_stop(&a->loop);
    } while (n == (ssize_t)sizeof(info));
    agent_exec_reap(a);
}

static void agent_on_connection(struct agent_watch *w, uint32_t events)
{
    struct agent *a = (struct agent *)((char *)w - offsetof(struct agent, listener));
    int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    (void)events;
    if (fd >= 0)
        (void)agent_conn_new(a, fd); /* out of memory: the host sees the end of file */
}

/* Fails while no server listens; the loop arms the timer again before it sleeps. */
static void agent_redial(struct agent_timer *t)
{
    struct agent *a = (struct agent *)((char *)t - offsetof(struct agent, redial));
    int fd = a->conns ? -EISCONN : unixsock_dial(a->dial_path);

    if (fd >= 0)
        (void)agent_conn_new(a, fd);
}

static void before_sleep(void *arg)
{
    agent_conn_settle(arg);
}

static int agent_serve(struct options *o)
{
    struct agent a = { .listener.fd = -EBADF, .denied.fd = -EBADF };
    sigset_t ours;

    set_signals();
    (void)prctl(PR_SET_DUMPABLE,
                0); /* no process in the box can read our memory or open our descriptors through /proc */
    if (getpid() != 1)
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)umask(022);
    agent_spawn_init();
    int r = agent_loop_init(&a.loop);
    (void)sigemptyset(&ours);
    (void)sigaddset(&ours, SIGCHLD);
    if (getpid() != 1) /* any process in the box may send it to PID 1 */
        (void)sigaddset(&ours, SIGTERM);
    if (r == 0) {
        a.signals =
            (struct agent_watch){ .fd = signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC), .fn = agent_on_signal };
        r = a.signals.fd < 0 ? -errno : agent_loop_watch(&a.loop, &a.signals, EPOLLIN);
    }
    if (r == 0 && o->listen_fd >= 0) {
        a.listener = (struct agent_watch){ .fd = o->listen_fd, .fn = agent_on_connection };
        bool is_set = fcntl(a.listener.fd, F_SETFL, O_NONBLOCK) == 0 && fcntl(a.listener.fd, F_SETFD, FD_CLOEXEC) == 0;
        r = is_set ? agent_loop_watch(&a.loop, &a.listener, EPOLLIN) : -errno;
    }
    if (r == 0 && o->connect_fd >= 0)
        r = agent_conn_new(&a, o->connect_fd);
    if (r == 0 && o->vm)
        r = agent_vm_channel_start(&a, o->vm);
    if (r < 0)
        return r;
    agent_denied_start(&a, o->denied_fd);
    agent_listening_start(&a, o->sockets_fd);
    a.dial_path = o->dial_path;
    a.redial.fn = agent_redial;
    if (a.dial_path)
        agent_redial(&a.redial);
    agent_loop_run(&a.loop, before_sleep, &a);
    agent_conn_end_all(&a);
    agent_service_end_all(&a);
    agent_exec_end_all(&a);
    agent_job_end_all(&a);
    agent_listening_end(&a);
    agent_loop_done(&a.loop);
    return 0;
}

static int options_parse(int argc, char **argv, struct options *o)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        int *fd = NULL;
        if (strcmp(argv[i], "--stage") == 0)
            fd = &o->stage_fd;
        else if (strcmp(argv[i], "--connect") == 0)
            fd = &o->connect_fd;
        else if (strcmp(argv[i], "--listen") == 0)
            fd = &o->listen_fd;
        else if (strcmp(argv[i], "--files") == 0)
            fd = &o->files;
        else if (strcmp(argv[i], "--ptys") == 0)
            fd = &o->ptys;
        else if (strcmp(argv[i], "--listen-unix") == 0)
            o->listen_path = argv[i + 1];
        else if (strcmp(argv[i], "--dial-unix") == 0)
            o->dial_path = argv[i + 1];
        else
            return -EINVAL;
        if (!fd)
            continue;
        char *end;
        long number = strtol(argv[i + 1], &end, 10);
        if (argv[i + 1][0] == '\0' || *end || number < 0 || number > INT_MAX)
            return -EINVAL;
        *fd = (int)number;
    }
    bool has_mode = o->stage_fd >= 0 || o->connect_fd >= 0 || o->listen_fd >= 0 || o->listen_path || o->dial_path;
    return argc % 2 == 1 && has_mode ? 0 : -EINVAL;
}

/* The limits of a native box. A lower hard limit cannot be raised here; core dumps are off (box_root_quiet()). */
static int set_limits(int files)
{
    struct rlimit all, core = { 1, 1 };
    if (files == 0)
        return 0;
    if (getrlimit(RLIMIT_NOFILE, &all) < 0)
        return -errno;
    if (all.rlim_max > (rlim_t)files)
        all.rlim_max = (rlim_t)files;
    all.rlim_cur = all.rlim_max;
    return setrlimit(RLIMIT_CORE, &core) < 0 || setrlimit(RLIMIT_NOFILE, &all) < 0 ? -errno : 0;
}

int main(int argc, char **argv)
{
    struct options o = {
        .stage_fd = -EBADF, .connect_fd = -EBADF, .listen_fd = -EBADF, .denied_fd = -EBADF, .sockets_fd = -EBADF
    };

    if (vm_boot_is_init(argv)) {
        struct vm_boot vm;
        vm_boot_run(&vm);
        o.vm = &vm;
        o.sockets_fd = agent_listening_socket();
        return agent_serve(&o) < 0;
    }
    if (options_parse(argc, argv, &o) < 0) {
        (void)fprintf(
            stderr,
            "usage: iii-guest --connect FD [--listen FD] | --listen-unix PATH | --dial-unix PATH | --stage FD\n");
        return 2;
    }
    if (o.stage_fd >= 0) {
        struct stage_result staged;
        if (stage_run(o.stage_fd, o.ptys, &staged) < 0)
            return 1;
        o.connect_fd = staged.conn_fd;
        o.listen_fd = staged.listen_fd;
        o.denied_fd = staged.denied_fd;
        o.sockets_fd = staged.sockets_fd;
    } else {
        o.sockets_fd = agent_listening_socket();
    }
    int r = set_limits(o.files);
    if (r < 0) {
        (void)fprintf(stderr, "iii-guest: set resource limits: %s\n", strerror(-r));
        return 1;
    }
    if (o.listen_path) {
        (void)unlink(o.listen_path); /* left by an earlier agent */
        mode_t old = umask(0177);
        o.listen_fd = unixsock_listen(o.listen_path, 0, 16);
        (void)umask(old);
        if (o.listen_fd < 0) {
            (void)fprintf(stderr, "iii-guest: listen at %s: %s\n", o.listen_path, strerror(-o.listen_fd));
            return 1;
        }
    }
    return agent_serve(&o) < 0;
}
