/* Theory of operation. A struct oidc has the last good set of keys and at most one request to the issuer. A fetch is
 * one request for the keys, or two: first the discovery document, which says where the keys are. It begins at the
 * start, when the keys are older than III_OIDC_REFRESH, RETRY_MS after a failure, and when a token names an unknown key
 * and the bucket has a token left: whoever sends tokens with invented key ids cannot make this server flood the issuer.
 * A failed fetch changes nothing but the text for health and log. */
#include "api/oidc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "api/bucket.h"
#include "base/address.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "http/client.h"
#include "http/url.h"
#include "spec/spec.h"
#include "tls/tls_context.h"

#define RETRY_MS       10000
#define TIMEOUT_MS     10000
#define UNKNOWN_PM     2 /* fetches for unknown keys: a minute, and at once */
#define UNKNOWN_BURST  3
#define DISCOVERY_PATH "/.well-known/openid-configuration"

struct oidc {
    struct loop *loop;
    const struct settings *settings;
    struct jwt_rules rules;
    json_t *roles; /* {value: role} or NULL */
    struct quota quota;
    struct jwks *keys; /* NULL: none yet */
    struct tls_context_trust trust;
    bool is_file;
    struct timer *timer;
    struct bucket *unknown;
    struct http_client *http;
    bool is_discovery; /* what http asks for */
    struct buf body;
    char why[200]; /* the last attempt failed, and keys are missing or old; "": it did not */
    loop_fn *fn;
    void *arg;
};

bool oidc_is_wanted(const struct settings *s)
{
    return *s->oidc_issuer;
}

/* --- fetching --- */

static void fetch(struct oidc *o);

static void fetch_over(struct oidc *o, const char *why)
{
    bool is_new = strcmp(o->why, why) != 0;
    (void)snprintf(o->why, sizeof(o->why), "%s", why);
    buf_clear(&o->body);
    if (*why && is_new)
        log_event(LOG_WARN, "oidc.keys", "error", why, "then",
                  o->keys ? "the known keys stay in use" : "JWTs are rejected until there are keys", NULL);
    else if (is_new)
        log_event(LOG_INFO, "oidc.keys", "msg", "the issuer's keys were fetched again", NULL);
    timer_set(o->timer, *why ? RETRY_MS : o->settings->oidc_refresh_s * 1000, 0);
    if (o->fn)
        o->fn(o->arg);
}

static void take_keys(struct oidc *o)
{
    struct err err = ERR_INIT;
    struct jwks *keys = NULL;
    if (jwks_parse(buf_text(&o->body), o->body.len, &keys, &err) == 0) {
        (void)jwks_free(o->keys);
        o->keys = keys;
    }
    fetch_over(o, keys ? "" : err.msg);
}

/* Bytes on the way could be changed by anyone, so plain HTTP is only for this host. */
static bool is_url_safe(const char *text, struct url *ret)
{
    struct address a;
    *ret = (struct url){ 0 };
    if (url_parse_either(text, "http", ret) < 0)
        return false;
    bool is_own = strcasecmp(ret->host, "localhost") == 0 ||
                  (address_parse(ret->host, &a) && address_kind(&a) == ADDRESS_LOOPBACK);
    return ret->is_secure || is_own;
}

static void on_data(void *arg, struct http_client *c, const char *data, size_t len)
{
    struct oidc *o = arg;
    if (http_client_status(c) == 200)
        (void)buf_add(&o->body, data, len); /* body_max is the same bound */
}

static void on_done(void *arg, struct http_client *c, const struct err *err);

static void ask(struct oidc *o, const char *url, bool is_discovery, struct outgoing rule)
{
    static const struct http_client_events events = { .on_data = on_data, .on_done = on_done };
    static const char *const headers[] = { "Accept: application/json", NULL };
    struct http_client_request req = { .method = "GET",
                                       .url = url,
                                       .headers = headers,
                                       .timeout_ms = TIMEOUT_MS,
                                       .body_max = JWKS_BYTES_MAX,
                                       .trust = &o->trust,
                                       .rule = rule };
    struct err err = ERR_INIT;
    buf_clear(&o->body);
    o->is_discovery = is_discovery;
    if (http_client_start(o->loop, &req, &events, o, &o->http, &err) < 0)
        fetch_over(o, err.msg);
}

/* The issuer says where its keys are. A host that is not its own is a public one: an issuer must not make this server
 * call what is inside the operator's network. */
