/* The engine::* functions that describe the engine: functions, workers, triggers, bindings, channels. Each handler
 * reads the engine's maps on the loop, builds a JSON list, filters it by the payload's members and replies before it
 * returns; nothing is kept between calls and nothing here changes the engine, except engine::workers::register, which
 * stores what the calling worker says about itself, and engine::channels::create. A bad payload is answered with an
 * error. */
#include "engine/introspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/channel.h"
#include "engine/message.h"
#include "engine/presence.h"
#include "engine/registry.h"
#include "engine/session.h"
#include "engine/trigger.h"
#include "engine/worker.h"

#define BATCH_MAX   32
#define SUMMARY_MAX 80 /* characters of a binding's config in lists */
#define OWNER_MAX   64

static bool starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* engine:: is hidden, except its queue; so is any function that marks itself internal. */
static bool is_internal(const char *id, const json_t *metadata)
{
    return (starts_with(id, "engine::") && !starts_with(id, "engine::queue::")) ||
           json_get_bool(metadata, "internal", false);
}

/* The filters that all lists share: search, prefix, worker, workers. */
static bool is_wanted(const json_t *filter, const char *id, const char *description, const char *worker)
{
    const char *search = json_get_str(filter, "search", NULL), *prefix = json_get_str(filter, "prefix", NULL);
    const char *one = json_get_str(filter, "worker", NULL);
    const json_t *many = json_get(filter, "workers");
    if (search && !strcasestr(id, search) && !(description && strcasestr(description, search)))
        return false;
    if (prefix && !starts_with(id, prefix))
        return false;
    return (!one || strcmp(one, worker) == 0) && (!json_array_size(many) || message_has_text(many, worker));
}

static json_t *text_or_null(const char *s)
{
    return s ? json_text(s, strlen(s)) : json_null();
}

/* The rules of the worker that asks: it sees only what it may call. NULL: all. */
static const struct session *session_of(const struct engine_call *c)
{
    return c->caller ? c->caller->session : NULL;
}

/* --- functions --- */

static json_t *function_summary(struct engine *e, const struct function *f)
{
    char name[OWNER_MAX];
    json_t *o = json_object();
    message_set_str(o, "function_id", f->id);
    message_set_str(o, "namespace", "default");
    message_set_str(o, "worker_name", registry_owner_name(e, f, name, sizeof(name)));
    message_set_str(o, "description", f->description);
    message_set(o, "metadata", f->metadata);
    return o;
}

struct ranked {
    const struct function *f;
    bool is_second; /* the search matched, but not at the beginning of the id */
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->is_second != y->is_second ? x->is_second - y->is_second : strcmp(x->f->id, y->f->id);
}

struct gathered {
    struct ranked *items;
    size_t n;
};

static void gather(struct engine *e, const struct map *m, const json_t *filter, const struct session *s,
                   struct gathered *g)
{
    char name[OWNER_MAX];
    const char *search = json_get_str(filter, "search", NULL);
    bool with_internal = json_get_bool(filter, "include_internal", false);
    for (struct map_iter it = map_iter(m); map_next(&it);) {
        const struct function *f = it.value;
        if (registry_find(e, f->id) != f || (!with_internal && is_internal(f->id, f->metadata)) ||
            !is_wanted(filter, f->id, f->description, registry_owner_name(e, f, name, sizeof(name))) ||
            session_may_call(s, e, f->id) != SESSION_ALLOWED)
            continue;
        bool is_second = search && strncasecmp(f->id, search, strlen(search)) != 0;
        g->items[g->n++] = (struct ranked){ .f = f, .is_second = is_second };
    }
}

json_t *introspect_functions(struct engine *e, const json_t *filter, const struct session *s)
{
    struct gathered g = { .items = xzalloc((map_count(e->local) + map_count(e->remote) + 1) * sizeof(struct ranked)) };
    gather(e, e->local, filter, s, &g);
    gather(e, e->remote, filter, s, &g);
    qsort(g.items, g.n, sizeof(struct ranked), by_rank);
    json_t *list = json_array();
    for (size_t i = 0; i < g.n; i++)
        (void)json_array_append_new(list, function_summary(e, g.items[i].f));
    free(g.items);
    return list;
}

