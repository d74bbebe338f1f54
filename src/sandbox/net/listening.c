#include "sandbox/net/listening.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

struct listening {
    struct manager *m;
    struct map *tenants; /* tenant -> struct pace */
};

static bool has_pace(struct listening *l, struct sandbox *s)
{
    int64_t now = loop_now_ms(l->m->loop);
    struct pace *tenant = map_get(l->tenants, s->tenant);
    if (!tenant) {
        tenant = xzalloc(sizeof(*tenant));
        map_set(l->tenants, s->tenant, tenant);
    }
    if (!pace_has(tenant, LISTENING_A_TENANT, now) || !pace_take(&s->listening.pace, LISTENING_A_MIN, now))
        return false;
    tenant->used++;
    return true;
}

static bool is_in(const json_t *rows, const json_t *row)
{
    size_t i;
    const json_t *other;
    json_array_foreach(rows, i, other)
    {
        if (json_get_int(other, "port", 0) == json_get_int(row, "port", 0) &&
            strcmp(json_get_str(other, "address", ""), json_get_str(row, "address", "")) == 0)
            return true;
    }
    return false;
}

/* An event for each of rows that before has not. */
static void emit_others(struct listening *l, struct sandbox *s, const char *topic, const json_t *rows,
                        const json_t *before)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        if (!is_in(before, row) && has_pace(l, s))
            (void)event_log_emit(l->m->events, topic, s->id, json_copy(row));
    }
}

/* A process chooses its own name: in logs and on terminals it must be nothing but text. */
static json_t *row_of(const struct guest_listener *g)
{
    char program[GUEST_PROGRAM_MAX + 1];
    size_t n = 0;
    json_t *row = json_pack("{s:i, s:s}", "port", g->port, "address", g->address);
    for (; g->program[n] && n < GUEST_PROGRAM_MAX; n++)
        program[n] = (char)(g->program[n] >= ' ' && g->program[n] <= '~' ? g->program[n] : '?');
    program[n] = '\0';
    if (g->pid)
        (void)json_object_set_new(row, "pid", json_integer(g->pid));
    if (n)
        (void)json_object_set_new(row, "process", json_string(program));
    return row;
}

static void on_listening(void *arg, const struct guest_listener *rows, size_t n)
{
    struct sandbox *s = arg;
    struct listening *l = s->manager->listening;
    JSON_OWNED before = s->listening.rows;
    s->listening.rows = n ? json_array() : NULL;
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(s->listening.rows, row_of(&rows[i]));
    if (!l || map_get(s->manager->sandboxes, s->id) != s) /* on_enter() tells those of one that is not made yet */
        return;
    emit_others(l, s, LISTENING_CLOSED, before, s->listening.rows);
    emit_others(l, s, LISTENING_OPENED, s->listening.rows, before);
}

static void on_enter(void *arg, struct sandbox *s)
{
    emit_others(arg, s, LISTENING_OPENED, s->listening.rows, NULL);
}

static void on_sleep(void *arg, struct sandbox *s)
{
    (void)arg;
    json_decref(STEAL(s->listening.rows));
}

static void on_leave(void *arg, struct sandbox *s)
{
    struct listening *l = arg;
    struct pace *tenant = map_get(l->tenants, s->tenant);
    if (tenant && pace_has(tenant, LISTENING_A_TENANT, loop_now_ms(l->m->loop)) && tenant->used == 0)
        free(map_remove(l->tenants, s->tenant));
}

void listening_watch(struct sandbox *s)
{
    guest_on_listening(s->link, on_listening, s);
}

const json_t *listening_rows(const struct sandbox *s)
{
    return s->listening.rows;
}

struct listening *listening_new(struct manager *m)
{
    struct listening *l = xzalloc(sizeof(*l));
    *l = (struct listening){ .m = m, .tenants = map_new() };
    manager_on_enter(m, on_enter, l);
    manager_on_sleep(m, on_sleep, l);
    manager_on_leave(m, on_leave, l);
    return l;
}

struct listening *listening_free(struct listening *l)
{
    if (!l)
        return NULL;
    for (struct map_iter it = map_iter(l->tenants); map_next(&it);)
        free(it.value);
    map_free(l->tenants);
    free(l);
    return NULL;
}
