/* Theory of operation. The reference's host becomes a list of endpoints (its mirrors, then itself). The first manifest
 * request picks the endpoint that answers; everything after goes there. A 401 brings a challenge; the bearer token or
 * basic credentials obtained for it are kept for the next requests, until another 401 replaces them. Transient failures
 * are retried from the received offset, with Retry-After or exponential pauses; other errors end the request and name
 * the endpoint. */
#include "image/registry_client.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/ident.h"
#include "http/url.h"
#include "image/docker_credentials.h"
#include "image/image_limits.h"
#include "image/registry_auth.h"

#define ENDPOINTS_MAX 8
#define TRIES_MAX     5   /* in a row without a byte of progress */
#define CALLS_MAX     200 /* requests for one blob, with progress */
#define BACKOFF_MS    250
#define BACKOFF_MAX   8000
#define WAIT_MAX_S    60 /* longest Retry-After that is honoured */
#define ERROR_BYTES   8192
#define MANIFEST_ACCEPT                                                                     \
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, " \
    "application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json"

struct endpoint {
    char *base; /* "https://host[:port]", no slash at the end */
    char *host; /* key for the credentials lookup */
    bool may_be_plain;
};

struct registry {
    struct reference ref;
    const struct registry_options *options;
    struct endpoint endpoints[ENDPOINTS_MAX];
    size_t n_endpoints, at; /* at: index of the endpoint in use */
    bool is_contacted;
    pthread_mutex_t mutex; /* guards authorization */
    char *authorization;   /* value of the header, or NULL */
    char *private_hosts;   /* all that the operator has listed */
};

/* Adds to the private hosts: a mirror or a registry over plain HTTP may be in a private network. */
static void add_private(struct registry *r, const char *hosts)
{
    char *longer = xasprintf("%s,%s", r->private_hosts ? r->private_hosts : "", hosts ? hosts : "");
    free(r->private_hosts);
    r->private_hosts = longer;
}

/* "HOST[:PORT]" is on the list; without a port it is that of plain HTTP. */
static bool is_plain_host(const struct registry *r, const char *host)
{
    struct url u;
    CLEANUP(free_p) char *url = xasprintf("http://%s", host);
    return url_parse(url, "http", 80, &u) == 0 && address_hosts_have(r->options->plain_hosts, u.host, u.port);
}

static int add_endpoint(struct registry *r, const char *address, size_t len, struct err *err)
{
    CLEANUP(free_p) char *text = xstrndup(address, len);
    const char *scheme = strstr(text, "://");
    const char *rest = scheme ? scheme + 3 : text;
    if (r->n_endpoints == ENDPOINTS_MAX)
        return err_set(err, ERR_INVALID, 0, "over %d mirrors for %s (III_REGISTRY_MIRRORS)", ENDPOINTS_MAX - 1,
                       r->ref.host);
    if (!*rest || (scheme && strncmp(text, "https://", 8) != 0 && strncmp(text, "http://", 7) != 0))
        return err_set(err, ERR_INVALID, 0, "mirror \"%s\" is not a host or an http(s) address (III_REGISTRY_MIRRORS)",
                       text);
    struct endpoint *e = &r->endpoints[r->n_endpoints++];
    size_t host_len = strcspn(rest, "/"), rest_len = strlen(rest);
    while (rest_len && rest[rest_len - 1] == '/')
        rest_len--;
    e->host = xstrndup(rest, host_len);
    bool is_plain = scheme ? text[4] == ':' : is_plain_host(r, e->host);
    e->may_be_plain = !scheme && !is_plain && registry_http_is_loopback(e->host);
    e->base = xasprintf("%s://%.*s", is_plain ? "http" : "https", (int)rest_len, rest);
    return 0;
}

