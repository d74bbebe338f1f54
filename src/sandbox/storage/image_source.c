#include "sandbox/storage/image_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strlist.h"
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

/* A question to an engine, in this order: the preset's own image, a copy of ours; the name itself, a copy of ours of
 * that name or, of a preset, of the host's view. */
struct asking {
    struct manager *m;
    struct runtime *rt;
    char *name;
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
    free(a);
}

static void on_answer(void *arg, const struct box_image *found, const struct err *err);

static void ask(struct asking *a)
{
    a->rt->ops->images->resolve(a->rt, a->stored ? a->kept : a->now, on_answer, a);
}

/* The engine has neither the name nor a copy. */
static void ask_next(struct asking *a)
{
    struct err err = ERR_INIT;
    char key[DIGEST_HEX];
    if (a->stored) {
        struct pulls_how how = { .runtime = a->rt, .stored = a->stored, .kept = a->kept };
        if (pulls_start(a->m->pulls, a->name, &how, asking_end, a, NULL, &err) < 0)
            asking_end(a, NULL, &err);
    } else if (image_resolve(a->m->images, a->now, &a->stored, &err) == 0) {
        image_content_key(a->stored, key);
        a->kept = a->rt->ops->images->kept_name(a->rt, a->stored->resolved, key);
        ask(a);
    } else if (err.code == ERR_NOT_FOUND && a->now != a->name) {
        a->now = a->name;
        ask(a);
    } else {
        asking_end(a, NULL, &err);
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

void image_source_resolve(struct manager *m, struct runtime *rt, const char *name, image_source_fn *fn, void *arg)
{
    if (!rt->ops->images) {
        CLEANUP(image_free_p) struct image *image = NULL;
        struct err err = ERR_INIT;
        (void)image_resolve(m->images, name, &image, &err);
        fn(arg, image, image ? NULL : &err);
        return;
    }
    const struct preset *preset = preset_find(name);
    struct asking *a = xzalloc(sizeof(*a));
    *a = (struct asking){ .m = m, .rt = rt, .name = xstrdup(name), .fn = fn, .arg = arg };
    a->now = preset && preset->reference ? preset->reference : a->name;
    ask(a);
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
