/* Start and stop of the whole server: adopts boxes that still run, removes incomplete ones, ends all at the stop. */
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "sandbox/exec/background.h"
#include "sandbox/exec/context.h"
#include "sandbox/exec/queue.h"
#include "sandbox/exec/services.h"
#include "sandbox/lifecycle/idle.h"
#include "sandbox/lifecycle/lifecycle.h"
#include "sandbox/lifecycle/offload.h"
#include "sandbox/lifecycle/pool.h"
#include "sandbox/lifecycle/restart.h"
#include "sandbox/net/networks.h"
#include "sandbox/observe/alerts.h"
#include "sandbox/storage/capture.h"
#include "sandbox/storage/pins.h"
#include "sandbox/storage/pulls.h"
#include "sandbox/storage/snapshots.h"
#include "sandbox/storage/volumes.h"

#define SETTLE_MS 2 /* between two checks for boxes that are still ending, at the server's stop only */

struct recovery {
    struct manager *m;
    loop_fn *done;
    void *arg;
    unsigned pending;
    const char **kept; /* box ids; borrowed from the sandboxes */
    size_t n_kept;
};

struct adoption {
    struct recovery *r;
    struct sandbox *s;
    char *why; /* it could not be adopted; or NULL */
};

static void on_complete(void *arg)
{
    struct recovery *r = arg;
    r->m->is_recovering = false;
    pins_sweep(r->m);
    pool_start(r->m->pool);
    restart_after_recovery(r->m);
    r->done(r->arg);
    free(r->kept);
    free(r);
}

static void on_swept(void *arg, const struct err *err)
{
    struct recovery *r = arg;
    if (err)
        log_event(LOG_WARN, "recover.sweep", "error", err->msg, NULL);
    if (--r->pending > 0)
        return;
    volumes_when_mounted(r->m->volumes, on_complete, r); /* of a restore that the crash interrupted */
}

static void sweep(struct recovery *r)
{
    struct manager *m = r->m;
    r->kept = xzalloc((map_count(m->sandboxes) + 1) * sizeof(char *));
    for (struct map_iter it = map_iter(m->sandboxes); map_next(&it);)
        r->kept[r->n_kept++] = ((struct sandbox *)it.value)->box_id;
    r->pending = (unsigned)m->n_runtimes;
    for (size_t i = 0; i < m->n_runtimes; i++)
        m->runtimes[i]->ops->sweep(m->runtimes[i], r->kept, r->n_kept, on_swept, r);
}

static void drop_sandbox(struct sandbox *s, const char *why)
{
    struct manager *m = s->manager;
    log_event(LOG_WARN, "sandbox.lost", "id", s->id, "why", why, NULL);
    (void)store_delete(m->store, "sandbox", s->id, NULL); /* tried again at the next start */
    (void)map_remove(m->sandboxes, s->id);
    alerts_drop(m->alerts, s->id);
    background_drop(m->background, s->id);
    context_set_drop(m->contexts, s->id);
    queue_sandbox_gone(m->queue, s->id);
    (void)event_log_emit(m->events, "sandbox.error", s->id, json_pack("{s:s}", "error", why));
    sandbox_unref(s);
}

static void adoption_finish(struct adoption *a)
{
    struct recovery *r = a->r;
    struct err why = ERR_INIT;
    bool is_there = map_get(r->m->sandboxes, a->s->id) == a->s;
    if (is_there && capture_recover(a->s, &why) < 0)
        log_event(LOG_ERROR, "sandbox.capture", "id", a->s->id, "error", why.msg, NULL);
    sandbox_unref(a->s);
    free(a->why);
    free(a);
    if (--r->pending == 0)
        sweep(r);
}

/* What ran is gone: a reboot, or it was ended by somebody else. A crash in the middle of a stop ends here, too. */
static void become_stopped(struct sandbox *s, char *error)
{
    struct err why = ERR_INIT;
    s->why = error;
    log_event(LOG_WARN, "sandbox.stopped", "id", s->id, "why", s->why, NULL);
    lifecycle_mark_stopped(s, "lost");
    if (sandbox_save(s, &why) < 0) /* the next start of the server does the same */
        log_event(LOG_ERROR, "recover.record", "key", s->id, "error", why.msg, NULL);
    (void)event_log_emit(s->manager->events, "sandbox.stopped", s->id,
                         json_pack("{s:s, s:s}", "reason", s->stop.reason, "error", s->why));
}

