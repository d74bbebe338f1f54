#include "engine/presence.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "engine/binding_set.h"
#include "engine/introspect.h"
#include "engine/trigger.h"
#include "engine/worker.h"

#define SETTLE_MS 500 /* a worker registers its functions one by one: one event reports them together */

struct presence {
    struct binding_set functions, workers;
    struct timer *timer;
};

static struct binding_set *function_watchers(struct engine *e)
{
    return &e->presence->functions;
}

static struct binding_set *worker_watchers(struct engine *e)
{
    return &e->presence->workers;
}

static const struct trigger_provider functions_type = {
    .type = "engine::functions-available",
    .description = "Functions came or went",
    .bindings = function_watchers,
};
static const struct trigger_provider workers_type = {
    .type = "engine::workers-available",
    .description = "A worker connected, disconnected or described itself",
    .bindings = worker_watchers,
};

/* A worker with rules hears only of what it may call. */
static void presence_tick(void *arg)
{
    struct engine *e = arg;
    JSON_OWNED everything = NULL;  /* what those without rules hear, made once */
    JSON_OWNED ids = json_array(); /* a handler of this process may change the set */
    for (size_t i = 0; i < e->presence->functions.n; i++)
        (void)json_array_append_new(ids, json_string(e->presence->functions.items[i]->id));
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const struct binding *b = map_get(trigger_bindings(e), json_string_value(json_array_get(ids, i)));
        if (!b || !b->is_active)
            continue;
        const struct session *s = b->owner ? b->owner->session : NULL;
        JSON_OWNED payload = s || !everything ? json_pack("{s:s, s:o}", "event", "functions_changed", "functions",
                                                          introspect_functions(e, NULL, s))
                                              : json_incref(everything);
        if (!s && !everything)
            everything = json_incref(payload);
        trigger_fire(e, b, payload, NULL, NULL);
    }
}

void presence_init(struct engine *e)
{
    e->presence = xzalloc(sizeof(*e->presence));
    e->presence->timer = timer_new(e->loop, -1, 0, presence_tick, e);
    trigger_add_provider(e, &functions_type);
    trigger_add_provider(e, &workers_type);
}

void presence_done(struct engine *e)
{
    timer_free(e->presence->timer);
    binding_set_done(&e->presence->functions);
    binding_set_done(&e->presence->workers);
    free(e->presence);
    e->presence = NULL;
}

void presence_functions_changed(struct engine *e)
{
    if (e->presence && e->presence->functions.n)
        timer_set(e->presence->timer, SETTLE_MS, 0);
}

void presence_worker(struct engine *e, const char *event, const char *worker_id)
{
    if (!e->presence || e->presence->workers.n == 0)
        return;
    JSON_OWNED payload = json_pack("{s:s, s:s}", "event", event, "worker_id", worker_id);
    binding_set_fire(e, &e->presence->workers, NULL, NULL, payload);
}