static void take_discovery(struct oidc *o)
{
    JSON_OWNED doc = NULL;
    struct url own = { 0 }, keys = { 0 };
    const char *issuer = NULL, *uri = NULL;
    if (json_read_input(buf_text(&o->body), o->body.len, &doc, NULL) == 0) {
        issuer = jwt_text(json_object_get(doc, "issuer"));
        uri = jwt_text(json_object_get(doc, "jwks_uri"));
    }
    if (!issuer || strcmp(issuer, o->rules.issuer) != 0)
        return fetch_over(o, "the discovery document of the issuer names another issuer, or none");
    if (!uri || !is_url_safe(uri, &keys))
        return fetch_over(o, "jwks_uri of the issuer's discovery document is not a https:// URL");
    bool is_own = is_url_safe(o->rules.issuer, &own) && strcasecmp(own.host, keys.host) == 0 && own.port == keys.port;
    CLEANUP(free_p) char *copy = xstrdup(uri);
    ask(o, copy, false, is_own ? outgoing_operator : (struct outgoing){ .trust = OUTGOING_PUBLIC });
}

static void on_done(void *arg, struct http_client *c, const struct err *err)
{
    struct oidc *o = arg;
    char why[200];
    o->http = NULL;
    const char *what = o->is_discovery ? "discovery document of the issuer" : "keys of the issuer (JWKS)";
    if (err)
        (void)snprintf(why, sizeof(why), "%s: %.140s", what, err->msg);
    else if (http_client_status(c) != 200)
        (void)snprintf(why, sizeof(why), "%s: HTTP status %d", what, http_client_status(c));
    else if (o->is_discovery)
        return take_discovery(o);
    else
        return take_keys(o);
    fetch_over(o, why);
}

static void fetch(struct oidc *o)
{
    const char *issuer = o->rules.issuer, *known = o->settings->oidc_jwks;
    size_t len = strlen(issuer);
    if (o->http || o->is_file)
        return;
    timer_set(o->timer, -1, 0);
    CLEANUP(free_p)
    char *discovery = xasprintf("%.*s%s", (int)(len - (issuer[len - 1] == '/')), issuer, DISCOVERY_PATH);
    ask(o, *known ? known : discovery, !*known, outgoing_operator);
}

static void on_due(void *arg)
{
    fetch(arg);
}

/* --- settings --- */

static int read_file(struct oidc *o, struct err *err)
{
    const char *path = o->settings->oidc_jwks;
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char piece[4096];
    ssize_t n = -1;
    while (fd >= 0 && (n = pread(fd, piece, sizeof(piece), (off_t)o->body.len)) > 0)
        if (buf_add(&o->body, piece, (size_t)n) < 0)
            return err_set(err, ERR_INVALID, 0, "III_OIDC_JWKS: %s is larger than %u bytes", path, JWKS_BYTES_MAX);
    if (fd < 0 || n < 0)
        return err_set(err, ERR_INVALID, errno, "III_OIDC_JWKS: read %s", path);
    int r = jwks_parse(buf_text(&o->body), o->body.len, &o->keys, err);
    buf_clear(&o->body);
    return r < 0 ? err_wrap(err, r, "III_OIDC_JWKS: %s", path) : 0;
}

static int check_role(const char *setting, const char *role, bool may_be_admin, struct err *err)
{
    bool is_one = role && (strcmp(role, "user") == 0 || strcmp(role, "read-only") == 0);
    if (is_one || (role && may_be_admin && strcmp(role, "admin") == 0))
        return 0;
    return err_set(err, ERR_INVALID, 0, "%s: \"%.40s\" is not one of %suser, read-only", setting, role ? role : "",
                   may_be_admin ? "admin, " : "");
}

static int read_roles(struct oidc *o, struct err *err)
{
    const struct settings *s = o->settings;
    const char *value;
    json_t *role;
    int r = 0;
    if (*s->oidc_roles)
        r = json_read(s->oidc_roles, strlen(s->oidc_roles), &o->roles, err);
    if (r < 0 || (o->roles && !json_is_object(o->roles)))
        return err_set(err, ERR_INVALID, 0, "III_OIDC_ROLES is not a JSON object of roles by values");
    json_object_foreach(o->roles, value, role)
    {
        r = check_role("III_OIDC_ROLES", jwt_text(role), true, err);
        if (r < 0)
            return r;
    }
    if (*s->oidc_default_role)
        return check_role("III_OIDC_DEFAULT_ROLE", s->oidc_default_role, false, err);
    if (!json_object_size(o->roles))
        return err_set(err, ERR_INVALID, 0,
                       "III_OIDC_ISSUER needs III_OIDC_ROLES or III_OIDC_DEFAULT_ROLE: without a role nobody may call");
    return 0;
}

