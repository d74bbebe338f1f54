#include "base/share.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"

struct share {
    unsigned refs;
    size_t max, total; /* of the table; held by all */
    struct map *held;  /* tenant -> what it holds, as a number */
};

struct share *share_new(size_t table_max)
{
    struct share *s = xzalloc(sizeof(*s));
    s->refs = 1;
    s->max = table_max;
    s->held = map_new();
    return s;
}

struct share *share_ref(struct share *s)
{
    s->refs++;
    return s;
}

struct share *share_free(struct share *s)
{
    if (s && --s->refs == 0) {
        map_free(s->held);
        free(s);
    }
    return NULL;
}

size_t share_held(const struct share *s, const char *tenant)
{
    return (uintptr_t)map_get(s->held, tenant);
}

size_t share_max(const struct share *s, const char *tenant)
{
    return *tenant ? s->max / SHARE_PARTS : s->max;
}

void share_add(struct share *s, const char *tenant, size_t n)
{
    if (n == 0)
        return;
    map_set(s->held, tenant, (void *)(uintptr_t)(share_held(s, tenant) + n));
    s->total += n;
}

bool share_has_room(const struct share *s, const char *tenant, size_t n)
{
    size_t held = share_held(s, tenant), most = share_max(s, tenant), left = s->max > s->total ? s->max - s->total : 0;
    if (!*tenant)
        return n <= left;
    bool is_within = n <= most && held <= most - n;
    return is_within && n <= left && held + n <= left - n;
}

bool share_take(struct share *s, const char *tenant, size_t n)
{
    if (*tenant && n && !share_has_room(s, tenant, n))
        return false;
    share_add(s, tenant, n);
    return true;
}

void share_give(struct share *s, const char *tenant, size_t n)
{
    size_t held = share_held(s, tenant), less = held < n ? held : n;
    if (held > n)
        map_set(s->held, tenant, (void *)(uintptr_t)(held - n));
    else
        (void)map_remove(s->held, tenant); /* of a tenant that holds nothing no trace is left */
    s->total -= less;
}

bool share_is_over(const struct share *s)
{
    return s->total > s->max;
}

size_t share_level(const struct share *s)
{
    size_t low = 0, high = s->max;
    while (low < high) {
        size_t level = low + (high - low + 1) / 2, sum = 0;
        for (struct map_iter it = map_iter(s->held); map_next(&it) && sum <= s->max;) {
            size_t held = (uintptr_t)it.value;
            sum += held < level ? held : level;
        }
        if (sum <= s->max)
            low = level;
        else
            high = level - 1;
    }
    return low;
}