static void functions_list(void *arg, struct engine_call *c, json_t *payload)
{
    engine_ok(c, json_pack("{s:o}", "functions", introspect_functions(arg, payload, session_of(c))));
}

static json_t *function_detail(struct engine *e, const char *id)
{
    const struct function *f = registry_find(e, id);
    if (!f)
        return NULL;
    json_t *o = function_summary(e, f);
    message_set(o, "request_schema", f->request_schema);
    message_set(o, "response_schema", f->response_schema);
    json_t *list = json_array();
    for (struct map_iter it = map_iter(trigger_bindings(e)); map_next(&it);) {
        const struct binding *b = it.value;
        if (strcmp(b->function_id, id) == 0)
            (void)json_array_append_new(
                list, json_pack("{s:s, s:s, s:O}", "id", b->id, "trigger_type", b->type, "config", b->config));
    }
    (void)json_object_set_new(o, "registered_triggers", list);
    return o;
}

static json_t *function_batch(struct engine *e, const json_t *ids, const struct session *s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const char *id = json_string_value(json_array_get(ids, i));
        bool is_hidden = id && session_may_call(s, e, id) != SESSION_ALLOWED;
        json_t *detail = id && !is_hidden ? function_detail(e, id) : NULL;
        if (!detail)
            detail =
                json_pack("{s:s, s:s}", "function_id", id ? id : "", "error", is_hidden ? "forbidden" : "not_found");
        (void)json_array_append_new(list, detail);
    }
    return json_pack("{s:o}", "functions", list);
}

static void functions_info(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    const char *id = json_get_str(payload, "function_id", NULL);
    const json_t *ids = json_get(payload, "function_ids");
    if (!id == !json_is_array(ids)) {
        engine_fail(c, "INVALID_ARGUMENTS", "engine::functions::info needs either function_id or function_ids");
        return;
    }
    if (ids && json_array_size(ids) > BATCH_MAX) {
        engine_fail(c, "INVALID_ARGUMENTS", "function_ids: %zu entries, at most %d are answered", json_array_size(ids),
                    BATCH_MAX);
        return;
    }
    if (id && session_may_call(session_of(c), e, id) != SESSION_ALLOWED) {
        engine_fail(c, "FORBIDDEN", "function '%.200s' not allowed (add to rbac.expose_functions)", id);
        return;
    }
    json_t *answer = ids ? function_batch(e, ids, session_of(c)) : function_detail(e, id);
    if (answer)
        engine_ok(c, answer);
    else
        engine_fail(c, "NOT_FOUND", "function \"%.200s\" was not found; see engine::functions::list", id);
}

/* --- workers --- */

static const char *shown_name(const struct worker *w)
{
    return w->name ? w->name : w->id;
}

static json_t *worker_summary(const struct worker *w)
{
    json_t *o = json_object();
    message_set_str(o, "id", w->id);
    message_set_str(o, "namespace", "default");
    message_set_str(o, "status", w->n_running ? "busy" : "connected");
    (void)json_object_set_new(o, "name", text_or_null(w->name));
    (void)json_object_set_new(o, "description", text_or_null(w->description));
    (void)json_object_set_new(o, "version", text_or_null(w->version));
    (void)json_object_set_new(o, "runtime", text_or_null(w->runtime));
    (void)json_object_set_new(o, "os", text_or_null(w->os));
    (void)json_object_set_new(o, "ip_address", text_or_null(w->ip));
    (void)json_object_set(o, "isolation", w->isolation ? w->isolation : json_null());
    (void)json_object_set_new(o, "function_count", json_integer((json_int_t)w->n_functions));
    (void)json_object_set_new(o, "active_invocations", json_integer((json_int_t)w->n_running));
    (void)json_object_set_new(o, "connected_at_ms", json_integer(w->connected_ms));
    return o;
}

