/* Theory of operation. struct http_req is the request as its handler sees it: its head and body, and the functions that
 * reply, in one piece or as a stream. The server pools request objects; a reference count keeps one alive while its
 * handler needs it. r->conn is NULL once the reply is finished or the client has left, and from then on every reply
 * function does nothing. Small pieces of a stream are collected and sent with one system call after the current
 * callback has returned. A stream that ends short of its Content-Length cuts the connection, because nothing else tells
 * the client. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "http/http_conn.h"

enum {
    KEEP_BYTES = 16384,       /* memory a pooled request may keep in each buffer */
    EXTRA_BYTES = 65536,      /* response headers */
    GATHER_BYTES = 16384,     /* larger pieces are sent at once */
    GATHER_MAX_BYTES = 65536, /* collected pieces above this too */
    OVERRUN_BYTES = 16 << 20, /* a producer that exceeds the queue's limit by this much is disconnected */
    HEAD_TEXT = 768
};

/* --- life --- */

struct http_req *http_req_new(struct http_server *s, const char *peer, const char *cert)
{
    struct http_req *r = s->pool;
    if (r) {
        s->pool = r->next_free;
        s->pool_count--;
        *r = (struct http_req){ .head = r->head, .body = r->body, .extra = r->extra, .fields = r->fields };
    } else {
        r = xzalloc(sizeof *r);
        r->fields = xzalloc((s->limits.header_count + 1) * sizeof *r->fields);
    }
    r->magic = HTTP_REQ_MAGIC;
    r->refs = 1;
    r->server = http_server_ref(s);
    r->head.max = s->limits.head_bytes + 2;
    r->extra.max = EXTRA_BYTES;
    r->reply_left = -1;
    r->method = "";
    r->fields[0].name = 0;
    memcpy(r->peer, peer, sizeof r->peer);
    r->cert = xstrdup(cert);
    return r;
}

struct http_req *http_req_ref(struct http_req *r)
{
    assert(r->magic == HTTP_REQ_MAGIC);
    r->refs++;
    return r;
}

static void shrink(struct buf *b)
{
    if (b->cap > KEEP_BYTES)
        buf_done(b);
    else
        buf_clear(b);
}

static void free_req(struct http_req *r)
{
    buf_done(&r->head);
    buf_done(&r->body);
    buf_done(&r->extra);
    free(r->fields);
    free(r);
}

struct http_req *http_req_unref(struct http_req *r)
{
    if (!r)
        return NULL;
    assert(r->magic == HTTP_REQ_MAGIC);
    if (--r->refs)
        return NULL;
    assert(!r->conn);
    struct http_server *s = r->server;
    loop_fn *over_fn = STEAL(r->over_fn);
    if (over_fn)
        over_fn(r->over_arg);
    r->magic = 0;
    free(r->cert);
    r->cert = NULL;
    if (s->is_freed || s->pool_count >= HTTP_POOL_REQS) {
        free_req(r);
    } else {
        shrink(&r->head);
        shrink(&r->body);
        shrink(&r->extra);
        r->next_free = s->pool;
        s->pool = r;
        s->pool_count++;
    }
    http_server_unref(s);
    return NULL;
}

void http_req_free_pool(struct http_server *s)
{
    while (s->pool) {
        struct http_req *r = s->pool;
        s->pool = r->next_free;
        free_req(r);
    }
    s->pool_count = 0;
}

/* --- reading --- */

const struct http_body_rule *http_req_rule(const struct http_req *r)
{
    return &r->rule;
}

const char *http_req_method(const struct http_req *r)
{
    return r->method;
}

const char *http_req_path(const struct http_req *r)
{
    return r->head.data + r->path;
}

const char *http_req_query(const struct http_req *r)
{
    return r->head.data + r->query;
}

const char *http_req_header(const struct http_req *r, const char *name)
{
    for (unsigned i = 0; i < r->field_count; i++)
        if (strcasecmp(r->head.data + r->fields[i].name, name) == 0)
            return r->head.data + r->fields[i].value;
    return NULL;
}

bool http_req_header_at(const struct http_req *r, size_t i, const char **ret_name, const char **ret_value)
{
    if (i >= r->field_count)
        return false;
    *ret_name = r->head.data + r->fields[i].name;
    *ret_value = r->head.data + r->fields[i].value;
    return true;
}

const char *http_req_body(const struct http_req *r, size_t *ret_len)
{
    if (ret_len)
        *ret_len = r->body.len;
    return buf_text(&r->body);
}

const char *http_req_cert(const struct http_req *r)
{
    return r->cert;
}

const char *http_req_peer(const struct http_req *r)
{
    return r->peer;
}

/* Whether a comma-separated list contains the token. */
static bool has_token(const char *list, const char *token)
{
    size_t want = strlen(token);
    while (list && *list) {
        list += strspn(list, " \t,");
        size_t len = strcspn(list, " \t,");
        if (len == want && strncasecmp(list, token, len) == 0)
            return true;
        list += len;
    }
    return false;
}

