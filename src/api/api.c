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
#include "api/call_core.h"
#include "api/docs.h"
#include "api/fn.h"
#include "api/hostguard.h"
#include "api/mcp_entry.h"
#include "api/params.h"
#include "api/raw_proxy.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "engine/channel.h"
#include "http/url.h"
#include "sandbox/exec/terminal.h"

#define MIB       1048576
#define SWEEP_MS  300000
#define TOKEN_MAX 4096

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
    mcp_entry_end_of(a->mcp, token_id);
}

static bool serve_channel(void *arg, struct http_req *r)
{
    const struct api *a = arg;
    return channel_hub_serve(a->manager->channels, r);
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
    a->sweep = timer_new(l, SWEEP_MS, SWEEP_MS, sweep, a);
    a->raw_proxy = raw_proxy_new(a);
    /* The WebSockets of channels: the key is the credential, as on the engine's port. */
    api_add_path(a, "/ws/channels/", serve_channel, a, false);
    a->mcp = mcp_entry_new(a);
    docs_add(a);
    *ret = a; /* on failure, too: the caller frees it like the rest */
    return audit_new(l, s, keyring_dir(keys), &a->audit, err);
}

struct api *api_free(struct api *a)
{
    if (a) {
        a->functions = fn_free(a->functions);
        a->mcp = mcp_entry_free(a->mcp);
        a->raw_proxy = raw_proxy_free(a->raw_proxy);
        a->sweep = timer_free(a->sweep);
        a->gate = gate_free(a->gate);
        a->audit = audit_free(a->audit);
        a->idempotency = idempotency_free(a->idempotency);
        a->routes = routes_free(a->routes);
        free(a);
    }
    return NULL;
}

void api_listens(struct api *a, uint16_t port)
{
    a->rest_port = port;
}

