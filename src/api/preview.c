/* Theory of operation. A preview's host name has one label, "PORT-" and the 24 hex digits of the sandbox's id, before
 * "localhost" or the operator's domain. raw_proxy.c asks here first; what is admitted takes the way of any proxied
 * request.
 *
 * A signed link is the address with ?iii_link=EXPIRY.NONCE.MAC. It is exchanged, once, for a cookie EXPIRY.MAC of that
 * host alone, and a redirect to the address without it. Both MACs are made with the key of this server (link_key.h),
 * over what they are good for. The nonces of links that may still be used are in the sandbox's record. */
#include "api/preview.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/access.h"
#include "api/admission.h"
#include "api/api_core.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/link_key.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/limits.h"
#include "http/url.h"

#define EXTRA     "preview" /* in the record: {ports: {"8000": {public, rewriteHost}}, links: {NONCE: expiry}} */
#define COOKIE    "iii_preview"
#define LINK      "iii_link"
#define TOKEN_MAX 160

struct preview {
    struct api *api;
};

struct preview *preview_new(struct api *a)
{
    struct preview *p = xzalloc(sizeof(*p));
    p->api = a;
    return p;
}

struct preview *preview_free(struct preview *p)
{
    free(p);
    return NULL;
}

/* --- names --- */

/* Where the operator's domain begins and ends in "https://sandboxes.example:8443". */
static const char *bare_domain(const char *domain, size_t *ret_len)
{
    const char *scheme = strstr(domain, "://");
    const char *name = scheme ? scheme + 3 : domain;
    *ret_len = strcspn(name, ":/");
    return name;
}

static bool is_below(const char *rest, size_t len, const char *domain, size_t domain_len)
{
    return len == domain_len + 1 && *rest == '.' && strncasecmp(rest + 1, domain, domain_len) == 0;
}

bool preview_parse(const char *host, const char *domain, struct preview_target *ret)
{
    size_t len = strcspn(host, ":"), digits = strspn(host, "0123456789"), domain_len;
    const char *hex = host + digits + 1, *name = bare_domain(domain, &domain_len);
    if (digits == 0 || digits > 5 || host[digits] != '-' || len < digits + 1 + IDENT_HEX)
        return false;
    long port = strtol(host, NULL, 10);
    const char *rest = hex + IDENT_HEX;
    size_t rest_len = len - digits - 1 - IDENT_HEX;
    if (strspn(hex, "0123456789abcdefABCDEF") != IDENT_HEX || port < LIMIT_MIN(PORT) || port > LIMIT_MAX(PORT))
        return false;
    if (!is_below(rest, rest_len, "localhost", strlen("localhost")) &&
        !(domain_len && is_below(rest, rest_len, name, domain_len)))
        return false;
    ret->port = (uint16_t)port;
    (void)snprintf(ret->id, sizeof(ret->id), "sbx_%.*s", IDENT_HEX, hex);
    for (char *c = ret->id; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'F' ? *c - 'A' + 'a' : *c);
    return true;
}

bool preview_is_one(const struct api *a, const struct http_req *r)
{
    struct preview_target t;
    const char *host = http_req_header(r, "host");
    return host && preview_parse(host, a->settings->preview_domain, &t);
}

char *preview_url(const struct api *a, const struct sandbox *s, uint16_t port)
{
    const char *domain = a->settings->preview_domain, *hex = strchr(s->id, '_') + 1;
    const char *scheme = strstr(domain, "://");
    if (!*domain)
        return xasprintf("http%s://%u-%s.localhost:%u/", *a->settings->tls_cert ? "s" : "", port, hex, a->rest_port);
    if (scheme) /* a whole address: of a proxy in front of us, perhaps with a port */
        return xasprintf("%.*s%u-%s.%s/", (int)(scheme + 3 - domain), domain, port, hex, scheme + 3);
    return xasprintf("http%s://%u-%s.%s:%u/", *a->settings->tls_cert ? "s" : "", port, hex, domain, a->rest_port);
}

/* --- signatures --- */

static void sign(const struct preview *p, const char *purpose, const struct preview_target *t, const char *rest,
                 char ret[DIGEST_HEX])
{
    char text[TOKEN_MAX + 128];
    int n = snprintf(text, sizeof(text), "%s|%s|%u|%s", purpose, t->id, t->port, rest);
    link_key_sign(p->api->link_key, text, (size_t)n, ret);
}

/* token: "REST.MAC" where REST begins with an expiry in seconds. *ret_rest has REST. */
static bool is_genuine(const struct preview *p, const char *purpose, const struct preview_target *t, const char *token,
                       char ret_rest[TOKEN_MAX])
{
    const char *mac = strrchr(token, '.');
    char right[DIGEST_HEX];
    if (!mac || (size_t)(mac - token) >= TOKEN_MAX || strlen(mac + 1) != DIGEST_HEX - 1)
        return false;
    (void)snprintf(ret_rest, TOKEN_MAX, "%.*s", (int)(mac - token), token);
    sign(p, purpose, t, ret_rest, right);
    return digest_same_secret(right, mac + 1, DIGEST_HEX - 1) && strtoll(ret_rest, NULL, 10) > clock_wall_ms() / 1000;
}

