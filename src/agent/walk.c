#include "agent/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/write_all.h"

#define COPY_BYTES (64u * 1024)

typedef int visit_fn(int at, const char *name, int depth, void *arg);

/* Calls visit for each entry; stops at the first failure. */
static int each_entry(int at, const char *name, int depth, visit_fn *visit, void *arg)
{
    int r = 0;

    if (depth >= AGENT_WALK_DEPTH)
        return -ELOOP;
    /* The directory itself, never the target of a symlink. */
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        r = -errno;
        if (fd >= 0)
            (void)close(fd);
        return r;
    }
    while (r == 0) {
        errno = 0;
        struct dirent *d = readdir(dir);
        if (!d) {
            r = -errno;
            break;
        }
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
            r = visit(fd, d->d_name, depth + 1, arg);
    }
    (void)closedir(dir);
    return r;
}

/* --- remove --- */
static int remove_entry(int at, const char *name, int depth, void *arg)
{
    (void)arg;
    if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM && errno != ENOTEMPTY)
        return -errno;
    int error = errno;
    int r = each_entry(at, name, depth, remove_entry, NULL);
    if (r == -ENOTDIR) /* a file that we may not unlink, not a directory */
        return -error;
    if (r < 0)
        return r;
    return unlinkat(at, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -errno;
}

int agent_walk_remove(const char *path, bool is_recursive)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode))
        return unlink(path) < 0 ? -errno : 0;
    if (!is_recursive)
        return rmdir(path) < 0 ? -errno : 0;
    return remove_entry(AT_FDCWD, path, 0, NULL);
}

/* --- mode and owner --- */
static int change_entry(int at, const char *name, int depth, void *arg)
{
    const struct agent_walk_change *c = arg;
    struct stat st;

    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (c->has_owner && fchownat(at, name, c->uid, c->gid, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (S_ISLNK(st.st_mode) || !c->mode)
        return 0;
    /* By an O_PATH descriptor: the checked file is the changed one, even when the name is swapped meanwhile. */
    int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    char self[32];
    int r = 0;
    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    if (fstat(fd, &st) < 0)
        r = -errno;
    else if (!S_ISLNK(st.st_mode) && chmod(self, proto_mode_apply(c->mode, st.st_mode)) < 0)
        r = -errno;
    (void)close(fd);
    return r;
}

static int change_tree(int at, const char *name, int depth, void *arg)
{
    struct stat st;
    int r = change_entry(at, name, depth, arg);

    if (r < 0)
        return r;
    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return S_ISDIR(st.st_mode) ? each_entry(at, name, depth, change_tree, arg) : 0;
}

int agent_walk_change(const char *path, const struct agent_walk_change *change, bool is_recursive)
{
    struct agent_walk_change c = *change;
    char real[PATH_MAX];

    /* chmod follows a symlink that is named directly; chown changes the link itself. */
    if (c.mode && !c.has_owner && realpath(path, real))
        path = real;
    return is_recursive ? change_tree(AT_FDCWD, path, 0, &c) : change_entry(AT_FDCWD, path, 0, &c);
}

/* --- copy --- */
struct copy {
    int to;         /* folder to copy into */
    const char *as; /* NULL: its own name */
};

static int copy_bytes(int from, int to)
{
    char *buf = malloc(COPY_BYTES);
    int r = buf ? 0 : -ENOMEM;

    while (r == 0) {
        ssize_t n = read(from, buf, COPY_BYTES);
        if (n == 0)
            break;
        if (n < 0)
            r = -errno;
        else
            r = write_all_write(to, buf, (size_t)n);
    }
    free(buf);
    return r;
}

static void copy_facts(int fd, const struct stat *st)
{
    struct timespec times[2] = { st->st_atim, st->st_mtim };

    /* Without the right to change owners the files stay ours, as with mv(1). */
    (void)!fchown(fd, st->st_uid, st->st_gid);
    (void)fchmod(fd, st->st_mode & 07777);
    (void)futimens(fd, times);
}

static int copy_file(int at, const char *name, int to, const char *as)
{
    struct stat st;
    int from = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (from < 0)
        return -errno;
    int r = fstat(from, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
    int out = r == 0 ? openat(to, as, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
    if (r == 0 && out < 0)
        r = -errno;
    if (r == 0)
        r = copy_bytes(from, out);
    if (r == 0)
        copy_facts(out, &st);
    if (out >= 0 && close(out) < 0 && r == 0)
        r = -errno;
    (void)close(from);
    return r;
}

static int copy_link(int at, const char *name, int to, const char *as, const struct stat *st)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(at, name, target, sizeof(target) - 1);

    if (n < 0)
        return -errno;
    target[n] = '\0';
    if (symlinkat(target, to, as) < 0)
        return -errno;
    (void)!fchownat(to, as, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW);
    return 0;
}

static int copy_entry(int at, const char *name, int depth, void *arg)
{
    struct copy *c = arg;
    const char *as = c->as ? c->as : name;
    struct stat st;

    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (S_ISREG(st.st_mode))
        return copy_file(at, name, c->to, as);
    if (S_ISLNK(st.st_mode))
        return copy_link(at, name, c->to, as, &st);
    if (!S_ISDIR(st.st_mode))
        return mknodat(c->to, as, st.st_mode, st.st_rdev) < 0 ? -errno : 0;
    if (mkdirat(c->to, as, 0700) < 0)
        return -errno;
    int fd = openat(c->to, as, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct copy inner = { .to = fd };
    int r = each_entry(at, name, depth, copy_entry, &inner);
    if (r == 0)
        copy_facts(fd, &st);
    (void)close(fd);
    return r;
}

int agent_walk_copy(const char *from, const char *to)
{
    struct copy c = { .to = AT_FDCWD, .as = to };

    return copy_entry(AT_FDCWD, from, 0, &c);
}
