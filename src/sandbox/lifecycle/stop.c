/* Theory of operation. A stopped sandbox has its record, its pins and its files, and no box: no process, no memory, no
 * network. s->kept, what the driver's save() returned, leads to the files.
 *
 * A stop gives the processes time to exit (struct stopping: the agent sends SIGTERM to all), then the driver halts the
 * box. From then on the sandbox is stopped for every caller; it is acknowledged when the record says so. A crash
 * between the two leaves a record that says "running": recovery does not find the box, keeps its files and makes it
 * stopped. So nothing that ends a box this way can lose files, and the record never has to be written first.
 *
 * A start makes a box over the kept files. Whoever needs the sandbox to run is a struct manager_waiter in its list: the
 * first one starts it, all get the same result. While another change is under way, they wait for its end. A start that
 * fails leaves the sandbox stopped, with its files, and gives each waiter the error.
 *
 * A hibernation pauses the box, so that nothing happens after what is saved, and lets the driver save memory and files
 * as an image (s->saved, pinned for saved_owner()). The record names the image before the box ends, and the box before
 * the image is dropped: a crash in between leaves a box or an image that no record names, and recovery removes it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "sandbox/exec/services.h"
#include "sandbox/lifecycle/idle.h"
#include "sandbox/lifecycle/lifecycle.h"
#include "sandbox/lifecycle/limits.h"
#include "sandbox/lifecycle/restart.h"
#include "sandbox/lifecycle/starts.h"
#include "sandbox/net/egress.h"
#include "sandbox/storage/capture.h"
#include "sandbox/storage/volumes.h"

#define HALT_AGAIN_MS 2000

struct stopping {
    struct sandbox *s;
    struct timer *patience; /* until its processes are killed; later, until the driver is asked again */
    bool is_asked;          /* the agent has not answered yet: its callback frees us */
    bool is_halting;        /* the driver has the box */
    bool is_over;
    char *reason;
    bool was_running;       /* a hibernation: it is resumed when it fails */
    manager_sandbox_fn *fn; /* or NULL */
    void *arg;
};

struct manager_waiter {
    struct manager_waiter *next;
    struct sandbox *s;
    struct quota quota; /* of the caller; without one no limit is set */
    manager_sandbox_fn *fn;
    void *arg;
    struct manager_waiter **slot; /* cleared before fn is called */
    bool is_cancelled;            /* by the callback of another that was told before */
};

void lifecycle_change_begin(struct sandbox *s)
{
    s->is_changing = true;
    s->manager->n_changing++;
}

void lifecycle_change_end(struct sandbox *s)
{
    s->is_changing = s->stopping || s->is_starting;
    s->manager->n_changing--;
    manager_settled(s);
}

int lifecycle_check_unchanging(const struct sandbox *s, struct err *err)
{
    if (s->is_changing || s->is_restoring)
        return err_set(err, ERR_CONFLICT, 0,
                       "sandbox %s is being paused, stopped, started, resized or restored: try again", s->id);
    if (s->captures)
        return err_set(err, ERR_CONFLICT, 0, "sandbox %s is being captured: try again", s->id);
    return 0;
}

static int not_found(const struct sandbox *s, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, 0, "sandbox not found: %s", s->id);
}

/* --- stop --- */

static void stop_finish(struct stopping *x, const struct err *err)
{
    struct sandbox *s = x->s;
    s->stopping = NULL;
    x->is_over = true;
    x->patience = timer_free(x->patience);
    if (x->fn)
        x->fn(x->arg, err ? NULL : s, err);
    lifecycle_change_end(s);
    sandbox_unref(s);
    if (x->is_asked)
        return;
    free(x->reason);
    free(x);
}

static void on_halted(void *arg, const struct err *err);

static void halt_again(void *arg)
{
    struct stopping *x = arg;
    x->s->runtime->ops->retain(x->s->runtime, x->s->kept, on_halted, x);
}

/* The driver could not end it: who asked is told, and it is tried again until the server stops. */
static void halt_later(struct stopping *x, const struct err *err)
{
    manager_sandbox_fn *fn = STEAL(x->fn);
    log_event(LOG_WARN, "sandbox.stop", "id", x->s->id, "error", err->msg, "then", "tried again", NULL);
    timer_free(x->patience);
    x->patience = timer_new(x->s->manager->loop, HALT_AGAIN_MS, 0, halt_again, x);
    if (fn)
        fn(x->arg, NULL, err);
}