static int read_settings(struct oidc *o, struct err *err)
{
    const struct settings *s = o->settings;
    struct url u;
    if (!is_url_safe(s->oidc_issuer, &u) || strchr(s->oidc_issuer, '?'))
        return err_set(err, ERR_INVALID, 0, "III_OIDC_ISSUER: %.200s is not a https:// URL", s->oidc_issuer);
    if (!*s->oidc_audience)
        return err_set(err, ERR_INVALID, 0,
                       "III_OIDC_ISSUER needs III_OIDC_AUDIENCE: a token for another service must not work here");
    o->is_file = *s->oidc_jwks && !strstr(s->oidc_jwks, "://");
    if (*s->oidc_jwks && !o->is_file && !is_url_safe(s->oidc_jwks, &u))
        return err_set(err, ERR_INVALID, 0, "III_OIDC_JWKS: %.200s is neither a file nor a https:// URL", s->oidc_jwks);
    JSON_OWNED quota = NULL;
    if (*s->oidc_quota && json_read(s->oidc_quota, strlen(s->oidc_quota), &quota, err) < 0)
        return err_wrap(err, -EINVAL, "III_OIDC_QUOTA");
    int r = quota_read(quota, &o->quota, err);
    if (r < 0)
        return err_wrap(err, r, "III_OIDC_QUOTA");
    r = read_roles(o, err);
    return r == 0 && o->is_file ? read_file(o, err) : r;
}

int oidc_new(struct loop *l, const struct settings *s, struct oidc **ret, struct err *err)
{
    *ret = NULL;
    if (!oidc_is_wanted(s))
        return 0;
    struct oidc *o = xzalloc(sizeof(*o));
    o->loop = l;
    o->settings = s;
    o->rules = (struct jwt_rules){ .issuer = s->oidc_issuer, .audience = s->oidc_audience };
    o->trust = (struct tls_context_trust){ s->ca_cert, s->client_cert, s->client_key };
    buf_init(&o->body, JWKS_BYTES_MAX);
    int r = read_settings(o, err);
    if (r == 0)
        r = bucket_new(UNKNOWN_PM, UNKNOWN_BURST, &o->unknown, err);
    if (r < 0) {
        (void)oidc_free(o);
        return r;
    }
    o->timer = timer_new(l, o->is_file ? -1 : 0, 0, on_due, o);
    *ret = o;
    return 0;
}

struct oidc *oidc_free(struct oidc *o)
{
    if (o) {
        (void)http_client_free(o->http);
        timer_free(o->timer);
        (void)bucket_free(o->unknown);
        (void)jwks_free(o->keys);
        json_decref(o->roles);
        buf_done(&o->body);
        free(o);
    }
    return NULL;
}

const char *oidc_issuer(const struct oidc *o)
{
    return o->rules.issuer;
}

/* --- claims --- */

static int refuse_claim(struct err *err, const char *claim, const char *why)
{
    return err_set(err, ERR_FORBIDDEN, 0, "JWT: claim \"%s\": %s", claim, why);
}

/* The highest role of all values: roles are sorted that way. */
static const char *role_of(const struct oidc *o, const json_t *values)
{
    const char *const ranks[] = { "admin", "user", "read-only" };
    size_t n = json_is_array(values) ? json_array_size(values) : 1, best = 3;
    for (size_t i = 0; i < n; i++) {
        const char *value = jwt_text(json_is_array(values) ? json_array_get(values, i) : values);
        const char *role = value ? json_string_value(json_object_get(o->roles, value)) : NULL;
        for (size_t k = 0; role && k < best; k++)
            if (strcmp(role, ranks[k]) == 0)
                best = k;
    }
    return best < 3 ? ranks[best] : *o->settings->oidc_default_role ? o->settings->oidc_default_role : NULL;
}

/* A list of texts; a text is split at blanks, as that of "scope" is. Caller owns; NULL: neither. */
static json_t *words_of(const json_t *value)
{
    const char *text = jwt_text(value);
    if (!text)
        return json_is_array(value) ? json_deep_copy(value) : NULL;
    json_t *list = json_array();
    for (size_t len; *(text += strspn(text, " ")); text += len) {
        len = strcspn(text, " ");
        (void)json_array_append_new(list, json_stringn(text, len));
    }
    return list;
}

