/* The engine: functions by id, carried out by a worker behind a WebSocket or by a C function of this process. Routes
 * calls between them, keeps trigger bindings, and offers what workers build on: queue, state, cron, publish. It knows
 * no sandboxes. Untrusted: everything a worker sends. May include: base/, loop/, http/, store/.
 *
 * Invariants: (1) a call is answered exactly once, or dropped because its caller has left; (2) when a worker leaves,
 * its functions, types and bindings are removed and each call it was carrying out is answered invocation_stopped; (3)
 * nothing here blocks: functions of this process reply from the loop, when they like. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "http/server.h"
#include "loop/loop.h"
#include "store/store.h"

struct engine;
struct engine_call; /* one call of a function of this process */
struct channel_hub; /* engine/channel.h */

struct tls_context_trust;

#define ENGINE_ID_MAX 40
enum engine_verdict { ENGINE_REFUSED, ENGINE_LIMITED, ENGINE_FULL };

/* Gets the token presented (NULL: none) and writes the identity that calls of that worker carry. */
typedef enum engine_verdict engine_auth_fn(void *arg, const char *token, struct http_req *r,
                                           char ret_id[ENGINE_ID_MAX]);
/* A worker with limited rights was denied something: what is a function, or the kind of a message. */
typedef void engine_refused_fn(void *arg, const char *identity, const char *peer, const char *what);

/* Sees the head of every request to the port and may reject it. */
typedef void engine_head_fn(void *arg, struct http_req *r);

struct engine_options {
    struct loop *loop;
    struct store *store;          /* queue and state are kept here */
    struct channel_hub *channels; /* borrowed; serves /ws/channels/ */
    /* Authenticates a connection. ENGINE_LIMITED may only call functions that check their caller. Without it anyone who
     * reaches the port may connect, with all rights. */
    engine_auth_fn *auth;
    engine_refused_fn *on_refused; /* may be NULL */
    engine_head_fn *on_head;       /* may be NULL */
    void *auth_arg;                /* of all three */
    const char *name;              /* worker name of the functions of this process, "iii-sandbox" */
    const char *version;
    uint16_t port;                         /* of the engine; 0: not known yet */
    const char *data_dir;                  /* where streams are kept; may be NULL when workers keeps none in files */
    const char *workers;                   /* configuration of the engine's own workers, as JSON: engine_config.h */
    const struct tls_context_trust *trust; /* borrowed; for wss:// of another engine. NULL: the system's store */
    /* The ports of this server and of its sandboxes, which no request of the engine may reach: as in struct outgoing;
     * the caller frees it. NULL: none. */
    char *(*closed_ports)(void *arg);
    void *closed_arg;
};

int engine_new(const struct engine_options *o, struct engine **ret, struct err *err);
struct engine *engine_free(struct engine *e); /* calls in progress are dropped: call stop first */
/* Closes every worker's connection (1001) and accepts no new ones; results of this process's calls are dropped. */
void engine_stop(struct engine *e);
/* Closes the connections of every worker with this identity, and the channels that were opened for its calls (1008). */
void engine_end_of(struct engine *e, const char *identity);
/* A port that the configuration asks for besides the engine port. */
struct engine_listener {
    const char *worker; /* the entry's name, for messages */
    const char *host;   /* NULL: as the engine port. Borrowed */
    uint16_t port;
    int64_t head_ms; /* for the request head; 0: the default */
    bool has_auth;   /* a function decides who may connect */
    struct http_app app;
};
#define ENGINE_LISTENERS_MAX 16
size_t engine_listeners(struct engine *e, struct engine_listener ret[ENGINE_LISTENERS_MAX]);
/* Whether the request's token (Authorization: Bearer, or ?token=) gives all rights, some, or none. */
enum engine_verdict engine_authenticate(const struct engine *e, struct http_req *r, char ret_id[ENGINE_ID_MAX]);
/* The engine port: worker sockets at "/", telemetry at "/otel"; other paths are 404. */
struct http_app engine_http_app(struct engine *e);

/* --- functions of this process --- */

/* What introspection shows. All may be NULL; the JSON is borrowed (a reference is kept). metadata {"internal":true}
 * hides a function from listings. */