/* This process, which carries out functions without a connection. */
static json_t *self_summary(const struct engine *e)
{
    size_t n = 0, active = 0;
    const struct engine_call *c;
    for (struct map_iter it = map_iter(e->local); map_next(&it);)
        n += !((const struct function *)it.value)->is_inside;
    LIST_FOREACH(c, &e->inside, of_executor)
    active++;
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:n, s:s, s:n, s:n, s:I, s:I, s:I}", "id", e->id, "name", e->name,
                     "namespace", "default", "version", e->version, "runtime", "c", "status", "connected",
                     "description", "os", "linux", "ip_address", "isolation", "function_count", (json_int_t)n,
                     "active_invocations", (json_int_t)active, "connected_at_ms", (json_int_t)e->started_ms);
}

static void add_worker(json_t *list, const json_t *filter, json_t *summary)
{
    const char *runtime = json_get_str(filter, "runtime", NULL), *status = json_get_str(filter, "status", NULL);
    const char *search = json_get_str(filter, "search", NULL);
    bool is_shown = (!runtime || strcmp(runtime, json_get_str(summary, "runtime", "")) == 0) &&
                    (!status || strcmp(status, json_get_str(summary, "status", "")) == 0) &&
                    (!search || strcasestr(json_get_str(summary, "name", ""), search) ||
                     strcasestr(json_get_str(summary, "description", ""), search));
    if (is_shown)
        (void)json_array_append_new(list, summary);
    else
        json_decref(summary);
}

static void workers_list(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    json_t *list = json_array();
    add_worker(list, payload, self_summary(e));
    for (struct map_iter it = map_iter(e->workers); map_next(&it);) {
        const struct worker *w = it.value;
        if (w->pid) /* workers that never described themselves are left out */
            add_worker(list, payload, worker_summary(w));
    }
    engine_ok(c, json_pack("{s:o}", "workers", list));
}

static json_t *binding_json(struct engine *e, const struct binding *b)
{
    size_t len;
    CLEANUP(free_p) char *text = json_write(b->config, &len);
    CLEANUP(free_p) char *cut = message_clean_text(text, SUMMARY_MAX);
    CLEANUP(free_p) char *summary = xasprintf("%s%s", cut, strlen(cut) < len ? "…" : "");
    json_t *o = json_object();
    message_set_str(o, "id", b->id);
    message_set_str(o, "trigger_type", b->type);
    message_set_str(o, "function_id", b->function_id);
    message_set_str(o, "worker_name", b->owner ? shown_name(b->owner) : e->name);
    message_set_str(o, "config_summary", summary);
    message_set(o, "config", b->config);
    message_set(o, "metadata", b->metadata);
    return o;
}

static void workers_info(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    const char *name = json_get_str(payload, "name", "");
    const struct worker *found = NULL;
    for (struct map_iter it = map_iter(e->workers); map_next(&it) && !found;) {
        const struct worker *w = it.value;
        if (strcmp(shown_name(w), name) == 0)
            found = w;
    }
    if (!found && strcmp(name, e->name) != 0) {
        engine_fail(c, "NOT_FOUND", "worker \"%.200s\" was not found; see engine::workers::list", name);
        return;
    }
    json_t *worker = found ? worker_summary(found) : self_summary(e);
    if (found)
        message_set(worker, "pid", found->pid);
    else
        (void)json_object_set_new(worker, "pid", json_integer(getpid()));
    (void)json_object_set_new(worker, "internal", json_boolean(!found));
    json_t *functions = json_array(), *types = json_array(), *bindings = json_array();
    for (struct map_iter it = map_iter(found ? e->remote : e->local); map_next(&it);) {
        const struct function *f = it.value;
        if (f->owner == found && !f->is_inside)
            (void)json_array_append_new(functions, function_summary(e, f));
    }
    for (struct map_iter it = map_iter(trigger_types(e)); map_next(&it);) {
        const struct trigger_type *t = it.value;
        if (found && t->owner == found)
            (void)json_array_append_new(types, json_pack("{s:s, s:s}", "id", t->id, "description", t->description));
    }
    for (struct map_iter it = map_iter(trigger_bindings(e)); map_next(&it);) {
        const struct binding *b = it.value;
        if (b->owner == found)
            (void)json_array_append_new(bindings, binding_json(e, b));
    }
    engine_ok(c, json_pack("{s:o, s:o, s:o, s:o}", "worker", worker, "functions", functions, "trigger_types", types,
                           "registered_triggers", bindings));
}