static int check_words(const json_t *words, const char *claim, struct err *err)
{
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = jwt_text(json_array_get(words, i));
        if (!word || spec_check_words(word, NULL) < 0)
            return refuse_claim(err, claim, "it has a word that is not an operation or a group of operations");
    }
    return json_array_size(words) ? 0 : refuse_claim(err, claim, "it is not a list of operations");
}

static int map_claims(const struct oidc *o, const struct jwt *t, struct token_file_token *ret, struct err *err)
{
    const struct settings *s = o->settings;
    char name[TOKEN_FILE_NAME_MAX + 1];
    const json_t *operations = jwt_claim(t->claims, s->oidc_operations_claim);
    const json_t *sandbox = jwt_claim(t->claims, s->oidc_sandbox_claim);
    const json_t *tenant = jwt_claim(t->claims, s->oidc_tenant_claim);
    JSON_OWNED words = operations ? words_of(operations) : NULL;
    struct token_file_wish wish = { .name = name, .expires = t->expires, .quota = o->quota, .operations = words };
    struct err why = ERR_INIT;
    wish.role = role_of(o, jwt_claim(t->claims, s->oidc_role_claim));
    wish.tenant = jwt_text(tenant);
    wish.sandbox = jwt_text(sandbox);
    identity_name(t->subject, name);
    if (!wish.role)
        return refuse_claim(err, s->oidc_role_claim, "it has no value that III_OIDC_ROLES gives a role to");
    if ((tenant && !wish.tenant) || (!tenant && strcmp(wish.role, "admin") != 0))
        return refuse_claim(err, s->oidc_tenant_claim, "it is missing, or not a text: the tenant of the caller");
    if (wish.tenant && strcmp(wish.tenant, TOKEN_FILE_ALL) == 0)
        return refuse_claim(err, s->oidc_tenant_claim, "* is not a tenant");
    if (sandbox && !wish.sandbox)
        return refuse_claim(err, s->oidc_sandbox_claim, "it is not a text: the id of a sandbox");
    if (operations && check_words(words, s->oidc_operations_claim, err) < 0)
        return -EPERM;
    if (token_file_check(&wish, ret, &why) < 0) /* what it says is about the claims, which are the caller's own */
        return err_set(err, ERR_FORBIDDEN, 0, "JWT: its claims do not map to a caller: %.200s", why.msg);
    return 0;
}

/* --- asking --- */

static int key_unknown(struct oidc *o, struct err *err)
{
    bool is_fetched = !o->is_file && (o->http || bucket_take(o->unknown, (uint64_t)clock_mono_us()));
    if (is_fetched)
        fetch(o);
    if (is_fetched && o->http)
        return err_set(err, ERR_CAPACITY, 0,
                       "JWT: its key is not known yet: the issuer's keys are being fetched, try again");
    if (!o->keys)
        return err_set(err, ERR_CAPACITY, 0, "JWT: the issuer's keys cannot be fetched: try again later");
    return -EACCES; /* err says what jwt_check() found */
}

int oidc_check(struct oidc *o, const char *token, int64_t now_ms, struct identity *ret, struct err *err)
{
    CLEANUP(jwt_done) struct jwt t = { 0 };
    memset(ret, 0, sizeof(*ret));
    int r = jwt_check(token, o->keys, &o->rules, now_ms, &t, err);
    if (r < 0)
        return t.is_key_unknown ? key_unknown(o, err) : r;
    r = map_claims(o, &t, &ret->token, err);
    if (r < 0)
        return r;
    memcpy(ret->subject, t.subject, strlen(t.subject) + 1);
    memcpy(ret->key, t.key, sizeof(ret->key));
    return 0;
}

bool oidc_has_key(const struct oidc *o, const char *digest)
{
    return o->keys && jwks_has(o->keys, digest);
}

void oidc_on_keys(struct oidc *o, loop_fn *fn, void *arg)
{
    o->fn = fn;
    o->arg = arg;
}

const char *oidc_problem(const struct oidc *o, const char **ret_why)
{
    if (ret_why)
        *ret_why = o->why;
    if (!o->keys)
        return "OIDC: the issuer's keys have not been fetched: JWTs are rejected";
    return *o->why ? "OIDC: the issuer's keys cannot be fetched: the known ones stay in use" : NULL;
}

size_t oidc_key_count(const struct oidc *o)
{
    return o->keys ? jwks_count(o->keys) : 0;
}
