/* Theory of operation. The sources of a COPY are looked up in a merged view (layer_view.c) of the context or of another
 * stage's layers; a name from a Dockerfile never reaches the file system as a path. Wildcards match names one folder at
 * a time; links that a source names are followed inside the view, those inside its folders are copied as links. The
 * same walk runs twice: once to digest what would be copied, which is the key of the cache, and, when the cache lacks
 * it, once to write it. The destination's links are followed in the view of the image so far; a folder above it that a
 * lower layer has gets that folder's attributes, as overlayfs would copy it up. Everything belongs to root, or to whom
 * --chown names. Names of one file stay names of one file, so that a copy takes no more disk than its
 * source. ADD's addresses were downloaded before. An archive is unpacked into a scratch folder, by the rules for
 * untrusted layers, and copied from there with the owners it states. */
#include "image/build_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/strlist.h"
#include "image/build_add.h"
#include "image/layer_tree.h"
#include "os/write_all.h"

#define SOURCE_MAX 4096
#define PIECE      65536
#define UNPACKED   "unpacked" /* in the scratch folder */

/* One walk. */
struct walk {
    const struct build_copy *c;
    struct digest *digest; /* NULL: write */
    int root_fd;
    bool is_rootless, keeps_owners;            /* keeps_owners: an archive's */
    const struct build_context_ignore *ignore; /* c->ignore, but not inside an archive */
    struct layer_view base;                    /* of c->base; only when writing */
    char *to;                                  /* the destination without links, "a/b" */
    bool is_folder;                            /* … is a folder: names of sources are appended */
    struct map *copied;                        /* "device:inode:…" of a file with several names -> its path here */
    int64_t bytes;                             /* written */
    size_t n;
    struct err *err;
};

/* --- writing --- */

/* Makes one folder of the new layer; path is its whole path. A folder that the layers below have keeps its
 * attributes. */
