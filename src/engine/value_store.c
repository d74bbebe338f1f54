#include "engine/value_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

bool value_store_is_name(const char *s)
{
    return s && *s && strlen(s) <= VALUE_STORE_NAME_MAX;
}

/* A value is a member of its document: any JSON can be one. */
int value_store_get(const struct value_place *p, json_t **ret, struct err *err)
{
    JSON_OWNED doc = NULL;
    int r = store_get(p->store, p->scope, p->key, &doc, err);
    if (r < 0 && r != -ENOENT)
        return r;
    *ret = json_incref(json_object_get(doc, "value"));
    return 0;
}

static bool is_too_deep(json_t *value, int left)
{
    const char *key;
    json_t *member;
    size_t i;
    bool is_deep = left == 0;
    if (json_is_array(value))
        json_array_foreach(value, i, member) is_deep = is_deep || is_too_deep(member, left - 1);
    else if (json_is_object(value))
        json_object_foreach(value, key, member) is_deep = is_deep || is_too_deep(member, left - 1);
    return is_deep;
}

static const char *owner_in(const json_t *doc)
{
    return json_get_str(doc, "owner", "");
}

/* Of a group or a value: {} is the operator's. */
static void set_owner(const struct value_place *p, json_t *doc)
{
    if (*p->tenant)
        (void)json_object_set_new(doc, "owner", json_string(p->tenant));
}

void value_store_owner(const struct value_place *p, char ret[SHARE_TENANT_MAX])
{
    JSON_OWNED doc = NULL;
    (void)store_get(p->store, p->scope, p->key, &doc, NULL); /* a value that cannot be read is the operator's */
    (void)snprintf(ret, SHARE_TENANT_MAX, "%s", owner_in(doc));
}

static int make_room(const struct value_place *p, struct err *err)
{
    JSON_OWNED group = NULL;
    bool is_known = store_get(p->store, p->index, p->group, &group, NULL) == 0;
    bool is_guest = is_known && *p->tenant && strcmp(owner_in(group), p->tenant) != 0;
    int keys_max = is_guest ? VALUE_STORE_KEYS_MAX / SHARE_PARTS : VALUE_STORE_KEYS_MAX;
    if (store_count(p->store, p->scope) >= keys_max)
        return err_set(err, ERR_CAPACITY, 0, "\"%.64s\": limit of %d keys%s reached", p->group, keys_max,
                       is_guest ? " in a group of another tenant" : "");
    if (is_known)
        return 0;
    if (store_count(p->store, p->index) >= VALUE_STORE_GROUPS_MAX || !share_take(p->groups, p->tenant, 1))
        return err_set(err, ERR_CAPACITY, 0,
                       "\"%.64s\" is not stored: limit of %d groups, or %d of one tenant, reached", p->group,
                       VALUE_STORE_GROUPS_MAX, VALUE_STORE_GROUPS_MAX / SHARE_PARTS);
    JSON_OWNED doc = json_object();
    set_owner(p, doc);
    int r = store_put(p->store, p->index, p->group, doc, err);
    if (r < 0)
        share_give(p->groups, p->tenant, 1);
    return r;
}

int value_store_put(const struct value_place *p, json_t *value, bool is_new, size_t max, struct err *err)
{
    size_t len;
    if (is_too_deep(value, VALUE_STORE_DEPTH_MAX)) /* it could not be read again */
        return err_set(err, ERR_INVALID, 0, "value: nested more than %d deep", VALUE_STORE_DEPTH_MAX);
    CLEANUP(free_p) char *text = json_write(value, &len);
    if (len > (max ? max : VALUE_STORE_VALUE_MAX))
        return err_set(err, ERR_TOO_LARGE, 0, "value: %zu bytes as JSON, at most %zu are kept", len,
                       max ? max : (size_t)VALUE_STORE_VALUE_MAX);
    int r = is_new ? make_room(p, err) : 0;
    if (r < 0)
        return r;
    JSON_OWNED doc = json_pack("{s:O}", "value", value);
    set_owner(p, doc);
    return store_put(p->store, p->scope, p->key, doc, err);
}

int value_store_delete(const struct value_place *p, struct err *err)
{
    int r = store_delete(p->store, p->scope, p->key, err);
    JSON_OWNED group = NULL;
    if (r == 0 && store_count(p->store, p->scope) == 0 && store_get(p->store, p->index, p->group, &group, NULL) == 0) {
        (void)store_delete(p->store, p->index, p->group, NULL); /* an empty group in the list does no harm */
        share_give(p->groups, owner_in(group), 1);
    }
    return r;
}

static bool add_value(void *arg, const char *key, json_t *doc)
{
    (void)key;
    (void)json_array_append(arg, json_object_get(doc, "value"));
    return true;
}

json_t *value_store_list(struct store *s, const char *scope, struct err *err)
{
    JSON_OWNED list = json_array();
    return store_each(s, scope, false, add_value, list, err) < 0 ? NULL : STEAL(list);
}

static bool add_key(void *arg, const char *key, json_t *doc)
{
    (void)doc;
    (void)json_object_set_new(arg, key, json_null());
    return true;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

json_t *value_store_keys(struct store *s, const char *scope, struct err *err)
{
    JSON_OWNED found = json_object();
    const char *key;
    json_t *none;
    size_t n = 0;
    if (store_each(s, scope, false, add_key, found, err) < 0)
        return NULL;
    CLEANUP(free_p) const char **keys = xzalloc((json_object_size(found) + 1) * sizeof(char *));
    json_object_foreach(found, key, none) keys[n++] = key;
    qsort(keys, n, sizeof(*keys), by_text);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, json_string(keys[i]));
    return list;
}

static bool count_owner(void *arg, const char *key, json_t *doc)
{
    (void)key;
    (void)share_take(arg, owner_in(doc), 1);
    return true;
}

void value_store_count(struct store *s, const char *index, struct share *groups)
{
    (void)store_each(s, index, false, count_owner, groups, NULL); /* a group that cannot be read is not counted */
}
