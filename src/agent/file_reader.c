#include "agent/file_reader.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/stat_rows.h"
#include "agent/stream.h"

struct reader {
    struct agent_stream stream;
    struct agent *agent;
    int fd;
    uint64_t offset, left;
};

#define READER_OF(s) ((struct reader *)((char *)(s)-offsetof(struct reader, stream)))

static void free_reader(struct reader *rd)
{
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

static int reader_on_frame(struct agent_stream *s, uint16_t type, const uint8_t *data, size_t len)
{
    return -EBADMSG; /* the host may send only credit here */
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

void agent_file_reader_start(struct agent_reply *r, const uint8_t *data, size_t len)
{
    uint8_t frame[PROTO_HEADER + PROTO_PATH_MAX + 512];
    struct agent_user_names names = { 0 };
    struct proto_writer w;
    struct proto_reader in;
    struct stat st;

    proto_reader_init(&in, data, len);
    const char *path = proto_get_str(&in, PROTO_PATH_MAX);
    uint64_t offset = proto_get_u64(&in), max = proto_get_u64(&in);
    int fd = open_regular(path, &st);
    if (fd < 0) {
        agent_reply_error(r, -fd, "read %s", path);
        return;
    }
    struct reader *rd = calloc(1, sizeof(*rd));
    if (!rd || offset > INT64_MAX) {
        agent_reply_error(r, rd ? EINVAL : ENOMEM, "read %s", path);
        (void)close(fd);
        free(rd);
        return;
    }
    rd->agent = r->agent;
    rd->fd = fd;
    rd->offset = offset;
    rd->left = max < (uint64_t)INT64_MAX - offset ? max : (uint64_t)INT64_MAX - offset;
    agent_stream_open(&rd->stream, r->conn, r->stream, &reader_ops);
    proto_frame_begin(&w, frame, sizeof(frame));
    agent_stat_rows_put(&w, &names, path, &st, "");
    agent_user_names_done(&names);
    int frame_len = proto_frame_end(&w, r->stream, PROTO_FS_OPENED, 0);
    assert(frame_len > 0);
    agent_reply_frame(r, frame, (size_t)frame_len);
    reader_pump(&rd->stream);
}
