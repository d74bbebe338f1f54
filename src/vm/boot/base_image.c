/* The child that becomes mkfs.erofs enters a mount namespace of its own (as an unprivileged user a user namespace as
 * well), covers /tmp there with an empty file system and mounts the merged layers in it. All of it disappears with
 * the child. */
#include "vm/boot/base_image.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/mount.h"
#include "os/overlay_compat.h"
#include "os/program.h"

#define SUPERBLOCK 1024
#define LIMIT_MS   600000
#define PLACE      "/tmp" /* exists on every system */
#define MERGED     PLACE "/merged"
#define NOTHING    PLACE "/nothing"
#define FORMAT     "1"                                    /* of the output of vm_base_image_build(); part of the key */
#define FIXED_ID   "11111111-2222-4333-8444-555555555555" /* equal layers give equal bytes */

int vm_base_image_key(const char *const *layers, size_t n, char ret[DIGEST_HEX])
{
    struct digest s;
    int r = n > 0 ? 0 : -EINVAL;
    digest_init(&s);
    digest_text(&s, FORMAT);
    for (size_t i = 0; i < n; i++) {
        const char *base = strrchr(layers[i], '/');
        r = base && base[1] ? r : -EINVAL;
        digest_text(&s, base ? base + 1 : layers[i]);
    }
    digest_end(&s, ret);
    return r;
}

/* --- in the child --- */

struct plan {
    const char *image_dir;
    const char *const *layers;
    size_t n;
    uid_t uid;
    gid_t gid;
};

/* program_run() returns standard error to its caller. */
static int print_error(const char *what, int r)
{
    (void)dprintf(STDERR_FILENO, "%s: %s", what, strerror(-r));
    return r;
}

static int write_text(const char *path, const char *text)
{
    CLEANUP(close_fd_p) int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ? -errno : 0;
}

/* An unprivileged user becomes root of a user namespace, with access to its own files only. */
static int enter_namespaces(const struct plan *p)
{
    char uids[64], gids[64];
    bool is_root = p->uid == 0;
    if (unshare(CLONE_NEWNS | (is_root ? 0 : CLONE_NEWUSER)) < 0)
        return print_error(is_root ? "a mount namespace" : "a user namespace: an unprivileged user needs one for this",
                           -errno);
    (void)snprintf(uids, sizeof(uids), "0 %u 1", (unsigned)p->uid);
    (void)snprintf(gids, sizeof(gids), "0 %u 1", (unsigned)p->gid);
    int r = is_root ? 0 : write_text("/proc/self/setgroups", "deny");
    if (r >= 0 && !is_root)
        r = write_text("/proc/self/uid_map", uids);
    if (r >= 0 && !is_root)
        r = write_text("/proc/self/gid_map", gids);
    if (r < 0)
        return print_error("map this user to root", r);
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? print_error("keep mounts to ourselves", -errno) : 0;
}

static int open_layers(const struct plan *p, int *fds)
{
    CLEANUP(close_fd_p) int root = open(p->image_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    size_t len = strlen(p->image_dir);
    if (root < 0)
        return print_error(p->image_dir, -errno);
    for (size_t i = 0; i < p->n; i++) {
        bool is_below = strncmp(p->layers[i], p->image_dir, len) == 0 && p->layers[i][len] == '/';
        fds[i] = is_below ? mount_open_beneath(root, p->layers[i] + len + 1, O_PATH | O_DIRECTORY, 0) : -EXDEV;
        if (fds[i] < 0)
            return print_error(p->layers[i], fds[i]);
    }
    return 0;
}

static int child_prepare(void *arg)
{
    const struct plan *p = arg;
    int fds[VM_BASE_IMAGE_LAYERS_MAX]; /* closed by exec */
    int r = enter_namespaces(p);
    if (r >= 0)
        r = open_layers(p, fds); /* in the new namespace, before anything is covered */
    if (r < 0)
        return r;
    if (mount("tmpfs", PLACE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") < 0 || mkdir(MERGED, 0755) < 0 ||
        mkdir(NOTHING, 0755) < 0)
        return print_error("a place for the merged layers", -errno);
    CLEANUP(close_fd_p) int nothing = open(NOTHING, O_PATH | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(close_fd_p) int at = open(MERGED, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (nothing < 0 || at < 0)
        return print_error("merge the layers", -errno);
    struct overlay_compat o = { 0 }; /* without an upper layer */
    for (size_t i = p->n; i-- > 0;)
        overlay_compat_lower(&o, fds[i]);
    overlay_compat_lower(&o, nothing); /* lets a single layer be mounted the same way */
    CLEANUP(close_fd_p)
    int merged = overlay_compat_mount(&o, MERGED, p->uid == 0 ? "redirect_dir=follow" : "userxattr");
    r = merged < 0 ? merged : mount_attach(merged, at);
    return r < 0 ? print_error("merge the layers", r) : 0;
}

/* The superblock: magic at 0, build time at 24 (8 bytes) and 32 (4 bytes). */
static int fix_time(int out, struct err *err)
{
    static const unsigned char magic[] = { 0xe2, 0xe1, 0xf5, 0xe0 }, zero[12];
    unsigned char found[sizeof(magic)];
    if (pread(out, found, sizeof(found), SUPERBLOCK) != (ssize_t)sizeof(found) ||
        memcmp(found, magic, sizeof(magic)) != 0)
        return err_set(err, ERR_INTERNAL, 0, "mkfs.erofs made no erofs");
    if (pwrite(out, zero, sizeof(zero), SUPERBLOCK + 24) != (ssize_t)sizeof(zero))
        return err_sys(err, -errno, "write the root of an image");
    return 0;
}

int vm_base_image_build(const char *image_dir, const char *const *layers, size_t n, int out, struct err *err)
{
    /* File times stay, because interpreters compare them with those of their compiled files. So no option can fix
     * the superblock's time; without a checksum it is overwritten afterwards. */
    static const char *const argv[] = { "mkfs.erofs", "--quiet",     "--preserve-mtime",
                                        "-Enosbcrc",  "-U" FIXED_ID, "/proc/self/fd/3",
                                        MERGED,       NULL };
    struct plan p = { .image_dir = image_dir, .layers = layers, .n = n, .uid = geteuid(), .gid = getegid() };
    if (n == 0 || n > VM_BASE_IMAGE_LAYERS_MAX)
        return err_set(err, ERR_INVALID, 0, "an image for a microVM has 1 to %d layers, not %zu",
                       VM_BASE_IMAGE_LAYERS_MAX, n);
    const struct program_call call = { .argv = argv,
                                       .package = "erofs-utils",
                                       .cwd = NO_FD,
                                       .fd = out,
                                       .limit_ms = LIMIT_MS,
                                       .prepare = child_prepare,
                                       .arg = &p };
    int r = program_run(&call, err);
    return r < 0 ? err_wrap(err, r, "make the root of an image") : fix_time(out, err);
}