struct engine_about {
    bool checks_caller; /* workers with limited rights may call it: it checks engine_call_identity() */
    const char *description;
    json_t *request_schema, *response_schema, *metadata;
};

/* Carries out one call. payload is borrowed, any JSON type, valid until the call is answered. Must reply exactly once,
 * now or later: engine_ok() or one of engine_fail*(). */
typedef void engine_fn(void *arg, struct engine_call *c, json_t *payload);
/* Replaces a known id. Ids are copied. */
void engine_add_function(struct engine *e, const char *id, const struct engine_about *about, engine_fn *fn, void *arg);

json_t *engine_call_metadata(const struct engine_call *c);   /* the caller's side-channel, or NULL; borrowed */
const char *engine_call_caller(const struct engine_call *c); /* worker id (UUID), or NULL: trigger or this process */
/* The identity that auth gave the calling worker; NULL: a caller without a token (this process, a trigger, an outside
 * engine). Kept when the worker leaves. */
const char *engine_call_identity(const struct engine_call *c);
const char *engine_call_peer(const struct engine_call *c);        /* its address, or "" */
const char *engine_call_host(const struct engine_call *c);        /* its Host header; NULL: none, or it has left */
const char *engine_call_traceparent(const struct engine_call *c); /* the caller's trace context, or NULL */
const char *engine_call_function(const struct engine_call *c);    /* the id it was called by */
struct engine *engine_call_engine(const struct engine_call *c);
/* The caller has left or given up: no one will read the reply. The call must still be answered. Runs at most once,
 * never after the reply. fn NULL clears. */
void engine_call_on_gone(struct engine_call *c, loop_fn *fn, void *arg);
bool engine_call_is_gone(const struct engine_call *c);

void engine_ok(struct engine_call *c, json_t *result); /* takes result; NULL: no result */
/* The same with warnings of a result that has no place for them (borrowed; NULL: none): a member of the message. */
void engine_ok_warned(struct engine_call *c, json_t *result, json_t *warnings);
void engine_fail(struct engine_call *c, const char *code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The same with a message of any length (sandbox errors: code "invocation_failed", "handler error: {…}"). */
void engine_fail_text(struct engine_call *c, const char *code, const char *text);

/* --- channels for functions of this process --- */
/* A call that came through an outside engine (III_ENGINE_URL) has its channels there: always use these, never
 * channel.h. A channel end outlives its call. */

struct channel_handle; /* engine/channel_handle.h: writing, pausing, ending */
struct channel_handle_events;

/* Both refs are borrowed {channel_id, access_key, direction}; NULL with err. */
typedef void engine_channel_fn(void *arg, json_t *writer_ref, json_t *reader_ref, const struct err *err);
/* Creates a channel where the caller can reach it. fn runs once, perhaps before this returns. */
void engine_call_new_channel(struct engine_call *c, engine_channel_fn *fn, void *arg);
/* Claims the end that ref names ("read": this function reads; "write": it writes). -EINVAL when ref is not a channel
 * reference, -ENOENT when there is no such channel or that end is claimed; an outside channel that cannot be reached
 * ends with on_end. */
int engine_call_open_channel(struct engine_call *c, const json_t *ref, const struct channel_handle_events *ev,
                             void *arg, struct channel_handle **ret, struct err *err);
bool engine_is_channel_ref(const json_t *value); /* an object with the members of a reference */

/* --- calling --- */

/* result is borrowed, NULL when there is none; error NULL: success. */
struct engine_error {
    const char *code, *message, *stacktrace; /* stacktrace may be NULL */
};
typedef void engine_done_fn(void *arg, json_t *result, const struct engine_error *error);
/* Calls any function from this process. payload and metadata are borrowed (NULL: {} and none). done (NULL: void) runs
 * once, perhaps before this returns; never after engine_free(). */
void engine_invoke(struct engine *e, const char *function_id, json_t *payload, json_t *metadata, engine_done_fn *done,
                   void *arg);

/* --- HTTP routes that workers bind (trigger type http), served by the REST listener --- */
bool engine_has_route(struct engine *e, const struct http_req *r);
void engine_serve_route(struct engine *e, struct http_req *r); /* its body is buffered; replies now or later */
