/* sandbox::create, stop, list and catalog::list. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/access.h"
#include "api/fn.h"
#include "api/fn_gateway.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "image/preset.h"
#include "sandbox/lifecycle/idle.h"
#include "sandbox/storage/image_source.h"
#include "sandbox/storage/pulls.h"

/* --- create --- */

struct creation {
    struct call *c;
    const char *image, *name; /* borrowed from the payload */
    const char *source;       /* what is resolved and pulled */
    int64_t cpus, memory_mb, idle_s;
    bool has_network;
    json_t *env, *warnings;
};

static void creation_free(struct creation *n)
{
    call_fn(n->c)->set->n_creating--;
    json_decref(n->env);
    json_decref(n->warnings);
    free(n);
}

static void creation_fail(struct creation *n)
{
    struct call *c = n->c;
    creation_free(n);
    fn_fail_fault(c);
}

static void on_created(void *arg, struct sandbox *s, const struct err *err)
{
    struct creation *n = arg;
    struct call *c = n->c;
    if (!s) {
        bool is_full = err->code == ERR_RATE_LIMITED ||                                     /* a quota */
                       (err->code == ERR_CAPACITY && err->sys != EPIPE && err->sys != EIO); /* else a helper died */
        (void)fn_set_fault(c, is_full ? "S400" : "S300", "%s: %s",
                           is_full ? "resource limit exceeded" : "VM boot failed", err->msg);
        creation_fail(n);
        return;
    }
    memcpy(call_fn(c)->sandbox_id, s->uuid, sizeof(s->uuid));
    call_set_sandbox(c, s->id);
    log_event(LOG_INFO, "sandbox.progress", "kind", "ready", "sandbox_id", s->uuid, NULL);
    json_t *answer = json_pack("{s:s, s:s, s:O*}", "sandbox_id", s->uuid, "image", n->image, "warnings", n->warnings);
    creation_free(n);
    call_ok(c, answer);
}

/* Only here, after the image is there: the contract's order of checks. */
static void boot(struct creation *n)
{
    struct call *c = n->c;
    if (fn_read_env(c, &n->env) < 0) {
        creation_fail(n);
        return;
    }
    if (n->has_network) {
        n->warnings = fn_gateway_warnings(n->env, call_manager(c)->settings->gateway_ports);
        fn_gateway_rewrite(n->env);
    }
    log_event(LOG_INFO, "sandbox.progress", "kind", "booting_vm", "image", n->image, NULL);
    SANDBOX_CONFIG_OWNED config = { .given = SANDBOX_CONFIG_CPU | SANDBOX_CONFIG_MEMORY | SANDBOX_CONFIG_NETWORK |
                                             SANDBOX_CONFIG_IDLE_TIMEOUT,
                                    .cpu = (double)n->cpus,
                                    .memory_mb = n->memory_mb,
                                    .has_network = n->has_network,
                                    .idle_timeout_s = n->idle_s };
    sandbox_config_set_text(&config, SANDBOX_CONFIG_IMAGE, n->source);
    sandbox_config_set_text(&config, SANDBOX_CONFIG_NAME, n->name);
    sandbox_config_set_map(&config, SANDBOX_CONFIG_ENV, json_incref(n->env));
    JSON_OWNED extra = json_pack("{s:{s:s, s:s?}}", "engine", "image", n->image, "name", n->name);
    struct create_plan plan = {
        .config = &config, .extra = extra, .by = call_by(c), .is_unlisted = true, .is_unexpiring = true
    };
    manager_create(call_manager(c), &plan, on_created, n);
}

static void on_progress(void *arg, const struct pulls_progress *at)
{
    const struct creation *n = arg;
    CLEANUP(free_p) char *done = xasprintf("%lld", (long long)at->done_bytes);
    CLEANUP(free_p) char *total = at->layers ? xasprintf("%lld", (long long)at->total_bytes) : NULL;
    log_event(LOG_DEBUG, "sandbox.progress", "kind", "pulling_image", "image_ref", n->source, "progress_bytes", done,
              "total_bytes", total, NULL);
}

