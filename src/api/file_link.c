/* Theory of operation. A signed URL is the address of files/content with a query that ends with &signature=MAC. What is
 * before it, as it is in the request, is signed with the key of this server (link_key.h), together with the method, the
 * sandbox and the secret of the token that asked for it: no part of it can be changed, left out or added, and nothing
 * of it is trusted before the MAC is right. The query has fields of the row (path, format, maxBytes), and
 *   expires  in seconds since the epoch
 *   by       id of the token; empty on a server without tokens
 *   once     a nonce of the sandbox's record
 *   type     Content-Type that the upload must have
 * The request is then the token's: its rate, rights and quotas count, and the audit log names it. A token that is
 * revoked, has expired or has a new secret ends what it signed. */
#include "api/file_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/access.h"
#include "api/api_core.h"
#include "api/call.h"
#include "api/content.h"
#include "api/handlers.h"
#include "api/link_key.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "http/url.h"
#include "sandbox/storage/work_path.h"

#define EXTRA     "fileLinks" /* in the record: {NONCE: expiry} */
#define SIGNATURE "&signature="
#define QUERY_MAX (4 * LIMIT_MAX(PATH_BYTES))
#define VALUE_MAX 256 /* of a member that is not a field of the row */

static const char *const own_members[] = { "expires", "by", "once", "type", "signature" };

static bool is_put(const struct op *op)
{
    return op == &spec_ops[OP_ID_fs_content_write];
}

bool file_link_is_one(const struct http_req *r, const struct op *op)
{
    CLEANUP(buf_done) struct buf value = BUF_INIT(QUERY_MAX);
    if (op != &spec_ops[OP_ID_fs_content_read] && !(op && is_put(op)))
        return false;
    int has_one = url_query_get(http_req_query(r), "signature", &value);
    return has_one == 1 || (has_one < 0 && strstr(http_req_query(r), SIGNATURE)); /* a broken one is one, too */
}

static void sign_text(struct buf *text, const struct op *op, const char *sandbox_id, const struct caller *who,
                      const char *query, size_t len)
{
    (void)buf_addf(text, "file|%s|%s|%s|%.*s", op->method, sandbox_id, who ? who->secret_hash : "", (int)len, query);
}

static int refuse(struct err *err)
{
    return err_set(err, ERR_FORBIDDEN, 0,
                   "this URL is not valid: it was changed, has expired, was used up or revoked, or is for another "
                   "method or Content-Type; ask for a new one (POST /sandboxes/:id/files/sign)");
}

static const char *member(const char *query, const char *name, struct buf *value)
{
    buf_clear(value);
    return url_query_get(query, name, value) == 1 ? buf_text(value) : NULL;
}

/* What a form would write has names of its own, which no one signed. */
static bool is_type(const struct http_req *r, const char *wanted)
{
    const char *type = http_req_header(r, "content-type");
    size_t len = type ? strcspn(type, "; \t") : 0;
    if (content_form_is_one(type))
        return false;
    return !wanted || (len == strlen(wanted) && strncasecmp(type, wanted, len) == 0);
}

int file_link_check(struct api *a, struct http_req *r, const struct op *op, struct caller **ret, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT(QUERY_MAX + VALUE_MAX), value = BUF_INIT(VALUE_MAX);
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    JSON_OWNED target = json_object();
    const char *query = http_req_query(r), *mac = NULL;
    for (const char *at = query; (at = strstr(at, SIGNATURE)); at++)
        mac = at;
    if (!mac || strlen(query) >= QUERY_MAX || routes_params(a->routes, op, http_req_path(r), target, NULL) < 0)
        return refuse(err);
    const char *id = json_get_str(target, "id", "");
    CLEANUP(free_p) char *own = xasprintf("%.*s", (int)(mac - query), query);
    const char *by = member(own, "by", &value);
    who = by ? keyring_by_id(a->keys, by) : NULL;
    sign_text(&text, op, id, who, own, strlen(own));
    bool is_genuine = link_key_signed(a->link_key, buf_text(&text), text.len, mac + strlen(SIGNATURE));
    if (!is_genuine || !who || !access_sandbox(a->manager, who, id, NULL))
        return refuse(err);
    const char *expires = member(own, "expires", &value);
    if (!expires || strtoll(expires, NULL, 10) <= clock_wall_ms() / 1000)
        return refuse(err);
    if (is_put(op) && !is_type(r, member(own, "type", &value)))
        return refuse(err);
    *ret = STEAL(who);
    return 0;
}

int file_link_use(struct api *a, const struct http_req *r, const struct op *op, struct err *err)
{
    CLEANUP(buf_done) struct buf value = BUF_INIT(VALUE_MAX);
    JSON_OWNED target = json_object();
    const char *once = member(http_req_query(r), "once", &value);
    if (!once)
        return 0;
    (void)routes_params(a->routes, op, http_req_path(r), target, NULL); /* it was found for this row */
    struct sandbox *s = manager_find(a->manager, json_get_str(target, "id", ""), NULL);
    return s && link_key_spend(s, json_object_get(s->extra, EXTRA), once) ? 0 : refuse(err);
}

void file_link_strip(json_t *params)
{
    for (size_t i = 0; i < sizeof(own_members) / sizeof(*own_members); i++)
        (void)json_object_del(params, own_members[i]);
}

/* --- the operation --- */

