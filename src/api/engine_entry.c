#include "api/engine_entry.h"

#include <stdlib.h>
#include <string.h>

#include "api/admission.h"
#include "api/api_core.h"
#include "api/call.h"
#include "api/fn.h"
#include "api/hostguard.h"
#include "base/alloc.h"
#include "engine/channel_handle.h"
#include "spec/schemas.h"

#define BACKLOG_MAX (16 * 1024 * 1024) /* bytes of events that wait for a reader before the work is ended */

struct row {
    struct api *api;
    enum op_id op;
};

struct engine_entry {
    struct engine *engine;
    struct api *api;
    char *own_path; /* "/sandbox/": the table's, never a worker's */
    struct row rows[OP_ALL];
};

/* One call on its way through the table. */
struct passage {
    struct engine_call *call; /* NULL: answered */
    struct api *api;
    enum op_id op;
    json_t *params;
    struct caller *who; /* referenced; NULL: a caller without a token */
    char peer[64];
    struct call *running;       /* set and cleared by call_run_held() */
    struct channel_handle *out; /* of a streaming row */
    json_t *warnings;           /* that the reply has no place for; NULL: none */
};

static void passage_free(struct passage *p)
{
    json_decref(p->params);
    json_decref(p->warnings);
    (void)caller_unref(p->who);
    free(p);
}

/* --- plain rows --- */

/* S-codes travel as JSON in the message; other errors are a code and a text. */
static void encode_error(struct engine_call *c, const struct op *op, int status, const json_t *body)
{
    if (!(op->flags & OP_FUNCTION)) {
        int code = ERR_NONE + 1;
        while (code < ERR_COUNT && err_status((enum err_code)code) != status)
            code++;
        engine_fail_text(c, code < ERR_COUNT ? err_name((enum err_code)code) : "invocation_failed",
                         json_get_str(body, "error", ""));
        return;
    }
    CLEANUP(free_p) char *envelope = json_write(body, NULL);
    CLEANUP(free_p) char *text = xasprintf("handler error: %s", envelope);
    engine_fail_text(c, "invocation_failed", text);
}

static void on_call_done(void *arg, int status, json_t *body)
{
    struct passage *p = arg;
    engine_call_on_gone(p->call, NULL, NULL);
    if (status < 400)
        engine_ok_warned(p->call, json_incref(body), p->warnings);
    else
        encode_error(p->call, &spec_ops[p->op], status, body);
    passage_free(p);
}

static void on_caller_gone(void *arg)
{
    struct passage *p = arg;
    if (p->running)
        call_cancel(p->running);
}

/* --- rows that stream --- */

static size_t on_event(void *arg, json_t *event)
{
    struct passage *p = arg;
    size_t len;
    CLEANUP(free_p) char *text = json_write(event, &len);
    size_t queued = p->out ? channel_handle_send(p->out, true, text, len) : 0;
    if (queued > BACKLOG_MAX && p->running) /* the row does not wait for its reader */
        call_cancel(p->running);
    return queued;
}

static void on_drain(void *arg)
{
    const struct passage *p = arg;
    if (p->running)
        call_drained(p->running);
}

static void on_stream_done(void *arg, int status, json_t *body)
{
    struct passage *p = arg;
    if (p->out && status >= 400) {
        size_t len;
        CLEANUP(free_p) char *text = json_write(body, &len);
        (void)channel_handle_send(p->out, true, text, len);
    }
    if (p->out)
        p->out = channel_handle_finish(p->out);
    passage_free(p);
}

static void on_reader_gone(void *arg)
{
    struct passage *p = arg;
    p->out = NULL;
    if (p->running)
        call_cancel(p->running);
}

static void on_channel(void *arg, json_t *writer, json_t *reader, const struct err *err)
{
    static const struct channel_handle_events events = { .on_end = on_reader_gone, .on_drain = on_drain };
    struct passage *p = arg;
    struct err why = ERR_INIT;
    if (err)
        why = *err;
    if (err || engine_call_open_channel(p->call, writer, &events, p, &p->out, &why) < 0) {
        engine_fail_text(p->call, err_name(why.code), why.msg);
        passage_free(p);
        return;
    }
    CLEANUP(free_p) char *traceparent = xstrdup(engine_call_traceparent(p->call));
    JSON_OWNED params = json_deep_copy(p->params);
    if (json_is_object(params)) /* for the warnings: what is wrong comes through the channel */
        (void)spec_check(&spec_ops[p->op], params, p->api->settings, &p->warnings, NULL);
    engine_ok(STEAL(p->call), json_pack("{s:O, s:O*}", "channel", reader, "warnings", p->warnings));
    const struct call_sink sink = { .on_event = on_event,
                                    .done = on_stream_done,
                                    .arg = p,
                                    .who = p->who,
                                    .remote = p->peer,
                                    .traceparent = traceparent };
    call_run_held(p->api, p->op, p->params, &sink, &p->running);
}

/* --- all rows --- */