static void fail_image(struct creation *n, const struct err *err)
{
    (void)fn_set_fault(n->c, "S102", "auto-install failed for image '%s': %s", n->image, err->msg);
    creation_fail(n);
}

static void on_pulled(void *arg, const struct image *image, const struct err *err)
{
    struct creation *n = arg;
    if (image) {
        log_event(LOG_INFO, "sandbox.progress", "kind", "unpacking", "image_ref", n->source, NULL);
        boot(n);
        return;
    }
    fail_image(n, err);
}

static void on_image(void *arg, const struct image *image, const struct err *err)
{
    struct creation *n = arg;
    struct manager *m = call_manager(n->c);
    const char *wanted = preset_pull_name(n->source);
    bool is_auto_install = call_fn(n->c)->policy->is_auto_install;
    struct err why = ERR_INIT;
    if (image) {
        boot(n);
    } else if (err->code != ERR_NOT_FOUND) {
        fail_image(n, err);
    } else if (!wanted || !is_auto_install || !pulls_is_allowed(m->pulls)) {
        (void)fn_set_fault(n->c, "S101", "image '%s' (%s) is not installed and %s", n->image,
                           wanted ? wanted : n->source,
                           !wanted           ? "cannot be pulled: it is this host's own programs (III_PRESETS)"
                           : is_auto_install ? "pulling is off (III_PULL)"
                                             : "auto_install is off");
        if (wanted && pulls_is_allowed(m->pulls))
            fn_fix_call(n->c, "image::pull", json_pack("{s:s}", "image", wanted), NULL, FN_CALL("it pulls the image"));
        creation_fail(n);
    } else {
        log_event(LOG_INFO, "sandbox.progress", "kind", "pulling_image", "image_ref", wanted, "progress_bytes", "0",
                  "total_bytes", NULL, NULL);
        if (pulls_start(m->pulls, wanted, &(struct pulls_how){ .progress = on_progress, .by = call_by(n->c) },
                        on_pulled, n, NULL, &why) < 0)
            fail_image(n, &why);
    }
}

static int check_cap(struct creation *n, const char *what, int64_t asked, int64_t server_max)
{
    int64_t cap = fn_policy_cap(call_fn(n->c)->policy, n->image, what, server_max);
    if (cap > server_max)
        cap = server_max;
    if (asked <= cap)
        return 0;
    fn_fix(n->c, json_pack("{s:I}", what + strlen("max_"), (json_int_t)cap), FN_MERGE("the most that is allowed"));
    return fn_set_fault(n->c, "S400", "resource limit exceeded: %s %lld for image '%s' (at most %lld)",
                        what + strlen("max_"), (long long)asked, n->image, (long long)cap);
}

static int check_limits(struct creation *n)
{
    struct call *c = n->c;
    const struct fn_set *f = call_fn(c)->set;
    const struct fn_policy *p = call_fn(c)->policy;
    int64_t max = p->max_sandboxes;
    if ((int64_t)fn_count_made(f) + f->n_creating > max) /* this one is counted already */
        return fn_set_fault(c, "S400", "resource limit exceeded: max_concurrent_sandboxes is %lld", (long long)max);
    if (!fn_policy_reference(p, n->image) || !fn_policy_allows(p, n->image))
        return fn_set_fault(c, "S100", "image '%.200s' is unknown or not in image_allowlist; presets are: python, node",
                            n->image);
    const struct settings *s = call_manager(c)->settings;
    int r = check_cap(n, "max_cpus", n->cpus, s->max_cpus);
    return r < 0 ? r : check_cap(n, "max_memory_mb", n->memory_mb, s->max_memory_mb);
}

