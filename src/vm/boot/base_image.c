/* The child that becomes mkfs.erofs enters a mount namespace of its own (as an unprivileged user a user namespace as
 * well), covers /tmp there with an empty file system and mounts the merged layers in it. For a preset it mounts the
 * host's /usr on top, as the native backend does, without what is mounted below it. All of it disappears with the
 * child. */
#include "vm/boot/base_image.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/strlist.h"
#include "os/host_usr.h"
#include "os/mount.h"
#include "os/overlay_compat.h"
#include "os/program.h"

#define SUPERBLOCK 1024
#define LIMIT_MS   1800000 /* a host's /usr has gigabytes */
#define PLACE      "/tmp"  /* exists on every system */
#define MERGED     PLACE "/merged"
#define USR        MERGED "/usr"
#define NOTHING    PLACE "/nothing"
#define ARGS_MAX   (HOST_USR_PRIVATE_MAX + 16)
#define SPARE      (1ull << 30)                     /* not filled by a copy of /usr */
#define USR_AT     (sizeof(VM_BASE_IMAGE_HOST) - 1) /* in the key of a drive with the host's /usr: that of /usr, */
#define USR_DIGITS 16
#define USR_END    (USR_AT + USR_DIGITS) /* that of the layers */
#define FORMAT     "1"                   /* of the output of vm_base_image_build(); part of the key */
#define FIXED_ID   "-U11111111-2222-4333-8444-555555555555" /* equal layers give equal bytes */

int vm_base_image_key(const char *const *layers, size_t n, const char *usr, char ret[DIGEST_HEX])
{
    struct digest s;
    char of_layers[DIGEST_HEX];
    int r = n > 0 ? 0 : -EINVAL;
    digest_init(&s);
    digest_text(&s, FORMAT);
    for (size_t i = 0; i < n; i++) {
        const char *base = strrchr(layers[i], '/');
        r = base && base[1] ? r : -EINVAL;
        digest_text(&s, base ? base + 1 : layers[i]);
    }
    digest_end(&s, of_layers);
    if (usr)
        (void)snprintf(ret, DIGEST_HEX, VM_BASE_IMAGE_HOST "%.*s%.*s", (int)USR_DIGITS, usr,
                       (int)(DIGEST_HEX - 1 - USR_END), of_layers);
    else
        memcpy(ret, of_layers, DIGEST_HEX);
    return r;
}

bool vm_base_image_is_host(const char *key)
{
    return strncmp(key, VM_BASE_IMAGE_HOST, USR_AT) == 0;
}

bool vm_base_image_is_stale(const char *key, const char *usr)
{
    return vm_base_image_is_host(key) && strncmp(key + USR_AT, usr, USR_DIGITS) != 0;
}

bool vm_base_image_is_key(const char *text)
{
    const char *digits = text + (vm_base_image_is_host(text) ? USR_AT : 0);
    return *digits && strlen(text) < DIGEST_HEX && !digits[strspn(digits, "0123456789abcdef")];
}

/* --- in the child --- */

struct plan {
    const char *image_dir;
    const char *const *layers;
    const char *usr;
    size_t n;
    uid_t uid;
    gid_t gid;
    const char **argv; /* ARGS_MAX; the child completes it */
    size_t n_argv;
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

/* Puts the host's /usr over that of the layers, and makes mkfs.erofs leave out what is private there. */
static int add_usr(struct plan *p, int usr)
{
    struct err err = ERR_INIT;
    char **private = NULL; /* freed by exec, as what is made of it */
    uint64_t bytes = 0;
    struct statvfs disk;
    CLEANUP(close_fd_p) int at = open(USR, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = at < 0 ? -errno : mount_attach(usr, at);
    if (r < 0)
        return print_error("mount the host's /usr over the layers", r);
    r = host_usr_scan(USR, &private, &bytes, &err);
    if (r >= 0 && fstatvfs(PROGRAM_FD, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize < bytes + SPARE)
        r = err_set(&err, ERR_CAPACITY, ENOSPC,
                    "a copy of the host's /usr takes %llu MB and %llu MB have to stay free, but the disk of the data "
                    "folder has only %llu: free some, or use images instead (III_PRESETS=image)",
                    (unsigned long long)bytes >> 20, SPARE >> 20,
                    (unsigned long long)disk.f_bavail * disk.f_frsize >> 20);
    if (r < 0) {
        (void)dprintf(STDERR_FILENO, "%s", err.msg);
        return r;
    }
    for (size_t i = 0; private && private[i]; i++)
        p->argv[p->n_argv++] = xasprintf("--exclude-path=%s", private[i]);
    if (p->uid != 0) {
        p->argv[p->n_argv++] = "--all-root"; /* in this user namespace nobody owns the host's files */
        p->argv[p->n_argv++] = "-x-1";       /* looking for attributes fails in folders that are left out */
    }
    return 0;
}

static int child_prepare(void *arg)
{
    struct plan *p = arg;
    int fds[VM_BASE_IMAGE_LAYERS_MAX]; /* closed by exec */
    int r = enter_namespaces(p);
    if (r >= 0)
        r = open_layers(p, fds); /* in the new namespace, before anything is covered */
    if (r < 0)
        return r;
    CLEANUP(close_fd_p) int usr = p->usr ? mount_clone(AT_FDCWD, p->usr) : NO_FD;
    if (p->usr && (usr < 0 || (r = mount_set(usr, MOUNT_ATTR_RDONLY, -1)) < 0))
        return print_error(p->usr, usr < 0 ? usr : r);
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
    if (r < 0)
        return print_error("merge the layers", r);
    if (p->usr && (r = add_usr(p, usr)) < 0)
        return r;
    p->argv[p->n_argv++] = "/proc/self/fd/3";
    p->argv[p->n_argv++] = MERGED;
    return 0;
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

int vm_base_image_build(const char *image_dir, const char *const *layers, size_t n, const char *usr, int out,
                        struct err *err)
{
    /* File times stay, because interpreters compare them with those of their compiled files. So no option can fix
     * the superblock's time; without a checksum it is overwritten afterwards. */
    const char *argv[ARGS_MAX] = { "mkfs.erofs", "--quiet", "--preserve-mtime", "-Enosbcrc", FIXED_ID };
    struct plan p = { .image_dir = image_dir,
                      .layers = layers,
                      .usr = usr,
                      .n = n,
                      .uid = geteuid(),
                      .gid = getegid(),
                      .argv = argv,
                      .n_argv = 5 };
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
