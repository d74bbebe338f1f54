/* Connects to a VM's agent socket: sends the handshake, finds its reply among whatever an earlier link left on the
 * stream, and hands the stream to the caller. Untrusted: all that is received. May include: base/, loop/, os/. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "loop/loop.h"
#include "os/vm_handshake.h"

struct vm_channel;
struct vm_channel_options {
    struct loop *loop;
    const char *path;    /* path of the socket that carries the agent's stream; or NULL: */
    int box_fd;          /* the folder with the VMM's vsock socket, borrowed */
    uint32_t port;       /* vsock port to connect to; 0: none (vsock_connect.h) */
    int64_t first_ms;    /* how long the first handshake waits for its reply; the wait doubles with each retry */
    int64_t deadline_ms; /* for all attempts together */
    struct vm_handshake handshake; /* magic, version and nonce are filled in here */
};
/* fd belongs to the receiver when err is NULL. Called once, never from inside vm_channel_open(); the channel is
 * freed after it. */
typedef void vm_channel_fn(void *arg, int fd, const struct err *err);
struct vm_channel *vm_channel_open(const struct vm_channel_options *opt, vm_channel_fn *fn, void *arg);
void vm_channel_cancel(struct vm_channel *c); /* fn is not called */

/* Finds the reply to a nonce in a stream and consumes no byte beyond it. Pure, for tests. */
struct vm_channel_scan {
    unsigned char bytes[sizeof(struct vm_handshake_reply)];
    size_t have;
};
/* The number of bytes to read next into bytes + have. vm_channel_scan_added() returns 1 when the reply in bytes is
 * complete. */
size_t vm_channel_scan_room(const struct vm_channel_scan *s);
int vm_channel_scan_added(struct vm_channel_scan *s, size_t n, uint64_t nonce);