static void on_halted(void *arg, const struct err *err)
{
    struct stopping *x = arg;
    struct sandbox *s = x->s;
    struct err why = ERR_INIT;
    if (s->is_gone) { /* killed meanwhile */
        s->runtime->ops->discard(s->runtime, s->kept, NULL, NULL);
        (void)not_found(s, &why);
        stop_finish(x, &why);
        return;
    }
    if (err && err->code != ERR_NOT_FOUND && !s->manager->is_closing) {
        halt_later(x, err);
        return;
    }
    if (err) { /* recovery looks for it, or its files are gone and a start says so */
        stop_finish(x, err);
        return;
    }
    if (sandbox_save(s, &why) < 0) { /* recovery finds that it is stopped */
        stop_finish(x, &why);
        return;
    }
    (void)sandbox_ref(s);
    (void)event_log_emit(s->manager->events, "sandbox.stopped", s->id,
                         json_pack("{s:s, s:s*}", "reason", s->stop.reason, "error", s->why));
    bool has_died = strcmp(s->stop.reason, "died") == 0;
    stop_finish(x, NULL);
    if (has_died)
        restart_died(s);
    sandbox_unref(s);
}

/* Whether somebody wants it to sleep: then its time to live stands still. */
static bool is_meant(const char *reason)
{
    return strcmp(reason, "request") == 0 || strcmp(reason, "timeout") == 0 || strcmp(reason, "idle") == 0;
}

static void set_asleep(struct sandbox *s, enum sandbox_status to, const char *reason)
{
    char *copy = xstrdup(reason);
    if (!sandbox_is_asleep(s)) /* else a start failed */
        s->stop.has_expiry |= s->expires_at != 0;
    s->status = to;
    s->stop.at = clock_wall_ms();
    free(s->stop.reason);
    s->stop.reason = copy;
    s->is_persistent = true;
    if (is_meant(reason))
        sandbox_expire_at(s, 0);
    s->cpu_seen_us = s->cpu_seen_at_us = 0; /* the next box counts from 0 */
    s->oom_seen = 0;
    s->inside.is_known = false;
}

void lifecycle_mark_stopped(struct sandbox *s, const char *reason)
{
    set_asleep(s, SANDBOX_STOPPED, reason);
    manager_slept(s->manager, s);
}

/* The time of its processes is over: the box ends, with whatever still runs in it. */
static void halt(void *arg)
{
    struct stopping *x = arg;
    struct sandbox *s = x->s;
    struct err why = ERR_INIT;
    if (s->is_gone || !s->box) { /* killed, or the server stops */
        (void)not_found(s, &why);
        stop_finish(x, &why);
        return;
    }
    x->is_halting = true;
    x->patience = timer_free(x->patience);
    json_decref(s->kept);
    s->kept = s->runtime->ops->save(s->box);
    s->link = guest_link_free(s->link);
    lifecycle_mark_stopped(s, x->reason);
    s->runtime->ops->halt(STEAL(s->box), on_halted, x);
}

/* No process is left, or the link ended. */
static void on_processes_ended(void *arg, const struct err *err)
{
    struct stopping *x = arg;
    (void)err; /* what has not exited is killed */
    x->is_asked = false;
    if (x->is_over) {
        free(x->reason);
        free(x);
    } else if (!x->is_halting) {
        timer_set(x->patience, 0, 0);
    }
}

static void stop_begin(struct sandbox *s, const struct manager_stop_plan *plan, manager_sandbox_fn *fn, void *arg)
{
    struct stopping *x = xzalloc(sizeof(*x));
    *x = (struct stopping){ .s = sandbox_ref(s), .reason = xstrdup(plan->reason), .fn = fn, .arg = arg };
    s->stopping = x;
    lifecycle_change_begin(s);
    x->patience = timer_new(s->manager->loop, plan->timeout_ms, 0, halt, x);
    bool is_polite = plan->timeout_ms > 0 && s->link && s->status == SANDBOX_RUNNING;
    x->is_asked = is_polite && guest_end(s->link, SIGTERM, on_processes_ended, x) == 0;
    if (!x->is_asked)
        timer_set(x->patience, 0, 0);
}