static int make_folder(struct walk *w, int parent, const char *name, const char *path)
{
    if (mkdirat(parent, name, 0755) < 0)
        return errno == EEXIST ? 0 : err_sys(w->err, -errno, "make the folder /%.200s", path);
    const char *slash = strrchr(path, '/');
    CLEANUP(free_p) char *above = xstrndup(path, slash ? (size_t)(slash - path) : 0);
    CLEANUP(layer_view_done) struct layer_view below = { 0 };
    struct stat st = { .st_mode = S_IFDIR | 0755 };
    int dir;
    bool is_known = layer_view_enter(&w->base, above, &below) == 0 && layer_view_look(&below, name, &st, &dir) == 0;
    if (!S_ISDIR(st.st_mode))
        return err_set(w->err, ERR_INVALID, 0, "/%.200s is not a folder in the image", path);
    if (!is_known && w->c) {
        st.st_uid = w->c->attrs.uid;
        st.st_gid = w->c->attrs.gid;
    }
    if ((!w->is_rootless && fchownat(parent, name, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0) ||
        fchmodat(parent, name, is_known ? st.st_mode & 07777 : 0755, 0) < 0)
        return err_sys(w->err, -errno, "set the mode of /%.200s", path);
    return 0;
}

/* Opens the folder path of the new layer and makes what is missing of it. */
static int open_folder(struct walk *w, const char *path)
{
    CLEANUP(close_fd_p) int fd = openat(w->root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (const char *at = path; fd >= 0 && *at;) {
        size_t n = strcspn(at, "/");
        CLEANUP(free_p) char *name = xstrndup(at, n);
        CLEANUP(free_p) char *upto = xstrndup(path, (size_t)(at - path) + n);
        int r = make_folder(w, fd, name, upto);
        if (r < 0)
            return r;
        int sub = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub < 0)
            return err_set(w->err, ERR_INVALID, 0, "/%.200s is not a folder", upto);
        (void)close(fd);
        fd = sub;
        at += n + (at[n] == '/');
    }
    return fd < 0 ? err_sys(w->err, -errno, "open the layer") : steal_fd(&fd);
}

static int check_stop(const struct walk *w)
{
    bool is_stopped = w->c->stop && atomic_load(w->c->stop);
    return is_stopped ? err_set(w->err, ERR_GONE, ECANCELED, "the build was stopped") : 0;
}

/* Reads a file to its end: into to, or into the digest. */
static int copy_content_of(struct walk *w, int from, int to, const char *path)
{
    CLEANUP(free_p) char *piece = xzalloc(PIECE);
    for (;;) {
        ssize_t n = read(from, piece, PIECE);
        if (n <= 0)
            return n < 0 ? err_sys(w->err, -errno, "read %.200s", path) : 0;
        int r = check_stop(w);
        if (r < 0)
            return r;
        if (w->digest) {
            digest_add(w->digest, piece, (size_t)n);
            continue;
        }
        w->bytes += n;
        if (w->bytes > w->c->store->limits.bytes)
            return err_set(w->err, ERR_TOO_LARGE, 0,
                           "more than %lld bytes at once (III_IMAGE_MAX_BYTES, or what the disk quota has left)",
                           (long long)w->c->store->limits.bytes);
        r = write_all_write(to, piece, (size_t)n);
        if (r < 0)
            return err_sys(w->err, r, "write /%.200s", path);
    }
}

/* Identifies a file with several names, and how it is copied; caller frees. */
static char *link_key(const struct walk *w, const struct stat *st)
{
    return xasprintf("%llx:%llx:%o:%u:%u:%d", (unsigned long long)st->st_dev, (unsigned long long)st->st_ino,
                     st->st_mode, st->st_uid, st->st_gid, w->keeps_owners);
}

/* Another name of a file that is copied already: 1 when that was all to do. */
static int link_again(struct walk *w, const struct stat *st, int parent, const char *last)
{
    if (st->st_nlink < 2 || !w->copied)
        return 0;
    CLEANUP(free_p) char *key = link_key(w, st);
    const char *first = map_get(w->copied, key);
    return first && linkat(w->root_fd, first, parent, last, 0) == 0; /* one that has too many links: copy it again */
}

static void note_copied(struct walk *w, const struct stat *st, const char *path)
{
    if (st->st_nlink < 2)
        return;
    CLEANUP(free_p) char *key = link_key(w, st);
    w->copied = w->copied ? w->copied : map_new();
    free(map_remove(w->copied, key));
    map_set(w->copied, key, xstrdup(path));
}

/* A file was replaced: what was copied before may be it. */
static void forget_copied(struct walk *w)
{
    struct map *all = STEAL(w->copied);
    if (!all)
        return;
    for (struct map_iter it = map_iter(all); map_next(&it);)
        free(it.value);
    map_free(all);
}

/* dir and name: the source, or text. */
static int write_entry(struct walk *w, const char *path, int dir, const char *name, const char *text,
                       const struct stat *st)
{
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    CLEANUP(free_p) char *above = xstrndup(path, slash ? (size_t)(slash - path) : 0);
    CLEANUP(close_fd_p) int parent = open_folder(w, S_ISDIR(st->st_mode) ? path : above);
    const struct timespec times[2] = { st->st_mtim, st->st_mtim };
    if (parent < 0)
        return parent;
    bool has_owner = !w->is_rootless && (w->keeps_owners || w->c->attrs.has_owner);
    if (S_ISDIR(st->st_mode))
        return (has_owner && fchown(parent, st->st_uid, st->st_gid) < 0) || fchmod(parent, st->st_mode & 07777) < 0 ||
                       futimens(parent, times) < 0
                   ? err_sys(w->err, -errno, "set the mode of /%.200s", path)
                   : 0;
    bool is_new = unlinkat(parent, last, 0) < 0;
    if (is_new && errno != ENOENT)
        return err_set(w->err, ERR_INVALID, 0, "/%.200s is a folder", path);
    if (!is_new)
        forget_copied(w);
    if (S_ISLNK(st->st_mode)) {
        char target[PATH_MAX];
        ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        if (n <= 0 || symlinkat(target, parent, last) < 0 ||
            (has_owner && fchownat(parent, last, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) < 0))
            return err_sys(w->err, -errno, "make the link /%.200s", path);
        (void)utimensat(parent, last, times, AT_SYMLINK_NOFOLLOW); /* the time of a link does not matter */
        return 0;
    }
    if (!text && link_again(w, st, parent, last) == 1)
        return 0;
    CLEANUP(close_fd_p) int to = openat(parent, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0)
        return err_sys(w->err, -errno, "make /%.200s", path);
    CLEANUP(close_fd_p) int from = text ? NO_FD : openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (!text && from < 0)
        return err_sys(w->err, -errno, "open %.200s", name);
    int r = text ? write_all_write(to, text, strlen(text)) : copy_content_of(w, from, to, path);
    if (r == 0 && ((has_owner && fchown(to, st->st_uid, st->st_gid) < 0) || fchmod(to, st->st_mode & 07777) < 0 ||
                   (!text && futimens(to, times) < 0)))
        r = err_sys(w->err, -errno, "set the mode of /%.200s", path);
    if (r == 0 && !text)
        note_copied(w, st, path);
    return r;
}

/* Names of texts come from the Dockerfile: none may lead out of the layer. */
static bool is_inside(const char *path)
{
    for (const char *at = path; *at; at += strcspn(at, "/"), at += *at == '/') {
        size_t n = strcspn(at, "/");
        if (n == 0 || (n <= 2 && strncmp(at, "..", n) == 0))
            return false;
    }
    return true;
}

static int put(struct walk *w, const char *path, int dir, const char *name, const char *text, const struct stat *found)
{
    const struct build_attrs *attrs = &w->c->attrs;
    struct stat with = *found;
    const struct stat *st = &with;
    if (attrs->has_owner) {
        with.st_uid = attrs->uid;
        with.st_gid = attrs->gid;
    }
    if (attrs->has_mode && !w->keeps_owners && !S_ISLNK(with.st_mode)) /* an archive's files have their own modes */
        with.st_mode = (with.st_mode & S_IFMT) | attrs->mode;
    if (++w->n > BUILD_COPY_ENTRIES_MAX)
        return err_set(w->err, ERR_TOO_LARGE, 0, "more than %d files at once", BUILD_COPY_ENTRIES_MAX);
    if (!is_inside(path))
        return err_set(w->err, ERR_INVALID, 0, "\"/%.200s\" is not a path in the image: a name is empty, . or ..",
                       path);
    int stopped = check_stop(w);
    if (stopped < 0)
        return stopped;
    if (!w->digest)
        return write_entry(w, path, dir, name, text, st);
    digest_text(w->digest, path);
    digest_add(w->digest, &st->st_mode, sizeof(st->st_mode));
    if (text) {
        digest_text(w->digest, text);
    } else if (S_ISLNK(st->st_mode)) {
        char target[PATH_MAX] = "";
        if (readlinkat(dir, name, target, sizeof(target) - 1) < 0)
            return err_sys(w->err, -errno, "read link %.200s", name);
        digest_text(w->digest, target);
    } else if (S_ISREG(st->st_mode)) {
        CLEANUP(close_fd_p) int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        int64_t size = st->st_size;
        int r = fd < 0 ? err_sys(w->err, -errno, "open %.200s", name) : copy_content_of(w, fd, NO_FD, name);
        if (r < 0)
            return r;
        digest_add(w->digest, &size, sizeof(size));
    }
    return 0;
}

/* --- the walk --- */

static int copy_tree(struct walk *w, const struct layer_view *folder, const char *name, const char *at, const char *to,
                     int depth);

/* Copies everything in the folder to the path to. at: the folder's own path in the view; "" is the top, as for to. */
static int copy_content(struct walk *w, const struct layer_view *folder, const char *at, const char *to, int depth)
{
    CLEANUP(strlist_free_p) char **names = NULL;
    int r = layer_view_names(folder, &names);
    if (r < 0)
        return err_sys(w->err, r, "read the folder %.200s", at);
    for (size_t i = 0; r == 0 && names[i]; i++) {
        CLEANUP(free_p) char *at_below = xasprintf("%s%s%s", at, *at ? "/" : "", names[i]);
        CLEANUP(free_p) char *to_below = xasprintf("%s%s%s", to, *to ? "/" : "", names[i]);
        r = copy_tree(w, folder, names[i], at_below, to_below, depth);
    }
    return r;
}

/* The folder name of folder, and what is in it. */
static int copy_folder(struct walk *w, const struct layer_view *folder, const char *name, const char *at,
                       const char *to, int depth)
{
    CLEANUP(layer_view_done) struct layer_view sub = { 0 };
    int r = layer_view_enter(folder, name, &sub);
    return r < 0 ? err_sys(w->err, r, "read the folder %.200s", at) : copy_content(w, &sub, at, to, depth);
}

/* Copies an entry to the path to and all that is below it. at: its own path in the view. */
static int copy_tree(struct walk *w, const struct layer_view *folder, const char *name, const char *at, const char *to,
                     int depth)
{
    struct stat st;
    int dir = NO_FD;
    if (depth > BUILD_COPY_DEPTH_MAX)
        return err_set(w->err, ERR_TOO_LARGE, 0, "%.200s: more than %d folders deep", at, BUILD_COPY_DEPTH_MAX);
    int r = layer_view_look(folder, name, &st, &dir);
    if (r < 0)
        return err_sys(w->err, r, "look at %.200s", at);
    bool is_out = build_context_is_ignored(w->ignore, at), is_folder = S_ISDIR(st.st_mode);
    if (!is_folder && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return 0; /* sockets and the like cannot be copied: skip */
    if (is_out && !(is_folder && build_context_has_exceptions(w->ignore)))
        return 0;
    if (!is_out)
        r = put(w, to, dir, name, NULL, &st);
    if (r < 0 || !is_folder)
        return r;
    return copy_folder(w, folder, name, at, to, depth + 1);
}

/* Copies what is in an archive to w->to. */
static int copy_archive(struct walk *w, int fd, const char *at)
{
    CLEANUP(layer_view_done) struct layer_view view = { 0 };
    int scratch = w->c->scratch_fd;
    (void)layer_tree_remove_at(scratch, UNPACKED); /* of another archive of this instruction */
    if (mkdirat(scratch, UNPACKED, 0755) < 0)
        return err_sys(w->err, -errno, "unpack %.200s", at);
    view.fds = xzalloc(sizeof(*view.fds));
    view.fds[0] = openat(scratch, UNPACKED, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    view.n = 1;
    if (view.fds[0] < 0)
        return err_sys(w->err, -errno, "unpack %.200s", at);
    forget_copied(w); /* a removed file's number may be another's now */
    int r = build_add_unpack(w->c->store, fd, view.fds[0], w->err);
    if (r < 0)
        return err_wrap(w->err, r, "unpack %.100s", at);
    CLEANUP(close_fd_p) int target = open_folder(w, w->to);
    if (target < 0)
        return target;
    w->keeps_owners = true;
    w->ignore = NULL;
    r = copy_content(w, &view, "", w->to, 0);
    w->keeps_owners = false;
    w->ignore = w->c->ignore;
    return r;
}

/* A file of ADD. 1: an archive, which is done; 0: not one. */
static int add_archive(struct walk *w, int dir, const char *name, const char *at)
{
    CLEANUP(close_fd_p) int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return err_sys(w->err, -errno, "open %.200s", at);
    int r = build_add_is_archive(w->c->store, fd, at, w->err);
    if (r != 1 || lseek(fd, 0, SEEK_SET) < 0)
        return r;
    if (w->digest) { /* its bytes state all that is in it */
        digest_text(w->digest, "archive");
        digest_text(w->digest, w->to);
        r = copy_content_of(w, fd, NO_FD, at);
        return r < 0 ? r : 1;
    }
    r = copy_archive(w, fd, at);
    return r < 0 ? r : 1;
}

/* Copies what one source selected: a folder's content, or a file. path is its path in the view; a link is followed, and
 * the copy has the link's name. 1, or 0 when .dockerignore excludes it. */
static int copy_selected(struct walk *w, const char *path, struct stat *ret)
{
    CLEANUP(layer_view_done) struct layer_view folder = { 0 };
    CLEANUP(free_p) char *real = NULL;
    bool is_lookup = w->root_fd == NO_FD && !w->digest;
    int dir = NO_FD, r = layer_view_resolve(w->c->from, path, &real);
    if (r < 0)
        return err_sys(w->err, r, "%.200s", path);
    if (!*real) { /* all of it */
        *ret = (struct stat){ .st_mode = S_IFDIR };
        r = is_lookup ? 0 : copy_content(w, w->c->from, "", w->to, 0);
        return r < 0 ? r : 1;
    }
    if (build_context_is_ignored(w->ignore, real) && !build_context_has_exceptions(w->ignore))
        return 0;
    char *slash = strrchr(real, '/');
    const char *last = slash ? slash + 1 : real;
    CLEANUP(free_p) char *above = xstrndup(real, slash ? (size_t)(slash - real) : 0);
    r = layer_view_enter(w->c->from, above, &folder);
    r = r < 0 ? r : layer_view_look(&folder, last, ret, &dir);
    if (r < 0)
        return err_sys(w->err, r, "%.200s leads to %.200s", path, real);
    if (!is_lookup && S_ISDIR(ret->st_mode))
        r = copy_folder(w, &folder, last, real, w->to, 0);
    else if (!is_lookup && S_ISREG(ret->st_mode) && w->c->scratch_fd != NO_FD)
        r = add_archive(w, dir, last, real);
    if (is_lookup || S_ISDIR(ret->st_mode) || r != 0)
        return r < 0 ? r : 1;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    CLEANUP(free_p)
    char *to = w->is_folder ? xasprintf("%s%s%s", w->to, *w->to ? "/" : "", name) : xstrdup(w->to);
    r = copy_tree(w, &folder, last, real, to, 0);
    return r < 0 ? r : 1;
}

/* Matches the rest of a source below the folder at. Returns how many entries fit, or the error. */
static int select_below(struct walk *w, const char *at, const char *rest, struct stat *ret_only)
{
    CLEANUP(layer_view_done) struct layer_view folder = { 0 };
    CLEANUP(strlist_free_p) char **names = NULL;
    size_t n = strcspn(rest, "/");
    CLEANUP(free_p) char *pattern = xstrndup(rest, n);
    const char *next = rest + n + (rest[n] == '/');
    int r = layer_view_enter(w->c->from, at, &folder), found = 0;
    if (r == -ENOENT || r == -ENOTDIR)
        return 0;
    r = r < 0 ? r : layer_view_names(&folder, &names);
    if (r < 0)
        return err_sys(w->err, r, "read the folder %.200s", at);
    for (size_t i = 0; names[i]; i++) {
        if (strcmp(pattern, names[i]) != 0 && fnmatch(pattern, names[i], 0) != 0)
            continue;
        CLEANUP(free_p) char *path = xasprintf("%s%s%s", at, *at ? "/" : "", names[i]);
        r = *next ? select_below(w, path, next, ret_only) : copy_selected(w, path, ret_only);
        if (r < 0)
            return r;
        found += r;
    }
    return found;
}

/* One source. Without a digest and a folder to write into it is only looked up. */
static int select_source(struct walk *w, const char *source, struct stat *ret_only)
{
    CLEANUP(buf_done) struct buf clean = BUF_INIT(SOURCE_MAX);
    for (const char *at = source; *at;) { /* "./a//c/../b/" becomes "a/b" */
        size_t n = strcspn(at, "/");
        bool is_up = n == 2 && strncmp(at, "..", 2) == 0;
        int r = 0;
        if (is_up && !clean.len)
            return err_set(w->err, ERR_INVALID, 0, "%.200s leads out of %s", source, w->c->where);
        if (is_up) {
            const char *slash = memrchr(clean.data, '/', clean.len);
            clean.len = slash ? (size_t)(slash - clean.data) : 0;
            clean.data[clean.len] = '\0';
        } else if (n && !(n == 1 && *at == '.')) {
            r = clean.len ? buf_add_char(&clean, '/') : 0;
            r = r < 0 ? r : buf_add(&clean, at, n);
        }
        if (r < 0)
            return err_set(w->err, ERR_TOO_LARGE, 0, "a source has at most %d bytes", SOURCE_MAX);
        at += n + (at[n] == '/');
    }
    /* The folders before the first wildcard, or above the last name, are a path, whose links are followed. */
    const char *text = buf_text(&clean), *wild = text + strcspn(text, "*?[\\");
    size_t head = 0;
    for (const char *at = text; at < wild; at++)
        head = *at == '/' ? (size_t)(at - text) : head;
    CLEANUP(free_p) char *path = xstrndup(text, head);
    CLEANUP(free_p) char *resolved = NULL;
    int r = layer_view_resolve(w->c->from, path, &resolved);
    if (r < 0)
        return err_sys(w->err, r, "%.200s", source);
    r = *text ? select_below(w, resolved, text + head + (text[head] == '/'), ret_only) : copy_selected(w, "", ret_only);
    if (r == 0)
        return err_set(w->err, ERR_NOT_FOUND, 0, "%.200s: no such file in %s%s", source, w->c->where,
                       w->c->ignore ? " (or .dockerignore excludes it)" : "");
    return r;
}

void build_copy_download(size_t source, char ret[32])
{
    (void)snprintf(ret, 32, "download-%zu", source);
}

static bool is_download(const struct build_copy *c, size_t source)
{
    return c->scratch_fd != NO_FD && build_add_is_url(c->sources[source]);
}

/* The file that was downloaded for this source. */
static int copy_download(struct walk *w, size_t source)
{
    struct stat st;
    char file[32];
    CLEANUP(free_p) char *name = NULL;
    build_copy_download(source, file);
    int r = w->is_folder ? build_add_url_name(w->c->sources[source], &name, w->err) : 0;
    if (r < 0)
        return r;
    if (fstatat(w->c->scratch_fd, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(w->err, -errno, "read %.100s", w->c->sources[source]);
    CLEANUP(free_p) char *to = name ? xasprintf("%s%s%s", w->to, *w->to ? "/" : "", name) : xstrdup(w->to);
    return put(w, to, w->c->scratch_fd, file, NULL, &st);
}

/* Finds out what the destination is. */
static int find_target(struct walk *w)
{
    const struct build_copy *c = w->c;
    size_t len = strlen(c->to), n_sources = strlist_count(c->sources);
    w->is_folder = n_sources > 1 || c->to[len - 1] == '/';
    for (size_t i = 0; i < n_sources; i++) { /* a folder, or a wildcard that may fit several, needs a folder */
        struct stat st;
        struct walk look = { .c = c, .root_fd = NO_FD, .ignore = c->ignore, .err = w->err };
        bool is_text = strncmp(c->sources[i], "<<", 2) == 0 || is_download(c, i);
        int r = is_text ? 0 : select_source(&look, c->sources[i], &st);
        if (r < 0)
            return r;
        w->is_folder |= !is_text && (r > 1 || S_ISDIR(st.st_mode));
    }
    int r = layer_view_open(c->base->layers, c->base->n_layers, &w->base);
    r = r < 0 ? r : layer_view_resolve(&w->base, c->to, &w->to);
    if (r < 0)
        return err_sys(w->err, r, "find %.200s in the image", c->to);
    if (c->base->is_host && strncmp(w->to, "usr", 3) == 0 && (w->to[3] == '\0' || w->to[3] == '/'))
        return err_set(
            w->err, ERR_INVALID, 0,
            "%.200s is in this host's own /usr, which a preset image shows and cannot change: copy elsewhere, "
            "or begin FROM an imported image",
            c->to);
    CLEANUP(layer_view_done) struct layer_view there = { 0 };
    w->is_folder |= !*w->to || layer_view_enter(&w->base, w->to, &there) == 0;
    return 0;
}

static int walk_all(struct walk *w)
{
    const struct build_copy *c = w->c;
    int r = find_target(w);
    size_t n_texts = 0;
    if (r == 0 && w->digest) {
        digest_text(w->digest, w->to);
        digest_text(w->digest, w->is_folder ? "folder" : "file");
        digest_add(w->digest, &c->attrs.uid, sizeof(c->attrs.uid));
        digest_add(w->digest, &c->attrs.gid, sizeof(c->attrs.gid));
    } else if (r == 0 && w->is_folder) {
        CLEANUP(close_fd_p) int fd = open_folder(w, w->to);
        r = fd < 0 ? fd : 0;
    }
    for (size_t i = 0; r >= 0 && c->sources[i]; i++) {
        const char *source = c->sources[i];
        struct stat st = { .st_mode = S_IFREG | 0644 };
        if (is_download(c, i)) {
            r = copy_download(w, i);
            continue;
        }
        if (strncmp(source, "<<", 2) != 0 || !c->texts || !c->texts[n_texts]) {
            r = select_source(w, source, &st);
            continue;
        }
        const char *name = source + 2 + (source[2] == '-');
        CLEANUP(free_p)
        char *to = w->is_folder ? xasprintf("%s%s%s", w->to, *w->to ? "/" : "", name) : xstrdup(w->to);
        r = put(w, to, NO_FD, name, c->texts[n_texts++], &st);
    }
    layer_view_done(&w->base);
    free(w->to);
    forget_copied(w);
    return r < 0 ? r : 0;
}

int build_copy_digest(const struct build_copy *c, struct digest *d, struct err *err)
{
    struct walk w = { .c = c, .digest = d, .root_fd = NO_FD, .ignore = c->ignore, .err = err };
    return walk_all(&w);
}

int build_copy_write(const struct build_copy *c, int root_fd, bool is_rootless, struct err *err)
{
    struct walk w = { .c = c, .root_fd = root_fd, .is_rootless = is_rootless, .ignore = c->ignore, .err = err };
    return walk_all(&w);
}

int build_copy_mkdir(const struct image *base, const char *path, int root_fd, bool is_rootless, struct err *err)
{
    struct walk w = { .root_fd = root_fd, .is_rootless = is_rootless, .err = err };
    CLEANUP(free_p) char *to = NULL;
    CLEANUP(layer_view_done) struct layer_view there = { 0 };
    int r = layer_view_open(base->layers, base->n_layers, &w.base);
    r = r < 0 ? r : layer_view_resolve(&w.base, path, &to);
    if (r < 0)
        r = err_sys(err, r, "find %.200s in the image", path);
    else if (layer_view_enter(&w.base, to, &there) == 0)
        r = 1;
    else
        r = open_folder(&w, to);
    if (r >= 0 && !there.n)
        (void)close(r); /* it was only made */
    layer_view_done(&w.base);
    return r < 0 ? r : there.n ? 1 : 0;
}
