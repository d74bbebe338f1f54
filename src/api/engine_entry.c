#include "api/engine_entry.h"

#include <stdlib.h>
#include <string.h>

#include "api/api_core.h"
#include "api/call.h"
#include "api/call_core.h"
#include "api/hostguard.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "engine/channel_handle.h"

#define BACKLOG_MAX (16 * 1024 * 1024) /* bytes of events that wait for a reader before the work is ended */

struct row {
    struct api *api;
    enum op_id op;
};

struct engine_entry {
    struct engine *engine;
    char *own_path; /* "/sandbox/": the table's, never a worker's */
    struct row rows[OP_COUNT];
};

/* One call on its way through the table. */
struct passage {
    struct engine_call *call; /* NULL: answered */
    struct api *api;
    enum op_id op;
    json_t *params;
    struct caller *who; /* referenced; NULL: nobody who had to show a token */
    char peer[64];
    struct call *running;       /* set and cleared by call_run_held() */
    struct channel_handle *out; /* of a streaming row */
};

static void passage_free(struct passage *p)
{
    json_decref(p->params);
    (void)caller_unref(p->who);
    free(p);
}

/* --- plain rows --- */

static const char *code_of(int status)
{
    for (int code = ERR_NONE + 1; code < ERR_COUNT; code++)
        if (err_status((enum err_code)code) == status)
            return err_name((enum err_code)code);
    return "invocation_failed";
}

static void on_done(void *arg, int status, json_t *body)
{
    struct passage *p = arg;
    engine_call_on_gone(p->call, NULL, NULL);
    if (status < 400)
        engine_ok(p->call, json_incref(body));
    else
        engine_fail_text(p->call, code_of(status), json_get_str(body, "error", ""));
    passage_free(p);
}

static void on_caller_gone(void *arg)
{
    struct passage *p = arg;
    if (p->running)
        call_cancel(p->running);
}

/* --- rows that stream --- */

static void on_event(void *arg, json_t *event)
{
    struct passage *p = arg;
    size_t len;
    CLEANUP(free_p) char *text = json_write(event, &len);
    if (p->out && channel_handle_send(p->out, true, text, len) > BACKLOG_MAX && p->running)
        call_cancel(p->running);
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
    static const struct channel_handle_events events = { .on_end = on_reader_gone };
    struct passage *p = arg;
    struct err why = ERR_INIT;
    if (err)
        why = *err;
    if (err || engine_call_open_channel(p->call, writer, &events, p, &p->out, &why) < 0) {
        engine_fail_text(p->call, err_name(why.code), why.msg);
        passage_free(p);
        return;
    }
    engine_ok(STEAL(p->call), json_pack("{s:O}", "channel", reader));
    call_run_held(p->api, p->op, p->params, &(struct call_sink){ on_event, on_stream_done, p, p->who, p->peer },
                  &p->running);
}

/* --- all rows --- */

int engine_entry_admit(struct api *a, const struct engine_call *c, struct caller **ret, struct err *err)
{
    const char *identity = engine_call_identity(c);
    unsigned wait_s = 0;
    *ret = NULL;
    if (!identity)
        return 0;
    CLEANUP(caller_unref_p) struct caller *who = keyring_by_id(a->keys, identity);
    if (!who)
        return err_set(err, ERR_FORBIDDEN, 0, "the token is worth nothing any more");
    int r = gate_rate_quota(a->gate, who, (uint64_t)clock_mono_us(), &wait_s, err);
    if (r == 0)
        *ret = STEAL(who);
    return r;
}

static void on_call(void *arg, struct engine_call *c, json_t *payload)
{
    const struct row *row = arg;
    struct caller *who = NULL;
    struct err err = ERR_INIT;
    if (engine_entry_admit(row->api, c, &who, &err) < 0) {
        if (err.code == ERR_FORBIDDEN)
            engine_entry_refused(row->api, engine_call_identity(c), engine_call_peer(c), spec_ops[row->op].fn);
        engine_fail_text(c, err_name(err.code), err.msg);
        return;
    }
    struct passage *p = xzalloc(sizeof(*p));
    *p = (struct passage){ .call = c, .api = row->api, .op = row->op, .params = json_incref(payload), .who = who };
    (void)snprintf(p->peer, sizeof(p->peer), "%s", engine_call_peer(c));
    if (spec_ops[row->op].flags & OP_STREAM) {
        engine_call_new_channel(c, on_channel, p);
        return;
    }
    engine_call_on_gone(c, on_caller_gone, p);
    call_run_held(p->api, p->op, p->params, &(struct call_sink){ NULL, on_done, p, p->who, p->peer }, &p->running);
}

