/* One TLS session on the loop: does the handshake over a connected socket, then copies between it and one end of a
 * socket pair, so that whoever holds the other end reads and writes plain bytes and needs no TLS code. Both directions
 * are bounded (16 KiB here, the rest is the kernel's), end of file is passed on one direction at a time, and output
 * that does not move is cut. OpenSSL writes without MSG_NOSIGNAL, so the process must ignore SIGPIPE. Untrusted: the
 * peer. May include: base/, loop/. */
#pragma once
#include <openssl/types.h>

#include "base/err.h"
#include "loop/loop.h"
#include "tls/tls_peer.h"

struct tls_pump;

struct tls_pump_events {
    /* The handshake is complete; the callee owns plain_fd (non-blocking). */
    void (*on_ready)(void *arg, struct tls_pump *p, int plain_fd);
    /* Called once; p is freed after it. Before on_ready, why tells what was wrong with the handshake. */
    void (*on_end)(void *arg, struct tls_pump *p, const char *why);
    /* The handshake can continue: the owner calls tls_pump_shake() when it likes. NULL: at once. */
    void (*on_due)(void *arg, struct tls_pump *p);
};

/* Owns net_fd (connected, non-blocking), also on failure. host: the server's name or address, which its certificate
 * must match; NULL: this side is the server. Calls no callback. 0 or -errno. */
int tls_pump_new(struct loop *l, SSL_CTX *ctx, int net_fd, const char *host, struct tls_pump **ret);
void tls_pump_start(struct tls_pump *p, const struct tls_pump_events *events,
                    void *arg);                                       /* the first step follows on the loop */
void tls_pump_shake(struct tls_pump *p);                              /* may call on_ready, on_end */
int tls_pump_version(const struct tls_pump *p);                       /* 0x303, 0x304 */
void tls_pump_peer(const struct tls_pump *p, char out[TLS_PEER_MAX]); /* tls_peer_describe() */
/* Gives up ownership of p: it ends with its connection, or with the loop. After on_ready, also from inside it. */
void tls_pump_let_go(struct tls_pump *p);
/* Sends as much of the plain side's data as the socket accepts, then closes everything. No callback. */
struct tls_pump *tls_pump_free(struct tls_pump *p);
