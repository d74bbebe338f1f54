/* A growing list of bindings that are fired together. Firing works on a copy, since a call may change the list.
 * Private to engine/. */
#pragma once
#include "engine/trigger.h"

struct binding_set {
    struct binding **items;
    size_t n, cap;
};

void binding_set_add(struct binding_set *s, struct binding *b);
void binding_set_remove(struct binding_set *s, const struct binding *b);
void binding_set_done(struct binding_set *s);
/* Fires those that fit (fits NULL: all). arg is handed to fits. */
typedef bool binding_set_fits_fn(const struct binding *b, const void *arg);
void binding_set_fire(struct engine *e, const struct binding_set *s, binding_set_fits_fn *fits, const void *arg,
                      json_t *payload);
