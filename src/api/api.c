/* Theory of operation. on_head() finds the row or the entry point that a request is for, once, decides how much body it
 * may send, and refuses at once a request with a large body that would be refused anyway. on_request() then checks in
 * the contract's order: preflight, other entry points, token and rate (admission.h), capacity, route, parameters; what
 * passes becomes a struct call. */
#include "api/api.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/access.h"
#include "api/admission.h"
#include "api/api_core.h"
#include "api/attach.h"
#include "api/call_core.h"
#include "api/console.h"
#include "api/console_session.h"
#include "api/docs.h"
#include "api/file_link.h"
#include "api/fn.h"
#include "api/hostguard.h"
#include "api/in_flight.h"
#include "api/link_key.h"
#include "api/mcp_entry.h"
#include "api/params.h"
#include "api/preview.h"
#include "api/raw_proxy.h"
#include "api/ssh_entry.h"
#include "api/tunnel.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/share.h"
#include "engine/channel.h"
#include "http/url.h"
#include "http/ws_closing.h"
#include "loop/json_work.h"
#include "mcp/mcp_http.h"
#include "sandbox/exec/terminal.h"
#include "sandbox/observe/webhooks.h"

#define MIB       1048576
#define SWEEP_MS  300000
#define TOKEN_MAX LIMIT_MAX(JWT_BYTES)

/* Bytes in flight of all tenants together, in bodies of the largest size: a tenant may have four such bodies. */
#define FLIGHT_BODIES (4 * SHARE_PARTS)
#define FLIGHT_MIN_MB 256

static void sweep(void *arg)
{
    struct api *a = arg;
    gate_sweep(a->gate, (uint64_t)clock_mono_us());
    idempotency_sweep(a->idempotency, clock_wall_ms());
}

static void on_token_ended(void *arg, const char *token_id)
{
    struct api *a = arg;
    call_end_of(a, token_id);
    terminal_end_of(a->manager->terminals, token_id);
    raw_proxy_end_of(a->raw_proxy, token_id);
    attach_end_of(a->attached, token_id);
    tunnel_end_of(a->tunnels, token_id);
    ssh_entry_end_of(a->ssh, token_id);
    mcp_entry_end_of(a->mcp, token_id);
}

static bool serve_channel(void *arg, struct http_req *r)
{
    const struct api *a = arg;
    return channel_hub_serve(a->manager->channels, r);
}

static void quota_of(void *arg, const char *tenant, struct quota *ret)
{
    const struct api *a = arg;
    keyring_quota(a->keys, tenant, ret);
}

int api_new(struct loop *l, struct manager *m, const struct settings *s, struct keyring *keys, struct api **ret,
            struct err *err)
{
    struct api *a = xzalloc(sizeof(*a));
    a->loop = l;
    a->manager = m;
    a->settings = s;
    a->routes = routes_new(s->api_prefix, spec_ops, OP_ALL);
    a->keys = keys;
    LIST_INIT(&a->calls);
    a->gate = gate_new(s, keys);
    keyring_on_ended(keys, on_token_ended, a);
    a->idempotency = idempotency_new(m->store, s->idempotency_keep);
    int64_t flight_mb = s->max_body_mb * FLIGHT_BODIES;
    a->in_flight = share_new((size_t)(flight_mb > FLIGHT_MIN_MB ? flight_mb : FLIGHT_MIN_MB) * MIB);
    a->http_share = share_new(API_HTTP_MAX);
    m->quota_of = quota_of;
    m->quota_arg = a;
    a->naming = map_new();
    a->sweep = timer_new(l, SWEEP_MS, SWEEP_MS, sweep, a);
    a->link_key = link_key_new(m->store);
    a->preview = preview_new(a);
    a->raw_proxy = raw_proxy_new(a);
    a->attached = attach_set_new(a);
    a->closing = ws_closing_new();
    a->tunnels = tunnel_set_new();
    /* The WebSockets of channels: the key is the credential, as on the engine's port. */
    api_add_path(a, "/ws/channels/", serve_channel, a, false);
    a->mcp = mcp_entry_new(a);
    docs_add(a);
    console_add(a);
    a->sessions = console_session_new(a);
    *ret = a; /* on failure, too: the caller frees it like the rest */
    return audit_new(l, s, keyring_dir(keys), &a->audit, err);
}

