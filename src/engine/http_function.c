/* HTTP-invoked functions. struct http_function is the checked registration, with its secret already read from the
 * environment; it belongs to its struct function. A call copies what it needs into a struct http_call, so that the
 * function may be removed meanwhile. The URL is judged twice: its form, scheme and host when it is registered and
 * before each call, and each address that the host's name resolves to before the connection, because a name may lead
 * anywhere. Redirects are not followed. A call is answered once: by the response, by an error of the request, or when
 * the engine stops. */
#include "engine/http_function.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "engine/engine_config.h"
#include "engine/invocation.h"
#include "engine/wildcard.h"
#include "engine/worker.h"
#include "http/client.h"
#include "http/url.h"
#include "loop/json_work.h"

#define LINE_MAX_BYTES 8192
#define URL_MAX_BYTES  8192

enum auth_kind { AUTH_NONE, AUTH_HMAC, AUTH_BEARER, AUTH_API_KEY };

struct http_function {
    char *url, *method;
    int64_t timeout_ms;
    json_t *headers; /* name -> value, checked; or NULL */
    enum auth_kind auth;
    char *secret, *header; /* header: of an API key */
};

struct http_call {
    LIST_ENTRY(http_call) link;
    struct engine_call *call;
    struct http_client *client;
    char owner[UUID_MAX], tenant[SHARE_TENANT_MAX]; /* of the function */
    struct buf body;
    struct reply_text *reading; /* NULL: the response is not complete */
    char *closed_ports;
    int status;
    bool has_head;
};

/* The body of a response while it is parsed, perhaps by a pool thread. */
struct reply_text {
    struct http_call *call; /* NULL: it was stopped */
    struct buf body;
};

/* --- the URL --- */

static const json_t *security_of(const struct engine *e)
{
    return json_get(engine_config_of(e->config, "iii-http-functions"), "security");
}

