#include "image/layer_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "archive/archive_writer.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "image/image_limits.h"
#include "image/layer_tree.h"

#define DEPTH_MAX  1024
#define CHUNK      (128 * 1024)
#define XATTR_LIST 65536

struct packer {
    struct archive_writer *out;
    struct map *seen; /* "dev:ino" of files with several names -> first path, owned */
    bool is_rootless;
    char *chunk;
    const struct layer_pack_host *host; /* or NULL */
    bool is_usr;                        /* the host's files are being packed */
    dev_t usr_dev;
};

static void add_xattrs(struct archive_writer *out, int fd)
{
    CLEANUP(free_p) char *names = xzalloc(XATTR_LIST);
    CLEANUP(free_p) char *value = xzalloc(IMAGE_LIMITS_XATTR_BYTES);
    ssize_t len = flistxattr(fd, names, XATTR_LIST - 1);
    for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1) {
        const char *name = names + at;
        bool is_ours = strncmp(name, "trusted.", 8) == 0 || strncmp(name, "user.overlay.", 13) == 0 ||
                       strncmp(name, "security.selinux", 16) == 0;
        ssize_t n = is_ours ? -1 : fgetxattr(fd, name, value, IMAGE_LIMITS_XATTR_BYTES);
        if (n >= 0)
            archive_writer_xattr(out, name, value, (size_t)n);
    }
}

/* The path under which the same file was written before; NULL: none, and this path is remembered. */
static const char *first_name(struct packer *p, const struct stat *st, const char *path)
{
    char key[48];
    if (!S_ISREG(st->st_mode) || st->st_nlink < 2)
        return NULL;
    (void)snprintf(key, sizeof(key), "%llx:%llx", (unsigned long long)st->st_dev, (unsigned long long)st->st_ino);
    const char *first = map_get(p->seen, key);
    if (!first)
        map_set(p->seen, key, xstrdup(path));
    return first;
}

static int put_entry(struct packer *p, int dir_fd, const char *name, const char *path, const struct stat *st,
                     struct err *err)
{
    char target[IMAGE_LIMITS_PATH_BYTES + 1] = "";
    CLEANUP(close_fd_p) int fd = NO_FD;
    struct archive_member m = { .path = path,
                                .hardlink = first_name(p, st, path),
                                .mode = p->is_usr ? st->st_mode & ~(mode_t)(S_ISUID | S_ISGID) : st->st_mode,
                                .uid = p->is_rootless ? 0 : st->st_uid,
                                .gid = p->is_rootless ? 0 : st->st_gid,
                                .size = st->st_size,
                                .mtime = st->st_mtim };
    if (S_ISLNK(st->st_mode)) {
        if (readlinkat(dir_fd, name, target, sizeof(target) - 1) < 0)
            return err_set(err, ERR_INTERNAL, errno, "\"%.200s\": read the link", path);
        m.symlink = target;
    } else if (!m.hardlink) {
        fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
            return err_set(err, ERR_INTERNAL, errno, "\"%.200s\": open", path);
        if (!p->is_usr)
            add_xattrs(p->out, fd);
    }
    int r = archive_writer_member(p->out, &m, err);
    for (int64_t left = S_ISREG(st->st_mode) && !m.hardlink ? st->st_size : 0; r == 0 && left > 0;) {
        ssize_t n = read(fd, p->chunk, left < CHUNK ? (size_t)left : CHUNK);
        if (n <= 0)
            return err_set(err, ERR_INTERNAL, n < 0 ? errno : EIO, "\"%.200s\": read", path);
        r = archive_writer_data(p->out, p->chunk, (size_t)n, err);
        left -= n;
    }
    if (p->host)
        atomic_store(p->host->done_bytes, archive_writer_bytes(p->out));
    return r;
}

static int pack_folder(struct packer *p, int fd, const char *path, int depth, struct err *err);