void api_fn_create(struct call *c)
{
    const struct fn_policy *p = call_fn(c)->policy;
    struct manager *m = call_manager(c);
    struct creation *n = xzalloc(sizeof(*n));
    *n = (struct creation){ .c = c,
                            .image = call_str(c, "image", ""),
                            .name = call_str(c, "name", NULL),
                            .cpus = call_int(c, "cpus", p->default_cpus),
                            .memory_mb = call_int(c, "memory_mb", p->default_memory_mb),
                            .has_network = call_bool(c, "network", false),
                            .idle_s = call_int(c, "idle_timeout_secs", p->idle_timeout_s) };
    call_fn(c)->set->n_creating++;
    if (fn_check_env(c) < 0 || check_limits(n) < 0) {
        creation_fail(n);
        return;
    }
    n->source = fn_policy_is_preset(n->image) ? n->image : fn_policy_reference(p, n->image);
    image_source_resolve(m, m->runtime, call_by(c), n->source, on_image, n);
}

/* --- stop --- */

static void on_reclaimed(void *arg)
{
    struct call *c = arg;
    call_ok(c, json_pack("{s:s, s:b}", "sandbox_id", call_fn(c)->sandbox_id, "stopped", true));
}

void api_fn_stop(struct call *c)
{
    bool is_waiting = call_bool(c, "wait", false);
    struct err err = ERR_INIT;
    if (fn_read_id(c) < 0) {
        fn_fail_fault(c);
        return;
    }
    struct manager *m = call_manager(c);
    struct sandbox *s = access_sandbox(m, call_who(c), call_fn(c)->sandbox_id, &err);
    if (!s)
        fn_fail(c, "S002", "sandbox not found: %s", call_fn(c)->sandbox_id);
    else if (manager_kill_then(m, s, "sandbox.killed", is_waiting ? on_reclaimed : NULL, c, &err) < 0)
        fn_fail(c, "S300", "the sandbox could not be ended, call again: %s", err.msg);
    else if (!is_waiting)
        on_reclaimed(c);
}

/* --- list --- */

static int by_age(const void *a, const void *b)
{
    const struct sandbox *x = *(struct sandbox *const *)a, *y = *(struct sandbox *const *)b;
    int64_t d = x->created_at - y->created_at;
    return d < 0 ? -1 : d > 0 ? 1 : strcmp(x->id, y->id);
}

static json_t *row_json(const struct fn_policy *p, const struct sandbox *s)
{
    const json_t *made = json_get(s->extra, "engine");
    int64_t cap = p->max_execs, age_ms = clock_wall_ms() - s->created_at;
    const char *name = made ? json_get_str(made, "name", NULL) : strcmp(s->name, s->id) != 0 ? s->name : NULL;
    bool is_stopped = s->is_ending || s->status == SANDBOX_EXPIRED;
    return json_pack("{s:s, s:s?, s:s, s:I, s:b, s:I, s:I, s:b}", "sandbox_id", s->uuid, "name", name, "image",
                     json_get_str(made, "image", s->image), "age_secs", (json_int_t)(age_ms > 0 ? age_ms / 1000 : 0),
                     "exec_in_progress", s->slots > 0, "exec_in_flight", (json_int_t)s->slots, "exec_slots_free",
                     (json_int_t)(cap > s->slots ? cap - s->slots : 0), "stopped", is_stopped);
}

void api_fn_list(struct call *c)
{
    struct manager *m = call_manager(c);
    size_t n = 0;
    json_t *list = json_array();
    CLEANUP(free_p) struct sandbox **all = xzalloc((map_count(m->sandboxes) + 1) * sizeof(struct sandbox *));
    for (struct map_iter it = map_iter(m->sandboxes); map_next(&it);) {
        struct sandbox *s = it.value;
        if (tenant_sees_of(call_by(c), s->tenant, s->id))
            all[n++] = s;
    }
    qsort(all, n, sizeof(struct sandbox *), by_age);
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, row_json(call_fn(c)->policy, all[i]));
    call_ok(c, json_pack("{s:o}", "sandboxes", list));
}

void api_fn_catalog(struct call *c)
{
    call_ok(c, json_pack("{s:o}", "images", fn_policy_catalogue(call_fn(c)->policy)));
}
