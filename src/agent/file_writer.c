/* Theory of operation. A draft is the new file beside its target: made, filled, then renamed into place, or removed
 * together with the folders that were made for it. Three requests use it: FS_PUT at once; FS_WRITE and FS_STORE as a
 * stream, whose writer owns the draft until FS_END, an error or the end of the link.
 *
 * An FS_STORE has conditions on the file that is there. They are checked at the beginning, so that an upload in vain
 * fails early, and once more before the rename: no other upload comes between the two, because the agent has one
 * thread. Its steps run with the rights of the draft's user; the others have the agent's. */
#include "agent/file_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/as_user.h"
#include "agent/file_version.h"
#include "agent/fs.h"
#include "agent/stat_rows.h"
#include "agent/stream.h"
#include "os/write_all.h"

#define TRIES     16
#define NOREPLACE 1 /* RENAME_NOREPLACE */

/* What must be true of the file that is there. */
struct condition {
    uint32_t flags; /* PROTO_STORE_* */
    size_t n;
    uint64_t versions[PROTO_STORE_VERSIONS];
};

/* The new file until it is renamed into place. */
struct draft {
    int fd, dir;
    char name[NAME_MAX + 1]; /* the target's name in dir */
    char beside[48];
    uint32_t mode;
    bool has_owner;
    uid_t uid;
    gid_t gid;
    char *made;      /* the folder that it is in, when folders were made for it; else NULL */
    size_t made_len; /* of the first of them in made */
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
    int r = d->dir < 0 ? -errno : 0;
    if (r == -ENOENT && has_parents) {
        d->made = strdup(dir);
        *slash = '/';
        r = d->made ? agent_fs_make_parents(path, 0755, &d->made_len) : -ENOMEM;
        *slash = '\0';
        d->dir = r < 0 ? -EBADF : open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        r = r == 0 && d->dir < 0 ? -errno : r;
    }
    *slash = '/';
    return r;
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
    /* The folders that were made for it, from the last to the first, as far as nothing else is in them. */
    while (d->made && d->made_len > 0 && strlen(d->made) >= d->made_len && rmdir(d->made) == 0)
        *strrchr(d->made, '/') = '\0';
    free(d->made);
    d->made = NULL;
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

/* -PROTO_UNMET: the file that is there is not as the condition wants it. *ret_is_new: there is none. */
static int draft_check(const struct draft *d, const struct condition *c, bool *ret_is_new)
{
    struct stat st;
    bool is_match = false, is_there = fstatat(d->dir, d->name, &st, AT_SYMLINK_NOFOLLOW) == 0;

    if (!is_there && errno != ENOENT)
        return -errno;
    for (size_t i = 0; is_there && i < c->n; i++)
        is_match |= c->versions[i] == agent_file_version(&st);
    bool is_unmet = (c->flags & PROTO_STORE_EXISTS && !is_there) || (c->flags & PROTO_STORE_ABSENT && is_there) ||
                    (c->flags & PROTO_STORE_MATCH && !is_match) || (c->flags & PROTO_STORE_OTHER && is_match);
    *ret_is_new = !is_there;
    return is_unmet ? -PROTO_UNMET : 0;
}

static int draft_rename(struct draft *d, const struct condition *c)
{
    if (!(c->flags & PROTO_STORE_ABSENT))
        return renameat(d->dir, d->beside, d->dir, d->name) < 0 ? -errno : 0;
    if (syscall(SYS_renameat2, d->dir, d->beside, d->dir, d->name, NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno == EEXIST ? -PROTO_UNMET : -errno;
    return renameat(d->dir, d->beside, d->dir, d->name) < 0 ? -errno
                                                            : 0; /* its file system cannot; we have just looked */
}

/* Puts the file in place; the draft is freed either way. ret_st (may be NULL): the file as it is now. */
static int draft_publish(struct draft *d, const struct condition *c, struct stat *ret_st)
{
    int r = 0;

    if (d->has_owner)
        (void)!fchown(d->fd, d->uid,
                      d->gid); /* without the right to change the owner the file stays ours, as with any editor */
    if (fchmod(d->fd, d->mode) < 0)
        r = -errno;
    if (r == 0)
        r = draft_rename(d, c);
    bool is_poured = r == -EBUSY;
    if (is_poured)
        r = draft_overwrite(d);
    if (r == 0 && ret_st && fstatat(d->dir, d->name, ret_st, AT_SYMLINK_NOFOLLOW) < 0)
        r = -errno;
    if (r < 0 || is_poured) {
        draft_abandon(d);
        return r;
    }
    r = close(d->fd) < 0 ? -errno : 0;
    d->fd = -EBADF;
    d->made_len = 0; /* its folders stay */
    draft_abandon(d);
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
        result = draft_publish(&d, &(struct condition){ 0 }, NULL);
    else
        draft_abandon(&d);
    agent_reply_result(r, result, "write", path);
}

/* --- streamed --- */
struct writer {
    struct agent_stream stream;
    struct agent *agent;
    struct draft draft;
    struct agent_spawn_user user;
    struct condition condition;
    char *path; /* of an FS_STORE, as the host gave it; NULL: an FS_WRITE */
};

#define WRITER_OF(s) ((struct writer *)((char *)(s)-offsetof(struct writer, stream)))

static void free_writer(struct writer *w)
{
    bool is_user = agent_as_user_enter(&w->user) == 0;

    draft_abandon(&w->draft);
    if (is_user)
        agent_as_user_leave(&w->user);
    agent_stream_close(&w->stream);
    free(w->path);
    free(w);
}

static void end_writer(struct writer *w, int result)
{
    struct agent_reply r = { .agent = w->agent, .conn = w->stream.conn, .pipe_fd = -EBADF, .stream = w->stream.id };

    agent_reply_result(&r, result, "write", w->path ? w->path : w->draft.name);
    free_writer(w);
}

static void finish_writer(struct writer *w)
{
    struct agent_reply r = { .agent = w->agent, .conn = w->stream.conn, .pipe_fd = -EBADF, .stream = w->stream.id };
    struct agent_stat_head head = { 0 };
    struct stat st;
    bool is_new = false;
    int result = agent_as_user_enter(&w->user);

    if (result == 0) {
        result = draft_check(&w->draft, &w->condition, &is_new);
        if (result == 0)
            result = draft_publish(&w->draft, &w->condition, &st);
        agent_as_user_leave(&w->user);
    }
    if (result < 0 || !w->path) {
        end_writer(w, result);
        return;
    }
    head = (struct agent_stat_head){ agent_file_version(&st), is_new };
    agent_stat_rows_one(&r, PROTO_FS_STORED, &head, w->path, &st);
    free_writer(w);
}

static int writer_on_frame(struct agent_stream *s, uint16_t type, const uint8_t *data, size_t len)
{
    struct writer *w = WRITER_OF(s);

    if (type == PROTO_FS_END) {
        finish_writer(w);
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
    free_writer(WRITER_OF(s));
}

static const struct agent_stream_ops writer_ops = { .on_frame = writer_on_frame, .on_drop = writer_on_drop };

/* Takes w. */
static void start_writer(struct agent_reply *r, struct writer *w, const char *path, uint32_t mode, uint8_t flags)
{
    bool is_new;
    int result = agent_as_user_enter(&w->user);

    w->agent = r->agent;
    if (result == 0) {
        result = open_draft(&w->draft, path, mode, flags);
        if (result == 0 && (result = draft_check(&w->draft, &w->condition, &is_new)) < 0)
            draft_abandon(&w->draft);
        agent_as_user_leave(&w->user);
    }
    if (result < 0) {
        agent_reply_error(r, -result, "write %s", path);
        free(w->path);
        free(w);
        return;
    }
    agent_stream_open(&w->stream, r->conn, r->stream, &writer_ops);
    if (w->path)
        agent_stream_widen(&w->stream);
}

void agent_file_writer_start(struct agent_reply *r, const uint8_t *data, size_t len)
{
    struct proto_reader in;
    struct writer *w = calloc(1, sizeof(*w));

    proto_reader_init(&in, data, len);
    const char *path = proto_get_str(&in, PROTO_PATH_MAX);
    uint32_t mode = proto_get_u32(&in);
    uint8_t flags = proto_get_u8(&in);
    if (!w) {
        agent_reply_error(r, ENOMEM, "write %s", path);
        return;
    }
    (void)agent_as_user_read("", &w->user); /* ourselves: cannot fail */
    start_writer(r, w, path, mode, flags);
}

void agent_file_writer_store(struct agent_reply *r, const uint8_t *data, size_t len)
{
    struct proto_reader in;
    struct writer *w = calloc(1, sizeof(*w));

    proto_reader_init(&in, data, len);
    const char *path = proto_get_str(&in, PROTO_PATH_MAX), *user = proto_get_str(&in, PROTO_PATH_MAX);
    uint32_t mode = proto_get_u32(&in), flags = proto_get_u32(&in);
    int error = w && (w->path = strdup(path)) ? -agent_as_user_read(user, &w->user) : ENOMEM;
    if (error == 0 && flags & ~PROTO_STORE_FLAGS)
        error = EINVAL;
    if (error) {
        agent_reply_error(r, error, "write %s as user %s", path, user);
        if (w)
            free(w->path);
        free(w);
        return;
    }
    w->condition.flags = flags;
    while (in.left > 0)
        w->condition.versions[w->condition.n++] = proto_get_u64(&in);
    start_writer(r, w, path, mode, PROTO_WRITE_PARENTS);
}
