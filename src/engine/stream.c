/* stream::* functions. An item is a value of the streams' own store (a file, or memory) in a scope made of stream and
 * group; two more scopes list the groups of a stream and the streams. Each call first looks for a function of a worker
 * whose id is the call's own with the stream's name in parentheses. If there is one, struct relay waits for its answer
 * in the place of the store's; otherwise the handler reads, changes and writes inside one loop turn. Either way a
 * change makes one message, which goes to the bindings of trigger type `stream` that match and to the subscribers. A
 * failure is the reply, and no message is made. With the adapter `bridge` another engine takes the store's place:
 * struct relay waits for it, too, and messages go through its topic stream.events. */
#include "engine/stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "engine/binding_set.h"
#include "engine/engine_config.h"
#include "engine/registry.h"
#include "engine/remote_engine.h"
#include "engine/stream_socket.h"
#include "engine/update_ops.h"
#include "engine/value_store.h"

#define STREAMS      "engine_streams"
#define BRIDGE_TOPIC "stream.events" /* of the contract */

struct stream {
    struct outside *bridge; /* the engine that keeps the items; NULL: the store */
    struct store *store;
    size_t bytes; /* of all items as JSON; only counted when they are in memory */
    bool is_in_memory;
    struct share *streams, *groups, *share_of_bytes;
    struct binding_set changes, joins, leaves;
};

/* --- trigger types --- */

static int changes_bind(struct engine *e, struct binding *b, struct err *err)
{
    (void)e;
    return *trigger_config_str(b, "stream_name", "")
               ? 0
               : err_set(err, ERR_INVALID, 0, "a stream trigger needs config.stream_name, a non-empty string");
}

static struct binding_set *change_watchers(struct engine *e)
{
    return &e->stream->changes;
}

static struct binding_set *join_watchers(struct engine *e)
{
    return &e->stream->joins;
}

static struct binding_set *leave_watchers(struct engine *e)
{
    return &e->stream->leaves;
}

static const struct trigger_provider stream_types[] = {
    { .type = "stream",
      .description = "An item of a stream was created, updated or deleted, or an event was sent",
      .bindings = change_watchers,
      .bind = changes_bind,
      .is_condition_strict = true },
    { .type = "stream:join", .description = "A subscriber asks to join a stream", .bindings = join_watchers },
    { .type = "stream:leave", .description = "A subscriber has left a stream", .bindings = leave_watchers },
};

/* An empty filter matches all. */
static bool is_match(const struct binding *b, const char *key, const char *value)
{
    const char *wanted = trigger_config_str(b, key, "");
    return !*wanted || (value && strcmp(wanted, value) == 0);
}

/* --- messages --- */

json_t *stream_message(const struct stream_name *n, json_t *event)
{
    return json_pack("{s:s, s:I, s:s, s:s, s:s?, s:o}", "type", "stream", "timestamp", (json_int_t)clock_wall_ms(),
                     "streamName", n->stream, "groupId", n->group, "id", n->item, "event", event);
}

static bool is_about(const struct binding *b, const void *arg)
{
    const struct stream_name *n = arg;
    return is_match(b, "stream_name", n->stream) && is_match(b, "group_id", n->group) &&
           is_match(b, "item_id", n->item);
}

static void stream_deliver(struct engine *e, const struct stream_name *n, json_t *message)
{
    stream_socket_publish(e, n, message);
    binding_set_fire(e, &e->stream->changes, is_about, n, message);
}

static void published(void *arg, json_t *result, const struct engine_error *error)
{
    (void)arg, (void)result, (void)error; /* an event that did not reach the other engine reaches nobody */
}

/* Through the engine that keeps the items, when one does: it comes back from there to every engine that subscribes.
 * event is taken. */
static void stream_publish(struct engine *e, const struct stream_name *n, json_t *event)
{
    JSON_OWNED message = stream_message(n, event);
    if (!message)
        return;
    if (!e->stream->bridge) {
        stream_deliver(e, n, message);
        return;
    }
    JSON_OWNED payload = json_pack("{s:s, s:O}", "topic", BRIDGE_TOPIC, "data", message);
    remote_engine_invoke(e->stream->bridge, "publish", payload, published, NULL);
}

