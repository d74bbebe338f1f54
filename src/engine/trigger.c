/* Trigger types and bindings. A type belongs to the engine (struct trigger_provider) or to a worker; a binding connects
 * a function to a type with a config. struct triggers owns both maps. A binding is active (its type's provider has
 * accepted it) or parked (its type is not registered); when a type appears, its parked bindings are handed to it, and
 * when it goes they are parked again. A binding is removed with the worker that made it. A provider's refusal reaches
 * only the binding's owner. Firing copies what it needs, asks the condition function if there is one, then calls the
 * function. */
#include "engine/trigger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "engine/binding_set.h"
#include "engine/session.h"
#include "engine/worker.h"

struct triggers {
    struct map *types;    /* id -> struct trigger_type */
    struct map *bindings; /* id -> struct binding */
    size_t n_unowned;
};

/* --- life --- */

static void binding_free(struct binding *b)
{
    free(b->id);
    free(b->type);
    free(b->function_id);
    json_decref(b->config);
    json_decref(b->metadata);
    free(b);
}

static void type_free(struct trigger_type *t)
{
    free(t->id);
    free(t->description);
    json_decref(t->config_schema);
    json_decref(t->call_schema);
    free(t);
}

void trigger_init(struct engine *e)
{
    e->triggers = xzalloc(sizeof(*e->triggers));
    e->triggers->types = map_new();
    e->triggers->bindings = map_new();
}

const struct map *trigger_types(const struct engine *e)
{
    return e->triggers->types;
}

const struct map *trigger_bindings(const struct engine *e)
{
    return e->triggers->bindings;
}

const char *trigger_config_str(const struct binding *b, const char *key, const char *fallback)
{
    return json_get_str(b->config, key, fallback);
}

/* --- handing bindings to their types --- */

static json_t *binding_message(const char *word, const struct binding *b)
{
    json_t *m = json_object();
    message_set_str(m, "type", word);
    message_set_str(m, "id", b->id);
    message_set_str(m, "trigger_type", b->type);
    return m;
}

static int binding_activate(struct engine *e, struct binding *b, struct err *err)
{
    const struct trigger_type *t = map_get(e->triggers->types, b->type);
    if (!t || b->is_active)
        return 0;
    const struct trigger_provider *p = t->provider;
    if (p) {
        int r = p->bind ? p->bind(e, b, err) : 0;
        b->is_active = r == 0;
        if (r == 0 && p->bindings)
            binding_set_add(p->bindings(e), b);
        return r;
    }
    json_t *m = binding_message("registertrigger", b);
    message_set_str(m, "function_id", b->function_id);
    message_set(m, "config", b->config);
    message_set(m, "metadata", b->metadata);
    b->is_active = true;
    worker_send(t->owner, m);
    return 0;
}

static void binding_deactivate(struct engine *e, struct binding *b)
{
    const struct trigger_type *t = map_get(e->triggers->types, b->type);
    if (!t || !b->is_active)
        return;
    b->is_active = false;
    const struct trigger_provider *p = t->provider;
    if (p && p->bindings)
        binding_set_remove(p->bindings(e), b);
    if (p && p->unbind)
        p->unbind(e, b);
    if (!p)
        worker_send(t->owner, binding_message("unregistertrigger", b));
}

/* Does not notify a provider that is gone. */
static void type_park_bindings(struct engine *e, const char *type)
{
    for (struct map_iter it = map_iter(e->triggers->bindings); map_next(&it);) {
        struct binding *b = it.value;
        if (strcmp(b->type, type) == 0)
            b->is_active = false;
    }
}

/* --- types --- */

static void put_type(struct engine *e, struct trigger_type *t)
{
    struct trigger_type *old = map_remove(e->triggers->types, t->id);
    if (old) {
        old->owner->n_types--;
        type_free(old);
        type_park_bindings(e, t->id);
    }
    map_set(e->triggers->types, t->id, t);
    for (struct map_iter it = map_iter(e->triggers->bindings); map_next(&it);) {
        struct binding *b = it.value;
        if (strcmp(b->type, t->id) == 0) /* only the engine's own types refuse at once, and they are always there */
            (void)binding_activate(e, b, NULL);
    }
}

