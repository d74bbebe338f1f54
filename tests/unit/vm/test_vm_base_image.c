/* The root of an image as one file, and the private disk of a guest. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "os/program.h"
#include "os/tree.h"
#include "tap.h"
#include "vm/boot/base_image.h"
#include "vm/boot/disk.h"

static char folder[] = "/tmp/vmbase-XXXXXX";
static int at = NO_FD;

static void put(const char *path, const char *text)
{
    int fd = openat(at, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close_fd_p(&fd);
}

static int new_file(const char *path)
{
    return openat(at, path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

/* What a program prints about the image behind fd. */
static void ask(const char *const *argv, int fd, struct buf *ret)
{
    struct err err = ERR_INIT;
    const struct program_call call = {
        .argv = argv, .package = "?", .cwd = NO_FD, .fd = fd, .limit_ms = 30000, .out = ret
    };
    if (program_run(&call, &err) < 0)
        printf("# %s\n", err.msg);
}

TEST(key)
{
    const char *const a[] = { "/x/images/layers/aaa", "/x/images/layers/bbb" };
    const char *const b[] = { "/x/images/layers/bbb", "/x/images/layers/aaa" };
    const char *const elsewhere[] = { "/y/images/layers/aaa", "/y/images/layers/bbb" };
    const char *const joined[] = { "/x/images/layers/aaabbb" };
    const char *const bad[] = { "/x/images/layers/" };
    char one[DIGEST_HEX], two[DIGEST_HEX];
    CHECK_INT(vm_base_image_key(a, 2, one), 0);
    CHECK_INT(strlen(one), 64);
    CHECK_INT(vm_base_image_key(elsewhere, 2, two), 0);
    CHECK_STR(one, two);
    CHECK_INT(vm_base_image_key(b, 2, two), 0);
    CHECK(strcmp(one, two) != 0);
    CHECK_INT(vm_base_image_key(joined, 1, two), 0);
    CHECK(strcmp(one, two) != 0);
    CHECK_INT(vm_base_image_key(bad, 1, two), -EINVAL);
    CHECK_INT(vm_base_image_key(a, 0, two), -EINVAL);
}

static int fsetxattr_at(const char *path, const char *name, const char *value)
{
    CLEANUP(close_fd_p) int fd = openat(at, path, O_RDONLY | O_CLOEXEC);
    return fsetxattr(fd, name, value, strlen(value), 0);
}

static void make_layers(void)
{
    const struct vfs_cap_data capability = { .magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
                                             .data = { { .permitted = 0x12345 } } };
    const struct timespec old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
    mkdirat(at, "images", 0755);
    mkdirat(at, "images/low", 0755);
    mkdirat(at, "images/top", 0755);
    mkdirat(at, "images/low/d", 0755);
    put("images/low/kept", "from below");
    put("images/low/d/hidden", "below an opaque folder");
    put("images/low/changed", "old");
    put("images/low/removed", "gone");
    put("images/top/changed", "new text");
    CHECK(utimensat(at, "images/low/kept", old, 0) == 0);
    if (geteuid() == 0) /* hides what is below */
        CHECK(mkdirat(at, "images/top/d", 0755) == 0 &&
              fsetxattr_at("images/top/d", "trusted.overlay.opaque", "y") == 0);
    CHECK(mknodat(at, "images/top/removed", S_IFCHR, makedev(0, 0)) == 0);
    if (geteuid() == 0) {
        int fd = openat(at, "images/low/kept", O_RDWR | O_CLOEXEC);
        CHECK(fchown(fd, 1234, 5678) == 0);
        CHECK(fsetxattr(fd, "security.capability", &capability, sizeof(capability), 0) == 0);
        close_fd_p(&fd);
    }
}

static int build(int out)
{
    char images[64], low[64], top[64];
    struct err err = ERR_INIT;
    snprintf(images, sizeof(images), "%s/images", folder);
    snprintf(low, sizeof(low), "%s/images/low", folder);
    snprintf(top, sizeof(top), "%s/images/top", folder);
    const char *const layers[] = { low, top };
    int r = vm_base_image_build(images, layers, 2, out, &err);
    if (r < 0)
        printf("# %s\n", err.msg);
    return r;
}

/* Whether the file holds these bytes. */
static bool holds(int fd, const void *bytes, size_t len)
{
    struct stat st;
    CHECK(fstat(fd, &st) == 0);
    void *all = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    CHECK(all != MAP_FAILED);
    bool is_found = memmem(all, (size_t)st.st_size, bytes, len) != NULL;
    CHECK(munmap(all, (size_t)st.st_size) == 0);
    return is_found;
}

static bool is_equal(int a, int b)
{
    struct digest s;
    char one[DIGEST_HEX], two[DIGEST_HEX];
    digest_init(&s);
    CHECK(digest_file(&s, a) == 0);
    digest_end(&s, one);
    digest_init(&s);
    CHECK(digest_file(&s, b) == 0);
    digest_end(&s, two);
    return strcmp(one, two) == 0;
}

