/* Theory of operation. struct manager is the root of sandbox/: it owns the map of sandboxes and every module of this
 * room, made in manager_new() and freed in manager_free() in an order that keeps whatever a callback may still use.
 * Loop, settings, store, image store and drivers are borrowed.
 *
 * Modules that keep something for a sandbox register hooks: on_enter runs when a sandbox is in the map with a link
 * (create, adoption, restore, start), on_sleep when it has stopped and on_leave once, before the link is freed, when it
 * is removed. manager_disconnect() closes all links first, so
 * that pending calls fail while their modules still exist; the boxes continue to run.
 *
 * Timers: on_flush_due() writes lazy rows every FLUSH_MS and retries records that could not be deleted; the sweep kills
 * sandboxes whose time to live has elapsed. A store that fails is logged once and retried. */
#include "sandbox/lifecycle/manager.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/share.h"
#include "base/strlist.h"
#include "engine/channel.h"
#include "image/image_policy.h"
#include "loop/crontimer.h"
#include "sandbox/exec/background.h"
#include "sandbox/exec/context.h"
#include "sandbox/exec/queue.h"
#include "sandbox/exec/services.h"
#include "sandbox/exec/terminal.h"
#include "sandbox/lifecycle/idle.h"
#include "sandbox/lifecycle/lifecycle.h"
#include "sandbox/lifecycle/limits.h"
#include "sandbox/lifecycle/policy.h"
#include "sandbox/lifecycle/pool.h"
#include "sandbox/lifecycle/starts.h"
#include "sandbox/lifecycle/templates.h"
#include "sandbox/net/egress.h"
#include "sandbox/net/egress_ceiling.h"
#include "sandbox/net/listening.h"
#include "sandbox/net/networks.h"
#include "sandbox/net/ports.h"
#include "sandbox/net/ssh_keys.h"
#include "sandbox/observe/alerts.h"
#include "sandbox/observe/denied_calls.h"
#include "sandbox/observe/webhooks.h"
#include "sandbox/observe/workers.h"
#include "sandbox/storage/builds.h"
#include "sandbox/storage/converter.h"
#include "sandbox/storage/disk_watch.h"
#include "sandbox/storage/pulls.h"
#include "sandbox/storage/snapshots.h"
#include "sandbox/storage/volumes.h"

#define FLUSH_MS 100 /* lazy rows (events, traces) are on disk at the latest after this */

struct hook {
    struct hook *next;
    manager_leave_fn *fn;
    void *arg;
};

static void add_hook(struct hook **at, manager_leave_fn *fn, void *arg)
{
    while (*at)
        at = &(*at)->next;
    *at = xzalloc(sizeof(**at));
    **at = (struct hook){ .fn = fn, .arg = arg };
}

static void free_hooks(struct hook *h)
{
    for (struct hook *next; h; h = next) {
        next = h->next;
        free(h);
    }
}

void manager_on_leave(struct manager *m, manager_leave_fn *fn, void *arg)
{
    add_hook(&m->on_leave, fn, arg);
}

void manager_on_enter(struct manager *m, manager_leave_fn *fn, void *arg)
{
    add_hook(&m->on_enter, fn, arg);
}

void manager_on_sleep(struct manager *m, manager_leave_fn *fn, void *arg)
{
    add_hook(&m->on_sleep, fn, arg);
}

static void run_hooks(const struct hook *h, struct sandbox *s)
{
    for (; h; h = h->next)
        h->fn(h->arg, s);
}

void manager_entered(struct manager *m, struct sandbox *s)
{
    run_hooks(m->on_enter, s);
}

void manager_leaving(struct manager *m, struct sandbox *s)
{
    run_hooks(m->on_leave, s);
}

void manager_slept(struct manager *m, struct sandbox *s)
{
    run_hooks(m->on_sleep, s);
}

static void on_flush_due(void *arg)
{
    struct manager *m = arg;
    struct err err = ERR_INIT;
    CLEANUP(strlist_free_p) char **ids = STEAL(m->undeleted);
    for (size_t i = 0; ids && ids[i]; i++)
        if (store_delete(m->store, "sandbox", ids[i], NULL) < 0)
            strlist_add(&m->undeleted, ids[i]); /* one that is still there at the next start is dropped then */
    bool is_failing = store_flush(m->store, &err) < 0;
    if (is_failing && !m->is_flush_failing) /* once: it is tried ten times a second */
        log_event(LOG_ERROR, "store.flush", "error", err.msg, "then", "retried until it succeeds", NULL);
    else if (!is_failing && m->is_flush_failing)
        log_event(LOG_INFO, "store.flush", "msg", "the database can be written again", NULL);
    m->is_flush_failing = is_failing;
}

static void on_sweep(void *arg)
{
    (void)manager_sweep(arg);
}

static const char *owner_of(void *arg, const char *sandbox_id)
{
    return manager_owner(arg, sandbox_id);
}

