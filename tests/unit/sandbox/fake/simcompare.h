/* Comparing the store, the manager, the driver and the disk with the model of test_simulation.c, when nothing is under
 * way. */
#pragma once
#include <dirent.h>

#include "sandbox/fake/simmodel.h"

static size_t n_connected;

static void check_box(void *arg, const struct fake_view *v)
{
    (void)arg;
    if (strncmp(v->id, "pool_", 5) == 0 && v->is_connected) {
        n_connected++;
        return;
    }
    for (struct map_iter it = map_iter(g.manager->sandboxes); map_next(&it);)
        if (strcmp(((struct sandbox *)it.value)->box_id, v->id) == 0) {
            n_connected++;
            return;
        }
    fail("box %s is nobody's", v->id);
}

static void check_sandbox(struct sandbox *s)
{
    JSON_OWNED rec = NULL;
    struct fake_view v = { 0 };
    struct model_sandbox *x = map_get(sandboxes, s->id);
    if (!x)
        fail("sandbox %s is there and was never acknowledged", s->id);
    if (store_get(g.store, "sandbox", s->id, &rec, NULL) < 0)
        fail("sandbox %s has no record", s->id);
    if (strcmp(json_get_str(json_get(rec, "internal"), "boxId", ""), s->box_id) != 0)
        fail("the record of %s names another box than %s", s->id, s->box_id);
    if (strcmp(json_get_str(rec, "status", ""), sandbox_status_name(s->status)) != 0)
        fail("the record of %s says %s, it is %s", s->id, json_get_str(rec, "status", ""),
             sandbox_status_name(s->status));
    if (x->status == UNKNOWN) { /* either may have become of a change that was cut off, if its box agrees */
        x->status = s->status;
        x->deadline_us = s->deadline_us;
    }
    bool has_died = s->status == SANDBOX_STOPPED && strcmp(s->stop.reason, "died") == 0;
    if (has_died && map_get(doomed, s->box_id)) { /* it was stopped before, so its files are kept */
        (void)map_remove(doomed, s->box_id);
        x->status = SANDBOX_STOPPED;
        x->deadline_us = s->deadline_us;
    }
    if ((int)s->status != x->status)
        fail("sandbox %s is %s, acknowledged was %s", s->id, sandbox_status_name(s->status),
             sandbox_status_name((enum sandbox_status)x->status));
    bool is_stopped = s->status == SANDBOX_STOPPED;
    if (!fake_find(g.host, s->box_id, &v) || (!is_stopped && (v.is_dead || v.is_halted)))
        fail("sandbox %s has no living box", s->id);
    if (is_stopped && (!v.is_halted || v.is_connected || s->box || s->link || !s->kept))
        fail("sandbox %s is stopped, and has more than its files", s->id);
    if (v.is_paused != (s->status == SANDBOX_PAUSED))
        fail("sandbox %s is %s, its box is %s", s->id, sandbox_status_name(s->status),
             v.is_paused ? "paused" : "running");
    if ((!s->link && !is_stopped) || s->is_gone || s->is_restoring || s->captures || s->is_changing || s->waiters)
        fail("sandbox %s is in the map in the middle of something", s->id);
    if (x->number != UNKNOWN && file_number(s) != x->number)
        fail("sandbox %s has file %lld, acknowledged was %lld", s->id, (long long)file_number(s), (long long)x->number);
    const char *layer;
    size_t i;
    json_t *item;
    json_array_foreach(json_get(json_get(rec, "internal"), "layers"), i, item)
    {
        layer = json_string_value(item);
        if (access(layer, F_OK) < 0)
            fail("layer %s of sandbox %s is not on the disk", layer, s->id);
    }
}

static bool check_volume(void *arg, const char *key, json_t *rec)
{
    size_t *n_mounts = arg;
    struct model_volume *v = map_get(volumes, key);
    const char *sid = json_get_str(rec, "sandboxId", ""), *target = json_get_str(rec, "mountPath", "");
    if (!v)
        fail("volume %s came from nowhere", key);
    if (v->is_unsure)
        (void)snprintf(v->sandbox_id, sizeof(v->sandbox_id), "%s", sid);
    v->is_unsure = false;
    if (strcmp(v->sandbox_id, sid) != 0)
        fail("volume %s is in %s by its record, acknowledged was %s", key, sid, v->sandbox_id);
    if (!*sid)
        return true;
    const struct sandbox *s = map_get(g.manager->sandboxes, sid);
    if (!s)
        fail("volume %s is in sandbox %s, which is gone", key, sid);
    const char *there = fake_mounted(g.host, s->box_id, target);
    if (s->status == SANDBOX_STOPPED && !there)
        return true;
    if (!there || strcmp(there, key) != 0)
        fail("volume %s is attached to %s and not mounted in its box %s", key, sid, s->box_id);
    ++*n_mounts;
    return true;
}

