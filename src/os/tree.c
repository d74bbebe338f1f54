/* Theory of operation. Removal flattens: every folder found inside is moved up beside its parent and removed later. So
 * neither recursion nor path length nor descriptors grow with the depth, which the untrusted owner of the files chose.
 * Each pass removes files and lifts folders until nothing is left.
 *
 * A copy walks with one descriptor per level, bounded by TREE_DEPTH_MAX, and never follows a link. struct copy holds
 * the state of one call: the target, the table of hard links seen, and the present path. It frees everything at the
 * end; on failure the partial copy is left for tree_remove(), and err names the path. */
#include "os/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

static void close_dir_p(DIR **slot)
{
    if (*slot)
        (void)closedir(*slot); /* read only */
}

static bool is_dots(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

static DIR *open_dir(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    DIR *d = fdopendir(fd);
    if (!d) {
        int why = errno;
        (void)close(fd); /* never read */
        errno = why;
    }
    return d;
}

/* An unprivileged user can neither open nor move its own folder without permission bits. Nobody else works there: no
 * link can take its place. */
static void give_rights(int at, const char *name)
{
    if (geteuid() != 0 && fchmodat(at, name, 0700, 0) < 0)
        return; /* the next step fails and reports it, if this was needed */
}

/* Empties folder `name` of top: removes files and moves folders up into top under new names. */
static int folder_flatten(int top, const char *name, uint64_t *counter)
{
    give_rights(top, name);
    CLEANUP(close_dir_p) DIR *d = open_dir(top, name);
    if (!d)
        return -errno;
    for (struct dirent *e; (errno = 0, e = readdir(d));) {
        if (is_dots(e->d_name))
            continue;
        if (unlinkat(dirfd(d), e->d_name, 0) == 0 || errno == ENOENT)
            continue;
        if (errno != EISDIR && errno != EPERM)
            return -errno;
        if (unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR) == 0)
            continue;
        char up[32];
        give_rights(dirfd(d), e->d_name);
        snprintf(up, sizeof(up), ".rm-%llu", (unsigned long long)(*counter)++);
        if (renameat(dirfd(d), e->d_name, top, up) < 0)
            return -errno;
    }
    return -errno;
}

