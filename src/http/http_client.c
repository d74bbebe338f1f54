/* One call: connect, send the request, parse the response. Reference-counted, because a callback may free the call it
 * comes from. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "http/client.h"
#include "http/dial.h"
#include "http/http_reply.h"
#include "http/output_queue.h"
#include "http/url.h"
#include "tls/tls_context.h"

enum { CLIENT_MAGIC = 0xc11e4701, READ_BYTES = 65536, TIMEOUT_MS = 30000 };

struct http_client {
    unsigned magic, refs;
    struct loop *loop;
    struct http_client_events events;
    void *arg;
    char *name; /* "GET http://…", for messages */
    struct dial *dial;
    int fd;
    struct watch *watch;
    struct timer *timer;
    struct output_queue out;
    int from; /* yields the rest of the request's body */
    struct watch *from_watch;
    struct http_reply *reply;
    size_t body_max, body_bytes;
    bool is_closed, is_held, is_too_long;
};

/* --- life --- */

/* Its writer learns by EPIPE that nobody reads any more. */
static void body_close(struct http_client *c)
{
    c->from_watch = watch_free(c->from_watch);
    if (c->from >= 0)
        (void)close(steal_fd(&c->from)); /* only read from */
}

static void call_unref(struct http_client *c)
{
    assert(c->magic == CLIENT_MAGIC);
    if (--c->refs)
        return;
    c->magic = 0;
    c->reply = http_reply_free(c->reply);
    output_queue_done(&c->out);
    free(c->name);
    free(c);
}

struct http_client *http_client_free(struct http_client *c)
{
    if (!c || c->is_closed)
        return NULL;
    c->is_closed = true;
    c->dial = dial_free(c->dial);
    c->watch = watch_free(c->watch);
    c->timer = timer_free(c->timer);
    body_close(c);
    if (c->fd >= 0)
        (void)close(steal_fd(&c->fd));
    call_unref(c);
    return NULL;
}

static void call_finish(struct http_client *c, const struct err *err)
{
    if (c->is_closed)
        return;
    c->refs++;
    (void)http_client_free(c);
    c->events.on_done(c->arg, c, err);
    call_unref(c);
}

static void call_fail(struct http_client *c, enum err_code code, int sys, const char *text)
{
    struct err err = ERR_INIT;
    (void)err_set(&err, code, sys, "%s: %s", c->name, text);
    call_finish(c, &err);
}

int http_client_status(const struct http_client *c)
{
    return http_reply_status(c->reply);
}

const char *http_client_header(const struct http_client *c, const char *name)
{
    return http_reply_header(c->reply, name);
}

static void update_watch(struct http_client *c)
{
    if (c->watch)
        watch_set(c->watch, (c->is_held ? 0 : LOOP_READ) | (c->out.is_blocked ? LOOP_WRITE : 0));
    if (c->from_watch)
        watch_set(c->from_watch, c->out.is_blocked ? 0 : LOOP_READ);
}

void http_client_hold(struct http_client *c, bool is_held)
{
    c->is_held = is_held;
    if (!c->is_closed)
        update_watch(c);
}

/* --- the response --- */

static void call_head(void *arg, struct http_reply *r, int status)
{
    struct http_client *c = arg;
    if (c->events.on_head)
        c->events.on_head(c->arg, c, status);
    if (c->is_closed)
        http_reply_stop(r);
}

static void call_data(void *arg, struct http_reply *r, const char *data, size_t len)
{
    struct http_client *c = arg;
    c->body_bytes += len;
    c->is_too_long = c->body_max && c->body_bytes > c->body_max;
    if (!c->is_too_long && c->events.on_data)
        c->events.on_data(c->arg, c, data, len);
    if (c->is_closed || c->is_too_long)
        http_reply_stop(r);
}

static const struct http_reply_events reply_events = { .on_head = call_head, .on_data = call_data };

/* --- the connection --- */

