/* One operation being carried out, from any entry point. A handler reads its parameters, starts its work and
 * finishes the call exactly once: call_ok(), call_fail() or call_stream_end(). After that the call is freed. When the
 * client disconnects first, the on_cancel function runs; the handler must still finish the call (its response is
 * dropped). May include: base/, http/, spec/, sandbox/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/span.h"
#include "base/err.h"
#include "base/json.h"
#include "loop/loop.h"
#include "spec/spec.h"

struct call;
struct api;
struct caller;      /* api/keyring.h */
struct engine_call; /* engine/engine.h */
struct fn_part;     /* api/fn.h */
struct manager;     /* sandbox/lifecycle/manager.h */
struct tenant_by;   /* sandbox/lifecycle/tenant.h */
struct http_req;    /* http/server.h */

typedef void op_fn(struct call *c);

/* One handler for each row of the table: api_<id>(). Alias rows share the handler of another. */
#define OP(id, ...) op_fn api_##id;
#define OP_ALIAS(id, ...)
#define OPS_REST_END
#include "spec/ops.def"

/* --- what was asked --- */
const struct op *call_op(const struct call *c);
json_t *call_params(const struct call *c); /* checked by spec_check(); borrowed */
const char *call_str(const struct call *c, const char *name, const char *fallback);
int64_t call_int(const struct call *c, const char *name, int64_t fallback);
double call_num(const struct call *c, const char *name, double fallback);
bool call_bool(const struct call *c, const char *name, bool fallback);
const struct caller *call_who(const struct call *c);   /* NULL: the server itself */
const struct tenant_by *call_by(const struct call *c); /* the same for sandbox/ */
const char *call_view(const struct call *c);           /* the only tenant whose things may be shown; NULL: all */
struct manager *call_manager(const struct call *c);
struct api *call_api(const struct call *c);
struct loop *call_loop(const struct call *c);
struct http_req *call_http(const struct call *c);      /* NULL when it did not come over HTTP */
struct engine_call *call_engine(const struct call *c); /* NULL when it did not come through the engine */
struct fn_part *call_fn(const struct call *c);         /* what OP_FUNCTION rows have more; else NULL */
/* It came with a body, but none that holds fields: another type, or JSON that is not an object. */
bool call_has_other_body(const struct call *c);
const char *call_header(const struct call *c, const char *name); /* NULL when absent or not HTTP */
int64_t call_started_us(const struct call *c);
/* The W3C trace context to hand to what the call starts; false: there is none. */
bool call_traceparent(const struct call *c, char out[SPAN_TEXT_MAX]);

/* The handler's own state; freed by the handler. */
void call_set_state(struct call *c, void *state);
void *call_state(const struct call *c);
void call_on_cancel(struct call *c, loop_fn *fn, void *arg); /* fn NULL clears */
bool call_is_cancelled(const struct call *c);

/* --- the answer --- */
void call_ok(struct call *c, json_t *body); /* takes body; 200 */
void call_fail(struct call *c, const struct err *err);
/* The same with further members of the body, which are taken; not after the stream has begun. */
void call_fail_with(struct call *c, const struct err *err, json_t *members);
void call_error(struct call *c, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Its handler has already written the response to the connection, with this status. */
void call_taken(struct call *c, int status);
/* What the request asks for and does not get: named in the member `warnings` of the reply, or in a header when the
 * reply is not an object. -EINVAL: the caller wants an error instead, and err is that error; fail the call with it. */
int call_warn(struct call *c, struct err *err, const char *fmt, ...) PRINTF_LIKE(3, 4);
int call_warn_all(struct call *c, const json_t *warnings, struct err *err); /* a list of base/warnings.h, or NULL */
void call_set_sandbox(struct call *c, const char *sandbox_id); /* for the trace; OP_SANDBOX rows have it set already */

/* Server-sent events, or messages of a WebSocket when the request asks for one: begin, any number of events, end.
 * Returns bytes queued: past 1 MiB wait for on_drain. */
void call_stream_begin(struct call *c);
size_t call_stream_event(struct call *c, json_t *event, const char *id); /* takes event; id may be NULL */
void call_stream_comment(struct call *c, const char *text);              /* ": ping" */
void call_stream_on_drain(struct call *c, loop_fn *fn, void *arg);
void call_stream_end(struct call *c);

/* Runs one operation without HTTP (engine, MCP, pool, tests): done gets the status and the body (borrowed), perhaps
 * before call_run() returns; a finished stream has a null body. params stays the caller's. Who calls was admitted
 * before (api/admission.h); every further step is the same as for a request. */
typedef void call_done_fn(void *arg, int status, json_t *body);
/* For streaming rows; NULL: events are dropped. Returns bytes queued, as call_stream_event() does. */
typedef size_t call_event_fn(void *arg, json_t *event);
void call_run(struct api *api, enum op_id op, json_t *params, call_event_fn *on_event, call_done_fn *done, void *arg);
/* The same for a caller that may leave: *slot is the call as long as it runs (NULL afterwards), for call_cancel(). */
struct call_sink {
    call_event_fn *on_event; /* may be NULL */
    call_done_fn *done;
    void *arg;
    struct caller *who;      /* on whose behalf; NULL: the server itself */
    const char *remote;      /* its address, or NULL; borrowed during the call of call_run_held(), like the next one */
    const char *traceparent; /* its trace context, or NULL */
    struct engine_call *engine; /* NULL: it did not come through the engine */
    json_t **warnings; /* gets those of a reply that cannot hold them, before done(); the caller's. NULL: dropped */
};
void call_run_held(struct api *api, enum op_id op, json_t *params, const struct call_sink *sink, struct call **slot);
/* Runs another row as a part of this call, on behalf of the same caller: checked and carried out like any call, but
 * authorised, counted, recorded and traced as what it is a part of. params is taken. */
void call_step(struct call *of, enum op_id op, json_t *params, call_done_fn *done, void *arg);
void call_drained(struct call *c); /* what on_event has queued is gone */
void call_cancel(struct call *c);  /* as if its client had left; may finish the call */