/* NULL stays NULL. Caller frees. */
static char *lower_case(const char *text)
{
    char *made = xstrdup(text);
    for (char *at = made; at && *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return made;
}

static bool is_listed(const json_t *list, const char *host)
{
    CLEANUP(free_p) char *name = lower_case(host);
    for (size_t i = 0; i < json_array_size(list); i++) {
        CLEANUP(free_p) char *pattern = lower_case(json_string_value(json_array_get(list, i)));
        if (pattern && wildcard_match(pattern, name))
            return true;
    }
    return json_array_size(list) == 0;
}

/* A literal address is judged at once; a name when it is resolved. */
static bool is_private_literal(const char *host)
{
    struct address a;
    return address_parse(host, &a) && address_kind(&a) != ADDRESS_PUBLIC;
}

static int check_url(const struct engine *e, const char *url, struct err *err)
{
    const json_t *security = security_of(e);
    struct url u;
    if (strlen(url) > URL_MAX_BYTES || url_parse_either(url, "http", &u) < 0)
        return err_set(err, ERR_INVALID, 0, "url \"%.100s\": http:// or https://host:port/path is needed", url);
    if (!u.is_secure && json_get_bool(security, "require_https", true))
        return err_set(err, ERR_FORBIDDEN, 0, "url \"%.100s\": https:// is needed (security.require_https)", url);
    if (!is_listed(json_get(security, "url_allowlist"), u.host))
        return err_set(err, ERR_FORBIDDEN, 0, "url \"%.100s\": its host is not in security.url_allowlist", url);
    if (json_get_bool(security, "block_private_ips", true) && is_private_literal(u.host))
        return err_set(err, ERR_FORBIDDEN, 0, "url \"%.100s\": a private address (security.block_private_ips)", url);
    return 0;
}

/* --- the registration --- */

struct http_function *http_function_free(struct http_function *f)
{
    if (f) {
        free(f->url);
        free(f->method);
        json_decref(f->headers);
        free(f->secret);
        free(f->header);
        free(f);
    }
    return NULL;
}

static bool is_header(const char *name, const char *value)
{
    static const char *const ours[] = { "host", "content-length", "transfer-encoding", "connection", "upgrade",
                                        "te",   "trailer" };
    if (!*name || strlen(name) + strlen(value) > LINE_MAX_BYTES)
        return false;
    for (const char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("-_.!#$%&'*+^`|~", *at))
            return false;
    for (const char *at = value; *at; at++)
        if (((unsigned char)*at < 0x20 && *at != '\t') || *at == 0x7f)
            return false;
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        if (strcasecmp(ours[i], name) == 0)
            return false;
    return true;
}

static int read_headers(struct http_function *f, json_t *headers, struct err *err)
{
    const char *name;
    json_t *value;
    if (headers && (!json_is_object(headers) || json_object_size(headers) > HTTP_FUNCTION_HEADERS))
        return err_set(err, ERR_INVALID, 0, "headers: a mapping of at most %d is expected", HTTP_FUNCTION_HEADERS);
    json_object_foreach(
        headers, name,
        value) if (!json_is_string(value) ||
                   !is_header(name, json_string_value(value))) return err_set(err, ERR_INVALID, 0,
                                                                              "headers: \"%.64s\" cannot be set", name);
    f->headers = json_incref(headers);
    return 0;
}

static int read_auth(struct http_function *f, const json_t *auth, struct err *err)
{
    static const struct {
        const char *word, *key;
        enum auth_kind kind;
    } kinds[] = { { "hmac", "secret_key", AUTH_HMAC },
                  { "bearer", "token_key", AUTH_BEARER },
                  { "api_key", "value_key", AUTH_API_KEY } };
    const char *type = json_get_str(auth, "type", ""), *variable = NULL;
    if (!auth)
        return 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].word, type) == 0) {
            f->auth = kinds[i].kind;
            variable = json_get_str(auth, kinds[i].key, NULL);
        }
    if (!variable)
        return err_set(err, ERR_INVALID, 0, "auth: type hmac (secret_key), bearer (token_key) or api_key (value_key)");
    if (strncmp(variable, "III_", 4) == 0) /* the server's own settings hold its tokens */
        return err_set(err, ERR_FORBIDDEN, 0, "auth: %.64s is a variable of the server itself", variable);
    const char *secret = getenv(variable);
    if (!secret || !*secret)
        return err_set(err, ERR_INVALID, 0, "auth: the environment variable %.64s is not set", variable);
    f->secret = xstrdup(secret);
    f->header = xstrdup(f->auth == AUTH_API_KEY ? json_get_str(auth, "header", "") : "Authorization");
    return is_header(f->header, secret) ? 0 : err_set(err, ERR_INVALID, 0, "auth: its header cannot be set");
}

int http_function_new(const struct engine *e, const json_t *invocation, struct http_function **ret, struct err *err)
{
    static const char *const methods[] = { "GET", "POST", "PUT", "PATCH", "DELETE" };
    const char *url = json_get_str(invocation, "url", ""), *method = json_get_str(invocation, "method", "POST");
    int64_t timeout_ms = json_get_int(invocation, "timeout_ms", HTTP_FUNCTION_TIMEOUT_MS);
    bool is_method = false;
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        is_method = is_method || strcmp(methods[i], method) == 0;
    int r = check_url(e, url, err);
    if (r == 0 && !is_method)
        r = err_set(err, ERR_INVALID, 0, "method \"%.16s\" is not one of GET, POST, PUT, PATCH, DELETE", method);
    if (r == 0 && timeout_ms < 1)
        r = err_set(err, ERR_INVALID, 0, "timeout_ms must be at least 1");
    if (r < 0)
        return r;
    struct http_function *f = xzalloc(sizeof(*f));
    f->url = xstrdup(url);
    f->method = xstrdup(method);
    f->timeout_ms = timeout_ms > 2 * HTTP_FUNCTION_TIMEOUT_MS ? 2 * HTTP_FUNCTION_TIMEOUT_MS : timeout_ms;
    r = read_headers(f, json_get(invocation, "headers"), err);
    if (r == 0)
        r = read_auth(f, json_get(invocation, "auth"), err);
    if (r < 0)
        (void)http_function_free(f);
    else
        *ret = f;
    return r;
}

