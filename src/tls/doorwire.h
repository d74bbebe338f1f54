/* What the server and its TLS door say to each other over a SEQPACKET socket: fixed-size messages, some with
 * descriptors. Each side checks what it gets; the door is the one that strangers talk to. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
    DOORWIRE_MAGIC = 0x1d007a11,
    DOORWIRE_FD = 3, /* the door's end, where it is started */
    DOORWIRE_TEXT_MAX = 400,
    DOORWIRE_PEER_MAX = 64,
    DOORWIRE_PORTS = 2,
};

enum doorwire_kind {
    DOORWIRE_READY = 1, /* door: the files were good; text may hold a warning */
    DOORWIRE_FAILED,    /* door: text says why; it ends */
    DOORWIRE_CONN,      /* door: one finished handshake, with the plain end of it */
    DOORWIRE_LISTEN,    /* server: a listening socket, with it */
    DOORWIRE_RETIRE,    /* server: accept no more; end with the last connection */
};

struct doorwire_msg {
    uint32_t magic;
    uint16_t kind;
    uint16_t port;    /* DOORWIRE_CONN, DOORWIRE_LISTEN: which one, below DOORWIRE_PORTS */
    uint16_t version; /* DOORWIRE_CONN: 0x303 or 0x304 */
    uint16_t family;  /* AF_INET, AF_INET6; 0 else */
    uint16_t peer_port;
    uint16_t spare;
    uint8_t peer[16];
    char text[DOORWIRE_TEXT_MAX]; /* ended by a NUL */
};

void doorwire_set_peer(struct doorwire_msg *m, const struct sockaddr_storage *addr);
/* Whether len bytes with n_fds descriptors are a message that this side may get. */
bool doorwire_is_from_door(const struct doorwire_msg *m, size_t len, size_t n_fds);
bool doorwire_is_from_server(const struct doorwire_msg *m, size_t len, size_t n_fds);
/* "127.0.0.1:4242", "[::1]:4242". */
void doorwire_peer(const struct doorwire_msg *m, char out[DOORWIRE_PEER_MAX]);
/* fd < 0: none goes along. 0 or -errno. */
int doorwire_send(int sock, const struct doorwire_msg *m, int fd);
