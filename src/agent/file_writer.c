#include "agent/file_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/fs.h"
#include "agent/stream.h"
#include "os/write_all.h"

#define TRIES 16

/* The new file until it is renamed into place. */
struct draft {
    int fd, dir;
    char name[NAME_MAX + 1]; /* the target's name in dir */
    char beside[48];
    uint32_t mode;
    bool has_owner;
    uid_t uid;
    gid_t gid;
};

/* Splits path into its directory, opened, and a last name. */
static int open_parent(struct draft *d, char *path, bool has_parents)
{
    char *slash = strrchr(path, '/');
    size_t len = strlen(slash + 1);

    if (len == 0 || strcmp(slash + 1, ".") == 0 || strcmp(slash + 1, "..") == 0)
        return -EISDIR;
    if (len > NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(d->name, slash + 1, len + 1);
    *slash = '\0';
    const char *dir = path[0] ? path : "/";
    d->dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int error = errno;
    *slash = '/';
    if (d->dir < 0 && error == ENOENT && has_parents) {
        int r = agent_fs_make_parents(path, 0755);
        *slash = '\0';
        d->dir = r < 0 ? -1 : open(path[0] ? path : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        error = r < 0 ? -r : errno;
        *slash = '/';
    }
    return d->dir < 0 ? -error : 0;
}

/* The existing file decides on mode and owner; anything but a regular file is rejected. */
static int look_at_old(struct draft *d, uint32_t mode, bool is_replacing)
{
    struct stat st;

    d->mode = mode ? mode & 07777 : 0644;
    if (fstatat(d->dir, d->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISREG(st.st_mode))
        return S_ISDIR(st.st_mode) ? -EISDIR : is_replacing ? 0 : -EINVAL;
    if (!mode)
        d->mode = st.st_mode & 07777;
    d->has_owner = true;
    d->uid = st.st_uid;
    d->gid = st.st_gid;
    return 0;
}

static int open_beside(struct draft *d)
{
    uint64_t salt = agent_loop_now_us();

    for (int i = 0; i < TRIES; i++) {
        (void)snprintf(d->beside, sizeof(d->beside), ".iii-%llx.part", (unsigned long long)(salt + (uint64_t)i));
        d->fd = openat(d->dir, d->beside, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (d->fd >= 0)
            return 0;
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

static void draft_abandon(struct draft *d)
{
    if (d->fd >= 0) {
        (void)unlinkat(d->dir, d->beside, 0);
        (void)close(d->fd);
    }
    if (d->dir >= 0)
        (void)close(d->dir);
    d->fd = d->dir = -EBADF;
}

static int open_draft(struct draft *d, const char *path, uint32_t mode, uint8_t flags)
{
    char real[PATH_MAX], target[PATH_MAX];
    struct stat st;

    *d = (struct draft){ .fd = -EBADF, .dir = -EBADF };
    if (path[0] != '/')
        return -EINVAL;
    if (strlen(path) >= sizeof(target))
        return -ENAMETOOLONG;
    memcpy(target, path, strlen(path) + 1);
    /* A symlink as the last name is written through, as any program does; a rename would replace the link. */
    if (!(flags & PROTO_WRITE_REPLACE) && lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
        if (!realpath(path, real))
            return -errno;
        memcpy(target, real, strlen(real) + 1);
    }
    int r = open_parent(d, target, flags & PROTO_WRITE_PARENTS);
    if (r == 0)
        r = look_at_old(d, mode, flags & PROTO_WRITE_REPLACE);
    if (r == 0)
        r = open_beside(d);
    if (r < 0)
        draft_abandon(d);
    return r;
}

/* A mount point, such as the /etc/hosts of an engine, cannot be replaced by rename: its contents are overwritten. */
static int draft_overwrite(struct draft *d)
{
    uint8_t piece[16384];
    off_t at = 0;
    int r = 0;
    int old = openat(d->dir, d->name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (old < 0)
        return -errno;
    for (ssize_t n = 1; n > 0 && r == 0; at += n) {
        n = pread(d->fd, piece, sizeof(piece), at);
        r = n < 0 ? -errno : write_all_write(old, piece, (size_t)n);
    }
    if (r == 0 && ftruncate(old, at) < 0)
        r = -errno;
    if (close(old) < 0 && r == 0)
        r = -errno;
    return r;
}

/* Puts the file in place; the draft is freed either way. */
static int draft_publish(struct draft *d)
{
    int r = 0;

    if (d->has_owner)
        (void)!fchown(d->fd, d->uid,
                      d->gid); /* without the right to change the owner the file stays ours, as with any editor */
    if (fchmod(d->fd, d->mode) < 0)
        r = -errno;
    if (r == 0 && renameat(d->dir, d->beside, d->dir, d->name) < 0)
        r = -errno;
    bool is_poured = r == -EBUSY;
    if (is_poured)
        r = draft_overwrite(d);
    if (r < 0 || is_poured) {
        draft_abandon(d);
        return r;
    }
    r = close(d->fd) < 0 ? -errno : 0;
    (void)close(d->dir);
    d->fd = d->dir = -EBADF;
    return r;
}

void agent_file_writer_put(struct agent_reply *r, const uint8_t *data, size_t len)
{
    struct proto_reader in;
    struct draft d;
    size_t n;

    proto_reader_init(&in, data, len);
    const char *path = proto_get_str(&in, PROTO_PATH_MAX);
    uint32_t mode = proto_get_u32(&in);
    const uint8_t *bytes = proto_get_rest(&in, &n);
    if (n > PROTO_PUT_MAX) {
        agent_reply_error(r, EFBIG, "write %s: %zu bytes (at most %u in one request)", path, n, PROTO_PUT_MAX);
        return;
    }
    int result = open_draft(&d, path, mode, PROTO_WRITE_PARENTS);
    if (result == 0)
        result = write_all_write(d.fd, bytes, n);
    if (result == 0)
        result = draft_publish(&d);
    else
        draft_abandon(&d);
    agent_reply_result(r, result, "write", path);
}

/* --- streamed --- */
struct writer {
    struct agent_stream stream;
    struct agent *agent;
    struct draft draft;
};

#define WRITER_OF(s) ((struct writer *)((char *)(s)-offsetof(struct writer, stream)))

static void end_writer(struct writer *w, int result)
{
    struct agent_reply r = { .agent = w->agent, .conn = w->stream.conn, .pipe_fd = -EBADF, .stream = w->stream.id };

    agent_reply_result(&r, result, "write", w->draft.name);
    draft_abandon(&w->draft);
    agent_stream_close(&w->stream);
    free(w);
}

static int writer_on_frame(struct agent_stream *s, uint16_t type, const uint8_t *data, size_t len)
{
    struct writer *w = WRITER_OF(s);

    if (type == PROTO_FS_END) {
        end_writer(w, draft_publish(&w->draft));
        return 0;
    }
    if (type != PROTO_FS_DATA || agent_stream_take(s, len) < 0)
        return -EBADMSG;
    int r = write_all_write(w->draft.fd, data, len);
    if (r < 0)
        end_writer(w, r);
    else
        agent_stream_credit(s, (uint32_t)len);
    return 0;
}

static void writer_on_drop(struct agent_stream *s)
{
    struct writer *w = WRITER_OF(s);

    draft_abandon(&w->draft);
    free(w);
}

static const struct agent_stream_ops writer_ops = { .on_frame = writer_on_frame, .on_drop = writer_on_drop };

void agent_file_writer_start(struct agent_reply *r, const uint8_t *data, size_t len)
{
    struct proto_reader in;
    struct writer *w = calloc(1, sizeof(*w));

    proto_reader_init(&in, data, len);
    const char *path = proto_get_str(&in, PROTO_PATH_MAX);
    uint32_t mode = proto_get_u32(&in);
    uint8_t flags = proto_get_u8(&in);
    int result = w ? open_draft(&w->draft, path, mode, flags) : -ENOMEM;
    if (result < 0) {
        agent_reply_error(r, -result, "write %s", path);
        free(w);
        return;
    }
    w->agent = r->agent;
    agent_stream_open(&w->stream, r->conn, r->stream, &writer_ops);
}
