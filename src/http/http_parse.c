/* llhttp behind three functions. Theory of operation. The parser pauses at the end of the head and at the end of the
 * message, so that users' functions run outside of it; each message starts with a fresh parser. llhttp accepts some
 * bytes that two servers could read in two ways (httplines.h, http_parse_check_head()); those are rejected on the raw
 * bytes. The request owns the copied head, the connection owns the parser. On failure fail_status and fail_text are
 * set, and the connection replies and closes. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "http/http_conn.h"

static const char bad_line[] = "lines of a request end in CR LF and do not begin with a space or tab";

static int parse_fail(struct http_conn *c, int status, const char *text)
{
    if (!c->fail_status) {
        c->fail_status = status;
        c->fail_text = text;
    }
    return -EINVAL;
}

/* Fails from a parser callback. */
static int callback_fail(llhttp_t *p, int status, const char *text)
{
    struct http_conn *c = p->data;
    (void)parse_fail(c, status, text);
    return HPE_USER;
}

static bool is_in_head(const struct http_conn *c)
{
    return c->phase == HTTP_PHASE_IDLE || c->phase == HTTP_PHASE_HEAD;
}

static int add_head(llhttp_t *p, const char *at, size_t len)
{
    struct http_conn *c = p->data;
    struct http_req *r = c->req;
    const struct http_limits *lim = &c->server->limits;
    if (r->head.len + len > lim->head_bytes || buf_add(&r->head, at, len) < 0)
        return callback_fail(p, 431, "request head is larger than the server's limit: send fewer or shorter headers");
    return 0;
}

/* Terminates the string that add_head() has built. */
static int end_string(llhttp_t *p)
{
    return add_head(p, "", 1);
}

static int count_side(llhttp_t *p, size_t len)
{
    struct http_conn *c = p->data;
    c->side_bytes += len;
    if (c->side_bytes > c->server->limits.head_bytes)
        return callback_fail(p, 413, "chunk extensions and trailers are larger than the limit for headers");
    return 0;
}

static int parse_url(llhttp_t *p, const char *at, size_t len)
{
    struct http_conn *c = p->data;
    c->url_bytes += len;
    if (c->url_bytes > c->server->limits.url_bytes)
        return callback_fail(p, 414, "URL is longer than the server's limit: move data into the body");
    return add_head(p, at, len);
}

static int on_url_complete(llhttp_t *p)
{
    return end_string(p);
}

static int on_header_field(llhttp_t *p, const char *at, size_t len)
{
    struct http_conn *c = p->data;
    struct http_req *r = c->req;
    if (!is_in_head(c))
        return count_side(p, len + 4);
    if (r->field_count >= c->server->limits.header_count)
        return callback_fail(p, 431, "more headers than the server's limit");
    if (!r->fields[r->field_count].name)
        r->fields[r->field_count].name = (uint32_t)r->head.len; /* never 0: the URL comes first */
    return add_head(p, at, len);
}

static int on_header_field_complete(llhttp_t *p)
{
    struct http_conn *c = p->data;
    struct http_req *r = c->req;
    if (!is_in_head(c))
        return 0;
    if (end_string(p) != 0)
        return HPE_USER;
    r->fields[r->field_count].value = (uint32_t)r->head.len;
    return 0;
}

static int on_header_value(llhttp_t *p, const char *at, size_t len)
{
    struct http_conn *c = p->data;
    return is_in_head(c) ? add_head(p, at, len) : count_side(p, len);
}

static int on_header_value_complete(llhttp_t *p)
{
    struct http_conn *c = p->data;
    struct http_req *r = c->req;
    if (!is_in_head(c))
        return 0;
    size_t start = r->fields[r->field_count].value;
    while (r->head.len > start && (r->head.data[r->head.len - 1] == ' ' || r->head.data[r->head.len - 1] == '\t'))
        r->head.len--;
    if (end_string(p) != 0)
        return HPE_USER;
    r->fields[++r->field_count].name = 0; /* the table has one entry more than the limit */
    return 0;
}

