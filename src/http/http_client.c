/* One call. Freed when its reference count ends: callbacks may free the call they come from. */
#include <assert.h>
#include <errno.h>
#include <llhttp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "http/client.h"
#include "http/dial.h"
#include "http/outq.h"
#include "http/url.h"

enum { CLIENT_MAGIC = 0xc11e4701, READ_BYTES = 65536, HEAD_BYTES = 65536, FIELDS_MAX = 100, TIMEOUT_MS = 30000 };

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
    struct outq out;
    llhttp_t parser;
    struct buf head; /* names and values, each ended by a NUL */
    size_t names[FIELDS_MAX], values[FIELDS_MAX];
    unsigned field_count;
    size_t body_max, body_bytes, head_seen;
    int status;
    bool is_name_open, is_closed, is_head_method, is_in_body, is_complete, is_held;
    const char *fail_text;
};

/* --- life --- */

static void unref(struct http_client *c)
{
    assert(c->magic == CLIENT_MAGIC);
    if (--c->refs)
        return;
    c->magic = 0;
    buf_done(&c->head);
    outq_done(&c->out);
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
    if (c->fd >= 0)
        (void)close(steal_fd(&c->fd));
    unref(c);
    return NULL;
}

static void finish(struct http_client *c, const struct err *err)
{
    if (c->is_closed)
        return;
    c->refs++;
    (void)http_client_free(c);
    c->events.on_done(c->arg, c, err);
    unref(c);
}

static void fail(struct http_client *c, enum err_code code, int sys, const char *text)
{
    struct err err = ERR_INIT;
    (void)err_set(&err, code, sys, "%s: %s", c->name, text);
    finish(c, &err);
}

int http_client_status(const struct http_client *c)
{
    return c->status;
}

const char *http_client_header(const struct http_client *c, const char *name)
{
    for (unsigned i = 0; i < c->field_count; i++)
        if (strcasecmp(c->head.data + c->names[i], name) == 0)
            return c->head.data + c->values[i];
    return NULL;
}

static void update_watch(struct http_client *c)
{
    if (c->watch)
        watch_set(c->watch, (c->is_held ? 0 : LOOP_READ) | (c->out.is_blocked ? LOOP_WRITE : 0));
}

void http_client_hold(struct http_client *c, bool is_held)
{
    c->is_held = is_held;
    if (!c->is_closed)
        update_watch(c);
}

/* --- the parser's callbacks --- */

static int refuse(struct http_client *c, const char *text)
{
    c->fail_text = text;
    return HPE_USER;
}

static int add_head(struct http_client *c, const char *at, size_t len)
{
    return buf_add(&c->head, at, len) < 0 ? refuse(c, "the response's head is larger than 64 KiB") : 0;
}

static int on_message_begin(llhttp_t *p)
{
    struct http_client *c = p->data;
    buf_clear(&c->head);
    c->field_count = 0;
    c->is_name_open = c->is_in_body = false;
    return 0;
}

static int on_header_field(llhttp_t *p, const char *at, size_t len)
{
    struct http_client *c = p->data;
    if (c->is_in_body)
        return 0; /* trailers are not wanted */
    if (c->field_count == FIELDS_MAX)
        return refuse(c, "the response has more than 100 headers");
    if (!c->is_name_open)
        c->names[c->field_count] = c->head.len;
    c->is_name_open = true;
    return add_head(c, at, len);
}

static int on_header_field_complete(llhttp_t *p)
{
    struct http_client *c = p->data;
    if (c->is_in_body)
        return 0;
    int r = add_head(c, "", 1);
    c->values[c->field_count] = c->head.len;
    return r;
}

static int on_header_value(llhttp_t *p, const char *at, size_t len)
{
    struct http_client *c = p->data;
    return c->is_in_body ? 0 : add_head(c, at, len);
}

static int on_header_value_complete(llhttp_t *p)
{
    struct http_client *c = p->data;
    if (c->is_in_body)
        return 0;
    c->is_name_open = false;
    c->field_count++;
    return add_head(c, "", 1);
}

static int on_headers_complete(llhttp_t *p)
{
    struct http_client *c = p->data;
    c->is_in_body = true;
    if (p->status_code < 200 && p->status_code != 101)
        return 0; /* an interim answer: the real one follows */
    c->status = p->status_code;
    if (c->events.on_head)
        c->events.on_head(c->arg, c, c->status);
    if (c->is_closed)
        return -1;
    return c->is_head_method ? 1 : 0;
}

static int on_body(llhttp_t *p, const char *at, size_t len)
{
    struct http_client *c = p->data;
    c->body_bytes += len;
    if (c->body_max && c->body_bytes > c->body_max)
        return refuse(c, "the response's body is larger than the limit for it");
    if (c->events.on_data)
        c->events.on_data(c->arg, c, at, len);
    return c->is_closed ? HPE_USER : 0;
}

