/* Programs that end well, badly, too late or not at all, and what they see of us. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "os/program.h"
#include "tap.h"

static struct program_call shell(const char *const *argv)
{
    return (struct program_call){ .argv = argv, .package = "dash", .cwd = NO_FD, .fd = NO_FD, .limit_ms = 30000 };
}
#define SHELL(text)            \
    (const char *const[])      \
    {                          \
        "sh", "-c", text, NULL \
    }

TEST(found)
{
    char path[PROGRAM_PATH_MAX];
    CHECK(program_find("sh", path));
    CHECK(path[0] == '/');
    CHECK(setenv("PATH", "/nowhere", 1) == 0); /* ours does not count */
    CHECK(program_find("sh", path));
    CHECK(!program_find("no-such-program", path));
    CHECK(!program_find("a-name-that-is-longer-than-any-path-of-a-program-that-we-would-ever-run", path));
}

TEST(missing)
{
    const char *const argv[] = { "no-such-program", NULL };
    struct program_call c = shell(argv);
    struct err err = ERR_INIT;
    c.package = "some-package";
    CHECK_INT(program_run(&c, &err), -ENOSYS);
    CHECK_STR(err.msg, "no-such-program is missing: apt-get install some-package");
}

TEST(output_and_failure)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT(6);
    struct err err = ERR_INIT;
    struct program_call c = shell(SHELL("echo hello; exit 0"));
    c.out = &out;
    CHECK_INT(program_run(&c, &err), 0);
    CHECK_STR(buf_text(&out), "hello\n");
    c = shell(SHELL("echo first >&2; echo the cause >&2; exit 7"));
    CHECK(program_run(&c, &err) < 0);
    CHECK_STR(err.msg, "sh ended with 7: first the cause");
    c = shell(SHELL("kill -9 $$"));
    CHECK(program_run(&c, &err) < 0);
    CHECK(strstr(err.msg, "signal 9"));
    c = shell(SHELL("exit 3"));
    CHECK(program_run(&c, &err) < 0);
    CHECK(strstr(err.msg, "gave no reason"));
}

TEST(much_output)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT(1000);
    struct err err = ERR_INIT;
    struct program_call c = shell(SHELL(
        "head -c 1000000 /dev/zero | tr '\\0' x; head -c 1000000 /dev/zero | tr '\\0' y >&2; echo end >&2; exit 1"));
    c.out = &out;
    CHECK(program_run(&c, &err) < 0);
    CHECK(out.len <= 1000);
    CHECK(strlen(err.msg) > 100 && strcmp(err.msg + strlen(err.msg) - 3, "end") == 0);
}

/* Nothing of us but what was given: no variable, no descriptor, the folder asked for, the input asked for. */
TEST(clean)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT(4096);
    struct err err = ERR_INIT;
    CLEANUP(close_fd_p) int leak = open("/dev/null", O_RDONLY);
    CLEANUP(close_fd_p) int cwd = open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(close_fd_p) int fd = memfd_create("given", MFD_CLOEXEC);
    const char *const kept[] = { "KEPT", "UNSET", NULL };
    CHECK(leak >= 0 && cwd >= 0 && fd >= 0);
    CHECK(setenv("SECRET", "x", 1) == 0 && setenv("KEPT", "yes", 1) == 0);
    struct program_call c =
        shell(SHELL("echo \"$SECRET-$KEPT-$PATH\"; pwd; ls -m /proc/$$/fd; cat; echo to fd >&3; umask"));
    c.out = &out;
    c.cwd = cwd;
    c.fd = fd;
    c.kept = kept;
    c.input = "typed\n";
    CHECK_INT(program_run(&c, &err), 0);
    CHECK_STR(buf_text(&out), "-yes-/usr/sbin:/usr/bin:/sbin:/bin\n/usr\n0, 1, 2, 3\ntyped\n0022\n");
    char text[8] = "";
    CHECK_INT(pread(fd, text, sizeof(text), 0), 6);
    CHECK(memcmp(text, "to fd\n", 6) == 0);
}

/* The group goes with it, also what it left behind. */
TEST(deadline)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT(64);
    struct err err = ERR_INIT;
    struct program_call c = shell(SHELL("sleep 1000 & echo $!; wait"));
    c.out = &out;
    c.limit_ms = 3000; /* enough for a busy host to start it */
    int64_t begun = clock_mono_us();
    CHECK_INT(program_run(&c, &err), -ETIMEDOUT);
    CHECK(strstr(err.msg, "3000 ms"));
    CHECK(clock_mono_us() - begun < 20000000);
    pid_t left = (pid_t)strtol(buf_text(&out), NULL, 10);
    CHECK(left > 1);
    int status = 0;
    pid_t found = 0;
    for (int i = 0; i < 1000 && left > 1 && found == 0; i++) { /* it is ours now: main() */
        found = waitpid(left, &status, WNOHANG);
        CHECK(found != 0 || usleep(10000) == 0);
    }
    CHECK(left > 1 && found == left && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* A grandchild that keeps the streams open does not keep us waiting. */
TEST(orphan_with_streams)
{
    struct err err = ERR_INIT;
    struct program_call c = shell(SHELL("sleep 1000 & exit 0"));
    int64_t begun = clock_mono_us();
    CHECK_INT(program_run(&c, &err), 0);
    CHECK(clock_mono_us() - begun < 20000000);
}

static int refuse(void *arg)
{
    (void)dprintf(STDERR_FILENO, "not today: %s", (const char *)arg);
    return -1;
}

TEST(prepared)
{
    static char why[] = "rain";
    struct err err = ERR_INIT;
    struct program_call c = shell(SHELL("exit 0"));
    c.prepare = refuse;
    c.arg = why;
    CHECK(program_run(&c, &err) < 0);
    CHECK(strstr(err.msg, "not today: rain"));
}

int main(void)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) /* what a program leaves behind becomes our child */
        return 1;
    RUN(found);
    RUN(missing);
    RUN(output_and_failure);
    RUN(much_output);
    RUN(clean);
    RUN(deadline);
    RUN(orphan_with_streams);
    RUN(prepared);
    return tap_done();
}
