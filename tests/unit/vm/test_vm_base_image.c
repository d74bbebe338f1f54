/* The root of an image as one file, and the private disk of a guest. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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
    CHECK_INT(vm_base_image_key(a, 2, NULL, one), 0);
    CHECK_INT(strlen(one), 64);
    CHECK_INT(vm_base_image_key(elsewhere, 2, NULL, two), 0);
    CHECK_STR(one, two);
    CHECK_INT(vm_base_image_key(b, 2, NULL, two), 0);
    CHECK(strcmp(one, two) != 0);
    CHECK_INT(vm_base_image_key(joined, 1, NULL, two), 0);
    CHECK(strcmp(one, two) != 0);
    CHECK_INT(vm_base_image_key(bad, 1, NULL, two), -EINVAL);
    CHECK_INT(vm_base_image_key(a, 0, NULL, two), -EINVAL);
}

TEST(a_key_with_the_hosts_usr_changes_with_it)
{
    static const char old[] = "aaaaaaaaaaaaaaaa0000000000000000", now[] = "bbbbbbbbbbbbbbbb0000000000000000";
    const char *const one_layer[] = { "/x/images/layers/aaa" }, *const two_layers[] = { "/x/layers/aaa",
                                                                                        "/x/layers/b" };
    char plain[DIGEST_HEX], one[DIGEST_HEX], two[DIGEST_HEX];
    CHECK_INT(vm_base_image_key(one_layer, 1, NULL, plain), 0);
    CHECK_INT(vm_base_image_key(one_layer, 1, old, one), 0);
    CHECK_INT(strlen(one), 64);
    CHECK(vm_base_image_is_host(one) && !vm_base_image_is_host(plain));
    CHECK(vm_base_image_is_key(one) && vm_base_image_is_key(plain));
    CHECK_INT(vm_base_image_key(one_layer, 1, now, two), 0);
    CHECK(strcmp(one, two) != 0);
    CHECK_INT(vm_base_image_key(two_layers, 2, old, two), 0);
    CHECK(strcmp(one, two) != 0);
    CHECK(vm_base_image_is_stale(one, now) && !vm_base_image_is_stale(one, old));
    CHECK(!vm_base_image_is_stale(plain, now)); /* it has a /usr of its own */
    static const char *const bad[] = { "", "host", "hosthost", "../x", "host/../x", "abcg", "aHost" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        CHECK(!vm_base_image_is_key(bad[i]));
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
    int r = vm_base_image_build(images, layers, 2, NULL, out, &err);
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

static bool has_path(int image, const char *path)
{
    char option[80];
    CLEANUP(buf_done) struct buf text = BUF_INIT(65536);
    snprintf(option, sizeof(option), "--path=%s", path);
    const char *const argv[] = { "dump.erofs", option, "/proc/self/fd/3", NULL };
    ask(argv, image, &text);
    return strstr(buf_text(&text), "NID");
}

/* The host's files are those that each of its users can read, whoever makes the drive. */
TEST(with_a_usr_of_the_host)
{
    char images[64], skeleton[64], usr[64];
    struct err err = ERR_INIT;
    static const struct {
        const char *path;
        mode_t mode;
        bool is_there;
    } all[] = { { "usr/bin", 0, true },          { "usr/bin/program", 0755, true },
                { "usr/bin/suid", 04755, true }, { "usr/bin/unread", 04711, false },
                { "usr/secret", 0600, false },   { "usr/closed", 0, true },
                { "usr/closed/in", 0644, true } };
    CHECK(mkdirat(at, "images/skeleton", 0755) == 0 && mkdirat(at, "images/skeleton/usr", 0755) == 0);
    put("images/skeleton/usr/below", "covered by the host's");
    put("images/skeleton/top", "of the layer");
    CHECK(mkdirat(at, "usr", 0755) == 0);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        if (!all[i].mode) {
            CHECK(mkdirat(at, all[i].path, 0755) == 0);
            continue;
        }
        put(all[i].path, all[i].is_there ? "seen" : "the host's secret");
        CHECK(fchmodat(at, all[i].path, all[i].mode, 0) == 0);
    }
    CHECK(fchmodat(at, "usr/closed", 0710, 0) == 0);
    snprintf(images, sizeof(images), "%s/images", folder);
    snprintf(skeleton, sizeof(skeleton), "%s/images/skeleton", folder);
    snprintf(usr, sizeof(usr), "%s/usr", folder);
    const char *const layers[] = { skeleton };
    CLEANUP(close_fd_p) int out = new_file("usr.erofs");
    if (vm_base_image_build(images, layers, 1, usr, out, &err) < 0)
        printf("# %s\n", err.msg);
    CHECK(has_path(out, "/top") && has_path(out, "/usr/bin/program") && has_path(out, "/usr/bin/suid"));
    CHECK(!has_path(out, "/usr/below"));
    CHECK(!has_path(out, "/usr/bin/unread") && !has_path(out, "/usr/secret") && !has_path(out, "/usr/closed"));
    CHECK(holds(out, "of the layer", 12) && !holds(out, "the host's secret", 17));
    CLEANUP(close_fd_p) int unprivileged = new_file("unprivileged.erofs");
    CHECK(fchmod(at, 0755) == 0);
    pid_t child = fork();
    if (child == 0) { /* owns none of these files, and cannot look into usr/closed */
        if (geteuid() == 0 && (fchown(unprivileged, 65534, 65534) < 0 || setgid(65534) < 0 || setuid(65534) < 0))
            _exit(1);
        (void)prctl(PR_SET_DUMPABLE, 1); /* as after an exec: /proc/self is its own */
        int r = vm_base_image_build(images, layers, 1, usr, unprivileged, &err);
        if (r < 0)
            printf("# %s\n", err.msg);
        (void)fflush(stdout);
        _exit(r < 0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(has_path(unprivileged, "/usr/bin/program") && !has_path(unprivileged, "/usr/closed"));
    CHECK(!holds(unprivileged, "the host's secret", 17));
    put("usr/huge", "");
    CLEANUP(close_fd_p) int huge = openat(at, "usr/huge", O_WRONLY | O_CLOEXEC);
    CHECK(ftruncate(huge, (off_t)15 << 40) == 0); /* sparse, but a copy would not be */
    CHECK(vm_base_image_build(images, layers, 1, usr, out, &err) < 0);
    CHECK(strstr(err.msg, "III_PRESETS=image"));
    CHECK(unlinkat(at, "usr/huge", 0) == 0);
    CLEANUP(close_fd_p) int none = new_file("none.erofs");
    const char *const bare[] = { images }; /* without a /usr */
    CHECK(vm_base_image_build(folder, bare, 1, usr, none, &err) < 0);
    CHECK(strstr(err.msg, "mount the host's /usr over the layers"));
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
    CHECK(vm_base_image_build(images, outside, 1, NULL, out, &err) < 0);
    CHECK(strstr(err.msg, "/etc: Invalid cross-device link"));
    CHECK(vm_base_image_build(images, dots, 1, NULL, out, &err) < 0);
    CHECK(strstr(err.msg, "cross-device"));
    CHECK(vm_base_image_build(images, outside, 0, NULL, out, &err) == -EINVAL);
    CHECK(symlinkat("../other", at, "images/link") == 0);
    snprintf(escape, sizeof(escape), "%s/images/link", folder);
    CHECK(vm_base_image_build(images, dots, 1, NULL, out, &err) < 0);
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
    RUN(a_key_with_the_hosts_usr_changes_with_it);
    if (program_find("mkfs.erofs", path)) {
        RUN(merged);
        RUN(with_a_usr_of_the_host);
        RUN(refused);
    } else {
        SKIP(merged, "needs erofs-utils");
        SKIP(with_a_usr_of_the_host, "needs erofs-utils");
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
