/* HTTP/1.1 server on the loop: keep-alive, streaming bodies both ways, SSE, upgrades. Limits on every part of a
 * request, an absolute deadline for the head, request smuggling rejected, a disconnect noticed while a reply is
 * pending. Untrusted: everything a client sends. May include: base/, os/, loop/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "loop/loop.h"

struct http_server;
struct http_req; /* one exchange; valid until it is answered, or longer with http_req_ref() */

struct http_limits {
    size_t head_bytes;        /* 431 past it */
    unsigned header_count;    /* 431 */
    size_t url_bytes;         /* 414 */
    int64_t head_ms;          /* absolute deadline for a request head */
    int64_t idle_ms;          /* keep-alive without a request */
    int64_t body_min_bytes_s; /* a slower body (after body_grace_ms) gets 408 */
    int64_t body_grace_ms;    /* 0 means 10 s */
    unsigned connections;     /* more get 503 and are closed */
    size_t queued_bytes;      /* output queued for one connection before its source should pause */
};
#define HTTP_LIMITS_DEFAULT                                                                                \
    {                                                                                                      \
        .head_bytes = 65536, .header_count = 100, .url_bytes = 16384, .head_ms = 10000, .idle_ms = 120000, \
        .body_min_bytes_s = 256, .connections = 4096, .queued_bytes = 1048576                              \
    }

struct http_body_rule {
    size_t max_bytes;     /* 413 past it */
    bool is_streamed;     /* on_request runs after the head; the body comes through http_req_read() */
    const void *found[2]; /* whatever on_head wants to find again in on_request: http_req_rule() */
};

struct http_app {
    void *arg;
    struct http_body_rule (*on_head)(void *arg, struct http_req *req); /* may reply at once */
    void (*on_request)(void *arg, struct http_req *req);               /* not called if already answered */
};

int http_server_new(struct loop *l, const struct http_app *app, const struct http_limits *limits,
                    struct http_server **ret, struct err *err);
/* Numeric host only. port 0 picks a free one; *ret_port is the port. */
int http_server_listen_tcp(struct http_server *s, const char *host, uint16_t port, uint16_t *ret_port, struct err *err);
/* A listening socket without a server, owned by the caller: for a process that accepts on our behalf. */
int http_server_bind(const char *host, uint16_t port, int *ret_fd, uint16_t *ret_port, struct err *err);
/* Serves a connected stream, non-blocking, as if it had been accepted; owns fd. peer: what http_req_peer() returns.
 * cert: what http_req_cert() returns; "": NULL. */
void http_server_give(struct http_server *s, int fd, const char *peer, const char *cert);
/* A listening TCP socket made elsewhere (by a predecessor, or a TLS listener in front of us). Owns fd, also on
 * failure. */
int http_server_listen_fd(struct http_server *s, int fd, uint16_t *ret_port, struct err *err);
/* An idle client connection of a predecessor. Owns fd. */
void http_server_take(struct http_server *s, int fd);
/* Gives away, still open, what a successor can continue with: the TCP listeners at once, and each connection as soon as
 * it is idle. fn owns the descriptors. Follow it with http_server_drain(). */
typedef void http_leave_fn(void *arg, int fd, bool is_listener);
void http_server_leave(struct http_server *s, http_leave_fn *fn, void *arg);
int http_server_listen_unix(struct http_server *s, const char *path, struct err *err);
/* Stops listening, finishes running requests, closes idle connections. Calls done(arg) when the last one is closed, or
 * after grace_ms, when the rest is cut. */
void http_server_drain(struct http_server *s, int64_t grace_ms, loop_fn *done, void *arg);
struct http_server *http_server_free(struct http_server *s);
unsigned http_server_connections(const struct http_server *s);

/* --- reading a request --- */
const struct http_body_rule *http_req_rule(const struct http_req *r);    /* what on_head gave */
const char *http_req_method(const struct http_req *r);                   /* "GET" */
const char *http_req_path(const struct http_req *r);                     /* raw, without the query */
const char *http_req_query(const struct http_req *r);                    /* raw, "" when there is none */
const char *http_req_header(const struct http_req *r, const char *name); /* case-insensitive, first; or NULL */
/* i-th header as received; false past the last. */
bool http_req_header_at(const struct http_req *r, size_t i, const char **ret_name, const char **ret_value);
const char *http_req_body(const struct http_req *r, size_t *ret_len); /* buffered body; never NULL */
const char *http_req_peer(const struct http_req *r);                  /* "127.0.0.1:4242" or "unix" */
/* The client certificate that a TLS listener in front of us has verified, in its words; NULL: none. */
const char *http_req_cert(const struct http_req *r);
bool http_req_wants_upgrade(const struct http_req *r, const char *protocol); /* "websocket" */

/* Streamed body: data pieces, none of them empty, then one call with (NULL, 0) at the end, or (NULL, -1) when the
 * client left. */
typedef void http_data_fn(void *arg, const char *data, ssize_t len);
void http_req_read(struct http_req *r, http_data_fn *fn, void *arg);
void http_req_hold(struct http_req *r, bool is_held); /* pauses and resumes reading of the body */

/* --- replying --- */
struct http_req *http_req_ref(struct http_req *r);
struct http_req *http_req_unref(struct http_req *r);
bool http_req_is_gone(const struct http_req *r); /* the client has left; every call below then does nothing */
/* Called once if the client leaves before the reply is finished. fn NULL clears. */
void http_req_on_gone(struct http_req *r, loop_fn *fn, void *arg);
/* Called once, when nobody holds the request any more and its reply has left our queue, or never will: what its bytes
 * were charged to can be given back. fn may use nothing but arg, and must not be called off. */
void http_req_on_over(struct http_req *r, loop_fn *fn, void *arg);
void *http_req_over_arg(const struct http_req *r); /* NULL: none was set */
/* Adds a response header (before reply or begin). A header with CR or LF in its value is dropped. */
void http_req_add_header(struct http_req *r, const char *name, const char *value);
void http_req_reply(struct http_req *r, int status, const char *content_type, const char *body, size_t len);
/* Streaming reply: chunked, or with Content-Length when total >= 0. */
void http_req_begin(struct http_req *r, int status, const char *content_type, int64_t total);
/* Queues a piece. Returns the bytes in the connection's queue. Past limits.queued_bytes the caller stops producing
 * until on_drain. */
size_t http_req_send(struct http_req *r, const char *data, size_t len);
void http_req_on_drain(struct http_req *r, loop_fn *fn, void *arg); /* each time the queue has drained */
void http_req_end(struct http_req *r);                              /* the stream is complete */
void http_req_abort(struct http_req *r);                            /* cuts the connection */
/* Takes the connection out of the server (raw upgrades, WebSocket). The caller owns fd (non-blocking) and the bytes
 * already read after the head. No reply has been sent; r is finished afterwards. */
int http_req_take(struct http_req *r, int *ret_fd, struct buf *ret_rest);
