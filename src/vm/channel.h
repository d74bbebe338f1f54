/* From a machine's agent socket to a link: sends the hello, finds its reply among whatever an earlier link left on the
 * stream, and hands the stream over. Untrusted: all that comes back. May include: base/, loop/, os/. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "loop/loop.h"
#include "os/vm_handshake.h"

struct vm_channel;
struct vm_channel_options {
    struct loop *loop;
    const char *path;              /* of a socket that is the agent's stream; or NULL: */
    int box_fd;                    /* the folder with a monitor's vsock, borrowed */
    uint32_t port;                 /* what to ask for there; 0: nothing (vsock_connect.h) */
    int64_t first_ms;              /* how long the first hello may wait for its reply; each next one twice as long */
    int64_t deadline_ms;           /* all in all */
    struct vm_handshake handshake; /* magic, version and nonce are filled in here */
};
/* fd: the receiver's, when err is NULL. Once, never from inside the call; after it the channel is gone. */
typedef void vm_channel_fn(void *arg, int fd, const struct err *err);
struct vm_channel *vm_channel_open(const struct vm_channel_options *opt, vm_channel_fn *fn, void *arg);
void vm_channel_cancel(struct vm_channel *c); /* fn is not called */

/* Finds the reply to nonce in a stream, taking no byte beyond it. Pure, for tests. */
struct vm_channel_scan {
    unsigned char bytes[sizeof(struct vm_handshake_reply)];
    size_t have;
};
/* How many bytes may be read next into bytes + have. After they were added: 1 when the reply is complete in bytes. */
size_t vm_channel_scan_room(const struct vm_channel_scan *s);
int vm_channel_scan_added(struct vm_channel_scan *s, size_t n, uint64_t nonce);
