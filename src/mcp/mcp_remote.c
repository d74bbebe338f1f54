#include "mcp/mcp_remote.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/warnings.h"
#include "http/client.h"
#include "mcp/mcp_path.h"

#define ANSWER_MAX ((size_t)256 << 20) /* the longest output a server keeps, escaped, and room to spare */
#define EVENT_MAX  ((size_t)16 << 20)

struct mcp_remote {
    struct loop *loop;
    char *url, *prefix, *auth;
    const struct tls_context_trust *trust;
    struct mcp_backend back;
};

struct call {
    struct mcp_remote *remote;
    struct mcp_backend_sink sink;
    struct http_client *client; /* NULL: it could not even be begun */
    struct buf body;            /* of a stream: the line that is still arriving */
    bool is_stream;
    bool is_dropped;
    struct err err; /* what was wrong with its beginning */
};

static void call_free(struct call *c)
{
    buf_done(&c->body);
    free(c);
}

static void remote_finish(struct call *c, int status, json_t *body)
{
    struct mcp_backend_sink sink = c->sink;
    call_free(c);
    sink.done(sink.arg, status, body);
}

static void remote_fail(struct call *c, const struct err *err)
{
    JSON_OWNED body =
        json_pack("{s:o}", "error",
                  json_sprintf("no iii-sandbox server answers at %s: %s. Start one with `iii serve`, or say "
                               "where it is with --server or III_SANDBOX_URL",
                               c->remote->url, err->msg));
    remote_finish(c, 0, body);
}

/* --- the answer --- */

static void on_data(void *arg, struct http_client *client, const char *data, size_t len)
{
    static const char mark[] = "data: ";
    const size_t mark_len = sizeof(mark) - 1;
    struct call *c = arg;
    bool is_events = c->is_stream && http_client_status(client) == 200;
    if (!is_events) {
        (void)buf_add(&c->body, data, len); /* the client's own limit is the same */
        return;
    }
    while (len > 0) {
        const char *end = memchr(data, '\n', len);
        size_t piece = end ? (size_t)(end - data) : len;
        (void)buf_add(&c->body, data, piece); /* a line past the limit is not valid JSON then, and is skipped */
        if (end) {
            JSON_OWNED event = NULL;
            if (c->body.len > mark_len && strncmp(c->body.data, mark, mark_len) == 0 &&
                json_read(c->body.data + mark_len, c->body.len - mark_len, &event, NULL) == 0)
                c->sink.on_event(c->sink.arg, event);
            buf_clear(&c->body);
        }
        data += piece + (end != NULL);
        len -= piece + (end != NULL);
    }
}

static void on_response_done(void *arg, struct http_client *client, const struct err *err)
{
    struct call *c = arg;
    JSON_OWNED body = NULL;
    c->client = NULL;
    if (err) {
        remote_fail(c, err);
        return;
    }
    const char *text = http_client_header(client, "iii-warnings");
    JSON_OWNED warnings = NULL;
    if (text && json_read(text, strlen(text), &warnings, NULL) == 0)
        warnings_add_all(c->sink.warnings, warnings);
    int status = http_client_status(client);
    bool is_good = status >= 200 && status < 300;
    if (c->is_stream && is_good) {
        body = json_null();
    } else if (json_read(buf_text(&c->body), c->body.len, &body, NULL) < 0) {
        body = json_pack("{s:s}", "error", "the response is not JSON: is that an iii-sandbox server?");
        is_good = false;
    }
    remote_finish(c, is_good || status >= 400 ? status : err_status(ERR_UPSTREAM), body);
}

/* --- the request --- */

static void fail_later(void *arg)
{
    struct call *c = arg;
    if (c->is_dropped)
        call_free(c);
    else
        remote_fail(c, &c->err);
}

static void *remote_start(void *arg, enum op_id id, const json_t *params, const struct mcp_backend_sink *sink)
{
    static const struct http_client_events events = { .on_data = on_data, .on_done = on_response_done };
    struct mcp_remote *m = arg;
    const struct op *op = &spec_ops[id];
    CLEANUP(free_p) char *path = mcp_path_with_query(op, params, m->prefix);
    CLEANUP(free_p) char *url = xasprintf("%s%s", m->url, path);
    JSON_OWNED body = mcp_path_body(op, params);
    CLEANUP(free_p) char *text = body ? json_write(body, NULL) : NULL;
    CLEANUP(free_p) char *trace = sink->traceparent ? xasprintf("traceparent: %s", sink->traceparent) : NULL;
    const char *headers[] = { "Content-Type: application/json", m->auth ? m->auth : trace, m->auth ? trace : NULL,
                              NULL };
    struct http_client_request req = { .method = op->method,
                                       .url = url,
                                       .headers = headers,
                                       .body = text,
                                       .body_len = text ? strlen(text) : 0,
                                       .timeout_ms = -1,
                                       .body_max = op->flags & OP_STREAM ? 0 : ANSWER_MAX,
                                       .trust = m->trust,
                                       .rule = outgoing_any };
    struct call *c = xzalloc(sizeof(*c));
    *c = (struct call){ .remote = m, .sink = *sink, .is_stream = op->flags & OP_STREAM };
    buf_init(&c->body, c->is_stream ? EVENT_MAX : ANSWER_MAX);
    if (http_client_start(m->loop, &req, &events, c, &c->client, &c->err) < 0)
        loop_defer(m->loop, fail_later, c);
    return c;
}

static void remote_drop(void *arg, void *handle)
{
    struct call *c = handle;
    c->is_dropped = true;
    if (!c->client)
        return; /* fail_later() is on its way */
    c->client = http_client_free(c->client);
    call_free(c);
}

struct mcp_remote *mcp_remote_new(struct loop *l, const struct mcp_remote_where *where)
{
    struct mcp_remote *m = xzalloc(sizeof(*m));
    size_t len = strlen(where->url);
    while (len && where->url[len - 1] == '/')
        len--;
    m->loop = l;
    m->url = xstrndup(where->url, len);
    m->prefix = xstrdup(where->prefix);
    m->auth = where->token && *where->token ? xasprintf("Authorization: Bearer %s", where->token) : NULL;
    m->trust = where->trust;
    m->back = (struct mcp_backend){ .arg = m, .prefix = m->prefix, .start = remote_start, .drop = remote_drop };
    return m;
}

struct mcp_remote *mcp_remote_free(struct mcp_remote *m)
{
    if (m) {
        free(m->url);
        free(m->prefix);
        free(m->auth);
        free(m);
    }
    return NULL;
}

const struct mcp_backend *mcp_remote_back(const struct mcp_remote *m)
{
    return &m->back;
}
