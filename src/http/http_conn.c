/* One connection. Theory of operation. Bytes go to the parser while it may run and into the stash while it may not (a
 * reply is pending, the body is held, nobody reads it yet). The stash is bounded; when it is full only the hang-up is
 * watched, so a client that leaves is noticed at once in every phase. The server owns the connection; the connection
 * refers to one request (c->req) at a time, which its handler may keep longer. Phases: idle, head, body, wait, linger
 * (http_conn.h); each has a deadline that http_conn_sweep() applies. A protocol error gets one JSON reply and then
 * closes; a broken socket only tells the handler. After the last reply the connection lingers: it reads and drops until
 * the client closes, because closing with unread bytes would send a reset that destroys the reply. */
#include "http/http_conn.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/address.h"
#include "base/alloc.h"

enum { LINGER_MS = 5000, LINGER_BYTES = 64 << 20, STASH_KEEP_BYTES = 16384 };

static void conn_event(void *arg, int events);

static unsigned peer_slot(const char *peer)
{
    struct address a;
    char host[HTTP_PEER_MAX];
    const char *port = strrchr(peer, ':');
    (void)snprintf(host, sizeof host, "%.*s", port ? (int)(port - peer) : 0, peer);
    return address_parse(host, &a) ? address_slot(&a) : 0;
}

int http_conn_new(struct http_server *s, int fd, const char *peer, struct http_conn **ret)
{
    struct http_conn *c = xzalloc(sizeof *c);
    int r = watch_new(s->loop, fd, LOOP_READ, conn_event, c, &c->watch);
    if (r < 0) {
        free(c);
        return r;
    }
    c->magic = HTTP_CONN_MAGIC;
    c->refs = 1;
    c->server = http_server_ref(s);
    c->fd = fd;
    buf_init(&c->stash, HTTP_STASH_BYTES);
    output_queue_init(&c->out);
    (void)snprintf(c->peer, sizeof c->peer, "%s", peer);
    c->slot = peer_slot(peer);
    c->deadline_ms = loop_now_ms(s->loop) + s->limits.head_ms;
    *ret = c;
    return 0;
}

struct http_conn *http_conn_ref(struct http_conn *c)
{
    c->refs++;
    return c;
}

void http_conn_unref(struct http_conn *c)
{
    assert(c->magic == HTTP_CONN_MAGIC);
    if (--c->refs)
        return;
    assert(c->is_closed && !c->req);
    c->magic = 0;
    http_server_unref(c->server);
    free(c->cert);
    free(c);
}

static int64_t now(const struct http_conn *c)
{
    return loop_now_ms(c->server->loop);
}

static void forget_unsent(struct http_conn *c)
{
    while (c->unsent) {
        struct http_req *r = c->unsent;
        c->unsent = r->next_free;
        (void)http_req_unref(r);
    }
}

/* Ends everything except the descriptor. */
static void conn_retire(struct http_conn *c)
{
    c->is_closed = true;
    c->watch = watch_free(c->watch);
    buf_done(&c->stash);
    output_queue_done(&c->out);
    forget_unsent(c);
    http_server_forget(c->server, c);
}

void http_conn_drop(struct http_conn *c, bool is_told)
{
    if (c->is_closed)
        return;
    struct http_req *r = STEAL(c->req);
    conn_retire(c);
    (void)close(c->fd);
    if (r) {
        r->conn = NULL;
        if (is_told)
            http_req_gone(r);
        r->is_gone = true;
        (void)http_req_unref(r);
    }
    http_conn_unref(c);
}

void http_conn_leave(struct http_conn *c)
{
    bool is_quiet = c->phase == HTTP_PHASE_IDLE && !c->req && !c->is_eof && !c->is_hup && !c->will_close &&
                    !c->is_rejected && !c->is_processing && !c->is_process_due && !c->is_flush_due &&
                    c->stash.len == 0 && output_queue_len(&c->out) == 0;
    if (c->is_closed || !is_quiet)
        return;
    struct http_server *s = http_server_ref(c->server);
    int fd = c->fd;
    conn_retire(c);
    http_conn_unref(c);
    s->leave_fn(s->leave_arg, fd, false);
    http_server_unref(s);
}

