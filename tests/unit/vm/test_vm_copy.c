/* Copies of what a monitor wrote: every byte, holes for zeroes, and a size that must be right. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tap.h"
#include "vm/snapshot/copy.h"

#define BLOCK (64 * 1024)
#define SIZE  (5 * BLOCK + 1234)

static char path[] = "/tmp/vmcopy-XXXXXX";

static int file(void)
{
    (void)snprintf(path, sizeof(path), "/tmp/vmcopy-XXXXXX");
    int fd = mkostemp(path, O_CLOEXEC);
    CHECK(fd >= 0 && unlink(path) == 0);
    return fd;
}

static int64_t taken(int fd)
{
    struct stat st;
    CHECK(fstat(fd, &st) == 0);
    return (int64_t)st.st_blocks * 512;
}

TEST(all_of_it_and_nothing_that_was_there)
{
    static char from_bytes[SIZE], to_bytes[SIZE + 1];
    struct err err = ERR_INIT;
    CLEANUP(close_fd_p) int from = file();
    CLEANUP(close_fd_p) int to = file();
    CHECK(ftruncate(from, SIZE) == 0);
    /* a byte at each end of the file and of a block, and a block of zeroes that are written */
    static const off_t at[] = { 0, BLOCK - 1, BLOCK, 3 * BLOCK - 1, SIZE - 1 };
    static const char zeroes[BLOCK];
    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
        CHECK(pwrite(from, "x", 1, at[i]) == 1);
    CHECK(pwrite(from, zeroes, BLOCK, 4 * BLOCK) == BLOCK);
    memset(to_bytes, 'z', sizeof(to_bytes));
    CHECK(pwrite(to, to_bytes, SIZE + 1, 0) == SIZE + 1);
    CHECK_INT(vm_copy_file(from, to, SIZE, SIZE, "it", &err), 0);
    CHECK_INT(pread(from, from_bytes, SIZE, 0), SIZE);
    CHECK_INT(pread(to, to_bytes, SIZE + 1, 0), SIZE);
    CHECK(memcmp(from_bytes, to_bytes, SIZE) == 0);
    CHECK(taken(to) <= 4 * BLOCK);
}

/* The end of a file alone on its page, and a block of one and the same byte, which is not zero. */
TEST(nothing_is_taken_for_nothing)
{
    static char same[BLOCK], back[2 * BLOCK + 1];
    struct err err = ERR_INIT;
    CLEANUP(close_fd_p) int from = file();
    CLEANUP(close_fd_p) int to = file();
    memset(same, 'y', BLOCK);
    CHECK(pwrite(from, same, BLOCK, 0) == BLOCK && pwrite(from, "x", 1, 2 * BLOCK) == 1);
    CHECK_INT(vm_copy_file(from, to, 0, SIZE, "it", &err), 0);
    CHECK_INT(pread(to, back, sizeof(back), 0), sizeof(back));
    CHECK(memcmp(back, same, BLOCK) == 0 && back[BLOCK] == '\0' && back[2 * BLOCK] == 'x');
}

TEST(a_hole_stays_one)
{
    struct err err = ERR_INIT;
    CLEANUP(close_fd_p) int from = file();
    CLEANUP(close_fd_p) int to = file();
    CHECK(ftruncate(from, 1 << 30) == 0);
    CHECK(pwrite(from, "x", 1, 1 << 29) == 1);
    CHECK_INT(vm_copy_file(from, to, 0, 1 << 30, "it", &err), 0);
    char c = 0;
    CHECK(pread(to, &c, 1, 1 << 29) == 1 && c == 'x');
    CHECK(taken(to) <= BLOCK);
    CHECK_INT(lseek(to, 0, SEEK_END), 1 << 30);
}

TEST(the_size_must_be_right)
{
    struct err err = ERR_INIT;
    CLEANUP(close_fd_p) int from = file();
    CLEANUP(close_fd_p) int to = file();
    int ends[2];
    CHECK(ftruncate(from, 100) == 0);
    CHECK_INT(vm_copy_file(from, to, 100, 100, "it", &err), 0);
    CHECK_INT(vm_copy_file(from, to, 101, 200, "it", &err), -EBADMSG);
    CHECK(strstr(err.msg, "it has 100 bytes, allowed are 101 to 200"));
    CHECK_INT(vm_copy_file(from, to, 0, 99, "it", &err), -EBADMSG);
    CHECK(pipe(ends) == 0);
    CHECK_INT(vm_copy_file(ends[0], to, 0, 100, "it", &err), -EBADMSG); /* no file: it might never end */
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int main(void)
{
    RUN(all_of_it_and_nothing_that_was_there);
    RUN(nothing_is_taken_for_nothing);
    RUN(a_hole_stays_one);
    RUN(the_size_must_be_right);
    return tap_done();
}
