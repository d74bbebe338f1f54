/* Theory of operation. on_head() decides how much body a request may send, and refuses at once one that would be
 * refused anyway but brings a large body. on_request() then checks in the contract's order: preflight, side doors,
 * token, rate, capacity, route, sandbox rate, parameters; what passes becomes a struct call. */
#include "api/api.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/access.h"
#include "api/api_core.h"
#include "api/call_core.h"
#include "api/hostguard.h"
#include "api/mcp_entry.h"
#include "api/params.h"
#include "api/raw_proxy.h"
#include "api/ws_upgrade.h"
#include "base/alloc.h"
#include "base/clock.h"

#define MIB      1048576
#define SWEEP_MS 300000

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
    ws_upgrade_end_of(a->ws_upgrade, token_id);
    raw_proxy_end_of(a->raw_proxy, token_id);
    mcp_entry_end_of(a->mcp, token_id);
}

int api_new(struct loop *l, struct manager *m, const struct settings *s, struct keyring *keys, struct api **ret,
            struct err *err)
{
    struct api *a = xzalloc(sizeof(*a));
    a->loop = l;
    a->manager = m;
    a->settings = s;
    a->routes = routes_new(s->api_prefix, spec_ops, OP_COUNT);
    a->keys = keys;
    LIST_INIT(&a->calls);
    a->gate = gate_new(s, keys);
    keyring_on_ended(keys, on_token_ended, a);
    a->idempotency = idempotency_new(m->store, s->idempotency_keep);
    a->sweep = timer_new(l, SWEEP_MS, SWEEP_MS, sweep, a);
    a->raw_proxy = raw_proxy_new(a);
    a->ws_upgrade = ws_upgrade_new(a);
    a->mcp = mcp_entry_new(a);
    *ret = a; /* on failure, too: the caller frees it like the rest */
    return audit_new(l, s, keyring_dir(keys), &a->audit, err);
}

