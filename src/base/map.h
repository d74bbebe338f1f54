/* A hash map from strings to pointers that also remembers the order of insertion. Keys are copied. May include: base/.
 * Invariant: walking sees each entry once, in insertion order; removing the entry being walked is legal. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct map;

struct map *map_new(void);
struct map *map_free(struct map *m);                       /* the values are the caller's */
void map_set(struct map *m, const char *key, void *value); /* a known key keeps its position */
void *map_get(const struct map *m, const char *key);       /* NULL when unknown */
void *map_remove(struct map *m, const char *key);          /* the value, or NULL */
size_t map_count(const struct map *m);

/* for (struct map_iter it = map_iter(m); map_next(&it);) use it.key, it.value */
struct map_iter {
    const char *key;
    void *value;
    const struct map *map; /* private */
    void *next;            /* private */
};
struct map_iter map_iter(const struct map *m);
bool map_next(struct map_iter *it);