/* Nothing of it runs any more. */
static void on_retained(void *arg, const struct err *err)
{
    struct adoption *a = arg;
    struct sandbox *s = a->s;
    bool has_files = !err || err->code != ERR_NOT_FOUND; /* what cannot be looked for now, a start finds */
    if (err && has_files)
        log_event(LOG_WARN, "recover.retain", "id", s->id, "error", err->msg, NULL);
    if (s->is_gone && has_files)
        s->runtime->ops->discard(s->runtime, s->kept, NULL, NULL);
    else if (!s->is_gone && !has_files)
        drop_sandbox(s, err->msg);
    else if (!s->is_gone && s->status != SANDBOX_STOPPED)
        become_stopped(s, STEAL(a->why));
    else if (!s->is_gone)
        manager_slept(a->r->m, s);
    adoption_finish(a);
}

static void on_adopted(void *arg, struct box *box, int guest_fd, const struct err *err)
{
    struct adoption *a = arg;
    struct sandbox *s = a->s;
    const struct runtime_ops *ops = s->runtime->ops;
    struct err why = ERR_INIT;
    if (s->is_gone) { /* it expired, or the server was stopped, while the driver searched for the box */
        if (box) {
            (void)close(guest_fd); /* it has had no request */
            ops->destroy(box, NULL, NULL);
        } else if (ops->discard) {
            ops->discard(s->runtime, s->kept, NULL, NULL);
        }
    } else if (box && lifecycle_connect(s, box, guest_fd, &why) == 0) {
        s->kept = json_unref(s->kept);
        idle_touch(s);
        manager_entered(a->r->m, s);
        services_begin(s, false);
        lifecycle_resize_again(s);
    } else if (ops->retain) {
        a->why = xstrdup(box ? why.msg : err->msg);
        ops->retain(s->runtime, s->kept, on_retained, a);
        return;
    } else {
        drop_sandbox(s, box ? why.msg : err->msg);
    }
    adoption_finish(a);
}

static bool load(void *arg, const char *key, json_t *doc)
{
    struct recovery *r = arg;
    struct sandbox *s = NULL;
    struct err err = ERR_INIT;
    if (sandbox_from_record(r->m, doc, &s, &err) < 0) {
        log_event(LOG_ERROR, "recover.record", "key", key, "error", err.msg, NULL);
        return true;
    }
    map_set(r->m->sandboxes, s->id, s);
    return true;
}

/* The driver's helper process died and was restarted: boxes are unchanged, networks have to be created again. */
static void on_runtime_restart(void *arg)
{
    struct manager *m = arg;
    log_event(LOG_WARN, "runtime.restart", "sandboxes", "continue", NULL);
    for (struct map_iter it = map_iter(m->sandboxes); map_next(&it);) {
        networks_rejoin(m->networks, it.value);
        volumes_remount(m->volumes, it.value); /* mounts that ended with the old helper; the others exist */
    }
}

void manager_recover(struct manager *m, loop_fn *done, void *arg)
{
    for (size_t i = 0; i < m->n_runtimes; i++)
        if (m->runtimes[i]->ops->on_restart)
            m->runtimes[i]->ops->on_restart(m->runtimes[i], on_runtime_restart, m);
    struct recovery *r = xzalloc(sizeof(*r));
    m->is_recovering = true;
    *r = (struct recovery){ .m = m, .done = done, .arg = arg, .pending = 1 };
    struct err err = ERR_INIT;
    if (store_each(m->store, "sandbox", false, load, r, &err) < 0)
        log_event(LOG_ERROR, "recover.records", "error", err.msg, NULL);
    background_load(m->background);
    context_set_load(m->contexts);
    queue_load(m->queue);
    snapshots_load(m->snapshots);
    for (struct map_iter it = map_iter(m->sandboxes); map_next(&it);) {
        struct sandbox *s = it.value;
        struct adoption *a = xzalloc(sizeof(*a));
        *a = (struct adoption){ .r = r, .s = sandbox_ref(s) };
        r->pending++;
        lifecycle_pin_saved(s);
        if (s->status == SANDBOX_HIBERNATED) { /* a box of an interrupted hibernate or start is swept */
            manager_slept(m, s);
            adoption_finish(a);
        } else if (s->status == SANDBOX_STOPPED && s->runtime->ops->retain) /* a crash may have interrupted its start */
            s->runtime->ops->retain(s->runtime, s->kept, on_retained, a);
        else
            s->runtime->ops->adopt(s->runtime, s->kept, s->status == SANDBOX_PAUSED, on_adopted, a);
    }
    if (--r->pending == 0)
        sweep(r);
}

