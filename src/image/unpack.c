/* How a name becomes a file, safely:
 * 1. unpack_clean_name() refuses absolute names, "..", and anything over a limit.
 * 2. The parent is opened by openat2(BENEATH, NO_SYMLINKS, NO_MAGICLINKS, NO_XDEV) from the layer's own folder; folders
 * that are missing are made one by one by the same rule. A parent that is a link stops the import.
 * 3. The last component is only ever used with calls that do not follow it (O_EXCL, AT_SYMLINK_NOFOLLOW, unlinkat, …),
 * and what stood there is removed first, so a link planted by an earlier entry is replaced, never written through.
 * Modes and times of folders are set at the end, since filling a folder needs write permission and changes its time. */
#include "image/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "archive/tar_stream.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "image/layer_tree.h"
#include "os/write_all.h"

#define OPAQUE_MARK     ".wh..wh..opq"
#define WHITEOUT_PREFIX ".wh."
#define PROGRESS_STEP   (1 << 20)

struct folder_fix {
    const char *path; /* key of by_path */
    mode_t mode;
    struct timespec times[2];
};

struct unpacker {
    struct unpack_job *job;
    struct tar_stream *stream;
    struct folder_fix *fixes;
    size_t n_fixes, cap_fixes;
    struct map *by_path;                      /* path -> its own copy; the last entry of a folder wins */
    char parent[IMAGE_LIMITS_PATH_BYTES + 1]; /* the folder of parent_fd: most entries share the previous one's */
    int parent_fd;
    int64_t next_progress;
};

/* One entry being unpacked. */
struct item {
    const struct archive_member *entry;
    char path[IMAGE_LIMITS_PATH_BYTES + 1];
    const char *name; /* last component, inside path */
    int parent_fd;
    mode_t mode;
};

int unpack_clean_name(const char *name, const struct image_limits *limits, char *ret, struct err *err)
{
    if (strlen(name) > IMAGE_LIMITS_PATH_BYTES)
        return err_set(err, ERR_TOO_LARGE, 0, "name of %zu bytes, the limit is %d: %.40s…", strlen(name),
                       IMAGE_LIMITS_PATH_BYTES, name);
    if (name[0] == '/')
        return err_set(err, ERR_INVALID, 0, "\"%.200s\": absolute names are refused", name);

    size_t len = 0;
    int64_t depth = 0;
    while (*name) {
        size_t n = strcspn(name, "/");
        if (n == 2 && memcmp(name, "..", 2) == 0)
            return err_set(err, ERR_INVALID, 0, "a name with \"..\" is refused: %.200s", name);
        if ((int64_t)n > limits->name_bytes)
            return err_set(err, ERR_TOO_LARGE, 0,
                           "\"%.40s…\": a part of %zu bytes, the limit is %lld (III_IMAGE_MAX_NAME)", name, n,
                           (long long)limits->name_bytes);
        if (n > 0 && !(n == 1 && name[0] == '.')) {
            if (++depth > limits->depth)
                return err_set(err, ERR_TOO_LARGE, 0, "\"%.200s…\": over %lld folders deep (III_IMAGE_MAX_DEPTH)", ret,
                               (long long)limits->depth);
            if (len > 0)
                ret[len++] = '/';
            memcpy(ret + len, name, n);
            len += n;
            ret[len] = '\0';
        }
        name += n + (name[n] == '/');
    }
    ret[len] = '\0';
    return 0;
}

