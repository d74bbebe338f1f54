/* Change of a sandbox's limits. Theory of operation. The new limits are in the record before the box has them, beside
 * the former ones (extra.resizing), and the mark is removed when the box has them. So a crash at any moment leaves a
 * record that says what the box is to have: adoption carries the change out again. When the driver refuses, the former
 * limits are restored, in the box as far as it got and in the record. A stopped sandbox has no box: its record alone
 * changes, and the next start makes the box from it. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "sandbox/lifecycle/lifecycle.h"
#include "sandbox/lifecycle/limits.h"

#define MARK   "resizing"
#define LIMITS (SANDBOX_CONFIG_MEMORY | SANDBOX_CONFIG_CPU | SANDBOX_CONFIG_PIDS | SANDBOX_CONFIG_DISK)

struct resizing {
    struct sandbox *s;
    uint64_t box_number; /* the box that the change is for */
    json_t *former;      /* as MARK has it */
    struct err err;      /* why it failed */
    manager_sandbox_fn *fn;
    void *arg;
};

/* What the limits were, as a configuration with only these members. */
static json_t *limits_of(const struct sandbox_config *c)
{
    struct sandbox_config part = *c; /* nothing of it is owned */
    part.given = LIMITS | SANDBOX_CONFIG_INODES;
    return sandbox_config_write(&part);
}

static void set_limits(struct sandbox *s, const json_t *limits)
{
    struct sandbox_config c = sandbox_config_copy(&s->config);
    sandbox_config_read(&c, limits);
    sandbox_set_config(s, &c);
}

static int unmark(struct sandbox *s, struct err *err)
{
    (void)json_object_del(s->extra, MARK);
    return sandbox_save(s, err);
}

static void resize_finish(struct resizing *x, const struct err *err)
{
    struct sandbox *s = x->s;
    if (!err)
        (void)event_log_emit(s->manager->events, "sandbox.resized", s->id, limits_of(&s->config));
    else
        log_event(LOG_WARN, "sandbox.resize", "id", s->id, "error", err->msg, NULL);
    if (x->fn)
        x->fn(x->arg, err ? NULL : s, err);
    lifecycle_change_end(s);
    sandbox_unref(s);
    json_decref(x->former);
    free(x);
}

static bool has_box(const struct resizing *x)
{
    return !x->s->is_gone && x->s->box && x->s->box_number == x->box_number;
}

static void on_restored(void *arg, const struct err *err)
{
    struct resizing *x = arg;
    struct err why = ERR_INIT;
    if (err) /* the next adoption or start does it */
        log_event(LOG_ERROR, "sandbox.resize", "id", x->s->id, "error", err->msg, NULL);
    else if (!x->s->is_gone && unmark(x->s, &why) < 0)
        log_event(LOG_ERROR, "sandbox.resize", "id", x->s->id, "error", why.msg, NULL);
    resize_finish(x, &x->err);
}

/* The driver could not: the box gets its former limits again. */
static void resize_undo(struct resizing *x, const struct err *err)
{
    struct sandbox *s = x->s;
    x->err = *err;
    set_limits(s, x->former);
    struct box_plan plan = lifecycle_box_plan(s);
    if (has_box(x))
        s->runtime->ops->set_limits(s->box, plan.memory_mb, plan.cpu_milli, plan.pids_max, on_restored, x);
    else
        on_restored(x, NULL);
}

static void on_resized(void *arg, const struct err *err)
{
    struct resizing *x = arg;
    struct err why = ERR_INIT;
    if (x->s->is_gone)
        (void)err_set(&why, ERR_NOT_FOUND, 0, "sandbox not found: %s", x->s->id);
    else if (!err && !has_box(x)) /* it died: a start makes a box from the record */
        (void)err_set(&why, ERR_CONFLICT, 0, "sandbox %s ended meanwhile", x->s->id);
    if (why.code || err)
        resize_undo(x, why.code ? &why : err);
    else if (unmark(x->s, &why) < 0)
        resize_finish(x, &why); /* box and record agree; the next adoption removes the mark */
    else
        resize_finish(x, NULL);
}

static void on_limited(void *arg, const struct err *err)
{
    struct resizing *x = arg;
    struct sandbox *s = x->s;
    bool is_grown = s->config.disk_mb != json_get_int(x->former, "diskMb", 0);
    struct box_plan plan = lifecycle_box_plan(s);
    if (err || !is_grown || !has_box(x))
        on_resized(x, err);
    else
        s->runtime->ops->grow_disk(s->box, plan.disk_mb, plan.inodes, on_resized, x);
}

/* Brings the box to what the record says. Takes former. */
static void resize_begin(struct sandbox *s, json_t *former, manager_sandbox_fn *fn, void *arg)
{
    struct resizing *x = xzalloc(sizeof(*x));
    *x = (struct resizing){ .s = sandbox_ref(s), .box_number = s->box_number, .former = former, .fn = fn, .arg = arg };
    lifecycle_change_begin(s);
    struct box_plan plan = lifecycle_box_plan(s);
    bool is_only_disk = json_get_int(former, "memory", 0) == s->config.memory_mb &&
                        json_get_int(former, "pids", 0) == s->config.pids &&
                        json_get_num(former, "cpu", 0) == s->config.cpu;
    if (is_only_disk)
        on_limited(x, NULL);
    else
        s->runtime->ops->set_limits(s->box, plan.memory_mb, plan.cpu_milli, plan.pids_max, on_limited, x);
}

void lifecycle_resize_again(struct sandbox *s)
{
    json_t *former = json_incref(json_get(s->extra, MARK));
    if (former)
        resize_begin(s, former, NULL, NULL);
}

