#include "agent/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPEN_MAX_TRY 65536 /* descriptors that are closed one by one where the kernel lacks close_range */

int agent_helper_keep_only(const int fds[2])
{
    int first = fcntl(fds[0], F_DUPFD_CLOEXEC, 5), second = fcntl(fds[1], F_DUPFD_CLOEXEC, 5);

    if (first < 0 || second < 0 || dup2(first, 3) < 0 || dup2(second, 4) < 0)
        return -errno;
    if (syscall(SYS_close_range, 5u, ~0u, 0u) < 0)
        for (int fd = 5; fd < OPEN_MAX_TRY; fd++)
            (void)close(fd);
    return 0;
}

void agent_helper_kill(pid_t pid)
{
    siginfo_t info;

    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) ==
        0) /* else it was reaped, the pid may be reused */
        (void)kill(pid, SIGKILL);
}