static const char *type_name(enum field_type t)
{
    switch (t) {
    case FIELD_STR:
        return "string";
    case FIELD_INT:
        return "integer";
    case FIELD_NUM:
        return "number";
    case FIELD_BOOL:
        return "boolean";
    case FIELD_OBJ:
    case FIELD_STR_MAP:
        return "object";
    case FIELD_STR_LIST:
    case FIELD_OBJ_LIST:
        return "array";
    case FIELD_COMMAND:
    case FIELD_ANY:
        break;
    }
    return NULL;
}

/* What introspection and `iii trigger ID --help` show: names, types, which are needed. */
static json_t *request_schema(const struct op *op)
{
    json_t *properties = json_object(), *required = json_array();
    for (const struct field *f = op->fields; f && f->name; f++) {
        json_t *about = json_object();
        const char *type = type_name(f->type);
        if (type)
            (void)json_object_set_new(about, "type", json_string(type));
        (void)json_object_set_new(about, "description", json_string(f->help ? f->help : ""));
        (void)json_object_set_new(properties, f->name, about);
        if (f->flags & (FIELD_REQUIRED | FIELD_PATH))
            (void)json_array_append_new(required, json_string(f->name));
    }
    return json_pack("{s:s, s:o, s:o}", "type", "object", "properties", properties, "required", required);
}

static void add_row(struct engine_entry *d, struct api *a, enum op_id id)
{
    const struct op *op = &spec_ops[id];
    for (int before = 0; before < (int)id; before++)
        if (strcmp(spec_ops[before].fn, op->fn) == 0)
            return; /* another path of the same function */
    d->rows[id] = (struct row){ .api = a, .op = id };
    JSON_OWNED schema = request_schema(op);
    struct engine_about about = { .description = op->help, .request_schema = schema, .checks_caller = true };
    engine_add_function(d->engine, op->fn, &about, on_call, &d->rows[id]);
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

enum engine_verdict engine_entry_auth(void *arg, const char *token, const char *peer, char ret_id[ENGINE_ID_MAX])
{
    struct api *a = arg;
    struct err err = ERR_INIT;
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    if (keyring_check(a->keys, token, &who, &err) < 0) {
        struct audit_line line = { .remote = peer, .operation = "engine::connect", .status = err_status(err.code) };
        audit_refused(a->audit, &line);
        return ENGINE_REFUSED;
    }
    (void)snprintf(ret_id, ENGINE_ID_MAX, "%s", who->id);
    return who->role == TOKEN_FILE_ADMIN ? ENGINE_FULL : ENGINE_LIMITED;
}

void engine_entry_head(void *arg, struct http_req *r)
{
    struct api *a = arg;
    struct err err = ERR_INIT;
    if (hostguard_check(a, r, &err) == 0)
        return;
    struct audit_line line = { .remote = http_req_peer(r),
                               .operation = "engine::connect",
                               .status = err_status(err.code) };
    audit_refused(a->audit, &line);
    call_refuse(r, &err);
}

void engine_entry_refused(void *arg, const char *identity, const char *peer, const char *what)
{
    struct api *a = arg;
    CLEANUP(caller_unref_p) struct caller *who = keyring_by_id(a->keys, identity);
    struct audit_line line = { .who = who, .remote = peer, .operation = what, .status = err_status(ERR_FORBIDDEN) };
    audit_refused(a->audit, &line);
}

static void on_token_ended(void *arg, const char *token_id)
{
    struct engine_entry *d = arg;
    engine_end_of(d->engine, token_id);
}

struct engine_entry *engine_entry_new(struct engine *e, struct api *a, const char *prefix)
{
    struct engine_entry *d = xzalloc(sizeof(*d));
    d->engine = e;
    d->own_path = xasprintf("/%s/", prefix);
    keyring_on_ended(a->keys, on_token_ended, d);
    for (int id = 0; id < OP_COUNT; id++)
        if (!(spec_ops[id].flags & (OP_RAW_BODY | OP_NOT_JSON)))
            add_row(d, a, (enum op_id)id);
    api_add_entry(
        a, &(struct api_entry){ .path_prefix = "/", .claims = claims, .fn = serve, .arg = d, .needs_auth = true });
    return d;
}

struct engine_entry *engine_entry_free(struct engine_entry *d)
{
    if (d) {
        free(d->own_path);
        free(d);
    }
    return NULL;
}