void manager_stop(struct sandbox *s, const struct manager_stop_plan *plan, manager_sandbox_fn *fn, void *arg)
{
    struct err err = ERR_INIT;
    int r = 0;
    if (s->status == SANDBOX_STOPPED && !s->is_changing) {
        if (fn)
            fn(arg, s, NULL);
        return;
    }
    if (!s->runtime->ops->halt)
        r = runtime_cannot(s->runtime, "stop", "stop a sandbox and keep its files", &err);
    else if ((r = lifecycle_check_unchanging(s, &err)) == 0 && !s->box)
        r = err_set(&err, ERR_CONFLICT, 0, "sandbox %s is not running (it is %s)", s->id,
                    sandbox_status_name(s->status));
    if (r == 0)
        stop_begin(s, plan, fn, arg);
    else if (fn)
        fn(arg, NULL, &err);
}

void lifecycle_stop_dead(struct sandbox *s)
{
    static const struct manager_stop_plan plan = { .reason = "died" };
    stop_begin(s, &plan, NULL, NULL);
}

void lifecycle_hurry(struct sandbox *s)
{
    if (s->stopping && s->stopping->patience)
        timer_set(s->stopping->patience, 0, 0);
}

/* --- hibernate --- */

/* Another owner than the sandbox, which has the pin of what it was made from. */
static void saved_owner(const struct sandbox *s, char ret[IDENT_MAX])
{
    (void)snprintf(ret, IDENT_MAX, "hib_%s", s->id + strlen("sbx_"));
}

void lifecycle_pin_saved(struct sandbox *s)
{
    char owner[IDENT_MAX];
    saved_owner(s, owner);
    if (s->saved && s->runtime->ops->saves)
        s->runtime->ops->saves->pin(s->runtime, s->saved, owner);
}

void lifecycle_drop_saved(struct sandbox *s)
{
    char owner[IDENT_MAX];
    saved_owner(s, owner);
    if (s->saved)
        s->runtime->ops->saves->unpin(s->runtime, owner);
    free(STEAL(s->saved));
}

static void hibernate_finish(struct stopping *x, const struct err *err)
{
    struct sandbox *s = x->s;
    if (err && s->box && x->was_running && !s->is_gone)
        s->runtime->ops->resume(s->box, NULL, NULL); /* as if nothing had been asked */
    (void)sandbox_ref(s);
    lifecycle_tell_still(s);
    stop_finish(x, err);
    if (!s->is_gone && s->box && !s->link)
        lifecycle_die(s); /* meanwhile */
    sandbox_unref(s);
}

static void on_hibernated(void *arg, const struct err *err)
{
    struct stopping *x = arg;
    struct err why = ERR_INIT;
    if (err) /* the driver's sweep takes the rest */
        log_event(LOG_WARN, "sandbox.destroy", "id", x->s->id, "error", err->msg, NULL);
    if (x->s->is_gone)
        (void)not_found(x->s, &why);
    else
        (void)event_log_emit(x->s->manager->events, "sandbox.hibernated", x->s->id,
                             json_pack("{s:s}", "reason", x->s->stop.reason));
    stop_finish(x, why.code ? &why : NULL);
}

/* Whether it can still be saved; else the hibernation is over. */
static bool hibernate_continues(struct stopping *x, const struct err *err)
{
    struct err why = ERR_INIT;
    if (x->s->is_gone)
        (void)not_found(x->s, &why);
    else if (!err && !x->s->link)
        (void)err_set(&why, ERR_GONE, 0, "sandbox %s died while it was hibernated: %s", x->s->id,
                      x->s->why ? x->s->why : "it is gone");
    if (!why.code && !err)
        return true;
    hibernate_finish(x, why.code ? &why : err);
    return false;
}