static int open_beneath(int root_fd, const char *path, uint64_t flags)
{
    struct open_how how = {
        .flags = flags | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    long fd = syscall(SYS_openat2, root_fd, *path ? path : ".", &how, sizeof(how));
    return fd < 0 ? -errno : (int)fd;
}

static int add_fix(struct unpacker *u, const char *path, mode_t mode, const struct timespec times[2], struct err *err)
{
    size_t *known = map_get(u->by_path, path);
    if (!known && u->n_fixes == u->cap_fixes) {
        size_t cap = u->cap_fixes ? u->cap_fixes * 2 : 256;
        struct folder_fix *grown = realloc(u->fixes, cap * sizeof(*grown));
        if (!grown)
            return err_set(err, ERR_INTERNAL, ENOMEM, "\"%.200s\"", path);
        u->fixes = grown;
        u->cap_fixes = cap;
    }
    if (!known) {
        size_t len = strlen(path) + 1;
        known = xzalloc(sizeof(*known) + len); /* the index, then the path */
        memcpy(known + 1, path, len);
        *known = u->n_fixes++;
        map_set(u->by_path, path, known);
    }
    u->fixes[*known] =
        (struct folder_fix){ .path = (const char *)(known + 1), .mode = mode, .times = { times[0], times[1] } };
    return 0;
}

/* A folder that the archive needs but does not list gets the attributes it has in the highest layer below. The layer is
 * then valid only above these. */
static int copy_attrs_from_below(struct unpacker *u, int fd, const char *path, struct err *err)
{
    u->job->has_lower_links = true;
    for (size_t i = u->job->n_lower; i-- > 0;) {
        struct stat st;
        CLEANUP(close_fd_p) int seen = open_beneath(u->job->lower_fds[i], path, O_PATH | O_NOFOLLOW);
        if (seen == -ENOENT)
            continue;
        if (seen < 0 || fstat(seen, &st) < 0 || !S_ISDIR(st.st_mode))
            return 0; /* hidden or replaced there: new in this layer */
        const struct timespec times[2] = { st.st_mtim, st.st_mtim };
        if (!u->job->is_rootless && fchownat(fd, "", st.st_uid, st.st_gid, AT_EMPTY_PATH) < 0)
            return err_set(err, err_from_errno(errno), errno, "\"%.200s\": set the owner", path);
        return add_fix(u, path, st.st_mode & 07777, times, err);
    }
    return 0;
}

/* Creates each missing folder of path. */
static int make_folders(struct unpacker *u, const char *path, struct err *err)
{
    char part[IMAGE_LIMITS_PATH_BYTES + 1], upto[IMAGE_LIMITS_PATH_BYTES + 1];
    const char *at = path;
    CLEANUP(close_fd_p) int fd = open_beneath(u->job->root_fd, "", O_PATH | O_DIRECTORY);

    while (fd >= 0 && *at) {
        size_t n = strcspn(at, "/");
        memcpy(part, at, n);
        part[n] = '\0';
        bool is_new = mkdirat(fd, part, 0755) == 0;
        if (!is_new && errno != EEXIST)
            return -errno;
        if (is_new &&
            fchmodat(fd, part, 0755, 0) < 0) /* independent of our umask: other users inside must be able to enter */
            return -errno;
        int next = open_beneath(fd, part, O_PATH | O_DIRECTORY);
        (void)close(fd);
        fd = next;
        at += n;
        memcpy(upto, path, (size_t)(at - path));
        upto[at - path] = '\0';
        int r = is_new && fd >= 0 ? copy_attrs_from_below(u, fd, upto, err) : 0;
        if (r < 0)
            return r;
        at += *at == '/';
    }
    return fd < 0 ? fd : 0;
}

/* The folder that holds path's last component, borrowed from u until the next call. */
static int enter_parent(struct unpacker *u, const char *path, struct err *err)
{
    char parent[IMAGE_LIMITS_PATH_BYTES + 1];
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;
    memcpy(parent, path, len);
    parent[len] = '\0';

    if (u->parent_fd >= 0 && strcmp(parent, u->parent) == 0)
        return u->parent_fd;
    int fd = open_beneath(u->job->root_fd, parent, O_PATH | O_DIRECTORY);
    if (fd == -ENOENT) {
        int r = make_folders(u, parent, err);
        fd = r < 0 ? r : open_beneath(u->job->root_fd, parent, O_PATH | O_DIRECTORY);
    }
    if (fd == -ELOOP || fd == -ENOTDIR || fd == -EXDEV)
        return err_set(err, ERR_INVALID, 0, "\"%.200s\": its folder is a link or a file in this layer", path);
    if (fd < 0)
        return err_set(err, err_from_errno(-fd), -fd, "\"%.200s\": open its folder", path);
    close_fd_p(&u->parent_fd);
    u->parent_fd = fd;
    memcpy(u->parent, parent, len + 1);
    return fd;
}

static int remove_existing(struct unpacker *u, const struct item *it, struct err *err)
{
    if (unlinkat(it->parent_fd, it->name, 0) == 0 || errno == ENOENT)
        return 0;
    int r = layer_tree_remove_at(it->parent_fd, it->name);
    return r < 0 ? err_set(err, err_from_errno(-r), -r, "\"%.200s\": replace", it->path) : 0;
}

static int set_owner(struct unpacker *u, const struct item *it, struct err *err)
{
    int64_t uid = it->entry->uid, gid = it->entry->gid;
    if (uid < 0 || gid < 0 || uid >= UINT32_MAX || gid >= UINT32_MAX)
        return err_set(err, ERR_INVALID, 0, "\"%.200s\": owner %lld:%lld is out of range", it->path, (long long)uid,
                       (long long)gid);
    if (!u->job->is_rootless && fchownat(it->parent_fd, it->name, (uid_t)uid, (gid_t)gid, AT_SYMLINK_NOFOLLOW) < 0)
        return err_set(err, err_from_errno(errno), errno, "\"%.200s\": set its owner", it->path);
    return 0;
}

/* trusted.* and user.overlay.* would control overlayfs (a redirect reads another image's files), the other security.*
 * address the host's own policies: only what a program inside can use is kept. */
static bool is_kept_xattr(const struct unpacker *u, const char *name)
{
    if (strncmp(name, "user.", 5) == 0)
        return strncmp(name, "user.overlay.", 13) != 0;
    return !u->job->is_rootless && strcmp(name, "security.capability") == 0;
}

static int set_xattrs(struct unpacker *u, const struct item *it, int fd, struct err *err)
{
    const char *name;
    const void *value;
    size_t len;

    if (tar_stream_xattr_count(u->stream) > IMAGE_LIMITS_XATTRS)
        return err_set(err, ERR_TOO_LARGE, 0, "\"%.200s\": over %d extended attributes", it->path, IMAGE_LIMITS_XATTRS);
    while (tar_stream_xattr_next(u->stream, &name, &value, &len)) {
        if (!name || !is_kept_xattr(u, name))
            continue;
        if (len > IMAGE_LIMITS_XATTR_BYTES || strlen(name) > 255)
            return err_set(err, ERR_TOO_LARGE, 0, "\"%.200s\": extended attribute over %d bytes", it->path,
                           IMAGE_LIMITS_XATTR_BYTES);
        if (fsetxattr(fd, name, value, len, 0) < 0 && errno != ENOTSUP && errno != EPERM)
            return err_set(err, err_from_errno(errno), errno, "\"%.200s\": set extended attribute %.60s", it->path,
                           name);
    }
    return 0;
}

static int count_bytes(struct unpacker *u, const struct item *it, int64_t bytes, struct err *err)
{
    if (bytes < 0 || bytes > u->job->limits->bytes || u->job->bytes > u->job->limits->bytes - bytes)
        return err_set(err, ERR_TOO_LARGE, 0, "\"%.200s\": the image unpacks to over %lld bytes (III_IMAGE_MAX_BYTES)",
                       it->path, (long long)u->job->limits->bytes);
    u->job->bytes += bytes;
    return 0;
}

static int unpack_file(struct unpacker *u, struct item *it, struct err *err)
{
    int64_t size = it->entry->size;
    int r = count_bytes(u, it, size, err);
    if (r == 0)
        r = remove_existing(u, it, err);
    if (r < 0)
        return r;
    CLEANUP(close_fd_p)
    int fd = openat(it->parent_fd, it->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(err, err_from_errno(errno), errno, "\"%.200s\": make", it->path);
    const void *data;
    size_t len;
    int64_t offset;
    while ((r = tar_stream_data(u->stream, &data, &len, &offset, err)) > 0) {
        if (offset < 0 || (int64_t)len > size || offset > size - (int64_t)len)
            return err_set(err, ERR_INVALID, 0, "\"%.200s\": content beyond its stated %lld bytes", it->path,
                           (long long)size);
        int w = write_all_pwrite(fd, data, len, offset);
        if (w < 0)
            return err_set(err, err_from_errno(-w), -w, "\"%.200s\": write", it->path);
    }
    if (r < 0)
        return err_wrap(err, r, "\"%.200s\"", it->path);
    if (ftruncate(fd, size) < 0) /* a sparse file may end in unallocated space */
        return err_set(err, err_from_errno(errno), errno, "\"%.200s\": set its size", it->path);
    r = set_owner(u, it, err);
    if (r == 0)
        r = set_xattrs(u, it, fd, err); /* after the owner: a chown drops capabilities */
    if (r < 0)
        return r;
    const struct timespec times[2] = { it->entry->mtime, it->entry->mtime };
    if (fchmod(fd, it->mode) < 0 || futimens(fd, times) < 0)
        return err_set(err, err_from_errno(errno), errno, "\"%.200s\": set mode and time", it->path);
    return 0;
}

static int remember_folder(struct unpacker *u, const struct item *it, struct err *err)
{
    const struct timespec times[2] = { it->entry->mtime, it->entry->mtime };
    return add_fix(u, it->path, it->mode, times, err);
}

static int unpack_folder(struct unpacker *u, struct item *it, struct err *err)
{
    if (it->path[0] == '\0') {
        it->mode |= 0700; /* the finished folder must be movable by its owner */
        return remember_folder(u, it, err);
    }
    struct stat st;
    bool is_there = fstatat(it->parent_fd, it->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
    if (!is_there) {
        int r = remove_existing(u, it, err);
        if (r < 0)
            return r;
        if (mkdirat(it->parent_fd, it->name, 0700) < 0)
            return err_set(err, err_from_errno(errno), errno, "\"%.200s\": make the folder", it->path);
    }
    CLEANUP(close_fd_p) int fd = openat(it->parent_fd, it->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, err_from_errno(errno), errno, "\"%.200s\": open the folder", it->path);
    int r = set_owner(u, it, err);
    if (r == 0)
        r = set_xattrs(u, it, fd, err);
    return r < 0 ? r : remember_folder(u, it, err);
}

static int unpack_symlink(struct unpacker *u, struct item *it, struct err *err)
{
    const char *target = it->entry->symlink;
    if (!target || !*target || strlen(target) > IMAGE_LIMITS_PATH_BYTES)
        return err_set(err, ERR_INVALID, 0, "\"%.200s\": a link without a target of 1 to %d bytes", it->path,
                       IMAGE_LIMITS_PATH_BYTES);
    int r = remove_existing(u, it, err);
    if (r < 0)
        return r;
    if (symlinkat(target, it->parent_fd, it->name) < 0)
        return err_set(err, err_from_errno(errno), errno, "\"%.200s\": make the link", it->path);
    r = set_owner(u, it, err);
    if (r < 0)
        return r;
    const struct timespec times[2] = { it->entry->mtime, it->entry->mtime };
    (void)utimensat(it->parent_fd, it->name, times, AT_SYMLINK_NOFOLLOW); /* the time of a link does not matter */
    return 0;
}

/* Copies target from the highest layer below that has it. A whiteout or a folder in between hides it. */
static int copy_from_below(struct unpacker *u, const struct item *it, const char *target, struct err *err)
{
    for (size_t i = u->job->n_lower; i-- > 0;) {
        struct stat st;
        CLEANUP(close_fd_p) int seen = open_beneath(u->job->lower_fds[i], target, O_PATH | O_NOFOLLOW);
        if (seen == -ENOENT)
            continue;
        if (seen < 0 || fstat(seen, &st) < 0 || !S_ISREG(st.st_mode))
            break;
        int r = count_bytes(u, it, st.st_size, err);
        if (r < 0)
            return r;
        CLEANUP(close_fd_p) int from = open_beneath(u->job->lower_fds[i], target, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
        CLEANUP(close_fd_p)
        int to = openat(it->parent_fd, it->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        ssize_t n = from < 0 || to < 0 ? -1 : 1;
        while (n > 0)
            n = copy_file_range(from, NULL, to, NULL, 1 << 30, 0);
        const struct timespec times[2] = { st.st_mtim, st.st_mtim };
        if (n < 0 || (!u->job->is_rootless && fchown(to, st.st_uid, st.st_gid) < 0) ||
            fchmod(to, st.st_mode & 07777) < 0 || futimens(to, times) < 0)
            return err_set(err, err_from_errno(errno), errno, "\"%.200s\": copy from a layer below", it->path);
        u->job->has_lower_links = true;
        return 0;
    }
    return err_set(err, ERR_INVALID, 0, "\"%.150s\": hard link to \"%.150s\", which is not a file of this image",
                   it->path, target);
}

static int unpack_hardlink(struct unpacker *u, struct item *it, struct err *err)
{
    char target[IMAGE_LIMITS_PATH_BYTES + 1] = "";
    int r = unpack_clean_name(it->entry->hardlink, u->job->limits, target, err);
    if (r < 0)
        return err_wrap(err, r, "\"%.150s\": hard link", it->path);
    if (strcmp(target, it->path) == 0) /* would be removed before it is linked */
        return err_set(err, ERR_INVALID, 0, "\"%.200s\": hard link to itself", it->path);

    CLEANUP(close_fd_p) int found = open_beneath(u->job->root_fd, target, O_PATH | O_NOFOLLOW);
    struct stat st;
    if (found >= 0 && (fstat(found, &st) < 0 || S_ISDIR(st.st_mode) || S_ISCHR(st.st_mode)))
        return err_set(err, ERR_INVALID, 0, "\"%.150s\": hard link to \"%.150s\", which is not a file", it->path,
                       target);
    if (found < 0 && found != -ENOENT)
        return err_set(err, ERR_INVALID, 0, "\"%.150s\": hard link to \"%.150s\" through a link", it->path, target);
    r = remove_existing(u, it, err);
    if (r < 0)
        return r;
    if (found < 0)
        return copy_from_below(u, it, target, err);

    /* By the parent's descriptor and the last component: linking an O_PATH descriptor itself needs a privilege. */
    const char *slash = strrchr(target, '/');
    char folder[IMAGE_LIMITS_PATH_BYTES + 1] = "";
    if (slash)
        memcpy(folder, target, (size_t)(slash - target));
    CLEANUP(close_fd_p) int from = open_beneath(u->job->root_fd, folder, O_PATH | O_DIRECTORY);
    if (from < 0 || linkat(from, slash ? slash + 1 : target, it->parent_fd, it->name, 0) < 0)
        return err_set(err, ERR_INVALID, errno, "\"%.150s\": hard link to \"%.150s\"", it->path, target);
    return 0;
}

/* 1: the entry was a whiteout and is handled. */
static int unpack_whiteout(struct unpacker *u, struct item *it, struct err *err)
{
    if (strncmp(it->name, WHITEOUT_PREFIX, 4) != 0)
        return 0;
    if (strcmp(it->name, OPAQUE_MARK) == 0) {
        CLEANUP(close_fd_p) int fd = openat(it->parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const char *mark = u->job->is_rootless ? "user.overlay.opaque" : "trusted.overlay.opaque";
        if (fd < 0 || fsetxattr(fd, mark, "y", 1, 0) < 0)
            return err_set(err, err_from_errno(errno), errno, "\"%.200s\": mark its folder opaque", it->path);
        return 1;
    }
    const char *hidden = it->name + 4;
    if (strncmp(hidden, WHITEOUT_PREFIX, 4) == 0)
        return 1; /* another tool's bookkeeping */
    if (!*hidden || strcmp(hidden, ".") == 0 || strcmp(hidden, "..") == 0)
        return err_set(err, ERR_INVALID, 0, "\"%.200s\": a whiteout of nothing", it->path);
    /* A whiteout affects only the layers below: this layer's own files stay. */
    if (mknodat(it->parent_fd, hidden, S_IFCHR, 0) < 0 && errno != EEXIST)
        return err_set(err, err_from_errno(errno), errno, "\"%.200s\": make the whiteout", it->path);
    return 1;
}

static int unpack_entry(struct unpacker *u, const struct archive_member *entry, struct err *err)
{
    const char *name = entry->path;
    if (!name || !*name)
        return err_set(err, ERR_INVALID, 0, "entry %lld has no readable name", (long long)u->job->entries);
    if (++u->job->entries > u->job->limits->entries)
        return err_set(err, ERR_TOO_LARGE, 0, "\"%.200s\": over %lld entries (III_IMAGE_MAX_ENTRIES)", name,
                       (long long)u->job->limits->entries);
    struct item it = { .entry = entry, .mode = entry->mode & 07777 };
    int r = unpack_clean_name(name, u->job->limits, it.path, err);
    if (r < 0)
        return r;
    bool is_folder = !entry->hardlink && S_ISDIR(entry->mode);
    if (it.path[0] == '\0' && !is_folder)
        return err_set(err, ERR_INVALID, 0, "\"%.200s\": the top of the image must be a folder", name);
    if (it.path[0] != '\0') {
        it.parent_fd = enter_parent(u, it.path, err);
        if (it.parent_fd < 0)
            return it.parent_fd;
    }
    const char *slash = strrchr(it.path, '/');
    it.name = slash ? slash + 1 : it.path;
    r = is_folder ? 0 : unpack_whiteout(u, &it, err);
    if (r == 0 && entry->hardlink) {
        r = unpack_hardlink(u, &it, err);
    } else if (r == 0) {
        switch (entry->mode & S_IFMT) {
        case S_IFREG:
            r = unpack_file(u, &it, err);
            break;
        case S_IFDIR:
            r = unpack_folder(u, &it, err);
            break;
        case S_IFLNK:
            r = unpack_symlink(u, &it, err);
            break;
        case S_IFCHR:
        case S_IFBLK:
        case S_IFIFO:
        case S_IFSOCK:
            u->job->skipped++;
            break;
        default:
            return err_set(err, ERR_INVALID, 0, "\"%.200s\": unknown kind of entry", it.path);
        }
    }
    /* This entry may have replaced the folder behind the cached descriptor. */
    if (r >= 0 && !is_folder && strncmp(u->parent, it.path, strlen(it.path)) == 0) {
        close_fd_p(&u->parent_fd);
        u->parent_fd = NO_FD;
    }
    return r < 0 ? r : 0;
}

static int unpack_all(struct unpacker *u, char ret_hex[DIGEST_HEX], struct err *err)
{
    struct archive_member entry;
    int r;
    while ((r = tar_stream_next(u->stream, &entry, err)) > 0) {
        r = unpack_entry(u, &entry, err);
        if (r < 0)
            return r;
        int64_t packed = tar_stream_packed_bytes(u->stream);
        if (u->job->on_progress && packed >= u->next_progress) {
            u->next_progress = packed + PROGRESS_STEP;
            u->job->on_progress(u->job->progress_arg, packed);
        }
    }
    if (r == 0)
        r = tar_stream_finish(u->stream, ret_hex, err);
    for (size_t i = u->n_fixes; r == 0 && i-- > 0;) {
        const struct folder_fix *fix = &u->fixes[i];
        CLEANUP(close_fd_p) int fd = open_beneath(u->job->root_fd, fix->path, O_RDONLY | O_DIRECTORY);
        if (fd < 0)
            continue; /* a later entry replaced it, or already removed our own access */
        if (fchmod(fd, fix->mode) < 0 || futimens(fd, fix->times) < 0)
            r = err_set(err, err_from_errno(errno), errno, "\"%.200s\": set mode and time", fix->path);
    }
    return r;
}

int unpack_layer(struct unpack_job *job, const struct tar_stream_source *source, char ret_hex[DIGEST_HEX],
                 struct err *err)
{
    CLEANUP(tar_stream_close_p) struct tar_stream *stream = NULL;
    int r = tar_stream_open(source, image_limits_of_stream(job->limits), &stream, err);
    if (r < 0)
        return r;
    struct unpacker *u = xzalloc(sizeof(*u));
    u->job = job;
    u->stream = stream;
    u->parent_fd = NO_FD;
    u->by_path = map_new();
    r = unpack_all(u, ret_hex, err);
    for (struct map_iter it = map_iter(u->by_path); map_next(&it);)
        free(it.value);
    map_free(u->by_path);
    free(u->fixes);
    close_fd_p(&u->parent_fd);
    free(u);
    return r;
}