struct ending {
    struct manager *m;
    enum manager_end end;
    struct timer *timer;
    loop_fn *done;
    void *arg;
    unsigned pending;
};

/* Creates whose client disconnected, boxes that the pool has ordered, and boxes of the previous server that are to end
 * must first be complete before they can end. */
static void look_again(void *arg)
{
    struct ending *e = arg;
    const struct manager *m = e->m;
    bool is_recovering = m->is_recovering && e->end != MANAGER_KEEP;
    if (e->pending || m->n_creating || m->n_changing || is_recovering || !pool_is_idle(m->pool)) {
        timer_set(e->timer, SETTLE_MS, 0);
        return;
    }
    timer_free(e->timer);
    e->done(e->arg);
    free(e);
}

static void on_ended(void *arg, const struct err *err)
{
    struct ending *e = arg;
    (void)err; /* what could not be removed now is swept at the next start */
    e->pending--;
}

static void on_idle(void *arg)
{
    on_ended(arg, NULL);
}

int manager_end_parse(const char *text, enum manager_end *ret, struct err *err)
{
    static const char *const names[] = {
        [MANAGER_KEEP] = "keep", [MANAGER_STOP] = "stop", [MANAGER_REMOVE] = "remove"
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(text, names[i]) == 0) {
            *ret = (enum manager_end)i;
            return 0;
        }
    return err_set(err, ERR_INVALID, 0, "III_ON_SHUTDOWN is \"%s\": it must be keep, stop or remove", text);
}

static void end_sandbox(struct ending *e, struct sandbox *s)
{
    static const struct manager_stop_plan plan = { .timeout_ms = LIMIT_DEFAULT(STOP_S) * 1000, .reason = "shutdown" };
    struct box *box = e->end == MANAGER_REMOVE ? STEAL(s->box) : NULL; /* so that the kill leaves its end to us */
    if (e->end == MANAGER_STOP)
        manager_stop(s, &plan, NULL, NULL); /* one that cannot be stopped is kept */
    if (e->end != MANAGER_REMOVE)
        return;
    struct runtime *rt = s->runtime;
    if (manager_kill(e->m, s, "sandbox.killed", NULL) < 0)
        log_event(LOG_WARN, "sandbox.kill", "id", s->id, "error", "the store refused", NULL);
    e->pending += box != NULL;
    if (box)
        rt->ops->destroy(box, on_ended, e);
}

void manager_shutdown(struct manager *m, enum manager_end end, loop_fn *done, void *arg)
{
    struct ending *e = xzalloc(sizeof(*e));
    *e = (struct ending){ .m = m, .end = end, .done = done, .arg = arg, .pending = 1 };
    e->timer = timer_new(m->loop, 0, 0, look_again, e);
    m->is_closing = true;
    for (struct map_iter it = map_iter(m->sandboxes); map_next(&it);)
        lifecycle_hurry(it.value);
    pool_stop(m->pool);
    pulls_stop(m->pulls);
    for (size_t i = 0; i < m->n_runtimes; i++)
        if (m->runtimes[i]->ops->stop)
            m->runtimes[i]->ops->stop(m->runtimes[i]);
    for (struct map_iter it = map_iter(m->sandboxes); map_next(&it);)
        end_sandbox(e, it.value);
    offload_finish(m, on_idle, e);
}
