/* Handlers of the proxy: the JSON envelope and the settings. What passes through as it is, is in raw_proxy.c. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/api_core.h"
#include "api/handlers.h"
#include "api/raw_proxy.h"
#include "base/alloc.h"
#include "sandbox/net/ports.h"
#include "sandbox/net/upstream.h"

#define MIB        1048576
#define METHOD_MAX 16
#define HEAD_MAX   (128 * 1024)

struct envelope {
    struct call *call;
    struct upstream *up;
    char method[METHOD_MAX + 1];
    char *url;
    json_t *headers; /* of the response; NULL until its head is here */
    int status;
    struct buf body;
    bool is_too_long;
};

static void envelope_free(struct envelope *e)
{
    upstream_free(e->up);
    json_decref(e->headers);
    buf_done(&e->body);
    free(e->url);
    free(e);
}

/* --- the response --- */

/* Header values need not be UTF-8. Repeated ones are joined, as HTTP allows. */
static void on_head(void *arg, const struct http_reply *reply)
{
    struct envelope *e = arg;
    const char *name, *value;
    e->status = http_reply_status(reply);
    e->headers = json_object();
    for (size_t i = 0; http_reply_header_at(reply, i, &name, &value); i++) {
        CLEANUP(free_p) char *low = xstrdup(name);
        for (char *p = low; *p; p++)
            *p = (char)tolower((unsigned char)*p);
        const char *before = json_string_value(json_object_get(e->headers, low));
        CLEANUP(free_p) char *joined = before ? xasprintf("%s, %s", before, value) : NULL;
        const char *text = joined ? joined : value;
        (void)json_object_set_new(e->headers, low, json_text(text, strlen(text)));
    }
}

static void on_upstream_done(void *arg, const struct err *err)
{
    struct envelope *e = arg;
    struct call *c = e->call;
    e->up = NULL;
    call_on_cancel(c, NULL, NULL);
    if (err)
        call_fail(c, err);
    else
        call_ok(c, json_pack("{s:i, s:O, s:o, s:s}", "statusCode", e->status, "headers", e->headers, "body",
                             json_text(buf_text(&e->body), e->body.len), "url", e->url));
    envelope_free(e);
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct envelope *e = arg;
    if (buf_add(&e->body, data, len) == 0) {
        upstream_credit(e->up, len);
        return;
    }
    struct err err = ERR_INIT;
    (void)err_set(&err, ERR_UPSTREAM, 0,
                  "%s: the response is larger than %zu bytes (III_PROXY_BODY_MB): use the raw proxy, which streams",
                  e->url, e->body.max);
    e->up = upstream_free(e->up);
    on_upstream_done(e, &err);
}

static void on_cancel(void *arg)
{
    struct envelope *e = arg;
    struct call *c = e->call;
    envelope_free(e);
    call_error(c, ERR_GONE, "the client left");
}

/* --- the request --- */

static bool is_token(const char *s)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    bool is_good = *s != '\0';
    for (; *s && is_good; s++)
        is_good = isalnum((unsigned char)*s) || strchr(others, *s);
    return is_good;
}

static bool is_printable(const char *s, bool can_blank)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f || (!can_blank && *s == ' '))
            return false;
    return true;
}

static int make_head(struct envelope *e, const char *path, size_t body_len, struct buf *out, struct err *err)
{
    struct call *c = e->call;
    json_t *headers = json_get(call_params(c), "headers"), *value;
    const char *name;
    bool has_host = false;
    if (buf_addf(out, "%s %s HTTP/1.1\r\n", e->method, path) < 0)
        return err_set(err, ERR_TOO_LARGE, 0, "path: more than %d bytes", HEAD_MAX);
    json_object_foreach(headers, name, value) has_host |= strcasecmp(name, "host") == 0 && json_is_string(value);
    int r = has_host ? 0 : buf_addf(out, "Host: localhost:%d\r\n", (int)call_int(c, "port", 0));
    json_object_foreach(headers, name, value)
    {
        const char *text = json_string_value(value);
        bool is_sent = text && !raw_proxy_is_hop(name) && strcasecmp(name, "content-length") != 0;
        if (!is_sent && call_warn(c, err, "headers.%.64s: %s", name, text ? "set by the server" : "must be text") < 0)
            return -EINVAL;
        if (!is_sent)
            continue;
        if (!is_token(name) || !is_printable(text, true))
            return err_set(err, ERR_INVALID, 0, "headers: \"%.64s\" is not a header that can be sent", name);
        if (r == 0)
            r = buf_addf(out, "%s: %s\r\n", name, text);
    }
    if (r == 0 && (body_len || strcmp(e->method, "POST") == 0 || strcmp(e->method, "PUT") == 0))
        r = buf_addf(out, "Content-Length: %zu\r\n", body_len);
    if (r == 0)
        r = buf_add_str(out, "Connection: close\r\n\r\n");
    return r < 0 ? err_set(err, ERR_TOO_LARGE, 0, "headers: more than %d bytes", HEAD_MAX) : 0;
}

