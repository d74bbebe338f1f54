#include "runtime/docker/call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/list.h"
#include "http/url.h"
#include "runtime/docker/messages.h"

#define TIMEOUT_MS     60000
#define LINE_MAX_BYTES (64u * 1024)
#define ERROR_MAX      4096

struct docker_call {
    struct docker_call *next;
    struct docker_call_set *set;
    struct http_client *http;
    struct timer *late; /* reports a call that could not be started */
    char *what;
    struct buf body;
    bool is_lines;
    docker_call_line_fn *on_line, *on_bytes;
    docker_call_fn *fn;
    void *arg;
    struct err early;
};

int docker_call_host_parse(const char *host, bool is_tls, const struct docker_tls *tls, struct docker_call_host *ret,
                           struct err *err)
{
    struct docker_call_host h = { .name = xstrdup(host) };
    struct url u;
    if (strncmp(host, "unix://", 7) == 0 && host[7] == '/') {
        h.unix_path = xstrdup(host + 7);
    } else if (strncmp(host, "tcp://", 6) == 0) {
        h.base_url = xasprintf("%s://%s", is_tls ? "https" : "http", host + 6);
        size_t n = strlen(h.base_url);
        if (n && h.base_url[n - 1] == '/')
            h.base_url[n - 1] = '\0';
        if (url_parse_either(h.base_url, "http", &u) < 0 || strcmp(u.path, "/") != 0)
            h.base_url = (free(h.base_url), NULL);
    }
    if (!h.unix_path && !h.base_url) {
        docker_call_host_done(&h);
        return err_set(err, ERR_INVALID, 0, "DOCKER_HOST \"%.200s\" is neither unix:///PATH nor tcp://HOST:PORT", host);
    }
    h.ca = xstrdup(tls->ca);
    h.cert = xstrdup(tls->cert);
    h.key = xstrdup(tls->key);
    h.trust = (struct tls_context_trust){ .ca_file = h.ca, .cert_file = h.cert, .key_file = h.key };
    *ret = h;
    return 0;
}

void docker_call_host_done(struct docker_call_host *h)
{
    free(h->unix_path);
    free(h->base_url);
    free(h->ca);
    free(h->cert);
    free(h->key);
    free(h->name);
    *h = (struct docker_call_host){ 0 };
}

void docker_call_escape(struct buf *out, const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (; *text; text++)
        (void)(strchr(plain, *text) ? buf_add_char(out, *text) : buf_addf(out, "%%%02X", (unsigned char)*text));
}

/* --- one call --- */

static void call_unlink(struct docker_call *c)
{
    LIST_TAKE(c->set->first, c);
    timer_free(c->late);
    buf_done(&c->body);
    free(c->what);
    free(c);
}

static void call_finish(struct docker_call *c, json_t *body, const struct err *err)
{
    docker_call_fn *fn = c->fn;
    void *arg = c->arg;
    call_unlink(c);
    fn(arg, body, err);
}

static void call_on_data(void *arg, struct http_client *http, const char *data, size_t len)
{
    struct docker_call *c = arg;
    bool is_good = http_client_status(http) < 300;
    if (c->on_bytes && is_good) {
        c->on_bytes(c->arg, data, len);
        return;
    }
    if (c->is_lines && is_good && c->body.len + len > LINE_MAX_BYTES)
        buf_clear(&c->body); /* no line of progress is that long: drop the line, not the pull */
    if (buf_add(&c->body, data, len) < 0)
        (void)err_set(&c->early, ERR_UPSTREAM, 0, "%s: the engine's response is larger than %u bytes", c->what,
                      DOCKER_CALL_BODY_MAX);
    size_t done = 0;
    for (const char *line = c->body.data, *end; c->is_lines && is_good && done < c->body.len; line = end + 1) {
        end = memchr(line, '\n', c->body.len - done);
        if (!end)
            break;
        size_t n = (size_t)(end - line);
        c->on_line(c->arg, line, n && line[n - 1] == '\r' ? n - 1 : n);
        done += n + 1;
    }
    buf_consume(&c->body, done);
}

