/* Theory of operation. A struct exchange joins a request of the client (http_req) to a request to the server inside the
 * sandbox (upstream). The client's body is passed on piece by piece, and reading pauses while the tunnel is full; bytes
 * of the response are credited to the tunnel once the client's queue is short. After a 101 the client's socket and the
 * tunnel become a relay, which owns both.
 *
 * Whichever side ends first ends the exchange. A failure before the response's head is an error response; after it the
 * connection is closed. */
#include "api/raw_proxy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/admission.h"
#include "api/api_core.h"
#include "api/call_core.h"
#include "api/console_session.h"
#include "api/handlers.h"
#include "api/preview.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "sandbox/net/ports.h"
#include "sandbox/net/relay.h"
#include "sandbox/net/upstream.h"

#define EXTRA       "proxy" /* in the record: {cors, requireAuth, timeout} */
#define TIMEOUT_MS  LIMIT_DEFAULT(PROXY_TIMEOUT_MS)
#define QUEUE_MARK  (1024 * 1024) /* queued bytes past which the other side waits */
#define UPLOAD_MARK 65536
#define UPLOAD_MAX  (512 * 1024) /* head, and the pieces of one read */
#define HEAD_MAX    (128 * 1024)
/* What a page may do that shares the API's origin: no storage, no cookies, no credentials of that origin. */
#define PATH_FORM_POLICY "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts"
#define LEFT_STATUS      499 /* in the audit log: the client left before there was an answer */

struct exchange {
    struct exchange *prev, *next;
    struct raw_proxy *proxy;
    struct http_req *req; /* referenced; NULL after an upgrade */
    struct upstream *up;
    struct relay *relay; /* after an upgrade */
    char sandbox_id[IDENT_MAX];
    struct call *call;        /* NULL after an upgrade, which is its end */
    char token_id[IDENT_MAX]; /* of who was admitted */
    char *cors;
    int status; /* as answered; 0: not yet */
    bool wants_upgrade, is_chunked, is_held;
    bool is_admitted; /* a token was asked for */
    bool is_preview;  /* an origin of its own; otherwise the application shares that of the API */
    size_t owed;      /* response bytes to credit once the client has read on */
};

struct raw_proxy {
    struct api *api;
    char *prefix; /* "/sandbox/proxy/" */
    struct exchange *exchanges;
};

/* Where a request goes. */
struct target {
    char id[IDENT_MAX];
    uint16_t port;
    const char *rest; /* sub-path, "" when there is none */
    bool is_preview;  /* it was named by the host, not by the path */
};

struct raw_proxy_config raw_proxy_config(const struct sandbox *s)
{
    const json_t *j = json_object_get(s->extra, EXTRA);
    return (struct raw_proxy_config){ .cors = json_get_str(j, "cors", "*"),
                                      .needs_auth = json_get_bool(j, "requireAuth", false),
                                      .timeout_ms = json_get_int(j, "timeout", TIMEOUT_MS) };
}

bool raw_proxy_is_hop(const char *name)
{
    static const char *const hops[] = {
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "transfer-encoding",
        "trailer",    "upgrade",    "proxy-connection"
    };
    for (size_t i = 0; i < sizeof(hops) / sizeof(hops[0]); i++)
        if (strcasecmp(name, hops[i]) == 0)
            return true;
    return false;
}

static bool is_listed(const char *list, const char *name)
{
    size_t want = strlen(name);
    while (list && *list) {
        list += strspn(list, " \t,");
        size_t len = strcspn(list, " \t,");
        if (len == want && strncasecmp(list, name, len) == 0)
            return true;
        list += len;
    }
    return false;
}

/* Whether a Connection header names this option. */
static bool request_names(const struct http_req *q, const char *name)
{
    const char *header, *value;
    for (size_t i = 0; http_req_header_at(q, i, &header, &value); i++)
        if (strcasecmp(header, "connection") == 0 && is_listed(value, name))
            return true;
    return false;
}

static bool reply_names(const struct http_reply *reply, const char *name)
{
    const char *header, *value;
    for (size_t i = 0; http_reply_header_at(reply, i, &header, &value); i++)
        if (strcasecmp(header, "connection") == 0 && is_listed(value, name))
            return true;
    return false;
}

