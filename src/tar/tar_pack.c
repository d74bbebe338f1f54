/* Theory of operation. tar_pack() walks the tree depth first, each folder by an open descriptor, and writes entries as
 * it meets them; nothing of a tree is kept but the path of the current entry and a table of files with several names,
 * so that a further name becomes a hard link. The table has a bound: beyond it such files are stored once for each
 * name.
 *
 * The tree may change meanwhile. What has vanished between two steps is left out; a folder or file that was exchanged
 * for a link is not followed; a file that is now shorter ends the archive with an error, because its size is already
 * written. */
#include "tar/tar_pack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tar/tar_header.h"

#define DEPTH_MAX   256
#define PIECE_BYTES 65536u
#define BUCKETS     1024u
#define NAMES_MAX   65536u /* files with several names that are remembered */
#define END_BLOCKS  2u
#define ROOT_NAME   "./"

struct named {
    struct named *next;
    dev_t dev;
    ino_t ino;
    char path[];
};

struct packing {
    const struct tar_pack_plan *plan;
    struct tar_packed *ret;
    size_t len; /* of path */
    size_t n_named;
    struct named *named[BUCKETS];
    char path[PATH_MAX], link[PATH_MAX];
    uint8_t head[TAR_HEAD_MAX];
    uint8_t piece[PIECE_BYTES];
};

static int fail(struct packing *p, int error, const char *step)
{
    (void)snprintf(p->ret->why, sizeof(p->ret->why), "%s %.280s", step, p->path);
    return -error;
}

/* The kernel's own file systems: their files are made as they are read, and mean nothing elsewhere. */
static int is_kernels(int fd)
{
    static const long kernels[] = { 0x9fa0,     /* proc */
                                    0x62656572, /* sysfs */
                                    0x63677270, /* cgroup 2 */
                                    0x27e0eb,   /* cgroup */
                                    0x1cd1,     /* devpts */
                                    0x19800202, /* mqueue */
                                    0x64626720, /* debugfs */
                                    0x74726163, /* tracefs */
                                    0x73636673, /* securityfs */
                                    0xcafe4a11 /* bpf */ };
    struct statfs fs;
    if (fstatfs(fd, &fs) < 0)
        return 0;
    for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
        if ((long)fs.f_type == kernels[i])
            return 1;
    return 0;
}

/* --- files with several names --- */

/* The path under which it is in the archive already, or NULL: then it is remembered by the current one. */
static const char *other_name(struct packing *p, const struct stat *st)
{
    if (st->st_nlink < 2 || p->plan->is_plain)
        return NULL;
    struct named **slot = &p->named[(st->st_ino ^ st->st_dev) % BUCKETS];
    for (const struct named *n = *slot; n; n = n->next)
        if (n->ino == st->st_ino && n->dev == st->st_dev)
            return n->path;
    struct named *n = p->n_named < NAMES_MAX ? malloc(sizeof(*n) + p->len + 1) : NULL;
    if (n) {
        *n = (struct named){ .next = *slot, .dev = st->st_dev, .ino = st->st_ino };
        memcpy(n->path, p->path, p->len + 1);
        *slot = n;
        p->n_named++;
    }
    return NULL;
}

static void forget_names(struct packing *p)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct named *next, *n = p->named[i]; n; n = next) {
            next = n->next;
            free(n);
        }
}

/* --- entries --- */

static int put_head(struct packing *p, enum tar_type type, const struct stat *st, const char *link)
{
    struct tar_entry e = { .type = type,
                           .mode = st->st_mode & 07777,
                           .uid = st->st_uid,
                           .gid = st->st_gid,
                           .size = type == TAR_FILE ? (uint64_t)st->st_size : 0,
                           .mtime = st->st_mtim,
                           .path = p->path,
                           .link = link };
    size_t len = tar_header_write(&e, p->head);
    if (!len)
        return fail(p, ENAMETOOLONG, "pack");
    p->ret->entries++;
    int r = p->plan->sink(p->plan->arg, p->head, len);
    return r < 0 ? fail(p, -r, "write the archive at") : 0;
}

static int put_zeroes(struct packing *p, size_t len)
{
    memset(p->piece, 0, len);
    int r = len ? p->plan->sink(p->plan->arg, p->piece, len) : 0;
    return r < 0 ? fail(p, -r, "write the archive at") : 0;
}

