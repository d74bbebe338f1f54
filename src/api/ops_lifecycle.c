/* Handlers of the sandbox lifecycle. */
#include <stdlib.h>
#include <string.h>

#include "api/api_core.h"
#include "api/call.h"
#include "api/handlers.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/lifecycle/templates.h"

/* A create with "ifExists":"connect". Another one for the same name of the same tenant waits for it: whoever of them is
 * first creates, and all get the same sandbox. When it fails, the next one tries. */
struct naming {
    struct map *all;
    char *key;
    struct call *c, **waiting;
    size_t n_waiting;
};

static void on_named(void *arg, struct sandbox *s, const struct err *err)
{
    struct naming *n = arg;
    (void)map_remove(n->all, n->key);
    handlers_answer(n->c, s, err);
    for (size_t i = 0; i < n->n_waiting; i++) {
        if (s)
            handlers_answer(n->waiting[i], s, NULL);
        else if (call_is_cancelled(n->waiting[i]))
            call_error(n->waiting[i], ERR_GONE, "the client left");
        else
            api_sandbox_create(n->waiting[i]);
    }
    free(n->waiting);
    free(n->key);
    free(n);
}

/* NULL: the call has its sandbox or waits for it. Else this call creates it, with on_named(). */
static struct naming *naming_begin(struct call *c, const char *name)
{
    struct err err = ERR_INIT;
    struct map *all = call_api(c)->naming;
    const char *tenant = tenant_of(call_by(c));
    struct sandbox *s = manager_find_named(call_manager(c), tenant, name, &err);
    if (s || err.code != ERR_NOT_FOUND) {
        handlers_answer(c, s, &err);
        return NULL;
    }
    CLEANUP(free_p) char *key = xasprintf("%s\n%s", tenant, name);
    struct naming *n = map_get(all, key);
    if (n) {
        n->waiting = xrealloc(n->waiting, (n->n_waiting + 1) * sizeof(struct call *));
        n->waiting[n->n_waiting++] = c;
        return NULL;
    }
    n = xzalloc(sizeof(*n));
    *n = (struct naming){ .all = all, .key = STEAL(key), .c = c };
    map_set(all, n->key, n);
    return n;
}

void api_sandbox_create(struct call *c)
{
    struct err err = ERR_INIT;
    struct naming *n = NULL;
    SANDBOX_CONFIG_OWNED config = { 0 };
    if (templates_apply(call_manager(c)->templates, call_by(c), call_params(c), &config, &err) < 0) {
        call_fail(c, &err);
        return;
    }
    if (!config.image && call_has_other_body(c)) { /* the default image would hide that what was sent was not read */
        call_error(c, ERR_INVALID, "image name is empty");
        return;
    }
    JSON_OWNED warnings = NULL;
    sandbox_config_bound(&config, call_manager(c)->settings, &warnings);
    if (call_warn_all(c, warnings, &err) < 0) {
        call_fail(c, &err);
        return;
    }
    if (strcmp(call_str(c, "ifExists", "create"), "connect") == 0) {
        if (!config.name)
            call_error(c, ERR_INVALID, "ifExists: \"connect\" needs the name to look for");
        else
            n = naming_begin(c, config.name);
        if (!n)
            return;
    }
    struct create_plan plan = { .config = &config, .by = call_by(c) };
    manager_create(call_manager(c), &plan, n ? on_named : handlers_answer, n ? (void *)n : c);
}

static bool metadata_matches(const struct sandbox *s, const json_t *wanted)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)wanted, key, value)
    {
        if (!json_equal(json_object_get(s->metadata, key), value))
            return false;
    }
    return true;
}

void api_sandbox_list(struct call *c)
{
    const char *status = call_str(c, "status", NULL);
    const char *parent = call_str(c, "parentId", NULL);
    const json_t *wanted = json_get(call_params(c), "metadata");
    json_int_t page = call_int(c, "page", LIMIT_DEFAULT(PAGE)),
               size = call_int(c, "pageSize", LIMIT_DEFAULT(PAGE_SIZE)), total = 0;
    json_t *items = json_array();
    for (struct map_iter it = map_iter(call_manager(c)->sandboxes); map_next(&it);) {
        const struct sandbox *s = it.value;
        if (!tenant_sees_of(call_by(c), s->tenant, s->id))
            continue;
        if (status && strcmp(status, sandbox_status_name(s->status)) != 0)
            continue;
        if (wanted && !metadata_matches(s, wanted))
            continue;
        if (parent && (!s->parent_id || strcmp(parent, s->parent_id) != 0))
            continue;
        if (total / size == page - 1)
            (void)json_array_append_new(items, sandbox_json(s));
        total++;
    }
    call_ok(c, json_pack("{s:o, s:I, s:I, s:I}", "items", items, "total", total, "page", page, "pageSize", size));
}

void api_sandbox_get(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    if (s)
        call_ok(c, sandbox_json(s));
}

void api_sandbox_kill(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    if (manager_kill(call_manager(c), s, "sandbox.killed", &err) < 0)
        call_fail(c, &err);
    else
        call_ok(c, json_pack("{s:b}", "success", 1));
}