static void bridge_event(struct engine *e, json_t *message)
{
    struct stream_name n = { json_get_str(message, "streamName", NULL), json_get_str(message, "groupId", NULL),
                             json_get_str(message, "id", NULL) };
    if (n.stream && n.group && json_is_object(json_get(message, "event")))
        stream_deliver(e, &n, message);
}

static void publish_change(struct engine *e, const struct stream_name *n, json_t *old, json_t *new)
{
    const char *kind = !new ? "delete" : old ? "update" : "create";
    stream_publish(e, n, json_pack("{s:s, s:O}", "type", kind, "data", new ? new : old));
}

/* --- joining --- */

struct joining {
    stream_joined_fn *fn;
    void *arg;
    size_t n_left; /* handlers, and the caller while it fires them */
    bool is_refused;
};

static void join_step(struct joining *j)
{
    if (--j->n_left)
        return;
    j->fn(j->arg, !j->is_refused);
    free(j);
}

static void join_handled(void *arg, bool is_skipped, json_t *result, const struct engine_error *error)
{
    struct joining *j = arg;
    if (!is_skipped && !error && json_get_bool(result, "unauthorized", false))
        j->is_refused = true;
    join_step(j);
}

void stream_fire_join(struct engine *e, json_t *payload, stream_joined_fn *fn, void *arg)
{
    struct joining *j = xzalloc(sizeof(*j));
    JSON_OWNED ids = json_array(); /* a handler of this process may change the set */
    *j = (struct joining){ .fn = fn, .arg = arg, .n_left = 1 };
    for (size_t i = 0; i < e->stream->joins.n; i++)
        if (is_match(e->stream->joins.items[i], "stream_name", json_get_str(payload, "stream_name", "")))
            (void)json_array_append_new(ids, json_string(e->stream->joins.items[i]->id));
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const struct binding *b = map_get(trigger_bindings(e), json_string_value(json_array_get(ids, i)));
        if (!b)
            continue;
        j->n_left++;
        trigger_fire(e, b, payload, join_handled, j);
    }
    join_step(j);
}

static bool is_left(const struct binding *b, const void *payload)
{
    return is_match(b, "stream_name", json_get_str(payload, "stream_name", ""));
}

void stream_fire_leave(struct engine *e, json_t *payload)
{
    binding_set_fire(e, &e->stream->leaves, is_left, payload, payload);
}

/* --- names --- */

struct place {
    struct stream_name name;
    struct value_place at;
    char *scope, *groups; /* of the store */
};

static void place_done(struct place *p)
{
    free(p->scope);
    free(p->groups);
}

/* The scope that lists a stream's groups. Caller frees. */
static char *groups_of(const char *stream)
{
    return xasprintf("engine_stream_groups:%s", stream);
}

static void place_init(struct engine *e, const struct stream_name *n, const char *tenant, struct place *ret)
{
    /* With the length of the name: no two pairs of stream and group give the same text. */
    ret->name = *n;
    ret->scope = xasprintf("engine_stream:%zu:%s:%s", strlen(n->stream), n->stream, n->group ? n->group : "");
    ret->groups = groups_of(n->stream);
    ret->at =
        (struct value_place){ e->stream->store, ret->scope, n->item, ret->groups, n->group, e->stream->groups, tenant };
}

/* The first n of stream_name, group_id, item_id. False: c was already answered. */
static bool read_place(struct engine_call *c, const json_t *payload, int n, struct place *ret)
{
    static const char *const keys[] = { "stream_name", "group_id", "item_id" };
    const char *texts[3] = { 0 };
    for (int i = 0; i < n; i++) {
        texts[i] = json_get_str(payload, keys[i], NULL);
        if (!value_store_is_name(texts[i])) {
            engine_fail(c, "deserialization_error", "%s needs %s: a string of 1 to %d bytes", engine_call_function(c),
                        keys[i], VALUE_STORE_NAME_MAX);
            return false;
        }
    }
    place_init(c->engine, &(struct stream_name){ texts[0], texts[1], texts[2] }, c->tenant, ret);
    return true;
}

/* --- the store --- */

static size_t size_of(const struct stream *s, const json_t *value)
{
    size_t len = 0;
    if (s->is_in_memory && value) {
        CLEANUP(free_p) char *text = json_write(value, &len);
    }
    return len;
}

