#include "image/layer_view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/strlist.h"
#include "image/layer_tree.h"

#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

void layer_view_done(struct layer_view *v)
{
    for (size_t i = 0; i < v->n; i++)
        (void)close(v->fds[i]); /* read only */
    free(v->fds);
    *v = (struct layer_view){ 0 };
}

int layer_view_open(char *const *layers, size_t n, struct layer_view *ret)
{
    CLEANUP(layer_view_done) struct layer_view v = { .fds = xzalloc((n + 1) * sizeof(*v.fds)) };
    for (size_t i = n; i-- > 0;) {
        int fd = open(layers[i], FOLDER);
        if (fd < 0)
            return -errno;
        v.fds[v.n++] = fd;
    }
    *ret = v;
    v = (struct layer_view){ 0 };
    return 0;
}

int layer_view_look(const struct layer_view *v, const char *name, struct stat *ret, int *ret_dir)
{
    for (size_t i = 0; i < v->n; i++) {
        if (fstatat(v->fds[i], name, ret, AT_SYMLINK_NOFOLLOW) < 0) {
            if (errno == ENOENT)
                continue;
            return -errno;
        }
        if (S_ISCHR(ret->st_mode) && ret->st_rdev == makedev(0, 0))
            return -ENOENT; /* a whiteout */
        *ret_dir = v->fds[i];
        return 0;
    }
    return -ENOENT;
}

static int enter_one(const struct layer_view *v, const char *name, struct layer_view *ret)
{
    CLEANUP(layer_view_done) struct layer_view sub = { .fds = xzalloc((v->n + 1) * sizeof(*sub.fds)) };
    for (size_t i = 0; i < v->n; i++) {
        char value[4];
        int fd = openat(v->fds[i], name, FOLDER);
        if (fd < 0 && errno == ENOENT)
            continue;
        if (fd < 0 && errno != ENOTDIR && errno != ELOOP)
            return -errno;
        if (fd < 0 && sub.n) /* hidden: not a folder, or a whiteout */
            break;
        if (fd < 0)
            return -ENOTDIR;
        sub.fds[sub.n++] = fd;
        if (fgetxattr(fd, "trusted.overlay.opaque", value, sizeof(value)) > 0 ||
            fgetxattr(fd, "user.overlay.opaque", value, sizeof(value)) > 0)
            break;
    }
    if (sub.n == 0)
        return -ENOENT;
    *ret = sub;
    sub = (struct layer_view){ 0 };
    return 0;
}

int layer_view_enter(const struct layer_view *v, const char *path, struct layer_view *ret)
{
    struct layer_view now = { .fds = xzalloc((v->n + 1) * sizeof(*now.fds)) };
    for (; now.n < v->n; now.n++) {
        now.fds[now.n] = fcntl(v->fds[now.n], F_DUPFD_CLOEXEC, 3);
        if (now.fds[now.n] < 0) {
            layer_view_done(&now);
            return -EMFILE;
        }
    }
    int r = 0;
    while (r == 0 && *path) {
        struct layer_view sub = { 0 };
        size_t n = strcspn(path, "/");
        CLEANUP(free_p) char *name = xstrndup(path, n);
        path += n + (path[n] == '/');
        r = enter_one(&now, name, &sub);
        layer_view_done(&now);
        now = sub;
    }
    if (r == 0)
        *ret = now;
    return r;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int layer_view_names(const struct layer_view *v, char ***ret)
{
    char **all = xzalloc(sizeof(*all));
    size_t n_all = 0, n_kept = 0;
    int r = 0;
    for (size_t i = 0; i < v->n && r == 0; i++) {
        char **names = NULL;
        size_t n = 0;
        r = layer_tree_names(v->fds[i], &names, &n);
        all = xrealloc(all, (n_all + n + 1) * sizeof(*all));
        if (n)
            memcpy(all + n_all, names, n * sizeof(*all));
        n_all += n;
        free(names);
    }
    qsort(all, n_all, sizeof(*all), by_name);
    for (size_t i = 0; i < n_all; i++) {
        struct stat st;
        int dir;
        bool is_again = n_kept && strcmp(all[i], all[n_kept - 1]) == 0;
        int seen = is_again || r < 0 ? -ENOENT : layer_view_look(v, all[i], &st, &dir);
        if (seen < 0)
            free(all[i]);
        else
            all[n_kept++] = all[i];
        if (seen < 0 && seen != -ENOENT)
            r = seen;
    }
    all[n_kept] = NULL;
    if (r < 0)
        (void)strlist_free(all);
    else
        *ret = all;
    return r;
}

int layer_view_resolve(const struct layer_view *v, const char *path, char **ret)
{
    CLEANUP(free_p) char *rest = xstrdup(path);
    CLEANUP(free_p) char *done = xstrdup("");
    int links = 0;
    for (const char *at = rest; *at;) {
        size_t n = strcspn(at, "/");
        CLEANUP(free_p) char *name = xstrndup(at, n);
        const char *next = at + n + (at[n] == '/');
        if (strcmp(name, "..") == 0) {
            char *slash = strrchr(done, '/');
            *(slash ? slash : done) = '\0';
        }
        if (n == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
            at = next;
            continue;
        }
        CLEANUP(layer_view_done) struct layer_view here = { 0 };
        struct stat st;
        int dir = NO_FD;
        char target[PATH_MAX];
        ssize_t len = 0;
        if (layer_view_enter(v, done, &here) == 0 && layer_view_look(&here, name, &st, &dir) == 0 &&
            S_ISLNK(st.st_mode))
            len = readlinkat(dir, name, target, sizeof(target) - 1);
        if (len > 0) {
            target[len] = '\0';
            if (++links > LAYER_VIEW_LINKS)
                return -ELOOP;
            if (*target == '/')
                *done = '\0';
            char *longer = xasprintf("%s/%s", target, next);
            free(rest);
            at = rest = longer;
            continue;
        }
        char *longer = xasprintf("%s%s%s", done, *done ? "/" : "", name);
        free(done);
        done = longer;
        at = next;
    }
    *ret = STEAL(done);
    return 0;
}

int layer_view_read(const struct layer_view *v, const char *path, struct buf *out)
{
    CLEANUP(layer_view_done) struct layer_view folder = { 0 };
    CLEANUP(free_p) char *real = NULL;
    struct stat st;
    int dir = NO_FD;
    int r = layer_view_resolve(v, path, &real);
    if (r < 0)
        return r;
    char *slash = strrchr(real, '/');
    const char *name = slash ? slash + 1 : real;
    CLEANUP(free_p) char *above = xstrndup(real, slash ? (size_t)(slash - real) : 0);
    r = layer_view_enter(v, above, &folder);
    r = r < 0 ? r : layer_view_look(&folder, name, &st, &dir);
    if (r < 0 || !S_ISREG(st.st_mode))
        return r < 0 ? r : -EINVAL;
    CLEANUP(close_fd_p) int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char piece[4096];
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0) {
        n = read(fd, piece, sizeof(piece));
        if (n > 0 && buf_add(out, piece, (size_t)n) < 0)
            return -E2BIG;
    }
    return n < 0 ? -errno : 0;
}