static int on_message_complete(llhttp_t *p)
{
    struct http_client *c = p->data;
    c->is_complete = c->status != 0;
    return c->is_complete ? HPE_PAUSED : 0;
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_message_begin,
    .on_header_field = on_header_field,
    .on_header_field_complete = on_header_field_complete,
    .on_header_value = on_header_value,
    .on_header_value_complete = on_header_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

/* --- the connection --- */

static void on_end(struct http_client *c)
{
    if (!c->is_complete && c->status)
        (void)llhttp_finish(&c->parser); /* a body that lasts until the end completes here */
    if (c->is_complete)
        finish(c, NULL);
    else
        fail(c, ERR_UPSTREAM, ECONNRESET, "the connection ended before the response did");
}

static void on_readable(struct http_client *c)
{
    char piece[READ_BYTES] __attribute__((uninitialized)); /* the build fills locals, too dear for this one */
    ssize_t n = recv(c->fd, piece, sizeof piece, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        fail(c, ERR_UPSTREAM, errno, "read");
        return;
    }
    if (n == 0) {
        on_end(c);
        return;
    }
    llhttp_errno_t code = llhttp_execute(&c->parser, piece, (size_t)n);
    if (c->is_closed)
        return;
    if (!c->is_in_body)
        c->head_seen += (size_t)n;
    if (c->is_complete)
        finish(c, NULL);
    else if (code == HPE_PAUSED_UPGRADE)
        fail(c, ERR_UPSTREAM, EPROTO, "the server changed the protocol unasked");
    else if (code != HPE_OK)
        fail(c, ERR_UPSTREAM, EPROTO, c->fail_text ? c->fail_text : "the response is not valid HTTP/1.1");
    else if (c->head_seen > HEAD_BYTES)
        fail(c, ERR_UPSTREAM, EPROTO, "the response's head is larger than 64 KiB");
}

static void on_event(void *arg, int events)
{
    struct http_client *c = arg;
    assert(c->magic == CLIENT_MAGIC);
    c->refs++;
    if (events & LOOP_WRITE) {
        /* A server may answer and close before it has read everything: its answer counts, so a broken output is not
         * the end; reading finds that. */
        if (outq_flush(&c->out, c->fd) < 0)
            outq_done(&c->out);
        update_watch(c);
    }
    if (!c->is_closed && !c->is_held && events & LOOP_READ)
        on_readable(c);
    unref(c);
}

static void on_dialed(void *arg, int fd, const struct err *err)
{
    struct http_client *c = arg;
    c->dial = NULL;
    if (err) {
        struct err wrapped = *err;
        (void)err_wrap(&wrapped, 0, "%s", c->name);
        finish(c, &wrapped);
        return;
    }
    c->fd = fd;
    int r = watch_new(c->loop, fd, LOOP_READ, on_event, c, &c->watch);
    if (r == 0 && outq_flush(&c->out, fd) < 0)
        outq_done(&c->out); /* as in on_event() */
    if (r < 0)
        fail(c, ERR_INTERNAL, -r, "watch the connection");
    else
        update_watch(c);
}

static void on_timeout(void *arg)
{
    struct http_client *c = arg;
    fail(c, ERR_TIMEOUT, ETIMEDOUT, "no complete response in time");
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
    if (r == 0 && (req->body_len || strcmp(req->method, "POST") == 0 || strcmp(req->method, "PUT") == 0))
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
        return err_set(err, ERR_INVALID, 0, "\"%s\" is no request method", req->method);
    if (!req->unix_path) {
        if (url_parse(req->url, "http", 80, ret) < 0)
            return err_set(err, ERR_INVALID, 0, "\"%s\" is no address: http://host:port/path is needed", req->url);
        return 0;
    }
    *ret = (struct url){ .host = "localhost", .path = req->url };
    if (req->url[0] != '/' || !is_line(req->url) || strchr(req->url, ' '))
        return err_set(err, ERR_INVALID, 0, "\"%s\" is no path: it must begin with \"/\"", req->url);
    return 0;
}

int http_client_start(struct loop *l, const struct http_client_request *req, const struct http_client_events *ev,
                      void *arg, struct http_client **ret, struct err *err)
{
    struct url u;
    int r = read_target(req, &u, err);
    if (r < 0)
        return r;
    struct http_client *c = xzalloc(sizeof *c);
    *c = (struct http_client){ .magic = CLIENT_MAGIC, .refs = 1, .loop = l, .events = *ev, .arg = arg, .fd = NO_FD };
    c->name = xasprintf("%s %.200s", req->method, req->url);
    c->head = (struct buf)BUF_INIT(HEAD_BYTES);
    c->body_max = req->body_max;
    c->is_head_method = strcmp(req->method, "HEAD") == 0;
    outq_init(&c->out);
    llhttp_init(&c->parser, HTTP_RESPONSE, &settings);
    c->parser.data = c;
    r = make_request(c, req, &u);
    if (r < 0) {
        (void)http_client_free(c);
        return err_set(err, r == -EINVAL ? ERR_INVALID : ERR_INTERNAL, -r,
                       "%s %s: a header holds a line break, or no memory", req->method, req->url);
    }
    int64_t limit_ms = req->timeout_ms > 0 ? req->timeout_ms : TIMEOUT_MS;
    if (req->timeout_ms >= 0)
        c->timer = timer_new(l, limit_ms, 0, on_timeout, c);
    c->dial = req->unix_path ? dial_unix(l, req->unix_path, limit_ms, on_dialed, c)
                             : dial_tcp(l, u.host, u.port, limit_ms, on_dialed, c);
    *ret = c;
    return 0;
}
