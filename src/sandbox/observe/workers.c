#include "sandbox/observe/workers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strlist.h"

#define SCOPE        "workers"
#define HEARTBEAT_MS 10000

struct workers {
    struct manager *m;
    struct timer *timer;
    uint64_t busy, total; /* of the host's CPUs, at the last heartbeat */
    double cpu_percent;
};

/* How busy the host was since the last heartbeat; 0 at the first. */
static void look_at_cpu(struct workers *w)
{
    char line[512] = "", *p = line + 3, *end; /* of all CPUs: user, nice, system, idle, waiting for disks, ... */
    uint64_t total = 0, busy = 0;
    FILE *f = fopen("/proc/stat", "re");
    bool is_read = f && fgets(line, sizeof(line), f) && strncmp(line, "cpu ", 4) == 0;
    if (f)
        (void)fclose(f); /* read only */
    for (int i = 0; is_read && i < 8; i++, p = end) {
        uint64_t ticks = strtoull(p, &end, 10);
        total += ticks;
        busy += i == 3 || i == 4 ? 0 : ticks;
        is_read = end != p;
    }
    if (!is_read)
        return;
    if (w->total && total > w->total && busy >= w->busy)
        w->cpu_percent = round(10000.0 * (double)(busy - w->busy) / (double)(total - w->total)) / 100;
    w->busy = busy;
    w->total = total;
}

json_t *workers_heartbeat(struct workers *w, struct err *err)
{
    char host[256] = "local";
    (void)gethostname(host, sizeof(host) - 1);
    look_at_cpu(w);
    JSON_OWNED info =
        json_pack("{s:s, s:s, s:I, s:I, s:f, s:I}", "workerId", w->m->worker_id, "hostname", host, "activeSandboxes",
                  (json_int_t)map_count(w->m->sandboxes), "maxSandboxes", (json_int_t)w->m->settings->max_sandboxes,
                  "cpuPercent", w->cpu_percent, "lastHeartbeat", (json_int_t)clock_wall_ms());
    return store_put(w->m->store, SCOPE, w->m->worker_id, info, err) < 0 ? NULL : json_incref(info);
}

static void on_timer(void *arg)
{
    struct err err = ERR_INIT;
    JSON_OWNED info = workers_heartbeat(arg, &err);
    if (!info)
        log_event(LOG_ERROR, "worker.heartbeat", "error", err.msg, NULL);
}

struct workers *workers_new(struct manager *m)
{
    struct workers *w = xzalloc(sizeof(*w));
    w->m = m;
    w->timer = timer_new(m->loop, 0, HEARTBEAT_MS, on_timer, w);
    return w;
}

struct workers *workers_free(struct workers *w)
{
    if (w)
        timer_free(w->timer);
    free(w);
    return NULL;
}

static bool is_alive(const json_t *info)
{
    return clock_wall_ms() - json_get_int(info, "lastHeartbeat", 0) < WORKERS_ALIVE_MS;
}

static bool add_info(void *arg, const char *key, json_t *doc)
{
    (void)key;
    (void)json_array_append(arg, doc);
    return true;
}

/* All entries, with our own as it is now; NULL with err. */
static json_t *all(struct workers *w, struct err *err)
{
    JSON_OWNED mine = workers_heartbeat(w, err);
    JSON_OWNED list = json_array();
    if (!mine || store_each(w->m->store, SCOPE, false, add_info, list, err) < 0)
        return NULL;
    return json_incref(list);
}

json_t *workers_list(struct workers *w, struct err *err)
{
    JSON_OWNED list = all(w, err);
    size_t i;
    json_t *info;
    json_int_t alive = 0;
    if (!list)
        return NULL;
    json_array_foreach(list, i, info) alive += is_alive(info);
    return json_pack("{s:O, s:I, s:I}", "workers", list, "alive", alive, "dead",
                     (json_int_t)json_array_size(list) - alive);
}

/* The contract's order: the lowest share in use; a worker without a limit comes last. */
static double load_of(const json_t *info)
{
    double max = json_get_num(info, "maxSandboxes", 0);
    return max > 0 ? json_get_num(info, "activeSandboxes", 0) / max : 1e9;
}

json_t *workers_select(struct workers *w, struct err *err)
{
    JSON_OWNED list = all(w, err);
    const json_t *best = NULL;
    size_t i;
    json_t *info;
    if (!list)
        return NULL;
    json_array_foreach(list, i, info)
    {
        int64_t max = json_get_int(info, "maxSandboxes", 0);
        bool has_room = max == 0 || json_get_int(info, "activeSandboxes", 0) < max;
        if (is_alive(info) && has_room && (!best || load_of(info) < load_of(best)))
            best = info;
    }
    if (!best) {
        (void)err_set(err, ERR_CAPACITY, 0, "no worker has capacity: kill a sandbox, or raise III_MAX_SANDBOXES (%lld)",
                      (long long)w->m->settings->max_sandboxes);
        return NULL;
    }
    return json_pack("{s:O}", "workerId", json_get(best, "workerId"));
}

/* --- ownership: the records' workerId; what the API shows is always ours --- */

struct owned {
    const char *owner; /* "" finds records without one */
    char **ids;
};

static bool note_owned(void *arg, const char *key, json_t *doc)
{
    struct owned *o = arg;
    if (strcmp(json_get_str(doc, "workerId", ""), o->owner) == 0)
        strlist_add(&o->ids, key);
    return true;
}

/* Saves every sandbox of the owner under our name; how many, or negative. */
static int take_over(struct workers *w, const char *owner, struct err *err)
{
    struct owned o = { .owner = owner };
    int taken = 0;
    int r = store_each(w->m->store, "sandbox", false, note_owned, &o, err);
    for (char **id = o.ids; r == 0 && id && *id; id++) {
        struct sandbox *s = manager_find(w->m, *id, NULL);
        if (!s)
            continue; /* recovery dropped it: its record goes at the next start */
        r = sandbox_save(s, err);
        taken++;
    }
    strlist_free(o.ids);
    return r < 0 ? r : taken;
}

json_t *workers_reap(struct workers *w, struct err *err)
{
    JSON_OWNED list = all(w, err);
    size_t i;
    json_t *info;
    json_int_t reaped = 0, reassigned = 0;
    if (!list)
        return NULL;
    json_array_foreach(list, i, info)
    {
        const char *name = json_get_str(info, "workerId", "");
        if (is_alive(info) || strcmp(name, w->m->worker_id) == 0)
            continue;
        int taken = take_over(w, name, err);
        if (taken < 0 || store_delete(w->m->store, SCOPE, name, err) < 0)
            return NULL;
        reaped++;
        reassigned += taken;
    }
    /* A sandbox whose box is gone does not outlive recovery, so none is left to be marked as expired. */
    return json_pack("{s:I, s:I, s:i}", "reaped", reaped, "reassigned", reassigned, "expired", 0);
}

json_t *workers_migrate(struct workers *w, struct err *err)
{
    int taken = take_over(w, "", err);
    return taken < 0 ? NULL : json_pack("{s:i}", "migrated", taken);
}
