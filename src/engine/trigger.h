/* Trigger types and the bindings of functions to them. A type is the engine's own (a provider) or a worker's. A binding
 * whose type is not registered is parked and handed over when the type is registered. Private to engine/.
 *
 * Invariants: (1) a binding is active only while its type is registered; (2) a binding is removed with the worker that
 * made it, except those of engine::register_trigger, which stay until engine::unregister_trigger; (3) only a type's
 * provider may report. */
#pragma once
#include "engine/engine_core.h"
#include "engine/message.h"

struct binding {
    char *id, *type, *function_id;
    json_t *config, *metadata; /* metadata may be NULL */
    struct worker *owner;      /* NULL: engine::register_trigger */
    bool is_active;
    void *state; /* the provider's */
};

struct binding_set;

/* A type of the engine's own. Each function may be NULL. */
struct trigger_provider {
    const char *type, *description;
    struct binding_set *(*bindings)(struct engine *e); /* the set that active bindings are in */
    /* -errno with err: the binding is rejected. */
    int (*bind)(struct engine *e, struct binding *b, struct err *err);
    void (*unbind)(struct engine *e, struct binding *b);
    bool is_condition_strict; /* a condition function that fails skips the call; otherwise only false does */
};

struct trigger_type {
    char *id, *description;
    json_t *config_schema, *call_schema;
    const struct trigger_provider *provider; /* NULL: a worker's */
    struct worker *owner;
};

void trigger_init(struct engine *e);
void trigger_done(struct engine *e);
void trigger_add_provider(struct engine *e, const struct trigger_provider *p);

/* -EPERM when the type is the engine's own, -E2BIG over the limit. A type of another worker is taken over. */
int trigger_add_type(struct engine *e, struct worker *owner, const struct message *m);
void trigger_remove_type(struct engine *e, const struct worker *owner, const char *id);

struct trigger_wish {
    const char *id, *type, *function_id;
    json_t *config, *metadata;
    struct worker *owner;
};
int trigger_bind(struct engine *e, const struct trigger_wish *wish, struct err *err);
void trigger_bind_message(struct worker *w, const struct message *m); /* a failure is reported to w */
/* owner NULL: any owner. False when that owner has no such binding. */
bool trigger_unbind(struct engine *e, const struct worker *owner, const char *id);
void trigger_report(struct engine *e, struct worker *w, const struct message *m);
void trigger_worker_left(struct engine *e, struct worker *w);

const struct map *trigger_types(const struct engine *e);    /* id -> struct trigger_type */
const struct map *trigger_bindings(const struct engine *e); /* id -> struct binding */
const char *trigger_config_str(const struct binding *b, const char *key, const char *fallback);

/* Calls the binding's condition function, then its function. fn may be NULL; it runs once, perhaps before this returns.
 * is_skipped: the condition returned false. */
typedef void trigger_fired_fn(void *arg, bool is_skipped, json_t *result, const struct engine_error *error);
void trigger_fire(struct engine *e, const struct binding *b, json_t *payload, trigger_fired_fn *fn, void *arg);