static int put_content(struct packing *p, int fd, uint64_t size)
{
    for (uint64_t left = size; left > 0;) {
        ssize_t n = read(fd, p->piece, left < PIECE_BYTES ? (size_t)left : PIECE_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(p, errno, "read");
        if (n == 0)
            return fail(p, EIO, "it became shorter while it was packed:");
        int r = p->plan->sink(p->plan->arg, p->piece, (size_t)n);
        if (r < 0)
            return fail(p, -r, "write the archive at");
        left -= (uint64_t)n;
        p->ret->bytes += (uint64_t)n;
    }
    return put_zeroes(p, tar_padding(size));
}

static int put_file(struct packing *p, int fd, const struct stat *st)
{
    const char *other = other_name(p, st);
    if (other)
        return put_head(p, TAR_HARDLINK, st, other);
    int r = put_head(p, TAR_FILE, st, NULL);
    return r < 0 ? r : put_content(p, fd, (uint64_t)st->st_size);
}

static int put_symlink(struct packing *p, int at, const char *name, const struct stat *st)
{
    ssize_t n = readlinkat(at, name, p->link, sizeof(p->link) - 1);
    if (n < 0)
        return errno == ENOENT || errno == EINVAL ? 0 : fail(p, errno, "read the link");
    p->link[n] = '\0';
    return put_head(p, TAR_SYMLINK, st, p->link);
}

static int put_folder(struct packing *p, int fd, int depth);

/* A file or folder below `at`, opened: it may have become something else since it was listed. */
static int put_opened(struct packing *p, int at, const char *name, bool is_folder, int depth)
{
    struct stat st;
    int fd =
        openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (is_folder ? O_DIRECTORY : 0));
    if (fd < 0)
        return errno == ENOENT || errno == ELOOP || errno == ENOTDIR ? 0 : fail(p, errno, "open");
    int r = 0;
    if (fstat(fd, &st) < 0)
        r = fail(p, errno, "open");
    else if (S_ISDIR(st.st_mode) && is_folder && !is_kernels(fd))
        r = put_folder(p, fd, depth + 1);
    else if (S_ISREG(st.st_mode) && !is_folder)
        r = put_file(p, fd, &st);
    (void)close(fd);
    return r;
}

static int put_entry(struct packing *p, int at, const char *name, int depth)
{
    size_t before = p->len, len = strlen(name);
    struct stat st;
    int r = 0;
    if (p->len + len + 2 >= sizeof(p->path))
        return fail(p, ENAMETOOLONG, "a path is too long below");
    memcpy(p->path + p->len, name, len + 1);
    p->len += len;
    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        r = errno == ENOENT ? 0 : fail(p, errno, "look at");
    else if (p->plan->is_out && p->plan->is_out(p->plan->arg, p->path, S_ISDIR(st.st_mode)))
        r = 0;
    else if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        r = put_opened(p, at, name, S_ISDIR(st.st_mode), depth);
    else if (S_ISLNK(st.st_mode))
        r = put_symlink(p, at, name, &st);
    else if (S_ISFIFO(st.st_mode))
        r = put_head(p, TAR_FIFO, &st, NULL);
    p->len = before;
    if (r == 0)
        p->path[before] = '\0';
    return r;
}

static int put_children(struct packing *p, DIR *dir, int depth)
{
    for (;;) {
        errno = 0;
        const struct dirent *d = readdir(dir);
        if (!d)
            return errno ? fail(p, errno, "list") : 0;
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        int r = put_entry(p, dirfd(dir), d->d_name, depth);
        if (r < 0)
            return r;
    }
}

/* The path of the folder gets its slash here. fd stays open. */
static int put_folder(struct packing *p, int fd, int depth)
{
    struct stat st;
    if (depth > DEPTH_MAX)
        return fail(p, ELOOP, "more than 256 folders are nested at");
    if (fstat(fd, &st) < 0)
        return fail(p, errno, "look at");
    if (p->len == 0 || p->path[p->len - 1] != '/') {
        p->path[p->len++] = '/';
        p->path[p->len] = '\0';
    }
    int r = put_head(p, TAR_FOLDER, &st, NULL);
    if (r < 0)
        return r;
    if (depth == 0)
        p->path[p->len = 0] = '\0'; /* names are relative to the folder */
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    DIR *dir = own >= 0 ? fdopendir(own) : NULL;
    if (!dir) {
        r = fail(p, errno, "list");
        if (own >= 0)
            (void)close(own);
        return r;
    }
    r = put_children(p, dir, depth);
    (void)closedir(dir);
    return r;
}

int tar_pack(const struct tar_pack_plan *plan, struct tar_packed *ret)
{
    struct stat st;
    struct packing *p = calloc(1, sizeof(*p));
    *ret = (struct tar_packed){ 0 };
    if (!p)
        return -ENOMEM;
    p->plan = plan;
    p->ret = ret;
    (void)snprintf(p->path, sizeof(p->path), "%s", plan->name);
    int r = fstat(plan->fd, &st) < 0 ? fail(p, errno, "look at") : 0;
    bool is_folder = r == 0 && S_ISDIR(st.st_mode);
    if (is_folder)
        (void)snprintf(p->path, sizeof(p->path), ROOT_NAME);
    p->len = strlen(p->path);
    if (is_folder)
        r = put_folder(p, plan->fd, 0);
    else if (r == 0)
        r = S_ISREG(st.st_mode) ? put_file(p, plan->fd, &st) : fail(p, EINVAL, "neither a file nor a folder:");
    if (r == 0)
        r = put_zeroes(p, END_BLOCKS * TAR_BLOCK);
    forget_names(p);
    free(p);
    return r;
}