/* --- what is possible --- */

/* The new configuration: what is asked for, moved into its range as a create does. The inodes of a disk grow with it.
 */
static struct sandbox_config config_with(const struct sandbox *s, const struct sandbox_config *to)
{
    struct sandbox_config c = sandbox_config_copy(&s->config), moved = *to; /* nothing of moved is owned */
    moved.given &= LIMITS;
    sandbox_config_settle_numbers(&moved, s->manager->settings);
    if (to->given & SANDBOX_CONFIG_MEMORY)
        c.memory_mb = moved.memory_mb;
    if (to->given & SANDBOX_CONFIG_CPU)
        c.cpu = moved.cpu;
    if (to->given & SANDBOX_CONFIG_PIDS)
        c.pids = moved.pids;
    if (to->given & SANDBOX_CONFIG_DISK && c.disk_mb > 0 && to->disk_mb > 0) {
        double factor = (double)moved.disk_mb / (double)c.disk_mb;
        double inodes = (double)c.inodes * factor;
        c.inodes = inodes > LIMIT_MAX(INODES) ? LIMIT_MAX(INODES) : (int64_t)inodes;
        c.disk_mb = moved.disk_mb;
    }
    return c;
}

static int check_disk(const struct sandbox *s, const struct sandbox_config *c, const struct sandbox_config *to,
                      struct err *err)
{
    const struct runtime_ops *ops = s->runtime->ops;
    if (!(to->given & SANDBOX_CONFIG_DISK) || (to->disk_mb == s->config.disk_mb))
        return 0;
    if (!ops->caps(s->runtime).can_grow)
        return runtime_cannot(s->runtime, "growDisk", "grow a disk", err);
    if (s->config.disk_mb == 0)
        return err_set(err, ERR_CONFLICT, 0,
                       "diskMb: sandbox %s has no disk of its own to grow; create one with diskMb", s->id);
    if (to->disk_mb <= 0 || c->disk_mb < s->config.disk_mb)
        return err_set(err, ERR_INVALID, 0, "diskMb: a disk only grows, and that of sandbox %s has %lld MB", s->id,
                       (long long)s->config.disk_mb);
    return limits_check_reserve(image_store_free_mb(s->manager->images), s->manager->settings, err);
}

/* Of a sandbox with a box: whether its backend can. */
static int check_backend(const struct sandbox *s, const struct sandbox_config *c, struct err *err)
{
    const struct runtime_caps caps = s->runtime->ops->caps(s->runtime);
    const struct {
        bool is_changed, can;
        const char *cap, *what;
    } checks[] = {
        { c->memory_mb != s->config.memory_mb, caps.can_limit_memory, "limitMemory", "change the memory of a sandbox" },
        { c->memory_mb != s->config.memory_mb, caps.can_resize, "resize", "change the memory of a running sandbox" },
        { c->cpu != s->config.cpu, caps.can_limit_cpu, "limitCpu", "change the CPUs of a sandbox" },
        { c->pids != s->config.pids, caps.can_limit_pids, "limitPids", "change the process limit of a sandbox" },
        { c->pids != s->config.pids, caps.can_resize, "resize", "change the process limit of a running sandbox" },
    };
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
        if (checks[i].is_changed && !checks[i].can)
            return runtime_cannot(s->runtime, checks[i].cap, checks[i].what, err);
    return 0;
}

static int check_quota(const struct sandbox *s, const struct sandbox_config *c, const struct tenant_by *caller,
                       struct err *err)
{
    struct tenant_by by = { .tenant = s->tenant };
    if (!caller || s->status == SANDBOX_STOPPED) /* a start asks */
        return 0;
    by.quota = caller->quota;
    double mb = (double)(c->memory_mb - s->config.memory_mb), cpus = c->cpu - s->config.cpu;
    int r = mb > 0 ? tenant_check(s->manager, &by, QUOTA_MEMORY_MB, mb, err) : 0;
    return r == 0 && cpus > 0 ? tenant_check(s->manager, &by, QUOTA_CPUS, cpus, err) : r;
}

void manager_resize(struct sandbox *s, const struct sandbox_config *to, const struct tenant_by *by,
                    manager_sandbox_fn *fn, void *arg)
{
    struct err err = ERR_INIT;
    struct sandbox_config c = config_with(s, to);
    int r = lifecycle_check_unchanging(s, &err);
    if (r == 0 && !s->box && s->status != SANDBOX_STOPPED)
        r = err_set(&err, ERR_CONFLICT, 0, "sandbox %s is not running (it is %s)", s->id,
                    sandbox_status_name(s->status));
    if (r == 0)
        r = check_disk(s, &c, to, &err);
    if (r == 0 && s->box)
        r = check_backend(s, &c, &err);
    if (r == 0)
        r = check_quota(s, &c, by, &err);
    if (r < 0) {
        sandbox_config_done(&c);
        fn(arg, NULL, &err);
        return;
    }
    json_t *former = limits_of(&s->config);
    sandbox_set_config(s, &c);
    if (s->box)
        (void)json_object_set(s->extra, MARK, former);
    if (sandbox_save(s, &err) < 0) {
        set_limits(s, former);
        (void)json_object_del(s->extra, MARK);
        json_decref(former);
        fn(arg, NULL, &err);
    } else if (s->box) {
        resize_begin(s, former, fn, arg);
    } else {
        (void)event_log_emit(s->manager->events, "sandbox.resized", s->id, limits_of(&s->config));
        json_decref(former);
        fn(arg, s, NULL);
    }
}
