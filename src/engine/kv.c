/* state::* functions. A value is a document {"value": …} in the store, under the scope PREFIX + scope and the key;
 * struct place is that pair, checked. The list of scopes is a store scope of its own. A handler reads, changes and
 * writes inside one loop turn, so an update is atomic without a lock, and replies once. After a successful change
 * kv_notify() fires the bindings of trigger type `state` that match. A store error is the reply, and the stored value
 * is unchanged. */
#include "engine/kv.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/binding_set.h"
#include "engine/registry.h"

#define SCOPES "engine_state_scopes"
#define PREFIX "engine_state:" /* a scope of the store for each of ours */

struct kv {
    struct binding_set watchers;
};

/* --- trigger type state --- */

static int state_bind(struct engine *e, struct binding *b, struct err *err)
{
    (void)err;
    binding_set_add(&e->kv->watchers, b);
    return 0;
}

static void state_unbind(struct engine *e, struct binding *b)
{
    binding_set_remove(&e->kv->watchers, b);
}

static const struct trigger_provider state_type = {
    .type = "state",
    .description = "A value of state:: was created, updated or deleted",
    .bind = state_bind,
    .unbind = state_unbind,
};

static bool is_watched(const struct binding *b, const char *scope, const char *key)
{
    return strcmp(trigger_config_str(b, "scope", scope), scope) == 0 &&
           strcmp(trigger_config_str(b, "key", key), key) == 0;
}

static void kv_notify(struct engine *e, const char *scope, const char *key, json_t *old, json_t *new)
{
    struct binding_set chosen = { 0 };
    for (size_t i = 0; i < e->kv->watchers.n; i++)
        if (is_watched(e->kv->watchers.items[i], scope, key))
            binding_set_add(&chosen, e->kv->watchers.items[i]);
    if (chosen.n) {
        const char *event = !new ? "state:deleted" : old ? "state:updated" : "state:created";
        JSON_OWNED payload = json_pack("{s:s, s:s, s:s, s:s, s:O?, s:O?}", "type", "state", "event_type", event,
                                       "scope", scope, "key", key, "old_value", old, "new_value", new);
        if (payload && !old)
            (void)json_object_set_new(payload, "old_value", json_null());
        if (payload && !new)
            (void)json_object_set_new(payload, "new_value", json_null());
        if (payload)
            binding_set_fire(e, &chosen, payload);
    }
    binding_set_done(&chosen);
}

/* --- the store --- */

struct place {
    const char *scope, *key;
    char *store_scope;
};

static void place_done(struct place *p)
{
    free(p->store_scope);
}

static bool is_name(const char *s)
{
    return s && *s && strlen(s) <= KV_NAME_MAX;
}

/* False: c was already answered. */
static bool read_place(struct engine_call *c, const json_t *payload, bool has_key, struct place *ret)
{
    ret->scope = json_get_str(payload, "scope", NULL);
    ret->key = json_get_str(payload, "key", NULL);
    if (!is_name(ret->scope) || (has_key && !is_name(ret->key))) {
        engine_fail(c, "deserialization_error", "%s needs scope%s: strings of 1 to %d bytes", engine_call_function(c),
                    has_key ? " and key" : "", KV_NAME_MAX);
        return false;
    }
    ret->store_scope = xasprintf(PREFIX "%s", ret->scope);
    return true;
}

/* The value without the wrapper that lets any JSON be a document. NULL: none. Caller owns. */
static json_t *kv_load(struct engine *e, const struct place *p)
{
    JSON_OWNED doc = NULL;
    if (store_get(e->store, p->store_scope, p->key, &doc, NULL) < 0)
        return NULL;
    return json_incref(json_object_get(doc, "value"));
}

static int make_room(struct engine *e, const struct place *p, struct err *err)
{
    if (store_count(e->store, p->store_scope) >= KV_KEYS_MAX)
        return err_set(err, ERR_CAPACITY, 0, "scope \"%.64s\": limit of %d keys reached", p->scope, KV_KEYS_MAX);
    JSON_OWNED known = NULL;
    if (store_get(e->store, SCOPES, p->scope, &known, NULL) == 0)
        return 0;
    if (store_count(e->store, SCOPES) >= KV_SCOPES_MAX)
        return err_set(err, ERR_CAPACITY, 0, "limit of %d scopes reached", KV_SCOPES_MAX);
    JSON_OWNED doc = json_object();
    return store_put(e->store, SCOPES, p->scope, doc, err);
}