static void workers_register(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    const char *id = engine_call_caller(c);
    struct worker *w = id ? map_get(e->workers, id) : NULL;
    if (!w) {
        engine_ok(c, json_pack("{s:b}", "success", 0));
        return;
    }
    worker_set_str(&w->name, payload, "name");
    worker_set_str(&w->description, payload, "description");
    worker_set_str(&w->version, payload, "version");
    worker_set_str(&w->runtime, payload, "runtime");
    worker_set_str(&w->os, payload, "os");
    json_t *pid = json_get(payload, "pid"), *isolation = json_get(payload, "isolation");
    json_decref(w->pid);
    w->pid = json_is_number(pid) ? json_incref(pid) : NULL;
    json_decref(w->isolation);
    w->isolation = json_is_string(isolation) ? json_incref(isolation) : NULL;
    presence_worker(e, "worker_metadata_updated", w->id);
    engine_ok(c, json_pack("{s:b}", "success", 1));
}

/* --- triggers --- */

static const char *type_owner(const struct engine *e, const struct trigger_type *t)
{
    return t->owner ? shown_name(t->owner) : e->name;
}

static json_t *type_summary(const struct engine *e, const struct trigger_type *t)
{
    json_t *o = json_object();
    message_set_str(o, "id", t->id);
    message_set_str(o, "namespace", "default");
    message_set_str(o, "worker_name", type_owner(e, t));
    message_set_str(o, "description", t->description);
    return o;
}

static void triggers_list(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    json_t *list = json_array();
    bool with_internal = json_get_bool(payload, "include_internal", false);
    for (struct map_iter it = map_iter(trigger_types(e)); map_next(&it);) {
        const struct trigger_type *t = it.value;
        if ((with_internal || !is_internal(t->id, NULL)) && is_wanted(payload, t->id, t->description, type_owner(e, t)))
            (void)json_array_append_new(list, type_summary(e, t));
    }
    engine_ok(c, json_pack("{s:o}", "triggers", list));
}

static void triggers_info(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    const char *id = json_get_str(payload, "id", "");
    const struct trigger_type *t = map_get(trigger_types(e), id);
    if (!t) {
        engine_fail(c, "NOT_FOUND", "trigger type \"%.200s\" was not found; see engine::triggers::list", id);
        return;
    }
    json_int_t n = 0;
    for (struct map_iter it = map_iter(trigger_bindings(e)); map_next(&it);)
        n += strcmp(((const struct binding *)it.value)->type, id) == 0;
    json_t *o = type_summary(e, t);
    message_set(o, "configuration_schema", t->config_schema);
    message_set(o, "request_schema", t->call_schema);
    (void)json_object_set_new(o, "instance_count", json_integer(n));
    engine_ok(c, o);
}

static bool is_binding_wanted(const json_t *filter, const struct binding *b, const char *worker)
{
    const char *type = json_get_str(filter, "trigger_type", NULL),
               *function = json_get_str(filter, "function_id", NULL);
    const char *search = json_get_str(filter, "search", NULL), *who = json_get_str(filter, "worker", NULL);
    if ((type && strcmp(type, b->type) != 0) || (function && strcmp(function, b->function_id) != 0) ||
        (who && strcmp(who, worker) != 0))
        return false;
    return !search || strcasestr(b->id, search) || strcasestr(b->type, search) || strcasestr(b->function_id, search);
}

static void bindings_list(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    json_t *list = json_array();
    for (struct map_iter it = map_iter(trigger_bindings(e)); map_next(&it);) {
        const struct binding *b = it.value;
        if (is_binding_wanted(payload, b, b->owner ? shown_name(b->owner) : e->name) &&
            session_may_call(session_of(c), e, b->function_id) == SESSION_ALLOWED)
            (void)json_array_append_new(list, binding_json(e, b));
    }
    engine_ok(c, json_pack("{s:o}", "registered_triggers", list));
}

