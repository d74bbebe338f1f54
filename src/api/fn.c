#include "api/fn.h"

#include <stdlib.h>

#include "api/access.h"
#include "api/api_core.h"
#include "base/alloc.h"
#include "base/log.h"
#include "sandbox/lifecycle/idle.h"

/* --- sandboxes --- */

struct sandbox *fn_find(struct call *c)
{
    const char *id = call_fn(c)->sandbox_id;
    struct sandbox *s = access_sandbox(call_manager(c), call_who(c), id, NULL);
    if (!s) {
        (void)fn_set_fault(c, "S002", "sandbox not found: %s", id);
        return NULL;
    }
    if (s->status == SANDBOX_PAUSED) {
        fn_fix_call(c, "sandbox::resume", json_pack("{s:s}", "id", id), NULL, FN_CALL("it resumes the sandbox"));
        (void)fn_set_fault(c, "S004", "sandbox is paused: %s: resume it first", id);
        return NULL;
    }
    if (s->is_ending || sandbox_need_running(s, NULL) < 0) {
        (void)fn_set_fault(c, "S004", "sandbox already stopped: %s", id);
        return NULL;
    }
    idle_touch(s);
    return s;
}

/* Sandboxes of the functions carry {"engine": {image, name}} in their record. */
unsigned fn_count_made(const struct fn_set *f)
{
    unsigned n = 0;
    for (struct map_iter it = map_iter(f->manager->sandboxes); map_next(&it);)
        n += json_get(((struct sandbox *)it.value)->extra, "engine") != NULL;
    return n;
}

/* --- parts of calls --- */

struct fn_part *fn_part_new(struct fn_set *f)
{
    struct fn_part *p = xzalloc(sizeof(*p));
    p->set = f;
    p->policy = fn_policy_ref(f->policy);
    return p;
}

struct fn_part *fn_part_free(struct fn_part *p)
{
    if (p) {
        json_decref(p->fault.fix);
        json_decref(p->fault.extra);
        (void)fn_policy_unref(p->policy);
        free(p);
    }
    return NULL;
}

void fn_part_inherit(struct fn_part *p, const struct fn_part *of)
{
    (void)fn_policy_unref(p->policy);
    p->policy = fn_policy_ref(of->policy);
}

/* --- the set --- */

static void warn_no_slot(const struct settings *s)
{
    if (s->fn_max_execs == 0)
        log_event(LOG_WARN, "config", "msg", "max_concurrent_exec_per_sandbox is 0; using 1", NULL);
}

int fn_reload(struct api *a, const struct settings *s, struct err *err)
{
    struct fn_set *f = a->functions;
    struct fn_policy *next = NULL;
    int r = fn_policy_new(s, &next, err);
    if (r < 0)
        return r;
    if (next->idle_scan_ms != f->policy->idle_scan_ms)
        idle_scan_every(f->manager->idle, next->idle_scan_ms);
    warn_no_slot(s);
    (void)fn_policy_unref(f->policy);
    f->policy = next;
    return 0;
}

int fn_new(struct manager *m, struct api *a, struct err *err)
{
    struct fn_set *f = xzalloc(sizeof(*f));
    int r = fn_policy_new(m->settings, &f->policy, err);
    if (r < 0) {
        free(f);
        return r;
    }
    f->manager = m;
    warn_no_slot(m->settings);
    a->functions = f;
    return 0;
}

struct fn_set *fn_free(struct fn_set *f)
{
    if (f)
        (void)fn_policy_unref(f->policy);
    free(f);
    return NULL;
}
