/* Theory of operation. A rule (struct records) compares one metric of a sandbox with a threshold; a cron timer checks
 * all rules. For each sandbox struct watched has the alerts that fired, newest ALERTS_HISTORY_MAX, and the CPU time at
 * the last check. Both are dropped when the sandbox leaves.
 *
 * A rule that fires is recorded, emitted as sandbox.alert, then acted upon: notify, pause or kill. A kill removes the
 * sandbox's other rules during the check, so the check works on a list of ids and holds a reference to the sandbox.
 * History is written lazily: a full disk may lose an entry but never prevents the action. */
#include "sandbox/observe/alerts.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cron.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/strlist.h"
#include "loop/crontimer.h"
#include "sandbox/lifecycle/records.h"
#include "sandbox/observe/denied_calls.h"
#include "sandbox/observe/sandbox_usage.h"

#define SCOPE         "alert"
#define HISTORY_SCOPE "alert_event"

/* What belongs to one sandbox: its fired alerts, and the CPU time seen at the last check. The API's own samples are not
 * used, since someone who looks every second would shorten the span over which an alert averages. */
struct watched {
    json_t *events; /* oldest first; each with the key of its row */
    uint64_t cpu_us;
    int64_t at_us;
    double cpu_percent;
    uint64_t denied, denied_new; /* system calls: at the last check, and since the one before */
};

struct alerts {
    struct manager *m;
    struct records rules;
    struct map *watched; /* sandbox id -> struct watched */
    struct crontimer *timer;
    int64_t fired;
};

static struct watched *watched_of(struct alerts *a, const char *sandbox_id)
{
    struct watched *w = map_get(a->watched, sandbox_id);
    if (!w) {
        w = xzalloc(sizeof(*w));
        w->events = json_array();
        map_set(a->watched, sandbox_id, w);
    }
    return w;
}

static void free_watched(struct watched *w)
{
    if (w)
        json_decref(w->events);
    free(w);
}

/* --- kept with the sandbox --- */

static bool load_event(void *arg, const char *key, json_t *doc)
{
    struct alerts *a = arg;
    (void)json_object_set_new(doc, "key", json_string(key));
    (void)json_array_append(watched_of(a, json_get_str(doc, "sandboxId", ""))->events, doc);
    return true;
}

void alerts_drop(struct alerts *a, const char *sandbox_id)
{
    struct watched *w = map_remove(a->watched, sandbox_id);
    for (struct map_iter it = map_iter(a->rules.by_id); map_next(&it);) {
        if (records_is(it.value, "sandboxId", sandbox_id))
            records_drop(&a->rules, it.key);
    }
    for (size_t i = 0; w && i < json_array_size(w->events); i++)
        (void)store_delete(a->m->store, HISTORY_SCOPE, json_get_str(json_array_get(w->events, i), "key", ""), NULL);
    free_watched(w);
}

static void on_leave(void *arg, struct sandbox *s)
{
    alerts_drop(arg, s->id);
}

static void check_all(void *arg);

int alerts_new(struct manager *m, struct alerts **ret, struct err *err)
{
    struct cron when;
    int r = cron_parse(m->settings->metrics_interval, &when, err);
    if (r < 0)
        return err_wrap(err, r, "III_METRICS_INTERVAL");
    struct alerts *a = xzalloc(sizeof(*a));
    a->m = m;
    records_init(&a->rules, m->store, SCOPE, "alert");
    a->watched = map_new();
    r = records_load(&a->rules, NULL, NULL, err);
    if (r == 0)
        r = store_each(m->store, HISTORY_SCOPE, false, load_event, a, err);
    if (r < 0) {
        alerts_free(a);
        return r;
    }
    manager_on_leave(m, on_leave, a);
    a->timer = crontimer_new(m->loop, &when, check_all, a);
    *ret = a;
    return 0;
}

struct alerts *alerts_free(struct alerts *a)
{
    if (!a)
        return NULL;
    crontimer_free(a->timer);
    for (struct map_iter it = map_iter(a->watched); map_next(&it);)
        free_watched(it.value);
    records_done(&a->rules);
    map_free(a->watched);
    free(a);
    return NULL;
}

/* --- the rules --- */