struct api *api_free(struct api *a)
{
    if (a) {
        a->manager->quota_of = NULL;
        a->functions = fn_free(a->functions);
        a->mcp = mcp_entry_free(a->mcp);
        a->raw_proxy = raw_proxy_free(a->raw_proxy);
        a->attached = attach_set_free(a->attached);
        a->closing = ws_closing_free(a->closing);
        a->tunnels = tunnel_set_free(a->tunnels);
        a->preview = preview_free(a->preview);
        a->sessions = console_session_free(a->sessions);
        a->link_key = link_key_free(a->link_key);
        a->sweep = timer_free(a->sweep);
        a->gate = gate_free(a->gate);
        a->audit = audit_free(a->audit);
        a->idempotency = idempotency_free(a->idempotency);
        a->in_flight = share_free(a->in_flight);
        a->http_share = share_free(a->http_share);
        a->naming = map_free(a->naming);
        a->routes = routes_free(a->routes);
        free(a);
    }
    return NULL;
}

void api_listens(struct api *a, uint16_t port)
{
    a->rest_port = port;
    a->trust = (struct tls_context_trust){ a->settings->ca_cert, a->settings->client_cert, a->settings->client_key };
    webhooks_start(a->manager->webhooks, &a->trust);
}

void api_stop(struct api *a)
{
    mcp_entry_stop(a->mcp);
    attach_stop(a->attached);
    call_end_sockets(a);
}

unsigned api_calls_running(const struct api *a)
{
    return a->n_calls;
}

void api_on_trace(struct api *a, api_trace_fn *fn, void *arg)
{
    a->on_trace = fn;
    a->trace_arg = arg;
}

void api_add_path(struct api *a, const char *path_prefix, api_entry_fn *fn, void *arg, bool needs_auth)
{
    api_add_entry(a, &(struct api_entry){ .path_prefix = path_prefix, .fn = fn, .arg = arg, .needs_auth = needs_auth });
}

void api_add_entry(struct api *a, const struct api_entry *entry)
{
    assert(a->n_entries < API_ENTRIES_MAX); /* entry points are added at start, by this program */
    a->entries[a->n_entries++] = *entry;
}

/* --- HTTP --- */

static const struct api_entry *entry_for(const struct api *a, struct http_req *r)
{
    for (size_t i = 0; i < a->n_entries; i++) {
        const struct api_entry *d = &a->entries[i];
        if (strncmp(http_req_path(r), d->path_prefix, strlen(d->path_prefix)) == 0 &&
            (!d->claims || d->claims(d->arg, r)))
            return d;
    }
    return NULL;
}

/* A browser's WebSocket cannot send the header: its token may be ?token=. */
static int admit(struct api *a, struct http_req *r, const struct op *op, bool is_uncounted, struct caller **ret,
                 struct err *err)
{
    CLEANUP(buf_done) struct buf token = BUF_INIT(TOKEN_MAX);
    bool is_upgrade = op && op->flags & OP_UPGRADE;
    bool is_socket = is_upgrade || (op && call_is_socket(op, r));
    JSON_OWNED target = is_upgrade ? json_object() : NULL;
    CLEANUP(caller_unref_p) struct caller *signer = NULL;
    struct admission from = { .http = r,
                              .operation = is_upgrade ? op->fn : NULL,
                              .target = target,
                              .is_read = admission_is_read(r) && !is_upgrade,
                              .is_uncounted = is_uncounted };
    if (is_upgrade)
        (void)routes_params(a->routes, op, http_req_path(r), target,
                            NULL); /* a path that is not valid text matches nothing */
    if (is_socket && !http_req_header(r, "authorization") && url_query_get(http_req_query(r), "token", &token) == 1)
        from.credential = buf_text(&token);
    if (file_link_is_one(r, op)) {
        int bad = file_link_check(a, r, op, &signer, err);
        if (bad < 0) {
            admission_record(a, &from, NULL, err);
            return bad;
        }
        from.identity = signer->id;
    }
    return admission_check(a, &from, ret, err);
}

/* Fields that are headers: nothing else of that name counts. */
static int add_headers(json_t *params, const struct op *op, struct http_req *r, struct err *err)
{
    for (const struct field *f = op->fields; f->name; f++) {
        char name[SPEC_HEADER_MAX];
        if (!(f->flags & (FIELD_HEADER | FIELD_CHANNEL)))
            continue;
        (void)json_object_del(params, f->name);
        spec_header_name(f, name);
        const char *value = f->flags & FIELD_HEADER ? http_req_header(r, name) : NULL;
        json_t *text = value ? json_string(value) : NULL;
        if (value && (!text || json_object_set_new(params, f->name, text) < 0))
            return err_set(err, ERR_INVALID, 0, "%s: not UTF-8 text", name);
    }
    return 0;
}

/* A request whose body is being read. */
struct arrival {
    struct api *api;
    struct http_req *req; /* referenced, as the next one */
    struct caller *who;
    const struct op *op;
    json_t *params;
};

