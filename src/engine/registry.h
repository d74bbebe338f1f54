/* Functions by id. A worker's function takes precedence over one of this process, except for ids that begin with
 * engine::, which no worker may register; when that worker leaves, the function of this process is active again. Of two
 * workers the newer one wins. Private to engine/. */
#pragma once
#include "engine/engine_core.h"
#include "engine/message.h"

void registry_init(struct engine *e);
void registry_done(struct engine *e);
struct function *registry_find(const struct engine *e, const char *id);       /* NULL when there is none */
struct function *registry_find_local(const struct engine *e, const char *id); /* of this process only */
/* Adds a function of a worker. -EPERM for an id reserved for the engine, -E2BIG over the limit. */
int registry_add(struct engine *e, struct worker *owner, const struct message *m);
/* Removes only what the worker owns. */
void registry_remove(struct engine *e, const struct worker *owner, const char *id);
void registry_worker_left(struct engine *e, const struct worker *w);
/* The engine's own functions: never offered to an outside engine. */
void registry_add_inside(struct engine *e, const char *id, const char *description, engine_fn *fn, void *arg);
const char *registry_owner_name(const struct engine *e, const struct function *f, char *fallback, size_t size);
