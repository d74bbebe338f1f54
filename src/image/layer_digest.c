#include "image/layer_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "image/layer_tree.h"

#define DEPTH_MAX 512

struct summing {
    struct digest digest;
    char *block; /* buffer for file content */
    const atomic_bool *stop;
    struct err *err;
};
#define BLOCK (256 * 1024)

static int add_content(struct summing *s, int dir, const char *name)
{
    CLEANUP(close_fd_p) int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return err_sys(s->err, -errno, "open %s", name);
    for (;;) {
        if (s->stop && atomic_load(s->stop))
            return err_set(s->err, ERR_INTERNAL, ECANCELED, "the server is stopping");
        ssize_t n = read(fd, s->block, BLOCK);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(s->err, -errno, "read %s", name);
        if (n == 0)
            return 0;
        digest_add(&s->digest, s->block, (size_t)n);
    }
}

static int add_folder(struct summing *s, int fd, int depth);

static int add_entry(struct summing *s, int dir, const char *name, int depth)
{
    struct stat st;
    char head[160], target[4097];
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(s->err, -errno, "look at %s", name);
    long long size = S_ISREG(st.st_mode) ? (long long)st.st_size : 0;
    snprintf(head, sizeof(head), "%o %u %u %lld %llx", st.st_mode, st.st_uid, st.st_gid, size,
             S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode) ? (unsigned long long)st.st_rdev : 0ull);
    digest_text(&s->digest, name);
    digest_text(&s->digest, head);
    if (S_ISREG(st.st_mode))
        return add_content(s, dir, name);
    if (S_ISLNK(st.st_mode)) {
        ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);
        if (n < 0)
            return err_sys(s->err, -errno, "read link %s", name);
        target[n] = '\0';
        digest_text(&s->digest, target);
    }
    if (!S_ISDIR(st.st_mode))
        return 0;
    if (depth >= DEPTH_MAX)
        return err_set(s->err, ERR_TOO_LARGE, 0, "%s: more than %d folders deep", name, DEPTH_MAX);
    CLEANUP(close_fd_p) int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_sys(s->err, -errno, "open folder %s", name);
    int r = add_folder(s, fd, depth + 1);
    digest_text(&s->digest, "/"); /* marks the end of the folder */
    return r;
}

static int add_folder(struct summing *s, int fd, int depth)
{
    char **names = NULL;
    size_t n = 0;
    int r = layer_tree_names(fd, &names, &n);
    if (r < 0)
        return err_sys(s->err, r, "read a folder");
    for (size_t i = 0; i < n; i++) {
        if (r >= 0)
            r = add_entry(s, fd, names[i], depth);
        free(names[i]);
    }
    free(names);
    return r;
}

int layer_digest_of(char *const *folders, const atomic_bool *stop, char ret[DIGEST_HEX], struct err *err)
{
    struct summing s = { .block = xrealloc(NULL, BLOCK), .stop = stop, .err = err };
    int r = 0;
    digest_init(&s.digest);
    for (size_t i = 0; folders && folders[i] && r >= 0; i++) {
        char head[64]; /* the folder's own path does not count */
        struct stat st;
        CLEANUP(close_fd_p) int fd = open(folders[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0) {
            r = err_sys(err, -errno, "open layer %s", folders[i]);
            break;
        }
        snprintf(head, sizeof(head), "layer %o %u %u", st.st_mode, st.st_uid, st.st_gid);
        digest_text(&s.digest, head);
        r = add_folder(&s, fd, 0);
    }
    digest_hex(&s.digest, ret);
    digest_done(&s.digest);
    free(s.block);
    return r;
}

int64_t layer_digest_bytes(char *const *folders, size_t n)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += layer_tree_size_at(AT_FDCWD, folders[i]);
    return bytes;
}