static int on_headers_complete(llhttp_t *p)
{
    struct http_conn *c = p->data;
    c->is_paused_at_head = true;
    p->upgrade = 0; /* an upgrade is the application's choice (http_req_take()), never the parser's */
    return HPE_PAUSED;
}

static int on_chunk_extension(llhttp_t *p, const char *at, size_t len)
{
    (void)at;
    return count_side(p, len);
}

static int parse_body(llhttp_t *p, const char *at, size_t len)
{
    struct http_conn *c = p->data;
    struct http_req *r = c->req;
    if (!httplines_skip(&c->lines, at, len))
        return callback_fail(p, 400, bad_line);
    if (!len)
        return 0; /* resumed inside a piece before more of it came: for data_fn an empty piece means the end */
    c->body_bytes += len;
    if (c->is_discarding)
        return c->body_bytes > HTTP_STASH_BYTES ? callback_fail(p, 413, "body after the reply") : 0;
    if (c->body_bytes > r->rule.max_bytes)
        return callback_fail(p, 413, "request body is larger than this operation's limit");
    if (!r->rule.is_streamed)
        return buf_add(&r->body, at, len) < 0 ? callback_fail(p, 503, "no memory for the request body") : 0;
    if (r->data_fn)
        r->data_fn(r->data_arg, at, (ssize_t)len);
    if (c->is_closed || c->req != r)
        return HPE_USER; /* aborted, or the last reply is sent: r may be freed */
    return r->is_held ? HPE_PAUSED : 0;
}

static int on_message_complete(llhttp_t *p)
{
    struct http_conn *c = p->data;
    c->is_paused_at_end = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_url = parse_url,
    .on_url_complete = on_url_complete,
    .on_header_field = on_header_field,
    .on_header_field_complete = on_header_field_complete,
    .on_header_value = on_header_value,
    .on_header_value_complete = on_header_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_chunk_extension_name = on_chunk_extension,
    .on_chunk_extension_value = on_chunk_extension,
    .on_body = parse_body,
    .on_message_complete = on_message_complete,
};

void http_parse_start(struct http_conn *c)
{
    llhttp_init(&c->parser, HTTP_REQUEST, &settings);
    c->parser.data = c;
    c->head_bytes = c->url_bytes = 0;
    c->body_bytes = c->side_bytes = 0;
    c->body_ms = 0;
    c->lines = (struct httplines){ 0 };
    c->request_line = (struct httplines_request){ 0 };
    c->fail_status = 0;
    c->fail_text = NULL;
    c->is_paused_at_head = c->is_paused_at_end = c->is_discarding = false;
}

static int explain_error(struct http_conn *c, llhttp_errno_t code)
{
    switch ((int)code) {
    case HPE_INVALID_METHOD:
        return parse_fail(c, 501, "request method is not known");
    case HPE_INVALID_VERSION:
        if (c->parser.http_major == 1 && c->parser.http_minor <= 1)
            return parse_fail(c, 400, bad_line); /* the version is right, what follows it is not */
        return parse_fail(c, 505, "only HTTP/1.1 and HTTP/1.0 are served here");
    case HPE_PAUSED_H2_UPGRADE:
        c->is_http2 = true;
        return parse_fail(c, 505, "HTTP/2 is not served here: use HTTP/1.1");
    case HPE_UNEXPECTED_CONTENT_LENGTH:
    case HPE_INVALID_CONTENT_LENGTH:
        return parse_fail(c, 400, "Content-Length must be one decimal number, without Transfer-Encoding");
    case HPE_INVALID_TRANSFER_ENCODING:
        return parse_fail(c, 400, "Transfer-Encoding must be exactly \"chunked\"");
    case HPE_INVALID_HEADER_TOKEN:
        return parse_fail(c, 400, "a header name or value holds a byte that is not allowed");
    case HPE_INVALID_URL:
        return parse_fail(c, 400, "request target is not a valid URL: percent-encode other bytes");
    case HPE_INVALID_CHUNK_SIZE:
        return parse_fail(c, 400, "chunk size is not a hexadecimal number in range");
    case HPE_STRICT:
    case HPE_CR_EXPECTED:
    case HPE_LF_EXPECTED:
        return parse_fail(c, 400, bad_line);
    default:
        return parse_fail(c, 400, "not a valid HTTP/1.1 request");
    }
}

