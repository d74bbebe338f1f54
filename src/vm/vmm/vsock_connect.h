/* The way to an agent that listens on a vsock: the monitor has a unix socket in the machine's folder, and a connection
 * to it becomes one to the guest. Firecracker wants to be told the port first ("CONNECT 52\n", answered by
 * "OK <port>\n"); libkrun has a socket for each port and says nothing.
 * Untrusted: the monitor (a guest may have taken it over) and so the folder, in which it may put anything. A socket is
 * opened there without following links, and what is said before the stream begins is read byte by byte, so that
 * nothing of the stream is lost. May include: base/, loop/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "loop/loop.h"

/* --- the answer to CONNECT --- */
struct vsock_connect_answer {
    unsigned n;         /* bytes of the line so far */
    uint32_t host_port; /* when it is complete */
};
/* Takes one byte. 1: the line is complete and good; 0: more is needed; -EBADMSG: it is no such line. */
int vsock_connect_take(struct vsock_connect_answer *a, char c);

/* --- the connection --- */
struct vsock_connect;

struct vsock_connect_where {
    int folder_fd;      /* borrowed until fn was called */
    const char *name;   /* of the socket in it */
    uint32_t port;      /* of the guest; 0: the socket leads there by itself */
    int64_t timeout_ms; /* for all attempts together: the machine may only just be booting */
};
/* fd: a connected, non-blocking stream to the agent, the receiver's; or NO_FD with err. Once, never from inside
 * vsock_connect_open(); the door is gone then. */
typedef void vsock_connect_fn(void *arg, int fd, const struct err *err);
struct vsock_connect *vsock_connect_open(struct loop *l, const struct vsock_connect_where *w, vsock_connect_fn *fn,
                                         void *arg);
struct vsock_connect *vsock_connect_free(struct vsock_connect *d); /* gives up: fn is not called. NULL is fine */

/* A descriptor (O_PATH) of the socket `name` in the folder, by which it can be connected to as /proc/self/fd/N: a name
 * would be looked up again, and may be a link by then. -ENOENT: not there yet; -ENOTSOCK: it is something else. */
int vsock_connect_find(int folder_fd, const char *name);
