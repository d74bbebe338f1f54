/* The folder a build copies from. build_context_open() walks it once with openat2() beneath the folder and keeps a
 * sorted list of entries, less what .dockerignore excludes; struct build_context owns the list and the folder's
 * descriptor. A COPY source is then matched against that list only, so no name from a Dockerfile reaches the file
 * system. Symbolic links are entries, never followed. Any failure leaves an empty context that build_context_done()
 * accepts. */
#include "image/build_context.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"

#define PATTERN_MAX 4096
#define PIECE       65536

/* --- .dockerignore --- */

/* Matches one path component against one component of a pattern. */
static bool fits_part(const char *pattern, size_t pattern_len, const char *name, size_t name_len)
{
    char p[PATTERN_MAX], n[NAME_MAX + 1];
    if (pattern_len >= sizeof(p) || name_len >= sizeof(n))
        return false;
    memcpy(p, pattern, pattern_len);
    memcpy(n, name, name_len);
    p[pattern_len] = n[name_len] = '\0';
    return fnmatch(p, n, 0) == 0;
}

/* Matches the path or a folder above it. "**" stands for any number of components: when what follows does not match,
 * the last "**" takes one more component. */
static bool fits_pattern(const char *pattern, const char *path)
{
    const char *star = NULL, *star_path = NULL;
    while (*path) {
        size_t p = strcspn(pattern, "/"), n = strcspn(path, "/");
        if (p == 0)
            return true; /* the whole pattern matched a folder above */
        if (p == 2 && strncmp(pattern, "**", 2) == 0) {
            pattern += 2 + (pattern[2] == '/');
            if (!*pattern)
                return true;
            star = pattern;
            star_path = path;
        } else if (fits_part(pattern, p, path, n)) {
            pattern += p + (pattern[p] == '/');
            path += n + (path[n] == '/');
        } else if (star) {
            size_t skip = strcspn(star_path, "/");
            star_path += skip + (star_path[skip] == '/');
            path = star_path;
            pattern = star;
        } else {
            return false;
        }
    }
    return !*pattern;
}

bool build_context_is_ignored(const char *patterns, const char *path)
{
    bool is_ignored = false;
    for (const char *at = patterns; *at;) {
        size_t len = strcspn(at, "\n");
        char line[PATTERN_MAX];
        const char *text = at;
        size_t n = len;
        at += len + (at[len] == '\n');
        while (n && strchr(" \t\r", text[n - 1]))
            n--;
        if (n == 0 || *text == '#' || n >= sizeof(line))
            continue;
        bool is_negated = *text == '!';
        text += is_negated;
        n -= is_negated;
        for (; n && (*text == '/' || (n > 1 && strncmp(text, "./", 2) == 0)); n--)
            text++;
        while (n && text[n - 1] == '/')
            n--;
        memcpy(line, text, n);
        line[n] = '\0';
        if (n && is_ignored == is_negated && fits_pattern(line, path))
            is_ignored = !is_negated;
    }
    return is_ignored;
}

/* --- the walk --- */

struct walk {
    struct build_context *c;
    const char *ignore;
    struct err *err;
};

static int walk_folder(struct walk *w, int fd, const char *prefix, int depth);

static int open_beneath(int root_fd, const char *path, uint64_t flags)
{
    struct open_how how = { .flags = flags | O_CLOEXEC | O_NOFOLLOW,
                            .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
    return (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
}

static int walk_entry(struct walk *w, int fd, const char *prefix, const char *name, int depth)
{
    CLEANUP(free_p) char *path = *prefix ? xasprintf("%s/%s", prefix, name) : xstrdup(name);
    struct stat st;
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_set(w->err, ERR_INTERNAL, errno, "context: %s", path);
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))
        return 0; /* sockets and the like cannot be copied: skip */
    bool is_ignored = build_context_is_ignored(w->ignore, path);
    if (is_ignored && !(S_ISDIR(st.st_mode) && strchr(w->ignore, '!')))
        return 0;
    struct build_context *c = w->c;
    if (!is_ignored) {
        if (c->n_entries == BUILD_CONTEXT_ENTRIES_MAX)
            return err_set(w->err, ERR_TOO_LARGE, 0,
                           "the context has more than %d files: exclude some in .dockerignore",
                           BUILD_CONTEXT_ENTRIES_MAX);
        if ((c->n_entries & (c->n_entries + 1)) == 0) /* doubles the array when its length reaches a power of two */
            c->entries = xrealloc(c->entries, (2 * c->n_entries + 2) * sizeof(*c->entries));
        c->entries[c->n_entries++] =
            (struct build_context_entry){ .path = xstrdup(path), .mode = st.st_mode, .size = (int64_t)st.st_size };
    }
    if (!S_ISDIR(st.st_mode))
        return 0;
    CLEANUP(close_fd_p) int sub = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (sub < 0)
        return err_set(w->err, ERR_INTERNAL, errno, "context: %s", path);
    return walk_folder(w, sub, path, depth + 1);
}