/* A protocol that the client and the server inside may switch to. Not h2c: its streams would be requests that no rule
 * of the proxy sees; a server ignores the wish and answers in HTTP/1.1 (RFC 9110, 7.8). */
static const char *upgrade_of(const struct http_req *q)
{
    const char *protocol = http_req_header(q, "upgrade");
    return protocol && request_names(q, "upgrade") && !is_listed(protocol, "h2c") ? protocol : NULL;
}

/* --- ending --- */

static void exchange_free(struct exchange *x)
{
    struct raw_proxy *p = x->proxy;
    *(x->prev ? &x->prev->next : &p->exchanges) = x->next;
    if (x->next)
        x->next->prev = x->prev;
    upstream_free(x->up);
    relay_free(x->relay);
    if (x->req) {
        http_req_on_drain(x->req, NULL, NULL);
        http_req_unref(x->req);
    }
    free(x->cors);
    free(x);
}

static void on_upstream_done(void *arg, const struct err *err)
{
    struct exchange *x = arg;
    struct call *c = x->call;
    int status = x->status;
    struct http_req *r = http_req_ref(x->req);
    x->up = NULL;
    exchange_free(x);
    if (!status) {
        call_fail(c, err);
    } else {
        if (err)
            http_req_abort(r); /* half of it is out: only a cut tells the client */
        else
            http_req_end(r);
        call_taken(c, status);
    }
    http_req_unref(r);
}

static void on_client_gone(void *arg)
{
    struct exchange *x = arg;
    struct call *c = x->call;
    int status = x->status ? x->status : LEFT_STATUS;
    exchange_free(x);
    call_taken(c, status);
}

/* --- the response --- */

static bool is_passed_back(const struct exchange *x, const struct http_reply *reply, const char *name)
{
    if (strcasecmp(name, "content-length") == 0 || strcasecmp(name, "date") == 0)
        return false; /* ours are set by the server's own rules */
    if (*x->cors && strcasecmp(name, "access-control-allow-origin") == 0)
        return false;
    /* On the API's own origin a page inside could otherwise set cookies for it and put a service worker before it. */
    if (!x->is_preview && (strcasecmp(name, "set-cookie") == 0 || strcasecmp(name, "service-worker-allowed") == 0 ||
                           strcasecmp(name, "clear-site-data") == 0))
        return false;
    return !raw_proxy_is_hop(name) && !reply_names(reply, name);
}

static void on_head(void *arg, const struct http_reply *reply)
{
    struct exchange *x = arg;
    const char *name, *value;
    const char *length = http_reply_header(reply, "content-length");
    bool is_chunked = http_reply_header(reply, "transfer-encoding") != NULL;
    for (size_t i = 0; http_reply_header_at(reply, i, &name, &value); i++)
        if (is_passed_back(x, reply, name))
            http_req_add_header(x->req, name, value);
    if (!x->is_preview) /* its scripts run in an origin that is nobody's */
        http_req_add_header(x->req, "Content-Security-Policy", PATH_FORM_POLICY);
    x->status = http_reply_status(reply);
    http_req_begin(x->req, http_reply_status(reply), NULL, length && !is_chunked ? strtoll(length, NULL, 10) : -1);
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct exchange *x = arg;
    x->owed += len;
    if (http_req_send(x->req, data, len) > QUEUE_MARK)
        return;
    upstream_credit(x->up, x->owed);
    x->owed = 0;
}

static void on_client_drain(void *arg)
{
    struct exchange *x = arg;
    upstream_credit(x->up, x->owed);
    x->owed = 0;
}

/* --- upgrades --- */

static void on_relay_done(void *arg, struct relay *r)
{
    (void)r; /* freed with the exchange */
    exchange_free(arg);
}

