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
/* Fires all bindings, or (topic not NULL) those whose config says {"topic": topic}. Returns how many. */
size_t binding_set_fire_topic(struct engine *e, const struct binding_set *s, const char *topic, json_t *payload);
void binding_set_fire(struct engine *e, const struct binding_set *s, json_t *payload);