int registry_open(const struct reference *ref, const struct registry_options *options, struct registry **ret,
                  struct err *err)
{
    CLEANUP(registry_close_p) struct registry *r = xzalloc(sizeof(*r));
    r->ref = *ref;
    r->options = options;
    add_private(r, options->private_hosts);
    add_private(r, options->plain_hosts);
    (void)pthread_mutex_init(&r->mutex, NULL); /* cannot fail for a plain mutex */
    int result = 0;
    for (const char *at = options->mirrors ? options->mirrors : ""; *at && result == 0;) {
        at += strspn(at, ", \t");
        size_t len = strcspn(at, ", \t");
        const char *equals = memchr(at, '=', len);
        if (len && (!equals || equals == at))
            return err_set(err, ERR_INVALID, 0, "mirror \"%.*s\" is not HOST=ADDRESS (III_REGISTRY_MIRRORS)", (int)len,
                           at);
        size_t n = equals ? (size_t)(equals - at) : 0;
        if (len && strlen(ref->host) == n && strncmp(at, ref->host, n) == 0) {
            result = add_endpoint(r, equals + 1, len - n - 1, err);
            if (result == 0)
                add_private(r, r->endpoints[r->n_endpoints - 1].host);
        }
        at += len;
    }
    if (result == 0)
        result = add_endpoint(r, ref->host, strlen(ref->host), err);
    if (result < 0)
        return result;
    struct endpoint *own = &r->endpoints[r->n_endpoints - 1];
    if (strcmp(own->host, "docker.io") == 0) {
        free(own->base);
        own->base = xstrdup("https://registry-1.docker.io");
    }
    *ret = STEAL(r);
    return 0;
}

static void set_authorization(struct registry *r, char *value)
{
    (void)pthread_mutex_lock(&r->mutex);
    if (r->authorization)
        explicit_bzero(r->authorization, strlen(r->authorization));
    free(r->authorization);
    r->authorization = value;
    (void)pthread_mutex_unlock(&r->mutex);
}

struct registry *registry_close(struct registry *r)
{
    if (!r)
        return NULL;
    for (size_t i = 0; i < r->n_endpoints; i++) {
        free(r->endpoints[i].base);
        free(r->endpoints[i].host);
    }
    set_authorization(r, NULL);
    free(r->private_hosts);
    (void)pthread_mutex_destroy(&r->mutex);
    free(r);
    return NULL;
}

void registry_doc_done(struct registry_doc *d)
{
    free(d->text);
    *d = (struct registry_doc){ 0 };
}

/* Every request goes through here. */
static int registry_send(const struct registry *r, struct registry_http_request *req, size_t body_max,
                         struct registry_http_reply *reply, struct err *err)
{
    req->is_cancelled = r->options->is_cancelled;
    req->is_terse = r->options->is_terse;
    req->rule = (struct outgoing){ .trust = OUTGOING_PUBLIC,
                                   .private_hosts = r->private_hosts,
                                   .closed_ports = r->options->closed_ports };
    return registry_http_do(req, body_max, reply, err);
}

/* --- login --- */

static char *basic_header(const struct docker_credentials *c)
{
    CLEANUP(free_p) char *plain = xasprintf("%s:%s", c->user, c->secret);
    size_t len = strlen(plain);
    CLEANUP(free_p) char *coded = xzalloc(BASE64_SIZE(len) + 1);
    base64_encode(plain, len, coded);
    char *header = xasprintf("Basic %s", coded);
    explicit_bzero(plain, len);
    explicit_bzero(coded, strlen(coded));
    return header;
}