static int make_101(const struct http_reply *reply, const char *rest, size_t len, struct buf *out)
{
    const char *name, *value;
    int r = buf_add_str(out, "HTTP/1.1 101 Switching Protocols\r\n");
    for (size_t i = 0; r == 0 && http_reply_header_at(reply, i, &name, &value); i++)
        if (strcasecmp(name, "content-length") != 0 && strcasecmp(name, "transfer-encoding") != 0)
            r = buf_addf(out, "%s: %s\r\n", name, value);
    if (r == 0)
        r = buf_add_str(out, "\r\n");
    return r == 0 ? buf_add(out, rest, len) : r;
}

static void on_upgraded(void *arg, const struct http_reply *reply, const char *rest, size_t len)
{
    struct exchange *x = arg;
    CLEANUP(close_fd_p) int fd = NO_FD;
    CLEANUP(buf_done) struct buf to_client = BUF_INIT(HEAD_MAX + len), to_guest = BUF_INIT(0);
    if (!x->wants_upgrade || make_101(reply, rest, len, &to_client) < 0 || http_req_take(x->req, &fd, &to_guest) < 0)
        return; /* the tunnel is left, so the call fails: 502 */
    call_taken(STEAL(x->call), http_reply_status(reply));
    x->req = http_req_unref(x->req);
    struct guest_tunnel *t = upstream_take(x->up);
    x->up = upstream_free(x->up);
    if (relay_new(x->proxy->api->loop, fd, on_relay_done, x, &x->relay) < 0) {
        guest_tunnel_drop(t);
        exchange_free(x);
        return;
    }
    (void)steal_fd(&fd);
    if (relay_join(x->relay, t, &to_client, &to_guest) < 0)
        exchange_free(x);
}

/* --- the request --- */

static void on_body(void *arg, const char *data, ssize_t len)
{
    struct exchange *x = arg;
    char size[24];
    size_t queued = 0;
    if (len < 0)
        return; /* the client left: on_client_gone follows */
    if (x->is_chunked && len > 0) {
        int n = snprintf(size, sizeof(size), "%zx\r\n", (size_t)len);
        (void)upstream_write(x->up, size, (size_t)n);
    }
    if (len > 0)
        queued = upstream_write(x->up, data, (size_t)len);
    if (x->is_chunked)
        queued = upstream_write(x->up, len ? "\r\n" : "0\r\n\r\n", len ? 2 : 5);
    if (queued > UPLOAD_MARK) {
        x->is_held = true;
        http_req_hold(x->req, true);
    }
}

static void on_upload_drain(void *arg)
{
    struct exchange *x = arg;
    if (x->is_held)
        http_req_hold(x->req, false);
    x->is_held = false;
}

static bool is_passed_in(const struct exchange *x, const char *name, const char *value)
{
    static const char *const ours[] = {
        "host",
        "expect",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-proto",
        "x-forwarded-prefix",
        CONSOLE_SESSION_PROOF,
        "content-length", /* a Connection header that names it may not take it away: its body would be read as a request
                           */
    };
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        if (strcasecmp(name, ours[i]) == 0)
            return false;
    /* A token of this server is not for what runs in a sandbox. */
    if (strcasecmp(name, "authorization") == 0 && !keyring_is_open(x->proxy->api->keys) &&
        gate_auth(x->proxy->api->gate, value, NULL, NULL) == 0)
        return false;
    return !raw_proxy_is_hop(name) && !request_names(x->req, name);
}

/* A Cookie header without the cookies of this server. */
static int add_cookies(const char *value, struct buf *out)
{
    CLEANUP(buf_done) struct buf kept = BUF_INIT(HEAD_MAX);
    int r = 0;
    for (const char *at = value; r == 0 && *at; at += strcspn(at, ";"), at += *at == ';') {
        at += strspn(at, " ");
        size_t len = strcspn(at, ";");
        size_t name = strcspn(at, "=;");
        if (len > 0 && !preview_is_own_cookie(at, name) && !console_session_is_cookie(at, name))
            r = buf_addf(&kept, "%s%.*s", kept.len ? "; " : "", (int)len, at);
    }
    return r < 0 || kept.len == 0 ? r : buf_addf(out, "Cookie: %s\r\n", buf_text(&kept));
}