static void call_end(struct http_client *c)
{
    int state = http_reply_eof(c->reply);
    if (c->is_closed)
        return;
    if (state == HTTP_REPLY_COMPLETE)
        call_finish(c, NULL);
    else
        call_fail(c, ERR_UPSTREAM, ECONNRESET, http_reply_problem(c->reply));
}

static void call_readable(struct http_client *c)
{
    char piece[READ_BYTES]
        __attribute__((uninitialized)); /* not initialized by the build's -ftrivial-auto-var-init: too expensive here */
    ssize_t n = recv(c->fd, piece, sizeof piece, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        call_fail(c, ERR_UPSTREAM, errno, "read");
        return;
    }
    if (n == 0) {
        call_end(c);
        return;
    }
    int state = http_reply_feed(c->reply, piece, (size_t)n, NULL);
    if (c->is_closed)
        return;
    if (state == HTTP_REPLY_COMPLETE)
        call_finish(c, NULL);
    else if (state == HTTP_REPLY_UPGRADED)
        call_fail(c, ERR_UPSTREAM, EPROTO, "the server switched protocols without a request");
    else if (c->is_too_long)
        call_fail(c, ERR_UPSTREAM, EPROTO, "the response's body is larger than the limit for it");
    else if (state < 0)
        call_fail(c, ERR_UPSTREAM, EPROTO, http_reply_problem(c->reply));
}

/* A server may respond and close before it has read everything. Its response counts, so a write error does not end the
 * call; reading detects the end. */
static void call_unsent(struct http_client *c)
{
    output_queue_done(&c->out);
    body_close(c);
}

static void call_event(void *arg, int events)
{
    struct http_client *c = arg;
    assert(c->magic == CLIENT_MAGIC);
    c->refs++;
    if (events & LOOP_WRITE) {
        if (output_queue_flush(&c->out, c->fd) < 0)
            call_unsent(c);
        update_watch(c);
    }
    if (!c->is_closed && !c->is_held && events & LOOP_READ)
        call_readable(c);
    call_unref(c);
}

/* One piece at a time, and only while the connection takes it: the body may be larger than the memory. */
static void body_event(void *arg, int events)
{
    struct http_client *c = arg;
    char piece[READ_BYTES] __attribute__((uninitialized)); /* as in call_readable() */
    char head[24];
    (void)events;
    ssize_t n = read(c->from, piece, sizeof piece);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        call_fail(c, ERR_INTERNAL, errno, "read the request's body");
        return;
    }
    int len = snprintf(head, sizeof head, "%zx\r\n", (size_t)n);
    const struct iovec pieces[] = { { head, (size_t)len }, { piece, (size_t)n }, { (char[]){ "\r\n" }, 2 } };
    if (output_queue_send(&c->out, c->fd, pieces, 3) < 0)
        call_unsent(c);
    else if (n == 0)
        body_close(c);
    update_watch(c);
}

static void call_dialed(void *arg, int fd, const struct err *err)
{
    struct http_client *c = arg;
    c->dial = NULL;
    if (err) {
        struct err wrapped = *err;
        (void)err_wrap(&wrapped, 0, "%s", c->name);
        call_finish(c, &wrapped);
        return;
    }
    c->fd = fd;
    int r = watch_new(c->loop, fd, LOOP_READ, call_event, c, &c->watch);
    if (r == 0 && c->from >= 0)
        r = watch_new(c->loop, c->from, 0, body_event, c, &c->from_watch);
    if (r == 0 && output_queue_flush(&c->out, fd) < 0)
        call_unsent(c);
    if (r < 0)
        call_fail(c, ERR_INTERNAL, -r, "watch the connection");
    else
        update_watch(c);
}

static void call_timeout(void *arg)
{
    struct http_client *c = arg;
    call_fail(c, ERR_TIMEOUT, ETIMEDOUT, "no complete response in time");
}

/* --- the request --- */

static bool is_line(const char *s)
{
    for (; *s; s++)
        if (((unsigned char)*s < 0x20 && *s != '\t') || *s == 0x7f)
            return false;
    return true;
}

