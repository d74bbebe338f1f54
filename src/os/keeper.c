/* Rules of the keeper: it is forked before any external input is read, has one thread, opens nothing, keeps only the
 * descriptors of the socket and the program, and takes no path, argument or environment from its client. Its
 * children are its siblings (CLONE_PARENT), so that the server reaps them and they outlive the keeper. */
#include "os/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "os/proc.h"
#include "os/seqsock.h"

#define VERSION    1u
#define SOCKET_FD  3
#define PROGRAM_FD 4
#define JOB_FD     3 /* where a job finds its descriptor */
#define FIRST_FREE 5

enum keeper_op { KEEPER_RUN, KEEPER_KILL };

struct request {
    uint32_t version, op, job; /* job: for run */
    int32_t pid;               /* for kill */
};

struct answer {
    int32_t result; /* 0 or -errno */
    int32_t pid;
};

struct keeper {
    int sock;
    pid_t pid;
    bool is_root;
    pthread_mutex_t mutex; /* one request and its reply at a time */
};

/* --- the keeper's own side --- */

/* A started process; free entry: pid 0. Until its pidfd reports the exit, the pid is its own. */
struct running {
    unsigned job;
    pid_t pid;
    int pidfd;
};

struct den {
    const struct keeper_job *jobs;
    size_t n_jobs;
    struct running running[KEEPER_RUN_MAX];
};

/* The entries of the environment that a job gets; NULL-terminated. */
static void kept_of(const struct keeper_job *job, char *env[KEEPER_KEPT_MAX + 1])
{
    extern char **environ;
    size_t n = 0;
    for (const char *const *name = job->kept; name && *name && n < KEEPER_KEPT_MAX; name++)
        for (char **at = environ; *at && n < KEEPER_KEPT_MAX; at++) {
            size_t len = strcspn(*name, "*");
            if (strncmp(*at, *name, len) == 0 && ((*name)[len] == '*' || (*at)[len] == '='))
                env[n++] = *at;
        }
    env[n] = NULL;
}

__attribute__((noreturn)) static void become_job(const struct keeper_job *job, int fd)
{
    static char name[] = "iii", none[] = "";
    char *argv[KEEPER_ARGS_MAX + 1] = { name }, *env[KEEPER_KEPT_MAX + 1];
    kept_of(job, env);
    for (size_t i = 0; i + 1 < KEEPER_ARGS_MAX && job->args[i]; i++)
        argv[i + 1] = (char *)(uintptr_t)job->args[i];
    int program = fcntl(PROGRAM_FD, F_DUPFD_CLOEXEC, FIRST_FREE + 1);
    if (program < 0 || dup2(fd, JOB_FD) < 0) /* over the keeper's socket */
        _exit(126);
    (void)signal(SIGINT, SIG_DFL); /* neither can fail */
    (void)signal(SIGTERM, SIG_DFL);
    (void)syscall(SYS_execveat, program, none, argv, env, AT_EMPTY_PATH);
    _exit(127);
}

static void job_end(struct running *r)
{
    if (r->pid == 0)
        return;
    (void)proc_signal(r->pidfd, SIGKILL); /* gone already is fine */
    (void)close(r->pidfd);                /* only a handle; the server reaps it */
    r->pid = 0;
}

static int run_job(struct den *d, unsigned job, int fd, struct running **ret)
{
    int pidfd = NO_FD;
    struct running *r = NULL; /* a free entry, or one of an exited process */
    for (size_t i = 0; i < KEEPER_RUN_MAX; i++) {
        struct running *at = &d->running[i];
        struct pollfd p = { .fd = at->pidfd, .events = POLLIN };
        bool is_replaced = at->job == job && !d->jobs[job].is_many;
        if (is_replaced || (at->pid != 0 && poll(&p, 1, 0) == 1))
            job_end(at);
        if (at->pid == 0 && !r)
            r = at;
    }
    if (!r)
        return -EAGAIN;
    /* A fork whose child is the keeper's sibling, so that the server reaps it. Container engines answer clone3 with
     * ENOSYS: then clone, which returns the pidfd where others have the parent's tid. */
    struct clone_args args = { .flags = CLONE_PIDFD | CLONE_PARENT, .pidfd = (uint64_t)(uintptr_t)&pidfd };
    long pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid < 0 && errno == ENOSYS)
        pid = syscall(SYS_clone, CLONE_PIDFD | CLONE_PARENT, 0, &pidfd, 0, 0);
    if (pid == 0)
        become_job(&d->jobs[job], fd);
    if (pid < 0)
        return -errno;
    *r = (struct running){ .job = job, .pid = (pid_t)pid, .pidfd = pidfd };
    *ret = r;
    return 0;
}

