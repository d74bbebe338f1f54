#include "http/http_requests.h"

#include <errno.h>
#include <llhttp.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "http/http_rules.h"
#include "http/httplines.h"

enum { HEAD_BYTES = 65536, FIELDS_MAX = 200 };

struct http_requests {
    http_requests_fn *fn;
    void *arg;
    llhttp_t parser;
    struct httplines lines;
    struct httplines_request request_line;
    struct buf head; /* as in struct http_rules_head */
    struct http_rules_field fields[FIELDS_MAX];
    unsigned field_count;
    size_t held; /* bytes of the head so far, none of which may be sent */
    bool is_name_open, is_past_head, is_paused_at_head, is_paused_at_end;
    const char *problem;
};

static int requests_fail(struct http_requests *r, const char *text)
{
    if (!r->problem)
        r->problem = text;
    return HPE_USER;
}

static int add_head(llhttp_t *p, const char *at, size_t len)
{
    struct http_requests *r = p->data;
    return buf_add(&r->head, at, len) < 0 ? requests_fail(r, "the request's head is larger than 64 KiB") : 0;
}

static int on_url_complete(llhttp_t *p)
{
    return add_head(p, "", 1);
}

static int on_header_field(llhttp_t *p, const char *at, size_t len)
{
    struct http_requests *r = p->data;
    if (r->is_past_head)
        return 0; /* trailers name no host */
    if (r->field_count == FIELDS_MAX)
        return requests_fail(r, "the request has more than 200 headers");
    if (!r->is_name_open)
        r->fields[r->field_count].name = (uint32_t)r->head.len;
    r->is_name_open = true;
    return add_head(p, at, len);
}

static int on_header_field_complete(llhttp_t *p)
{
    struct http_requests *r = p->data;
    if (r->is_past_head)
        return 0;
    int e = add_head(p, "", 1);
    r->fields[r->field_count].value = (uint32_t)r->head.len;
    return e;
}

static int on_header_value(llhttp_t *p, const char *at, size_t len)
{
    const struct http_requests *r = p->data;
    return r->is_past_head ? 0 : add_head(p, at, len);
}

static int on_header_value_complete(llhttp_t *p)
{
    struct http_requests *r = p->data;
    if (r->is_past_head)
        return 0;
    while (r->head.len > r->fields[r->field_count].value && strchr(" \t", r->head.data[r->head.len - 1]))
        r->head.len--;
    r->is_name_open = false;
    r->field_count++;
    return add_head(p, "", 1);
}

static int on_headers_complete(llhttp_t *p)
{
    struct http_requests *r = p->data;
    r->is_paused_at_head = true;
    p->upgrade = 0; /* what follows is a body or a request until the server has switched */
    return HPE_PAUSED;
}

static int on_body(llhttp_t *p, const char *at, size_t len)
{
    struct http_requests *r = p->data;
    return httplines_skip(&r->lines, at, len) ? 0 : requests_fail(r, "a line does not end in CR LF");
}

static int on_message_complete(llhttp_t *p)
{
    struct http_requests *r = p->data;
    r->is_paused_at_end = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_url = add_head,
    .on_url_complete = on_url_complete,
    .on_header_field = on_header_field,
    .on_header_field_complete = on_header_field_complete,
    .on_header_value = on_header_value,
    .on_header_value_complete = on_header_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

static void next_message(struct http_requests *r)
{
    llhttp_init(&r->parser, HTTP_REQUEST, &settings);
    r->parser.data = r;
    r->lines = (struct httplines){ 0 };
    r->request_line = (struct httplines_request){ 0 };
    buf_clear(&r->head);
    r->field_count = 0;
    r->held = 0;
    r->is_name_open = r->is_past_head = r->is_paused_at_head = r->is_paused_at_end = false;
}

struct http_requests *http_requests_new(http_requests_fn *fn, void *arg)
{
    struct http_requests *r = xzalloc(sizeof *r);
    r->fn = fn;
    r->arg = arg;
    buf_init(&r->head, HEAD_BYTES);
    next_message(r);
    return r;
}

struct http_requests *http_requests_free(struct http_requests *r)
{
    if (r) {
        buf_done(&r->head);
        free(r);
    }
    return NULL;
}

const char *http_requests_problem(const struct http_requests *r)
{
    return r->problem ? r->problem : "";
}

static int check_head(struct http_requests *r)
{
    const struct http_rules_head h = { buf_text(&r->head), r->fields, r->field_count, r->parser.http_minor == 0 };
    struct http_rules_problem why;
    size_t path;
    if (r->parser.http_major != 1 || r->parser.http_minor > 1)
        return requests_fail(r, "the request is not HTTP/1.1 or HTTP/1.0");
    if (r->parser.method == HTTP_CONNECT)
        return requests_fail(r, "CONNECT leads to another host");
    if (!http_rules_fields(&h, &why) || !http_rules_target(&h, &path, &why))
        return requests_fail(r, why.text);
    const char *upgrade = http_rules_value(&h, "upgrade");
    const struct http_requests_head head = { .method = llhttp_method_name((llhttp_method_t)r->parser.method),
                                             .target = h.text,
                                             .host = http_rules_value(&h, "host"),
                                             .is_upgrade = upgrade != NULL,
                                             .is_websocket = upgrade && strcasecmp(upgrade, "websocket") == 0 };
    return r->fn(r->arg, &head) ? 0 : requests_fail(r, "the host that the request names is not allowed");
}

/* One run of the parser. 0, or -EPROTO. */
static int requests_step(struct http_requests *r, const char *data, size_t len, size_t *ret_used)
{
    r->is_paused_at_head = r->is_paused_at_end = false;
    if (llhttp_get_errno(&r->parser) == HPE_PAUSED)
        llhttp_resume(&r->parser);
    r->lines.at = data;
    llhttp_errno_t code = llhttp_execute(&r->parser, data, len);
    const char *stop = code == HPE_OK ? NULL : llhttp_get_error_pos(&r->parser);
    size_t used = stop && stop >= data && stop <= data + len ? (size_t)(stop - data) : len;
    *ret_used = used;
    if (!httplines_check(&r->lines, data + used) ||
        (!r->is_past_head && !httplines_request(&r->request_line, data, used)))
        (void)requests_fail(r, "a request begins with one line, and all lines end in CR LF");
    else if (code != HPE_OK && code != HPE_PAUSED)
        (void)requests_fail(r, "not a valid HTTP/1.1 request");
    return r->problem ? -EPROTO : 0;
}

int http_requests_feed(struct http_requests *r, const char *data, size_t len, size_t *ret_pass)
{
    *ret_pass = 0;
    for (size_t at = 0, used; at < len; at += used) {
        if (requests_step(r, data + at, len - at, &used) < 0)
            return -EPROTO;
        if (r->is_past_head)
            *ret_pass += used;
        else if ((r->held += used) > HEAD_BYTES)
            return requests_fail(r, "the request's head is larger than 64 KiB") ? -EPROTO : 0;
        if (r->is_paused_at_head) {
            if (check_head(r) != 0)
                return -EPROTO;
            *ret_pass += r->held;
            r->held = 0;
            r->is_past_head = true;
        }
        if (r->is_paused_at_end)
            next_message(r);
    }
    return 0;
}
