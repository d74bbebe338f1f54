/* Removal must cope with trees made by hostile code: deeper than we have descriptors, folders without permission bits.
 * Past a set depth a folder is moved up to the top of the tree being removed, and the next round removes it. */
#include "image/layer_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define DEPTH_MAX  64
#define ROUNDS_MAX 100000

struct removal {
    int top_fd;
    unsigned moved; /* names used so far at the top */
};

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int open_folder(int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* The tree may hold names like ours on purpose: try the next until one is free. */
static int move_up(struct removal *job, int dir_fd, const char *name)
{
    if (fchmodat(dir_fd, name, 0700, 0) <
        0) /* moving a folder writes into it; unlinkat() has shown that it is a folder */
        return -errno;
    for (;;) {
        char moved[64];
        (void)snprintf(moved, sizeof(moved), ".removed-%ld-%u", (long)getpid(), job->moved++);
        if (renameat2(dir_fd, name, job->top_fd, moved, RENAME_NOREPLACE) == 0)
            return 0;
        if (errno != EEXIST)
            return -errno;
    }
}

static int remove_below(struct removal *job, int fd, int depth);

static int remove_entry(struct removal *job, int dir_fd, const char *name, int depth)
{
    if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -errno;
    if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0)
        return 0;
    if (depth >= DEPTH_MAX) {
        return move_up(job, dir_fd, name);
    }
    CLEANUP(close_fd_p) int fd = open_folder(dir_fd, name);
    if (fd == -EACCES &&
        fchmodat(dir_fd, name, 0700, 0) == 0) /* ours, since its parent is: an unprivileged user's 0000 folder */
        fd = open_folder(dir_fd, name);
    if (fd < 0)
        return fd;
    int r = remove_below(job, fd, depth + 1);
    if (r < 0)
        return r;
    return unlinkat(dir_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}

static int remove_below(struct removal *job, int fd, int depth)
{
    (void)fchmod(fd, 0700); /* an unprivileged user can then empty their own read-only folder; root does not need it */
    int copy = openat(fd, ".",
                      O_RDONLY | O_DIRECTORY |
                          O_CLOEXEC); /* not a dup: that would share the read position of the last round */
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    if (!d) {
        close_fd_p(&copy);
        return -ENOMEM;
    }
    int r = 0;
    for (struct dirent *e = readdir(d); e && r == 0; e = readdir(d))
        if (!is_dot(e->d_name))
            r = remove_entry(job, fd, e->d_name, depth);
    closedir(d);
    return r;
}

int layer_tree_remove_at(int dir_fd, const char *name)
{
    if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -errno;
    CLEANUP(close_fd_p) int fd = open_folder(dir_fd, name);
    if (fd == -EACCES && fchmodat(dir_fd, name, 0700, 0) == 0)
        fd = open_folder(dir_fd, name);
    if (fd < 0)
        return fd;
    /* Each round removes DEPTH_MAX levels of the deepest chain; the bound is for a tree that another process keeps
     * filling. */
    struct removal job = { .top_fd = fd };
    for (int round = 0; round < ROUNDS_MAX; round++) {
        int r = remove_below(&job, fd, 0);
        if (r < 0)
            return r;
        if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            return 0;
        if (errno != ENOTEMPTY && errno != EEXIST)
            return -errno;
    }
    return -EBUSY;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int layer_tree_names(int dir_fd, char ***ret, size_t *ret_n)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        int r = -errno;
        close_fd_p(&fd);
        return r;
    }
    size_t n = 0, cap = 0;
    char **names = NULL;
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (is_dot(e->d_name))
            continue;
        if (n == cap) {
            cap = cap ? cap * 2 : 32;
            names = xrealloc(names, cap * sizeof(*names));
        }
        names[n++] = xstrdup(e->d_name);
    }
    closedir(d);
    if (n)
        qsort(names, n, sizeof(*names), compare_names);
    *ret = names;
    *ret_n = n;
    return 0;
}

static int64_t size_below(int dir_fd, const char *name, int depth)
{
    int fd = open_folder(dir_fd, name);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        close_fd_p(&fd);
        return 0;
    }
    int64_t sum = 0;
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        struct stat st;
        if (is_dot(e->d_name) || fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (S_ISREG(st.st_mode))
            sum += st.st_size;
        else if (S_ISDIR(st.st_mode) && depth < 2 * DEPTH_MAX)
            sum += size_below(fd, e->d_name, depth + 1);
    }
    closedir(d);
    return sum;
}

int64_t layer_tree_size_at(int dir_fd, const char *name)
{
    return size_below(dir_fd, name, 0);
}