/* What is saved is complete: the record names it, then the box ends. */
static void on_saved(void *arg, const struct box_image *made, const struct err *err)
{
    struct stopping *x = arg;
    struct sandbox *s = x->s;
    struct err why = ERR_INIT;
    if (made)
        s->saved = xstrdup(made->id);
    if (s->is_gone)
        lifecycle_drop_saved(s);
    if (!hibernate_continues(x, err)) {
        if (!s->is_gone)
            lifecycle_drop_saved(s);
        return;
    }
    struct box *box = STEAL(s->box);
    enum sandbox_status was = s->status;
    int64_t expires_at = s->expires_at;
    set_asleep(s, SANDBOX_HIBERNATED, x->reason);
    if (sandbox_save(s, &why) < 0) {
        s->box = box;
        s->status = was;
        sandbox_expire_at(s, expires_at);
        lifecycle_drop_saved(s);
        hibernate_finish(x, &why);
        return;
    }
    s->link = guest_link_free(s->link);
    manager_slept(s->manager, s);
    s->runtime->ops->destroy(box, on_hibernated, x);
}

static void on_still(void *arg, const struct err *err)
{
    struct stopping *x = arg;
    struct sandbox *s = x->s;
    char owner[IDENT_MAX];
    if (!hibernate_continues(x, err))
        return;
    guest_link_stand_still(s->link, true);
    saved_owner(s, owner);
    s->runtime->ops->saves->commit(s->box, owner, on_saved, x);
}

static int check_hibernate(const struct sandbox *s, struct err *err)
{
    int r = 0;
    if (!s->runtime->ops->caps(s->runtime).can_hibernate)
        return runtime_cannot(s->runtime, "hibernate", "hibernate a sandbox", err);
    if ((r = lifecycle_check_unchanging(s, err)) < 0)
        return r;
    if (!s->box || !s->link)
        return err_set(err, ERR_CONFLICT, 0, "sandbox %s is not running (it is %s)", s->id,
                       sandbox_status_name(s->status));
    return limits_check_reserve(image_store_free_mb(s->manager->images), s->manager->settings, err);
}

void manager_hibernate(struct sandbox *s, const char *reason, manager_sandbox_fn *fn, void *arg)
{
    struct err err = ERR_INIT;
    if (s->status == SANDBOX_HIBERNATED && !s->is_changing) {
        if (fn)
            fn(arg, s, NULL);
        return;
    }
    if (check_hibernate(s, &err) < 0) {
        if (fn)
            fn(arg, NULL, &err);
        return;
    }
    struct stopping *x = xzalloc(sizeof(*x));
    *x = (struct stopping){ .s = sandbox_ref(s), .reason = xstrdup(reason), .fn = fn, .arg = arg };
    x->was_running = s->status == SANDBOX_RUNNING;
    s->stopping = x;
    lifecycle_change_begin(s);
    if (x->was_running)
        s->runtime->ops->pause(s->box, on_still, x);
    else
        on_still(x, NULL);
}

/* --- start --- */

static void waiter_free(struct manager_waiter *w)
{
    sandbox_unref(w->s);
    free(w);
}

/* A callback may kill the sandbox, stop it again or wait again. */
static void answer_all(struct sandbox *s, const struct err *err)
{
    struct manager_waiter *list = STEAL(s->waiters);
    while (list) {
        struct manager_waiter *w = list;
        struct err why = ERR_INIT;
        list = w->next;
        if (!err && s->is_gone)
            (void)not_found(s, &why);
        const struct err *told = err ? err : why.code ? &why : NULL;
        if (!w->is_cancelled) {
            *w->slot = NULL;
            w->fn(w->arg, told ? NULL : s, told);
        }
        waiter_free(w);
    }
}

static void start_finish(struct sandbox *s, const struct err *err)
{
    s->is_starting = false;
    if (err && !s->is_gone)
        log_event(LOG_WARN, "sandbox.start", "id", s->id, "error", err->msg, NULL);
    answer_all(s, err);
    lifecycle_change_end(s);
    sandbox_unref(s);
}

/* The box that was just made ends again: as if it had died. */
static void start_undo(struct sandbox *s, const struct err *err)
{
    struct err why = ERR_INIT;
    s->link = guest_link_free(s->link);
    if (s->box && (s->is_gone || s->saved))
        s->runtime->ops->destroy(STEAL(s->box), NULL, NULL);
    else if (s->box)
        lifecycle_stop_dead(s);
    if (s->saved && !s->is_gone && s->status != SANDBOX_HIBERNATED) { /* what it was made from is still there */
        set_asleep(s, SANDBOX_HIBERNATED, s->stop.reason);
        if (sandbox_save(s, &why) < 0)
            log_event(LOG_ERROR, "sandbox.start", "id", s->id, "error", why.msg, NULL);
        manager_slept(s->manager, s);
    }
    start_finish(s, err);
}