/* Adds the stream to the list of streams when it is new. */
static int stream_list_name(struct stream *s, const struct place *p, struct err *err)
{
    JSON_OWNED known = NULL;
    if (store_get(s->store, STREAMS, p->name.stream, &known, NULL) == 0)
        return 0;
    if (store_count(s->store, STREAMS) >= STREAM_STREAMS_MAX || !share_take(s->streams, p->at.tenant, 1))
        return err_set(err, ERR_CAPACITY, 0, "limit of %d streams, or %d of one tenant, reached", STREAM_STREAMS_MAX,
                       STREAM_STREAMS_MAX / SHARE_PARTS);
    JSON_OWNED doc = *p->at.tenant ? json_pack("{s:s}", "owner", p->at.tenant) : json_object();
    int r = store_put(s->store, STREAMS, p->name.stream, doc, err);
    if (r < 0)
        share_give(s->streams, p->at.tenant, 1);
    return r;
}

static int stream_save(struct engine *e, const struct place *p, json_t *old, json_t *new, struct err *err)
{
    struct stream *s = e->stream;
    size_t before = size_of(s, old), after = size_of(s, new);
    char owner[SHARE_TENANT_MAX] = "";
    if (before)
        value_store_owner(&p->at, owner);
    share_give(s->share_of_bytes, owner, before);
    bool is_within = share_take(s->share_of_bytes, p->at.tenant, after);
    int r = 0;
    if (!is_within || (after > before && s->bytes - before + after > STREAM_BYTES_MAX))
        r = err_set(err, ERR_CAPACITY, 0,
                    "limit of %d bytes of items in memory, or %d of one tenant, reached: delete items, or set "
                    "store_method: file_based",
                    STREAM_BYTES_MAX, STREAM_BYTES_MAX / SHARE_PARTS);
    if (r == 0)
        r = stream_list_name(s, p, err);
    if (r == 0)
        r = value_store_put(&p->at, new, !old, 0, err);
    if (r == 0) {
        s->bytes += after - before;
        return 0;
    }
    if (is_within)
        share_give(s->share_of_bytes, p->at.tenant, after);
    (void)share_take(s->share_of_bytes, owner, before); /* the old value stays */
    return r;
}

/* --- streams that a worker provides --- */

struct relay {
    struct engine_call *call;
    const char *code; /* of a failed change */
    char *stream, *group, *item;
    bool is_change, is_delete;
};

static void relay_done(void *arg, json_t *result, const struct engine_error *error)
{
    struct relay *r = arg;
    struct engine_call *c = r->call;
    const struct stream_name name = { r->stream, r->group, r->item };
    json_t *old = json_get(result, "old_value"), *new = r->is_delete ? NULL : json_object_get(result, "new_value");
    if (error) {
        engine_fail_text(c, r->is_change ? r->code : error->code, error->message);
    } else if (!r->is_change) {
        engine_ok(c, json_incref(result));
    } else if (!result) {
        engine_fail(c, r->code, "the provider of stream \"%.64s\" answered nothing", r->stream);
    } else if (!json_is_object(result) || (!r->is_delete && !new)) {
        engine_fail(c, "JSON_ERROR", "the provider of stream \"%.64s\" answered without %s", r->stream,
                    r->is_delete ? "an object" : "new_value");
    } else {
        JSON_OWNED none = json_null();
        json_t *answer = json_pack("{s:O, s:O*, s:O*}", "old_value", old ? old : none, "new_value", new, "errors",
                                   json_get(result, "errors"));
        if (new || old)
            publish_change(c->engine, &name, old, new);
        engine_ok(c, answer);
    }
    free(r->stream);
    free(r->group);
    free(r->item);
    free(r);
}

static struct function *provided(struct engine *e, const char *verb, const char *stream)
{
    CLEANUP(free_p) char *id = xasprintf("%s(%s)", verb, stream);
    return registry_find(e, id);
}

struct way {
    const char *code;
    bool is_change, is_delete;
    const char *more; /* a member besides the names, or NULL */
};

/* Hands the call to the worker that provides the stream, or to the engine that keeps the items. False: the store has
 * them. */
