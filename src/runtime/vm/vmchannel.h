/* From a machine's agent socket to a link: sends the hello, finds its reply among whatever an earlier link left on the
 * stream, and hands the stream over. Untrusted: all that comes back. May include: base/, loop/, os/. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "loop/loop.h"
#include "os/vmhello.h"

struct vmchannel;
struct vmchannel_options {
    struct loop *loop;
    const char *path;     /* of a socket that is the agent's stream; or NULL: */
    int box_fd;           /* the folder with a monitor's vsock, borrowed */
    uint32_t port;        /* what to ask for there; 0: nothing (vsockdoor.h) */
    int64_t first_ms;     /* how long the first hello may wait for its reply; each next one twice as long */
    int64_t deadline_ms;  /* all in all */
    struct vmhello hello; /* magic, version and nonce are filled in here */
};
/* fd: the receiver's, when err is NULL. Once, never from inside the call; after it the channel is gone. */
typedef void vmchannel_fn(void *arg, int fd, const struct err *err);
struct vmchannel *vmchannel_open(const struct vmchannel_options *opt, vmchannel_fn *fn, void *arg);
void vmchannel_cancel(struct vmchannel *c); /* fn is not called */

/* Finds the reply to nonce in a stream, taking no byte beyond it. Pure, for tests. */
struct vmchannel_scan {
    unsigned char bytes[sizeof(struct vmhello_reply)];
    size_t have;
};
/* How many bytes may be read next into bytes + have. After they were added: 1 when the reply is complete in bytes. */
size_t vmchannel_scan_room(const struct vmchannel_scan *s);
int vmchannel_scan_added(struct vmchannel_scan *s, size_t n, uint64_t nonce);