int http_parse_run(struct http_conn *c, const char *data, size_t len, size_t *ret_used)
{
    bool was_in_head = is_in_head(c);
    c->is_paused_at_head = c->is_paused_at_end = c->can_step = false;
    if (llhttp_get_errno(&c->parser) == HPE_PAUSED)
        llhttp_resume(&c->parser);
    c->lines.at = data;
    llhttp_errno_t code = llhttp_execute(&c->parser, data, len);
    size_t used = len;
    if (code != HPE_OK && llhttp_get_error_pos(&c->parser))
        used = (size_t)(llhttp_get_error_pos(&c->parser) - data);
    *ret_used = used < len ? used : len;
    if (!httplines_check(&c->lines, data + *ret_used))
        return parse_fail(c, 400, bad_line);
    if (was_in_head && !httplines_request(&c->request_line, data, *ret_used))
        return parse_fail(c, 400,
                          "a request begins with one line: METHOD target HTTP/1.1, with one space between them");
    if (code == HPE_PAUSED)
        return HPE_PAUSED;
    if (code != HPE_OK)
        return c->fail_status ? -EINVAL : explain_error(c, code);
    if (was_in_head) {
        /* White space and empty lines never reach a callback, so raw bytes are limited too. */
        c->head_bytes += len;
        if (c->head_bytes > c->server->limits.head_bytes)
            return parse_fail(c, 431, "request head is larger than the server's limit: send fewer or shorter headers");
    }
    return 0;
}

/* --- checks on the complete head --- */

/* Splits the target into path and query; removes scheme and host of the absolute form. */
static int split_target(struct http_conn *c, const struct http_rules_head *h)
{
    struct http_req *r = c->req;
    struct http_rules_problem why;
    size_t at = 0;
    if (!http_rules_target(h, &at, &why))
        return parse_fail(c, why.status, why.text);
    char *url = r->head.data, *path = url + at;
    char *question = strchr(path, '?');
    if (question) {
        *question = '\0';
        r->query = (uint32_t)(question + 1 - url);
    } else {
        r->query = (uint32_t)strlen(url); /* the NUL behind the URL */
    }
    if (path != url && *path == '\0')
        *--path = '/'; /* http://host and http://host?x have an empty path; the byte before it is no longer needed */
    if (*path != '/' && strcmp(path, "*") != 0)
        return parse_fail(c, 400, "request target must begin with \"/\"");
    r->path = (uint32_t)(path - url);
    return 0;
}

int http_parse_check_head(struct http_conn *c)
{
    struct http_req *r = c->req;
    struct http_rules_problem why;
    if (c->parser.http_major != 1 || c->parser.http_minor > 1)
        return parse_fail(c, 505, "only HTTP/1.1 and HTTP/1.0 are served here");
    r->is_http10 = c->parser.http_minor == 0;
    r->method = llhttp_method_name((llhttp_method_t)c->parser.method);
    r->is_head = c->parser.method == HTTP_HEAD;
    r->is_keep_alive = llhttp_should_keep_alive(&c->parser) != 0;
    if (c->parser.method == HTTP_CONNECT)
        return parse_fail(c, 501, "CONNECT is not supported: this is not a proxy");
    const struct http_rules_head head = { r->head.data, r->fields, r->field_count, r->is_http10 };
    if (split_target(c, &head) < 0)
        return -EINVAL;
    if (!http_rules_fields(&head, &why))
        return parse_fail(c, why.status, why.text);
    for (unsigned i = 0; i < r->field_count; i++) {
        if (strcasecmp(r->head.data + r->fields[i].name, "expect") != 0)
            continue;
        if (strcasecmp(r->head.data + r->fields[i].value, "100-continue") != 0)
            return parse_fail(c, 417, "the only expectation served is 100-continue");
        r->wants_continue = !r->is_http10;
    }
    return 0;
}