/* False: the server is gone, or sent invalid data. */
static bool serve_one(struct den *d)
{
    struct request q;
    size_t n_fds = 0;
    int fd = NO_FD;
    ssize_t n = seqsock_recv(SOCKET_FD, &q, sizeof(q), &fd, 1, &n_fds);
    if (n_fds == 0)
        fd = NO_FD;
    CLEANUP(close_fd_p) int owned = fd;
    if (n != (ssize_t)sizeof(q) || q.version != VERSION)
        return false;
    if (q.op == KEEPER_KILL) {
        for (size_t i = 0; i < KEEPER_RUN_MAX && q.pid > 0; i++)
            if (d->running[i].pid == q.pid)
                job_end(&d->running[i]);
        return true;
    }
    if (q.op != KEEPER_RUN || q.job >= d->n_jobs || !d->jobs[q.job].args[0] || owned < 0)
        return false;
    struct running *r = NULL;
    struct answer a = { .result = run_job(d, q.job, owned, &r) };
    a.pid = r ? r->pid : 0;
    struct iovec parts[2] = { { &a, sizeof(a) }, { NULL, 0 } };
    int pidfd = r ? r->pidfd : NO_FD;
    (void)seqsock_send(SOCKET_FD, parts, &pidfd, pidfd >= 0); /* the next read notices a server that is gone */
    return true;
}

__attribute__((noreturn)) static void be_keeper(int sock, int program, const struct keeper_job *jobs, size_t n)
{
    struct den d = { .jobs = jobs, .n_jobs = n };
    int keep = fcntl(sock, F_DUPFD_CLOEXEC, 10), exe = fcntl(program, F_DUPFD_CLOEXEC, 10);
    if (keep < 0 || exe < 0 || dup3(keep, SOCKET_FD, O_CLOEXEC) < 0 || dup3(exe, PROGRAM_FD, O_CLOEXEC) < 0 ||
        proc_close_from(FIRST_FREE) < 0)
        _exit(1);
    (void)prctl(PR_SET_NAME, "iii-keeper"); /* for ps only */
    (void)signal(SIGINT, SIG_IGN);          /* the server decides when we exit, as for the launcher */
    (void)signal(SIGTERM, SIG_IGN);
    while (serve_one(&d)) {
    }
    _exit(0);
}

/* --- the server's side --- */

int keeper_new(const struct keeper_job *jobs, size_t n, struct keeper **ret, struct err *err)
{
    int pair[2];
    if (n > KEEPER_JOBS_MAX)
        return err_set(err, ERR_INTERNAL, E2BIG, "the keeper takes at most %d jobs", KEEPER_JOBS_MAX);
    CLEANUP(close_fd_p) int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (program < 0 && errno == ENOENT)
        return err_set(err, ERR_UNSUPPORTED, 0,
                       "/proc/self/exe is not there: mount the proc file system (mount -t proc proc /proc)");
    if (program < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_sys(err, -errno, "start the keeper");
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(pair[0]); /* our copy would hide the server's end */
        be_keeper(pair[1], program, jobs, n);
    }
    (void)close(pair[1]); /* the keeper's end */
    if (pid < 0) {
        int r = -errno;
        (void)close(pair[0]); /* unused */
        return err_sys(err, r, "start the keeper");
    }
    struct keeper *k = xzalloc(sizeof(*k));
    *k = (struct keeper){ .sock = pair[0], .pid = pid, .is_root = geteuid() == 0 };
    (void)pthread_mutex_init(&k->mutex, NULL); /* cannot fail for a plain mutex */
    *ret = k;
    return 0;
}

static int request_send(struct keeper *k, struct request *q, int fd)
{
    struct iovec parts[2] = { { q, sizeof(*q) }, { NULL, 0 } };
    return seqsock_send(k->sock, parts, &fd, fd >= 0);
}

int keeper_run(struct keeper *k, unsigned job, int fd, pid_t *ret_pid, int *ret_pidfd, struct err *err)
{
    struct request q = { .version = VERSION, .op = KEEPER_RUN, .job = job };
    struct answer a;
    int pidfd = NO_FD;
    size_t n_fds = 0;
    (void)pthread_mutex_lock(&k->mutex);
    int r = request_send(k, &q, fd);
    ssize_t n = r < 0 ? r : seqsock_recv(k->sock, &a, sizeof(a), &pidfd, 1, &n_fds);
    (void)pthread_mutex_unlock(&k->mutex);
    if (n != (ssize_t)sizeof(a))
        return err_set(err, ERR_INTERNAL, EPIPE, "the keeper process is gone; restart the server");
    if (a.result < 0)
        return err_sys(err, a.result, "start a process");
    if (n_fds != 1)
        return err_sys(err, -EMFILE, "watch a process");
    *ret_pid = a.pid;
    *ret_pidfd = pidfd;
    return 0;
}

void keeper_kill(struct keeper *k, pid_t pid)
{
    struct request q = { .version = VERSION, .op = KEEPER_KILL, .pid = pid };
    (void)request_send(k, &q, NO_FD); /* without a keeper nobody can */
}

bool keeper_is_root(const struct keeper *k)
{
    return k->is_root;
}

struct keeper *keeper_free(struct keeper *k)
{
    if (k) {
        (void)close(k->sock); /* the keeper exits on it */
        (void)waitpid(k->pid, NULL, 0);
        (void)pthread_mutex_destroy(&k->mutex);
        free(k);
    }
    return NULL;
}