/* Query, body, then path: what is set later wins. */
static void on_body(void *arg, json_t *body, const struct err *why)
{
    struct arrival *n = arg;
    struct err err = why ? *why : (struct err)ERR_INIT;
    int r = why ? err_wrap(&err, -EINVAL, "request body") : params_take_body(n->params, body, &err);
    if (r >= 0 && !http_req_is_gone(n->req))
        r = add_headers(n->params, n->op, n->req, &err);
    if (http_req_is_gone(n->req))
        r = -ENOTCONN; /* and there may be no API any more */
    else if (r < 0 || routes_params(n->api->routes, n->op, http_req_path(n->req), n->params, &err) < 0)
        admission_refuse(n->req, &err);
    else
        call_start(call_new(n->api, n->op, STEAL(n->params), n->req, n->who));
    (void)http_req_unref(n->req);
    (void)caller_unref(n->who);
    json_decref(n->params);
    free(n);
}

static void read_body(struct api *a, struct http_req *r, const struct op *op, struct caller *who, json_t *params)
{
    size_t len;
    const char *body = http_req_body(r, &len);
    struct arrival *n = xzalloc(sizeof(*n));
    *n = (struct arrival){ .api = a, .req = http_req_ref(r), .op = op, .params = params };
    n->who = who ? caller_ref(who) : NULL;
    if (op->flags & OP_RAW_BODY || !params_has_json(http_req_header(r, "content-type"), body, len))
        on_body(n, NULL, NULL);
    else
        json_work_read(a->loop, body, len, on_body, n);
}

/* Token, then route: in this order, so that a caller without a token does not learn which paths exist. op NULL: none
 * was found.
 */
static void run_op(struct api *a, struct http_req *r, const struct op *op)
{
    struct err err = ERR_INIT, unknown = ERR_INIT;
    char allow[ROUTES_ALLOW_MAX] = "";
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    if (!op)
        op = routes_match(a->routes, http_req_method(r), http_req_path(r), NULL, allow, &unknown);
    if (!(op && op->flags & OP_NO_AUTH) && admit(a, r, op, false, &who, &err) < 0) {
        admission_refuse(r, &err);
        return;
    }
    if (*allow)
        http_req_add_header(r, "Allow", allow);
    if (!op)
        err = unknown;
    else if (a->n_http >= API_HTTP_MAX || (who && !share_has_room(a->http_share, who->tenant, 1)))
        (void)err_set(&err, ERR_CAPACITY, 0, "limit of %d concurrent requests, or %d of one tenant, reached: try again",
                      API_HTTP_MAX, API_HTTP_MAX / SHARE_PARTS);
    else if (!(op->flags & OP_NO_AUTH))
        (void)in_flight_check(a, who, &err);
    JSON_OWNED params = json_object();
    bool is_link = file_link_is_one(r, op);
    if (err.code == ERR_NONE && is_link)
        (void)file_link_use(a, r, op, &err);
    if (err.code != ERR_NONE || params_add_query(params, http_req_query(r), &err) < 0) {
        admission_refuse(r, &err);
        return;
    }
    if (is_link)
        file_link_strip(params);
    read_body(a, r, op, who, STEAL(params));
}

/* What is outside the table is about the whole server: for admins, and to be read by who may see everything. */
static bool use_entry(struct api *a, struct http_req *r, const struct api_entry *entry)
{
    struct err err = ERR_INIT;
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    bool is_read = admission_is_read(r);
    if (!entry->needs_auth)
        return entry->fn(entry->arg, r);
    if (admit(a, r, NULL, false, &who, &err) < 0) {
        admission_refuse(r, &err);
        return true;
    }
    bool is_watching = entry->is_watchable && is_read && !who->by.view && !*who->operations;
    if (!is_watching && access_need(who, !is_read, true, http_req_path(r), &err) < 0) {
        admission_record(a, &(struct admission){ .http = r, .is_read = is_read }, who, &err);
        admission_refuse(r, &err);
        return true;
    }
    return entry->fn(entry->arg, r);
}

/* Pages of the origins that the operator lists may read what the server answers. */
static void add_cors(const struct api *a, struct http_req *r)
{
    const char *page = http_req_header(r, "origin"), *origin = hostguard_cors(page, a->settings->allowed_origins);
    if (!*origin && page && strncmp(http_req_path(r), "/mcp", 4) == 0 &&
        mcp_http_allows(page, a->settings->mcp_origins))
        origin = page;
    admission_cors(r, origin);
    if (*origin)
        http_req_add_header(r, "Access-Control-Expose-Headers",
                            "Idempotency-Replayed, Iii-Warnings, Preference-Applied, Retry-After");
}

