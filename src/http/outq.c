#include "http/outq.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>

enum { OUTQ_KEEP_BYTES = 65536 }; /* memory an empty queue may keep */

void outq_init(struct outq *q)
{
    *q = (struct outq){ .bytes = BUF_INIT(SIZE_MAX / 4) }; /* callers bound it: http_limits.queued_bytes and the like */
}

void outq_done(struct outq *q)
{
    buf_done(&q->bytes);
    q->off = 0;
    q->is_blocked = false;
}

size_t outq_len(const struct outq *q)
{
    return q->bytes.len - q->off;
}

static void drop_sent(struct outq *q, size_t sent)
{
    q->off += sent;
    if (q->off == q->bytes.len) {
        if (q->bytes.cap > OUTQ_KEEP_BYTES)
            buf_done(&q->bytes);
        else if (q->bytes.len)
            buf_clear(&q->bytes);
        q->off = 0;
    } else if (q->off > OUTQ_KEEP_BYTES && q->off > q->bytes.len / 2) {
        buf_consume(&q->bytes, q->off);
        q->off = 0;
    }
}

static ssize_t send_some(int fd, struct iovec *iov, size_t count)
{
    struct msghdr msg = { .msg_iov = iov, .msg_iovlen = count };
    for (;;) {
        ssize_t n = sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0)
            return n;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return 0;
        if (errno != EINTR)
            return -errno;
    }
}

int outq_add(struct outq *q, const void *data, size_t len)
{
    return buf_add(&q->bytes, data, len);
}

static int queue_rest(struct outq *q, const struct iovec *pieces, size_t count, size_t skip)
{
    for (size_t i = 0; i < count; i++) {
        size_t cut = skip < pieces[i].iov_len ? skip : pieces[i].iov_len;
        skip -= cut;
        if (cut == pieces[i].iov_len)
            continue;
        int r = outq_add(q, (const char *)pieces[i].iov_base + cut, pieces[i].iov_len - cut);
        if (r < 0)
            return r;
    }
    return 0;
}

int outq_send(struct outq *q, int fd, const struct iovec *pieces, size_t count)
{
    assert(count <= OUTQ_IOV_MAX);
    if (q->is_blocked)
        return queue_rest(q, pieces, count, 0);
    struct iovec iov[OUTQ_IOV_MAX + 1];
    size_t used = 0, total = outq_len(q), queued = total;
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
    ssize_t n = send_some(fd, iov, used);
    if (n < 0)
        return (int)n;
    size_t sent = (size_t)n;
    q->is_blocked = sent < total;
    size_t from_queue = sent < queued ? sent : queued;
    drop_sent(q, from_queue);
    return queue_rest(q, pieces, count, sent - from_queue);
}

int outq_flush(struct outq *q, int fd)
{
    q->is_blocked = false;
    return outq_send(q, fd, NULL, 0);
}
