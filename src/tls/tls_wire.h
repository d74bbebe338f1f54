/* The protocol between the server and its TLS listener over a SEQPACKET socket: fixed-size messages, some with
 * descriptors. Each side validates what it receives; the listener is exposed to untrusted peers. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "tls/tls_peer.h"

enum {
    TLS_WIRE_MAGIC = 0x1d007a11,
    TLS_WIRE_FD = 3, /* the listener's end, at start */
    TLS_WIRE_TEXT_MAX = TLS_PEER_MAX,
    TLS_WIRE_PEER_MAX = 64,
    TLS_WIRE_PORTS = 2,
};

enum tls_wire_kind {
    TLS_WIRE_READY = 1, /* listener: the files are valid; text may hold a warning */
    TLS_WIRE_FAILED,    /* listener: text says why; it exits */
    TLS_WIRE_CONN,      /* listener: one finished handshake, with its plain end */
    TLS_WIRE_LISTEN,    /* server: a listening socket */
    TLS_WIRE_RETIRE,    /* server: accept no more; exit with the last connection */
};

struct tls_wire_msg {
    uint32_t magic;
    uint16_t kind;
    uint16_t port;    /* TLS_WIRE_CONN, TLS_WIRE_LISTEN: which one, below TLS_WIRE_PORTS */
    uint16_t version; /* TLS_WIRE_CONN: 0x303 or 0x304 */
    uint16_t family;  /* AF_INET, AF_INET6; 0 else */
    uint16_t peer_port;
    uint16_t spare;
    uint8_t peer[16];
    char text[TLS_WIRE_TEXT_MAX]; /* ended by a NUL; TLS_WIRE_CONN: tls_peer_describe() */
};

void tls_wire_set_peer(struct tls_wire_msg *m, const struct sockaddr_storage *addr);
/* Whether len bytes with n_fds descriptors are a message that this side may get. */
bool tls_wire_is_from_listener(const struct tls_wire_msg *m, size_t len, size_t n_fds);
bool tls_wire_is_from_server(const struct tls_wire_msg *m, size_t len, size_t n_fds);
/* "127.0.0.1:4242", "[::1]:4242". */
void tls_wire_peer(const struct tls_wire_msg *m, char out[TLS_WIRE_PEER_MAX]);
/* fd < 0: no descriptor. 0 or -errno. */
int tls_wire_send(int sock, const struct tls_wire_msg *m, int fd);
