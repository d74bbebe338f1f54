#include "sandbox/lifecycle/records.h"

#include <string.h>

void records_init(struct records *r, struct store *store, const char *scope, const char *noun)
{
    *r = (struct records){ .store = store, .scope = scope, .noun = noun, .by_id = map_new() };
}

void records_done(struct records *r)
{
    for (struct map_iter it = map_iter(r->by_id); map_next(&it);)
        json_decref(it.value);
    map_free(r->by_id);
}

struct loading {
    struct records *r;
    records_take_fn *take;
    void *arg;
};

static bool load_one(void *arg, const char *key, json_t *doc)
{
    const struct loading *l = arg;
    if (!map_get(l->r->by_id, key) && (!l->take || l->take(l->arg, key, doc)))
        map_set(l->r->by_id, key, json_incref(doc));
    return true;
}

int records_load(struct records *r, records_take_fn *take, void *arg, struct err *err)
{
    struct loading l = { .r = r, .take = take, .arg = arg };
    int got = store_each(r->store, r->scope, false, load_one, &l, err);
    return got < 0 ? err_wrap(err, got, "read the %s records", r->noun) : 0;
}

json_t *records_find(const struct records *r, const char *id, struct err *err)
{
    json_t *record = map_get(r->by_id, id);
    if (!record)
        (void)err_set(err, ERR_NOT_FOUND, 0, "%s not found: %.100s", r->noun, id);
    return record;
}

int records_add(struct records *r, const char *id, json_t *record, struct err *err)
{
    int got = store_put(r->store, r->scope, id, record, err);
    if (got == 0)
        map_set(r->by_id, id, json_incref(record));
    return got;
}

int records_save(struct records *r, const char *id, struct err *err)
{
    return store_put(r->store, r->scope, id, map_get(r->by_id, id), err);
}

int records_delete(struct records *r, const char *id, struct err *err)
{
    int got = records_find(r, id, err) ? store_delete(r->store, r->scope, id, err) : -1;
    if (got == 0)
        json_decref(map_remove(r->by_id, id));
    return got;
}

void records_drop(struct records *r, const char *id)
{
    (void)store_delete(r->store, r->scope, id, NULL); /* dropped at the next start otherwise */
    json_decref(map_remove(r->by_id, id));
}

bool records_is(const json_t *record, const char *member, const char *value)
{
    return strcmp(json_get_str(record, member, ""), value) == 0;
}

json_t *records_list(const struct records *r, const struct tenant_by *by, const char *member, const char *value)
{
    json_t *list = json_array();
    for (struct map_iter it = map_iter(r->by_id); map_next(&it);)
        if (tenant_sees_record(by, it.value) && (!member || records_is(it.value, member, value)))
            (void)json_array_append(list, it.value);
    return list;
}

size_t records_count(const struct records *r, const char *member, const char *value)
{
    size_t n = 0;
    for (struct map_iter it = map_iter(r->by_id); map_next(&it);)
        n += records_is(it.value, member, value);
    return n;
}

const char *records_owner(const struct records *r, const char *id)
{
    const json_t *record = map_get(r->by_id, id);
    return record ? json_get_str(record, "tenant", "") : NULL;
}