static void on_request(void *arg, struct http_req *r)
{
    struct api *a = arg;
    const struct op *op = http_req_rule(r)->found[0];
    const struct api_entry *entry = http_req_rule(r)->found[1];
    if (entry && entry->is_raw && entry->fn(entry->arg, r))
        return;
    add_cors(a, r);
    if (strcmp(http_req_method(r), "OPTIONS") == 0)
        admission_preflight(r, "GET, POST, PUT, DELETE, OPTIONS");
    else if (!entry || entry->is_raw || !use_entry(a, r, entry))
        run_op(a, r, op);
}

/* Body bytes a head announces; 0 when it does not say. */
static uint64_t announced(const struct http_req *r)
{
    const char *length = http_req_header(r, "content-length");
    return length ? strtoull(length, NULL, 10) : 0;
}

/* Bytes that the body may take. */
static size_t body_bytes(const struct http_req *r, const struct http_body_rule *rule)
{
    return http_req_header(r, "transfer-encoding") ? rule->max_bytes : announced(r);
}

/* Entry points ask for the token themselves, when the body is there. So that no client without a token can
 * fill the memory, all of them together get what one tenant gets. */
static struct http_body_rule entry_rule(struct api *a, struct http_req *r, const struct api_entry *entry,
                                        struct http_body_rule rule)
{
    struct err err = ERR_INIT, none = ERR_INIT;
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    rule.found[1] = entry;
    rule.is_streamed = entry->is_raw;
    if (entry->is_raw) {
        rule.max_bytes = SIZE_MAX;
        return rule;
    }
    size_t bytes = body_bytes(r, &rule);
    struct admission from = { .http = r, .is_read = true, .is_uncounted = true };
    if (bytes <= API_SMALL || bytes > rule.max_bytes)
        return rule;
    (void)admission_check(a, &from, &who, &none); /* without one it is nobody's */
    if (in_flight_body(a, r, who, bytes, &err) < 0) {
        add_cors(a, r);
        admission_refuse(r, &err);
    }
    return rule;
}

static struct http_body_rule on_head(void *arg, struct http_req *r)
{
    struct api *a = arg;
    struct err err = ERR_INIT;
    char allow[ROUTES_ALLOW_MAX] = "";
    struct http_body_rule rule = { .max_bytes = (size_t)a->settings->max_body_mb * MIB };
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    if (!preview_is_one(a, r) && hostguard_check(a, r, &err) < 0) { /* previews have rules of their own */
        admission_record(a, &(struct admission){ .http = r, .is_read = admission_is_read(r) }, NULL, &err);
        admission_refuse(r, &err);
        return rule;
    }
    const struct api_entry *entry = entry_for(a, r);
    if (entry)
        return entry_rule(a, r, entry, rule);
    const struct op *op = routes_match(a->routes, http_req_method(r), http_req_path(r), NULL, allow, &err);
    bool is_raw = op && op->flags & OP_RAW_BODY;
    bool is_small = announced(r) <= API_SMALL && !http_req_header(r, "transfer-encoding") && !is_raw;
    rule.found[0] = op;
    if (is_small || strcmp(http_req_method(r), "OPTIONS") == 0) {
        rule.max_bytes = API_SMALL;
        return rule;
    }
    bool has_content = is_raw || (op && op->flags & OP_LARGE_BODY) || rule.max_bytes <= SPEC_JSON_MAX;
    rule.max_bytes = is_raw ? SIZE_MAX : has_content ? rule.max_bytes : SPEC_JSON_MAX;
    bool is_known = (op && op->flags & OP_NO_AUTH) || admit(a, r, op, true, &who, &err) == 0;
    if (is_known && op && !is_raw && announced(r) <= rule.max_bytes)
        (void)in_flight_body(a, r, who, body_bytes(r, &rule), &err);
    else if (is_known && op && !is_raw)
        (void)err_set(&err, ERR_TOO_LARGE, 0, "request body: %llu bytes, at most %zu are allowed (%s)",
                      (unsigned long long)announced(r), rule.max_bytes,
                      has_content ? "III_MAX_BODY_MB" : "send content with fs::write or fs::upload");
    rule.is_streamed = is_known && is_raw;
    if (is_known && *allow)
        http_req_add_header(r, "Allow", allow);
    if (err.code != ERR_NONE) {
        add_cors(a, r);
        admission_refuse(r, &err);
    }
    return rule;
}

struct http_app api_http_app(struct api *a)
{
    return (struct http_app){ .arg = a, .on_head = on_head, .on_request = on_request };
}
