/* Item 2, while the supervisor starts commands: between its fork and the exec a new process still has the supervisor's
 * memory, program file and descriptors. Whoever catches one in that moment and may open its links holds the runtime. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

#include "escape/probe/probe.h"

struct caught {
    unsigned seen; /* processes checked */
    unsigned exe, fd, traced;
};

static bool opens(int pid, const char *link, int flags)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, link);
    int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void check_process(int pid, struct caught *c)
{
    char path[64], target[64] = "";
    c->seen++;
    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    if (readlink(path, target, sizeof(target) - 1) <= 0 || strncmp(target, "/memfd:", 7) != 0)
        return; /* the supervisor's program is a memory file: its link names no path */
    c->exe += opens(pid, "exe", O_RDONLY) || opens(pid, "mem", O_RDWR);
    for (int fd = 3; fd < 12; fd++) {
        char link[16];
        snprintf(link, sizeof(link), "fd/%d", fd);
        c->fd += opens(pid, link, O_RDONLY);
    }
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0)
        c->traced++;
}

int probe_catch(int seconds)
{
    struct caught c = { 0 };
    time_t end = time(NULL) + seconds;
    (void)signal(SIGCHLD, SIG_IGN);
    for (int self = getpid(), next = self + 1; time(NULL) < end;) {
        for (int pid = next; pid < next + 8; pid++) /* pids are assigned in order */
            if (kill(pid, 0) == 0 || errno == EPERM) {
                check_process(pid, &c);
                next = pid;
            }
        check_process(1, &c);
    }
    unsigned all = c.exe + c.fd + c.traced;
    probe_row(2, "a starting command caught as the supervisor", all ? PROBE_REACHED : PROBE_DENIED,
              "looked %u times: program %u, descriptors %u, traced %u", c.seen, c.exe, c.fd, c.traced);
    return 0;
}