static int fetch_token(struct registry *r, const struct registry_auth_challenge *c,
                       const struct docker_credentials *cred, struct err *err)
{
    const struct endpoint *e = &r->endpoints[r->at];
    if (strncmp(c->realm, "http://", 7) == 0 && strncmp(e->base, "https://", 8) == 0)
        return err_set(err, ERR_UPSTREAM, 0, "%s wants a login over plain http: refused", e->host);
    CLEANUP(free_p) char *own_scope = xasprintf("repository:%s:pull", r->ref.repository);
    CLEANUP(free_p) char *scope = registry_http_escape(*c->scope ? c->scope : own_scope);
    CLEANUP(free_p) char *service = registry_http_escape(c->service);
    CLEANUP(free_p) char *query = xasprintf("service=%s&scope=%s", service, scope);
    CLEANUP(free_p) char *form = NULL;
    CLEANUP(free_p) char *basic = NULL;
    CLEANUP(free_p) char *url = NULL;
    if (cred->secret && cred->is_identity) {
        CLEANUP(free_p) char *secret = registry_http_escape(cred->secret);
        form = xasprintf("grant_type=refresh_token&client_id=iii-sandbox&refresh_token=%s&%s", secret, query);
        url = xstrdup(c->realm);
    } else {
        basic = cred->secret ? basic_header(cred) : NULL;
        url = xasprintf("%s%c%s", c->realm, strchr(c->realm, '?') ? '&' : '?', query);
    }
    CLEANUP(registry_http_reply_done) struct registry_http_reply reply = { 0 };
    struct registry_http_request req = { .url = url, .authorization = basic, .form = form };
    int result = registry_send(r, &req, 1 << 20, &reply, err);
    if (result < 0)
        return err_wrap(err, result, "log in to %s", e->host);
    if (reply.status == 401 || reply.status == 403)
        return err_set(err, ERR_NOT_FOUND, 0, "%s refuses the login%s: `docker login %s` saves one that is used here",
                       e->host, cred->secret ? " that Docker's config.json has" : "", e->host);
    if (reply.status != 200)
        return err_set(err, ERR_UPSTREAM, 0, "log in to %s: its token service answered %d", e->host, reply.status);
    CLEANUP(free_p) char *token = NULL;
    result = registry_auth_parse_token(buf_text(&reply.body), reply.body.len, &token, err);
    if (result == 0)
        set_authorization(r, xasprintf("Bearer %s", token));
    return result;
}

static int login(struct registry *r, const char *challenge, struct err *err)
{
    struct registry_auth_challenge *c = xzalloc(sizeof(*c)); /* too big for a worker's stack */
    CLEANUP(docker_credentials_done) struct docker_credentials cred = { 0 };
    const struct endpoint *e = &r->endpoints[r->at];
    int result = registry_auth_parse_challenge(challenge, c, err);
    if (result == 0)
        result = docker_credentials_find(r->options->docker_config, e->host, &cred, err);
    if (result == 0 && !c->is_basic)
        result = fetch_token(r, c, &cred, err);
    else if (result == 0 && cred.secret)
        set_authorization(r, basic_header(&cred));
    else if (result == 0)
        result =
            err_set(err, ERR_NOT_FOUND, 0,
                    "%s wants a login and Docker's config.json has none for it: `docker login %s`", e->host, e->host);
    free(c);
    return result;
}

/* --- requests --- */

struct counted {
    registry_http_sink_fn *sink;
    void *arg;
    int64_t offset;
};

static int count_sink(void *arg, const void *data, size_t len)
{
    struct counted *c = arg;
    int r = c->sink(c->arg, data, len);
    if (r >= 0)
        c->offset += (int64_t)len;
    return r;
}

static bool is_cancelled(const struct registry *r)
{
    return r->options->is_cancelled && atomic_load(r->options->is_cancelled);
}

/* 0: waited, try again. */
static int wait_for_retry(const struct registry *r, const struct registry_http_reply *reply, int tries, struct err *err)
{
    if (reply->retry_after_s > WAIT_MAX_S)
        return err_set(err, ERR_UPSTREAM, 0, "%s limits the rate: it wants %lld seconds of peace; try then, or log in",
                       r->endpoints[r->at].host, (long long)reply->retry_after_s);
    unsigned char dice = 0;
    ident_random(&dice, 1);
    int64_t ms = (int64_t)BACKOFF_MS << (tries < 6 ? tries : 6);
    ms = (ms > BACKOFF_MAX ? BACKOFF_MAX : ms) * (128 + dice) / 256;
    if (reply->retry_after_s * 1000 > ms)
        ms = reply->retry_after_s * 1000;
    for (; ms > 0 && !is_cancelled(r); ms -= 100) { /* in slices, so that a cancelled pull ends soon */
        const struct timespec slice = { .tv_nsec = (ms < 100 ? ms : 100) * 1000000 };
        (void)nanosleep(&slice, NULL); /* waking early only shortens the wait */
    }
    return is_cancelled(r) ? err_set(err, ERR_CAPACITY, ECANCELED, "the pull was cancelled") : 0;
}