static void on_call(void *arg, struct engine_call *c, json_t *payload)
{
    const struct row *row = arg;
    const struct op *op = &spec_ops[row->op];
    struct caller *who = NULL; /* a caller without a token: a trigger, this process */
    struct err err = ERR_INIT;
    struct admission from = { .identity = engine_call_identity(c), .remote = engine_call_peer(c), .operation = op->fn };
    int r = from.identity ? admission_check(row->api, &from, &who, &err) : 0;
    if (r == 0 && op->flags & OP_FUNCTION && payload && !json_is_object(payload) && !json_is_null(payload))
        r = err_set(&err, ERR_INVALID, 0, "the payload must be an object");
    if (r < 0) {
        JSON_OWNED body = op->flags & OP_FUNCTION ? fn_refusal(row->api, engine_call_host(c), &err)
                                                  : json_pack("{s:s}", "error", err.msg);
        encode_error(c, op, err_status(err.code), body);
        (void)caller_unref(who);
        return;
    }
    struct passage *p = xzalloc(sizeof(*p));
    *p = (struct passage){ .call = c, .api = row->api, .op = row->op, .params = json_incref(payload), .who = who };
    (void)snprintf(p->peer, sizeof(p->peer), "%s", engine_call_peer(c));
    if (op->flags & OP_STREAM) {
        engine_call_new_channel(c, on_channel, p);
        return;
    }
    engine_call_on_gone(c, on_caller_gone, p);
    const struct call_sink sink = { .done = on_call_done,
                                    .arg = p,
                                    .who = p->who,
                                    .remote = p->peer,
                                    .traceparent = engine_call_traceparent(c),
                                    .engine = c,
                                    .warnings = &p->warnings };
    call_run_held(p->api, p->op, p->params, &sink, &p->running);
}

/* What introspection and `iii trigger ID --help` show. */
static json_t *request_schema(const struct op *op)
{
    json_t *properties = json_object(), *required = json_array();
    for (const struct field *f = op->fields; f && f->name; f++) {
        (void)json_object_set_new(properties, f->name, spec_field_schema(f));
        if (f->flags & (FIELD_REQUIRED | FIELD_PATH))
            (void)json_array_append_new(required, json_string(f->name));
    }
    return json_pack("{s:s, s:o, s:o}", "type", "object", "properties", properties, "required", required);
}

/* A function of the engine with the id of a row on REST takes its place: the contract of the engine has both. */
static bool is_first(enum op_id id)
{
    for (int other = 0; other < OP_ALL; other++)
        if (other != (int)id && strcmp(spec_ops[other].fn, spec_ops[id].fn) == 0 &&
            (other < (int)id || spec_ops[other].flags & OP_FUNCTION))
            return spec_ops[id].flags & OP_FUNCTION;
    return true;
}

static bool claims(void *arg, struct http_req *r)
{
    const struct engine_entry *d = arg;
    return strncmp(http_req_path(r), d->own_path, strlen(d->own_path)) != 0 && engine_has_route(d->engine, r);
}

static bool serve(void *arg, struct http_req *r)
{
    const struct engine_entry *d = arg;
    engine_serve_route(d->engine, r);
    return true;
}

enum engine_verdict engine_entry_auth(void *arg, const char *token, struct http_req *r, char ret_id[ENGINE_ID_MAX])
{
    struct err err = ERR_INIT;
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    struct admission from = { .http = r, .credential = token, .operation = "engine::connect", .is_uncounted = true };
    if (admission_check(arg, &from, &who, &err) < 0)
        return ENGINE_REFUSED;
    (void)snprintf(ret_id, ENGINE_ID_MAX, "%s", who->id);
    return who->role == TOKEN_FILE_ADMIN && !*who->operations ? ENGINE_FULL : ENGINE_LIMITED;
}

void engine_entry_head(void *arg, struct http_req *r)
{
    struct api *a = arg;
    struct err err = ERR_INIT;
    if (hostguard_check(a, r, &err) == 0)
        return;
    admission_record(a, &(struct admission){ .http = r, .operation = "engine::connect" }, NULL, &err);
    admission_refuse(r, &err);
}

void engine_entry_refused(void *arg, const char *identity, const char *peer, const char *what)
{
    struct api *a = arg;
    CLEANUP(caller_unref_p) struct caller *who = keyring_by_id(a->keys, identity);
    struct err err = { .code = ERR_FORBIDDEN };
    admission_record(a, &(struct admission){ .remote = peer, .operation = what }, who, &err);
}

static void on_token_ended(void *arg, const char *token_id)
{
    struct engine_entry *d = arg;
    engine_end_of(d->engine, token_id);
}

struct engine_entry *engine_entry_new(struct engine *e, struct api *a, const char *prefix)
{
    struct engine_entry *d = xzalloc(sizeof(*d));
    d->engine = a->engine = e;
    d->api = a;
    d->own_path = xasprintf("/%s/", prefix);
    keyring_on_ended(a->keys, on_token_ended, d);
    for (int id = 0; id < OP_ALL; id++) {
        const struct op *op = &spec_ops[id];
        if (op->flags & OP_UPGRADE || !is_first((enum op_id)id))
            continue;
        d->rows[id] = (struct row){ .api = a, .op = (enum op_id)id };
        JSON_OWNED request = request_schema(op);
        JSON_OWNED response = op->flags & OP_FUNCTION ? schemas_from_shape(op->reply) : NULL;
        struct engine_about about = {
            .description = op->help, .request_schema = request, .response_schema = response, .checks_caller = true
        };
        engine_add_function(e, op->fn, &about, on_call, &d->rows[id]);
    }
    api_add_entry(
        a, &(struct api_entry){ .path_prefix = "/", .claims = claims, .fn = serve, .arg = d, .needs_auth = true });
    return d;
}

struct engine_entry *engine_entry_free(struct engine_entry *d)
{
    if (d) {
        free(d->own_path); /* the api is freed before */
        free(d);
    }
    return NULL;
}