/* Whether it is there to be continued with; else it ends, for the reason in err. */
static bool start_is_alive(struct sandbox *s)
{
    struct err why = ERR_INIT;
    if (s->is_gone)
        (void)not_found(s, &why);
    else if (!s->link) /* lifecycle_die() left it to us */
        (void)err_set(&why, ERR_INTERNAL, 0, "sandbox %s died while it was started: %s", s->id,
                      s->why ? s->why : "it is gone");
    if (why.code)
        start_undo(s, &why);
    return !why.code;
}

static void on_mounted(void *arg)
{
    struct sandbox *s = arg;
    if (!start_is_alive(s))
        return;
    if (s->saved) { /* it continues */
        lifecycle_drop_saved(s);
        services_begin(s, false);
    } else {
        lifecycle_start_entrypoint(s);
    }
    guest_await_ports(s->link, LIMIT_MAX(AWAKE_PORT_MS));
    restart_started(s);
    (void)event_log_emit(s->manager->events, "sandbox.started", s->id, NULL);
    start_finish(s, NULL);
}

int64_t lifecycle_next_expiry(const struct sandbox *s)
{
    int64_t now = clock_wall_ms();
    bool is_due = sandbox_is_asleep(s) ? s->expires_at <= now : s->status == SANDBOX_PAUSED && s->expires_at == 0;
    bool is_new = is_due && s->stop.has_expiry;
    return is_new ? now + s->config.timeout_s * 1000 : s->expires_at;
}

/* The box is linked and its egress open. */
static void start_record(void *arg)
{
    struct sandbox *s = arg;
    struct err why = ERR_INIT;
    if (!start_is_alive(s))
        return;
    json_t *kept = s->kept;
    int64_t expires_at = s->expires_at;
    sandbox_expire_at(s, lifecycle_next_expiry(s));
    s->status = SANDBOX_RUNNING;
    s->kept = NULL;
    if (sandbox_save(s, &why) < 0) {
        s->kept = kept;
        sandbox_expire_at(s, expires_at);
        start_undo(s, &why);
        return;
    }
    json_decref(kept);
    idle_touch(s);
    if (capture_recover(s, &why) < 0)
        log_event(LOG_ERROR, "sandbox.capture", "id", s->id, "error", why.msg, NULL);
    manager_entered(s->manager, s);
    volumes_when_mounted(s->manager->volumes, on_mounted, s); /* earlier writes would go below the mount */
}

/* Its agent answers, so its handshake has come, and what it can do is known. */
static void on_agent_there(void *arg, const struct err *err)
{
    struct sandbox *s = arg;
    if (err && s->link)
        s->link = guest_link_free(s->link); /* it is not used again */
    if (start_is_alive(s) && !egress_open(s->manager->egress, s, start_record, s))
        start_record(s);
}

static void on_box_ready(void *arg, struct box *box, int guest_fd, const struct err *err)
{
    struct sandbox *s = arg;
    struct err why = ERR_INIT;
    starts_done(s->manager->starts, s->tenant);
    if (!box && s->is_gone && s->kept)
        s->runtime->ops->discard(s->runtime, s->kept, NULL, NULL);
    free(STEAL(s->why)); /* of its former box */
    free(STEAL(s->words));
    if (!box || lifecycle_connect(s, box, guest_fd, &why) < 0)
        start_finish(s, box ? &why : err);
    else if (guest_ping(s->link, on_agent_there, s) < 0)
        on_agent_there(s, &(const struct err){ .code = ERR_GONE });
}

static int check_quota(const struct sandbox *s, const struct quota *quota, struct err *err)
{
    struct tenant_by by = { .tenant = s->tenant, .quota = *quota };
    int r = tenant_check(s->manager, &by, QUOTA_MEMORY_MB, (double)s->config.memory_mb, err);
    return r < 0 ? r : tenant_check(s->manager, &by, QUOTA_CPUS, s->config.cpu, err);
}

