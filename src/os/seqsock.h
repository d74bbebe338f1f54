/* One message with descriptors over a unix socket. Header only, because the launcher (glibc) and the agent (musl) both
 * use it. May include: nothing. */
#pragma once
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define SEQSOCK_FDS_MAX 253 /* the kernel's SCM_MAX_FD */

/* head and tail (may be empty) go out as one message. 0, or -errno (-EAGAIN on a full non-blocking socket). */
static inline int seqsock_send(int sock, struct iovec parts[2], const int *fds, size_t n_fds)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * SEQSOCK_FDS_MAX)];
    } control;
    struct msghdr msg = { .msg_iov = parts, .msg_iovlen = parts[1].iov_len ? 2 : 1 };
    if (n_fds > SEQSOCK_FDS_MAX)
        return -E2BIG;
    if (n_fds) {
        memset(control.bytes, 0, CMSG_SPACE(sizeof(int) * n_fds));
        msg.msg_control = control.bytes;
        msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * n_fds);
    }
    for (;;) {
        if (sendmsg(sock, &msg, MSG_NOSIGNAL) >= 0)
            return 0;
        if (errno != EINTR)
            return -errno;
    }
}

static inline void seqsock_close_all(const int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]); /* nothing is written through them here */
}

/* Receives one message of at most size bytes and up to max_fds descriptors (close-on-exec; the caller closes them).
 * Returns its length, 0 at the end, -EAGAIN, -EBADMSG when anything was truncated (no descriptor is kept then). */
static inline ssize_t seqsock_recv(int sock, void *data, size_t size, int *fds, size_t max_fds, size_t *ret_n)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * SEQSOCK_FDS_MAX)];
    } control;
    struct iovec iov = { .iov_base = data, .iov_len = size };
    struct msghdr msg = { .msg_iov = &iov,
                          .msg_iovlen = 1,
                          .msg_control = control.bytes,
                          .msg_controllen =
                              CMSG_SPACE(sizeof(int) * (max_fds < SEQSOCK_FDS_MAX ? max_fds : SEQSOCK_FDS_MAX)) };
    ssize_t got;
    do
        got = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -errno;
    size_t n = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t here = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        int got_fds[SEQSOCK_FDS_MAX];
        memcpy(got_fds, CMSG_DATA(c), here * sizeof(int));
        for (size_t i = 0; i < here; i++) {
            if (n < max_fds)
                fds[n++] = got_fds[i];
            else
                (void)close(got_fds[i]); /* more than requested */
        }
    }
    if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        seqsock_close_all(fds, n);
        return -EBADMSG;
    }
    *ret_n = n;
    return got;
}
