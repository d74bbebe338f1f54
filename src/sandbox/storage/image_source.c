#include "sandbox/storage/image_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strlist.h"
#include "image/image_policy.h"
#include "image/preset.h"
#include "image/reference.h"
#include "sandbox/storage/pulls.h"

void image_source_copied(struct image *copy, const struct image *of)
{
    free(copy->resolved);
    free(copy->id);
    copy->resolved = xstrdup(of->resolved);
    copy->version = xstrdup(of->version);
    copy->id = xstrdup(of->id);
}

struct image *image_source_image(const char *name, const struct box_image *from)
{
    struct image *i = xzalloc(sizeof(*i));
    char resolved[REFERENCE_MAX];
    reference_canonical(name, resolved);
    i->name = xstrdup(name);
    i->resolved = xstrdup(resolved);
    i->id = xstrdup(from->id);
    strlist_add(&i->layers, from->id);
    i->n_layers = 1;
    i->env = strlist_copy(from->env);
    i->entrypoint = strlist_copy(from->entrypoint);
    i->cmd = strlist_copy(from->cmd);
    i->user = xstrdup(from->user);
    i->workdir = xstrdup(from->workdir);
    i->size_bytes = from->size_bytes;
    return i;
}

const char *image_source_owner(const struct tenant_by *by)
{
    return by && by->view ? by->view : "";
}

struct image_scope image_source_scope(const struct manager *m, const struct tenant_by *by)
{
    return (struct image_scope){ .tenant = image_source_owner(by),
                                 .has_shared = m->settings->shared_images,
                                 .has_all = !by || !by->view };
}

bool image_source_is_ours(const struct manager *m, const struct tenant_by *by, const char *name)
{
    return *image_source_owner(by) || image_policy_rule(m->image_policy, name);
}

/* A question to an engine, in this order: the preset's own image, a copy of ours; the name itself, a copy of ours of
 * that name or, of a preset, of the host's view. For what image_source_is_ours() our store comes first, and the
 * engine's own image counts only when no signature is needed and the tenant may use the operator's. */
struct asking {
    struct manager *m;
    struct runtime *rt;
    char *name, *tenant;
    struct image_scope scope;
    const char *now;      /* the preset's reference, or the name */
    struct image *stored; /* ours, whose copy is asked for; NULL: the engine's own */
    char *kept;           /* the copy's name */
    image_source_fn *fn;
    void *arg;
};

static void asking_end(void *arg, const struct image *image, const struct err *err)
{
    struct asking *a = arg;
    a->fn(a->arg, image, err);
    (void)image_free(a->stored);
    free(a->kept);
    free(a->name);
    free(a->tenant);
    free(a);
}

static void on_answer(void *arg, const struct box_image *found, const struct err *err);

static void ask_copy(struct asking *a)
{
    char key[DIGEST_HEX];
    const char *tenant = a->stored->tenant ? a->stored->tenant : "";
    CLEANUP(free_p) char *name = xasprintf("%s%s%s", tenant, *tenant ? "\n" : "", a->stored->resolved);
    image_content_key(a->stored, key);
    a->kept = a->rt->ops->images->kept_name(a->rt, name, key);
    a->rt->ops->images->resolve(a->rt, a->kept, on_answer, a);
}

static void ask_now(struct asking *a);

/* Neither the engine nor our store has a->now. */
static void ask_other(struct asking *a, const struct err *err)
{
    if (err->code == ERR_NOT_FOUND && a->now != a->name) {
        a->now = a->name;
        ask_now(a);
    } else {
        asking_end(a, NULL, err);
    }
}

static void ask_now(struct asking *a)
{
    struct err err = ERR_INIT;
    bool needs_signature = image_policy_rule(a->m->image_policy, a->now);
    bool is_first = needs_signature || *a->scope.tenant;
    int r = is_first ? image_resolve_for(a->m->images, &a->scope, a->now, &a->stored, &err) : 0;
    if (a->stored && strcmp(a->stored->id, "host") == 0) /* not an image: the engine's comes before it, as ever */
        a->stored = image_free(a->stored);
    if (a->stored)
        ask_copy(a);
    else if (is_first && r < 0 && (needs_signature || !a->scope.has_shared || err.code != ERR_NOT_FOUND))
        ask_other(a, &err);
    else
        a->rt->ops->images->resolve(a->rt, a->now, on_answer, a);
}

/* The engine has neither the name nor a copy. */
static void ask_next(struct asking *a)
{
    struct err err = ERR_INIT;
    if (a->stored) {
        const struct tenant_by by = { .tenant = a->tenant, .view = a->scope.has_all ? NULL : a->tenant };
        struct pulls_how how = { .runtime = a->rt, .stored = a->stored, .kept = a->kept, .by = &by };
        if (pulls_start(a->m->pulls, a->name, &how, asking_end, a, NULL, &err) < 0)
            asking_end(a, NULL, &err);
    } else if (image_resolve_for(a->m->images, &a->scope, a->now, &a->stored, &err) == 0) {
        ask_copy(a);
    } else {
        ask_other(a, &err);
    }
}

static void on_answer(void *arg, const struct box_image *found, const struct err *err)
{
    struct asking *a = arg;
    if (!found && err->code == ERR_NOT_FOUND) {
        ask_next(a);
        return;
    }
    CLEANUP(image_free_p) struct image *image = found ? image_source_image(a->now, found) : NULL;
    if (image && a->stored)
        image_source_copied(image, a->stored);
    asking_end(a, image, err);
}

void image_source_resolve(struct manager *m, struct runtime *rt, const struct tenant_by *by, const char *name,
                          image_source_fn *fn, void *arg)
{
    const struct image_scope scope = image_source_scope(m, by);
    if (!rt->ops->images) {
        CLEANUP(image_free_p) struct image *image = NULL;
        struct err err = ERR_INIT;
        (void)image_resolve_for(m->images, &scope, name, &image, &err);
        fn(arg, image, image ? NULL : &err);
        return;
    }
    const struct preset *preset = preset_find(name);
    struct asking *a = xzalloc(sizeof(*a));
    *a = (struct asking){
        .m = m, .rt = rt, .name = xstrdup(name), .tenant = xstrdup(scope.tenant), .fn = fn, .arg = arg
    };
    a->scope = scope;
    a->scope.tenant = a->tenant;
    a->now = preset && preset->reference ? preset->reference : a->name;
    ask_now(a);
}

bool image_source_is_stored(const struct image *image)
{
    return image->n_layers == 0 || image->layers[0][0] == '/';
}

static bool can_run(const struct runtime *rt, const struct image *image)
{
    size_t n = strlen(rt->ops->name);
    if (image_source_is_stored(image))
        return !rt->ops->images;
    return strncmp(image->layers[0], rt->ops->name, n) == 0 && image->layers[0][n] == ':'; /* "BACKEND:…" */
}

struct runtime *image_source_runtime(const struct manager *m, const struct image *image)
{
    for (size_t i = 0; i < m->n_runtimes; i++)
        if (can_run(m->runtimes[i], image))
            return m->runtimes[i];
    return NULL;
}

int image_source_check(const struct manager *m, const struct runtime *rt, const struct image *image, struct err *err)
{
    if (can_run(rt, image))
        return 0;
    const struct runtime *has = image_source_runtime(m, image);
    return err_set(err, ERR_CONFLICT, 0, "image %.100s belongs to the %s backend, the sandbox to %s", image->id,
                   has ? has->ops->name : "(absent)", rt->ops->name);
}
