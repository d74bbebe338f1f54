/* Theory of operation. The work is done by tar/ in a helper process with the rights of the sandbox's user, which is not
 * able to get others back: an archive is hostile, and a tree may take long. Two pipes lead to it. The first carries the
 * archive, out of the helper (pack) or into it (unpack); the second carries the helper's outcome, a struct of fixed
 * size, and its end when the helper dies. Frames to and from the host are made here, within the stream's windows: the
 * helper waits in read or write while the host has no data or no room.
 *
 * The stream ends with the outcome, even before all data was taken (a full disk), or by the host's drop, which kills
 * the helper. */
#include "agent/tree_stream.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/as_user.h"
#include "agent/fs.h"
#include "agent/helper.h"
#include "agent/stream.h"
#include "os/write_all.h"
#include "tar/tar_pack.h"
#include "tar/tar_unpack.h"

struct outcome {
    int32_t error; /* errno, or 0 */
    uint64_t entries, bytes;
    char why[TAR_WHY_MAX];
};

struct tree_stream {
    struct agent_stream stream;
    struct agent *agent;
    struct agent_watch data, end; /* our ends of the two pipes */
    pid_t pid;
    bool is_unpack, is_plain, is_last; /* is_last: FS_END has arrived */
    size_t at, len;                    /* of what waits for the helper */
    uint8_t *waiting;                  /* PROTO_WINDOW_WIDE bytes, while something waits */
};

#define TREE_OF(ptr, field) ((struct tree_stream *)((char *)(ptr)-offsetof(struct tree_stream, field)))

/* --- the helper process --- */

static int pipe_sink(void *arg, const void *data, size_t len)
{
    return write_all_write(*(int *)arg, data, len);
}

