/* Writes that the kernel takes in pieces, interrupts or refuses. */
#include "os/write_all.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "tap.h"

#define BYTES (1u << 20)

static unsigned char data[BYTES];

static void on_alarm(int sig)
{
    (void)sig;
}

/* Reads slowly, so that the writer waits and is interrupted; its exit code says whether all came as it was. */
static pid_t reader(const int ends[2])
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    static unsigned char piece[4096];
    size_t got = 0;
    int bad = 0;
    (void)close(ends[1]);
    for (ssize_t n; (n = read(ends[0], piece, sizeof(piece))) > 0; (void)usleep(200)) {
        for (ssize_t i = 0; i < n; i++)
            bad |= got + (size_t)i >= BYTES || piece[i] != data[got + (size_t)i];
        got += (size_t)n;
    }
    _exit(bad || got != BYTES);
}

TEST(signals_and_a_slow_reader_cost_no_byte)
{
    struct sigaction act = { .sa_handler = on_alarm }; /* without SA_RESTART */
    struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
    int ends[2], status = -1;
    CHECK(pipe(ends) == 0 && sigaction(SIGALRM, &act, NULL) == 0);
    pid_t pid = reader(ends);
    (void)close(ends[0]);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    CHECK_INT(write_all_write(ends[1], data, BYTES), 0);
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    (void)close(ends[1]);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* What fits is written, then it is said why the rest is not. */
TEST(a_limit_is_told)
{
    struct stat st;
    struct rlimit old, small;
    char path[] = "/tmp/whole-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && unlink(path) == 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    small = (struct rlimit){ .rlim_cur = 5000, .rlim_max = old.rlim_max };
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    CHECK_INT(write_all_write(fd, data, 8192), -EFBIG);
    CHECK(fstat(fd, &st) == 0);
    CHECK_INT(st.st_size, 5000);
    CHECK(ftruncate(fd, 0) == 0);
    CHECK_INT(write_all_pwrite(fd, data, 8192, 1000), -EFBIG);
    CHECK(fstat(fd, &st) == 0);
    CHECK_INT(st.st_size, 5000);
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    (void)close(fd);
}

TEST(a_place_is_kept)
{
    unsigned char back[6] = "";
    int fd = memfd_create("whole", MFD_CLOEXEC);
    CHECK_INT(write_all_write(fd, "abcdef", 6), 0);
    CHECK_INT(write_all_pwrite(fd, "XY", 2, 2), 0);
    CHECK_INT(lseek(fd, 0, SEEK_CUR), 6);
    CHECK(pread(fd, back, 6, 0) == 6 && memcmp(back, "abXYef", 6) == 0);
    CHECK_INT(write_all_write(fd, data, 0), 0);
    (void)close(fd);
    CHECK_INT(write_all_write(fd, "x", 1), -EBADF);
    CHECK_INT(write_all_pwrite(fd, "x", 1, 0), -EBADF);
}

TEST(a_pipe_that_does_not_wait_says_so)
{
    int ends[2];
    CHECK(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
    CHECK_INT(write_all_write(ends[1], data, BYTES), -EAGAIN);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int main(void)
{
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(i * 31 + i / 251);
    RUN(signals_and_a_slow_reader_cost_no_byte);
    RUN(a_limit_is_told);
    RUN(a_place_is_kept);
    RUN(a_pipe_that_does_not_wait_says_so);
    return tap_done();
}
