/* Theory of operation. tar_unpack() reads heads and contents in order and makes each entry below plan->folder. An
 * entry's parent is reached from there name by name (walk_to), without following a link; the last one is kept open,
 * because neighbours come together. A file is always a new one: what has its name is removed first, so nothing is
 * ever written through a link, hard or symbolic.
 *
 * A folder's mode could forbid what the archive puts into it, and its time changes with each entry. So both are set at
 * the end, from a list with a bound; folders beyond it keep mode 0755 and the present time. */
#include "tar/tar_unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tar/tar_header.h"

#define PIECE_BYTES 65536u
#define FOLDERS_MAX 65536u
#define TRIES       4
#define MODE_KEPT   01777u /* setuid and setgid bits are not: files belong to who unpacks, whoever that is */

/* A folder whose mode and time are set at the end. */
struct folder {
    struct folder *next;
    uint32_t mode;
    struct timespec mtime;
    char path[];
};

struct unpacking {
    const struct tar_unpack_plan *plan;
    struct tar_unpacked *ret;
    int parent; /* opened, or -1 */
    char parent_path[PATH_MAX + 1];
    struct folder *folders; /* the latest first: inner ones before outer ones */
    size_t n_folders;
    struct tar_head head;
    char path[PATH_MAX + 1], link[PATH_MAX + 1]; /* of the entry, in their normal form */
    size_t at, len;                              /* of what is in piece */
    uint8_t piece[PIECE_BYTES];
};

static int fail(struct unpacking *u, int error, const char *step)
{
    (void)snprintf(u->ret->why, sizeof(u->ret->why), "%s %.250s", step, u->head.path);
    return -error;
}

/* --- the archive --- */

/* Bytes that are there at u->piece + u->at: their number, 0 at the end of the input, or -errno. */
static ssize_t have(struct unpacking *u)
{
    if (u->at == u->len) {
        ssize_t n = u->plan->source(u->plan->arg, u->piece, PIECE_BYTES);
        if (n <= 0)
            return n < 0 ? fail(u, (int)-n, "read the archive at") : 0;
        u->at = 0;
        u->len = (size_t)n;
    }
    return (ssize_t)(u->len - u->at);
}

/* At most len bytes in place: their number, which is at least one; the end of the input is an error. */
static ssize_t take_some(struct unpacking *u, uint64_t len, const uint8_t **ret)
{
    ssize_t n = have(u);
    if (n <= 0)
        return n < 0 ? n : fail(u, EINVAL, "the archive ends in the middle of");
    *ret = u->piece + u->at;
    n = (uint64_t)n < len ? n : (ssize_t)len;
    u->at += (size_t)n;
    return n;
}

/* Exactly len bytes; data NULL: into nothing. */
static int take(struct unpacking *u, void *data, uint64_t len)
{
    const uint8_t *from;
    for (uint64_t at = 0; at < len;) {
        ssize_t n = take_some(u, len - at, &from);
        if (n < 0)
            return (int)n;
        if (data)
            memcpy((uint8_t *)data + at, from, (size_t)n);
        at += (uint64_t)n;
    }
    return 0;
}

/* What a block of a head announced. */
static int take_extra(struct unpacking *u, enum tar_block kind)
{
    size_t len = (size_t)u->head.extra;
    if (kind == TAR_BLOCK_SKIP)
        return u->head.extra > UINT64_MAX - TAR_BLOCK ? fail(u, EINVAL, "not a tar archive after")
                                                      : take(u, NULL, u->head.extra + tar_padding(u->head.extra));
    char *data = malloc(len + TAR_BLOCK);
    if (!data)
        return fail(u, ENOMEM, "read the archive at");
    int r = take(u, data, len + tar_padding(len));
    bool is_good = r == 0 && (kind == TAR_BLOCK_RECORDS ? tar_header_records(&u->head, data, len)
                                                        : tar_header_long(&u->head, kind, data, len));
    free(data);
    return r < 0 ? r : is_good ? 0 : fail(u, EINVAL, "a malformed extended header after");
}