static int add_header(const struct exchange *x, const struct target *t, bool is_local, const char *name,
                      const char *value, struct buf *out)
{
    if (!is_passed_in(x, name, value))
        return 0;
    if (strcasecmp(name, "cookie") == 0)
        return add_cookies(value, out);
    if (is_local && strcasecmp(name, "origin") == 0 && strcmp(value, "null") != 0)
        return buf_addf(out, "Origin: http://localhost:%u\r\n", t->port);
    return buf_addf(out, "%s: %s\r\n", name, value);
}

static int make_head(struct exchange *x, const struct target *t, const struct sandbox *s, struct buf *out)
{
    struct http_req *q = x->req;
    const char *name, *value, *query = http_req_query(q), *length = http_req_header(q, "content-length");
    const char *before = http_req_header(q, "x-forwarded-for"), *host = http_req_header(q, "host");
    bool is_local = !t->is_preview || preview_rewrites_host(s, t->port);
    int r = buf_addf(out, "%s %s%s%s%s HTTP/1.1\r\n", http_req_method(q), *t->rest ? "" : "/", t->rest,
                     *query ? "?" : "", query);
    if (r == 0 && is_local)
        r = buf_addf(out, "Host: localhost:%u\r\n", t->port);
    else if (r == 0)
        r = buf_addf(out, "Host: %s\r\n", host);
    for (size_t i = 0; r == 0 && http_req_header_at(q, i, &name, &value); i++)
        r = add_header(x, t, t->is_preview && is_local, name, value, out);
    const char *peer = http_req_peer(q), *colon = strrchr(peer, ':');
    int peer_len = colon ? (int)(colon - peer) : (int)strlen(peer);
    if (r == 0)
        r = buf_addf(out, "X-Forwarded-For: %s%s%.*s\r\n", before ? before : "", before ? ", " : "", peer_len, peer);
    if (r == 0 && host)
        r = buf_addf(out, "X-Forwarded-Host: %s\r\n", host);
    if (r == 0)
        r = buf_addf(out, "X-Forwarded-Proto: http%s\r\n", *x->proxy->api->settings->tls_cert ? "s" : "");
    if (r == 0 && !t->is_preview)
        r = buf_addf(out, "X-Forwarded-Prefix: %s%s/%u\r\n", x->proxy->prefix, t->id, t->port);
    if (r == 0 && x->is_chunked)
        r = buf_add_str(out, "Transfer-Encoding: chunked\r\n");
    if (r == 0 && length)
        r = buf_addf(out, "Content-Length: %llu\r\n", strtoull(length, NULL, 10)); /* without leading zeros */
    if (r == 0 && x->wants_upgrade)
        r = buf_addf(out, "Connection: Upgrade\r\nUpgrade: %s\r\n\r\n", upgrade_of(q));
    else if (r == 0)
        r = buf_add_str(out, "Connection: close\r\n\r\n");
    return r;
}

/* --- the entry point --- */

/* A preview's host name, or "/sandbox/proxy/<id>/<port>[/…]". false when it is neither. */
static bool parse_target(const struct raw_proxy *p, const struct http_req *r, struct target *ret)
{
    const char *path = http_req_path(r), *host = http_req_header(r, "host");
    struct preview_target named;
    if (host && preview_parse(host, p->api->settings->preview_domain, &named)) {
        *ret = (struct target){ .port = named.port, .rest = path, .is_preview = true };
        memcpy(ret->id, named.id, sizeof(ret->id));
        return true;
    }
    size_t prefix = strlen(p->prefix);
    if (strncmp(path, p->prefix, prefix) != 0)
        return false;
    const char *id = path + prefix;
    size_t id_len = strcspn(id, "/");
    const char *port = id + id_len + (id[id_len] == '/');
    size_t digits = strspn(port, "0123456789");
    if (id_len == 0 || id_len >= sizeof(ret->id) || digits == 0 || digits > 5 || (port[digits] && port[digits] != '/'))
        return false;
    long number = strtol(port, NULL, 10);
    if (number < LIMIT_MIN(PORT) || number > LIMIT_MAX(PORT))
        return false;
    memcpy(ret->id, id, id_len);
    ret->id[id_len] = '\0';
    ret->port = (uint16_t)number;
    ret->rest = port + digits;
    return true;
}