static int kv_save(struct engine *e, const struct place *p, json_t *value, bool is_new, struct err *err)
{
    size_t len;
    CLEANUP(free_p) char *text = json_write(value, &len);
    if (len > KV_VALUE_MAX)
        return err_set(err, ERR_TOO_LARGE, 0, "value: %zu bytes as JSON, at most %d are kept", len, KV_VALUE_MAX);
    int r = is_new ? make_room(e, p, err) : 0;
    if (r < 0)
        return r;
    JSON_OWNED doc = json_pack("{s:O}", "value", value);
    return store_put(e->store, p->store_scope, p->key, doc, err);
}

static json_t *change(json_t *old, json_t *new)
{
    JSON_OWNED none = json_null();
    return json_pack("{s:O, s:O}", "old_value", old ? old : none, "new_value", new ? new : none);
}

/* --- functions --- */

static void store_value(struct engine *e, struct engine_call *c, const struct place *p, json_t *new)
{
    struct err err = ERR_INIT;
    JSON_OWNED old = kv_load(e, p);
    if (kv_save(e, p, new, !old, &err) < 0) {
        engine_fail(c, "invocation_failed", "%s", err.msg);
        return;
    }
    json_t *answer = change(old, new);
    kv_notify(e, p->scope, p->key, old, new);
    engine_ok(c, answer);
}

static void state_set(void *arg, struct engine_call *c, json_t *payload)
{
    CLEANUP(place_done) struct place p = { 0 };
    if (!read_place(c, payload, true, &p))
        return;
    json_t *value = json_object_get(payload, "value");
    if (!value)
        value = json_object_get(payload, "data");
    if (!value)
        engine_fail(c, "deserialization_error", "state::set needs value");
    else
        store_value(arg, c, &p, value);
}

static void state_get(void *arg, struct engine_call *c, json_t *payload)
{
    CLEANUP(place_done) struct place p = { 0 };
    if (!read_place(c, payload, true, &p))
        return;
    json_t *value = kv_load(arg, &p);
    engine_ok(c, value ? value : json_null());
}

static void delete (void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    struct err err = ERR_INIT;
    CLEANUP(place_done) struct place p = { 0 };
    if (!read_place(c, payload, true, &p))
        return;
    JSON_OWNED old = kv_load(e, &p);
    if (store_delete(e->store, p.store_scope, p.key, &err) < 0) {
        engine_fail(c, "invocation_failed", "%s", err.msg);
        return;
    }
    if (store_count(e->store, p.store_scope) == 0)
        (void)store_delete(e->store, SCOPES, p.scope, NULL); /* an empty scope in the list does no harm */
    json_t *answer = change(old, NULL);
    if (old)
        kv_notify(e, p.scope, p.key, old, NULL);
    engine_ok(c, answer);
}

static json_t *apply_number(json_t *old, const char *path, double sign, const json_t *op, struct err *err)
{
    json_t *by = json_get(op, "by") ? json_get(op, "by") : json_get(op, "value");
    if ((by && !json_is_number(by)) || (old && !json_is_number(old))) {
        (void)err_set(err, ERR_INVALID, 0, "update of \"%.64s\": only numbers can be incremented and decremented",
                      path);
        return NULL;
    }
    if ((!old || json_is_integer(old)) && (!by || json_is_integer(by))) {
        json_int_t step = by ? json_integer_value(by) : 1, sum;
        if (!__builtin_mul_overflow(step, sign < 0 ? -1 : 1, &step) &&
            !__builtin_add_overflow(old ? json_integer_value(old) : 0, step, &sum))
            return json_integer(sum);
    }
    return json_real((old ? json_number_value(old) : 0) + sign * (by ? json_number_value(by) : 1));
}

static json_t *apply_append(json_t *old, const char *path, json_t *value, struct err *err)
{
    if (old && !json_is_array(old)) {
        (void)err_set(err, ERR_INVALID, 0, "update of \"%.64s\": only an array can be appended to", path);
        return NULL;
    }
    json_t *list = old ? json_copy(old) : json_array();
    (void)json_array_append(list, value);
    return list;
}

static json_t *apply_merge(json_t *old, json_t *value, struct err *err)
{
    if (!json_is_object(value) || (old && !json_is_object(old))) {
        (void)err_set(err, ERR_INVALID, 0, "update: only objects can be merged");
        return NULL;
    }
    json_t *merged = old ? json_copy(old) : json_object();
    (void)json_object_update(merged, value);
    return merged;
}

