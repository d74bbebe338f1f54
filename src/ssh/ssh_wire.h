/* Messages of the SSH listener: on its control socket (with the server's ssh_listener_client.c), and on one socket for
 * each connection (with the server's api/ssh_entry.c). Fixed size, checked by both sides. May include: nothing of ours
 * but os/seqsock.h. */
#pragma once
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "os/seqsock.h"

#define SSH_WIRE_FD        3 /* where the listener finds its control socket */
#define SSH_WIRE_MAGIC     0x69735348u
#define SSH_WIRE_PRINT     32
#define SSH_WIRE_USER_MAX  320
#define SSH_WIRE_TEXT_MAX  320
#define SSH_WIRE_LOGIN_MAX 130 /* bytes of the user inside the sandbox, with NUL */

enum ssh_wire_kind {
    SSH_WIRE_READY = 1, /* listener: keys are loaded; text: fingerprint of the host key */
    SSH_WIRE_FAILED,    /* listener: text says why */
    SSH_WIRE_LISTEN,    /* server, with a listening socket */
    SSH_WIRE_CONN,      /* listener, with the server's end of a connection's socket; text: "127.0.0.1:4242" */
    /* on the socket of a connection */
    SSH_WIRE_QUERY,   /* may this key (print) log in as user? It has not proven anything yet */
    SSH_WIRE_LOGIN,   /* the same; its signature was valid */
    SSH_WIRE_DENIED,  /* server */
    SSH_WIRE_ALLOWED, /* server: to QUERY; to LOGIN with user: the sandbox's id, login: the user inside ("": the
                         image's), text: the credential of this connection */
    SSH_WIRE_OPEN,    /* with one end of a stream: the server speaks HTTP on it */
};

struct ssh_wire_msg {
    uint32_t magic;
    uint16_t kind, unused;
    uint8_t print[SSH_WIRE_PRINT];
    char user[SSH_WIRE_USER_MAX], text[SSH_WIRE_TEXT_MAX], login[SSH_WIRE_LOGIN_MAX];
    char prefix[66]; /* first path segment of the API, with ALLOWED to LOGIN */
};

/* 0 or -errno. fd < 0: none. */
static inline int ssh_wire_send(int sock, struct ssh_wire_msg *m, int fd)
{
    m->magic = SSH_WIRE_MAGIC;
    struct iovec parts[2] = { { m, sizeof(*m) }, { NULL, 0 } };
    return seqsock_send(sock, parts, &fd, fd >= 0);
}

/* 1: *m is valid and *ret_fd its descriptor or negative. 0: none now. Negative: end of file, or an invalid message. */
static inline int ssh_wire_receive(int sock, struct ssh_wire_msg *m, int *ret_fd)
{
    size_t n_fds = 0;
    int fd = -EBADF;
    ssize_t n = seqsock_recv(sock, m, sizeof(*m), &fd, 1, &n_fds);
    if (n == -EAGAIN || n == -EBADMSG) /* the second: no descriptor was free, so that one is lost */
        return 0;
    bool has_fd = n > 0 && n_fds == 1;
    if (n != (ssize_t)sizeof(*m) || m->magic != SSH_WIRE_MAGIC || !memchr(m->user, '\0', sizeof(m->user)) ||
        !memchr(m->text, '\0', sizeof(m->text)) || !memchr(m->login, '\0', sizeof(m->login)) ||
        !memchr(m->prefix, '\0', sizeof(m->prefix)) ||
        has_fd != (m->kind == SSH_WIRE_LISTEN || m->kind == SSH_WIRE_CONN || m->kind == SSH_WIRE_OPEN)) {
        seqsock_close_all(&fd, n_fds);
        return n < 0 ? (int)n : -EPIPE;
    }
    *ret_fd = has_fd ? fd : -EBADF;
    return 1;
}