static int make_request(struct http_client *c, const struct http_client_request *req, const struct url *u)
{
    struct buf *b = &c->out.bytes;
    bool is_v6 = strchr(u->host, ':') != NULL;
    int r = buf_addf(b, "%s %s HTTP/1.1\r\nHost: %s%s%s", req->method, u->path, is_v6 ? "[" : "", u->host,
                     is_v6 ? "]" : "");
    if (r == 0 && !req->unix_path)
        r = buf_addf(b, ":%u", u->port);
    if (r == 0)
        r = buf_add_str(b, "\r\nConnection: close\r\n");
    for (const char *const *h = req->headers; r == 0 && h && *h; h++)
        r = is_line(*h) ? buf_addf(b, "%s\r\n", *h) : -EINVAL;
    if (r == 0 && req->body_fd)
        r = buf_add_str(b, "Transfer-Encoding: chunked\r\n");
    else if (r == 0 && (req->body_len || strcmp(req->method, "POST") == 0 || strcmp(req->method, "PUT") == 0))
        r = buf_addf(b, "Content-Length: %zu\r\n", req->body_len);
    if (r == 0)
        r = buf_add_str(b, "\r\n");
    if (r == 0 && req->body_len)
        r = buf_add(b, req->body, req->body_len);
    return r;
}

static int read_target(const struct http_client_request *req, struct url *ret, struct err *err)
{
    if (!*req->method || req->method[strspn(req->method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")])
        return err_set(err, ERR_INVALID, 0, "\"%s\" is not a request method", req->method);
    if (!req->unix_path) {
        if (url_parse_either(req->url, "http", ret) < 0)
            return err_set(err, ERR_INVALID, 0, "\"%s\" is not an address: http:// or https://host:port/path is needed",
                           req->url);
        return 0;
    }
    *ret = (struct url){ .host = "localhost", .path = req->url };
    if (req->url[0] != '/' || !is_line(req->url) || strchr(req->url, ' '))
        return err_set(err, ERR_INVALID, 0, "\"%s\" is not a path: it must begin with \"/\"", req->url);
    return 0;
}

int http_client_start(struct loop *l, const struct http_client_request *req, const struct http_client_events *ev,
                      void *arg, struct http_client **ret, struct err *err)
{
    struct url u = { 0 };
    SSL_CTX *ctx = NULL;
    int r = read_target(req, &u, err);
    if (r == 0 && u.is_secure)
        r = tls_context_client(req->trust, &ctx, err);
    if (r < 0)
        return r;
    struct http_client *c = xzalloc(sizeof *c);
    *c = (struct http_client){ .magic = CLIENT_MAGIC, .refs = 1, .loop = l, .events = *ev, .arg = arg, .fd = NO_FD };
    c->from = NO_FD;
    c->name = xasprintf("%s %.200s", req->method, req->url);
    c->body_max = req->body_max;
    output_queue_init(&c->out);
    c->reply = http_reply_new(strcmp(req->method, "HEAD") == 0, &reply_events, c);
    r = make_request(c, req, &u);
    if (r < 0) {
        (void)tls_context_unref(ctx);
        (void)http_client_free(c);
        return err_set(err, r == -EINVAL ? ERR_INVALID : ERR_INTERNAL, -r,
                       "%s %s: a header holds a line break, or no memory", req->method, req->url);
    }
    c->from = req->body_fd ? *req->body_fd : NO_FD;
    int64_t limit_ms = req->timeout_ms > 0 ? req->timeout_ms : TIMEOUT_MS;
    if (req->timeout_ms >= 0)
        c->timer = timer_new(l, limit_ms, 0, call_timeout, c);
    if (req->unix_path)
        c->dial = dial_unix(l, req->unix_path, limit_ms, call_dialed, c);
    else
        c->dial = dial_tcp(l, &(struct dial_target){ .host = u.host, .port = u.port, .rule = req->rule, .ctx = ctx },
                           limit_ms, call_dialed, c);
    (void)tls_context_unref(ctx);
    *ret = c;
    return 0;
}