/* Applies one operation to the value that its path names. */
static json_t *apply_to(json_t *old, const char *path, const json_t *op, struct err *err)
{
    const char *type = json_get_str(op, "type", "");
    json_t *value = json_object_get(op, "value");
    if (strcmp(type, "increment") == 0)
        return apply_number(old, path, 1, op, err);
    if (strcmp(type, "decrement") == 0)
        return apply_number(old, path, -1, op, err);
    if (value && strcmp(type, "set") == 0)
        return json_incref(value);
    if (value && strcmp(type, "append") == 0)
        return apply_append(old, path, value, err);
    if (value && strcmp(type, "merge") == 0)
        return apply_merge(old, value, err);
    (void)err_set(err, ERR_INVALID, 0,
                  "update: type is one of set, merge, append (with value), increment, decrement, remove");
    return NULL;
}

json_t *kv_apply(json_t *value, const json_t *op, struct err *err)
{
    const char *path = json_get_str(op, "path", "");
    bool is_remove = strcmp(json_get_str(op, "type", ""), "remove") == 0;
    json_t *here = json_is_null(value) ? NULL : value;
    if (!*path)
        return is_remove ? json_null() : apply_to(here, path, op, err);
    if (here && !json_is_object(here)) {
        (void)err_set(err, ERR_INVALID, 0, "update of \"%.64s\": the value is not an object", path);
        return NULL;
    }
    json_t *copy = here ? json_copy(here) : json_object();
    if (is_remove) {
        (void)json_object_del(copy, path); /* absent is fine */
        return copy;
    }
    JSON_OWNED part = apply_to(json_get(here, path), path, op, err);
    if (!part) {
        json_decref(copy);
        return NULL;
    }
    (void)json_object_set(copy, path, part);
    return copy;
}

static void state_update(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    struct err err = ERR_INIT;
    CLEANUP(place_done) struct place p = { 0 };
    if (!read_place(c, payload, true, &p))
        return;
    const json_t *ops = json_get(payload, "ops");
    JSON_OWNED value = kv_load(e, &p);
    if (!json_is_array(ops) || json_array_size(ops) == 0) {
        engine_fail(c, "deserialization_error", "state::update needs ops, a list of {type, path, value}");
        return;
    }
    for (size_t i = 0; i < json_array_size(ops); i++) {
        json_t *next = kv_apply(value, json_array_get(ops, i), &err);
        if (!next) {
            engine_fail(c, "deserialization_error", "%s", err.msg);
            return;
        }
        json_decref(value);
        value = next;
    }
    store_value(e, c, &p, value);
}

static bool add_value(void *arg, const char *key, json_t *doc)
{
    (void)key;
    (void)json_array_append(arg, json_object_get(doc, "value"));
    return true;
}

static bool add_key(void *arg, const char *key, json_t *doc)
{
    (void)doc;
    (void)json_array_append_new(arg, json_string(key));
    return true;
}

static void list(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    CLEANUP(place_done) struct place p = { 0 };
    if (!read_place(c, payload, false, &p))
        return;
    json_t *values = json_array();
    (void)store_each(e->store, p.store_scope, false, add_value, values, NULL);
    engine_ok(c, values);
}

static void list_groups(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    (void)payload;
    json_t *scopes = json_array();
    (void)store_each(e->store, SCOPES, false, add_key, scopes, NULL);
    engine_ok(c, json_pack("{s:o}", "groups", scopes));
}

void kv_init(struct engine *e)
{
    e->kv = xzalloc(sizeof(*e->kv));
    trigger_add_provider(e, &state_type);
    registry_add_inside(e, "state::set", "Set a value: {scope, key, value}", state_set, e);
    registry_add_inside(e, "state::get", "Get a value or null: {scope, key}", state_get, e);
    registry_add_inside(e, "state::delete", "Delete a value: {scope, key}", delete, e);
    registry_add_inside(e, "state::update", "Change a value in place: {scope, key, ops:[{type, path, value}]}",
                        state_update, e);
    registry_add_inside(e, "state::list", "All values of a scope: {scope}", list, e);
    registry_add_inside(e, "state::list_groups", "Names of all scopes", list_groups, e);
}

void kv_done(struct engine *e)
{
    binding_set_done(&e->kv->watchers);
    free(e->kv);
    e->kv = NULL;
}
