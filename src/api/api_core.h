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

#define API_HTTP_MAX    1024 /* requests at the same time: more are answered 503 */
#define API_ENTRIES_MAX 16
#define API_SMALL       65536 /* bytes of body that are read before a request is refused */

struct raw_proxy;
struct mcp_entry;
struct fn_set;

struct api {
    struct loop *loop;
    struct manager *manager;
    const struct settings *settings;
    uint16_t rest_port; /* that it listens on; 0 until then */
    struct routes *routes;
    struct keyring *keys;
    struct audit *audit; /* NULL: off */
    struct gate *gate;
    struct idempotency *idempotency;
    struct timer *sweep;
    struct api_entry entries[API_ENTRIES_MAX];
    size_t n_entries;
    struct raw_proxy *raw_proxy;
    struct mcp_entry *mcp;
    struct fn_set *functions; /* NULL in tests that need none */
    api_trace_fn *on_trace;
    void *trace_arg;
    struct observe *observe; /* NULL in tests that need none */
    bool has_spans;          /* every call gets a span, not only those that come with a traceparent */
    LIST_HEAD(api_call_list, call) calls;
    unsigned n_calls; /* running, from all entry points */
    unsigned n_http;  /* of these, over HTTP */
};
