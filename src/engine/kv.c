/* state::* functions. A value is in the store under the scope PREFIX + scope and the key; struct place is that pair,
 * checked. A handler reads, changes and writes inside one loop turn, so an update is atomic without a lock, and replies
 * once. After a successful change kv_notify() fires the bindings of trigger type `state` that match. A store error is
 * the reply, and the stored value is unchanged. With the adapter `bridge` the call is made at another engine: struct
 * bridged waits for its answer, which is the reply. */
#include "engine/kv.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/binding_set.h"
#include "engine/engine_config.h"
#include "engine/registry.h"
#include "engine/remote_engine.h"
#include "engine/update_ops.h"
#include "engine/value_store.h"

#define SCOPES "engine_state_scopes"
#define PREFIX "engine_state:" /* a scope of the store for each of ours */

struct kv {
    struct outside *bridge; /* the engine that keeps the values; NULL: the store */
    struct binding_set watchers;
    struct share *scopes;
    size_t value_max; /* bytes; 0: the limit of value_store.h */
};

/* --- trigger type state --- */

static struct binding_set *state_bindings(struct engine *e)
{
    return &e->kv->watchers;
}

static const struct trigger_provider state_type = {
    .type = "state",
    .description = "A value of state:: was created, updated or deleted",
    .bindings = state_bindings,
};

static bool is_watched(const struct binding *b, const void *arg)
{
    const json_t *payload = arg;
    const char *scope = json_get_str(payload, "scope", ""), *key = json_get_str(payload, "key", "");
    return strcmp(trigger_config_str(b, "scope", scope), scope) == 0 &&
           strcmp(trigger_config_str(b, "key", key), key) == 0;
}

static void kv_notify(struct engine *e, const char *scope, const char *key, json_t *old, json_t *new)
{
    const char *event = !new ? "state:deleted" : old ? "state:updated" : "state:created";
    if (e->kv->watchers.n == 0)
        return;
    JSON_OWNED payload = json_pack("{s:s, s:s, s:s, s:s, s:O?, s:O?}", "type", "state", "event_type", event, "scope",
                                   scope, "key", key, "old_value", old, "new_value", new);
    if (payload)
        binding_set_fire(e, &e->kv->watchers, is_watched, payload, payload);
}

/* --- functions --- */

struct place {
    struct value_place at; /* group: the scope */
    char *store_scope;
};

static void place_done(struct place *p)
{
    free(p->store_scope);
}

/* A call that the other engine carries out. */
struct bridged {
    struct engine_call *call;
    char *scope, *key;
};

static void bridged_done(void *arg, json_t *result, const struct engine_error *error)
{
    struct bridged *b = arg;
    struct engine_call *c = b->call;
    const char *id = engine_call_function(c);
    bool is_delete = strcmp(id, "state::delete") == 0;
    if (!error && (is_delete ? result != NULL : json_object_get(result, "new_value") != NULL) &&
        (is_delete || strcmp(id, "state::set") == 0 || strcmp(id, "state::update") == 0))
        kv_notify(c->engine, b->scope, b->key, is_delete ? result : json_get(result, "old_value"),
                  is_delete ? NULL : json_object_get(result, "new_value"));
    if (error)
        engine_fail_text(c, error->code, error->message);
    else
        engine_ok(c, json_incref(result));
    free(b->scope);
    free(b->key);
    free(b);
}

static bool is_bridged(struct engine_call *c, json_t *payload)
{
    struct outside *bridge = c->engine->kv->bridge;
    if (!bridge)
        return false;
    struct bridged *b = xzalloc(sizeof(*b));
    *b = (struct bridged){ .call = c,
                           .scope = xstrdup(json_get_str(payload, "scope", "")),
                           .key = xstrdup(json_get_str(payload, "key", "")) };
    remote_engine_invoke(bridge, engine_call_function(c), payload, bridged_done, b);
    return true;
}

/* False: c was already answered, or the other engine will. */
static bool read_place(struct engine_call *c, json_t *payload, bool has_key, struct place *ret)
{
    const char *scope = json_get_str(payload, "scope", NULL), *key = json_get_str(payload, "key", NULL);
    if (!value_store_is_name(scope) || (has_key && !value_store_is_name(key))) {
        engine_fail(c, "deserialization_error", "%s needs scope%s: strings of 1 to %d bytes", engine_call_function(c),
                    has_key ? " and key" : "", VALUE_STORE_NAME_MAX);
        return false;
    }
    if (is_bridged(c, payload))
        return false;
    ret->store_scope = xasprintf(PREFIX "%s", scope);
    ret->at = (struct value_place){ c->engine->store,      ret->store_scope, key, SCOPES, scope,
                                    c->engine->kv->scopes, c->tenant };
    return true;
}

struct kv_change {
    json_t *old, *new; /* old NULL: there was none */
    json_t *errors;    /* of operations; or NULL */
    const char *code;  /* when it cannot be stored */
};

static void store_value(struct engine *e, struct engine_call *c, const struct place *p, const struct kv_change *how)
{
    struct err err = ERR_INIT;
    if (value_store_put(&p->at, how->new, !how->old, e->kv->value_max, &err) < 0) {
        engine_fail(c, err.code == ERR_TOO_LARGE ? "VALUE_TOO_LARGE" : how->code, "%s", err.msg);
        return;
    }
    JSON_OWNED none = json_null();
    json_t *answer = json_pack("{s:O, s:O, s:O*}", "old_value", how->old ? how->old : none, "new_value", how->new,
                               "errors", how->errors);
    kv_notify(e, p->at.group, p->at.key, how->old, how->new);
    engine_ok(c, answer);
}