static bool is_relayed(struct engine_call *c, const struct place *p, const json_t *payload, const struct way *w)
{
    const struct function *f = provided(c->engine, engine_call_function(c), p->name.stream);
    struct outside *bridge = c->engine->stream->bridge;
    if (!f && !bridge)
        return false;
    JSON_OWNED data = json_pack("{s:s, s:s*, s:s*}", "stream_name", p->name.stream, "group_id", p->name.group,
                                "item_id", p->name.item);
    if (w->more)
        (void)json_object_set(data, w->more, json_object_get(payload, w->more));
    struct relay *r = xzalloc(sizeof(*r));
    *r = (struct relay){ .call = c,
                         .code = w->code,
                         .stream = xstrdup(p->name.stream),
                         .group = xstrdup(p->name.group),
                         .item = xstrdup(p->name.item),
                         .is_change = w->is_change,
                         .is_delete = w->is_delete };
    if (f)
        engine_invoke(c->engine, f->id, data, engine_call_metadata(c), relay_done, r);
    else
        remote_engine_invoke(bridge, engine_call_function(c), data, relay_done, r);
    return true;
}

void stream_load(struct engine *e, const struct stream_name *n, engine_done_fn *done, void *arg)
{
    CLEANUP(place_done) struct place p = { 0 };
    struct err err = ERR_INIT;
    JSON_OWNED value = NULL;
    const char *verb = n->item ? "stream::get" : "stream::list";
    const struct function *f = provided(e, verb, n->stream);
    JSON_OWNED data = json_pack("{s:s, s:s, s:s*}", "stream_name", n->stream, "group_id", n->group, "item_id", n->item);
    if (f) {
        engine_invoke(e, f->id, data, NULL, done, arg);
        return;
    }
    if (e->stream->bridge) {
        remote_engine_invoke(e->stream->bridge, verb, data, done, arg);
        return;
    }
    place_init(e, n, "", &p);
    if (!n->item)
        value = value_store_list(e->stream->store, p.scope, &err);
    else
        (void)value_store_get(&p.at, &value, &err); /* an error leaves none */
    done(arg, value, NULL);
}

/* --- functions --- */

/* Stores new, answers {old_value, new_value, errors} and tells it. */
static void stream_change(struct engine_call *c, const struct place *p, json_t *old, json_t *new, json_t *errors)
{
    struct engine *e = c->engine;
    struct err err = ERR_INIT;
    bool is_update = strcmp(engine_call_function(c), "stream::update") == 0;
    if (stream_save(e, p, old, new, &err) < 0) {
        engine_fail(c, is_update ? "STREAM_UPDATE_ERROR" : "STREAM_SET_ERROR", "%s", err.msg);
        return;
    }
    JSON_OWNED none = json_null();
    json_t *answer = json_pack("{s:O, s:O, s:O*}", "old_value", old ? old : none, "new_value", new, "errors", errors);
    publish_change(e, &p->name, old, new);
    engine_ok(c, answer);
}

static void stream_set(void *arg, struct engine_call *c, json_t *payload)
{
    static const struct way way = { "STREAM_SET_ERROR", true, false, "data" };
    CLEANUP(place_done) struct place p = { 0 };
    struct err err = ERR_INIT;
    JSON_OWNED old = NULL;
    json_t *data = json_object_get(payload, "data");
    (void)arg;
    if (!read_place(c, payload, 3, &p))
        return;
    if (!data)
        engine_fail(c, "deserialization_error", "stream::set needs data");
    else if (is_relayed(c, &p, payload, &way))
        return;
    else if (value_store_get(&p.at, &old, &err) < 0)
        engine_fail(c, way.code, "%s", err.msg);
    else
        stream_change(c, &p, old, data, NULL);
}

static void stream_update(void *arg, struct engine_call *c, json_t *payload)
{
    static const struct way way = { "STREAM_UPDATE_ERROR", true, false, "ops" };
    CLEANUP(place_done) struct place p = { 0 };
    struct err err = ERR_INIT;
    JSON_OWNED old = NULL;
    JSON_OWNED new = NULL;
    JSON_OWNED errors = NULL;
    (void)arg;
    if (!read_place(c, payload, 3, &p))
        return;
    if (!json_is_array(json_get(payload, "ops")))
        engine_fail(c, "deserialization_error", "stream::update needs ops, a list of operations");
    else if (is_relayed(c, &p, payload, &way))
        return;
    else if (value_store_get(&p.at, &old, &err) < 0)
        engine_fail(c, way.code, "%s", err.msg);
    else if (update_ops_apply(old, json_get(payload, "ops"), &new, &errors, &err) < 0)
        engine_fail(c, "deserialization_error", "stream::update: %s", err.msg);
    else
        stream_change(c, &p, old, new, errors);
}