static void count_mounts(void *arg, const struct fake_view *v)
{
    ((size_t *)arg)[0] += v->n_volumes;
    ((size_t *)arg)[1] += v->n_networks;
}

static void check_networks(size_t *n_plugs)
{
    JSON_OWNED all = networks_list(g.manager->networks, NULL);
    size_t i, k;
    json_t *rec, *id;
    if (json_array_size(all) != map_count(networks) || (size_t)store_count(g.store, "network") != map_count(networks))
        fail("%zu networks, %zu records, %zu acknowledged", json_array_size(all),
             (size_t)store_count(g.store, "network"), map_count(networks));
    json_array_foreach(all, i, rec)
    {
        const char *net_id = json_get_str(rec, "id", "");
        json_t *members = map_get(networks, net_id), *ids = json_get(rec, "sandboxes");
        if (!members || json_object_size(members) != json_array_size(ids))
            fail("network %s has %zu members, acknowledged were %zu", net_id, json_array_size(ids),
                 json_object_size(members));
        json_array_foreach(ids, k, id)
        {
            const struct sandbox *s = map_get(g.manager->sandboxes, json_string_value(id));
            if (!s || !json_object_get(members, s->id))
                fail("network %s has a member that it should not have: %s", net_id, json_string_value(id));
            if (s->status == SANDBOX_STOPPED)
                continue;
            if (!fake_address(g.host, s->box_id, net_id))
                fail("sandbox %s is a member of %s and its box is not attached", s->id, net_id);
            ++*n_plugs;
        }
    }
    if (fake_count_networks(g.host) > map_count(networks))
        fail("the driver has %zu networks, the server %zu", fake_count_networks(g.host), map_count(networks));
}

/* A promoted folder stays with a stopped box until that is started. */
static void find_leftover(void *arg, const struct fake_view *v)
{
    const char **name = arg;
    const char *base = v->leftover && v->is_halted ? strrchr(v->leftover, '/') + 1 : "";
    if (*name && strcmp(base, *name) == 0)
        *name = NULL;
}

/* Names in a folder of the rig; each has to be one of the keys, or is_known() says why it may be there. */
static void check_pins(void)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/images/pins", g.dir);
    DIR *dir = opendir(path);
    size_t n = 0;
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        if (e->d_name[0] == '.')
            continue;
        n++;
        if (!map_get(g.manager->sandboxes, e->d_name) && !map_get(snapshots, e->d_name))
            fail("a pin of %s is left", e->d_name);
    }
    if (dir)
        closedir(dir);
    if (n < map_count(g.manager->sandboxes) + map_count(snapshots))
        fail("%zu pins for %zu sandboxes and %zu snapshots", n, map_count(g.manager->sandboxes), map_count(snapshots));
    (void)snprintf(path, sizeof(path), "%s/fake", g.dir);
    dir = opendir(path);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        const char *name = e->d_name[0] == '.' ? NULL : e->d_name;
        fake_each(g.host, find_leftover, &name);
        if (name)
            fail("captured files are left in %s", name);
    }
    if (dir)
        closedir(dir);
}

static bool check_snapshot(void *arg, const char *key, json_t *rec)
{
    size_t i;
    json_t *layer;
    (void)arg;
    if (!map_get(snapshots, key))
        fail("snapshot %s came from nowhere", key);
    json_array_foreach(json_get(json_get(rec, "internal"), "layers"), i, layer)
    {
        if (access(json_string_value(layer), F_OK) < 0)
            fail("layer %s of snapshot %s is not on the disk", json_string_value(layer), key);
    }
    return true;
}

static void check_quotas(void)
{
    for (size_t i = 0; i < 3; i++) {
        size_t n = 0;
        for (struct map_iter it = map_iter(g.manager->sandboxes); map_next(&it);)
            n += strcmp(((struct sandbox *)it.value)->tenant, tenants[i]) == 0;
        double used = tenant_usage(g.manager, tenants[i], QUOTA_SANDBOXES);
        if ((size_t)used != n)
            fail("tenant \"%s\" is charged for %g sandboxes and has %zu", tenants[i], used, n);
        if (*tenants[i] && n > TENANT_QUOTA)
            fail("tenant \"%s\" has %zu sandboxes, its quota is %d", tenants[i], n, TENANT_QUOTA);
    }
    if (map_count(g.manager->sandboxes) > (size_t)g.settings.max_sandboxes)
        fail("%zu sandboxes, the limit is %lld", map_count(g.manager->sandboxes), (long long)g.settings.max_sandboxes);
}