/* All but the envelope, which is a row of the table: POST exactly at /proxy/:id/:port. */
static bool claims(void *arg, struct http_req *r)
{
    struct target t = { 0 };
    return parse_target(arg, r, &t) && (*t.rest || strcmp(http_req_method(r), "POST") != 0);
}

/* Every path of a preview's host is the application's. */
static bool is_preview(void *arg, struct http_req *r)
{
    const struct raw_proxy *p = arg;
    return preview_is_one(p->api, r);
}

static int check(const struct raw_proxy *p, const struct target *t, const struct sandbox *s, struct err *err)
{
    uint64_t running = 0;
    int e = sandbox_need_running(s, err);
    if (e == 0 && !t->is_preview)
        e = ports_need(s, t->port, err);
    for (struct exchange *x = p->exchanges; x; x = x->next)
        running += strcmp(x->sandbox_id, s->id) == 0;
    if (e == 0 && running >= (uint64_t)p->api->settings->port_connections)
        e = err_set(err, ERR_CAPACITY, 0, "limit of %llu concurrent proxied requests to %s reached",
                    (unsigned long long)running, s->id);
    return e;
}

static int exchange_start(struct call *c, const struct target *t, struct sandbox *s, struct err *err)
{
    static const struct upstream_events events = { .on_head = on_head,
                                                   .on_data = on_data,
                                                   .on_drain = on_upload_drain,
                                                   .on_upgraded = on_upgraded,
                                                   .on_done = on_upstream_done };
    struct http_req *r = call_http(c);
    struct upstream_plan plan = { .port = t->port,
                                  .is_head_method = strcmp(http_req_method(r), "HEAD") == 0,
                                  .timeout_ms = raw_proxy_config(s).timeout_ms,
                                  .is_timed_to_head = true,
                                  .queue_max = UPLOAD_MAX };
    CLEANUP(buf_done) struct buf head = BUF_INIT(HEAD_MAX);
    struct raw_proxy *p = call_api(c)->raw_proxy;
    struct exchange *x = xzalloc(sizeof(*x));
    *x = (struct exchange){ .proxy = p,
                            .req = http_req_ref(r),
                            .call = c,
                            .cors = xstrdup(t->is_preview ? "" : raw_proxy_config(s).cors),
                            .wants_upgrade = upgrade_of(r) != NULL,
                            .is_chunked = http_req_header(r, "transfer-encoding") != NULL,
                            .is_admitted = call_who(c),
                            .is_preview = t->is_preview,
                            .next = p->exchanges };
    memcpy(x->sandbox_id, s->id, sizeof(x->sandbox_id));
    if (x->is_admitted)
        memcpy(x->token_id, call_who(c)->id, sizeof(x->token_id));
    if (x->next)
        x->next->prev = x;
    p->exchanges = x;
    int e = make_head(x, t, s, &head) < 0 ? err_set(err, ERR_TOO_LARGE, 0, "the request's head is too large to forward")
                                          : 0;
    if (e == 0)
        e = upstream_new(s, &plan, &events, x, &x->up, err);
    if (e < 0) {
        exchange_free(x);
        return e;
    }
    (void)upstream_write(x->up, buf_text(&head), head.len);
    call_on_cancel(c, on_client_gone, x);
    http_req_on_drain(r, on_client_drain, x);
    http_req_read(r, on_body, x);
    return 0;
}

void api_proxy_raw(struct call *c)
{
    const struct raw_proxy *p = call_api(c)->raw_proxy;
    struct target t = { 0 };
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_sandbox(c);
    if (s && (!parse_target(p, call_http(c), &t) || check(p, &t, s, &err) < 0 || exchange_start(c, &t, s, &err) < 0))
        call_fail(c, &err);
}

static void start_call(const struct raw_proxy *p, struct http_req *r, const struct target *t, struct caller *who)
{
    json_t *params = json_pack("{s:s, s:i, s:s}", "id", t->id, "port", t->port, "method", http_req_method(r));
    const struct sandbox *s = manager_find(p->api->manager, t->id, NULL);
    struct call *c =
        call_new(p->api, &spec_ops[admission_is_read(r) ? OP_ID_proxy_raw_read : OP_ID_proxy_raw], params, r, who);
    if (s && !t->is_preview && ports_need(s, t->port, NULL) < 0)
        call_let_sleep(c); /* anyone may ask for a port: only one that is exposed wakes it */
    call_start(c);
}