static void stream_get(void *arg, struct engine_call *c, json_t *payload)
{
    static const struct way way = { .code = "STREAM_GET_ERROR" };
    CLEANUP(place_done) struct place p = { 0 };
    struct err err = ERR_INIT;
    json_t *value = NULL;
    (void)arg;
    if (!read_place(c, payload, 3, &p) || is_relayed(c, &p, payload, &way))
        return;
    if (value_store_get(&p.at, &value, &err) < 0)
        engine_fail(c, way.code, "%s", err.msg);
    else
        engine_ok(c, value); /* a missing item has no result: clients tell it from null */
}

static void stream_delete(void *arg, struct engine_call *c, json_t *payload)
{
    static const struct way way = { "STREAM_DELETE_ERROR", true, true, NULL };
    CLEANUP(place_done) struct place p = { 0 };
    struct err err = ERR_INIT;
    struct stream *s = c->engine->stream;
    char owner[SHARE_TENANT_MAX] = "";
    JSON_OWNED old = NULL;
    JSON_OWNED listed = NULL;
    if (!read_place(c, payload, 3, &p) || is_relayed(c, &p, payload, &way))
        return;
    int r = value_store_get(&p.at, &old, &err);
    if (s->is_in_memory)
        value_store_owner(&p.at, owner);
    if (r == 0)
        r = value_store_delete(&p.at, &err);
    if (r < 0) {
        engine_fail(c, way.code, "%s", err.msg);
        return;
    }
    if (store_count(s->store, p.groups) == 0 && store_get(s->store, STREAMS, p.name.stream, &listed, NULL) == 0) {
        (void)store_delete(s->store, STREAMS, p.name.stream, NULL); /* an empty stream in the list does no harm */
        share_give(s->streams, json_get_str(listed, "owner", ""), 1);
    }
    s->bytes -= size_of(s, old);
    share_give(s->share_of_bytes, owner, size_of(s, old));
    if (old)
        publish_change(arg, &p.name, old, NULL);
    engine_ok(c, json_pack("{s:O?}", "old_value", old));
}

static void stream_list(void *arg, struct engine_call *c, json_t *payload)
{
    static const struct way way = { .code = "STREAM_GET_GROUP_ERROR" };
    CLEANUP(place_done) struct place p = { 0 };
    struct err err = ERR_INIT;
    if (!read_place(c, payload, 2, &p) || is_relayed(c, &p, payload, &way))
        return;
    json_t *list = value_store_list(((struct engine *)arg)->stream->store, p.scope, &err);
    if (list)
        engine_ok(c, list);
    else
        engine_fail(c, way.code, "%s", err.msg);
}

static void stream_list_groups(void *arg, struct engine_call *c, json_t *payload)
{
    static const struct way way = { .code = "STREAM_LIST_GROUPS_ERROR" };
    CLEANUP(place_done) struct place p = { 0 };
    struct err err = ERR_INIT;
    if (!read_place(c, payload, 1, &p) || is_relayed(c, &p, payload, &way))
        return;
    json_t *list = value_store_keys(((struct engine *)arg)->stream->store, p.groups, &err);
    if (list)
        engine_ok(c, list);
    else
        engine_fail(c, way.code, "%s", err.msg);
}

/* None with a bridge: the contract. */
static void stream_list_all(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    struct err err = ERR_INIT;
    JSON_OWNED names = value_store_keys(e->stream->store, STREAMS, &err);
    JSON_OWNED list = json_array();
    (void)payload;
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        CLEANUP(free_p) char *scope = groups_of(name);
        json_t *groups = value_store_keys(e->stream->store, scope, &err);
        if (groups)
            (void)json_array_append_new(list, json_pack("{s:s, s:o}", "id", name, "groups", groups));
    }
    if (!names || json_array_size(list) != json_array_size(names))
        engine_fail(c, "STREAM_LIST_ALL_ERROR", "%s", err.msg);
    else
        engine_ok(c, json_pack("{s:O, s:I}", "stream", list, "count", (json_int_t)json_array_size(list)));
}