/* 1: u->head.entry is the next one; 0: the end of the archive. */
static int next_entry(struct unpacking *u)
{
    static const char end_word[] = "the end";
    uint8_t block[TAR_BLOCK];
    u->head.has_path = u->head.has_link = u->head.has_size = u->head.has_mtime = u->head.is_sparse = false;
    for (bool is_first = true;; is_first = false) {
        if (is_first && have(u) == 0) /* without the two blocks of zeroes, as some programs write it */
            return 0;
        int r = take(u, block, TAR_BLOCK);
        if (r < 0)
            return r;
        enum tar_block kind = tar_header_read(&u->head, block);
        switch (kind) {
        case TAR_BLOCK_ENTRY:
            return 1;
        case TAR_BLOCK_END:
            memcpy(u->head.path, end_word, sizeof(end_word));
            return 0;
        case TAR_BLOCK_BAD:
            return fail(u, EINVAL, u->ret->entries ? "not a tar archive after" : "not a tar archive");
        case TAR_BLOCK_ALIEN:
            return fail(u, EINVAL,
                        u->head.is_sparse || u->head.alien == 'S'
                            ? "sparse files cannot be unpacked (archive them without --sparse):"
                        : u->head.alien == '3' || u->head.alien == '4' ? "device nodes cannot be unpacked:"
                                                                       : "an entry of an unknown type:");
        case TAR_BLOCK_RECORDS:
        case TAR_BLOCK_NAME:
        case TAR_BLOCK_LINK:
        case TAR_BLOCK_SKIP:
            r = take_extra(u, kind);
            if (r < 0)
                return r;
        }
    }
}

/* --- names --- */

/* Without ".", doubled and trailing slashes. An empty result is the folder itself. -EINVAL: it leads out. */
static int tidy(struct unpacking *u, const char *path, char out[PATH_MAX + 1])
{
    size_t len = 0;
    if (path[0] == '/')
        return fail(u, EINVAL, "an absolute name in the archive:");
    while (*path) {
        size_t n = strcspn(path, "/");
        if (n == 2 && path[0] == '.' && path[1] == '.')
            return fail(u, EINVAL, "a name in the archive leads out of the folder:");
        if (n > NAME_MAX)
            return fail(u, ENAMETOOLONG, "a name in the archive is too long:");
        if (n > 0 && !(n == 1 && path[0] == '.')) {
            if (len)
                out[len++] = '/';
            memcpy(out + len, path, n); /* no longer than the input, which fits */
            len += n;
        }
        path += n + (path[n] == '/');
    }
    out[len] = '\0';
    return 0;
}

/* Whether a link at path to target stays inside: counts how deep it goes, name by name. */
static bool is_inner(const char *path, const char *target)
{
    long depth = 0;
    if (target[0] == '/')
        return false;
    for (const char *at = path; (at = strchr(at, '/')); at++)
        depth++;
    while (*target) {
        size_t n = strcspn(target, "/");
        if (n == 2 && memcmp(target, "..", 2) == 0)
            depth--;
        else if (n > 0 && !(n == 1 && target[0] == '.'))
            depth++;
        if (depth < 0)
            return false;
        target += n + (target[n] == '/');
    }
    return true;
}