bool http_req_wants_upgrade(const struct http_req *r, const char *protocol)
{
    return has_token(http_req_header(r, "connection"), "upgrade") && has_token(http_req_header(r, "upgrade"), protocol);
}

void http_req_read(struct http_req *r, http_data_fn *fn, void *arg)
{
    if (!r->conn)
        return;
    r->data_fn = fn;
    r->data_arg = arg;
    if (r->wants_continue)
        http_req_send_continue(r);
    http_conn_process_later(r->conn);
}

void http_req_hold(struct http_req *r, bool is_held)
{
    if (!r->conn || r->is_held == is_held)
        return;
    r->is_held = is_held;
    if (!is_held)
        http_conn_process_later(r->conn);
}

/* --- disconnects --- */

bool http_req_is_gone(const struct http_req *r)
{
    return r->is_gone;
}

void http_req_on_gone(struct http_req *r, loop_fn *fn, void *arg)
{
    r->gone_fn = fn;
    r->gone_arg = arg;
}

void http_req_on_over(struct http_req *r, loop_fn *fn, void *arg)
{
    r->over_fn = fn;
    r->over_arg = arg;
}

void *http_req_over_arg(const struct http_req *r)
{
    return r->over_fn ? r->over_arg : NULL;
}

void http_req_gone(struct http_req *r)
{
    if (r->is_gone || r->is_ended)
        return;
    r->is_gone = true;
    http_data_fn *data_fn = STEAL(r->data_fn);
    loop_fn *gone_fn = STEAL(r->gone_fn);
    if (data_fn && !r->is_body_done)
        data_fn(r->data_arg, NULL, -1);
    if (gone_fn)
        gone_fn(r->gone_arg);
}

/* --- replying --- */

const char *http_req_reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } reasons[] = {
        { 100, "Continue" },
        { 101, "Switching Protocols" },
        { 200, "OK" },
        { 201, "Created" },
        { 202, "Accepted" },
        { 204, "No Content" },
        { 206, "Partial Content" },
        { 301, "Moved Permanently" },
        { 302, "Found" },
        { 304, "Not Modified" },
        { 307, "Temporary Redirect" },
        { 308, "Permanent Redirect" },
        { 400, "Bad Request" },
        { 401, "Unauthorized" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 406, "Not Acceptable" },
        { 408, "Request Timeout" },
        { 409, "Conflict" },
        { 410, "Gone" },
        { 411, "Length Required" },
        { 412, "Precondition Failed" },
        { 413, "Content Too Large" },
        { 414, "URI Too Long" },
        { 415, "Unsupported Media Type" },
        { 416, "Range Not Satisfiable" },
        { 417, "Expectation Failed" },
        { 422, "Unprocessable Content" },
        { 423, "Locked" },
        { 425, "Too Early" },
        { 426, "Upgrade Required" },
        { 428, "Precondition Required" },
        { 429, "Too Many Requests" },
        { 431, "Request Header Fields Too Large" },
        { 500, "Internal Server Error" },
        { 501, "Not Implemented" },
        { 502, "Bad Gateway" },
        { 503, "Service Unavailable" },
        { 504, "Gateway Timeout" },
        { 505, "HTTP Version Not Supported" },
        { 507, "Insufficient Storage" },
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status)
            return reasons[i].text;
    return "Status";
}

static bool is_clean(const char *s)
{
    for (; *s; s++)
        if (((unsigned char)*s < 0x20 && *s != '\t') || *s == 0x7f)
            return false;
    return true;
}

void http_req_add_header(struct http_req *r, const char *name, const char *value)
{
    if (r->is_begun || !*name || strpbrk(name, " \t:") || !is_clean(name) || !is_clean(value))
        return;
    (void)buf_addf(&r->extra, "%s: %s\r\n", name, value); /* headers past 64 KiB are dropped */
}

void http_req_send_continue(struct http_req *r)
{
    static char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct iovec piece = { text, sizeof text - 1 };
    r->wants_continue = false;
    http_conn_write(r->conn, &piece, 1);
}

/* Status line and the headers the server itself sets, without the empty line. total: body length, or -1. */
static size_t make_head(struct http_req *r, int status, const char *content_type, int64_t total, char out[HEAD_TEXT])
{
    struct http_conn *c = r->conn;
    if (http_server_closes(c->server))
        r->is_keep_alive = false;
    r->is_bodiless = r->is_head || status == 204 || status == 304 || status < 200;
    r->is_chunked = total < 0 && !r->is_http10;
    if (total < 0 && r->is_http10)
        r->is_keep_alive = false; /* the end of the connection marks the end of the body */
    int n =
        snprintf(out, HEAD_TEXT, "HTTP/1.1 %d %s\r\n%s", status, http_req_reason(status), http_server_date(c->server));
    if (content_type && is_clean(content_type))
        n += snprintf(out + n, (size_t)(HEAD_TEXT - n), "Content-Type: %.256s\r\n", content_type);
    if (total >= 0 && status != 204 && status >= 200)
        n += snprintf(out + n, (size_t)(HEAD_TEXT - n), "Content-Length: %lld\r\n", (long long)total);
    else if (r->is_chunked && status != 204 && status >= 200)
        n += snprintf(out + n, (size_t)(HEAD_TEXT - n), "Transfer-Encoding: chunked\r\n");
    if (!r->is_keep_alive)
        n += snprintf(out + n, (size_t)(HEAD_TEXT - n), "Connection: close\r\n");
    else if (r->is_http10)
        n += snprintf(out + n, (size_t)(HEAD_TEXT - n), "Connection: keep-alive\r\n");
    return (size_t)n;
}

