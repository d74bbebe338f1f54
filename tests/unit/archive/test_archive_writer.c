/* What is written is listed by the programs that others read such archives with. */
#include "archive/archive_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "os/program.h"
#include "tap.h"

static int write_members(struct archive_writer *w, struct err *err)
{
    static const struct archive_member folder = { .path = "dev", .mode = S_IFDIR | 0755 }, device = {
        .path = "dev/console", .mode = S_IFCHR | 0600, .major = 5, .minor = 1
    };
    int r = archive_writer_member(w, &folder, err);
    if (r >= 0)
        r = archive_writer_member(w, &device, err);
    if (r >= 0)
        r = archive_writer_file(w, "a", 0644, "12345", 5, err);
    if (r >= 0)
        r = archive_writer_file(w, "empty", 0400, NULL, 0, err);
    return r;
}

/* The archive in a memory file. */
static int make(enum archive_writer_format format, struct digest *digest, struct err *err)
{
    int fd = memfd_create("archive", MFD_CLOEXEC);
    CLEANUP(archive_writer_free_p) struct archive_writer *w = NULL;
    CHECK_INT(archive_writer_new(format, fd, digest, &w, err), 0);
    CHECK_INT(write_members(w, err), 0);
    CHECK_INT(archive_writer_close(w, err), 0);
    CHECK_INT(archive_writer_bytes(w), lseek(fd, 0, SEEK_CUR));
    CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void list(const char *const *argv, int fd, struct buf *ret)
{
    struct err err = ERR_INIT;
    const struct program_call call = {
        .argv = argv, .package = argv[0], .cwd = NO_FD, .fd = fd, .limit_ms = 30000, .out = ret
    };
    CHECK_INT(program_run(&call, &err), 0);
    CHECK_STR(err.msg, "");
}

TEST(cpio)
{
    static const char *const argv[] = { "cpio", "-itv", "--numeric-uid-gid", "--quiet", "-F", "/proc/self/fd/3", NULL };
    CLEANUP(buf_done) struct buf out = BUF_INIT(65536);
    struct err err = ERR_INIT;
    CLEANUP(close_fd_p) int fd = make(ARCHIVE_WRITER_CPIO, NULL, &err);
    list(argv, fd, &out);
    CHECK(strstr(buf_text(&out), "drwxr-xr-x   2 0        0"));
    CHECK(strstr(buf_text(&out), "crw-------   1 0        0          5,   1"));
    CHECK(strstr(buf_text(&out), "-rw-r--r--   1 0        0               5 Jan  1  1970 a\n"));
    CHECK(strstr(buf_text(&out), "-r--------   1 0        0               0 Jan  1  1970 empty\n"));
}

TEST(tar_and_its_digest)
{
    static const char *const argv[] = { "tar",   "-tvf", "/proc/self/fd/3", "--numeric-owner", "--full-time",
                                        "--utc", NULL };
    CLEANUP(buf_done) struct buf out = BUF_INIT(65536);
    struct err err = ERR_INIT;
    struct digest all, again;
    char hex[DIGEST_HEX], expected[DIGEST_HEX];
    digest_init(&all);
    CLEANUP(close_fd_p) int fd = make(ARCHIVE_WRITER_TAR, &all, &err);
    digest_end(&all, hex);
    digest_init(&again);
    CHECK_INT(digest_file(&again, fd), 0);
    digest_end(&again, expected);
    CHECK_STR(hex, expected);
    list(argv, fd, &out);
    CHECK(strstr(buf_text(&out), "drwxr-xr-x 0/0               0 1970-01-01 00:00:00 dev/\n"));
    CHECK(strstr(buf_text(&out), "-rw-r--r-- 0/0               5 1970-01-01 00:00:00 a\n"));
}

TEST(a_full_disk)
{
    struct err err = ERR_INIT;
    CLEANUP(archive_writer_free_p) struct archive_writer *w = NULL;
    CLEANUP(close_fd_p) int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    CHECK_INT(archive_writer_new(ARCHIVE_WRITER_TAR, fd, NULL, &w, &err), 0);
    CHECK_INT(write_members(w, &err), 0); /* still in the first block */
    CHECK_INT(archive_writer_close(w, &err), -ENOSPC);
    CHECK(strstr(err.msg, "empty"));
}

TEST(unclosed_writes_nothing)
{
    struct err err = ERR_INIT;
    struct archive_writer *w = NULL;
    CLEANUP(close_fd_p) int fd = memfd_create("archive", MFD_CLOEXEC);
    CHECK_INT(archive_writer_new(ARCHIVE_WRITER_TAR, fd, NULL, &w, &err), 0);
    CHECK_INT(write_members(w, &err), 0);
    (void)archive_writer_free(w);
    CHECK_INT(lseek(fd, 0, SEEK_END), 0);
}

int main(void)
{
    char path[PROGRAM_PATH_MAX];
    if (program_find("cpio", path))
        RUN(cpio);
    else
        SKIP(cpio, "needs cpio");
    RUN(tar_and_its_digest);
    RUN(a_full_disk);
    RUN(unclosed_writes_nothing);
    return tap_done();
}