/* Share of one CPU since the last look, kept in w; false when the box cannot be asked. */
static bool sample_usage(struct alerts *a, struct sandbox *s, struct watched *w, struct box_stats *st)
{
    if (!s->box || sandbox_usage_get(s, st, NULL) < 0)
        return false;
    int64_t now_us = clock_mono_us();
    int64_t span_us = now_us - w->at_us;
    bool is_first = w->at_us == 0;
    w->cpu_percent = is_first || span_us <= 0 || st->cpu_usage_us < w->cpu_us
                         ? 0
                         : 100.0 * (double)(st->cpu_usage_us - w->cpu_us) / (double)span_us;
    uint64_t denied = denied_calls_of(a->m->denied_calls, s->id);
    w->denied_new = is_first ? 0 : denied - w->denied;
    w->denied = denied;
    w->cpu_us = st->cpu_usage_us;
    w->at_us = now_us;
    return true;
}

static int check_threshold(const char *metric, double threshold, struct err *err)
{
    bool is_pids = strcmp(metric, "pids") == 0, is_calls = strcmp(metric, "deniedCalls") == 0;
    double low = is_pids ? LIMIT_MIN(ALERT_PIDS) : is_calls ? LIMIT_MIN(ALERT_CALLS) : LIMIT_MIN(ALERT_PERCENT);
    double high = is_pids ? LIMIT_MAX(ALERT_PIDS) : is_calls ? LIMIT_MAX(ALERT_CALLS) : LIMIT_MAX(ALERT_PERCENT);
    if (threshold >= low && threshold <= high)
        return 0;
    return err_set(err, ERR_INVALID, 0, "threshold: %g is out of %g to %g, the range of %s", threshold, low, high,
                   metric);
}

json_t *alerts_set(struct alerts *a, struct sandbox *s, const char *metric, double threshold, const char *action,
                   struct err *err)
{
    char id[IDENT_MAX];
    struct box_stats st;
    if (check_threshold(metric, threshold, err) < 0)
        return NULL;
    if ((int64_t)records_count(&a->rules, "sandboxId", s->id) >= a->m->settings->max_alerts) {
        (void)err_set(err, ERR_CAPACITY, 0,
                      "sandbox %s: limit of %lld alerts reached: delete one, or raise III_MAX_ALERTS", s->id,
                      (long long)a->m->settings->max_alerts);
        return NULL;
    }
    ident_new("alrt", id);
    JSON_OWNED rule =
        json_pack("{s:s, s:s, s:s, s:f, s:s, s:b, s:I}", "id", id, "sandboxId", s->id, "metric", metric, "threshold",
                  threshold, "action", action, "triggered", 0, "createdAt", (json_int_t)clock_wall_ms());
    if (records_add(&a->rules, id, rule, err) < 0)
        return NULL;
    struct watched *w = watched_of(a, s->id);
    if (w->at_us == 0)
        (void)sample_usage(a, s, w, &st); /* the first check averages from here on */
    return records_find(&a->rules, id, NULL);
}

json_t *alerts_list(const struct alerts *a, const char *sandbox_id)
{
    return records_list(&a->rules, NULL, "sandboxId", sandbox_id);
}

const char *alerts_owner(const struct alerts *a, const char *id, const char **ret_sandbox)
{
    *ret_sandbox = json_get_str(records_find(&a->rules, id, NULL), "sandboxId", NULL);
    return *ret_sandbox ? manager_owner(a->m, *ret_sandbox) : NULL;
}

int alerts_delete(struct alerts *a, const char *id, struct err *err)
{
    return records_delete(&a->rules, id, err);
}

json_t *alerts_history(const struct alerts *a, const char *sandbox_id, int64_t limit)
{
    const struct watched *w = map_get(a->watched, sandbox_id);
    size_t total = w ? json_array_size(w->events) : 0;
    json_t *events = json_array();
    for (size_t i = total; i > 0 && (int64_t)json_array_size(events) < limit; i--) {
        json_t *copy = json_copy(json_array_get(w->events, i - 1));
        (void)json_object_del(copy, "key");
        (void)json_array_append_new(events, copy);
    }
    return json_pack("{s:o, s:I}", "events", events, "total", (json_int_t)total);
}

/* --- the check --- */

static double value_of(const json_t *rule, const struct watched *w, const struct box_stats *st)
{
    const char *metric = json_get_str(rule, "metric", "");
    if (strcmp(metric, "cpu") == 0)
        return w->cpu_percent;
    if (strcmp(metric, "pids") == 0)
        return st->pids;
    if (strcmp(metric, "deniedCalls") == 0)
        return (double)w->denied_new;
    return st->memory_limit_bytes ? 100.0 * (double)st->memory_bytes / (double)st->memory_limit_bytes : 0;
}

