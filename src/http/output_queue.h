/* Output of one socket: sent at once, the rest queued. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "base/buf.h"

enum { OUTPUT_QUEUE_IOV_MAX = 7 }; /* pieces in one call */

struct output_queue {
    struct buf bytes; /* queued bytes begin at off */
    size_t off;
    bool is_blocked; /* the kernel's buffer is full: wait for writable, then output_queue_flush() */
};

void output_queue_init(struct output_queue *q);
void output_queue_done(struct output_queue *q);
size_t output_queue_len(const struct output_queue *q);
/* Sends queued bytes and then the pieces in one system call; queues what the kernel does not accept. 0, or -errno when
 * the connection is broken or -ENOMEM. Never blocks, never raises SIGPIPE. */
int output_queue_send(struct output_queue *q, int fd, const struct iovec *pieces, size_t count);
/* Queues without a system call: a flush follows. 0 or -ENOMEM. */
int output_queue_add(struct output_queue *q, const void *data, size_t len);
int output_queue_flush(struct output_queue *q, int fd); /* 0 or -errno; output_queue_len() tells what is left */
