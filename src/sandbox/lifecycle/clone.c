/* Clone and fork: the files are captured once, and any number of new sandboxes starts from them concurrently. The
 * captured layer has no name: a pin keeps it until every child has its own pin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "sandbox/lifecycle/lifecycle.h"
#include "sandbox/storage/capture.h"
#include "sandbox/storage/pins.h"

struct child {
    struct forking *f;
    struct sandbox *s; /* referenced; NULL: not made */
};

struct forking {
    struct manager *m;
    struct sandbox *source;
    char owner[IDENT_MAX]; /* of the pin while the children are made */
    char *name;            /* or NULL */
    struct tenant_by by;   /* whose quota counts */
    bool has_by;
    unsigned count, pending;
    struct child *children;
    struct err err; /* of the first that failed */
    manager_fork_fn *fn;
    void *arg;
};

/* All or none: if one fails, the others are removed. */
static void clone_finish(struct forking *f)
{
    CLEANUP(free_p) struct sandbox **made = xzalloc(f->count * sizeof(struct sandbox *));
    size_t n = 0;
    for (unsigned i = 0; i < f->count; i++) {
        struct sandbox *s = f->children[i].s;
        if (s && f->err.code && !s->is_gone)
            (void)manager_kill(f->m, s, "sandbox.killed", NULL); /* the first error is the one to tell */
        else if (s && !f->err.code)
            made[n++] = s;
    }
    pins_drop(f->m, f->owner);
    f->fn(f->arg, made, n, f->err.code ? &f->err : NULL);
    for (unsigned i = 0; i < f->count; i++)
        sandbox_unref(f->children[i].s);
    sandbox_unref(f->source);
    free(f->children);
    free(f->name);
    free(f);
}

static void on_created(void *arg, struct sandbox *s, const struct err *err)
{
    struct child *c = arg;
    struct forking *f = c->f;
    if (s)
        c->s = sandbox_ref(s);
    else if (!f->err.code)
        f->err = *err;
    if (--f->pending == 0)
        clone_finish(f);
}

static void on_captured(void *arg, const struct image *image, const struct err *err)
{
    struct forking *f = arg;
    struct sandbox *s = f->source;
    f->pending = 1;
    if (err)
        f->err = *err;
    for (unsigned i = 0; !err && !f->err.code && i < f->count; i++) {
        CLEANUP(free_p) char *name = NULL;
        if (f->name)
            name = f->count == 1 ? xstrdup(f->name) : xasprintf("%s-%u", f->name, i + 1);
        SANDBOX_CONFIG_OWNED config = capture_config(&s->config, s->metadata, image->id, name);
        JSON_OWNED extra = json_pack("{s:O}", CAPTURE_BASE, capture_base(s));
        struct create_plan plan = { .config = &config,
                                    .parent_id = s->id,
                                    .image = image,
                                    .runtime = s->runtime,
                                    .env = s->env,
                                    .extra = extra,
                                    .is_unlisted = true,
                                    .by = f->has_by ? &f->by : NULL,
                                    .tenant = s->tenant };
        f->pending++;
        f->children[i].f = f;
        manager_create(f->m, &plan, on_created, &f->children[i]);
    }
    if (--f->pending == 0)
        clone_finish(f);
}

void manager_fork(struct manager *m, struct sandbox *s, const struct manager_fork_plan *plan, manager_fork_fn *fn,
                  void *arg)
{
    struct err err = ERR_INIT;
    if (lifecycle_check_room(m, plan->count, &err) < 0) {
        fn(arg, NULL, 0, &err);
        return;
    }
    struct forking *f = xzalloc(sizeof(*f));
    *f = (struct forking){
        .m = m, .source = sandbox_ref(s), .name = xstrdup(plan->name), .count = plan->count, .fn = fn, .arg = arg
    };
    if (plan->by) { /* quotas are those of the source's owner; the caller sees it, so it is the owner or an admin */
        f->by = (struct tenant_by){ .tenant = f->source->tenant, .quota = plan->by->quota };
        f->has_by = true;
    }
    f->children = xzalloc(plan->count * sizeof(*f->children));
    ident_new("fork", f->owner);
    capture_run(s, f->owner, on_captured, f);
}

struct cloning {
    manager_sandbox_fn *fn;
    void *arg;
};

static void on_cloned(void *arg, struct sandbox *const *children, size_t n, const struct err *err)
{
    CLEANUP(free_p) struct cloning *c = arg;
    c->fn(c->arg, n ? children[0] : NULL, err);
}

void manager_clone(struct manager *m, struct sandbox *s, const struct manager_fork_plan *plan, manager_sandbox_fn *fn,
                   void *arg)
{
    struct cloning *c = xzalloc(sizeof(*c));
    *c = (struct cloning){ .fn = fn, .arg = arg };
    struct manager_fork_plan one = { .count = 1, .name = plan->name, .by = plan->by };
    manager_fork(m, s, &one, on_cloned, c);
}