/* Others may read it, and so may a sandbox. */
static bool is_public(const struct stat *st)
{
    mode_t need = S_ISDIR(st->st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
    return S_ISLNK(st->st_mode) || (st->st_mode & need) == need;
}

static int pack_usr(struct packer *p, struct err *err)
{
    struct stat st;
    if (fstat(p->host->usr_fd, &st) < 0)
        return err_set(err, ERR_INTERNAL, errno, "look at the host's /usr");
    p->is_usr = true;
    p->usr_dev = st.st_dev;
    int r = pack_folder(p, p->host->usr_fd, "usr", 1, err);
    p->is_usr = false;
    return r;
}

static int pack_one(struct packer *p, int dir_fd, const char *name, const char *folder, int depth, struct err *err)
{
    struct stat st;
    CLEANUP(free_p) char *path = xasprintf("%s%s%s", folder, *folder ? "/" : "", name);
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return p->is_usr && errno == ENOENT ? 0 : err_set(err, ERR_INTERNAL, errno, "\"%.200s\": look", path);
    if (p->is_usr && !is_public(&st))
        return 0;
    if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0)) {
        CLEANUP(free_p) char *mark = xasprintf("%s%s.wh.%s", folder, *folder ? "/" : "", name);
        return archive_writer_file(p->out, mark, 0644, NULL, 0, err);
    }
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))
        return 0; /* sockets and the like are not part of an image */
    int r = put_entry(p, dir_fd, name, path, &st, err);
    if (r < 0 || !S_ISDIR(st.st_mode) || (p->is_usr && st.st_dev != p->usr_dev))
        return r;
    if (p->host && depth == 0 && strcmp(name, "usr") == 0)
        return pack_usr(p, err);
    CLEANUP(close_fd_p) int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, ERR_INTERNAL, errno, "\"%.200s\": open", path);
    return pack_folder(p, fd, path, depth + 1, err);
}

static int pack_folder(struct packer *p, int fd, const char *path, int depth, struct err *err)
{
    char **names = NULL;
    size_t n = 0;
    if (depth > DEPTH_MAX)
        return err_set(err, ERR_TOO_LARGE, 0, "\"%.200s\": over %d folders deep", path, DEPTH_MAX);
    int r = layer_tree_names(fd, &names, &n);
    if (r < 0)
        return err_set(err, ERR_INTERNAL, -r, "read a layer folder");
    char value[4];
    if (fgetxattr(fd, "trusted.overlay.opaque", value, sizeof(value)) > 0 ||
        fgetxattr(fd, "user.overlay.opaque", value, sizeof(value)) > 0) {
        CLEANUP(free_p) char *mark = xasprintf("%s%s.wh..wh..opq", path, *path ? "/" : "");
        r = archive_writer_file(p->out, mark, 0644, NULL, 0, err);
    }
    for (size_t i = 0; i < n; i++) {
        if (r == 0)
            r = pack_one(p, fd, names[i], path, depth, err);
        free(names[i]);
    }
    free(names);
    return r;
}

/* Packs root_fd and everything below it into out_fd. */
static int pack_root(struct packer *p, int root_fd, int out_fd, struct digest *digest, struct err *err)
{
    int r = archive_writer_new(ARCHIVE_WRITER_TAR, out_fd, digest, &p->out, err);
    p->seen = map_new();
    p->chunk = xzalloc(CHUNK);
    struct stat st;
    if (r == 0 && fstat(root_fd, &st) < 0)
        r = err_set(err, ERR_INTERNAL, errno, "look at the layer");
    if (r == 0)
        r = put_entry(p, root_fd, ".", ".", &st, err);
    if (r == 0)
        r = pack_folder(p, root_fd, "", 0, err);
    if (r == 0)
        r = archive_writer_close(p->out, err);
    for (struct map_iter it = map_iter(p->seen); map_next(&it);)
        free(it.value);
    map_free(p->seen);
    free(p->chunk);
    return r;
}

int layer_pack_write(int root_fd, bool is_rootless, int out_fd, char ret_hex[DIGEST_HEX], int64_t *ret_bytes,
                     struct err *err)
{
    struct packer p = { .is_rootless = is_rootless };
    struct digest digest;
    digest_init(&digest);
    int r = pack_root(&p, root_fd, out_fd, &digest, err);
    if (r == 0) {
        digest_hex(&digest, ret_hex);
        *ret_bytes = archive_writer_bytes(p.out);
    }
    (void)archive_writer_free(p.out);
    digest_done(&digest);
    return r;
}

int layer_pack_write_host(const struct layer_pack_host *host, int out_fd, struct err *err)
{
    struct packer p = { .is_rootless = host->is_rootless, .host = host };
    int r = pack_root(&p, host->layer_fd, out_fd, NULL, err);
    (void)archive_writer_free(p.out);
    return r;
}
