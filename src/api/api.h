/* The REST entry point: matches the row, checks token, rate and schema, runs the handler, records the trace. May
 * include: base/, http/, spec/, sandbox/. */
#pragma once
#include "base/err.h"
#include "base/settings.h"
#include "http/server.h"
#include "sandbox/lifecycle/manager.h"
#include "spec/spec.h"

struct api;

struct keyring;

/* keys is borrowed: who may call. The audit log is opened in their data folder. */
int api_new(struct loop *l, struct manager *m, const struct settings *s, struct keyring *keys, struct api **ret,
            struct err *err);
struct api *api_free(struct api *a);
struct http_app api_http_app(struct api *a);    /* to be given to http_server_new() */
void api_listens(struct api *a, uint16_t port); /* where, for addresses in replies */
void api_stop(struct api *a);                   /* before the listener drains: ends what would stay open for ever */
unsigned api_calls_running(const struct api *a);
/* Routes outside the table (MCP, console, raw proxy): tried first. Returns true when it has taken the request. */
typedef bool api_entry_fn(void *arg, struct http_req *req);
void api_add_path(struct api *a, const char *path_prefix, api_entry_fn *fn, void *arg, bool needs_auth);
/* The same with more to choose. The strings and functions must outlive the server. */
struct api_entry {
    const char *path_prefix;
    api_entry_fn *claims; /* by the head alone: whether the request is for this entry point. NULL: the prefix decides */
    api_entry_fn *fn;
    void *arg;
    bool needs_auth;
    bool is_watchable; /* a read-only token for all tenants may GET it; else only admins */
    bool is_raw;       /* fn comes with the head, the body by http_req_read(), of any length; CORS is fn's own */
};
void api_add_entry(struct api *a, const struct api_entry *entry);
/* A trace of each finished call; valid during the call of fn only. */
struct span;
struct api_trace {
    const struct op *op;
    const char *sandbox_id; /* may be NULL */
    const char *tenant;     /* of the caller; "": none */
    int64_t duration_us;
    const struct err *err;   /* NULL: it went well */
    const struct span *span; /* NULL: nobody wants one */
};
typedef void api_trace_fn(void *arg, const struct api_trace *t);
void api_on_trace(struct api *a, api_trace_fn *fn, void *arg);