static void bindings_info(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    const char *id = json_get_str(payload, "id", "");
    const struct binding *b = map_get(trigger_bindings(e), id);
    if (!b || session_may_call(session_of(c), e, b->function_id) != SESSION_ALLOWED) {
        engine_fail(c, "NOT_FOUND", "trigger \"%.200s\" was not found; see engine::registered-triggers::list", id);
        return;
    }
    json_t *o = binding_json(e, b);
    const struct trigger_type *t = map_get(trigger_types(e), b->type);
    (void)json_object_set_new(o, "trigger", t ? type_summary(e, t) : json_null());
    json_t *function = function_detail(e, b->function_id);
    (void)json_object_set_new(o, "function", function ? function : json_null());
    engine_ok(c, o);
}

static void register_trigger(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    struct err err = ERR_INIT;
    char id[UUID_MAX];
    uuid_new(id);
    struct trigger_wish wish = { .id = id,
                                 .type = json_get_str(payload, "trigger_type", NULL),
                                 .function_id = json_get_str(payload, "function_id", NULL),
                                 .config = json_get(payload, "config"),
                                 .metadata = json_get(payload, "metadata") };
    if (!wish.type || !wish.function_id)
        engine_fail(c, "deserialization_error", "engine::register_trigger needs trigger_type and function_id");
    else if (trigger_bind(e, &wish, &err) < 0)
        engine_fail(c, "trigger_registration_failed", "%s", err.msg);
    else
        engine_ok(c, json_pack("{s:s}", "id", id));
}

static void unregister_trigger(void *arg, struct engine_call *c, json_t *payload)
{
    const char *id = json_get_str(payload, "id", "");
    engine_ok(c, json_pack("{s:b}", "removed", trigger_unbind(arg, NULL, id)));
}

/* --- channels --- */

static void channels_create(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    struct err err = ERR_INIT;
    struct channel *made = channel_new_for(e->channels, c->tenant, &err);
    if (!made) {
        engine_fail(c, "invocation_failed", "%s", err.msg);
        return;
    }
    channel_set_buffer(made, json_get_int(payload, "buffer_size", CHANNEL_BUFFER_DEFAULT));
    engine_ok(c, json_pack("{s:o, s:o}", "writer", channel_ref_json(made, CHANNEL_WRITER), "reader",
                           channel_ref_json(made, CHANNEL_READER)));
}

void introspect_init(struct engine *e)
{
    static const struct {
        const char *id, *description;
        engine_fn *fn;
    } rows[] = {
        { "engine::workers::register", "Describe the calling worker", workers_register },
        { "engine::channels::create", "Create a channel: {writer, reader}", channels_create },
        { "engine::functions::list", "List functions: {search, prefix, worker, include_internal}", functions_list },
        { "engine::functions::info", "Describe functions: {function_id} or {function_ids}", functions_info },
        { "engine::workers::list", "List workers: {search, runtime, status}", workers_list },
        { "engine::workers::info", "Describe a worker: {name}", workers_info },
        { "engine::triggers::list", "List trigger types: {search, prefix, worker, include_internal}", triggers_list },
        { "engine::triggers::info", "Describe a trigger type: {id}", triggers_info },
        { "engine::registered-triggers::list", "List bindings: {search, trigger_type, function_id, worker}",
          bindings_list },
        { "engine::registered-triggers::info", "Describe a binding: {id}", bindings_info },
        { "engine::register_trigger", "Bind a function to a trigger: {trigger_type, function_id, config}",
          register_trigger },
        { "engine::unregister_trigger", "Remove a binding: {id}", unregister_trigger },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        registry_add_inside(e, rows[i].id, rows[i].description, rows[i].fn, e);
    /* A worker with limited rights may call the two that concern only itself. */
    registry_find_local(e, "engine::workers::register")->checks_caller = true;
    registry_find_local(e, "engine::channels::create")->checks_caller = true;
}