int http_conn_release(struct http_conn *c, struct buf *ret_rest)
{
    int fd = c->fd;
    buf_init(ret_rest, HTTP_STASH_BYTES);
    const char *rest = c->is_processing ? c->rest : buf_text(&c->stash);
    size_t len = c->is_processing ? c->rest_len : c->stash.len;
    int r_add = buf_add(ret_rest, rest, len);
    if (r_add < 0)
        return r_add;
    struct http_req *r = STEAL(c->req);
    conn_retire(c);
    r->conn = NULL;
    r->is_gone = true;
    (void)http_req_unref(r);
    http_conn_unref(c);
    return fd;
}

/* --- output --- */

void http_conn_watch(struct http_conn *c)
{
    if (c->is_closed)
        return;
    int events = 0;
    if (c->is_eof)
        events = 0; /* no more events can come, and the hang-up would be reported for ever */
    else if (c->phase == HTTP_PHASE_LINGER || c->stash.len < HTTP_STASH_BYTES)
        events = LOOP_READ;
    else if (!c->is_hup)
        events = LOOP_HUP;
    watch_set(c->watch, events | (c->out.is_blocked ? LOOP_WRITE : 0));
}

static void drop_broken(void *arg)
{
    struct http_conn *c = arg;
    http_conn_drop(c, true);
    http_conn_unref(c);
}

/* A user may be on the stack (invariant 2), so the connection is closed later. */
void http_conn_break(struct http_conn *c)
{
    loop_defer(c->server->loop, drop_broken, http_conn_ref(c));
}

void http_conn_write(struct http_conn *c, const struct iovec *pieces, size_t count)
{
    bool was_blocked = c->out.is_blocked;
    if (output_queue_send(&c->out, c->fd, pieces, count) < 0) {
        http_conn_break(c);
        return;
    }
    if (c->out.is_blocked && !was_blocked) {
        c->write_deadline_ms = now(c) + c->server->limits.idle_ms;
        http_conn_watch(c);
    }
}

static void start_linger(struct http_conn *c)
{
    (void)shutdown(c->fd, SHUT_WR); /* fails when the client has left, which reading detects */
    c->deadline_ms = now(c) + LINGER_MS;
    buf_done(&c->stash);
    http_conn_watch(c);
}

static void conn_flush(struct http_conn *c)
{
    size_t before = output_queue_len(&c->out);
    if (output_queue_flush(&c->out, c->fd) < 0) {
        http_conn_drop(c, true);
        return;
    }
    if (output_queue_len(&c->out) < before)
        c->write_deadline_ms = now(c) + c->server->limits.idle_ms;
    http_conn_watch(c);
    if (output_queue_len(&c->out) > 0)
        return;
    forget_unsent(c);
    if (c->phase == HTTP_PHASE_LINGER && c->is_eof) {
        http_conn_drop(c, false);
    } else if (c->phase == HTTP_PHASE_LINGER) {
        start_linger(c);
    } else if (c->will_close) {
        http_conn_drop(c, false);
    } else if (c->server->leave_fn && c->phase == HTTP_PHASE_IDLE) {
        http_conn_leave(c);
    } else if (before > 0 && c->req && c->req->drain_fn && !c->req->is_ended) {
        c->req->drain_fn(c->req->drain_arg);
    }
}

static void flush_due(void *arg)
{
    struct http_conn *c = arg;
    c->is_flush_due = false;
    if (!c->is_closed && !c->out.is_blocked)
        conn_flush(c);
    http_conn_unref(c);
}

void http_conn_flush_later(struct http_conn *c)
{
    if (c->is_flush_due || c->out.is_blocked)
        return;
    c->is_flush_due = true;
    loop_defer(c->server->loop, flush_due, http_conn_ref(c));
}

/* --- the end of an exchange --- */

static void drop_req(struct http_conn *c)
{
    struct http_req *r = STEAL(c->req);
    if (!r)
        return;
    r->conn = NULL;
    if (r->over_fn && output_queue_len(&c->out)) {
        r->next_free = c->unsent;
        c->unsent = r;
    } else {
        (void)http_req_unref(r);
    }
}