static void req_finish(struct http_req *r)
{
    r->is_ended = true;
    r->gone_fn = NULL;
    r->drain_fn = NULL;
    http_conn_reply_done(r->conn);
}

void http_req_reply(struct http_req *r, int status, const char *content_type, const char *body, size_t len)
{
    assert(r->magic == HTTP_REQ_MAGIC);
    if (!r->conn || r->is_begun)
        return;
    static char blank[] = "\r\n";
    char head[HEAD_TEXT];
    size_t head_len = make_head(r, status, content_type, (int64_t)len, head);
    struct iovec pieces[] = {
        { head, head_len },
        { r->extra.data, r->extra.len },
        { blank, 2 },
        { (void *)(uintptr_t)body, r->is_bodiless ? 0 : len },
    };
    r->is_begun = true;
    http_conn_write(r->conn, pieces, 4);
    req_finish(r);
}

void http_req_begin(struct http_req *r, int status, const char *content_type, int64_t total)
{
    assert(r->magic == HTTP_REQ_MAGIC);
    if (!r->conn || r->is_begun)
        return;
    char head[HEAD_TEXT];
    size_t head_len = make_head(r, status, content_type, total, head);
    struct output_queue *q = &r->conn->out;
    r->is_begun = true;
    r->reply_left = total;
    if (output_queue_add(q, head, head_len) < 0 || output_queue_add(q, buf_text(&r->extra), r->extra.len) < 0 ||
        output_queue_add(q, "\r\n", 2) < 0)
        http_conn_break(r->conn);
    else
        http_conn_flush_later(r->conn);
}

/* Collects a small piece. */
static void collect_small(struct http_conn *c, const struct iovec *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (output_queue_add(&c->out, pieces[i].iov_base, pieces[i].iov_len) < 0) {
            http_conn_break(c);
            return;
        }
    }
    if (output_queue_len(&c->out) >= GATHER_MAX_BYTES && !c->out.is_blocked)
        http_conn_write(c, NULL, 0);
    if (output_queue_len(&c->out))
        http_conn_flush_later(c);
}

size_t http_req_send(struct http_req *r, const char *data, size_t len)
{
    struct http_conn *c = r->conn;
    if (!c || !r->is_begun || r->is_ended)
        return 0;
    if (r->reply_left >= 0) {
        len = (int64_t)len > r->reply_left ? (size_t)r->reply_left : len;
        r->reply_left -= (int64_t)len;
    }
    if (!len || r->is_bodiless)
        return output_queue_len(&c->out);
    if (output_queue_len(&c->out) > c->server->limits.queued_bytes + OVERRUN_BYTES) {
        http_conn_break(c);
        return output_queue_len(&c->out);
    }
    char size[24];
    int size_len = r->is_chunked ? snprintf(size, sizeof size, "%zx\r\n", len) : 0;
    static char crlf[] = "\r\n";
    struct iovec pieces[] = { { size, (size_t)size_len },
                              { (void *)(uintptr_t)data, len },
                              { crlf, r->is_chunked ? 2 : 0 } };
    if (len < GATHER_BYTES)
        collect_small(c, pieces, 3);
    else
        http_conn_write(c, pieces, 3);
    return output_queue_len(&c->out);
}

void http_req_on_drain(struct http_req *r, loop_fn *fn, void *arg)
{
    r->drain_fn = fn;
    r->drain_arg = arg;
}

void http_req_end(struct http_req *r)
{
    struct http_conn *c = r->conn;
    if (!c || !r->is_begun || r->is_ended)
        return;
    if (r->reply_left > 0 && !r->is_bodiless) { /* less than announced: only a disconnect tells the client */
        http_conn_drop(c, false);
        return;
    }
    struct iovec last = { (void *)(uintptr_t) "0\r\n\r\n", 5 };
    if (r->is_chunked && !r->is_bodiless)
        collect_small(c, &last, 1);
    req_finish(r);
}

void http_req_abort(struct http_req *r)
{
    if (r->conn)
        http_conn_drop(r->conn, false);
}

int http_req_take(struct http_req *r, int *ret_fd, struct buf *ret_rest)
{
    struct http_conn *c = r->conn;
    if (!c || r->is_begun || c->phase != HTTP_PHASE_WAIT)
        return -EINVAL;
    if (output_queue_len(&c->out))
        return -EBUSY; /* replies to pipelined requests are still queued */
    int fd = http_conn_release(c, ret_rest);
    if (fd < 0)
        return fd;
    *ret_fd = fd;
    return 0;
}
