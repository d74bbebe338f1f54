/* Connects to an agent that listens on a vsock: the VMM has a unix socket in the VM's folder, and a connection to it
 * becomes one to the guest. Firecracker needs the port first ("CONNECT 52
 * ", answered by "OK <port>
 * "); libkrun has a socket for each port and no such exchange. Untrusted: the VMM (a guest may have taken it over) and
 * so the folder, in which it may put anything. A socket there is opened without following links, and the answer is read
 * byte by byte, so that no byte of the stream is lost. May include: base/, loop/. */
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
/* Takes one byte. 1: the line is complete and valid; 0: more is needed; -EBADMSG: it is not such a line. */
int vsock_connect_take(struct vsock_connect_answer *a, char c);

/* --- the connection --- */
struct vsock_connect;

struct vsock_connect_where {
    int folder_fd;      /* borrowed until fn was called */
    const char *name;   /* of the socket in it */
    uint32_t port;      /* of the guest; 0: the socket is bound to one port */
    int64_t timeout_ms; /* for all attempts together: the VM may still be booting */
};
/* fd: a connected, non-blocking stream to the agent that the receiver owns; or NO_FD with err. Called once, never
 * from inside vsock_connect_open(); the object is freed after it. */
typedef void vsock_connect_fn(void *arg, int fd, const struct err *err);
struct vsock_connect *vsock_connect_open(struct loop *l, const struct vsock_connect_where *w, vsock_connect_fn *fn,
                                         void *arg);
struct vsock_connect *vsock_connect_free(struct vsock_connect *d); /* cancels: fn is not called. NULL is fine */

/* An O_PATH descriptor of the socket `name` in the folder; connect to it as /proc/self/fd/N, because the name may be
 * a link by then. -ENOENT: not there yet; -ENOTSOCK: it is something else. */
int vsock_connect_find(int folder_fd, const char *name);
