#include "sandbox/storage/image_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strlist.h"
#include "image/preset.h"
#include "image/reference.h"

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

/* A question to an engine: the preset's own image first, then the name itself. */
struct asking {
    struct runtime *rt;
    char *name;
    bool is_second;
    image_source_fn *fn;
    void *arg;
};

static void on_answer(void *arg, const struct box_image *found, const struct err *err)
{
    struct asking *a = arg;
    const struct preset *preset = preset_find(a->name);
    bool is_reference = preset && preset->reference && !a->is_second;
    if (!found && is_reference && err->code == ERR_NOT_FOUND) {
        a->is_second = true;
        a->rt->ops->images->resolve(a->rt, a->name, on_answer, a);
        return;
    }
    CLEANUP(image_free_p)
    struct image *image = found ? image_source_image(is_reference ? preset->reference : a->name, found) : NULL;
    a->fn(a->arg, image, err);
    free(a->name);
    free(a);
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
    *a = (struct asking){ .rt = rt, .name = xstrdup(name), .fn = fn, .arg = arg };
    rt->ops->images->resolve(rt, preset && preset->reference ? preset->reference : name, on_answer, a);
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