/* Percent-encodes all that RFC 3986 does not leave alone, so that no client changes the spelling. */
static void add_pair(struct buf *query, const char *name, const char *value)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    (void)buf_addf(query, "%s%s=", query->len ? "&" : "", name);
    for (const char *at = value; *at; at++)
        (void)(strchr(plain, *at) ? buf_add_char(query, *at) : buf_addf(query, "%%%02X", (unsigned char)*at));
}

static void add_number(struct buf *query, const char *name, int64_t value)
{
    (void)buf_addf(query, "&%s=%lld", name, (long long)value);
}

/* Where clients reach this server: as the operator says, else as this one did. Caller frees. */
static char *base_url(const struct call *c)
{
    const struct api *a = call_api(c);
    const struct settings *s = a->settings;
    const char *host = call_header(c, "host"), *scheme = *s->tls_cert ? "https" : "http";
    size_t len = strlen(s->public_url);
    if (len)
        return xasprintf("%.*s", (int)(len - (s->public_url[len - 1] == '/')), s->public_url);
    if (host && *host)
        return xasprintf("%s://%s", scheme, host);
    bool is_any = strcmp(s->host, "0.0.0.0") == 0 || strcmp(s->host, "::") == 0, is_v6 = strchr(s->host, ':');
    return xasprintf("%s://%s%s%s:%u", scheme, is_v6 && !is_any ? "[" : "", is_any ? "localhost" : s->host,
                     is_v6 && !is_any ? "]" : "", a->rest_port);
}

static int check_wish(const struct call *c, const struct op *op, const char *path, struct err *err)
{
    static const char *const of_put[] = { "maxBytes", "contentType" };
    for (size_t i = 0; i < 2; i++)
        if (!is_put(op) && json_get(call_params(c), of_put[i]))
            return err_set(err, ERR_INVALID, 0, "%s: only for method put", of_put[i]);
    if (is_put(op) && json_get(call_params(c), "format"))
        return err_set(err, ERR_INVALID, 0, "format: only for method get; a signed upload writes one file");
    if (is_put(op) && path[strlen(path) - 1] == '/')
        return err_set(err, ERR_INVALID, 0, "path: \"%.100s\" is a folder; a signed upload writes one file", path);
    return access_role(call_who(c), op, err);
}

static int keep_nonce(struct sandbox *s, const char *nonce, int64_t expiry_s, struct err *err)
{
    json_t *links = json_object_get(s->extra, EXTRA);
    if (!links) {
        links = json_object();
        (void)json_object_set_new(s->extra, EXTRA, links);
    }
    link_key_keep(links, nonce, expiry_s);
    int r = sandbox_save(s, err);
    if (r < 0)
        (void)json_object_del(links, nonce);
    return r;
}

void api_fs_sign(struct call *c)
{
    const struct api *a = call_api(c);
    struct err err = ERR_INIT;
    const char *method = call_str(c, "method", "get"), *type = call_str(c, "contentType", NULL);
    const struct op *op = &spec_ops[strcmp(method, "put") == 0 ? OP_ID_fs_content_write : OP_ID_fs_content_read];
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    CLEANUP(free_p) char *path = NULL;
    char nonce[IDENT_MAX] = "", mac[DIGEST_HEX];
    int64_t expiry_s = clock_wall_ms() / 1000 + call_int(c, "ttl", LIMIT_DEFAULT(FILE_LINK_TTL_S));
    int64_t max = call_int(c, "maxBytes", -1);
    bool is_once = call_bool(c, "once", false);
    if (is_once)
        ident_new("n", nonce);
    if (work_path_any(s, call_str(c, "path", ""), &path, &err) < 0 || check_wish(c, op, path, &err) < 0 ||
        (is_once && keep_nonce(s, nonce, expiry_s, &err) < 0)) {
        call_fail(c, &err);
        return;
    }
    CLEANUP(buf_done) struct buf query = BUF_INIT(QUERY_MAX), text = BUF_INIT(QUERY_MAX + VALUE_MAX);
    add_pair(&query, "path", path);
    if (json_get(call_params(c), "format"))
        add_pair(&query, "format", call_str(c, "format", ""));
    if (max >= 0)
        add_number(&query, "maxBytes", max);
    add_number(&query, "expires", expiry_s);
    add_pair(&query, "by", call_who(c) ? call_who(c)->id : "");
    if (is_once)
        add_pair(&query, "once", nonce);
    if (type)
        add_pair(&query, "type", type);
    sign_text(&text, op, s->id, call_who(c), buf_text(&query), query.len);
    link_key_sign(a->link_key, buf_text(&text), text.len, mac);
    CLEANUP(free_p) char *base = base_url(c);
    call_ok(c, json_pack("{s:o, s:s, s:o, s:I, s:b}", "url",
                         json_sprintf("%s/%s/sandboxes/%s/files/content?%s" SIGNATURE "%s", base,
                                      a->settings->api_prefix, s->id, buf_text(&query), mac),
                         "method", op->method, "path", json_text(path, strlen(path)), "expiresAt",
                         (json_int_t)expiry_s * 1000, "once", is_once));
}

void api_link_rotate(struct call *c)
{
    struct err err = ERR_INIT;
    if (link_key_rotate(call_api(c)->link_key, &err) < 0)
        call_fail(c, &err);
    else
        call_ok(c, json_pack("{s:b}", "success", 1));
}