static int walk_folder(struct walk *w, int fd, const char *prefix, int depth)
{
    if (depth > BUILD_CONTEXT_DEPTH_MAX)
        return err_set(w->err, ERR_TOO_LARGE, 0, "context: %.200s: more than %d folders deep", prefix,
                       BUILD_CONTEXT_DEPTH_MAX);
    int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
    DIR *d = own < 0 ? NULL : fdopendir(own);
    if (!d) {
        close_fd_p(&own);
        return err_set(w->err, ERR_INTERNAL, errno, "context: read folder %.200s", prefix);
    }
    for (struct dirent *e = readdir(d); e && r == 0; e = readdir(d))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            r = walk_entry(w, fd, prefix, e->d_name, depth);
    closedir(d);
    return r;
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct build_context_entry *)a)->path, ((const struct build_context_entry *)b)->path);
}

void build_context_done(struct build_context *c)
{
    for (size_t i = 0; i < c->n_entries; i++)
        free(c->entries[i].path);
    free(c->entries);
    if (c->fd >= 0)
        (void)close(c->fd);
    *c = (struct build_context){ .fd = -EBADF };
}

int build_context_open(const char *dir, struct build_context *ret, struct err *err)
{
    CLEANUP(buf_done) struct buf ignore = BUF_INIT(BUILD_CONTEXT_IGNORE_MAX);
    struct build_context c = { .fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
    if (c.fd < 0)
        return err_set(err, err_from_errno(errno), errno, "context %s", dir);
    int r = 0;
    CLEANUP(close_fd_p) int fd = openat(c.fd, ".dockerignore", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char piece[4096];
    ssize_t n = fd < 0 && errno != ENOENT ? -1 : 0;
    while (fd >= 0 && r == 0 && (n = read(fd, piece, sizeof(piece))) > 0)
        if (buf_add(&ignore, piece, (size_t)n) < 0)
            r = err_set(err, ERR_TOO_LARGE, 0, ".dockerignore has more than %d bytes", BUILD_CONTEXT_IGNORE_MAX);
    if (r == 0 && n < 0)
        r = err_set(err, ERR_INTERNAL, errno, "read .dockerignore");
    struct walk w = { .c = &c, .ignore = buf_text(&ignore), .err = err };
    if (r == 0)
        r = walk_folder(&w, c.fd, "", 0);
    if (r < 0) {
        build_context_done(&c);
        return r;
    }
    if (c.n_entries)
        qsort(c.entries, c.n_entries, sizeof(*c.entries), compare_entries);
    *ret = c;
    return 0;
}

/* --- what a COPY selects --- */

/* "./a//b/" becomes "a/b". */
static int clean_source(const char *source, struct buf *out, struct err *err)
{
    for (const char *at = source; *at;) {
        size_t n = strcspn(at, "/");
        if (n == 2 && strncmp(at, "..", 2) == 0)
            return err_set(err, ERR_INVALID, 0, "%.200s leads out of the context", source);
        int r = 0;
        if (n && !(n == 1 && *at == '.')) {
            r = out->len ? buf_add_char(out, '/') : 0;
            r = r < 0 ? r : buf_add(out, at, n);
        }
        if (r < 0)
            return err_set(err, ERR_TOO_LARGE, 0, "a source has at most %zu bytes", out->max);
        at += n + (at[n] == '/');
    }
    return 0;
}

/* Whether the pattern matches the first n_parts components of path; ret_len: their length. The empty pattern matches
 * everything. */
static bool fits_head(const char *pattern, size_t n_parts, const char *path, size_t *ret_len)
{
    const char *at = path;
    for (size_t n = n_parts; n > 0; n--) {
        if (!*at)
            return false; /* it has fewer */
        at += strcspn(at, "/");
        if (n > 1)
            at += *at == '/';
    }
    *ret_len = (size_t)(at - path);
    if (n_parts == 0)
        return true;
    CLEANUP(free_p) char *head = xstrndup(path, *ret_len);
    return strcmp(pattern, head) == 0 || fnmatch(pattern, head, FNM_PATHNAME) == 0;
}

int build_context_select(const struct build_context *c, const char *source, struct build_context_copy **ret,
                         size_t *ret_n, bool *ret_is_file, struct err *err)
{
    CLEANUP(buf_done) struct buf pattern = BUF_INIT(PATTERN_MAX);
    size_t n = 0, head = 0;
    int r = clean_source(source, &pattern, err);
    if (r < 0)
        return r;
    const char *text = buf_text(&pattern);
    size_t n_parts = *text ? 1 : 0;
    for (const char *at = text; *at; at++)
        n_parts += *at == '/';
    bool is_found = n_parts == 0, is_file = false;
    struct build_context_copy *list = xzalloc((c->n_entries + 1) * sizeof(*list));
    for (size_t i = 0; i < c->n_entries; i++) {
        const struct build_context_entry *e = &c->entries[i];
        if (!fits_head(text, n_parts, e->path, &head))
            continue;
        is_found = true;
        if (e->path[head]) /* the entry is below the selected folder */
            list[n++] = (struct build_context_copy){ e, e->path + head + (n_parts ? 1 : 0) };
        else if (!S_ISDIR(e->mode)) {
            const char *slash = strrchr(e->path, '/');
            list[n++] = (struct build_context_copy){ e, slash ? slash + 1 : e->path };
            is_file = strcmp(text, e->path) == 0;
        }
    }
    if (!is_found) {
        free(list);
        return err_set(err, ERR_NOT_FOUND, 0, "%.200s: no such file in the context (or .dockerignore excludes it)",
                       source);
    }
    *ret = list;
    *ret_n = n;
    *ret_is_file = is_file;
    return 0;
}

int build_context_open_file(const struct build_context *c, const struct build_context_entry *e, struct err *err)
{
    int fd = open_beneath(c->fd, e->path, O_RDONLY | O_NONBLOCK);
    return fd < 0 ? err_set(err, ERR_INTERNAL, errno, "context: open %.200s", e->path) : fd;
}

char *build_context_link(const struct build_context *c, const struct build_context_entry *e, struct err *err)
{
    char target[PATH_MAX];
    CLEANUP(close_fd_p) int fd = open_beneath(c->fd, e->path, O_PATH);
    ssize_t n = fd < 0 ? -1 : readlinkat(fd, "", target, sizeof(target));
    if (n < 0 || n == (ssize_t)sizeof(target)) {
        (void)err_set(err, ERR_INTERNAL, errno, "context: read link %.200s", e->path);
        return NULL;
    }
    return xstrndup(target, (size_t)n);
}

static int digest_content(const struct build_context *c, const struct build_context_entry *e, struct digest *d,
                          struct err *err)
{
    if (S_ISLNK(e->mode)) {
        CLEANUP(free_p) char *target = build_context_link(c, e, err);
        if (target)
            digest_add(d, target, strlen(target) + 1);
        return target ? 0 : -EIO;
    }
    CLEANUP(close_fd_p) int fd = build_context_open_file(c, e, err);
    if (fd < 0)
        return fd;
    CLEANUP(free_p) char *piece = xzalloc(PIECE);
    int64_t total = 0;
    ssize_t n;
    while ((n = read(fd, piece, PIECE)) > 0) {
        digest_add(d, piece, (size_t)n);
        total += n;
    }
    if (n < 0)
        return err_set(err, ERR_INTERNAL, errno, "context: read %.200s", e->path);
    digest_add(d, &total, sizeof(total));
    return 0;
}

int build_context_digest(const struct build_context *c, const struct build_context_copy *list, size_t n,
                         struct digest *d, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        digest_add(d, list[i].to, strlen(list[i].to) + 1);
        digest_add(d, &list[i].from->mode, sizeof(list[i].from->mode));
        int r = S_ISDIR(list[i].from->mode) ? 0 : digest_content(c, list[i].from, d, err);
        if (r < 0)
            return r;
    }
    return 0;
}
