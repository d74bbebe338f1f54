/* The filter is permanent, so each case enters it in a child, which exits with the number of the first wrong result. */
#include "os/syscall_allowlist.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

static int exit_of(int (*fn)(void))
{
    int status = -1;
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(fn());
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int enter_listed(void)
{
    static const char *const calls[] = { "getuid", NULL };
    if (syscall_allowlist_enter(calls, false) != 0)
        return 1;
    if (getuid() == (uid_t)-1)
        return 2;
    if (dup(0) >= 0 || errno != EPERM)
        return 3;
    return open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0 || errno != EPERM ? 4 : 0;
}

static int enter_reading(void)
{
    static const char *const calls[] = { NULL };
    if (syscall_allowlist_enter(calls, true) != 0)
        return 1;
    if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
        return 2;
    return open("/dev/null", O_WRONLY | O_CLOEXEC) >= 0 || errno != EPERM ? 3 : 0;
}

/* Fails closed: a misspelled name must not be taken for a call that this architecture lacks. */
static int enter_misspelled(void)
{
    static const char *const calls[] = { "getuid", "no_such_call", NULL };
    if (syscall_allowlist_enter(calls, false) != -ENOENT)
        return 1;
    return dup(0) < 0 ? 2 : 0;
}

TEST(only_listed_calls)
{
    CHECK_INT(exit_of(enter_listed), 0);
}

TEST(opens_for_reading)
{
    CHECK_INT(exit_of(enter_reading), 0);
}

TEST(misspelled_name)
{
    CHECK_INT(exit_of(enter_misspelled), 0);
}

int main(void)
{
    RUN(only_listed_calls);
    RUN(opens_for_reading);
    RUN(misspelled_name);
    return tap_done();
}
