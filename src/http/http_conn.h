/* Internals of the HTTP server: one client connection, its parser and its current exchange. Only http/ and its tests
 * include this; users include http/server.h. May include: base/, loop/, http/.
 *
 * Invariants: (1) one request at a time, the next one stays in the stash until the reply is finished; (2) user
 * functions are never called from inside a call the user made; (3) c->req->conn == c while the exchange lives. */
#pragma once
#include <llhttp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "http/http_rules.h"
#include "http/httplines.h"
#include "http/output_queue.h"
#include "http/server.h"
#include "loop/loop.h"

enum {
    HTTP_CONN_MAGIC = 0x477a0c01,
    HTTP_REQ_MAGIC = 0x477a0e01,
    HTTP_PEER_MAX = 64,
    HTTP_STASH_BYTES = 65536, /* size of one read, and of what is read ahead of the parser while a reply is pending */
    HTTP_POOL_REQS = 64,      /* request objects kept for reuse */
    HTTP_REJECTS = 64, /* concurrent connections over the limit that get a 503; more are closed without a reply */
};

struct http_req {
    unsigned magic, refs;
    struct http_server *server; /* counted */
    struct http_conn *conn;     /* NULL once finished or gone */
    struct http_req *next_free;
    struct buf head; /* URL, then names and values, each ended by a NUL */
    uint32_t path, query;
    struct http_rules_field *fields; /* offsets into head */
    unsigned field_count;
    struct buf body, extra; /* extra: response headers as they go out */
    struct http_body_rule rule;
    const char *method;
    http_data_fn *data_fn;
    void *data_arg;
    loop_fn *gone_fn, *drain_fn, *over_fn;
    void *gone_arg, *drain_arg, *over_arg;
    int64_t reply_left; /* bytes still missing of the Content-Length, or -1 */
    bool is_http10, is_head, is_keep_alive, wants_continue, is_body_done, is_held;
    bool is_begun, is_ended, is_chunked, is_bodiless, is_gone;
    char peer[HTTP_PEER_MAX];
    char *cert; /* or NULL */
};

enum http_phase {
    HTTP_PHASE_IDLE,   /* between requests */
    HTTP_PHASE_HEAD,   /* part of a head has arrived */
    HTTP_PHASE_BODY,   /* the head was passed on, body bytes follow */
    HTTP_PHASE_WAIT,   /* the message is complete, its reply is not */
    HTTP_PHASE_LINGER, /* the last reply is sent; reads until the client closes */
};

struct http_conn {
    unsigned magic, refs;
    struct http_server *server;
    struct http_conn *prev, *next;
    int fd;
    struct watch *watch;
    llhttp_t parser;
    enum http_phase phase;
    struct http_req *req;
    struct http_req *unsent; /* answered, but the reply is not all sent: by next_free */
    struct buf stash;
    struct output_queue out;
    int64_t deadline_ms;             /* deadline of the phase; 0 is none */
    int64_t write_deadline_ms;       /* while output is blocked */
    int64_t body_clock_ms;           /* when the body's rate was last measured */
    int64_t body_ms;                 /* time the body took so far, without the time it was held */
    uint64_t body_bytes, side_bytes; /* body; chunk extensions and trailers */
    size_t head_bytes, url_bytes, linger_bytes;
    int fail_status; /* set by a parser callback together with fail_text */
    const char *fail_text;
    struct httplines lines;
    struct httplines_request request_line;
    bool is_closed, is_processing, is_process_due, is_flush_due, is_paused_at_head, is_paused_at_end, can_step;
    bool is_eof, is_hup, will_close, is_rejected, is_discarding;
    bool is_known;    /* it has sent a whole request head */
    bool is_http2;    /* the client sent the preface of HTTP/2 */
    const char *rest; /* while processing: what the parser has not seen yet */
    size_t rest_len;
    char peer[HTTP_PEER_MAX];
    unsigned slot; /* address_slot() of the peer */
    char *cert;    /* of the client, or NULL */
};

struct http_listener {
    int fd;
    struct watch *watch;
    struct http_server *server;
    struct http_listener *next;
    char *path; /* of a unix socket: removed with the listener */
    bool is_paused;
};

struct http_server {
    unsigned refs; /* the user's one, one for each connection and each request object in use */
    struct loop *loop;
    struct http_app app;
    struct http_limits limits;
    struct http_listener *listeners;
    struct http_conn *conns;
    struct http_req *pool;
    struct timer *sweep, *grace;
    loop_fn *drain_fn;
    void *drain_arg;
    http_leave_fn *leave_fn; /* gets connections when they are idle */
    void *leave_arg;
    char *scratch; /* HTTP_STASH_BYTES, for reads */
    unsigned conn_count, rejected_count, pool_count;
    bool is_draining, is_freed;
    int64_t date_s;
    char date[40]; /* "Date: …\r\n" of date_s */
};

/* --- http_server.c --- */
struct http_server *http_server_ref(struct http_server *s);
void http_server_unref(struct http_server *s);
bool http_server_closes(const struct http_server *s); /* connections close after their current request */
const char *http_server_date(struct http_server *s);  /* the Date header line, made once a second */
/* Serves a connected stream socket as if it had been accepted; owns fd, also on failure. */
int http_server_adopt(struct http_server *s, int fd, const char *peer, struct http_conn **ret);
void http_server_forget(struct http_server *s, struct http_conn *c); /* unlinks; may complete a drain */

/* --- http_conn.c --- */
int http_conn_new(struct http_server *s, int fd, const char *peer, struct http_conn **ret);
struct http_conn *http_conn_ref(struct http_conn *c);
void http_conn_unref(struct http_conn *c);
void http_conn_feed(struct http_conn *c, const char *data, size_t len); /* as if it had been read from the socket */
void http_conn_sweep(struct http_conn *c, int64_t now_ms);              /* applies the deadlines */
void http_conn_drop(struct http_conn *c, bool is_told); /* closes; is_told: the request's owner is notified */
void http_conn_fail(struct http_conn *c, int status, const char *text); /* JSON error, then close */
void http_conn_reply_done(struct http_conn *c);                         /* the exchange's last byte was queued */
void http_conn_process_later(struct http_conn *c);
void http_conn_flush_later(struct http_conn *c);
void http_conn_break(struct http_conn *c); /* as if the client had left, after the current callback */
void http_conn_write(struct http_conn *c, const struct iovec *pieces, size_t count);
void http_conn_watch(struct http_conn *c); /* updates the events to wait for */
void http_conn_leave(struct http_conn *c); /* gives the fd to server->leave_fn when c is idle: then c is finished */
/* Gives the fd away; c is finished. -ENOMEM leaves all as it was. */
int http_conn_release(struct http_conn *c, struct buf *ret_rest);

/* --- http_parse.c --- */
void http_parse_start(struct http_conn *c); /* ready for a new message */
/* Runs the parser; *ret_used says how far. 0, HPE_PAUSED (see is_paused_*) or a negative value: fail_* are set. */
int http_parse_run(struct http_conn *c, const char *data, size_t len, size_t *ret_used);
int http_parse_check_head(struct http_conn *c); /* 0 or -EINVAL with fail_* set */

/* --- http_req.c --- */
struct http_req *http_req_new(struct http_server *s, const char *peer, const char *cert);
void http_req_gone(struct http_req *r); /* notifies the owner, once */
void http_req_send_continue(struct http_req *r);
const char *http_req_reason(int status);
void http_req_free_pool(struct http_server *s);
