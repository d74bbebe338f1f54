#include "sandbox/net/egress_ceiling.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

struct egress_ceiling {
    struct egress_policy *all;
    struct map *tenants; /* name -> struct egress_policy */
};

static int check_members(const json_t *j, const char *where, const char *known, struct err *err)
{
    const char *name;
    const json_t *value;
    if (!json_is_object(j))
        return err_set(err, ERR_INVALID, 0, "III_EGRESS_CEILING: %s must be an object", where);
    json_object_foreach((json_t *)(uintptr_t)j, name, value)
    {
        size_t len = strlen(name);
        const char *at = !len || strchr(name, ' ') ? NULL : strstr(known, name);
        while (at && (at[-1] != ' ' || at[len] != ' '))
            at = strstr(at + 1, name);
        if (!at)
            return err_set(err, ERR_INVALID, 0, "III_EGRESS_CEILING: %s has an unknown member \"%.40s\", known are%s",
                           where, name, known);
    }
    return 0;
}

static int read_policy(const json_t *j, const char *where, const char *known, struct egress_policy **ret,
                       struct err *err)
{
    const json_t *rules = json_get(j, "rules");
    int r = check_members(j, where, known, err);
    if (r == 0 && rules && !json_is_array(rules))
        r = err_set(err, ERR_INVALID, 0, "III_EGRESS_CEILING: rules of %s must be an array", where);
    for (size_t i = 0; r == 0 && i < json_array_size(rules); i++)
        r = check_members(json_array_get(rules, i), where, " action cidr domain ports ", err);
    if (r < 0)
        return r;
    r = egress_policy_new(j, ret, err);
    return r < 0 ? err_wrap(err, r, "III_EGRESS_CEILING: %s", where) : 0;
}

int egress_ceiling_new(const char *text, struct egress_ceiling **ret, struct err *err)
{
    JSON_OWNED doc = NULL;
    CLEANUP(egress_ceiling_free_p) struct egress_ceiling *c = xzalloc(sizeof(*c));
    const char *name;
    json_t *one;
    c->tenants = map_new();
    int r = json_read(*text ? text : "{}", *text ? strlen(text) : 2, &doc, err);
    if (r < 0)
        return err_wrap(err, r, "III_EGRESS_CEILING");
    r = read_policy(doc, "the ceiling", " default rules tenants ", &c->all, err);
    json_t *tenants = json_object_get(doc, "tenants");
    if (r == 0 && tenants && !json_is_object(tenants))
        r = err_set(err, ERR_INVALID, 0, "III_EGRESS_CEILING: tenants must be an object of policies");
    if (r < 0)
        return r;
    json_object_foreach(tenants, name, one)
    {
        struct egress_policy *p = NULL;
        CLEANUP(free_p) char *where = xasprintf("tenant %.64s", name);
        r = read_policy(one, where, " default rules ", &p, err);
        if (r < 0)
            return r;
        map_set(c->tenants, name, p);
    }
    *ret = STEAL(c);
    return 0;
}

struct egress_ceiling *egress_ceiling_free(struct egress_ceiling *c)
{
    if (!c)
        return NULL;
    for (struct map_iter it = map_iter(c->tenants); map_next(&it);)
        egress_policy_free(it.value);
    map_free(c->tenants);
    egress_policy_free(c->all);
    free(c);
    return NULL;
}

enum egress_policy_verdict egress_ceiling_judge(const struct egress_ceiling *c, const char *tenant,
                                                const struct egress_policy *p, const struct egress_policy_target *t)
{
    const struct egress_policy *const all[] = { p, c->all, map_get(c->tenants, tenant) };
    enum egress_policy_verdict v = EGRESS_POLICY_ALLOW;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && v != EGRESS_POLICY_DENY; i++) {
        enum egress_policy_verdict one = all[i] ? egress_policy_judge(all[i], t) : EGRESS_POLICY_ALLOW;
        if (one != EGRESS_POLICY_ALLOW) /* a connection that one of them allows for its name must say that name */
            v = one;
    }
    return v;
}

bool egress_ceiling_may_resolve(const struct egress_ceiling *c, const char *tenant, const struct egress_policy *p,
                                const char *name)
{
    const struct egress_policy *own = map_get(c->tenants, tenant);
    return egress_policy_may_resolve(p, name) && egress_policy_may_resolve(c->all, name) &&
           (!own || egress_policy_may_resolve(own, name));
}