static void close_after_output(struct http_conn *c, bool is_input_left)
{
    if (is_input_left) {
        c->phase = HTTP_PHASE_LINGER;
        c->deadline_ms = now(c) + c->server->limits.idle_ms;
    } else {
        c->will_close = true;
    }
    if (output_queue_len(&c->out) == 0)
        http_conn_flush_later(c); /* the user who finished the reply may be on the stack */
}

static void next_message(struct http_conn *c)
{
    c->phase = HTTP_PHASE_IDLE;
    c->deadline_ms = now(c) + c->server->limits.idle_ms;
    if (c->stash.len)
        http_conn_process_later(c);
    else if (c->server->leave_fn)
        http_conn_flush_later(c); /* closes after the flush */
}
void http_conn_reply_done(struct http_conn *c)
{
    struct http_req *r = c->req;
    bool is_complete = c->phase == HTTP_PHASE_WAIT;
    bool is_kept = r->is_keep_alive && !http_server_closes(c->server);
    /* The rest of a small body is read and dropped; for a large one the connection is closed. A client that got no 100
     * Continue may or may not send its body, so the bytes after it cannot be trusted to be a request. */
    bool is_rest_small =
        !r->wants_continue && (c->parser.flags & F_CHUNKED || c->parser.content_length <= HTTP_STASH_BYTES);
    if (is_complete && is_kept) {
        drop_req(c);
        next_message(c);
    } else if (!is_complete && is_kept && is_rest_small) {
        c->is_discarding = true;
        c->body_bytes = 0;
        c->body_ms = 0;
        r->data_fn = NULL;
        r->is_held = false;
        c->can_step = true;
        http_conn_process_later(c);
    } else {
        drop_req(c);
        close_after_output(c, !is_complete || c->stash.len);
    }
    http_conn_watch(c);
}

/* Tells a client of HTTP/2 in its own frames: empty SETTINGS, then GOAWAY before any stream, with HTTP_1_1_REQUIRED. */
static void send_goaway(struct http_conn *c, const char *text)
{
    enum { GOAWAY = 7, HTTP_1_1_REQUIRED = 0xd };
    unsigned char frames[9 + 9 + 8] = { [3] = 4, /* SETTINGS */[12] = GOAWAY, [25] = HTTP_1_1_REQUIRED };
    size_t len = strlen(text);
    frames[11] = (unsigned char)(8 + len); /* the text is ours, and short */
    struct iovec pieces[] = { { frames, sizeof frames }, { (void *)(uintptr_t)text, len } };
    http_conn_write(c, pieces, 2);
}

static void send_error(struct http_conn *c, int status, const char *text)
{
    char body[320] = "{\"error\":\"", head[512];
    size_t len = strlen(body);
    for (const char *s = text; *s && len < sizeof body - 4; s++) {
        if (*s == '"' || *s == '\\')
            body[len++] = '\\';
        body[len++] = *s;
    }
    body[len++] = '"';
    body[len++] = '}';
    int head_len = snprintf(head, sizeof head,
                            "HTTP/1.1 %d %s\r\n%sContent-Type: application/json\r\nContent-Length: %zu\r\n"
                            "Connection: close\r\n\r\n",
                            status, http_req_reason(status), http_server_date(c->server), len);
    struct iovec pieces[] = { { head, (size_t)head_len }, { body, len } };
    http_conn_write(c, pieces, 2);
}

void http_conn_fail(struct http_conn *c, int status, const char *text)
{
    struct http_req *r = STEAL(c->req);
    bool is_begun = r && r->is_begun;
    if (r) {
        r->conn = NULL;
        if (c->phase == HTTP_PHASE_BODY)
            http_req_gone(r);
        r->is_gone = true;
        (void)http_req_unref(r);
    }
    if (c->is_closed)
        return;
    if (is_begun && !c->is_discarding) {
        http_conn_drop(c, false); /* half of a reply is sent: no error reply is possible */
        return;
    }
    c->phase = HTTP_PHASE_LINGER;
    c->deadline_ms = now(c) + c->server->limits.idle_ms;
    if (c->is_http2)
        send_goaway(c, text);
    else if (!is_begun)
        send_error(c, status, text);
    if (output_queue_len(&c->out) == 0)
        start_linger(c);
}

/* --- input --- */