void manager_add_runtime(struct manager *m, struct runtime *rt)
{
    assert(m->n_runtimes < MANAGER_RUNTIMES_MAX);
    m->runtimes[m->n_runtimes++] = rt;
}

struct runtime *manager_runtime(const struct manager *m, const char *name, struct err *err)
{
    CLEANUP(buf_done) struct buf names = BUF_INIT(512);
    for (size_t i = 0; i < m->n_runtimes; i++) {
        if (strcmp(m->runtimes[i]->ops->name, name) == 0)
            return m->runtimes[i];
        (void)buf_addf(&names, "%s%s", i ? ", " : "", m->runtimes[i]->ops->name);
    }
    (void)err_set(err, ERR_INVALID, 0, "backend \"%.32s\" is not one of those this server allows: %s (III_BACKENDS)",
                  name, buf_text(&names));
    return NULL;
}

int manager_new(struct loop *l, const struct settings *s, struct store *store, struct image_store *images,
                struct runtime *rt, struct manager **ret, struct err *err)
{
    struct cron when;
    int r = cron_parse(s->ttl_sweep, &when, err);
    if (r < 0)
        return err_wrap(err, r, "III_TTL_SWEEP");
    r = manager_end_parse(s->on_shutdown, &(enum manager_end){ 0 }, err);
    if (r == 0)
        r = pulls_check(s, err);
    if (r == 0)
        r = address_ports_check(s->port_range, "III_PORT_RANGE", err);
    CLEANUP(egress_ceiling_free_p) struct egress_ceiling *ceiling = NULL; /* only to see that it can be read */
    if (r == 0)
        r = egress_ceiling_new(s->egress_ceiling, &ceiling, err);
    CLEANUP(image_policy_free_p) struct image_policy *policy = NULL;
    if (r == 0)
        r = image_policy_new(s->image_policy, &policy, err);
    if (r == 0)
        r = address_ports_check(s->gateway_ports, "III_GATEWAY_PORTS", err);
    enum filter_profile profile;
    if (r == 0 && !filter_profile_find(s->seccomp, &profile))
        r = err_set(err, ERR_INVALID, 0, "III_SECCOMP is \"%s\": it must be default or strict", s->seccomp);
    if (r < 0)
        return r;
    struct manager *m = xzalloc(sizeof(*m));
    *m = (struct manager){ .loop = l, .settings = s, .store = store, .images = images, .runtime = rt };
    m->image_policy = STEAL(policy);
    if (images) {
        image_store_allow_host(images, strcmp(s->presets, "host") == 0);
        image_store_use_policy(images, m->image_policy);
    }
    manager_add_runtime(m, rt);
    m->sandboxes = map_new();
    m->tenants = tenant_set_new();
    m->starts = starts_new(starts_max());
    m->events = event_log_new(store);
    event_log_on_owner(m->events, owner_of, m);
    event_log_set_keep(m->events, s->max_events);
    m->started_at = clock_wall_ms();
    m->started_us = clock_mono_us();
    char host[256] = "local";
    (void)gethostname(host, sizeof(host) - 1);
    m->worker_id = *s->worker_name ? xstrdup(s->worker_name) : xasprintf("iii-sandbox-%s", host);
    m->background = background_new(m);
    services_init(m);
    m->channels = channel_hub_new(l, CHANNEL_CLAIM_MS);
    m->denied_calls = denied_calls_new(m);
    m->listening = listening_new(m);
    m->egress = egress_new(m);
    m->port_connections = share_new(limits_relays(s));
    m->ports = ports_new(m);
    m->pulls = pulls_new(m);
    m->builds = builds_new(m);
    m->terminals = terminal_set_new(m);
    m->contexts = context_set_new(m);
    m->queue = queue_new(m);
    m->snapshots = snapshots_new(m);
    r = pool_new(m, &m->pool, err);
    if (r == 0)
        r = templates_new(store, s, &m->templates, err);
    if (r == 0)
        r = ssh_keys_new(store, &m->ssh_keys, err);
    if (r == 0)
        r = alerts_new(m, &m->alerts, err);
    if (r == 0)
        r = webhooks_new(m, &m->webhooks, err);
    if (r == 0)
        r = volumes_new(m, &m->volumes, err);
    if (r == 0)
        r = networks_new(m, &m->networks, err);
    if (r < 0) {
        manager_free(m);
        return r;
    }
    m->workers = workers_new(m);
    m->flush_timer = timer_new(l, FLUSH_MS, FLUSH_MS, on_flush_due, m);
    m->sweep_timer = crontimer_new(l, &when, on_sweep, m);
    m->disk_watch = disk_watch_new(m);
    m->idle = idle_new(m);
    *ret = m;
    return 0;
}