/* --- admission --- */

static const json_t *settings_of(const struct sandbox *s, uint16_t port)
{
    char key[8];
    (void)snprintf(key, sizeof(key), "%u", port);
    return json_get(json_get(json_object_get(s->extra, EXTRA), "ports"), key);
}

bool preview_rewrites_host(const struct sandbox *s, uint16_t port)
{
    return json_get_bool(settings_of(s, port), "rewriteHost", false);
}

bool preview_is_own_cookie(const char *name, size_t len)
{
    return len == strlen(COOKIE) && strncmp(name, COOKIE, len) == 0;
}

static bool has_cookie(const struct preview *p, const struct http_req *r, const struct preview_target *t)
{
    const char *name, *value;
    char rest[TOKEN_MAX], token[TOKEN_MAX];
    for (size_t i = 0; http_req_header_at(r, i, &name, &value); i++) {
        if (strcasecmp(name, "cookie") != 0)
            continue;
        for (const char *at = value; *at; at += strcspn(at, ";"), at += *at == ';') {
            at += strspn(at, " ");
            size_t eq = strcspn(at, "=;"), len = strcspn(at, ";");
            if (at[eq] != '=' || !preview_is_own_cookie(at, eq) || len - eq - 1 >= sizeof(token))
                continue;
            (void)snprintf(token, sizeof(token), "%.*s", (int)(len - eq - 1), at + eq + 1);
            if (is_genuine(p, "cookie", t, token, rest))
                return true;
        }
    }
    return false;
}

/* The query without the link, for the redirect. */
static void query_without_link(const char *query, struct buf *out)
{
    char joint = '?';
    for (const char *at = query; *at; at += strcspn(at, "&"), at += *at == '&') {
        size_t len = strcspn(at, "&");
        if (len == 0 || strncmp(at, LINK "=", strlen(LINK) + 1) == 0)
            continue;
        (void)buf_addf(out, "%c%.*s", joint, (int)len, at);
        joint = '&';
    }
}

static void exchange_link(const struct preview *p, struct http_req *r, const struct preview_target *t,
                          long long expiry_s)
{
    CLEANUP(buf_done) struct buf to = BUF_INIT(65536);
    char expiry[24], mac[DIGEST_HEX], cookie[TOKEN_MAX + 64];
    (void)snprintf(expiry, sizeof(expiry), "%lld", expiry_s);
    sign(p, "cookie", t, expiry, mac);
    (void)snprintf(cookie, sizeof(cookie), COOKIE "=%s.%s; Path=/; HttpOnly; SameSite=Lax; Max-Age=%lld%s", expiry, mac,
                   expiry_s - (long long)(clock_wall_ms() / 1000), *p->api->settings->tls_cert ? "; Secure" : "");
    /* A path that begins with two slashes would be another host's address. */
    (void)buf_addf(&to, "/%s", http_req_path(r) + strspn(http_req_path(r), "/"));
    query_without_link(http_req_query(r), &to);
    http_req_add_header(r, "Set-Cookie", cookie);
    http_req_add_header(r, "Location", buf_text(&to));
    http_req_add_header(r, "Cache-Control", "no-store");
    http_req_add_header(r, "Referrer-Policy", "no-referrer");
    http_req_reply(r, 302, "text/plain", "", 0);
}

/* On a server without tokens a page of another origin may lead to a preview, but not call it. */
static bool is_from_elsewhere(const struct http_req *r)
{
    const char *origin = http_req_header(r, "origin"), *host = http_req_header(r, "host");
    const char *site = http_req_header(r, "sec-fetch-site"), *mode = http_req_header(r, "sec-fetch-mode");
    const char *rest = origin ? strstr(origin, "://") : NULL;
    bool is_navigation = mode && strcasecmp(mode, "navigate") == 0 && admission_is_read(r);
    if (origin && !(rest && strcasecmp(rest + 3, host) == 0))
        return true;
    return site && !is_navigation && strcasecmp(site, "same-origin") != 0 && strcasecmp(site, "none") != 0;
}

static int refuse(struct err *err)
{
    return err_set(err, ERR_UNAUTHORIZED, 0,
                   "this preview is private, or there is none: open a signed link (POST /sandboxes/:id/preview), or "
                   "send a token of this server as Authorization: Bearer");
}

