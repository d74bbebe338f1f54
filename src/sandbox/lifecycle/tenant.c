#include "sandbox/lifecycle/tenant.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/net/ports.h"
#include "sandbox/observe/webhooks.h"
#include "sandbox/storage/disk_watch.h"
#include "sandbox/storage/snapshots.h"
#include "sandbox/storage/volumes.h"

#define TENANTS_MAX 10000 /* counters kept since the start; a tenant past it is not counted, only limited */

struct counts {
    int64_t making, making_mb;
    double making_cpus;
    int64_t events[TENANT_EVENTS];
};

struct tenants {
    struct map *by_name;
};

const char *tenant_of(const struct tenant_by *by)
{
    return by ? by->tenant : "";
}

bool tenant_sees_of(const struct tenant_by *by, const char *owner, const char *sandbox)
{
    if (!owner || !by)
        return owner;
    if (by->sandbox && (!sandbox || strcmp(sandbox, by->sandbox) != 0))
        return false;
    return !by->view || strcmp(owner, by->view) == 0 || strcmp(owner, TENANT_SHARED) == 0;
}

bool tenant_sees(const struct tenant_by *by, const char *owner)
{
    return tenant_sees_of(by, owner, NULL);
}

void tenant_mark(const struct tenant_by *by, json_t *record)
{
    if (*tenant_of(by))
        (void)json_object_set_new(record, "tenant", json_string(by->tenant));
}

bool tenant_sees_record(const struct tenant_by *by, const json_t *record)
{
    return tenant_sees_of(by, json_get_str(record, "tenant", ""), json_get_str(record, "sandboxId", NULL));
}

/* --- counters --- */

struct tenants *tenant_set_new(void)
{
    struct tenants *t = xzalloc(sizeof(*t));
    t->by_name = map_new();
    return t;
}

struct tenants *tenant_set_free(struct tenants *t)
{
    if (!t)
        return NULL;
    for (struct map_iter it = map_iter(t->by_name); map_next(&it);)
        free(it.value);
    map_free(t->by_name);
    free(t);
    return NULL;
}

static struct counts *counts_of(struct tenants *t, const char *tenant)
{
    struct counts *c = map_get(t->by_name, tenant);
    if (!c && map_count(t->by_name) < TENANTS_MAX) {
        c = xzalloc(sizeof(*c));
        map_set(t->by_name, tenant, c);
    }
    return c;
}

void tenant_making(struct manager *m, const struct sandbox *s, int count)
{
    struct counts *c = *s->tenant ? counts_of(m->tenants, s->tenant) : NULL;
    if (!c)
        return;
    c->making += count;
    c->making_mb += count * s->config.memory_mb;
    c->making_cpus += count * s->config.cpu;
}

void tenant_count(struct manager *m, const char *tenant, enum tenant_event what)
{
    struct counts *c = *tenant ? counts_of(m->tenants, tenant) : NULL;
    if (c)
        c->events[what]++;
}

int64_t tenant_counted(struct manager *m, const char *tenant, enum tenant_event what)
{
    const struct counts *c = map_get(m->tenants->by_name, tenant);
    return c ? c->events[what] : 0;
}

/* --- usage --- */

static double of_sandbox(const struct sandbox *s, enum quota_kind k)
{
    switch (k) {
    case QUOTA_SANDBOXES:
        return 1;
    case QUOTA_MEMORY_MB:
        return (double)s->config.memory_mb;
    case QUOTA_CPUS:
        return s->config.cpu;
    case QUOTA_PORTS:
        return (double)ports_count(s);
    case QUOTA_VOLUMES:
    case QUOTA_SNAPSHOTS:
    case QUOTA_WEBHOOKS:
    case QUOTA_DISK_MB: /* grows without being asked for: tenant_usage() */
    case QUOTA_REQUESTS_PER_MINUTE:
    case QUOTA_KINDS:
        break;
    }
    return 0;
}

double tenant_usage(struct manager *m, const char *tenant, enum quota_kind k)
{
    const struct counts *c = map_get(m->tenants->by_name, tenant); /* has those on their way */
    double sum = !c                     ? 0
                 : k == QUOTA_SANDBOXES ? (double)c->making
                 : k == QUOTA_MEMORY_MB ? (double)c->making_mb
                 : k == QUOTA_CPUS      ? c->making_cpus
                                        : 0;
    if (k == QUOTA_VOLUMES)
        return (double)volumes_count(m->volumes, tenant);
    if (k == QUOTA_SNAPSHOTS)
        return (double)snapshots_count(m->snapshots, tenant);
    if (k == QUOTA_WEBHOOKS)
        return (double)webhooks_count(m->webhooks, tenant);
    if (k == QUOTA_DISK_MB)
        return (double)((disk_watch_used(m->disk_watch, tenant) + snapshots_bytes(m->snapshots, tenant) +
                         (m->images ? image_tenant_bytes(m->images, tenant) : 0)) >>
                        20);
    for (struct map_iter it = map_iter(m->sandboxes); map_next(&it);) {
        const struct sandbox *s = it.value;
        bool is_empty = (k == QUOTA_MEMORY_MB || k == QUOTA_CPUS) && sandbox_is_asleep(s) && !s->is_starting;
        if (strcmp(s->tenant, tenant) == 0 && !is_empty)
            sum += of_sandbox(s, k);
    }
    return sum;
}

json_t *tenant_usage_json(struct manager *m, const char *tenant)
{
    json_t *j = json_object();
    for (int k = 0; k < QUOTA_REQUESTS_PER_MINUTE; k++) {
        double used = tenant_usage(m, tenant, (enum quota_kind)k);
        (void)json_object_set_new(j, quota_name((enum quota_kind)k),
                                  k == QUOTA_CPUS ? json_real(used) : json_integer((json_int_t)used));
    }
    return j;
}

int tenant_check(struct manager *m, const struct tenant_by *by, enum quota_kind k, double more, struct err *err)
{
    if (!by || !(by->quota.set & 1u << k))
        return 0;
    return quota_check(&by->quota, k, tenant_usage(m, by->tenant, k), more, err);
}

int tenant_check_disk(struct manager *m, const struct tenant_by *by, struct err *err)
{
    return tenant_check(m, by, QUOTA_DISK_MB, 1, err);
}

int tenant_check_sandbox(struct manager *m, const struct tenant_by *by, const struct sandbox *s, struct err *err)
{
    static const enum quota_kind kinds[] = { QUOTA_SANDBOXES, QUOTA_MEMORY_MB, QUOTA_CPUS };
    int r = tenant_check_disk(m, by, err);
    for (size_t i = 0; r == 0 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        r = tenant_check(m, by, kinds[i], of_sandbox(s, kinds[i]), err);
    return r;
}