void manager_disconnect(struct manager *m)
{
    if (!m)
        return;
    m->queue = queue_free(m->queue); /* before the links are freed: its jobs stay pending instead of failing */
    m->contexts = context_set_free(m->contexts); /* also before: fails their calls; the processes end with the links */
    m->terminals = terminal_set_free(m->terminals); /* also before: viewers are told that the server stops */
    for (struct map_iter it = map_iter(m->sandboxes); map_next(&it);) {
        struct sandbox *s = it.value;
        (void)map_remove(m->sandboxes, it.key);
        lifecycle_forget(s);
    }
    loop_settle(m->loop);
}

struct manager *manager_free(struct manager *m)
{
    if (!m)
        return NULL;
    m->disk_watch = disk_watch_free(m->disk_watch);
    m->idle = idle_free(m->idle);
    manager_disconnect(m);
    timer_free(m->flush_timer);
    timer_free(m->collect_timer);
    crontimer_free(m->sweep_timer);
    pool_free(m->pool);
    ports_free(m->ports);
    builds_free(m->builds);
    m->port_connections = share_free(m->port_connections);
    pulls_free(m->pulls);
    if (m->images)
        image_store_use_policy(m->images, NULL);
    image_policy_free(m->image_policy);
    egress_free(m->egress);
    denied_calls_free(m->denied_calls);
    listening_free(m->listening);
    channel_hub_free(m->channels);
    alerts_free(m->alerts);
    webhooks_free(m->webhooks);
    workers_free(m->workers);
    volumes_free(m->volumes);
    converters_free(m->converters);
    networks_free(m->networks);
    background_free(m->background);
    templates_free(m->templates);
    ssh_keys_free(m->ssh_keys);
    snapshots_free(m->snapshots);
    map_free(m->sandboxes);
    tenant_set_free(m->tenants);
    starts_free(m->starts);
    event_log_free(m->events);
    free_hooks(m->on_leave);
    free_hooks(m->on_enter);
    free_hooks(m->on_sleep);
    strlist_free(m->undeleted);
    free(m->worker_id);
    free(m->own_ports);
    free(m);
    return NULL;
}

struct sandbox *manager_find(struct manager *m, const char *id, struct err *err)
{
    char uuid[UUID_MAX], rest_id[IDENT_MAX] = "sbx_"; /* and the first 24 hex digits of the UUID */
    struct sandbox *s = map_get(m->sandboxes, id);
    if (!s && uuid_parse(id, uuid)) {
        size_t n = 4;
        for (const char *p = uuid; *p && n < 4 + IDENT_HEX; p++)
            if (*p != '-')
                rest_id[n++] = *p;
        s = map_get(m->sandboxes, rest_id);
        if (s && strcmp(s->uuid, uuid) != 0)
            s = NULL;
    }
    if (!s)
        (void)err_set(err, ERR_NOT_FOUND, 0, "sandbox not found: %.64s", id);
    return s;
}

const char *manager_owner(struct manager *m, const char *id)
{
    const struct sandbox *s = manager_find(m, id, NULL);
    return s ? s->tenant : NULL;
}

struct sandbox *manager_find_running(struct manager *m, const char *id, struct err *err)
{
    struct sandbox *s = manager_find(m, id, err);
    return s && sandbox_need_running(s, err) < 0 ? NULL : s;
}

struct sandbox *manager_find_named(struct manager *m, const char *tenant, const char *name, struct err *err)
{
    struct sandbox *found = NULL;
    for (struct map_iter it = map_iter(m->sandboxes); map_next(&it);) {
        struct sandbox *s = it.value;
        if (strcmp(s->name, name) != 0 || strcmp(s->tenant, tenant) != 0)
            continue;
        if (found) {
            (void)err_set(err, ERR_CONFLICT, 0,
                          "several sandboxes have the name %.64s, among them %s and %s: use an id", name, found->id,
                          s->id);
            return NULL;
        }
        found = s;
    }
    if (!found)
        (void)err_set(err, ERR_NOT_FOUND, 0, "sandbox not found: %.64s", name);
    return found;
}

unsigned manager_oldest_agent(const struct manager *m)
{
    unsigned oldest = 0;
    for (struct map_iter it = map_iter(m->sandboxes); map_next(&it);) {
        const struct sandbox *s = it.value;
        unsigned version = s->link ? guest_link_version(s->link) : 0;
        if (version && (!oldest || version < oldest))
            oldest = version;
    }
    return oldest;
}

int manager_sweep(struct manager *m)
{
    int64_t now = clock_mono_us();
    int swept = 0;
    for (struct map_iter it = map_iter(m->sandboxes); map_next(&it);) {
        struct sandbox *s = it.value;
        struct err err = ERR_INIT;
        if (s->deadline_us > now)
            continue;
        if (!policy_kills(s->config.on_timeout))
            policy_sleep(s, s->config.on_timeout, "timeout");
        else if (manager_kill(m, s, "sandbox.expired", &err) < 0)
            log_event(LOG_ERROR, "sandbox.expire", "id", it.key, "error", err.msg, NULL);
        else
            swept++;
    }
    return swept;
}