static ssize_t pipe_source(void *arg, void *data, size_t len)
{
    ssize_t n;

    do
        n = read(*(int *)arg, data, len);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

static int open_packed(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) /* a mere open can act on a device */
        return -EINVAL;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static void pack(const char *path, bool is_plain, int pipe_fd, struct outcome *out)
{
    const char *slash = strrchr(path, '/');
    struct tar_packed done;
    int fd = open_packed(path);

    if (fd < 0) {
        out->error = -fd;
        (void)snprintf(out->why, sizeof(out->why), "read %.280s", path);
        return;
    }
    const struct tar_pack_plan plan = {
        .fd = fd, .name = slash[1] ? slash + 1 : ".", .is_plain = is_plain, .sink = pipe_sink, .arg = &pipe_fd
    };
    out->error = -tar_pack(&plan, &done);
    memcpy(out->why, done.why, sizeof(out->why));
}

/* The folder, opened; made with its parents when it is missing. */
static int open_target(const char *path, bool *ret_is_old)
{
    char copy[PROTO_PATH_MAX + 2];
    size_t len = strlen(path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    *ret_is_old = fd >= 0;
    if (fd >= 0 || errno != ENOENT)
        return fd < 0 ? -errno : fd;
    memcpy(copy, path, len + 1);
    copy[len] = '/';
    copy[len + 1] = '\0'; /* the folder itself is a parent of nothing below it */
    int r = agent_fs_make_parents(copy, 0755, NULL);
    if (r == 0 && (fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        r = -errno;
    return r < 0 ? r : fd;
}

static void unpack(const char *path, int pipe_fd, struct outcome *out)
{
    struct tar_unpacked done;
    struct tar_unpack_plan plan = { .source = pipe_source, .arg = &pipe_fd };

    plan.folder = open_target(path, &plan.is_folder_old);
    if (plan.folder < 0) {
        out->error = -plan.folder;
        (void)snprintf(out->why, sizeof(out->why), "unpack into %.280s", path);
        return;
    }
    out->error = -tar_unpack(&plan, &done);
    out->entries = done.entries;
    out->bytes = done.bytes;
    memcpy(out->why, done.why, sizeof(out->why));
}

/* Runs in the child; does not return. */
static void help(const struct tree_stream *t, const struct agent_spawn_user *user, const char *path, const int fds[2])
{
    struct outcome out = { 0 };

    if (agent_helper_keep_only(fds) < 0)
        _exit(1);
    out.error = -agent_as_user_become(user);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* after the change of the user, which clears it */
    if (out.error)
        (void)snprintf(out.why, sizeof(out.why), "become the sandbox's user");
    else if (t->is_unpack)
        unpack(path, 3, &out);
    else
        pack(path, t->is_plain, 3, &out);
    (void)close(3); /* the end of the archive comes before the outcome */
    (void)!write_all_write(4, &out, sizeof(out));
    _exit(0);
}

/* --- the agent's side --- */

static void free_tree(struct tree_stream *t)
{
    agent_stream_close(&t->stream);
    agent_loop_close(&t->agent->loop, &t->data);
    agent_loop_close(&t->agent->loop, &t->end);
    free(t->waiting);
    free(t);
}

static void tree_on_drop(struct agent_stream *s)
{
    struct tree_stream *t = TREE_OF(s, stream);

    agent_helper_kill(t->pid);
    free_tree(t);
}

static void send_unpacked(struct agent_reply *r, const struct outcome *out)
{
    uint8_t frame[PROTO_HEADER + 16];
    struct proto_writer w;

    proto_frame_begin(&w, frame, sizeof(frame));
    proto_put_u64(&w, out->entries);
    proto_put_u64(&w, out->bytes);
    int len = proto_frame_end(&w, r->stream, PROTO_FS_UNPACKED, 0);
    assert(len > 0);
    agent_reply_frame(r, frame, (size_t)len);
}

static void finish_tree(struct tree_stream *t, int error, struct outcome *out)
{
    struct agent_reply r = { .agent = t->agent, .conn = t->stream.conn, .pipe_fd = -EBADF, .stream = t->stream.id };

    out->why[sizeof(out->why) - 1] = '\0';
    if (error)
        agent_reply_error(&r, error, "%s", out->why);
    else if (!t->is_unpack)
        agent_reply_done(&r);
    else if (t->is_last)
        send_unpacked(&r, out);
    else /* the helper reads to the end of its input: this one is not ours any more */
        agent_reply_error(&r, EIO, "the agent's helper process stopped early");
    agent_helper_kill(t->pid);
    free_tree(t);
}

/* Reads the outcome; the helper writes it in one piece. */
static void tree_on_end(struct agent_watch *watch, uint32_t events)
{
    struct tree_stream *t = TREE_OF(watch, end);
    struct outcome out = { 0 };

    ssize_t n = read(t->end.fd, &out, sizeof(out));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n == (ssize_t)sizeof(out)) {
        finish_tree(t, out.error, &out);
        return;
    }
    (void)snprintf(out.why, sizeof(out.why), "the agent's helper process was killed");
    finish_tree(t, EIO, &out);
}

static int watch_for_end(struct tree_stream *t)
{
    agent_loop_close(&t->agent->loop, &t->data);
    return agent_loop_watch(&t->agent->loop, &t->end, EPOLLIN);
}

/* Bytes of the archive from the helper, as far as the window and the link have room. */
static void pack_on_data(struct agent_watch *watch, uint32_t events)
{
    struct tree_stream *t = TREE_OF(watch, data);
    struct agent_stream *s = &t->stream;
    struct outcome out = { 0 };
    struct proto_writer w;
    int r = 0;

    if (s->can_send == 0 || agent_conn_is_full(s->conn)) {
        (void)agent_loop_watch(&t->agent->loop, &t->data, 0); /* removing cannot fail */
        return;
    }
    proto_frame_begin(&w, agent_conn_scratch(t->agent), PROTO_FRAME_MAX);
    ssize_t n = read(t->data.fd, w.data + w.len, s->can_send < PROTO_PAYLOAD_MAX ? s->can_send : PROTO_PAYLOAD_MAX);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        w.len += (size_t)n;
        s->can_send -= (uint32_t)n;
        t->agent->is_scratch_dirty |= n > 4096;
        int len = proto_frame_end(&w, s->id, PROTO_FS_DATA, 0);
        assert(len > 0);
        agent_conn_send(s->conn, w.data, (size_t)len);
        return;
    }
    r = watch_for_end(t);
    if (r < 0)
        finish_tree(t, -r, &out);
}

static void pack_on_ready(struct agent_stream *s)
{
    struct tree_stream *t = TREE_OF(s, stream);
    struct outcome out = { 0 };

    if (t->is_unpack || t->data.fd < 0)
        return;
    int r = agent_loop_watch(&t->agent->loop, &t->data, EPOLLIN);
    if (r < 0)
        finish_tree(t, -r, &out);
}

/* Gives the helper what waits. When it no longer reads, its outcome says why. */
static void unpack_flush(struct tree_stream *t)
{
    while (t->len > 0 && t->data.fd >= 0) {
        ssize_t n = write(t->data.fd, t->waiting + t->at, t->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            agent_loop_close(&t->agent->loop, &t->data);
            break;
        }
        t->at += (size_t)n;
        t->len -= (size_t)n;
        agent_stream_credit(&t->stream, (uint32_t)n);
    }
    if (t->data.fd < 0)
        return;
    if (t->len > 0) {
        (void)agent_loop_watch(&t->agent->loop, &t->data, EPOLLOUT); /* it was registered before: only a change */
        return;
    }
    free(t->waiting);
    t->waiting = NULL;
    if (t->is_last)
        agent_loop_close(&t->agent->loop, &t->data);
    else
        (void)agent_loop_watch(&t->agent->loop, &t->data, 0);
}

static void unpack_on_room(struct agent_watch *watch, uint32_t events)
{
    unpack_flush(TREE_OF(watch, data));
}

static int unpack_take(struct tree_stream *t, const uint8_t *data, size_t len)
{
    if (t->is_last || agent_stream_take(&t->stream, len) < 0)
        return -EBADMSG;
    if (t->data.fd < 0)
        return 0; /* the helper has ended: its outcome is on its way */
    if (!t->waiting && !(t->waiting = malloc(PROTO_WINDOW_WIDE)))
        return -EBADMSG; /* without memory the link cannot continue */
    if (t->at + t->len + len > PROTO_WINDOW_WIDE) {
        memmove(t->waiting, t->waiting + t->at, t->len);
        t->at = 0;
    }
    if (t->len == 0)
        t->at = 0;
    memcpy(t->waiting + t->at + t->len, data, len); /* what waits was taken from the window, so it fits */
    t->len += len;
    unpack_flush(t);
    return 0;
}

static int tree_on_frame(struct agent_stream *s, uint16_t type, const uint8_t *data, size_t len)
{
    struct tree_stream *t = TREE_OF(s, stream);

    if (!t->is_unpack)
        return -EBADMSG; /* the host sends only credit */
    if (type == PROTO_FS_DATA)
        return unpack_take(t, data, len);
    if (type != PROTO_FS_END || t->is_last)
        return -EBADMSG;
    t->is_last = true;
    unpack_flush(t);
    return 0;
}

static const struct agent_stream_ops tree_ops = { .on_frame = tree_on_frame,
                                                  .on_ready = pack_on_ready,
                                                  .on_drop = tree_on_drop };

/* Forks the helper with its ends of the pipes. 0 or -errno. */
static int fork_helper(struct tree_stream *t, const struct agent_spawn_user *user, const char *path)
{
    int data[2] = { -EBADF, -EBADF }, end[2] = { -EBADF, -EBADF };
    int ours = t->is_unpack ? 1 : 0; /* which end of the data pipe is the agent's */
    int r = pipe2(data, O_CLOEXEC) < 0 || pipe2(end, O_CLOEXEC) < 0 ? -errno : 0;

    if (r == 0 && (fcntl(data[ours], F_SETFL, O_NONBLOCK) < 0 || fcntl(end[0], F_SETFL, O_NONBLOCK) < 0))
        r = -errno;
    if (r == 0 && (t->pid = fork()) < 0)
        r = -errno;
    if (r == 0 && t->pid == 0) {
        (void)close(data[ours]); /* or its own copy would keep the pipe from ending */
        help(t, user, path, (int[]){ data[!ours], end[1] });
    }
    if (data[!ours] >= 0)
        (void)close(data[!ours]);
    if (end[1] >= 0)
        (void)close(end[1]);
    t->data.fd = data[ours];
    t->end.fd = end[0];
    return r;
}

static void start_tree(struct agent_reply *r, const uint8_t *data, size_t len, bool is_unpack)
{
    struct proto_reader in;
    struct agent_spawn_user user;
    struct tree_stream *t = calloc(1, sizeof(*t));

    proto_reader_init(&in, data, len);
    const char *path = proto_get_str(&in, PROTO_PATH_MAX), *name = proto_get_str(&in, PROTO_PATH_MAX);
    int result = !t ? -ENOMEM : path[0] != '/' ? -EINVAL : agent_as_user_read(name, &user);
    if (result < 0) {
        agent_reply_error(r, -result, "%s %s as user %s", is_unpack ? "unpack into" : "read", path, name);
        free(t);
        return;
    }
    t->agent = r->agent;
    t->is_unpack = is_unpack;
    t->is_plain = !is_unpack && proto_get_u8(&in);
    t->data = (struct agent_watch){ .fd = -EBADF, .fn = is_unpack ? unpack_on_room : pack_on_data };
    t->end = (struct agent_watch){ .fd = -EBADF, .fn = tree_on_end };
    result = fork_helper(t, &user, path);
    agent_stream_open(&t->stream, r->conn, r->stream, &tree_ops);
    agent_stream_widen(&t->stream);
    /* A packer's outcome is read after its last byte; that of an unpacker may come at any time. */
    if (result == 0)
        result = agent_loop_watch(&t->agent->loop, &t->data, is_unpack ? 0 : EPOLLIN);
    if (result == 0 && is_unpack)
        result = agent_loop_watch(&t->agent->loop, &t->end, EPOLLIN);
    if (result < 0) {
        agent_reply_error(r, -result, "%s %s", is_unpack ? "unpack into" : "read", path);
        if (t->pid > 0)
            agent_helper_kill(t->pid);
        free_tree(t);
    }
}

void agent_tree_stream_pack(struct agent_reply *r, const uint8_t *data, size_t len)
{
    start_tree(r, data, len, false);
}

void agent_tree_stream_unpack(struct agent_reply *r, const uint8_t *data, size_t len)
{
    start_tree(r, data, len, true);
}
