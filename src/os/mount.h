/* Mounts by descriptor, never by path: the new mount calls, which neither C library wraps in full. Header only, because
 * the launcher (glibc) and the agent (musl) both use it. Each returns a descriptor or 0, or -errno. May include:
 * nothing. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

/* A detached copy of the mount at dir_fd/path ("" = dir_fd itself), that folder being its root. */
static inline int mount_clone(int dir_fd, const char *path)
{
    unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW;
    long fd = syscall(SYS_open_tree, dir_fd, path, flags);
    return fd < 0 ? -errno : (int)fd;
}

/* Sets attributes (MOUNT_ATTR_*) of a mount; userns_fd >= 0 also maps its ids through that namespace. */
static inline int mount_set(int mount_fd, uint64_t attributes, int userns_fd)
{
    struct mount_attr attr = { .attr_set = attributes };
    if (userns_fd >= 0) {
        attr.attr_set |= MOUNT_ATTR_IDMAP;
        attr.userns_fd = (uint64_t)userns_fd;
    }
    return syscall(SYS_mount_setattr, mount_fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

/* Attaches a detached mount on top of the folder to_fd. */
static inline int mount_attach(int mount_fd, int to_fd)
{
    unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
    return syscall(SYS_move_mount, mount_fd, "", to_fd, "", flags) < 0 ? -errno : 0;
}

static inline int mount_fs_open(const char *type)
{
    long fd = syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

static inline int mount_fs_string(int fs_fd, const char *key, const char *value)
{
    return syscall(SYS_fsconfig, fs_fd, FSCONFIG_SET_STRING, key, value, 0) < 0 ? -errno : 0;
}

static inline int mount_fs_flag(int fs_fd, const char *key)
{
    return syscall(SYS_fsconfig, fs_fd, FSCONFIG_SET_FLAG, key, NULL, 0) < 0 ? -errno : 0;
}

static inline int mount_fs_dir(int fs_fd, const char *key, int dir_fd)
{
    return syscall(SYS_fsconfig, fs_fd, FSCONFIG_SET_FD, key, NULL, dir_fd) < 0 ? -errno : 0;
}

/* The detached mount of a configured file system. */
static inline int mount_fs_make(int fs_fd, uint64_t attributes)
{
    if (syscall(SYS_fsconfig, fs_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -errno;
    long fd = syscall(SYS_fsmount, fs_fd, FSMOUNT_CLOEXEC, attributes);
    return fd < 0 ? -errno : (int)fd;
}

/* Opens a name beneath dir_fd; a symbolic or magic link anywhere in it fails with -ELOOP, leaving dir_fd with
 * -EXDEV. */
static inline int mount_open_beneath(int dir_fd, const char *path, int flags, unsigned mode)
{
    struct open_how how = { .flags = (uint64_t)flags | O_CLOEXEC,
                            .mode = flags & O_CREAT ? mode : 0,
                            .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
    long fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
    return fd < 0 ? -errno : (int)fd;
}

/* One step of mount_walk(): the folder `name` of at. */
static inline int mount_step(int at, const char *name, int may_make)
{
    struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                            .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
    if (may_make)
        how.resolve |= RESOLVE_NO_XDEV;
    long fd = syscall(SYS_openat2, at, name, &how, sizeof(how));
    if (fd < 0 && errno == ENOENT && may_make && (mkdirat(at, name, 0755) == 0 || errno == EEXIST))
        fd = syscall(SYS_openat2, at, name, &how, sizeof(how));
    return fd < 0 ? -errno : (int)fd;
}

/* Opens the folder of an absolute path in a file system that hostile processes change all the time: one name at a
 * time, each without following links, none resolved twice. may_make: missing folders are made, and no mount may be
 * on the way (-EXDEV). */
static inline int mount_walk(const char *target, int may_make)
{
    char name[256];
    int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return -errno;
    for (const char *p = target + strspn(target, "/"); *p; p += strspn(p, "/")) {
        size_t n = strcspn(p, "/");
        int next = -ENAMETOOLONG;
        if (n < sizeof(name)) {
            memcpy(name, p, n);
            name[n] = '\0';
            next = mount_step(at, name, may_make);
        }
        (void)close(at); /* only a handle */
        if (next < 0)
            return next;
        at = next;
        p += n;
    }
    return at;
}