int preview_admit(struct preview *p, struct http_req *r, const struct preview_target *t, struct sandbox *s,
                  struct caller **ret, struct err *err)
{
    CLEANUP(buf_done) struct buf link = BUF_INIT(TOKEN_MAX);
    char rest[TOKEN_MAX];
    bool is_public = s && json_get_bool(settings_of(s, t->port), "public", false);
    bool is_open = keyring_is_open(p->api->keys);
    if (is_open && is_from_elsewhere(r) && !is_public)
        return err_set(err, ERR_FORBIDDEN, 0, "pages of other origins may not call a preview; make its port public");
    if (!s && is_open)
        return err_set(err, ERR_NOT_FOUND, 0, "sandbox not found: %s", t->id);
    if (is_open || is_public || (s && has_cookie(p, r, t)))
        return 0;
    if (url_query_get(http_req_query(r), LINK, &link) == 1 && admission_is_read(r) && s &&
        is_genuine(p, "link", t, buf_text(&link), rest)) {
        const char *nonce = strchr(rest, '.');
        if (nonce && link_key_spend(s, json_get(json_object_get(s->extra, EXTRA), "links"), nonce + 1)) {
            exchange_link(p, r, t, strtoll(rest, NULL, 10));
            return 1;
        }
        return refuse(err);
    }
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    JSON_OWNED target = json_pack("{s:s, s:i}", "id", t->id, "port", t->port);
    struct admission from = { .http = r, .operation = "proxy::raw", .target = target, .is_read = admission_is_read(r) };
    struct err why = ERR_INIT;
    if (!http_req_header(r, "authorization") || admission_check(p->api, &from, &who, &why) < 0)
        return why.code == ERR_RATE_LIMITED ? err_set(err, why.code, 0, "%s", why.msg) : refuse(err);
    if (!access_sandbox(p->api->manager, who, t->id, &why))
        return refuse(err);
    *ret = STEAL(who);
    return 0;
}

/* --- the operation --- */

/* Changes the record; err: nothing has changed. nonce NULL: no link is wanted. */
static int save_settings(struct sandbox *s, const struct call *c, const char *nonce, int64_t expiry_s, struct err *err)
{
    char key[8];
    uint16_t port = (uint16_t)call_int(c, "port", 0);
    (void)snprintf(key, sizeof(key), "%u", port);
    const json_t *was = settings_of(s, port), *before = json_object_get(s->extra, EXTRA);
    JSON_OWNED row = json_pack("{s:b, s:b}", "public", call_bool(c, "public", json_get_bool(was, "public", false)),
                               "rewriteHost", call_bool(c, "rewriteHost", json_get_bool(was, "rewriteHost", false)));
    if (json_equal(row, (json_t *)(uintptr_t)was) && !nonce)
        return 0;
    JSON_OWNED changed = before ? json_deep_copy(before) : json_pack("{s:{}, s:{}}", "ports", "links");
    json_t *ports = json_get(changed, "ports"), *links = json_get(changed, "links");
    (void)json_object_set(ports, key, row);
    if (json_object_size(ports) > LIMIT_MAX(PREVIEW_PORTS))
        return err_set(err, ERR_CAPACITY, 0, "limit of %d ports with preview settings in sandbox %s reached",
                       (int)LIMIT_MAX(PREVIEW_PORTS), s->id);
    if (nonce)
        link_key_keep(links, nonce, expiry_s);
    JSON_OWNED kept = before ? json_incref((json_t *)(uintptr_t)before) : NULL;
    (void)json_object_set(s->extra, EXTRA, changed);
    int r = sandbox_save(s, err);
    if (r < 0 && kept)
        (void)json_object_set(s->extra, EXTRA, kept);
    else if (r < 0)
        (void)json_object_del(s->extra, EXTRA);
    return r;
}

void api_preview_open(struct call *c)
{
    const struct api *a = call_api(c);
    struct err err = ERR_INIT;
    char nonce[IDENT_MAX], rest[TOKEN_MAX], mac[DIGEST_HEX];
    struct preview_target t = { .port = (uint16_t)call_int(c, "port", 0) };
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return; /* and the call is over */
    bool is_public = call_bool(c, "public", json_get_bool(settings_of(s, t.port), "public", false));
    bool has_link = !is_public && !keyring_is_open(a->keys);
    int64_t expiry_s = clock_wall_ms() / 1000 + call_int(c, "ttl", LIMIT_DEFAULT(PREVIEW_TTL_S));
    ident_new("n", nonce);
    if (save_settings(s, c, has_link ? nonce : NULL, expiry_s, &err) < 0) {
        call_fail(c, &err);
        return;
    }
    CLEANUP(free_p) char *url = preview_url(a, s, t.port);
    json_t *reply = json_pack("{s:i, s:s, s:b, s:b}", "port", t.port, "url", url, "public", is_public, "rewriteHost",
                              preview_rewrites_host(s, t.port));
    if (has_link) {
        memcpy(t.id, s->id, sizeof(t.id));
        (void)snprintf(rest, sizeof(rest), "%lld.%s", (long long)expiry_s, nonce);
        sign(a->preview, "link", &t, rest, mac);
        (void)json_object_set_new(reply, "signedUrl", json_sprintf("%s?" LINK "=%s.%s", url, rest, mac));
        (void)json_object_set_new(reply, "expiresAt", json_integer(expiry_s * 1000));
    }
    call_ok(c, reply);
}
