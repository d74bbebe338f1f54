/* What the files of this room share: the engine's parts, its functions and calls. Private to engine/.
 * May include: base/, loop/, http/, store/, engine/. */
#pragma once
#include <sys/queue.h>

#include "base/map.h"
#include "base/share.h"
#include "base/uuid.h"
#include "engine/engine.h"

#define ENGINE_MESSAGE_MAX   (64 * 1024 * 1024)   /* bytes of one message; the contract asks for 16 MiB */
#define ENGINE_WORKERS_MAX   10000                /* concurrent connections: more get 503 */
#define ENGINE_FUNCTIONS_MAX 10000                /* functions of one worker */
#define ENGINE_BINDINGS_MAX  10000                /* trigger bindings of one worker, and of engine::register_trigger */
#define ENGINE_TYPES_MAX     1000                 /* trigger types of one worker */
#define ENGINE_CALLS_MAX     10000                /* unanswered calls of one worker */
#define ENGINE_BYTES_MAX     (1024 * 1024 * 1024) /* held of messages of all connections */
#define ENGINE_BACKLOG_MAX \
    (32 * 1024 * 1024)        /* bytes queued for a worker that does not read: it gets no calls meanwhile */
#define ENGINE_NAME_CHARS 280 /* characters of names and descriptions that workers give themselves */

struct worker;
struct outside;
struct triggers;
struct pubsub;
struct kv;
struct stream;
struct listener;
struct session;
struct subscriber;
struct enqueue;
struct presence;
struct http_route;
struct ws_closing;
struct telemetry;
struct http_function;
struct http_call;
struct exchange;

struct function {
    char *id;
    char *description; /* may be NULL */
    json_t *request_schema, *response_schema, *metadata;
    struct worker *owner; /* NULL: of this process */
    engine_fn *fn;
    void *arg;
    struct http_function *http; /* invoked by an HTTP request of the engine; or NULL */
    size_t skip;                /* bytes of the prefix that its worker does not know */
    bool checks_caller;         /* limited workers may call it */
    bool is_inside;             /* internal to the engine: not offered to an outside engine */
};

LIST_HEAD(call_list, engine_call);

struct engine_call {
    unsigned magic;
    struct engine *engine;
    char id[UUID_MAX]; /* the id that its executor knows */
    char *function_id;
    char *echo_id;                 /* what the caller called, when a middleware gets the call; or NULL */
    char *traceparent;             /* W3C trace context of the caller; or NULL */
    char *caller_id;               /* the caller's own invocation id, as it spells it; NULL: no reply wanted */
    struct worker *caller;         /* NULL: this process, a trigger, or gone */
    struct worker *executor;       /* NULL: this process */
    char caller_worker[UUID_MAX];  /* "" when no worker called */
    char identity[ENGINE_ID_MAX];  /* of that worker */
    char tenant[SHARE_TENANT_MAX]; /* whose share it uses; "": the operator */
    char peer[64];                 /* its address */
    bool has_identity;
    engine_done_fn *done; /* a caller in this process */
    void *done_arg;
    json_t *payload, *metadata;
    loop_fn *on_gone;
    void *gone_arg;
    bool is_gone, is_local;
    struct outside *outside; /* the engine it came from, or NULL: this one */
    LIST_ENTRY(engine_call) of_caller, of_executor;
};

struct channel_handle;
LIST_HEAD(channel_handle_list, channel_handle);

struct engine {
    struct loop *loop;
    struct store *store;
    struct channel_hub *channels;
    engine_auth_fn *auth;
    engine_refused_fn *on_refused;
    engine_head_fn *on_head;
    void *auth_arg;
    char *name, *version;
    json_t *config; /* engine_config.h */
    char *data_dir;
    const struct tls_context_trust *trust;
    char *(*closed_ports)(void *arg);
    void *closed_arg;
    char id[UUID_MAX]; /* this process as a worker */
    int64_t started_ms;
    bool is_stopping;
    struct map *workers; /* id -> struct worker */
    struct map *local;   /* id -> struct function of this process */
    struct map *remote;  /* id -> struct function of a worker: takes precedence over a local one, except for engine:: */
    struct map *calls;   /* id -> struct engine_call that a worker carries out */
    struct call_list inside; /* calls that this process carries out */
    struct channel_handle_list ends;
    LIST_HEAD(exchange_list, exchange) exchanges;
    LIST_HEAD(telemetry_list, telemetry) telemetry;
    size_t n_telemetry;
    struct share *connections; /* of workers and telemetry */
    struct share *bytes;       /* that are held of messages: those that arrive, wait to be judged, or wait to be sent */
    LIST_HEAD(http_call_list, http_call) http_calls;
    struct ws_closing *parting;
    struct timer *ping_timer;
    struct triggers *triggers;
    struct pubsub *pubsub;
    struct kv *kv;
    struct stream *stream;
    struct listener *listeners; /* the first is the engine port's */
    size_t n_listeners;
    LIST_HEAD(subscriber_list, subscriber) subscribers; /* of streams */
    size_t n_subscribers;
    struct share *subscriber_share;
    struct enqueue *enqueue;
    struct presence *presence;
    struct http_route *http_route;
};
