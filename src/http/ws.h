/* WebSocket (RFC 6455) on a connected descriptor, as server or client. Version 13, masks required from clients, UTF-8
 * checked, fragments joined, interleaved control frames, deflate declined, close codes. Untrusted: the peer. May
 * include: base/, loop/, http/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "http/outgoing.h"
#include "http/server.h"
#include "loop/loop.h"

struct ws;

struct ws_events {
    void (*on_message)(void *arg, struct ws *w, bool is_text, const char *data, size_t len);
    void (*on_close)(void *arg, struct ws *w, int code, const char *reason); /* once; w is freed after it */
    void (*on_drain)(void *arg, struct ws *w); /* the queue drained after it was over the mark; may be NULL */
};

/* Replies 101 (or 400/426 and returns -EINVAL: r is answered then). message_max: the contract says 16 MiB. */
int ws_accept(struct loop *l, struct http_req *r, size_t message_max, const struct ws_events *ev, void *arg,
              struct ws **ret);

struct tls_context_trust;

struct ws_target {
    const char *url;            /* ws://host:port/path, wss:// with TLS */
    const char *const *headers; /* NULL-terminated "Name: value" list, or NULL */
    size_t message_max;
    const struct tls_context_trust *trust; /* for wss://; NULL: the system's store */
    struct outgoing rule;                  /* as in struct http_client_request */
};

/* Client: connects. on_close with code 1006 when it cannot. to is not kept. */
int ws_dial(struct loop *l, const struct ws_target *to, const struct ws_events *ev, void *arg, struct ws **ret,
            struct err *err);
/* Returns bytes queued; past 1 MiB stop producing until on_drain. */
size_t ws_send(struct ws *w, bool is_text, const char *data, size_t len);
size_t ws_queued(const struct ws *w); /* bytes in the output queue */
void ws_ping(struct ws *w);
void ws_hold(struct ws *w, bool is_held);                  /* pauses and resumes reading */
void ws_close(struct ws *w, int code, const char *reason); /* starts the closing handshake; on_close follows */
void ws_drop(struct ws *w);                                /* no more callbacks, connection cut, w freed */
void ws_set_arg(struct ws *w, void *arg);
/* From now on what is held of a message that is not complete, and of output that waits, counts for the tenant in s.
 * When the former is over the tenant's share, the connection is closed with 1013. */
struct share;
void ws_charge(struct ws *w, struct share *s, const char *tenant);