static void call_on_done(void *arg, struct http_client *http, const struct err *err)
{
    struct docker_call *c = arg;
    struct err why = c->early;
    JSON_OWNED body = NULL;
    int status = err ? 0 : http_client_status(http);
    c->http = NULL;
    if (err)
        docker_messages_unreachable(c->what, c->set->host->name, err, &why);
    else if (why.code == ERR_NONE && status >= 300 && status != 304)
        docker_messages_error(c->what, status, buf_text(&c->body), c->body.len, &why);
    else if (why.code == ERR_NONE && c->body.len && !c->is_lines && status != 304 &&
             json_read(c->body.data, c->body.len, &body, &why) < 0)
        (void)err_set(&why, ERR_UPSTREAM, 0, "%s: the engine's response is not JSON", c->what);
    call_finish(c, body, why.code ? &why : NULL);
}

static void call_on_late(void *arg)
{
    struct docker_call *c = arg;
    struct err err = ERR_INIT; /* bad TLS files, no descriptors left: reported on the loop like any other failure */
    (void)err_set(&err, ERR_CAPACITY, c->early.sys, "%s: the Docker engine at %.80s cannot be called: %.200s", c->what,
                  c->set->host->name, c->early.msg);
    call_finish(c, NULL, &err);
}

struct docker_call *docker_call_start(struct docker_call_set *set, const struct docker_call_request *req,
                                      docker_call_fn *fn, void *arg)
{
    static const struct http_client_events events = { .on_data = call_on_data, .on_done = call_on_done };
    static const char *const json_type[] = { "Content-Type: application/json", NULL };
    static const char *const tar_type[] = { "Content-Type: application/x-tar", NULL };
    const struct docker_call_host *h = set->host;
    struct docker_call *c = xzalloc(sizeof(*c));
    *c = (struct docker_call){ .set = set, .next = set->first, .what = xstrdup(req->what), .fn = fn, .arg = arg };
    c->is_lines = req->on_line != NULL;
    c->on_line = req->on_line;
    c->on_bytes = req->on_bytes;
    buf_init(&c->body, DOCKER_CALL_BODY_MAX);
    set->first = c;
    CLEANUP(free_p) char *url = xasprintf("%s" DOCKER_CALL_VERSION "%s", h->unix_path ? "" : h->base_url, req->path);
    size_t len = 0;
    CLEANUP(free_p) char *body = req->body ? json_write(req->body, &len) : NULL;
    struct http_client_request hr = { .method = req->method,
                                      .url = url,
                                      .unix_path = h->unix_path,
                                      .headers = body          ? json_type
                                                 : req->tar_fd ? tar_type
                                                               : NULL,
                                      .body = body,
                                      .body_len = len,
                                      .body_fd = req->tar_fd,
                                      .timeout_ms = req->timeout_ms ? req->timeout_ms : TIMEOUT_MS,
                                      .body_max = req->on_line || req->on_bytes ? 0 : DOCKER_CALL_BODY_MAX,
                                      .trust = &h->trust,
                                      .rule = outgoing_operator };
    if (http_client_start(set->loop, &hr, &events, c, &c->http, &c->early) < 0) {
        c->late = timer_new(set->loop, 0, 0, call_on_late, c);
        if (req->tar_fd)
            (void)close(*req->tar_fd); /* only read from */
    }
    return c;
}

void docker_call_hold(struct docker_call *c, bool is_held)
{
    if (c->http)
        http_client_hold(c->http, is_held);
}

void docker_call_cancel(struct docker_call *c)
{
    http_client_free(c->http);
    call_unlink(c);
}

static void on_nobody(void *arg, json_t *body, const struct err *err)
{
    (void)arg;
    (void)body;
    (void)err;
}

struct docker_call *docker_call_let_go(struct docker_call *c)
{
    c->fn = on_nobody;
    return NULL;
}

bool docker_call_is_over(const struct err *err)
{
    return err && err->sys == ECANCELED;
}

void docker_call_end_all(struct docker_call_set *set)
{
    struct err err = ERR_INIT;
    (void)err_set(&err, ERR_CAPACITY, ECANCELED, "the server is stopping");
    while (set->first) {
        struct docker_call *c = set->first;
        c->http = http_client_free(c->http);
        call_finish(c, NULL, &err);
    }
}