/* Stores nothing. */
static void stream_send(void *arg, struct engine_call *c, json_t *payload)
{
    CLEANUP(place_done) struct place p = { 0 };
    const char *type = json_get_str(payload, "type", NULL);
    json_t *data = json_object_get(payload, "data"), *id = json_get(payload, "id");
    if (!read_place(c, payload, 2, &p))
        return;
    if (!type || !data || (id && !value_store_is_name(json_string_value(id)))) {
        engine_fail(c, "deserialization_error", "stream::send needs type (a string) and data; id is a string");
        return;
    }
    p.name.item = json_string_value(id);
    stream_publish(arg, &p.name,
                   json_pack("{s:s, s:{s:s, s:O}}", "type", "event", "event", "type", type, "data", data));
    engine_ok(c, NULL);
}

/* What tenants created before a restart. */
static void stream_count(struct stream *s)
{
    JSON_OWNED names = value_store_keys(s->store, STREAMS, NULL);
    value_store_count(s->store, STREAMS, s->streams);
    for (size_t i = 0; i < json_array_size(names); i++) {
        CLEANUP(free_p) char *index = groups_of(json_string_value(json_array_get(names, i)));
        value_store_count(s->store, index, s->groups);
    }
}

int stream_init(struct engine *e, struct err *err)
{
    static const struct {
        const char *id, *description;
        engine_fn *fn;
    } rows[] = {
        { "stream::set", "Set an item: {stream_name, group_id, item_id, data}", stream_set },
        { "stream::get", "Get an item: {stream_name, group_id, item_id}", stream_get },
        { "stream::delete", "Delete an item: {stream_name, group_id, item_id}", stream_delete },
        { "stream::update", "Change an item in place: {stream_name, group_id, item_id, ops}", stream_update },
        { "stream::list", "All items of a group: {stream_name, group_id}", stream_list },
        { "stream::list_groups", "Groups of a stream: {stream_name}", stream_list_groups },
        { "stream::list_all", "All streams with their groups", stream_list_all },
        { "stream::send", "Send an event to subscribers: {stream_name, group_id, id, type, data}", stream_send },
    };
    const json_t *kv = json_get(json_get(engine_config_of(e->config, "iii-stream"), "adapter"), "config");
    const char *name = json_get_str(kv, "file_path", "kv_store_data.db");
    struct stream *s = xzalloc(sizeof(*s));
    e->stream = s;
    s->is_in_memory = strcmp(json_get_str(kv, "store_method", "in_memory"), "in_memory") == 0;
    for (size_t i = 0; i < sizeof(stream_types) / sizeof(*stream_types); i++)
        trigger_add_provider(e, &stream_types[i]);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        registry_add_inside(e, rows[i].id, rows[i].description, rows[i].fn, e);
    CLEANUP(free_p) char *dir = *name == '/' ? xstrdup(name) : xasprintf("%s/%s", e->data_dir, name);
    CLEANUP(free_p) char *path = s->is_in_memory ? xstrdup(STORE_IN_MEMORY) : xasprintf("%s/streams.db", dir);
    if (!s->is_in_memory && mkdir(dir, 0700) < 0 && errno != EEXIST)
        return err_set(err, ERR_INVALID, errno, "iii-stream: create the folder %.200s", dir);
    s->streams = share_new(STREAM_STREAMS_MAX);
    s->groups = share_new(VALUE_STORE_GROUPS_MAX);
    s->share_of_bytes = share_new(STREAM_BYTES_MAX);
    const char *bridge = engine_config_bridge(e->config, "iii-stream");
    int r = store_open(path, &s->store, err);
    if (r == 0 && !s->is_in_memory)
        stream_count(s);
    if (r == 0 && bridge)
        r = remote_engine_new_client(e, bridge, BRIDGE_TOPIC, bridge_event, &s->bridge, err);
    return r < 0 ? err_wrap(err, r, "iii-stream") : 0;
}

void stream_stop(struct engine *e)
{
    if (e->stream)
        e->stream->bridge = remote_engine_free(e->stream->bridge);
}

void stream_done(struct engine *e)
{
    struct stream *s = STEAL(e->stream);
    if (!s)
        return;
    binding_set_done(&s->changes);
    binding_set_done(&s->joins);
    binding_set_done(&s->leaves);
    store_close(s->store);
    share_free(s->streams);
    share_free(s->groups);
    share_free(s->share_of_bytes);
    free(s);
}
