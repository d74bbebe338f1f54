#include "agent/file_reader.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "agent/as_user.h"
#include "agent/file_version.h"
#include "agent/stat_rows.h"
#include "agent/stream.h"

#define PROC_MAGIC   0x9fa0
#define SYSFS_MAGIC  0x62656572
#define CGROUP_MAGIC 0x63677270

struct reader {
    struct agent_stream stream;
    struct agent *agent;
    int fd;
    uint64_t offset, left;
    bool is_waiting; /* for FS_RANGE: nothing is sent before */
};

#define READER_OF(s) ((struct reader *)((char *)(s)-offsetof(struct reader, stream)))

static void free_reader(struct reader *rd)
{
    rd->agent->readers--;
    agent_stream_close(&rd->stream);
    (void)close(rd->fd);
    free(rd);
}

static void end_reader(struct reader *rd, int error)
{
    struct agent_reply r = { .agent = rd->agent, .conn = rd->stream.conn, .pipe_fd = -EBADF, .stream = rd->stream.id };

    if (error)
        agent_reply_error(&r, error, "read");
    else
        agent_reply_done(&r);
    free_reader(rd);
}

/* Sends while the window and the link have room. May finish and free the reader. */
static void reader_pump(struct agent_stream *s)
{
    struct reader *rd = READER_OF(s);
    struct proto_writer w;

    if (rd->is_waiting)
        return;
    while (rd->left > 0 && s->can_send > 0 && !agent_conn_is_full(s->conn)) {
        size_t room = s->can_send < PROTO_PAYLOAD_MAX ? s->can_send : PROTO_PAYLOAD_MAX;
        room = rd->left < room ? (size_t)rd->left : room;
        proto_frame_begin(&w, agent_conn_scratch(rd->agent), PROTO_FRAME_MAX);
        ssize_t n = pread(rd->fd, w.data + w.len, room, (off_t)rd->offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            end_reader(rd, errno);
            return;
        }
        if (n == 0)
            rd->left = 0;
        if (n <= 0)
            break;
        w.len += (size_t)n;
        rd->offset += (uint64_t)n;
        rd->left -= (uint64_t)n;
        s->can_send -= (uint32_t)n;
        rd->agent->is_scratch_dirty |= n > 4096;
        int len = proto_frame_end(&w, s->id, PROTO_FS_DATA, 0);
        assert(len > 0);
        agent_conn_send(s->conn, w.data, (size_t)len);
    }
    if (rd->left == 0)
        end_reader(rd, 0);
}

static void reader_set_range(struct reader *rd, uint64_t offset, uint64_t max)
{
    offset = offset < INT64_MAX ? offset : INT64_MAX;
    rd->offset = offset;
    rd->left = max < (uint64_t)INT64_MAX - offset ? max : (uint64_t)INT64_MAX - offset;
    rd->is_waiting = false;
}

/* The host sends only credit, and the range of an FS_OPEN once. */
static int reader_on_frame(struct agent_stream *s, uint16_t type, const uint8_t *data, size_t len)
{
    struct reader *rd = READER_OF(s);
    struct proto_reader in;

    if (type != PROTO_FS_RANGE || !rd->is_waiting)
        return -EBADMSG;
    proto_reader_init(&in, data, len);
    uint64_t offset = proto_get_u64(&in);
    reader_set_range(rd, offset, proto_get_u64(&in));
    reader_pump(s);
    return 0;
}

static void reader_on_drop(struct agent_stream *s)
{
    free_reader(READER_OF(s));
}

static const struct agent_stream_ops reader_ops = { .on_frame = reader_on_frame,
                                                    .on_ready = reader_pump,
                                                    .on_drop = reader_on_drop };

/* Checks the type before it opens, because a mere open can act on a device, and again after, because the name may
 * have been swapped. */
static int open_regular(const char *path, struct stat *st)
{
    if (path[0] != '/')
        return -EINVAL;
    if (stat(path, st) < 0)
        return -errno;
    if (!S_ISREG(st->st_mode))
        return S_ISDIR(st->st_mode) ? -EISDIR : -EINVAL;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
        return fd;
    (void)close(fd);
    return -EINVAL;
}

/* Opens the stream of fd, which is taken. NULL: no memory, answered. */
static struct reader *reader_new(struct agent_reply *r, int fd, const char *path)
{
    struct reader *rd = calloc(1, sizeof(*rd));

    if (!rd) {
        agent_reply_error(r, ENOMEM, "read %s", path);
        (void)close(fd);
        return NULL;
    }
    rd->agent = r->agent;
    rd->agent->readers++;
    rd->fd = fd;
    rd->is_waiting = true;
    agent_stream_open(&rd->stream, r->conn, r->stream, &reader_ops);
    return rd;
}

/* Files that the kernel makes as they are read have no size, or one that means nothing. */
static bool has_size(int fd)
{
    struct statfs fs;

    if (fstatfs(fd, &fs) < 0)
        return true;
    return fs.f_type != PROC_MAGIC && fs.f_type != SYSFS_MAGIC && fs.f_type != CGROUP_MAGIC;
}

void agent_file_reader_start(struct agent_reply *r, const uint8_t *data, size_t len)
{
    struct proto_reader in;
    struct stat st;

    proto_reader_init(&in, data, len);
    const char *path = proto_get_str(&in, PROTO_PATH_MAX);
    uint64_t offset = proto_get_u64(&in), max = proto_get_u64(&in);
    int fd = offset > INT64_MAX ? -EINVAL : open_regular(path, &st);
    if (fd < 0) {
        agent_reply_error(r, -fd, "read %s", path);
        return;
    }
    struct reader *rd = reader_new(r, fd, path);
    if (!rd)
        return;
    agent_stat_rows_one(r, PROTO_FS_OPENED, NULL, path, &st);
    reader_set_range(rd, offset, max);
    reader_pump(&rd->stream);
}

void agent_file_reader_open(struct agent_reply *r, const uint8_t *data, size_t len)
{
    struct agent_spawn_user user;
    struct proto_reader in;
    struct stat st;

    proto_reader_init(&in, data, len);
    const char *path = proto_get_str(&in, PROTO_PATH_MAX), *name = proto_get_str(&in, PROTO_PATH_MAX);
    int error = -agent_as_user_read(name, &user);
    if (error) {
        agent_reply_error(r, error, "user %s", name);
        return;
    }
    int fd = agent_as_user_enter(&user);
    if (fd == 0) {
        fd = open_regular(path, &st);
        agent_as_user_leave(&user);
    }
    struct reader *rd;
    if (fd < 0) {
        agent_reply_error(r, -fd, "read %s", path);
    } else if ((rd = reader_new(r, fd, path))) {
        agent_stream_widen(&rd->stream);
        agent_stat_rows_one(r, PROTO_FS_CONTENT, &(struct agent_stat_head){ agent_file_version(&st), has_size(fd) },
                            path, &st);
    }
}
