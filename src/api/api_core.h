/* The parts of struct api that the files of this room share. May include: base/, http/, spec/, sandbox/. */
#pragma once
#include <sys/queue.h>

#include "api/api.h"
#include "api/audit.h"
#include "api/call.h"
#include "api/gate.h"
#include "api/idempotency.h"
#include "api/keyring.h"
#include "api/routes.h"
#include "tls/tls_context.h"

#define API_HTTP_MAX    2048 /* requests at the same time, a quarter of them of one tenant: more are answered 503 */
#define API_ENTRIES_MAX 16
#define API_SMALL       65536 /* bytes of body that are read before a request is refused */

struct attach_set;
struct engine;
struct link_key;
struct preview;
struct raw_proxy;
struct console_session;
struct mcp_entry;
struct ws_closing;
struct fn_set;
struct ssh_entry;
struct tunnel_set;

struct api {
    struct loop *loop;
    struct manager *manager;
    const struct settings *settings;
    uint16_t rest_port; /* that it listens on; 0 until then */
    struct routes *routes;
    struct keyring *keys;
    struct tls_context_trust trust; /* for servers that this one connects to; of the settings */
    struct audit *audit;            /* NULL: off */
    struct gate *gate;
    struct idempotency *idempotency;
    struct share *in_flight; /* bytes: in_flight.h */
    struct map *naming;      /* private: ops_lifecycle.c */
    struct timer *sweep;
    struct api_entry entries[API_ENTRIES_MAX];
    size_t n_entries;
    struct link_key *link_key;
    struct preview *preview;
    struct console_session *sessions;
    struct engine *engine;    /* NULL: none */
    unsigned n_audit_readers; /* private: ops_audit.c */
    unsigned n_invoked;       /* private: ops_engine.c */
    struct raw_proxy *raw_proxy;
    struct attach_set *attached;
    struct ws_closing *closing; /* WebSockets of streams that have ended */
    struct tunnel_set *tunnels;
    struct ssh_entry *ssh; /* NULL: off */
    struct mcp_entry *mcp;
    struct fn_set *functions; /* NULL in tests that need none */
    api_trace_fn *on_trace;
    void *trace_arg;
    struct observe *observe; /* NULL in tests that need none */
    bool has_spans;          /* every call gets a span, not only those that come with a traceparent */
    LIST_HEAD(api_call_list, call) calls;
    unsigned n_calls;         /* running, from all entry points */
    unsigned n_http;          /* of these, over HTTP */
    struct share *http_share; /* the same by tenant */
};