/* The plan for a box over the kept files. A capture that was noted, but whose folder was not moved, is with the box
 * (capture.c). */
static struct box_plan plan_kept(const struct sandbox *s)
{
    struct box_plan plan = lifecycle_box_plan(s);
    plan.kept = s->kept;
    if (plan.n_layers > 1 && plan.layers[plan.n_layers - 1][0] == '/' &&
        access(plan.layers[plan.n_layers - 1], F_OK) < 0)
        plan.n_layers--;
    return plan;
}

static void start_box(void *arg)
{
    struct sandbox *s = arg;
    const char *const saved[] = { s->saved };
    struct box_plan plan = plan_kept(s);
    if (s->saved) {
        plan.layers = saved;
        plan.n_layers = 1;
        plan.is_host = false;
    }
    s->runtime->ops->create(s->runtime, &plan, on_box_ready, s);
}

static void on_resumed(void *arg, struct sandbox *resumed, const struct err *err)
{
    struct sandbox *s = arg;
    bool has_died = err && !s->is_gone && (s->is_changing || sandbox_is_asleep(s));
    (void)resumed;
    if (!has_died) /* else manager_settled() starts it */
        answer_all(s, err);
    sandbox_unref(s);
}

static void start_begin(struct sandbox *s, const struct quota *quota)
{
    struct err err = ERR_INIT;
    if (s->status == SANDBOX_PAUSED) {
        manager_resume(s->manager, sandbox_ref(s), on_resumed, s);
        return;
    }
    int r = s->saved || (s->status == SANDBOX_STOPPED && s->kept)
                ? limits_check_reserve(image_store_free_mb(s->manager->images), s->manager->settings, &err)
                : err_set(&err, ERR_CONFLICT, 0, "sandbox %s cannot be started (it is %s)", s->id,
                          sandbox_status_name(s->status));
    if (r == 0)
        r = check_quota(s, quota, &err);
    if (r == 0 && s->manager->is_closing)
        r = err_set(&err, ERR_CAPACITY, 0, "the server is stopping");
    if (r < 0) {
        answer_all(s, &err);
        return;
    }
    lifecycle_change_begin(sandbox_ref(s));
    s->is_starting = true; /* it takes no calls until it is complete */
    starts_begin(s->manager->starts, s->tenant, start_box, s);
}

void manager_settled(struct sandbox *s)
{
    if (!s->waiters || s->is_changing || s->is_restoring)
        return;
    if (s->is_gone || sandbox_need_running(s, NULL) == 0)
        answer_all(s, NULL);
    else
        start_begin(s, &s->waiters->quota);
}

bool manager_is_to_wake(const struct sandbox *s)
{
    bool is_wanted =
        s->config.given & SANDBOX_CONFIG_AUTO_RESUME ? s->config.auto_resume : s->manager->settings->auto_resume;
    return is_wanted && !s->is_ending && (s->is_changing || sandbox_need_running(s, NULL) < 0);
}

size_t manager_waiting(const struct sandbox *s)
{
    size_t n = 0;
    for (const struct manager_waiter *w = s->waiters; w; w = w->next)
        n++;
    return n;
}

void manager_start(struct sandbox *s, const struct tenant_by *by, manager_sandbox_fn *fn, void *arg,
                   struct manager_waiter **slot)
{
    struct manager_waiter *w = xzalloc(sizeof(*w)), **at = &s->waiters;
    *w = (struct manager_waiter){ .s = sandbox_ref(s), .fn = fn, .arg = arg, .slot = slot };
    if (by)
        w->quota = by->quota;
    else if (*s->tenant && s->manager->quota_of)
        s->manager->quota_of(s->manager->quota_arg, s->tenant, &w->quota);
    *slot = w;
    while (*at)
        at = &(*at)->next;
    *at = w;
    if (s->waiters == w)
        manager_settled(s);
}

void manager_start_cancel(struct manager_waiter *w)
{
    struct manager_waiter **at = &w->s->waiters;
    *w->slot = NULL;
    while (*at && *at != w)
        at = &(*at)->next;
    if (!*at) { /* answer_all() has it */
        w->is_cancelled = true;
        return;
    }
    *at = w->next;
    waiter_free(w);
}