void trigger_add_provider(struct engine *e, const struct trigger_provider *p)
{
    struct trigger_type *t = xzalloc(sizeof(*t));
    t->id = xstrdup(p->type);
    t->description = xstrdup(p->description);
    t->provider = p;
    put_type(e, t);
}

int trigger_add_type(struct engine *e, struct worker *owner, const struct message *m)
{
    const struct trigger_type *old = map_get(e->triggers->types, m->id);
    if (old && old->provider)
        return -EPERM;
    if (owner->n_types >= ENGINE_TYPES_MAX)
        return -E2BIG;
    struct trigger_type *t = xzalloc(sizeof(*t));
    t->id = xstrdup(m->id);
    t->description = message_clean_text(json_get_str(m->body, "description", ""), ENGINE_NAME_CHARS);
    t->config_schema = json_incref(json_get(m->body, "trigger_request_format"));
    t->call_schema = json_incref(json_get(m->body, "call_request_format"));
    t->owner = owner;
    owner->n_types++;
    put_type(e, t);
    return 0;
}

static void drop_type(struct engine *e, struct trigger_type *t)
{
    type_park_bindings(e, t->id);
    t->owner->n_types--;
    (void)map_remove(e->triggers->types, t->id);
    type_free(t);
}

void trigger_remove_type(struct engine *e, const struct worker *owner, const char *id)
{
    struct trigger_type *t = map_get(e->triggers->types, id);
    if (t && t->owner == owner && !t->provider)
        drop_type(e, t);
}

/* --- bindings --- */

static size_t *count_of(struct engine *e, struct worker *owner)
{
    return owner ? &owner->n_bindings : &e->triggers->n_unowned;
}

static void drop_binding(struct engine *e, struct binding *b)
{
    binding_deactivate(e, b);
    (*count_of(e, b->owner))--;
    (void)map_remove(e->triggers->bindings, b->id);
    binding_free(b);
}

int trigger_bind(struct engine *e, const struct trigger_wish *wish, struct err *err)
{
    struct binding *old = map_get(e->triggers->bindings, wish->id);
    if (old && old->owner != wish->owner)
        return err_set(err, ERR_CONFLICT, 0, "the trigger with id \"%.100s\" belongs to another worker", wish->id);
    if (old)
        drop_binding(e, old);
    if (*count_of(e, wish->owner) >= ENGINE_BINDINGS_MAX)
        return err_set(err, ERR_CAPACITY, 0, "limit of %d triggers of one worker reached", ENGINE_BINDINGS_MAX);
    struct binding *b = xzalloc(sizeof(*b));
    b->id = xstrdup(wish->id);
    b->type = xstrdup(wish->type);
    b->function_id = xstrdup(wish->function_id);
    b->config = wish->config ? json_incref(wish->config) : json_object();
    b->metadata = json_incref(wish->metadata);
    b->owner = wish->owner;
    (*count_of(e, b->owner))++;
    map_set(e->triggers->bindings, b->id, b);
    int r = binding_activate(e, b, err);
    if (r < 0)
        drop_binding(e, b);
    return r;
}

/* Reports failures only: the published client expects silence on success. */
static void push_failure(struct worker *to, const struct message *m, json_t *error)
{
    json_t *out = json_object();
    message_set_str(out, "type", "triggerregistrationresult");
    message_set_str(out, "id", m->id);
    message_set_str(out, "trigger_type", m->trigger_type);
    message_set_str(out, "function_id", m->function_id);
    message_set(out, "error", error);
    worker_send(to, out);
}

void trigger_bind_message(struct worker *w, const struct message *m)
{
    struct err err = ERR_INIT;
    struct trigger_wish wish = { .id = m->id,
                                 .type = m->trigger_type,
                                 .function_id = m->function_id,
                                 .config = m->config,
                                 .metadata = m->metadata,
                                 .owner = w };
    if (session_may_call(w->session, w->engine, m->function_id) != SESSION_ALLOWED) {
        (void)err_set(&err, ERR_FORBIDDEN, 0, "function '%.100s' of namespace '%.64s' not allowed as a target",
                      m->function_id, m->namespace ? m->namespace : "default");
        JSON_OWNED error = message_error_body("FORBIDDEN", err.msg, NULL);
        push_failure(w, m, error);
        return;
    }
    if (trigger_bind(w->engine, &wish, &err) < 0) {
        JSON_OWNED error = message_error_body("trigger_registration_failed", err.msg, NULL);
        push_failure(w, m, error);
    }
}