static void record_alert(struct alerts *a, struct watched *w, const json_t *rule, double value)
{
    char key[IDENT_MAX];
    ident_new("aevt", key);
    json_t *event = json_pack("{s:s, s:O, s:O, s:f, s:O, s:O, s:I}", "alertId", json_get_str(rule, "id", ""),
                              "sandboxId", json_get(rule, "sandboxId"), "metric", json_get(rule, "metric"), "value",
                              value, "threshold", json_get(rule, "threshold"), "action", json_get(rule, "action"),
                              "timestamp", (json_int_t)clock_wall_ms());
    (void)store_put_lazy(a->m->store, HISTORY_SCOPE, key, event, NULL); /* the action matters more than its note */
    (void)event_log_emit(a->m->events, "sandbox.alert", json_get_str(rule, "sandboxId", ""), json_deep_copy(event));
    (void)json_object_set_new(event, "key", json_string(key));
    (void)json_array_append_new(w->events, event);
    if (json_array_size(w->events) > ALERTS_HISTORY_MAX) {
        (void)store_delete(a->m->store, HISTORY_SCOPE, json_get_str(json_array_get(w->events, 0), "key", ""), NULL);
        (void)json_array_remove(w->events, 0);
    }
    a->fired++;
}

static void on_acted(void *arg, struct sandbox *s, const struct err *err)
{
    (void)arg;
    (void)s;
    if (err)
        log_event(LOG_WARN, "alert.pause", "error", err->msg, NULL);
}

static void check_one(struct alerts *a, json_t *rule, struct sandbox *s, struct watched *w, const struct box_stats *st)
{
    double value = value_of(rule, w, st);
    bool is_over = value >= json_get_num(rule, "threshold", 0);
    (void)json_object_set_new(rule, "lastChecked", json_integer(clock_wall_ms()));
    if (is_over) {
        (void)json_object_set_new(rule, "triggered", json_true());
        (void)json_object_set_new(rule, "lastTriggered", json_integer(clock_wall_ms()));
    }
    (void)store_put_lazy(a->m->store, SCOPE, json_get_str(rule, "id", ""), rule,
                         NULL); /* said again at the next check */
    if (is_over) {
        log_event(LOG_WARN, "alert.fired", "id", s->id, "metric", json_get_str(rule, "metric", ""), "action",
                  json_get_str(rule, "action", ""), NULL);
        record_alert(a, w, rule, value);
        struct err err = ERR_INIT;
        if (records_is(rule, "action", "pause"))
            manager_pause(a->m, s, on_acted, NULL);
        else if (records_is(rule, "action", "kill") && manager_kill(a->m, s, "sandbox.killed", &err) < 0)
            log_event(LOG_ERROR, "alert.kill", "id", s->id, "error", err.msg, NULL);
    }
}

static void check_sandbox(struct alerts *a, struct sandbox *s, char **ids)
{
    struct box_stats st = { 0 };
    struct watched *w = watched_of(a, s->id);
    if (!sample_usage(a, s, w, &st))
        return;
    for (char **id = ids; !s->is_gone && *id; id++) { /* a kill takes the other alerts of the sandbox with it */
        json_t *rule = json_incref(records_find(&a->rules, *id, NULL));
        if (rule && records_is(rule, "sandboxId", s->id))
            check_one(a, rule, s, w, &st);
        json_decref(rule);
    }
}

static void check_all(void *arg)
{
    struct alerts *a = arg;
    CLEANUP(strlist_free_p) char **ids = NULL, **boxes = NULL;
    for (struct map_iter it = map_iter(a->rules.by_id); map_next(&it);) {
        strlist_add(&ids, it.key);
        const char *box = json_get_str(it.value, "sandboxId", "");
        bool is_known = false;
        for (char **b = boxes; b && *b && !is_known; b++)
            is_known = strcmp(*b, box) == 0;
        if (!is_known)
            strlist_add(&boxes, box);
    }
    for (char **b = boxes; b && *b; b++) {
        struct sandbox *s = manager_find(a->m, *b, NULL);
        if (!s)
            alerts_drop(a, *b); /* left by a server that was killed in the middle of a delete */
        if (!s || s->status != SANDBOX_RUNNING)
            continue;
        CLEANUP(sandbox_unref_p) struct sandbox *held = sandbox_ref(s);
        check_sandbox(a, held, ids);
    }
}

int64_t alerts_fired(const struct alerts *a)
{
    return a->fired;
}