static int explain_status(const struct registry *r, const struct registry_http_reply *reply, struct err *err)
{
    const struct endpoint *e = &r->endpoints[r->at];
    switch (reply->status) {
    case 401:
    case 403:
        return err_set(err, ERR_NOT_FOUND, 0,
                       "%s has no %s, or none for you (status %d): check the name, or `docker login %s`", e->host,
                       r->ref.repository, reply->status, e->host);
    case 404:
        return err_set(err, ERR_NOT_FOUND, 0, "%s has no such image: %s%s%s", e->host, r->ref.repository,
                       *r->ref.tag ? ":" : "", r->ref.tag);
    case 429:
        return err_set(err, ERR_UPSTREAM, 0, "%s limits the rate (status 429): try later, or `docker login %s`",
                       e->host, e->host);
    default:
        return err_set(err, ERR_UPSTREAM, 0, "registry %s answered with status %d", e->host, reply->status);
    }
}

/* One reply, with a login when the registry asks for one. */
static int registry_exchange(struct registry *r, struct registry_http_request *req, size_t body_max,
                             struct registry_http_reply *reply, struct err *err)
{
    for (int round = 0;; round++) {
        (void)pthread_mutex_lock(&r->mutex);
        CLEANUP(free_p) char *authorization = xstrdup(r->authorization);
        (void)pthread_mutex_unlock(&r->mutex);
        req->authorization = authorization;
        int result = registry_send(r, req, body_max, reply, err);
        req->authorization = NULL;
        if (result < 0 || reply->status != 401 || round == 1 || !*reply->challenge)
            return result;
        char *challenge = xstrdup(reply->challenge);
        registry_http_reply_done(reply);
        result = login(r, challenge, err);
        free(challenge);
        if (result < 0) {
            *reply = (struct registry_http_reply){ 0 };
            return result;
        }
    }
}

/* A loopback registry without TLS is common for trying things: https first, then plain, on loopback only. */
static bool try_plain(struct registry *r)
{
    struct endpoint *e = &r->endpoints[r->at];
    if (!e->may_be_plain)
        return false;
    char *plain = xasprintf("http%s", e->base + 5);
    free(e->base);
    e->base = plain;
    e->may_be_plain = false;
    return true;
}

/* Repeats until 200 or 206; transient failures are retried from the received offset. */
static int registry_get(struct registry *r, const char *path, struct registry_http_request *req, size_t body_max,
                        struct registry_http_reply *reply, struct err *err)
{
    struct counted counted = { .sink = req->sink, .arg = req->sink_arg, .offset = req->offset };
    if (req->sink) {
        req->sink = count_sink;
        req->sink_arg = &counted;
    }
    int tries = 0;
    for (int calls = 0;; calls++) {
        CLEANUP(free_p) char *url = xasprintf("%s/v2/%s/%s", r->endpoints[r->at].base, r->ref.repository, path);
        req->url = url;
        req->offset = counted.offset;
        int result = registry_exchange(r, req, body_max, reply, err);
        if (result == 0 && (reply->status == 200 || reply->status == 206)) {
            if (!r->is_contacted) /* the first manifest: no other thread exists yet, and nothing writes this later */
                r->is_contacted = true;
            return 0;
        }
        if (reply->is_unreachable && !r->is_contacted) {
            if (try_plain(r))
                continue;
            return result; /* a retry cannot help: another endpoint, or the user, must */
        }
        tries = counted.offset > req->offset ? 0 : tries + 1;
        if (!reply->is_passing || tries >= TRIES_MAX || calls >= CALLS_MAX)
            return result < 0 ? result : explain_status(r, reply, err);
        result = wait_for_retry(r, reply, tries, err);
        registry_http_reply_done(reply);
        if (result < 0)
            return result;
    }
}