bool trigger_unbind(struct engine *e, const struct worker *owner, const char *id)
{
    struct binding *b = map_get(e->triggers->bindings, id);
    if (!b || (owner && b->owner != owner))
        return false;
    drop_binding(e, b);
    return true;
}

void trigger_report(struct engine *e, struct worker *w, const struct message *m)
{
    struct binding *b = map_get(e->triggers->bindings, m->id);
    const struct trigger_type *t = b ? map_get(e->triggers->types, b->type) : NULL;
    if (!t || t->owner != w || !m->error)
        return;
    b->is_active = false; /* parked: it is handed over again when the type is registered again */
    if (b->owner)
        push_failure(b->owner, m, m->error);
}

void trigger_worker_left(struct engine *e, struct worker *w)
{
    if (w->n_bindings)
        for (struct map_iter it = map_iter(e->triggers->bindings); map_next(&it);) {
            struct binding *b = it.value;
            const struct trigger_type *t = map_get(e->triggers->types, b->type);
            if (t && t->owner == w)
                b->is_active = false; /* the provider is the one that left: no one to notify */
            if (b->owner == w)
                drop_binding(e, b);
        }
    if (w->n_types)
        for (struct map_iter it = map_iter(e->triggers->types); map_next(&it);) {
            struct trigger_type *t = it.value;
            if (t->owner == w)
                drop_type(e, t);
        }
}

void trigger_done(struct engine *e)
{
    for (struct map_iter it = map_iter(e->triggers->bindings); map_next(&it);) {
        binding_deactivate(e, it.value);
        binding_free(it.value);
    }
    for (struct map_iter it = map_iter(e->triggers->types); map_next(&it);)
        type_free(it.value);
    map_free(e->triggers->bindings);
    map_free(e->triggers->types);
    free(e->triggers);
    e->triggers = NULL;
}

/* --- firing --- */

/* A binding may be removed while its condition runs: what is needed is copied. */
struct firing {
    struct engine *engine;
    char *function_id;
    json_t *payload, *metadata;
    bool is_strict;
    trigger_fired_fn *fn;
    void *arg;
};

static void firing_done(void *arg, json_t *result, const struct engine_error *error)
{
    struct firing *f = arg;
    if (error)
        log_event(LOG_DEBUG, "engine.trigger_failed", "function", f->function_id, "code", error->code, NULL);
    if (f->fn)
        f->fn(f->arg, false, result, error);
    json_decref(f->payload);
    json_decref(f->metadata);
    free(f->function_id);
    free(f);
}

static void firing_condition(void *arg, json_t *result, const struct engine_error *error)
{
    struct firing *f = arg;
    if (error ? !f->is_strict : !json_is_false(result)) { /* the contract: of results only exactly false skips */
        engine_invoke(f->engine, f->function_id, f->payload, f->metadata, firing_done, f);
        return;
    }
    trigger_fired_fn *fn = f->fn;
    void *fn_arg = f->arg;
    f->fn = NULL;
    firing_done(f, NULL, NULL);
    if (fn)
        fn(fn_arg, true, NULL, NULL);
}

void trigger_fire(struct engine *e, const struct binding *b, json_t *payload, trigger_fired_fn *fn, void *arg)
{
    const char *condition = trigger_config_str(b, "condition_function_id", NULL);
    const struct trigger_type *t = map_get(e->triggers->types, b->type);
    struct firing *f = xzalloc(sizeof(*f));
    *f = (struct firing){ .engine = e,
                          .function_id = xstrdup(b->function_id),
                          .payload = json_incref(payload),
                          .metadata = json_incref(b->metadata),
                          .is_strict = t && t->provider && t->provider->is_condition_strict,
                          .fn = fn,
                          .arg = arg };
    if (condition)
        engine_invoke(e, condition, f->payload, f->metadata, firing_condition, f);
    else
        engine_invoke(e, f->function_id, f->payload, f->metadata, firing_done, f);
}