/* --- the response --- */

/* Takes the call out of the list and frees it; the caller answers. */
static struct engine_call *call_end(struct http_call *h)
{
    struct engine_call *c = h->call;
    LIST_REMOVE(h, link);
    if (h->reading)
        h->reading->call = NULL;
    buf_done(&h->body);
    free(h->closed_ports);
    free(h);
    return c;
}

static void response_head(void *arg, struct http_client *client, int status)
{
    struct http_call *h = arg;
    (void)client, (void)status;
    h->has_head = true;
}

static void response_data(void *arg, struct http_client *client, const char *data, size_t len)
{
    struct http_call *h = arg;
    (void)client;
    (void)buf_add(&h->body, data, len); /* the client's limit is the buffer's */
}

static void response_read(void *arg, json_t *doc, const struct err *err)
{
    struct reply_text *text = arg;
    struct http_call *h = text->call;
    JSON_OWNED body = doc;
    (void)err;
    bool is_empty = text->body.len == 0;
    buf_done(&text->body);
    free(text);
    if (!h)
        return;
    h->reading = NULL;
    int status = h->status;
    struct engine_call *c = call_end(h);
    const json_t *error = json_get(body, "error");
    if (status >= 400 && json_is_object(error))
        engine_fail_text(c, json_get_str(error, "code", "http_error"),
                         json_get_str(error, "message", "HTTP request failed"));
    else if (status >= 400)
        engine_fail(c, "http_error", "HTTP %d", status);
    else if (status < 300 && !is_empty && !body)
        engine_fail(c, "invalid_response", "the response is not JSON");
    else
        engine_ok(c, STEAL(body));
}

static void response_done(void *arg, struct http_client *client, const struct err *err)
{
    struct http_call *h = arg;
    if (err) {
        const char *code = err->code == ERR_FORBIDDEN ? "url_validation_failed"
                           : h->has_head              ? "http_response_failed"
                                                      : "http_request_failed";
        engine_fail_text(call_end(h), code, err->msg);
        return;
    }
    struct reply_text *text = xzalloc(sizeof(*text));
    *text = (struct reply_text){ .call = h, .body = h->body };
    h->body = (struct buf)BUF_INIT(0);
    h->client = NULL;
    h->status = http_client_status(client);
    h->reading = text;
    json_work_read(h->call->engine->loop, buf_text(&text->body), text->body.len, response_read, text);
}

/* --- the request --- */

static void add_line(json_t *lines, const char *name, const char *value)
{
    CLEANUP(free_p) char *line = xasprintf("%s: %s", name, value);
    (void)json_array_append_new(lines, json_text(line, strlen(line)));
}

static json_t *request_lines(const struct http_function *f, const char *function_id, const char *body, size_t len)
{
    json_t *lines = json_array(), *value;
    char stamp[24], id[UUID_MAX];
    const char *name;
    bool has_type = false;
    uuid_new(id);
    (void)snprintf(stamp, sizeof(stamp), "%lld", (long long)(clock_wall_ms() / 1000));
    json_object_foreach(f->headers, name, value) has_type = has_type || strcasecmp(name, "content-type") == 0;
    if (!has_type)
        add_line(lines, "Content-Type", "application/json");
    add_line(lines, "x-iii-Function-Path", function_id);
    add_line(lines, "x-iii-Invocation-ID", id);
    add_line(lines, "x-iii-Timestamp", stamp);
    json_object_foreach(f->headers, name, value) add_line(lines, name, json_string_value(value));
    if (f->auth == AUTH_HMAC) {
        char hex[DIGEST_HEX];
        CLEANUP(free_p) char *encoded = xzalloc(BASE64_SIZE(len) + 1);
        base64_encode(body, len, encoded);
        CLEANUP(free_p) char *text = xasprintf("%s:%s", stamp, encoded);
        digest_hmac(f->secret, strlen(f->secret), text, strlen(text), hex);
        CLEANUP(free_p) char *signature = xasprintf("sha256=%s", hex);
        add_line(lines, "x-iii-Signature", signature);
    } else if (f->auth != AUTH_NONE) {
        CLEANUP(free_p) char *credential = xasprintf("%s%s", f->auth == AUTH_BEARER ? "Bearer " : "", f->secret);
        add_line(lines, f->header, credential);
    }
    return lines;
}