int tree_remove(int dir_fd, const char *name, struct err *err)
{
    uint64_t counter = 0;
    bool is_empty = false;
    while (!is_empty) {
        if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            return 0;
        if (errno != ENOTEMPTY && errno != EEXIST)
            return err_sys(err, -errno, "remove folder %s", name);
        CLEANUP(close_dir_p) DIR *top = open_dir(dir_fd, name);
        if (!top)
            return err_sys(err, -errno, "open folder %s", name);
        is_empty = true;
        for (struct dirent *e; (e = readdir(top));) {
            if (is_dots(e->d_name))
                continue;
            is_empty = false;
            if (unlinkat(dirfd(top), e->d_name, 0) == 0)
                continue;
            int r = folder_flatten(dirfd(top), e->d_name, &counter);
            if (r == 0 && unlinkat(dirfd(top), e->d_name, AT_REMOVEDIR) < 0)
                r = -errno;
            if (r < 0 && r != -ENOENT && r != -ENOTEMPTY)
                return err_sys(err, r, "empty folder %s", name);
        }
    }
    return unlinkat(dir_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? err_sys(err, -errno, "remove folder %s", name)
                                                                       : 0;
}

/* --- copy --- */

struct link_seen {
    dev_t dev;
    ino_t ino;
    char *path; /* of its copy, below the new folder; NULL: a free slot */
};

struct copy {
    int top; /* the new folder */
    int64_t bytes;
    struct link_seen *links; /* hashed by inode; cap_links is 0 or a power of two, at most half full */
    size_t n_links, cap_links;
    char path[8192]; /* of the present entry, below the new folder */
    size_t path_len;
    unsigned depth;
    struct err *err;
};

static int copy_fail(struct copy *c, const char *what)
{
    return err_sys(c->err, -errno, "copy %.200s: %s", c->path, what);
}

static int copy_xattrs(struct copy *c, int from, int to)
{
    char names[4096], value[65536];
    ssize_t n = flistxattr(from, names, sizeof(names));
    if (n < 0)
        return errno == EOPNOTSUPP ? 0 : copy_fail(c, "list attributes");
    for (const char *name = names; name < names + n; name += strlen(name) + 1) {
        ssize_t len = fgetxattr(from, name, value, sizeof(value));
        if (len < 0)
            return copy_fail(c, "read an attribute");
        if (fsetxattr(to, name, value, (size_t)len, 0) < 0 && errno != EOPNOTSUPP)
            return copy_fail(c, "set an attribute");
    }
    return 0;
}

static int copy_meta(struct copy *c, int from, int to, const struct stat *st)
{
    const struct timespec times[2] = { st->st_atim, st->st_mtim };
    if (fchown(to, st->st_uid, st->st_gid) < 0)
        return copy_fail(c, "set the owner");
    int r = copy_xattrs(c, from, to); /* after chown, which clears file capabilities */
    if (r < 0)
        return r;
    if (fchmod(to, st->st_mode & 07777) < 0 || futimens(to, times) < 0)
        return copy_fail(c, "set mode and times");
    return 0;
}

static int send_run(struct copy *c, int from, int to, off_t in, off_t end)
{
    if (lseek(to, in, SEEK_SET) < 0)
        return copy_fail(c, "find the place");
    while (in < end) {
        ssize_t n = sendfile(to, from, &in, (size_t)(end - in));
        if (n < 0)
            return copy_fail(c, "copy data");
        if (n == 0)
            break;
    }
    return 0;
}

/* Copies one run of data; the gaps between runs stay sparse. */
static int copy_run(struct copy *c, int from, int to, off_t start, off_t end)
{
    off_t in = start, out = start;
    while (in < end) {
        ssize_t n = copy_file_range(from, &in, to, &out, (size_t)(end - in), 0);
        if (n < 0 && errno == EXDEV) /* another file system */
            return send_run(c, from, to, in, end);
        if (n < 0)
            return copy_fail(c, "copy data");
        if (n == 0)
            break;
    }
    return 0;
}

static int copy_data(struct copy *c, int from, int to, const struct stat *st)
{
    c->bytes += st->st_size;
    if (st->st_size == 0 || ioctl(to, FICLONE, from) == 0)
        return 0;
    if (ftruncate(to, st->st_size) < 0)
        return copy_fail(c, "set the size");
    for (off_t at = 0; at < st->st_size;) {
        off_t data = lseek(from, at, SEEK_DATA);
        if (data < 0)
            return errno == ENXIO ? 0 : copy_fail(c, "find data");
        off_t hole = lseek(from, data, SEEK_HOLE);
        if (hole < 0)
            return copy_fail(c, "find a hole");
        int r = copy_run(c, from, to, data, hole);
        if (r < 0)
            return r;
        at = hole;
    }
    return 0;
}

/* The slot of the inode, or the free slot where it would be. */
static struct link_seen *find_link(const struct copy *c, dev_t dev, ino_t ino)
{
    size_t at = (size_t)((ino * 0x9e3779b97f4a7c15ull) >> 20 ^ dev);
    for (;; at++) {
        struct link_seen *l = &c->links[at & (c->cap_links - 1)];
        if (!l->path || (l->ino == ino && l->dev == dev))
            return l;
    }
}

/* True when this inode was copied before and has now been linked. */
static int copy_as_link(struct copy *c, int to_dir, const char *name, const struct stat *st, bool *ret_is_done)
{
    *ret_is_done = false;
    if (st->st_nlink < 2)
        return 0;
    if (c->n_links * 2 >= c->cap_links) {
        struct link_seen *old = c->links;
        size_t cap = c->cap_links;
        c->cap_links = cap ? cap * 2 : 64;
        c->links = xzalloc(c->cap_links * sizeof(*c->links));
        for (size_t i = 0; i < cap; i++)
            if (old[i].path)
                *find_link(c, old[i].dev, old[i].ino) = old[i];
        free(old);
    }
    struct link_seen *l = find_link(c, st->st_dev, st->st_ino);
    if (l->path) {
        if (linkat(c->top, l->path, to_dir, name, 0) < 0)
            return copy_fail(c, "link");
        *ret_is_done = true;
        return 0;
    }
    *l = (struct link_seen){ st->st_dev, st->st_ino, xstrdup(c->path) };
    c->n_links++;
    return 0;
}

static int copy_file(struct copy *c, int from_dir, int to_dir, const char *name, const struct stat *st)
{
    CLEANUP(close_fd_p) int from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    CLEANUP(close_fd_p) int to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (from < 0 || to < 0)
        return copy_fail(c, "open");
    int r = copy_data(c, from, to, st);
    return r < 0 ? r : copy_meta(c, from, to, st);
}

static int copy_symlink(struct copy *c, int from_dir, int to_dir, const char *name, const struct stat *st)
{
    char target[4097];
    const struct timespec times[2] = { st->st_atim, st->st_mtim };
    ssize_t n = readlinkat(from_dir, name, target, sizeof(target) - 1);
    if (n < 0)
        return copy_fail(c, "read link");
    target[n] = '\0';
    if (symlinkat(target, to_dir, name) < 0 ||
        fchownat(to_dir, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) < 0 ||
        utimensat(to_dir, name, times, AT_SYMLINK_NOFOLLOW) < 0)
        return copy_fail(c, "make link");
    return 0;
}

static int copy_dir(struct copy *c, int from, int to);

static int copy_subdir(struct copy *c, int from_dir, int to_dir, const char *name, const struct stat *st)
{
    if (c->depth >= TREE_DEPTH_MAX)
        return err_set(c->err, ERR_TOO_LARGE, 0, "copy %.200s: more than %d folders deep", c->path, TREE_DEPTH_MAX);
    if (mkdirat(to_dir, name, 0700) < 0)
        return copy_fail(c, "make folder");
    CLEANUP(close_fd_p) int from = openat(from_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    CLEANUP(close_fd_p) int to = openat(to_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (from < 0 || to < 0)
        return copy_fail(c, "open folder");
    c->depth++;
    int r = copy_dir(c, from, to);
    c->depth--;
    return r < 0 ? r : copy_meta(c, from, to, st);
}

static int copy_entry(struct copy *c, int from, int to, const char *name)
{
    struct stat st;
    bool is_done;
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return copy_fail(c, "stat");
    if (S_ISDIR(st.st_mode))
        return copy_subdir(c, from, to, name, &st);
    int r = copy_as_link(c, to, name, &st, &is_done);
    if (r < 0 || is_done)
        return r;
    if (S_ISREG(st.st_mode))
        return copy_file(c, from, to, name, &st);
    if (S_ISLNK(st.st_mode))
        return copy_symlink(c, from, to, name, &st);
    /* FIFOs, sockets, and character device 0:0, which is overlayfs's whiteout. A box cannot contain real devices. */
    if (mknodat(to, name, st.st_mode, st.st_rdev) < 0 ||
        fchownat(to, name, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0)
        return copy_fail(c, "make node");
    return 0;
}

static int copy_dir(struct copy *c, int from, int to)
{
    CLEANUP(close_dir_p) DIR *d = open_dir(from, ".");
    if (!d)
        return copy_fail(c, "open folder");
    for (struct dirent *e; (errno = 0, e = readdir(d));) {
        if (is_dots(e->d_name))
            continue;
        size_t old = c->path_len, left = sizeof(c->path) - old;
        int n = snprintf(c->path + old, left, "%s%s", old ? "/" : "", e->d_name);
        if ((size_t)n >= left)
            return err_set(c->err, ERR_TOO_LARGE, 0, "copy: a path longer than %zu bytes", sizeof(c->path) - 1);
        c->path_len += (size_t)n;
        int r = copy_entry(c, from, to, e->d_name);
        if (r < 0)
            return r;
        c->path_len = old;
        c->path[old] = '\0';
    }
    return errno ? copy_fail(c, "read folder") : 0;
}

int tree_copy(int from_dir, const char *from, int to_dir, const char *to, int64_t *ret_bytes, struct err *err)
{
    struct stat st;
    CLEANUP(close_fd_p) int in = openat(from_dir, from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (in < 0 || fstat(in, &st) < 0)
        return err_sys(err, -errno, "open folder %s", from);
    if (mkdirat(to_dir, to, 0700) < 0)
        return err_sys(err, -errno, "make folder %s", to);
    CLEANUP(close_fd_p) int out = openat(to_dir, to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (out < 0)
        return err_sys(err, -errno, "open folder %s", to);
    CLEANUP(free_p) struct copy *c = xzalloc(sizeof(*c));
    c->top = out;
    c->err = err;
    int r = copy_dir(c, in, out);
    if (r >= 0)
        r = copy_meta(c, in, out, &st);
    for (size_t i = 0; i < c->cap_links; i++)
        free(c->links[i].path);
    free(c->links);
    if (r < 0)
        return r;
    *ret_bytes = c->bytes;
    return 0;
}

void tree_spread(int dir_fd)
{
    int flags = 0;
    if (ioctl(dir_fd, FS_IOC_GETFLAGS, &flags) < 0 || flags & FS_TOPDIR_FL)
        return;
    flags |= FS_TOPDIR_FL;
    (void)ioctl(dir_fd, FS_IOC_SETFLAGS, &flags); /* only for speed */
}