static void preview_request(const struct raw_proxy *p, struct http_req *r, const struct target *t)
{
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    struct err err = ERR_INIT;
    struct preview_target named = { .port = t->port };
    memcpy(named.id, t->id, sizeof(named.id));
    int e = preview_admit(p->api->preview, r, &named, manager_find(p->api->manager, t->id, NULL), &who, &err);
    if (e < 0)
        admission_refuse(r, &err);
    else if (e == 0)
        start_call(p, r, t, who);
}

/* A page at …/8000 asks for its relative addresses at …/: one that begins there has them below …/8000/. */
static bool has_been_redirected(const struct raw_proxy *p, struct http_req *r, const struct target *t)
{
    if (*t->rest || !admission_is_read(r) || upgrade_of(r))
        return false;
    const char *query = http_req_query(r);
    CLEANUP(free_p) char *to = xasprintf("%s%s/%u/%s%s", p->prefix, t->id, t->port, *query ? "?" : "", query);
    http_req_add_header(r, "Location", to);
    http_req_reply(r, 308, "text/plain", "", 0);
    return true;
}

/* A sandbox may serve anyone; where it wants a token (requireAuth), the usual rules hold. */
static bool proxy_request(void *arg, struct http_req *r)
{
    const struct raw_proxy *p = arg;
    struct target t = { 0 };
    struct err err = ERR_INIT;
    if (!parse_target(p, r, &t))
        return false;
    if (t.is_preview) {
        preview_request(p, r, &t);
        return true;
    }
    if (has_been_redirected(p, r, &t))
        return true;
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    struct sandbox *s = manager_find(p->api->manager, t.id, &err);
    const char *cors = s ? raw_proxy_config(s).cors : "*";
    JSON_OWNED params = json_pack("{s:s, s:i, s:s}", "id", t.id, "port", t.port, "method", http_req_method(r));
    struct admission from = { .http = r, .operation = "proxy::raw", .target = params, .is_read = admission_is_read(r) };
    if (strcmp(http_req_method(r), "OPTIONS") == 0 && http_req_header(r, "access-control-request-method")) {
        admission_cors(r, *cors ? cors : "*");
        admission_preflight(r, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
        return true;
    }
    admission_cors(r, cors);
    int e = 0;
    if (!s) {
        e = -ENOENT;
        admission_record(p->api, &from, NULL, &err);
    } else if (raw_proxy_config(s).needs_auth) {
        e = admission_check(p->api, &from, &who, &err);
    }
    if (e < 0)
        admission_refuse(r, &err);
    else
        start_call(p, r, &t, who);
    return true;
}

struct raw_proxy *raw_proxy_new(struct api *a)
{
    struct raw_proxy *p = xzalloc(sizeof(*p));
    p->api = a;
    p->prefix = xasprintf("/%s/proxy/", a->settings->api_prefix);
    api_add_entry(a, &(struct api_entry){
                         .path_prefix = "", .claims = is_preview, .fn = proxy_request, .arg = p, .is_raw = true });
    api_add_entry(a, &(struct api_entry){
                         .path_prefix = p->prefix, .claims = claims, .fn = proxy_request, .arg = p, .is_raw = true });
    return p;
}

void raw_proxy_end_of(struct raw_proxy *p, const char *token_id)
{
    for (struct exchange *x = p->exchanges, *next; x; x = next) {
        next = x->next;
        if (!x->call && x->is_admitted && strcmp(x->token_id, token_id) == 0)
            exchange_free(x); /* those that are calls still are ended as such */
    }
}

struct raw_proxy *raw_proxy_free(struct raw_proxy *p)
{
    if (!p)
        return NULL;
    while (p->exchanges)
        exchange_free(p->exchanges);
    free(p->prefix);
    free(p);
    return NULL;
}