/* Whether another request for functions of that worker may start. */
static bool has_room(const struct engine *e, const struct worker *owner)
{
    size_t all = 0, its = 0;
    const struct http_call *h;
    LIST_FOREACH(h, &e->http_calls, link)
    {
        all++;
        its += strcmp(h->owner, owner->id) == 0 || (*owner->tenant && strcmp(h->tenant, owner->tenant) == 0);
    }
    return all < HTTP_FUNCTION_CALLS_MAX && its < HTTP_FUNCTION_OWNER_MAX;
}

void http_function_call(void *arg, struct engine_call *c, json_t *payload)
{
    static const struct http_client_events events = { .on_head = response_head,
                                                      .on_data = response_data,
                                                      .on_done = response_done };
    const struct function *fn = arg;
    const struct http_function *f = fn->http;
    struct engine *e = c->engine;
    struct err err = ERR_INIT;
    const char *lines[HTTP_FUNCTION_HEADERS + 8] = { 0 };
    size_t len;
    (void)payload;
    if (check_url(e, f->url, &err) < 0) {
        engine_fail(c, "url_validation_failed", "%s", err.msg);
        return;
    }
    if (!has_room(e, fn->owner)) {
        engine_fail(c, "http_request_failed",
                    "limit of %d concurrent requests for the functions of one worker or tenant, or %d in all, reached",
                    HTTP_FUNCTION_OWNER_MAX, HTTP_FUNCTION_CALLS_MAX);
        return;
    }
    JSON_OWNED data = invocation_payload(c);
    CLEANUP(free_p) char *body = json_write(data, &len);
    JSON_OWNED texts = request_lines(f, fn->id, body, len);
    for (size_t i = 0; i < json_array_size(texts); i++)
        lines[i] = json_string_value(json_array_get(texts, i));
    struct http_call *h = xzalloc(sizeof(*h));
    *h = (struct http_call){ .call = c, .body = BUF_INIT(HTTP_FUNCTION_BODY_MAX) };
    (void)memcpy(h->owner, fn->owner->id, UUID_MAX);
    (void)memcpy(h->tenant, fn->owner->tenant, SHARE_TENANT_MAX);
    h->closed_ports = e->closed_ports ? e->closed_ports(e->closed_arg) : NULL;
    LIST_INSERT_HEAD(&e->http_calls, h, link);
    const struct http_client_request request = {
        .method = f->method,
        .url = f->url,
        .headers = lines,
        .body = body,
        .body_len = len,
        .timeout_ms = f->timeout_ms,
        .body_max = HTTP_FUNCTION_BODY_MAX,
        .trust = e->trust,
        .rule = { .trust =
                      json_get_bool(security_of(e), "block_private_ips", true) ? OUTGOING_PUBLIC : OUTGOING_OPERATOR,
                  .closed_ports = h->closed_ports,
                  .tenant = h->tenant },
    };
    if (http_client_start(e->loop, &request, &events, h, &h->client, &err) < 0)
        engine_fail(call_end(h), "http_request_failed", "%s", err.msg);
}

void http_function_stop(struct engine *e)
{
    struct http_call *h;
    while ((h = LIST_FIRST(&e->http_calls))) {
        h->client = http_client_free(h->client);
        engine_fail(call_end(h), "invocation_stopped", "the engine stops");
    }
}