/* Whether the parser may run now. */
static bool can_parse(const struct http_conn *c)
{
    if (c->is_closed || c->will_close || c->phase == HTTP_PHASE_WAIT || c->phase == HTTP_PHASE_LINGER)
        return false;
    if (c->phase != HTTP_PHASE_BODY || c->is_discarding || !c->req->rule.is_streamed)
        return true;
    return c->req->data_fn && !c->req->is_held;
}

static void head_done(struct http_conn *c)
{
    struct http_req *r = c->req;
    if (http_parse_check_head(c) < 0) {
        http_conn_fail(c, c->fail_status, c->fail_text);
        return;
    }
    c->phase = HTTP_PHASE_BODY;
    c->is_known = true;
    c->deadline_ms = 0;
    c->body_clock_ms = now(c);
    c->can_step = true;
    const struct http_app *app = &c->server->app;
    r->rule = app->on_head(app->arg, r);
    if (c->is_closed || c->req != r || r->is_begun)
        return;
    bool is_chunked = c->parser.flags & F_CHUNKED;
    if (!is_chunked && c->parser.content_length > r->rule.max_bytes) {
        http_conn_fail(c, 413, "request body is larger than this operation's limit");
        return;
    }
    if (r->rule.is_streamed) {
        app->on_request(app->arg, r);
        return;
    }
    r->body.max = r->rule.max_bytes;
    if (r->wants_continue && c->stash.len == 0)
        http_req_send_continue(r);
    r->wants_continue = false;
}

static void message_done(struct http_conn *c)
{
    struct http_req *r = http_req_ref(c->req);
    const struct http_app *app = &c->server->app;
    r->is_body_done = true;
    c->phase = HTTP_PHASE_WAIT;
    if (r->is_ended) { /* answered before its body arrived */
        drop_req(c);
        if (http_server_closes(c->server) || !r->is_keep_alive)
            close_after_output(c, false);
        else
            next_message(c);
    } else if (r->rule.is_streamed) {
        if (r->data_fn)
            r->data_fn(r->data_arg, NULL, 0);
    } else if (!r->is_begun) {
        app->on_request(app->arg, r);
    }
    (void)http_req_unref(r);
}

/* Parses as far as possible; returns how much was used. Pipelined requests are handled in a loop, without recursion. */
static size_t conn_parse(struct http_conn *c, const char *data, size_t len)
{
    size_t off = 0;
    while (can_parse(c) && (off < len || c->can_step)) {
        if (c->phase == HTTP_PHASE_IDLE) {
            c->phase = HTTP_PHASE_HEAD;
            c->deadline_ms = now(c) + c->server->limits.head_ms;
            c->req = http_req_new(c->server, c->peer, c->cert);
            c->req->conn = c;
            http_parse_start(c);
        }
        size_t used = 0;
        int r = http_parse_run(c, data + off, len - off, &used);
        off += used;
        if (c->is_closed || c->phase == HTTP_PHASE_LINGER)
            break; /* the reader of the body has aborted, or sent the last reply */
        c->rest = data + off;
        c->rest_len = len - off;
        if (r < 0)
            http_conn_fail(c, c->fail_status, c->fail_text);
        else if (r == HPE_PAUSED && c->is_paused_at_head)
            head_done(c);
        else if (r == HPE_PAUSED && c->is_paused_at_end)
            message_done(c);
        else if (r == HPE_PAUSED)
            c->can_step = true; /* held by the user inside a piece */
    }
    return off;
}

static void process_stash(struct http_conn *c)
{
    size_t used = conn_parse(c, buf_text(&c->stash), c->stash.len);
    if (c->is_closed)
        return;
    if (used == c->stash.len && c->stash.cap > STASH_KEEP_BYTES)
        buf_done(&c->stash);
    else if (used)
        buf_consume(&c->stash, used);
}

/* The client will send no more; the stash may still hold a request. */
static void check_eof(struct http_conn *c)
{
    if (c->is_closed || !c->is_eof)
        return;
    bool is_input_left = c->phase == HTTP_PHASE_BODY && (c->stash.len || c->can_step) && !can_parse(c);
    bool is_output_left = (c->will_close || c->phase == HTTP_PHASE_LINGER) && output_queue_len(&c->out);
    if (!is_input_left && !is_output_left)
        http_conn_drop(c, true);
}

