#include "runtime/mkext4.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "os/program.h"

#define LIMIT_MS    60000
#define INODE_BYTES 256u              /* -I */
#define IMAGE       "/proc/self/fd/3" /* PROGRAM_FD */

bool mkext4_is_there(void)
{
    char path[PROGRAM_PATH_MAX];
    return program_find("mkfs.ext4", path);
}

uint64_t mkext4_bytes(uint64_t mb, uint32_t inodes)
{
    uint64_t bytes = mb << 20;
    bytes += (uint64_t)inodes * INODE_BYTES + bytes / 128 + (1u << 20);
    return bytes & ~4095ull;
}

uint32_t mkext4_inodes(uint64_t mb)
{
    uint64_t inodes = mb * LIMIT_DEFAULT(INODES_PER_MB);
    return inodes > LIMIT_MAX(INODES) ? LIMIT_MAX(INODES) : (uint32_t)inodes;
}

static int image_run(const char *const *argv, int image, struct err *err)
{
    const struct program_call call = {
        .argv = argv, .package = "e2fsprogs", .cwd = NO_FD, .fd = image, .limit_ms = LIMIT_MS
    };
    return program_run(&call, err);
}

int mkext4_format(int image, uint32_t inodes, bool has_journal, struct err *err)
{
    char count[16];
    const char *const argv[] = { "mkfs.ext4",
                                 "-q",
                                 "-F",
                                 "-t",
                                 "ext4",
                                 "-b",
                                 "4096",
                                 "-I",
                                 "256",
                                 "-m",
                                 "0",
                                 "-N",
                                 count,
                                 "-O",
                                 has_journal ? "has_journal,^resize_inode" : "^has_journal,^resize_inode",
                                 "-E",
                                 "nodiscard,lazy_itable_init=1,lazy_journal_init=1,root_owner=0:0",
                                 IMAGE,
                                 NULL };
    (void)snprintf(count, sizeof(count), "%u", inodes);
    int r = image_run(argv, image, err);
    return r < 0 ? err_wrap(err, r, "format a disk (is the host's disk full?)") : 0;
}

int mkext4_grow(int image, struct err *err)
{
    static const char *const check[] = { "e2fsck", "-f", "-p", IMAGE, NULL }, *const grow[] = { "resize2fs", IMAGE,
                                                                                                NULL };
    (void)image_run(check, image, NULL); /* it also fails after it has repaired something; resize2fs looks at that */
    int r = image_run(grow, image, err);
    return r < 0 ? err_wrap(err, r, "grow a disk (is the host's disk full?)") : 0;
}

/* debugfs prints errors but exits with 0, so its output is checked. */
static int debugfs_run(int image, const struct buf *commands, struct buf *answer, struct err *err)
{
    static const char *const argv[] = { "debugfs", "-w", "-f", "/dev/stdin", IMAGE, NULL };
    const struct program_call call = { .argv = argv,
                                       .package = "e2fsprogs",
                                       .cwd = NO_FD,
                                       .fd = image,
                                       .limit_ms = LIMIT_MS,
                                       .out = answer,
                                       .input = buf_text(commands) };
    int r = program_run(&call, err);
    return r < 0 ? err_wrap(err, r, "edit the folders of a disk") : 0;
}

int mkext4_folders(int image, const char *const *names, struct err *err)
{
    CLEANUP(buf_done) struct buf input = BUF_INIT(1024);
    CLEANUP(buf_done) struct buf answer = BUF_INIT(8192);
    for (size_t i = 0; names[i]; i++)
        if (buf_addf(&input, "mkdir %s\nstat %s\n", names[i], names[i]) < 0)
            return err_set(err, ERR_TOO_LARGE, 0, "the names of the folders of a disk are too long");
    int r = debugfs_run(image, &input, &answer, err);
    if (r < 0)
        return r;
    size_t wanted = 0, found = 0;
    while (names[wanted])
        wanted++;
    for (const char *at = buf_text(&answer); (at = strstr(at, "Type: directory")); at++)
        found++;
    if (found != wanted)
        return err_set(err, ERR_INTERNAL, 0, "debugfs made %zu of %zu folders of a disk", found, wanted);
    return 0;
}

int mkext4_remove(int image, const char *name, struct err *err)
{
    CLEANUP(buf_done) struct buf input = BUF_INIT(1024);
    CLEANUP(buf_done) struct buf answer = BUF_INIT(8192);
    (void)buf_addf(&input, "rmdir %.200s\nstat %.200s\n", name, name); /* fits */
    int r = debugfs_run(image, &input, &answer, err);
    if (r >= 0 && strstr(buf_text(&answer), "Type: directory"))
        return err_set(err, ERR_INTERNAL, 0, "debugfs did not remove %.200s of a disk", name);
    return r;
}

int mkext4_volume(int image, uint64_t mb, struct err *err)
{
    if (ftruncate(image, (off_t)mkext4_bytes(mb, mkext4_inodes(mb))) < 0)
        return err_sys(err, -errno, "make a volume of %llu MB", (unsigned long long)mb);
    int r = mkext4_format(image, mkext4_inodes(mb), true, err);
    return r < 0 ? r : mkext4_remove(image, "lost+found", err);
}
