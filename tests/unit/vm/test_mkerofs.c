/* The empty erofs of a probe, as the one sees it who reads such drives for a living: fsck.erofs. */
#include "vm/boot/mkerofs.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/program.h"
#include "tap.h"

TEST(fsck_finds_nothing_wrong)
{
    char path[PROGRAM_PATH_MAX], image[32];
    int fd = memfd_create("image", 0);
    CHECK_INT(mkerofs_empty(fd), 0);
    CHECK(program_find("fsck.erofs", path));
    (void)snprintf(image, sizeof(image), "/proc/self/fd/%d", fd);
    pid_t pid = fork();
    if (pid == 0) {
        (void)execl(path, path, "--extract", image, (char *)NULL); /* reads every entry */
        _exit(127);
    }
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 0);
    (void)close(fd);
}

TEST(it_is_as_long_as_it_says)
{
    struct stat st;
    int fd = memfd_create("image", MFD_CLOEXEC);
    CHECK_INT(mkerofs_empty(fd), 0);
    CHECK_INT(fstat(fd, &st), 0);
    CHECK_INT(st.st_size, MKEROFS_BYTES);
    (void)close(fd);
    fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    CHECK(fd < 0 || mkerofs_empty(fd) < 0);
    (void)close(fd);
}

int main(void)
{
    char path[PROGRAM_PATH_MAX];
    if (program_find("fsck.erofs", path))
        RUN(fsck_finds_nothing_wrong);
    else
        SKIP(fsck_finds_nothing_wrong, "no fsck.erofs here: apt-get install erofs-utils");
    RUN(it_is_as_long_as_it_says);
    return tap_done();
}