void api_stop(struct api *a)
{
    mcp_entry_stop(a->mcp);
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
static int admit(struct api *a, struct http_req *r, const struct op *op, struct caller **ret, struct err *err)
{
    CLEANUP(buf_done) struct buf token = BUF_INIT(TOKEN_MAX);
    bool is_upgrade = op && op->flags & OP_UPGRADE;
    JSON_OWNED target = is_upgrade ? json_object() : NULL;
    struct admission from = { .http = r,
                              .operation = is_upgrade ? op->fn : NULL,
                              .target = target,
                              .is_read = admission_is_read(r) && !is_upgrade };
    if (is_upgrade)
        (void)routes_params(a->routes, op, http_req_path(r), target,
                            NULL); /* a path that is not valid text matches nothing */
    if (is_upgrade && !http_req_header(r, "authorization") && url_query_get(http_req_query(r), "token", &token) == 1)
        from.credential = buf_text(&token);
    return admission_check(a, &from, ret, err);
}

/* Token, then route: in this order, so that a caller without a token does not learn which paths exist. op NULL: none
 * was found.
 */
static void run_op(struct api *a, struct http_req *r, const struct op *op)
{
    struct err err = ERR_INIT, unknown = ERR_INIT;
    char allow[ROUTES_ALLOW_MAX] = "";
    JSON_OWNED params = json_object();
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    if (!op)
        op = routes_match(a->routes, http_req_method(r), http_req_path(r), NULL, allow, &unknown);
    if (!(op && op->flags & OP_NO_AUTH) && admit(a, r, op, &who, &err) < 0) {
        admission_refuse(r, &err);
        return;
    }
    if (*allow)
        http_req_add_header(r, "Allow", allow);
    if (!op)
        err = unknown;
    else if (a->n_http >= API_HTTP_MAX)
        (void)err_set(&err, ERR_CAPACITY, 0, "limit of %u concurrent requests reached: try again", a->n_http);
    /* Query, body, then path: what is set later wins. */
    int e = err.code == ERR_NONE ? params_add_query(params, http_req_query(r), &err) : -EINVAL;
    if (e >= 0 && !(op->flags & OP_RAW_BODY)) {
        size_t len;
        const char *body = http_req_body(r, &len);
        e = params_add_body(params, http_req_header(r, "content-type"), body, len, &err);
    }
    if (e < 0 || routes_params(a->routes, op, http_req_path(r), params, &err) < 0)
        admission_refuse(r, &err);
    else
        call_start(call_new(a, op, STEAL(params), r, who));
}

/* What is outside the table is about the whole server: for admins, and to be read by who may see everything. */
static bool use_entry(struct api *a, struct http_req *r, const struct api_entry *entry)
{
    struct err err = ERR_INIT;
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    bool is_read = admission_is_read(r);
    if (!entry->needs_auth)
        return entry->fn(entry->arg, r);
    if (admit(a, r, NULL, &who, &err) < 0) {
        admission_refuse(r, &err);
        return true;
    }
    bool is_watching = entry->is_watchable && is_read && !who->by.view;
    if (!is_watching && access_need(who, !is_read, true, http_req_path(r), &err) < 0) {
        admission_record(a, &(struct admission){ .http = r, .is_read = is_read }, who, &err);
        admission_refuse(r, &err);
        return true;
    }
    return entry->fn(entry->arg, r);
}

static void on_request(void *arg, struct http_req *r)
{
    struct api *a = arg;
    const struct op *op = http_req_rule(r)->found[0];
    const struct api_entry *entry = http_req_rule(r)->found[1];
    if (entry && entry->is_raw && entry->fn(entry->arg, r))
        return;
    admission_cors(r, "*");
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

static struct http_body_rule on_head(void *arg, struct http_req *r)
{
    struct api *a = arg;
    struct err err = ERR_INIT;
    char allow[ROUTES_ALLOW_MAX] = "";
    struct http_body_rule rule = { .max_bytes = (size_t)a->settings->max_body_mb * MIB };
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    if (hostguard_check(a, r, &err) < 0) {
        admission_record(a, &(struct admission){ .http = r, .is_read = admission_is_read(r) }, NULL, &err);
        admission_refuse(r, &err);
        return rule;
    }
    const struct api_entry *entry = entry_for(a, r);
    if (entry) {
        rule.found[1] = entry;
        rule.is_streamed = entry->is_raw;
        rule.max_bytes = entry->is_raw ? SIZE_MAX : rule.max_bytes;
        return rule;
    }
    const struct op *op = routes_match(a->routes, http_req_method(r), http_req_path(r), NULL, allow, &err);
    bool is_raw = op && op->flags & OP_RAW_BODY;
    bool is_small = announced(r) <= API_SMALL && !http_req_header(r, "transfer-encoding") && !is_raw;
    rule.found[0] = op;
    if (is_small || strcmp(http_req_method(r), "OPTIONS") == 0) {
        rule.max_bytes = API_SMALL;
        return rule;
    }
    bool has_content = is_raw || (op && op->flags & OP_LARGE_BODY) || rule.max_bytes <= SPEC_JSON_MAX;
    rule.max_bytes = has_content ? rule.max_bytes : SPEC_JSON_MAX;
    struct admission from = { .http = r, .is_read = admission_is_read(r), .is_uncounted = true };
    bool is_known = (op && op->flags & OP_NO_AUTH) || admission_check(a, &from, &who, &err) == 0;
    if (is_known && op && announced(r) > rule.max_bytes && !is_raw)
        (void)err_set(&err, ERR_TOO_LARGE, 0, "request body: %llu bytes, at most %zu are allowed (%s)",
                      (unsigned long long)announced(r), rule.max_bytes,
                      has_content ? "III_MAX_BODY_MB" : "send content with fs::write or fs::upload");
    rule.is_streamed = is_known && is_raw;
    if (is_known && *allow)
        http_req_add_header(r, "Allow", allow);
    if (err.code != ERR_NONE) {
        admission_cors(r, "*");
        admission_refuse(r, &err);
    }
    return rule;
}

struct http_app api_http_app(struct api *a)
{
    return (struct http_app){ .arg = a, .on_head = on_head, .on_request = on_request };
}