static void state_set(void *arg, struct engine_call *c, json_t *payload)
{
    struct err err = ERR_INIT;
    CLEANUP(place_done) struct place p = { 0 };
    JSON_OWNED old = NULL;
    json_t *value = json_object_get(payload, "value");
    if (!read_place(c, payload, true, &p))
        return;
    if (!value)
        value = json_object_get(payload, "data");
    if (!value)
        engine_fail(c, "deserialization_error", "state::set needs value");
    else if (value_store_get(&p.at, &old, &err) < 0)
        engine_fail(c, "SET_ERROR", "%s", err.msg);
    else
        store_value(arg, c, &p, &(struct kv_change){ old, value, NULL, "SET_ERROR" });
}

static void state_get(void *arg, struct engine_call *c, json_t *payload)
{
    struct err err = ERR_INIT;
    CLEANUP(place_done) struct place p = { 0 };
    json_t *value = NULL;
    (void)arg;
    if (!read_place(c, payload, true, &p))
        return;
    if (value_store_get(&p.at, &value, &err) < 0)
        engine_fail(c, "GET_ERROR", "%s", err.msg);
    else
        engine_ok(c, value); /* a missing key has no result: clients tell it from null */
}

static void state_delete(void *arg, struct engine_call *c, json_t *payload)
{
    struct err err = ERR_INIT;
    CLEANUP(place_done) struct place p = { 0 };
    JSON_OWNED old = NULL;
    if (!read_place(c, payload, true, &p))
        return;
    if (value_store_get(&p.at, &old, &err) < 0 || value_store_delete(&p.at, &err) < 0) {
        engine_fail(c, "DELETE_ERROR", "%s", err.msg);
        return;
    }
    if (old)
        kv_notify(arg, p.at.group, p.at.key, old, NULL);
    engine_ok(c, STEAL(old)); /* the value itself, and no result when there was none */
}

static void state_update(void *arg, struct engine_call *c, json_t *payload)
{
    struct err err = ERR_INIT;
    CLEANUP(place_done) struct place p = { 0 };
    JSON_OWNED old = NULL;
    JSON_OWNED new = NULL;
    JSON_OWNED errors = NULL;
    if (!read_place(c, payload, true, &p))
        return;
    if (value_store_get(&p.at, &old, &err) < 0)
        engine_fail(c, "UPDATE_ERROR", "%s", err.msg);
    else if (update_ops_apply(old, json_get(payload, "ops"), &new, &errors, &err) < 0)
        engine_fail(c, "deserialization_error", "state::update: %s", err.msg);
    else
        store_value(arg, c, &p, &(struct kv_change){ old, new, errors, "UPDATE_ERROR" });
}

static void state_list(void *arg, struct engine_call *c, json_t *payload)
{
    struct err err = ERR_INIT;
    CLEANUP(place_done) struct place p = { 0 };
    (void)arg;
    if (!read_place(c, payload, false, &p))
        return;
    json_t *values = value_store_list(p.at.store, p.at.scope, &err);
    if (values)
        engine_ok(c, values);
    else
        engine_fail(c, "LIST_ERROR", "%s", err.msg);
}

static void state_list_groups(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    struct err err = ERR_INIT;
    if (is_bridged(c, payload))
        return;
    json_t *scopes = value_store_keys(e->store, SCOPES, &err);
    if (scopes)
        engine_ok(c, json_pack("{s:o}", "groups", scopes));
    else
        engine_fail(c, "LIST_GROUPS_ERROR", "%s", err.msg);
}

int kv_init(struct engine *e, struct err *err)
{
    const char *bridge = engine_config_bridge(e->config, "iii-state");
    e->kv = xzalloc(sizeof(*e->kv));
    e->kv->value_max = (size_t)json_get_int(engine_config_of(e->config, "iii-state"), "max_value_bytes", 0);
    e->kv->scopes = share_new(VALUE_STORE_GROUPS_MAX);
    value_store_count(e->store, SCOPES, e->kv->scopes);
    trigger_add_provider(e, &state_type);
    registry_add_inside(e, "state::set", "Set a value: {scope, key, value}", state_set, e);
    registry_add_inside(e, "state::get", "Get a value: {scope, key}", state_get, e);
    registry_add_inside(e, "state::delete", "Delete a value, which is the result: {scope, key}", state_delete, e);
    registry_add_inside(e, "state::update", "Change a value in place: {scope, key, ops:[{type, path, value}]}",
                        state_update, e);
    registry_add_inside(e, "state::list", "All values of a scope: {scope}", state_list, e);
    registry_add_inside(e, "state::list_groups", "Names of all scopes", state_list_groups, e);
    int r = bridge ? remote_engine_new_client(e, bridge, NULL, NULL, &e->kv->bridge, err) : 0;
    return r < 0 ? err_wrap(err, r, "iii-state") : 0;
}

void kv_stop(struct engine *e)
{
    e->kv->bridge = remote_engine_free(e->kv->bridge);
}

void kv_done(struct engine *e)
{
    binding_set_done(&e->kv->watchers);
    share_free(e->kv->scopes);
    free(e->kv);
    e->kv = NULL;
}
