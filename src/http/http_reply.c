#include "http/http_reply.h"

#include <errno.h>
#include <llhttp.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "http/httplines.h"

enum { HEAD_BYTES = 65536, FIELDS_MAX = 100 };

struct http_reply {
    struct http_reply_events events;
    void *arg;
    llhttp_t parser;
    struct httplines lines;
    struct buf head; /* names and values, each ended by a NUL */
    size_t names[FIELDS_MAX], values[FIELDS_MAX];
    unsigned field_count;
    size_t head_seen;
    int status;
    bool is_name_open, is_head_method, is_in_body, is_complete, is_stopped;
    const char *problem;
};

static const char bad_line[] = "lines of a response end in CR LF and do not begin with a space or tab";

/* --- the parser's callbacks --- */

static int reply_fail(struct http_reply *r, const char *text)
{
    r->problem = text;
    return HPE_USER;
}

static int add_head(struct http_reply *r, const char *at, size_t len)
{
    return buf_add(&r->head, at, len) < 0 ? reply_fail(r, "the response's head is larger than 64 KiB") : 0;
}

static int on_message_begin(llhttp_t *p)
{
    struct http_reply *r = p->data;
    buf_clear(&r->head);
    r->field_count = 0;
    r->is_name_open = r->is_in_body = false;
    return 0;
}

static int on_header_field(llhttp_t *p, const char *at, size_t len)
{
    struct http_reply *r = p->data;
    if (r->is_in_body)
        return 0; /* trailers are ignored */
    if (r->field_count == FIELDS_MAX)
        return reply_fail(r, "the response has more than 100 headers");
    if (!r->is_name_open)
        r->names[r->field_count] = r->head.len;
    r->is_name_open = true;
    return add_head(r, at, len);
}

static int on_header_field_complete(llhttp_t *p)
{
    struct http_reply *r = p->data;
    if (r->is_in_body)
        return 0;
    int e = add_head(r, "", 1);
    r->values[r->field_count] = r->head.len;
    return e;
}

static int on_header_value(llhttp_t *p, const char *at, size_t len)
{
    struct http_reply *r = p->data;
    return r->is_in_body ? 0 : add_head(r, at, len);
}

static int on_header_value_complete(llhttp_t *p)
{
    struct http_reply *r = p->data;
    if (r->is_in_body)
        return 0;
    while (r->head.len > r->values[r->field_count] && strchr(" \t", r->head.data[r->head.len - 1]))
        r->head.len--;
    r->is_name_open = false;
    r->field_count++;
    return add_head(r, "", 1);
}

/* What llhttp accepts and another reader might read in another way. */
static int check_head(struct http_reply *r, const llhttp_t *p)
{
    const char *name, *value;
    unsigned encodings = 0;
    bool is_interim = p->status_code < 200;
    if (p->http_major != 1 || p->http_minor > 1 || p->status_code < 100)
        return reply_fail(r, "the response is not HTTP/1.1 or HTTP/1.0 with a status from 100 on");
    for (size_t i = 0; http_reply_header_at(r, i, &name, &value); i++) {
        if (!httplines_is_field(name, value))
            return reply_fail(r, "a header's name or value holds a byte that is not allowed");
        if (strcasecmp(name, "transfer-encoding") == 0 && (encodings++ || strcasecmp(value, "chunked") != 0))
            return reply_fail(r, "Transfer-Encoding must be exactly \"chunked\"");
    }
    if (encodings && (p->http_minor == 0 || is_interim))
        return reply_fail(r, "neither HTTP/1.0 nor an interim response has a Transfer-Encoding");
    if (encodings && !(p->flags & F_CHUNKED)) /* llhttp knows "chunked" before spaces only: it would read to the end */
        return reply_fail(r, "Transfer-Encoding must be exactly \"chunked\", without a tab behind it");
    if (p->flags & F_CONTENT_LENGTH && p->content_length > (is_interim ? 0 : (uint64_t)INT64_MAX))
        return reply_fail(r, "Content-Length is out of range");
    return 0;
}

static int on_headers_complete(llhttp_t *p)
{
    struct http_reply *r = p->data;
    if (check_head(r, p) != 0)
        return -1;
    if (p->status_code < 200 && p->status_code != 101)
        return 0; /* an interim response: the final one follows */
    r->is_in_body = true;
    r->status = p->status_code;
    if (r->events.on_head)
        r->events.on_head(r->arg, r, r->status);
    if (r->is_stopped)
        return -1;
    return r->is_head_method || r->status == 204 || r->status == 304; /* no body, whatever the head says */
}

