#include "runtime/visit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/proc.h"
#include "os/seqsock.h"

#define VISIT_MS 30000 /* generous for a busy host: a visitor that is killed leaves its work half done */
#define HOME_FD  1000  /* the child's end of the socket pair */

struct visit {
    int result;
    struct err err;
};

int visit_send(const int *fds, size_t n)
{
    char byte = 'f';
    struct iovec parts[2] = { { &byte, 1 }, { NULL, 0 } };
    return seqsock_send(HOME_FD, parts, fds, n);
}

static int run_child(struct visit *shared, visit_fn *fn, void *arg, int home, struct err *err)
{
    CLEANUP(close_fd_p) int pidfd = NO_FD;
    pid_t pid = proc_clone(0, NO_FD, &pidfd);
    if (pid == 0) {
        if (home < 0 || dup3(home, HOME_FD, O_CLOEXEC) >= 0)
            shared->result = fn(arg, &shared->err);
        _exit(0);
    }
    if (pid < 0)
        return err_sys(err, pid, "start a helper process");
    struct pollfd p = { .fd = pidfd, .events = POLLIN };
    siginfo_t info = { 0 };
    bool is_late = poll(&p, 1, VISIT_MS) != 1;
    if (is_late)
        (void)proc_signal(pidfd, SIGKILL);              /* reaped below */
    (void)waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED); /* our child: it has exited */
    if (is_late || info.si_code != CLD_EXITED)
        return err_set(err, ERR_INTERNAL, ETIMEDOUT, "the helper process in the box did not finish");
    if (shared->result < 0 && err)
        *err = shared->err;
    return shared->result;
}

int visit_run(visit_fn *fn, void *arg, int *ret_fds, struct err *err)
{
    int pair[2] = { NO_FD, NO_FD };
    struct visit *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return err_sys(err, -ENOMEM, "start a helper process");
    shared->result = err_set(&shared->err, ERR_INTERNAL, 0, "the helper process in the box failed to start");
    int r = 0;
    if (ret_fds && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        r = err_sys(err, -errno, "socket pair for a helper process");
    if (r >= 0)
        r = run_child(shared, fn, arg, pair[1], err);
    size_t n = 0;
    char byte;
    if (r >= 0 && ret_fds && seqsock_recv(pair[0], &byte, 1, ret_fds, VISIT_FDS_MAX, &n) <= 0)
        n = 0;
    for (size_t i = n; r >= 0 && ret_fds && i < VISIT_FDS_MAX; i++)
        ret_fds[i] = NO_FD;
    seqsock_close_all(pair, 2);
    (void)munmap(shared, sizeof(*shared)); /* our own mapping */
    return r;
}
