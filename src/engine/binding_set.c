#include "engine/binding_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void binding_set_add(struct binding_set *s, struct binding *b)
{
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 8;
        s->items = xrealloc(s->items, s->cap * sizeof(struct binding *));
    }
    s->items[s->n++] = b;
}

void binding_set_remove(struct binding_set *s, const struct binding *b)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->items[i] == b) {
            (void)memmove(&s->items[i], &s->items[i + 1], (s->n - i - 1) * sizeof(struct binding *));
            s->n--;
            return;
        }
}

void binding_set_done(struct binding_set *s)
{
    free(s->items);
    *s = (struct binding_set){ 0 };
}

/* Copies the ids first: a function of this process runs inside trigger_fire() and may unbind any of them. */
void binding_set_fire(struct engine *e, const struct binding_set *s, binding_set_fits_fn *fits, const void *arg,
                      json_t *payload)
{
    JSON_OWNED ids = json_array();
    for (size_t i = 0; i < s->n; i++)
        if (!fits || fits(s->items[i], arg))
            (void)json_array_append_new(ids, json_string(s->items[i]->id));
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const struct binding *b = map_get(trigger_bindings(e), json_string_value(json_array_get(ids, i)));
        if (b && b->is_active)
            trigger_fire(e, b, payload, NULL, NULL);
    }
}
