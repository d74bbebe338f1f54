/* A growing list of bindings that are fired together. Firing works on a copy, since a call may change the list.
 * Private to engine/. */
#pragma once
#include "engine/trigger.h"

struct bindset {
    struct binding **items;
    size_t n, cap;
};

void bindset_add(struct bindset *s, struct binding *b);
void bindset_remove(struct bindset *s, const struct binding *b);
void bindset_done(struct bindset *s);
/* All, or (topic not NULL) those whose config says {"topic": topic}. Returns how many. */
size_t bindset_fire_topic(struct engine *e, const struct bindset *s, const char *topic, json_t *payload);
void bindset_fire(struct engine *e, const struct bindset *s, json_t *payload);