void http_conn_feed(struct http_conn *c, const char *data, size_t len)
{
    if (c->is_closed)
        return;
    assert(!c->is_processing);
    (void)http_conn_ref(c);
    c->is_processing = true;
    if (c->stash.len) {
        if (buf_add(&c->stash, data, len) < 0)
            http_conn_drop(c, true); /* out of memory: the read was bounded by the stash's room */
        else
            process_stash(c);
    } else {
        size_t used = conn_parse(c, data, len);
        if (!c->is_closed && used < len && c->phase != HTTP_PHASE_LINGER &&
            buf_add(&c->stash, data + used, len - used) < 0)
            http_conn_drop(c, true);
    }
    c->is_processing = false;
    check_eof(c);
    http_conn_watch(c);
    http_conn_unref(c);
}

static void process_due(void *arg)
{
    struct http_conn *c = arg;
    c->is_process_due = false;
    if (!c->is_closed) {
        c->is_processing = true;
        process_stash(c);
        c->is_processing = false;
        check_eof(c);
        http_conn_watch(c);
    }
    http_conn_unref(c);
}

void http_conn_process_later(struct http_conn *c)
{
    if (c->is_process_due || c->is_processing)
        return;
    c->is_process_due = true;
    loop_defer(c->server->loop, process_due, http_conn_ref(c));
}

static void conn_readable(struct http_conn *c)
{
    /* Never read more than the stash can hold: the parser may stop at any byte. */
    size_t room = HTTP_STASH_BYTES - c->stash.len;
    if (!room)
        return;
    ssize_t n = recv(c->fd, c->server->scratch, room, MSG_DONTWAIT);
    if (n < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
            http_conn_drop(c, true);
        return;
    }
    if (c->phase == HTTP_PHASE_LINGER && output_queue_len(&c->out) == 0) {
        c->linger_bytes += (size_t)n;
        if (n == 0 || c->linger_bytes > LINGER_BYTES)
            http_conn_drop(c, false);
    } else if (n == 0) {
        c->is_eof = true;
        check_eof(c);
        http_conn_watch(c);
    } else if (c->phase != HTTP_PHASE_LINGER) {
        http_conn_feed(c, c->server->scratch, (size_t)n);
    }
}

static void conn_event(void *arg, int events)
{
    struct http_conn *c = http_conn_ref(arg);
    assert(c->magic == HTTP_CONN_MAGIC);
    if (events & LOOP_WRITE)
        conn_flush(c);
    if (!c->is_closed && events & LOOP_READ) {
        conn_readable(c);
    } else if (!c->is_closed && events & LOOP_HUP) {
        /* The stash is full and the client has closed its side. Bytes of a body may still be in the kernel; after a
         * complete request they do not matter. */
        c->is_hup = true;
        if (c->phase == HTTP_PHASE_BODY)
            http_conn_watch(c);
        else
            http_conn_drop(c, true);
    }
    http_conn_unref(c);
}

/* --- deadlines --- */

void http_conn_sweep(struct http_conn *c, int64_t now_ms)
{
    const struct http_limits *lim = &c->server->limits;
    (void)http_conn_ref(c);
    if (c->out.is_blocked && now_ms >= c->write_deadline_ms) {
        http_conn_drop(c, true);
    } else if (c->phase == HTTP_PHASE_BODY) {
        if (can_parse(c) && output_queue_len(&c->out) == 0)
            c->body_ms += now_ms - c->body_clock_ms;
        c->body_clock_ms = now_ms;
        if (c->body_ms > lim->body_grace_ms && (int64_t)c->body_bytes < lim->body_min_bytes_s * (c->body_ms / 1000))
            http_conn_fail(c, 408, "the request body arrived too slowly");
    } else if (c->deadline_ms && now_ms >= c->deadline_ms && c->phase == HTTP_PHASE_HEAD) {
        http_conn_fail(c, 408, "the request head did not arrive in time");
    } else if (c->deadline_ms && now_ms >= c->deadline_ms && c->phase != HTTP_PHASE_WAIT) {
        http_conn_drop(c, false);
    }
    http_conn_unref(c);
}