/* hex: the digest that the document at path must have, or "". */
static int document_here(struct registry *r, const char *path, const char *hex, struct registry_doc *ret,
                         bool *ret_is_unreachable, struct err *err)
{
    CLEANUP(registry_http_reply_done) struct registry_http_reply reply = { 0 };
    struct registry_http_request req = { .accept = MANIFEST_ACCEPT };
    int result = registry_get(r, path, &req, IMAGE_LIMITS_JSON_BYTES, &reply, err);
    *ret_is_unreachable = reply.is_unreachable;
    if (result < 0)
        return result;
    struct registry_doc doc = { .len = reply.body.len };
    digest_of(buf_text(&reply.body), doc.len, doc.hex);
    if (*hex && strcmp(hex, doc.hex) != 0)
        return err_set(err, ERR_UPSTREAM, 0, "the manifest that %s sent is not the one asked for: its digest is %s",
                       r->endpoints[r->at].host, doc.hex);
    doc.text = buf_steal(&reply.body, NULL);
    *ret = doc;
    return 0;
}

static int manifest_here(struct registry *r, const char *hex, struct registry_doc *ret, bool *ret_is_unreachable,
                         struct err *err)
{
    CLEANUP(free_p) char *path = *hex ? xasprintf("manifests/sha256:%s", hex) : xasprintf("manifests/%s", r->ref.tag);
    return document_here(r, path, hex, ret, ret_is_unreachable, err);
}

int registry_tagged(struct registry *r, const char *tag, struct registry_doc *ret, struct err *err)
{
    bool is_unreachable = false;
    CLEANUP(free_p) char *path = xasprintf("manifests/%s", tag);
    return document_here(r, path, "", ret, &is_unreachable, err);
}

int registry_referrers(struct registry *r, const char *hex, struct registry_doc *ret, struct err *err)
{
    bool is_unreachable = false;
    CLEANUP(free_p) char *path = xasprintf("referrers/sha256:%s", hex);
    return document_here(r, path, "", ret, &is_unreachable, err);
}

int registry_manifest(struct registry *r, const char *hex, struct registry_doc *ret, struct err *err)
{
    const char *wanted = hex ? hex : r->ref.digest;
    while (true) {
        bool is_unreachable = false;
        int result = manifest_here(r, wanted, ret, &is_unreachable, err);
        if (result == 0 || result == -ECANCELED)
            return result;
        if (!r->is_contacted && r->at + 1 < r->n_endpoints) {
            r->at++; /* a mirror that lacks it, or is down */
            set_authorization(r, NULL);
            continue;
        }
        if (!is_unreachable)
            return result;
        struct err why = err ? *err : (struct err)ERR_INIT;
        return err_set(
            err, ERR_NOT_FOUND, 0,
            "registry %s cannot be reached%s (%.150s): check the network, or bring the image with `iii image "
            "import FILE.tar NAME`",
            r->endpoints[r->at].host, r->options->is_terse ? ", or is not allowed" : "",
            r->options->is_terse ? "`iii image pull` on the server's host says why" : why.msg);
    }
}

int registry_blob(struct registry *r, const char *hex, int64_t offset, registry_http_sink_fn *sink, void *arg,
                  struct err *err)
{
    CLEANUP(free_p) char *path = xasprintf("blobs/sha256:%s", hex);
    CLEANUP(registry_http_reply_done) struct registry_http_reply reply = { 0 };
    struct registry_http_request req = { .offset = offset, .sink = sink, .sink_arg = arg };
    return registry_get(r, path, &req, ERROR_BYTES, &reply, err);
}
