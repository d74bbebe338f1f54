#include "base/map.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct entry {
    struct entry *chain;       /* same bucket */
    struct entry *prev, *next; /* insertion order */
    void *value;
    uint64_t hash;
    char key[];
};

struct map {
    struct entry **buckets;
    size_t n_buckets, count;
    struct entry *first, *last;
};

/* FNV-1a. Keys are our own random ids or names that an authenticated client chose; the load stays below one per
 * bucket. */
static uint64_t hash_of(const char *key)
{
    uint64_t h = 1469598103934665603u;
    for (; *key; key++)
        h = (h ^ (unsigned char)*key) * 1099511628211u;
    return h;
}

struct map *map_new(void)
{
    struct map *m = xzalloc(sizeof(*m));
    m->n_buckets = 64;
    m->buckets = xzalloc(m->n_buckets * sizeof(struct entry *));
    return m;
}

struct map *map_free(struct map *m)
{
    if (!m)
        return NULL;
    for (struct entry *e = m->first, *next; e; e = next) {
        next = e->next;
        free(e);
    }
    free(m->buckets);
    free(m);
    return NULL;
}

static struct entry **slot_of(const struct map *m, const char *key, uint64_t hash)
{
    struct entry **at = &m->buckets[hash & (m->n_buckets - 1)];
    while (*at && ((*at)->hash != hash || strcmp((*at)->key, key) != 0))
        at = &(*at)->chain;
    return at;
}

void map_set(struct map *m, const char *key, void *value)
{
    uint64_t hash = hash_of(key);
    struct entry **at = slot_of(m, key, hash);
    if (*at) {
        (*at)->value = value;
        return;
    }
    size_t n = strlen(key) + 1;
    struct entry *e = xzalloc(sizeof(*e) + n);
    memcpy(e->key, key, n);
    e->hash = hash;
    e->value = value;
    e->prev = m->last;
    if (m->last)
        m->last->next = e;
    else
        m->first = e;
    m->last = e;
    *at = e;
    if (++m->count <= m->n_buckets)
        return;
    free(m->buckets);
    m->n_buckets *= 2;
    m->buckets = xzalloc(m->n_buckets * sizeof(struct entry *));
    for (e = m->first; e; e = e->next) {
        at = &m->buckets[e->hash & (m->n_buckets - 1)];
        e->chain = *at;
        *at = e;
    }
}

void *map_get(const struct map *m, const char *key)
{
    struct entry *e = *slot_of(m, key, hash_of(key));
    return e ? e->value : NULL;
}

void *map_remove(struct map *m, const char *key)
{
    struct entry **at = slot_of(m, key, hash_of(key));
    struct entry *e = *at;
    if (!e)
        return NULL;
    void *value = e->value;
    *at = e->chain;
    if (e->prev)
        e->prev->next = e->next;
    else
        m->first = e->next;
    if (e->next)
        e->next->prev = e->prev;
    else
        m->last = e->prev;
    free(e);
    m->count--;
    return value;
}

size_t map_count(const struct map *m)
{
    return m->count;
}

struct map_iter map_iter(const struct map *m)
{
    return (struct map_iter){ .map = m, .next = m->first };
}

bool map_next(struct map_iter *it)
{
    struct entry *e = it->next;
    if (!e)
        return false;
    it->key = e->key;
    it->value = e->value;
    it->next = e->next;
    return true;
}
