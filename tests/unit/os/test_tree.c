/* Removing and copying folders whose owner is not our friend. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "os/tree.h"
#include "tap.h"

static char top[64];
static int top_fd;

static void put(int at, const char *name, const char *text)
{
    int fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    (void)close(fd);
}

TEST(a_missing_folder_is_removed_already)
{
    struct err err = ERR_INIT;
    CHECK_INT(tree_remove(top_fd, "none", &err), 0);
}

TEST(removal_does_not_follow_links)
{
    struct err err = ERR_INIT;
    CHECK(mkdirat(top_fd, "safe", 0755) == 0 && mkdirat(top_fd, "doomed", 0755) == 0);
    put(top_fd, "safe/file", "x");
    char target[100];
    snprintf(target, sizeof(target), "%s/safe", top);
    CHECK(symlinkat(target, top_fd, "doomed/link") == 0);
    CHECK_INT(tree_remove(top_fd, "doomed", &err), 0);
    CHECK(faccessat(top_fd, "safe/file", F_OK, 0) == 0);
    CHECK(faccessat(top_fd, "doomed", F_OK, 0) < 0);
    CHECK_INT(tree_remove(top_fd, "safe", &err), 0);
}

TEST(removal_has_no_depth)
{
    struct err err = ERR_INIT;
    CHECK(mkdirat(top_fd, "deep", 0755) == 0);
    int at = openat(top_fd, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 3000; i++) { /* far longer than a path can be */
        CHECK(mkdirat(at, "sub", 0755) == 0);
        put(at, "file", "x");
        int next = openat(at, "sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)close(at);
        at = next;
    }
    (void)close(at);
    int64_t bytes = 0;
    CHECK_INT(tree_copy(top_fd, "deep", top_fd, "copy", &bytes, &err), -E2BIG);
    CHECK_INT(err.code, ERR_TOO_LARGE);
    CHECK_INT(tree_remove(top_fd, "copy", &err), 0);
    CHECK_INT(tree_remove(top_fd, "deep", &err), 0);
}

TEST(folders_without_rights_go_too)
{
    struct err err = ERR_INIT;
    CHECK(mkdirat(top_fd, "closed", 0755) == 0 && mkdirat(top_fd, "closed/in", 0755) == 0);
    CHECK(mkdirat(top_fd, "closed/in/er", 0000) == 0 && fchmodat(top_fd, "closed/in", 0000, 0) == 0);
    CHECK_INT(tree_remove(top_fd, "closed", &err), 0);
}

TEST(a_copy_is_the_same)
{
    struct err err = ERR_INIT;
    struct stat st, st2;
    char value[8] = "", target[16] = "";
    int64_t bytes = 0;
    CHECK(mkdirat(top_fd, "from", 0750) == 0 && mkdirat(top_fd, "from/sub", 01777) == 0);
    CHECK(fchmodat(top_fd, "from/sub", 01777, 0) == 0);
    put(top_fd, "from/sub/file", "hello");
    CHECK(linkat(top_fd, "from/sub/file", top_fd, "from/again", 0) == 0);
    CHECK(symlinkat("sub/file", top_fd, "from/link") == 0);
    CHECK(mkfifoat(top_fd, "from/fifo", 0600) == 0);
    bool has_whiteout = mknodat(top_fd, "from/deleted", S_IFCHR, makedev(0, 0)) == 0;
    char path[100];
    snprintf(path, sizeof(path), "%s/from/sub", top);
    bool has_xattr = setxattr(path, "user.overlay.opaque", "y", 1, 0) == 0;
    int fd = openat(top_fd, "from/sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && pwrite(fd, "end", 3, 8 << 20) == 3);
    (void)close(fd);
    CHECK_INT(tree_copy(top_fd, "from", top_fd, "to", &bytes, &err), 0);
    CHECK_INT(bytes, (8 << 20) + 3 + 5);
    CHECK(fstatat(top_fd, "to", &st, 0) == 0 && (st.st_mode & 07777) == 0750);
    CHECK(fstatat(top_fd, "to/sub", &st, 0) == 0 && (st.st_mode & 07777) == 01777);
    CHECK(fstatat(top_fd, "to/sub/file", &st, 0) == 0 && fstatat(top_fd, "to/again", &st2, 0) == 0);
    CHECK(st.st_ino == st2.st_ino && st.st_size == 5 && (st.st_mode & 07777) == 0640);
    CHECK(readlinkat(top_fd, "to/link", target, sizeof(target) - 1) == 8);
    CHECK(fstatat(top_fd, "to/fifo", &st, 0) == 0 && S_ISFIFO(st.st_mode));
    CHECK(!has_whiteout || (fstatat(top_fd, "to/deleted", &st, 0) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == 0));
    CHECK(fstatat(top_fd, "to/sparse", &st, 0) == 0 && st.st_size == (8 << 20) + 3 && st.st_blocks < 1000);
    snprintf(path, sizeof(path), "%s/to/sub", top);
    CHECK(!has_xattr || (getxattr(path, "user.overlay.opaque", value, sizeof(value)) == 1 && value[0] == 'y'));
    CHECK(tree_copy(top_fd, "from", top_fd, "to", &bytes, &err) < 0); /* never into something that is there */
    CHECK_INT(tree_remove(top_fd, "from", &err), 0);
    CHECK_INT(tree_remove(top_fd, "to", &err), 0);
}

static int flags_of(int fd)
{
    int flags = 0;
    return ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 ? 0 : flags;
}

TEST(folders_can_be_spread)
{
    struct statfs fs;
    struct err err = ERR_INIT;
    CHECK(mkdirat(top_fd, "many", 0700) == 0);
    int fd = openat(top_fd, "many", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(fd >= 0 && fstatfs(fd, &fs) == 0);
    int before = flags_of(fd);
    tree_spread(fd);
    tree_spread(fd);
    if (fs.f_type == EXT4_SUPER_MAGIC)
        CHECK_INT(flags_of(fd), before | FS_TOPDIR_FL);
    CHECK(mkdirat(fd, "one", 0700) == 0);
    (void)close(fd);
    tree_spread(fd); /* of nothing */
    CHECK_INT(tree_remove(top_fd, "many", &err), 0);
}

int main(void)
{
    snprintf(top, sizeof(top), "/tmp/iii-tree-XXXXXX");
    if (!mkdtemp(top) || (top_fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        return 1;
    RUN(a_missing_folder_is_removed_already);
    RUN(removal_does_not_follow_links);
    RUN(removal_has_no_depth);
    RUN(folders_without_rights_go_too);
    RUN(a_copy_is_the_same);
    RUN(folders_can_be_spread);
    (void)close(top_fd);
    CHECK_INT(rmdir(top), 0);
    return tap_done();
}