struct api *api_free(struct api *a)
{
    if (a) {
        a->mcp = mcp_entry_free(a->mcp);
        a->ws_upgrade = ws_upgrade_free(a->ws_upgrade);
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
    assert(a->n_entries < API_ENTRIES_MAX); /* doors are added at start, by us */
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

static int check_token(const struct api *a, const struct http_req *r, struct caller **ret, struct err *err)
{
    return gate_auth(a->gate, http_req_header(r, "authorization"), ret, err);
}

/* Token, then route: in this order, so that nobody without a token learns which paths exist. *ret_who, when wanted, is
 * a reference, or NULL where none is asked for. */
static const struct op *find_op(const struct api *a, struct http_req *r, struct caller **ret_who, struct err *err)
{
    struct err no_token = ERR_INIT;
    char allow[ROUTES_ALLOW_MAX] = "";
    const struct op *op = routes_match(a->routes, http_req_method(r), http_req_path(r), NULL, allow, err);
    if (!(op && op->flags & OP_NO_AUTH) && check_token(a, r, ret_who, &no_token) < 0) {
        *err = no_token;
        return NULL;
    }
    if (*allow)
        http_req_add_header(r, "Allow", allow);
    return op;
}

/* Requests without a right to what they ask: those that would change something are in the audit log. */
static void record_refusal(struct api *a, struct http_req *r, const struct err *err)
{
    const char *method = http_req_method(r);
    bool is_read = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (is_read || (err->code != ERR_UNAUTHORIZED && err->code != ERR_FORBIDDEN))
        return;
    CLEANUP(free_p) char *what = xasprintf("%s %.200s", method, http_req_path(r));
    struct audit_line line = { .request_id = http_req_header(r, "x-request-id"),
                               .remote = http_req_peer(r),
                               .operation = what,
                               .status = err_status(err->code) };
    audit_refused(a->audit, &line);
}

static void refuse(struct api *a, struct http_req *r, const struct err *err)
{
    record_refusal(a, r, err);
    if (err->code == ERR_UNAUTHORIZED)
        http_req_add_header(r, "WWW-Authenticate", "Bearer");
    call_refuse(r, err);
}

static void add_cors(struct http_req *r)
{
    http_req_add_header(r, "Access-Control-Allow-Origin", "*");
}

static void answer_preflight(struct http_req *r)
{
    const char *wanted = http_req_header(r, "access-control-request-headers");
    http_req_add_header(r, "Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, OPTIONS");
    /* "*" would leave out Authorization, so what the browser asks for is named back to it. */
    http_req_add_header(r, "Access-Control-Allow-Headers", wanted && *wanted ? wanted : "*");
    http_req_add_header(r, "Access-Control-Max-Age", "86400");
    http_req_reply(r, 200, "text/plain", "", 0);
}

/* -EAGAIN: answered with 429. */
static int limit_rate(struct api *a, struct http_req *r, int verdict, unsigned wait_s, const struct err *err)
{
    char text[16];
    if (verdict >= 0)
        return 0;
    (void)snprintf(text, sizeof(text), "%u", wait_s ? wait_s : 1);
    http_req_add_header(r, "Retry-After", text);
    refuse(a, r, err);
    return verdict;
}

static int pass_token_rate(struct api *a, struct http_req *r, const struct caller *who)
{
    struct err err = ERR_INIT;
    unsigned wait_s = 0;
    int verdict = gate_rate(a->gate, http_req_header(r, "authorization"), (uint64_t)clock_mono_us(), &wait_s, &err);
    if (verdict == 0)
        verdict = gate_rate_quota(a->gate, who, (uint64_t)clock_mono_us(), &wait_s, &err);
    return limit_rate(a, r, verdict, wait_s, &err);
}

static int pass_sandbox_rate(struct api *a, struct http_req *r, const struct caller *who, const struct op *op,
                             const json_t *params)
{
    struct err err = ERR_INIT;
    unsigned wait_s = 0;
    const char *id = op->flags & OP_SANDBOX ? json_get_str(params, "id", NULL) : NULL;
    if (!a->settings->rate_limit || !id || !access_sandbox(a->manager, who, id, NULL))
        return 0; /* a sandbox that does not exist is the handler's to refuse, with 404 */
    int verdict = gate_rate_sandbox(a->gate, op, id, (uint64_t)clock_mono_us(), &wait_s, &err);
    return limit_rate(a, r, verdict, wait_s, &err);
}

/* Query, body, then path: what is set later wins. */
static int read_params(const struct api *a, const struct op *op, struct http_req *r, json_t *params, struct err *err)
{
    char allow[ROUTES_ALLOW_MAX];
    int e = params_add_query(params, http_req_query(r), err);
    if (e >= 0 && !(op->flags & OP_RAW_BODY)) {
        size_t len;
        const char *body = http_req_body(r, &len);
        e = params_add_body(params, http_req_header(r, "content-type"), body, len, err);
    }
    if (e < 0)
        return e;
    return routes_match(a->routes, http_req_method(r), http_req_path(r), params, allow, err) ? 0 : -EINVAL;
}

static void run_op(struct api *a, struct http_req *r)
{
    struct err err = ERR_INIT;
    JSON_OWNED params = json_object();
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    const struct op *op = find_op(a, r, &who, &err);
    if (!op && (err.code == ERR_UNAUTHORIZED || err.code == ERR_FORBIDDEN)) {
        refuse(a, r, &err);
        return;
    }
    if (who && pass_token_rate(a, r, who) < 0)
        return;
    if (op && a->n_http >= API_HTTP_MAX) {
        (void)err_set(&err, ERR_CAPACITY, 0, "%u requests are being served, the most at the same time: try again",
                      a->n_http);
        op = NULL;
    }
    if (!op || read_params(a, op, r, params, &err) < 0) {
        refuse(a, r, &err);
        return;
    }
    if (pass_sandbox_rate(a, r, who, op, params) < 0)
        return;
    call_start(call_new(a, op, STEAL(params), r, who));
}

/* What is outside the table is about the whole server: for admins, and to be read by who may see everything. */
static int check_entry(const struct api_entry *entry, const struct caller *who, const struct http_req *r,
                       struct err *err)
{
    bool is_read = strcmp(http_req_method(r), "GET") == 0 || strcmp(http_req_method(r), "HEAD") == 0;
    if (entry->is_watchable && is_read && !who->by.view)
        return 0;
    return access_need(who, !is_read, true, http_req_path(r), err);
}

static bool use_entry(struct api *a, struct http_req *r)
{
    struct err err = ERR_INIT;
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    const struct api_entry *entry = entry_for(a, r);
    if (!entry || entry->is_raw)
        return false;
    if (entry->needs_auth && (check_token(a, r, &who, &err) < 0 || check_entry(entry, who, r, &err) < 0)) {
        refuse(a, r, &err);
        return true;
    }
    return entry->fn(entry->arg, r);
}

static bool use_raw_entry(struct api *a, struct http_req *r)
{
    const struct api_entry *entry = entry_for(a, r);
    return entry && entry->is_raw && entry->fn(entry->arg, r);
}

static void on_request(void *arg, struct http_req *r)
{
    struct api *a = arg;
    if (use_raw_entry(a, r))
        return;
    add_cors(r);
    if (strcmp(http_req_method(r), "OPTIONS") == 0)
        answer_preflight(r);
    else if (!use_entry(a, r))
        run_op(a, r);
}

/* Body bytes a head announces; 0 when it does not say. */
static uint64_t announced(const struct http_req *r)
{
    const char *length = http_req_header(r, "content-length");
    return length ? strtoull(length, NULL, 10) : 0;
}

/* A body that is read before a request is refused: nothing is gained by looking at its token twice. */
static bool is_small(const struct api *a, struct http_req *r)
{
    char allow[ROUTES_ALLOW_MAX];
    if (announced(r) > API_SMALL || http_req_header(r, "transfer-encoding"))
        return false;
    const struct op *op = routes_match(a->routes, http_req_method(r), http_req_path(r), NULL, allow, NULL);
    return !op || !(op->flags & OP_RAW_BODY);
}

static void refuse_early(struct api *a, struct http_req *r, const struct err *err)
{
    add_cors(r);
    refuse(a, r, err);
}

static struct http_body_rule on_head(void *arg, struct http_req *r)
{
    struct api *a = arg;
    struct err err = ERR_INIT;
    struct http_body_rule rule = { .max_bytes = (size_t)a->settings->max_body_mb * MIB };
    if (hostguard_check(a, r, &err) < 0) {
        refuse(a, r, &err);
        return rule;
    }
    const struct api_entry *entry = entry_for(a, r);
    if (entry) {
        rule.is_streamed = entry->is_raw;
        rule.max_bytes = entry->is_raw ? SIZE_MAX : rule.max_bytes;
        return rule;
    }
    if (strcmp(http_req_method(r), "OPTIONS") == 0 || is_small(a, r)) {
        rule.max_bytes = API_SMALL;
        return rule;
    }
    const struct op *op = find_op(a, r, NULL, &err);
    if (op) {
        bool is_content = op->flags & (OP_RAW_BODY | OP_LARGE_BODY) || rule.max_bytes <= SPEC_JSON_MAX;
        rule.is_streamed = op->flags & OP_RAW_BODY;
        rule.max_bytes = is_content ? rule.max_bytes : SPEC_JSON_MAX;
        if (announced(r) > rule.max_bytes && !rule.is_streamed) {
            (void)err_set(&err, ERR_TOO_LARGE, 0, "request body: %llu bytes, at most %zu are allowed (%s)",
                          (unsigned long long)announced(r), rule.max_bytes,
                          is_content ? "III_MAX_BODY_MB" : "send content with fs::write or fs::upload");
            refuse_early(a, r, &err);
        }
        return rule;
    }
    rule.max_bytes = API_SMALL;
    if (announced(r) > API_SMALL)
        refuse_early(a, r, &err);
    return rule;
}

struct http_app api_http_app(struct api *a)
{
    return (struct http_app){ .arg = a, .on_head = on_head, .on_request = on_request };
}
