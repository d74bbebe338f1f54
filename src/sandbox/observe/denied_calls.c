#include "sandbox/observe/denied_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/pace.h"
#include "os/filter.h"

#define OTHER "other"

/* Of one sandbox. */
struct caller {
    struct pace pace;
    uint64_t total;
    uint64_t missed; /* denied calls without an event of their own, since the last one */
};

struct denied_calls {
    struct manager *m;
    struct map *callers; /* sandbox id -> struct caller */
    struct map *tenants; /* tenant -> struct pace */
    struct map *counts;  /* name of a call -> uint64_t */
    void (*fn)(void *arg, json_t *what);
    void *arg;
};

static void *slot_of(struct map *map, const char *key, size_t size)
{
    void *slot = map_get(map, key);
    if (!slot) {
        slot = xzalloc(size);
        map_set(map, key, slot);
    }
    return slot;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a + b > LIMIT_MAX(WHOLE) ? LIMIT_MAX(WHOLE) : a + b;
}

static void on_leave(void *arg, struct sandbox *s)
{
    struct denied_calls *d = arg;
    struct pace *tenant = map_get(d->tenants, s->tenant);
    free(map_remove(d->callers, s->id));
    if (tenant && pace_has(tenant, DENIED_CALLS_TENANT, loop_now_ms(d->m->loop)) && tenant->used == 0)
        free(map_remove(d->tenants, s->tenant));
}

struct denied_calls *denied_calls_new(struct manager *m)
{
    struct denied_calls *d = xzalloc(sizeof(*d));
    *d = (struct denied_calls){ .m = m, .callers = map_new(), .tenants = map_new(), .counts = map_new() };
    manager_on_leave(m, on_leave, d);
    return d;
}

static void map_free_all(struct map *map)
{
    for (struct map_iter it = map_iter(map); map_next(&it);)
        free(it.value);
    map_free(map);
}

struct denied_calls *denied_calls_free(struct denied_calls *d)
{
    if (!d)
        return NULL;
    map_free_all(d->callers);
    map_free_all(d->tenants);
    map_free_all(d->counts);
    free(d);
    return NULL;
}

/* A process chooses its own name: in logs and on terminals it must be nothing but text. */
static void clean_name(const char *program, char ret[GUEST_PROGRAM_MAX + 1])
{
    size_t n = 0;
    for (; program[n] && n < GUEST_PROGRAM_MAX; n++)
        ret[n] = program[n] >= ' ' && program[n] <= '~' ? program[n] : '?';
    ret[n] = '\0';
}

static void count_call(struct denied_calls *d, const char *name, bool is_known, uint64_t n)
{
    bool has_room = map_get(d->counts, name) || map_count(d->counts) < DENIED_CALLS_METRICS;
    uint64_t *count = slot_of(d->counts, is_known && has_room ? name : OTHER, sizeof(*count));
    *count = sum(*count, n);
}

static json_t *describe(const struct sandbox *s, const struct guest_denied *g, const char *call, uint64_t missed)
{
    char program[GUEST_PROGRAM_MAX + 1];
    const char *error = strerrorname_np((int)g->error);
    clean_name(g->program, program);
    return json_pack("{s:s, s:s, s:I, s:s, s:s, s:s, s:I, s:I, s:I}", "sandboxId", s->id, "call", call, "number",
                     (json_int_t)g->nr, "arch", filter_arch_name(g->arch), "error", error ? error : "unknown",
                     "program", program, "pid", (json_int_t)g->pid, "count", (json_int_t)g->count, "missed",
                     (json_int_t)missed);
}

static void on_denied(void *arg, const struct guest_denied *g)
{
    struct sandbox *s = arg;
    struct denied_calls *d = s->manager->denied_calls;
    char call[FILTER_CALL_NAME];
    if (map_get(s->manager->sandboxes, s->id) != s) /* not made yet, or gone: nobody could read it */
        return;
    struct caller *c = slot_of(d->callers, s->id, sizeof(*c));
    int64_t now = loop_now_ms(d->m->loop);
    c->total = sum(sum(c->total, g->count), g->lost);
    c->missed = sum(c->missed, g->lost);
    (void)filter_call_name(g->arch, g->nr, call);
    count_call(d, call, g->nr <= FILTER_NEWEST, g->count);
    if (g->lost)
        count_call(d, OTHER, true, g->lost);
    struct pace *tenant = slot_of(d->tenants, s->tenant, sizeof(*tenant));
    if (!pace_has(tenant, DENIED_CALLS_TENANT, now) || !pace_take(&c->pace, DENIED_CALLS_A_MIN, now)) {
        c->missed = sum(c->missed, g->count);
        return;
    }
    tenant->used++;
    JSON_OWNED what = describe(s, g, call, c->missed);
    c->missed = 0;
    if (d->fn)
        d->fn(d->arg, what);
    (void)event_log_emit(d->m->events, DENIED_CALLS_EVENT, s->id, json_incref(what));
}

void denied_calls_watch(struct denied_calls *d, struct sandbox *s)
{
    (void)d; /* on_denied() finds it: the manager may be without one while it ends */
    guest_on_denied(s->link, on_denied, s);
}

uint64_t denied_calls_of(const struct denied_calls *d, const char *sandbox_id)
{
    const struct caller *c = map_get(d->callers, sandbox_id);
    return c ? c->total : 0;
}

void denied_calls_on(struct denied_calls *d, void (*fn)(void *arg, json_t *what), void *arg)
{
    d->fn = fn;
    d->arg = arg;
}

void denied_calls_each(const struct denied_calls *d, void (*fn)(void *arg, const char *call, uint64_t count), void *arg)
{
    for (struct map_iter it = map_iter(d->counts); map_next(&it);)
        fn(arg, it.key, *(uint64_t *)it.value);
}
