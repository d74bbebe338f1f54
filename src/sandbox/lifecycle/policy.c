#include "sandbox/lifecycle/policy.h"

#include <string.h>

#include "base/limits.h"
#include "base/log.h"
#include "sandbox/lifecycle/idle.h"
#include "sandbox/lifecycle/lifecycle.h"

static bool is(const char *text, const char *name)
{
    return text && strcmp(text, name) == 0;
}

bool policy_kills(const char *action)
{
    return !action || is(action, "kill");
}

bool policy_is_persistent(const struct sandbox_config *c)
{
    return !policy_kills(c->on_timeout) || !policy_kills(c->on_idle) || is(c->restart, "always") || c->auto_resume;
}

static int check_action(const char *action, const struct runtime *rt, struct err *err)
{
    struct runtime_caps caps = rt->ops->caps((struct runtime *)(uintptr_t)rt);
    if (is(action, "pause") && runtime_lack(rt, "pause") && !caps.can_pause)
        return runtime_cannot(rt, "pause", "pause a sandbox", err);
    if (is(action, "stop") && !rt->ops->halt)
        return runtime_cannot(rt, "stop", "stop a sandbox and keep its files", err);
    if (is(action, "hibernate") && !caps.can_hibernate)
        return runtime_cannot(rt, "hibernate", "hibernate a sandbox", err);
    return 0;
}

int policy_check(const struct sandbox_config *c, const struct runtime *rt, struct err *err)
{
    int r = check_action(c->on_timeout, rt, err);
    if (r == 0)
        r = check_action(c->on_idle, rt, err);
    if (r == 0 && is(c->restart, "always") && !rt->ops->halt)
        r = runtime_cannot(rt, "stop", "keep the files of a sandbox that is to be restarted", err);
    return r;
}

static unsigned depth_of(enum sandbox_status status)
{
    return status == SANDBOX_STOPPED ? 3 : status == SANDBOX_HIBERNATED ? 2 : status == SANDBOX_PAUSED ? 1 : 0;
}

static void on_slept(void *arg, struct sandbox *slept, const struct err *err)
{
    struct sandbox *s = arg;
    (void)slept;
    if (err && !s->is_gone) {
        log_event(LOG_WARN, "sandbox.sleep", "id", s->id, "error", err->msg, "then", "tried again", NULL);
        idle_touch(s); /* not before it has been idle for as long once more */
    }
    sandbox_unref(s);
}

/* It has expired, and sleeps already: it is not removed for that. */
static void stop_expiry(struct sandbox *s)
{
    struct err err = ERR_INIT;
    s->stop.has_expiry = true;
    sandbox_expire_at(s, 0);
    if (sandbox_save(s, &err) < 0) /* then the next server does it */
        log_event(LOG_WARN, "sandbox.sleep", "id", s->id, "error", err.msg, NULL);
}

void policy_sleep(struct sandbox *s, const char *action, const char *reason)
{
    enum sandbox_status to = is(action, "stop")    ? SANDBOX_STOPPED
                             : is(action, "pause") ? SANDBOX_PAUSED
                                                   : SANDBOX_HIBERNATED;
    bool is_expiry = strcmp(reason, "timeout") == 0;
    if (s->is_changing || s->is_restoring || s->captures)
        return; /* the next look finds it at rest */
    if (depth_of(s->status) >= depth_of(to)) {
        if (is_expiry)
            stop_expiry(s);
        return;
    }
    struct manager_stop_plan plan = { .timeout_ms = LIMIT_DEFAULT(STOP_S) * 1000, .reason = reason };
    (void)sandbox_ref(s);
    if (to == SANDBOX_STOPPED)
        manager_stop(s, &plan, on_slept, s);
    else if (to == SANDBOX_HIBERNATED)
        manager_hibernate(s, reason, on_slept, s);
    else if (is_expiry)
        lifecycle_pause_expired(s, on_slept, s);
    else
        manager_pause(s->manager, s, on_slept, s);
}

int manager_set_policy(struct sandbox *s, const json_t *members, struct err *err)
{
    static const char *const names[] = { "idleTimeout", "onTimeout", "onIdle", "restart", "autoResume" };
    JSON_OWNED changed = json_object();
    JSON_OWNED before = sandbox_config_write(&s->config);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        json_t *value = json_object_get(members, names[i]);
        if (value && !json_is_null(value))
            (void)json_object_set(changed, names[i], value);
    }
    if (json_object_size(changed) == 0)
        return err_set(err, ERR_INVALID, 0,
                       "nothing to change: give idleTimeout, onTimeout, onIdle, restart or autoResume");
    struct sandbox_config config = sandbox_config_copy(&s->config), was = { 0 };
    sandbox_config_read(&config, changed);
    if (config.idle_timeout_s <= 0)
        config.given &= ~(unsigned)SANDBOX_CONFIG_IDLE_TIMEOUT;
    int r = policy_check(&config, s->runtime, err);
    if (r < 0) {
        sandbox_config_done(&config);
        return r;
    }
    sandbox_set_config(s, &config);
    r = sandbox_save(s, err);
    if (r < 0) {
        sandbox_config_read(&was, before);
        sandbox_set_config(s, &was);
        return r;
    }
    s->is_persistent |= policy_is_persistent(&s->config);
    idle_touch(s);
    (void)event_log_emit(s->manager->events, "sandbox.policy", s->id, json_incref(changed));
    return 0;
}
