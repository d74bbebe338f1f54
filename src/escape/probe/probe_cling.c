/* Item 15: processes that do not exit: detached twice, ignoring every signal, stopped, traced, in a session of their
 * own, or created faster than they can be counted. The starter exits at once; they stay, and ending the sandbox must
 * end them. */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "escape/probe/probe.h"

#define CLING_SECONDS 120 /* if they are left outside after all, they exit after this time */

static void deaf(void)
{
    for (int sig = 1; sig < 65; sig++)
        (void)signal(sig, SIG_IGN);
    (void)signal(SIGALRM, SIG_DFL);
    (void)signal(SIGCHLD, SIG_DFL);
}

static void stay(void)
{
    alarm(CLING_SECONDS);
    for (;;)
        pause();
}

static void detached(void)
{
    (void)setsid();
    if (fork() == 0) {
        (void)setsid();
        deaf();
        stay();
    }
}

static void stopped(void)
{
    alarm(CLING_SECONDS);
    (void)raise(SIGSTOP);
    stay();
}

static void traced(void)
{
    pid_t child = fork();
    if (child == 0) {
        (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        stopped();
    }
    (void)waitpid(child, NULL, WUNTRACED);
    deaf();
    stay();
}

static void busy(void)
{
    alarm(CLING_SECONDS);
    (void)setsid();
    for (;;) { /* always two: one that forks, one that was just created */
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        (void)waitpid(child, NULL, 0);
    }
}

int probe_cling(void)
{
    static void (*const kinds[])(void) = { detached, stopped, traced, busy, stay };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (fork() == 0) {
            for (int fd = 0; fd < 3; fd++)
                close(fd); /* our parent does not wait for them */
            (void)setsid();
            kinds[i]();
            _exit(0);
        }
    usleep(200000);
    return 0;
}
