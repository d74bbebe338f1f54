#include "http/output_queue.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>

enum { OUTPUT_QUEUE_KEEP_BYTES = 65536 }; /* memory an empty queue may keep */

void output_queue_init(struct output_queue *q)
{
    *q = (struct output_queue){ .bytes = BUF_INIT(SIZE_MAX /
                                                  4) }; /* callers limit it: http_limits.queued_bytes and the like */
}

void output_queue_done(struct output_queue *q)
{
    buf_done(&q->bytes);
    q->off = 0;
    q->is_blocked = false;
}

size_t output_queue_len(const struct output_queue *q)
{
    return q->bytes.len - q->off;
}

int output_queue_add(struct output_queue *q, const void *data, size_t len)
{
    return buf_add(&q->bytes, data, len);
}

static int queue_rest(struct output_queue *q, const struct iovec *pieces, size_t count, size_t skip)
{
    for (size_t i = 0; i < count; i++) {
        size_t cut = skip < pieces[i].iov_len ? skip : pieces[i].iov_len;
        skip -= cut;
        if (cut == pieces[i].iov_len)
            continue;
        int r = output_queue_add(q, (const char *)pieces[i].iov_base + cut, pieces[i].iov_len - cut);
        if (r < 0)
            return r;
    }
    return 0;
}

int output_queue_send(struct output_queue *q, int fd, const struct iovec *pieces, size_t count)
{
    assert(count <= OUTPUT_QUEUE_IOV_MAX);
    if (q->is_blocked)
        return queue_rest(q, pieces, count, 0);
    struct iovec iov[OUTPUT_QUEUE_IOV_MAX + 1];
    size_t used = 0, total = output_queue_len(q), queued = total;
    if (queued)
        iov[used++] = (struct iovec){ q->bytes.data + q->off, queued };
    for (size_t i = 0; i < count; i++) {
        if (!pieces[i].iov_len)
            continue;
        iov[used++] = pieces[i];
        total += pieces[i].iov_len;
    }
    if (!total)
        return 0;
    struct msghdr msg = { .msg_iov = iov, .msg_iovlen = used };
    ssize_t n;
    do
        n = sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
        return -errno;
    size_t sent = n < 0 ? 0 : (size_t)n;
    q->is_blocked = sent < total;
    size_t from_queue = sent < queued ? sent : queued;
    q->off += from_queue;
    if (q->off == q->bytes.len) {
        if (q->bytes.cap > OUTPUT_QUEUE_KEEP_BYTES)
            buf_done(&q->bytes);
        else if (q->bytes.len)
            buf_clear(&q->bytes);
        q->off = 0;
    } else if (q->off > OUTPUT_QUEUE_KEEP_BYTES && q->off > q->bytes.len / 2) {
        buf_consume(&q->bytes, q->off);
        q->off = 0;
    }
    return queue_rest(q, pieces, count, sent - from_queue);
}

int output_queue_flush(struct output_queue *q, int fd)
{
    q->is_blocked = false;
    return output_queue_send(q, fd, NULL, 0);
}