static int reply_body(llhttp_t *p, const char *at, size_t len)
{
    struct http_reply *r = p->data;
    if (!httplines_skip(&r->lines, at, len))
        return reply_fail(r, bad_line);
    if (r->events.on_data)
        r->events.on_data(r->arg, r, at, len);
    return r->is_stopped ? HPE_USER : 0;
}

static int on_message_complete(llhttp_t *p)
{
    struct http_reply *r = p->data;
    r->is_complete = r->status != 0;
    return r->is_complete && !p->upgrade ? HPE_PAUSED : 0; /* the parser pauses on an upgrade, after the head */
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_message_begin,
    .on_header_field = on_header_field,
    .on_header_field_complete = on_header_field_complete,
    .on_header_value = on_header_value,
    .on_header_value_complete = on_header_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = reply_body,
    .on_message_complete = on_message_complete,
};

/* --- interface --- */

struct http_reply *http_reply_new(bool is_head_method, const struct http_reply_events *ev, void *arg)
{
    struct http_reply *r = xzalloc(sizeof *r);
    r->events = *ev;
    r->arg = arg;
    r->is_head_method = is_head_method;
    buf_init(&r->head, HEAD_BYTES);
    llhttp_init(&r->parser, HTTP_RESPONSE, &settings);
    r->parser.data = r;
    return r;
}

struct http_reply *http_reply_free(struct http_reply *r)
{
    if (r) {
        buf_done(&r->head);
        free(r);
    }
    return NULL;
}

static int broken(struct http_reply *r, const char *text)
{
    if (!r->problem)
        r->problem = text;
    return -EPROTO;
}

int http_reply_feed(struct http_reply *r, const char *data, size_t len, size_t *ret_used)
{
    r->lines.at = data;
    llhttp_errno_t code = llhttp_execute(&r->parser, data, len);
    const char *stop = code == HPE_OK ? NULL : llhttp_get_error_pos(&r->parser);
    size_t used = stop && stop >= data && stop <= data + len ? (size_t)(stop - data) : len;
    if (ret_used)
        *ret_used = used;
    if (r->is_stopped)
        return HTTP_REPLY_STOPPED;
    if (!httplines_check(&r->lines, data + used))
        return broken(r, bad_line);
    if (code == HPE_PAUSED_UPGRADE && r->status == 101)
        return HTTP_REPLY_UPGRADED;
    if (r->is_complete && r->status == 101)
        return broken(r, "the response changes the protocol without naming the new one");
    if (r->is_complete)
        return HTTP_REPLY_COMPLETE;
    if (code != HPE_OK)
        return broken(r, "the response is not valid HTTP/1.1");
    if (!r->is_in_body)
        r->head_seen += len; /* white space and interim heads never reach the buffer, so raw bytes are limited too */
    return r->head_seen > HEAD_BYTES ? broken(r, "the response's head is larger than 64 KiB") : HTTP_REPLY_MORE;
}

int http_reply_eof(struct http_reply *r)
{
    if (!r->is_complete && r->status && !r->is_stopped)
        (void)llhttp_finish(&r->parser); /* a body without a length ends here */
    return r->is_complete ? HTTP_REPLY_COMPLETE : broken(r, "the connection ended before the response did");
}

void http_reply_stop(struct http_reply *r)
{
    r->is_stopped = true;
}

const char *http_reply_problem(const struct http_reply *r)
{
    return r->problem ? r->problem : "";
}

int http_reply_status(const struct http_reply *r)
{
    return r->status;
}

bool http_reply_header_at(const struct http_reply *r, size_t i, const char **ret_name, const char **ret_value)
{
    if (i >= r->field_count)
        return false;
    *ret_name = r->head.data + r->names[i];
    *ret_value = r->head.data + r->values[i];
    return true;
}

const char *http_reply_header(const struct http_reply *r, const char *name)
{
    const char *one, *value;
    for (size_t i = 0; http_reply_header_at(r, i, &one, &value); i++)
        if (strcasecmp(one, name) == 0)
            return value;
    return NULL;
}