/* Opens the folder that the last name of path is in, and makes it when it is missing. The descriptor, or -errno. */
static int walk_to(struct unpacking *u, const char *path, bool is_making)
{
    char name[NAME_MAX + 1];
    int fd = fcntl(u->plan->folder, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return fail(u, errno, "open the folder of");
    for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
        size_t len = (size_t)(slash - path);
        memcpy(name, path, len); /* tidy() has checked it */
        name[len] = '\0';
        int next = openat(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0 && errno == ENOENT && is_making && (mkdirat(fd, name, 0755) == 0 || errno == EEXIST))
            next = openat(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int error = errno;
        (void)close(fd);
        if (next < 0)
            return fail(u, error == ENOTDIR || error == ELOOP ? EEXIST : error,
                        error == ENOTDIR || error == ELOOP ? "a link or file is where a folder belongs, for"
                                                           : "make the folder of");
        fd = next;
    }
    return fd;
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* u->parent becomes the folder that u->path is in. */
static int enter_parent(struct unpacking *u)
{
    size_t len = (size_t)(last_name(u->path) - u->path);
    if (u->parent >= 0 && strlen(u->parent_path) == len && memcmp(u->parent_path, u->path, len) == 0)
        return 0;
    if (u->parent >= 0)
        (void)close(u->parent);
    u->parent = walk_to(u, u->path, true);
    if (u->parent < 0)
        return u->parent;
    memcpy(u->parent_path, u->path, len);
    u->parent_path[len] = '\0';
    return 0;
}

/* --- entries --- */

/* Removes what has the name of the new entry. -EISDIR: a folder, which stays. */
static int clear_name(struct unpacking *u, const char *name)
{
    if (unlinkat(u->parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    struct stat st;
    bool is_folder = fstatat(u->parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
    return is_folder ? fail(u, EISDIR, "a folder is where this belongs:") : fail(u, errno, "replace");
}

static int fill_file(struct unpacking *u, int fd)
{
    const uint8_t *from;
    for (uint64_t left = u->head.entry.size; left > 0;) {
        ssize_t n = take_some(u, left, &from);
        if (n < 0)
            return (int)n;
        for (ssize_t at = 0, w; at < n; at += w) {
            w = write(fd, from + at, (size_t)(n - at));
            if (w < 0 && errno == EINTR)
                w = 0;
            else if (w <= 0)
                return fail(u, w < 0 ? errno : EIO, "write");
        }
        left -= (uint64_t)n;
        u->ret->bytes += (uint64_t)n;
    }
    return take(u, NULL, tar_padding(u->head.entry.size));
}

static int make_file(struct unpacking *u, const char *name)
{
    const struct tar_entry *e = &u->head.entry;
    int fd = -1, r = 0;
    for (int i = 0; i < TRIES && fd < 0 && r == 0; i++) {
        fd = openat(u->parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
            r = errno == EEXIST ? clear_name(u, name) : fail(u, errno, "make");
    }
    if (fd < 0)
        return r < 0 ? r : fail(u, EEXIST, "make");
    r = fill_file(u, fd);
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, e->mtime };
    if (r == 0 && (fchmod(fd, e->mode & MODE_KEPT) < 0 || futimens(fd, times) < 0))
        r = fail(u, errno, "set mode and time of");
    if (close(fd) < 0 && r == 0)
        r = fail(u, errno, "write");
    if (r < 0)
        (void)unlinkat(u->parent, name, 0); /* no half files */
    return r;
}

/* Calls that make something whose name must be free. */
static int make_once(struct unpacking *u, const char *name, int target_folder)
{
    const struct tar_entry *e = &u->head.entry;
    if (e->type == TAR_SYMLINK)
        return symlinkat(e->link, u->parent, name);
    if (e->type == TAR_HARDLINK)
        return linkat(target_folder, last_name(u->link), u->parent, name, 0);
    return mkfifoat(u->parent, name, 0600);
}

static int make_special(struct unpacking *u, const char *name)
{
    const struct tar_entry *e = &u->head.entry;
    int target = -1, r = 0, made = -1;
    if (e->type == TAR_HARDLINK) {
        r = tidy(u, e->link, u->link);
        if (r == 0 && strcmp(u->link, u->path) == 0)
            return 0;
        target = r < 0 ? r : walk_to(u, u->link, false);
        if (target < 0)
            return target;
    }
    for (int i = 0; i < TRIES && made < 0 && r == 0; i++) {
        made = make_once(u, name, target);
        if (made < 0)
            r = errno == EEXIST ? clear_name(u, name) : fail(u, errno, "make");
    }
    if (target >= 0)
        (void)close(target);
    if (made < 0)
        return r < 0 ? r : fail(u, EEXIST, "make");
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, e->mtime };
    if (e->type == TAR_FIFO && fchmodat(u->parent, name, e->mode & MODE_KEPT, 0) < 0)
        return fail(u, errno, "set mode of");
    if (e->type != TAR_HARDLINK)
        (void)utimensat(u->parent, name, times, AT_SYMLINK_NOFOLLOW); /* some file systems have no times of links */
    return 0;
}

/* Remembers the mode and time for the end. */
static int note_folder(struct unpacking *u)
{
    size_t len = strlen(u->path);
    if (u->n_folders >= FOLDERS_MAX || (len == 0 && u->plan->is_folder_old))
        return 0;
    struct folder *f = malloc(sizeof(*f) + len + 1);
    if (!f)
        return fail(u, ENOMEM, "remember");
    *f = (struct folder){ .next = u->folders, .mode = u->head.entry.mode, .mtime = u->head.entry.mtime };
    memcpy(f->path, u->path, len + 1);
    u->folders = f;
    u->n_folders++;
    return 0;
}

static int make_folder(struct unpacking *u)
{
    const char *name = last_name(u->path);
    struct stat st;
    if (*name && mkdirat(u->parent, name, 0755) < 0) {
        if (errno != EEXIST)
            return fail(u, errno, "make");
        if (fstatat(u->parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return fail(u, errno, "make");
        if (!S_ISDIR(st.st_mode))
            return fail(u, EEXIST, "a link or file is where a folder belongs:");
    }
    return note_folder(u);
}

static int make_entry(struct unpacking *u)
{
    const struct tar_entry *e = &u->head.entry;
    int r = tidy(u, e->path, u->path);
    if (r < 0)
        return r;
    if (!u->path[0])
        return e->type == TAR_FOLDER ? note_folder(u) : fail(u, EINVAL, "an entry without a name, after");
    r = enter_parent(u);
    if (r < 0)
        return r;
    const char *name = last_name(u->path);
    if (e->type == TAR_SYMLINK && u->plan->has_inner_links_only && !is_inner(u->path, e->link)) {
        u->ret->skipped++;
        if (u->plan->on_skip)
            u->plan->on_skip(u->plan->arg, u->path, e->link);
        return 0;
    }
    r = e->type == TAR_FOLDER ? make_folder(u) : e->type == TAR_FILE ? make_file(u, name) : make_special(u, name);
    u->ret->entries += r == 0;
    return r;
}

/* Inner folders first: setting a mode of an outer one could forbid the way to them. */
static int settle_folders(struct unpacking *u)
{
    int r = 0;
    for (struct folder *next, *f = u->folders; f; f = next) {
        next = f->next;
        (void)snprintf(u->head.path, sizeof(u->head.path), "%s", f->path);
        int parent = r < 0 ? -1 : walk_to(u, f->path, false);
        int fd = parent < 0 ? -1
                            : openat(parent, *f->path ? last_name(f->path) : ".",
                                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, f->mtime };
        /* One that belongs to another is left as it is. */
        if (fd >= 0 && (fchmod(fd, f->mode & MODE_KEPT) < 0 || futimens(fd, times) < 0) && errno != EPERM && r == 0)
            r = fail(u, errno, "set mode and time of");
        if (fd >= 0)
            (void)close(fd);
        if (parent >= 0)
            (void)close(parent);
        free(f);
    }
    return r;
}

/* What follows the end of the archive: padding. */
static int drain(struct unpacking *u)
{
    ssize_t n;
    while ((n = have(u)) > 0)
        u->at = u->len;
    return (int)n;
}

int tar_unpack(const struct tar_unpack_plan *plan, struct tar_unpacked *ret)
{
    struct unpacking *u = calloc(1, sizeof(*u));
    int r;
    *ret = (struct tar_unpacked){ 0 };
    if (!u)
        return -ENOMEM;
    u->plan = plan;
    u->ret = ret;
    u->parent = -1;
    while ((r = next_entry(u)) > 0 && (r = make_entry(u)) == 0)
        continue;
    if (r == 0)
        r = drain(u);
    char why[TAR_WHY_MAX];
    memcpy(why, ret->why, sizeof(why));
    int settled = settle_folders(u); /* after a failure, too: what is there is as the archive says */
    if (r < 0)
        memcpy(ret->why, why, sizeof(why));
    if (u->parent >= 0)
        (void)close(u->parent);
    free(u);
    return r < 0 ? r : settled;
}
