#include "engine/share.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"

struct share {
    size_t max;
    struct map *held; /* tenant -> what it holds, as a number */
};

struct share *share_new(size_t table_max)
{
    struct share *s = xzalloc(sizeof(*s));
    s->max = table_max / SHARE_PARTS;
    s->held = map_new();
    return s;
}

struct share *share_free(struct share *s)
{
    if (s) {
        map_free(s->held);
        free(s);
    }
    return NULL;
}

bool share_take(struct share *s, const char *tenant, size_t n)
{
    size_t held = (uintptr_t)map_get(s->held, tenant);
    if (!*tenant || n == 0)
        return true;
    if (n > s->max || held > s->max - n)
        return false;
    map_set(s->held, tenant, (void *)(uintptr_t)(held + n));
    return true;
}

void share_give(struct share *s, const char *tenant, size_t n)
{
    size_t held = (uintptr_t)map_get(s->held, tenant);
    if (held > n)
        map_set(s->held, tenant, (void *)(uintptr_t)(held - n));
    else
        (void)map_remove(s->held, tenant); /* of a tenant that holds nothing no trace is left */
}
