/* Output of one socket: tried at once, the rest queued. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "base/buf.h"

enum { OUTQ_IOV_MAX = 7 }; /* pieces one call may bring */

struct outq {
    struct buf bytes; /* what waits begins at off */
    size_t off;
    bool is_blocked; /* the kernel's buffer is full: wait for writable, then outq_flush() */
};

void outq_init(struct outq *q);
void outq_done(struct outq *q);
size_t outq_len(const struct outq *q);
/* Sends what waits and then the pieces in one system call; queues what the kernel does not take.
 * 0, or -errno when the connection is broken or -ENOMEM. Never blocks, never raises SIGPIPE. */
int outq_send(struct outq *q, int fd, const struct iovec *pieces, size_t count);
/* Queues without a system call: a flush follows. 0 or -ENOMEM. */
int outq_add(struct outq *q, const void *data, size_t len);
int outq_flush(struct outq *q, int fd); /* 0 or -errno; outq_len() says what is left */