TEST(merged)
{
    static const char *const kept[] = { "dump.erofs", "--path=/kept", "/proc/self/fd/3", NULL };
    static const char *const changed[] = { "dump.erofs", "--path=/changed", "/proc/self/fd/3", NULL };
    static const char *const removed[] = { "dump.erofs", "--path=/removed", "/proc/self/fd/3", NULL };
    CLEANUP(buf_done) struct buf text = BUF_INIT(65536);
    make_layers();
    CLEANUP(close_fd_p) int one = new_file("one.erofs");
    CLEANUP(close_fd_p) int two = new_file("two.erofs");
    CHECK_INT(build(one), 0);
    CHECK(usleep(20000) == 0); /* another time of making */
    CHECK_INT(build(two), 0);
    CHECK(is_equal(one, two));
    ask(kept, one, &text);
    CHECK(strstr(buf_text(&text), "Size: 10 "));
    CHECK(strstr(buf_text(&text), "2001-09-09"));
    if (geteuid() == 0) {
        CHECK(!holds(one, "below an opaque folder", 22));
        CHECK(strstr(buf_text(&text), "Uid: 1234   Gid: 5678"));
        CHECK(holds(one, "capability\1\0\0\2\x45\x23\1\0", 18));
    }
    CHECK(!holds(one, "overlay.", 8));
    buf_clear(&text);
    ask(changed, one, &text);
    CHECK(strstr(buf_text(&text), "Size: 8 "));
    buf_clear(&text);
    ask(removed, one, &text);
    CHECK(!strstr(buf_text(&text), "NID"));
}

TEST(refused)
{
    char images[64], escape[80];
    struct err err = ERR_INIT;
    CLEANUP(close_fd_p) int out = new_file("refused.erofs");
    snprintf(images, sizeof(images), "%s/images", folder);
    snprintf(escape, sizeof(escape), "%s/images/../other", folder);
    mkdirat(at, "other", 0755);
    const char *const outside[] = { "/etc" }, *const dots[] = { escape };
    CHECK(vm_base_image_build(images, outside, 1, out, &err) < 0);
    CHECK(strstr(err.msg, "/etc: Invalid cross-device link"));
    CHECK(vm_base_image_build(images, dots, 1, out, &err) < 0);
    CHECK(strstr(err.msg, "cross-device"));
    CHECK(vm_base_image_build(images, outside, 0, out, &err) == -EINVAL);
    CHECK(symlinkat("../other", at, "images/link") == 0);
    snprintf(escape, sizeof(escape), "%s/images/link", folder);
    CHECK(vm_base_image_build(images, dots, 1, out, &err) < 0);
    CHECK(strstr(err.msg, "symbolic links"));
}

TEST(disk)
{
    static const char *const list[] = { "debugfs", "-R", "stat /upper", "/proc/self/fd/3", NULL };
    static const char *const head[] = { "dumpe2fs", "-h", "/proc/self/fd/3", NULL };
    static const char *const check[] = { "e2fsck", "-fn", "/proc/self/fd/3", NULL };
    struct err err = ERR_INIT;
    struct stat a, b;
    CLEANUP(buf_done) struct buf text = BUF_INIT(65536);
    CLEANUP(close_fd_p) int disk = new_file("disk");
    CLEANUP(close_fd_p) int copy = new_file("copy");
    CHECK_INT(vm_disk_make(disk, 128, &err), 0);
    CHECK_INT(vm_disk_copy(disk, copy, &err), 0);
    CHECK(fstat(disk, &a) == 0 && fstat(copy, &b) == 0);
    CHECK(a.st_size >= (off_t)128 << 20);
    CHECK(a.st_blocks * 512 < (off_t)4 << 20); /* sparse */
    CHECK_INT(a.st_size, b.st_size);
    CHECK(b.st_blocks <= a.st_blocks + 64);
    CHECK(is_equal(disk, copy));
    ask(list, copy, &text);
    CHECK(strstr(buf_text(&text), "Type: directory    Mode:  0755"));
    CHECK(strstr(buf_text(&text), "User:     0   Group:     0"));
    buf_clear(&text);
    ask(check, copy, &text);
    CHECK(strstr(buf_text(&text), "files"));
    buf_clear(&text);
    ask(head, copy, &text);
    const char *blocks = strstr(buf_text(&text), "Free blocks:");
    CHECK(blocks && strtoll(blocks + 12, NULL, 10) * 4096 >= 128ll << 20); /* all of what was asked for */
    CHECK(vm_disk_make(disk, 1, &err) == -EINVAL);
    CHECK(strstr(err.msg, "16"));
}

int main(void)
{
    char path[PROGRAM_PATH_MAX];
    struct err err = ERR_INIT;
    if (!mkdtemp(folder) || (at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        return 1;
    RUN(key);
    if (program_find("mkfs.erofs", path)) {
        RUN(merged);
        RUN(refused);
    } else {
        SKIP(merged, "needs erofs-utils");
        SKIP(refused, "needs erofs-utils");
    }
    if (program_find("mkfs.ext4", path))
        RUN(disk);
    else
        SKIP(disk, "needs e2fsprogs");
    close_fd_p(&at);
    if (tree_remove(AT_FDCWD, folder, &err) < 0)
        printf("# %s\n", err.msg);
    return tap_done();
}