void api_sandbox_pause(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    if (s)
        manager_pause(call_manager(c), s, handlers_answer, c);
}

void api_sandbox_resume(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    if (s)
        manager_resume(call_manager(c), s, handlers_answer, c);
}

/* --- stop and start --- */

/* A call that waits until its sandbox runs. */
struct starting {
    struct call *c;
    struct manager_waiter *waiter;
};

static void on_start_cancelled(void *arg)
{
    CLEANUP(free_p) struct starting *x = arg;
    manager_start_cancel(x->waiter);
    call_error(x->c, ERR_GONE, "the client left");
}

static void on_started(void *arg, struct sandbox *s, const struct err *err)
{
    CLEANUP(free_p) struct starting *x = arg;
    handlers_answer(x->c, s, err);
}

static void start_then_answer(struct call *c, struct sandbox *s)
{
    struct starting *x = xzalloc(sizeof(*x));
    x->c = c;
    call_on_cancel(c, on_start_cancelled, x);
    manager_start(s, call_by(c), on_started, x, &x->waiter);
}

void api_sandbox_start(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    if (s)
        start_then_answer(c, s);
}

static struct manager_stop_plan stop_plan(const struct call *c)
{
    return (struct manager_stop_plan){ .timeout_ms = call_int(c, "timeout", LIMIT_DEFAULT(STOP_S)) * 1000,
                                       .reason = "request" };
}

void api_sandbox_stop(struct call *c)
{
    struct manager_stop_plan plan = stop_plan(c);
    struct sandbox *s = handlers_sandbox(c);
    if (s)
        manager_stop(s, &plan, handlers_answer, c);
}

static void on_stopped(void *arg, struct sandbox *s, const struct err *err)
{
    struct call *c = arg;
    if (s)
        start_then_answer(c, s);
    else
        call_fail(c, err);
}

void api_sandbox_restart(struct call *c)
{
    struct manager_stop_plan plan = stop_plan(c);
    struct sandbox *s = handlers_sandbox(c);
    if (s)
        manager_stop(s, &plan, on_stopped, c);
}

void api_sandbox_hibernate(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    if (s)
        manager_hibernate(s, "request", handlers_answer, c);
}

void api_sandbox_policy(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    if (manager_set_policy(s, call_params(c), &err) < 0)
        call_fail(c, &err);
    else
        call_ok(c, sandbox_json(s));
}

void api_sandbox_renew(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    int64_t wanted = call_int(c, "expiresAt", 0), possible = manager_expiry(call_manager(c), wanted);
    int r = wanted == possible ? 0
                               : call_warn(c, &err,
                                           "expiresAt: %lld is out of range, the nearest possible value is %lld (from "
                                           "now %d s to III_MAX_TIMEOUT)",
                                           (long long)wanted, (long long)possible, LIMIT_MIN(TIMEOUT_S));
    if (r < 0 || manager_renew(call_manager(c), s, possible, &err) < 0)
        call_fail(c, &err);
    else
        call_ok(c, sandbox_json(s));
}

void api_sandbox_resize(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox_config to = { 0 };
    JSON_OWNED warnings = NULL;
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    static const char *const names[] = { "memory", "cpu", "pids", "diskMb" };
    JSON_OWNED asked = json_object();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (json_get(call_params(c), names[i]))
            (void)json_object_set(asked, names[i], json_get(call_params(c), names[i]));
    sandbox_config_read(&to, asked); /* only numbers: nothing of it is owned */
    sandbox_config_bound(&to, call_manager(c)->settings, &warnings);
    if (!to.given)
        call_error(c, ERR_INVALID, "nothing to change: give memory, cpu, pids, diskMb, or several of them");
    else if (call_warn_all(c, warnings, &err) < 0)
        call_fail(c, &err);
    else
        manager_resize(s, &to, call_by(c), handlers_answer, c);
}

void api_sandbox_label(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    const json_t *remove = json_get(call_params(c), "remove"), *set = json_get(call_params(c), "metadata");
    if (!remove && !set)
        call_error(c, ERR_INVALID, "nothing to change: give metadata (pairs to set), remove (keys), or both");
    else if (manager_label(s, remove, set, &err) < 0)
        call_fail(c, &err);
    else
        call_ok(c, sandbox_json(s));
}

void api_sandbox_clone(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    struct manager_fork_plan plan = { .count = 1, .name = call_str(c, "name", NULL), .by = call_by(c) };
    manager_clone(call_manager(c), s, &plan, handlers_answer, c);
}

static void answer_fork(void *arg, struct sandbox *const *children, size_t n, const struct err *err)
{
    struct call *c = arg;
    if (err) {
        call_fail(c, err);
        return;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, sandbox_json(children[i]));
    call_ok(c, json_pack("{s:o}", "sandboxes", list));
}

void api_sandbox_fork(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return; /* the call is gone */
    struct manager_fork_plan plan = { .count = (unsigned)call_int(c, "count", LIMIT_DEFAULT(FORK)),
                                      .name = call_str(c, "name", NULL),
                                      .by = call_by(c) };
    manager_fork(call_manager(c), s, &plan, answer_fork, c);
}