static int envelope_start(struct envelope *e, struct sandbox *s, struct err *err)
{
    static const struct upstream_events events = { .on_head = on_head,
                                                   .on_data = on_data,
                                                   .on_done = on_upstream_done };
    struct call *c = e->call;
    CLEANUP(buf_done) struct buf head = BUF_INIT(HEAD_MAX);
    const char *path = call_str(c, "path", "/"), *method = call_str(c, "method", "GET");
    const json_t *body = json_get(call_params(c), "body");
    int port = (int)call_int(c, "port", 0);
    for (size_t i = 0; method[i] && i < METHOD_MAX; i++)
        e->method[i] = (char)toupper((unsigned char)method[i]);
    if (!is_token(e->method) || strcmp(e->method, "CONNECT") == 0)
        return err_set(err, ERR_INVALID, 0, "method: \"%.32s\" cannot be sent", method);
    path = *path ? path : "/";
    if (*path != '/' || !is_printable(path, false))
        return err_set(err, ERR_INVALID, 0, "path: \"%.64s\" must start with / and be percent-encoded", path);
    bool is_bodiless = strcmp(e->method, "GET") == 0 || strcmp(e->method, "HEAD") == 0;
    size_t body_len = is_bodiless ? 0 : json_string_length(body);
    if (is_bodiless && json_string_length(body) > 0 && call_warn(c, err, "body: not sent with %s", e->method) < 0)
        return -EINVAL;
    e->url = xasprintf("http://localhost:%d%s", port, path);
    struct upstream_plan plan = { .port = (uint16_t)port,
                                  .is_head_method = strcmp(e->method, "HEAD") == 0,
                                  .timeout_ms = raw_proxy_config(s).timeout_ms,
                                  .queue_max = HEAD_MAX + body_len };
    int r = make_head(e, path, body_len, &head, err);
    if (r == 0)
        r = upstream_new(s, &plan, &events, e, &e->up, err);
    if (r < 0)
        return r;
    (void)upstream_write(e->up, buf_text(&head), head.len);
    if (body_len)
        (void)upstream_write(e->up, json_string_value(body), body_len);
    return 0;
}

void api_proxy_request(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    struct envelope *e = xzalloc(sizeof(*e));
    e->call = c;
    buf_init(&e->body, (size_t)call_manager(c)->settings->proxy_body_mb * MIB);
    if (ports_need(s, (uint16_t)call_int(c, "port", 0), &err) < 0 || envelope_start(e, s, &err) < 0) {
        envelope_free(e);
        call_fail(c, &err);
        return;
    }
    call_on_cancel(c, on_cancel, e);
}

/* --- settings --- */

static int save_config(struct sandbox *s, const json_t *params, struct err *err)
{
    static const char *const names[] = { "cors", "requireAuth", "timeout" };
    JSON_OWNED before = json_incref(json_object_get(s->extra, "proxy"));
    JSON_OWNED config = before ? json_copy(before) : json_object();
    bool has_any = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        json_t *value = json_get(params, names[i]);
        if (value)
            (void)json_object_set(config, names[i], value);
        has_any |= value != NULL;
    }
    const char *cors = json_get_str(config, "cors", "*");
    if (!is_printable(cors, true))
        return err_set(err, ERR_INVALID, 0, "cors: an origin has no control characters");
    if (!has_any)
        return 0;
    (void)json_object_set(s->extra, "proxy", config);
    int r = sandbox_save(s, err);
    if (r < 0 && before)
        (void)json_object_set(s->extra, "proxy", before);
    else if (r < 0)
        (void)json_object_del(s->extra, "proxy");
    return r;
}

void api_proxy_config(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    if (save_config(s, call_params(c), &err) < 0) {
        call_fail(c, &err);
        return;
    }
    struct raw_proxy_config config = raw_proxy_config(s);
    CLEANUP(free_p) char *base = xasprintf("%s/proxy/%s", call_manager(c)->settings->api_prefix, s->id);
    call_ok(c, json_pack("{s:s, s:s, s:s, s:b, s:I}", "sandboxId", s->id, "proxyBase", base, "cors", config.cors,
                         "requireAuth", config.needs_auth, "timeout", (json_int_t)config.timeout_ms));
}
