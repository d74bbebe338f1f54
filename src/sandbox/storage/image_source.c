#include "sandbox/storage/image_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strlist.h"

struct asking {
    char *name;
    image_source_fn *fn;
    void *arg;
};

struct image *image_source_image(const char *name, const struct box_image *from)
{
    struct image *i = xzalloc(sizeof(*i));
    i->name = xstrdup(name);
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

static void on_answer(void *arg, const struct box_image *found, const struct err *err)
{
    struct asking *a = arg;
    CLEANUP(image_free_p) struct image *image = found ? image_source_image(a->name, found) : NULL;
    a->fn(a->arg, image, err);
    free(a->name);
    free(a);
}

void image_source_resolve(struct manager *m, struct runtime *rt, const char *name, image_source_fn *fn, void *arg)
{
    struct asking *a = xzalloc(sizeof(*a));
    *a = (struct asking){ .name = xstrdup(name), .fn = fn, .arg = arg };
    rt->ops->images->resolve(rt, name, on_answer, a);
}

struct finding {
    struct manager *m;
    struct runtime *rt;
    const char *name, *next; /* borrowed */
    image_source_name_fn *fn;
    void *arg;
};

static void on_found(void *arg, const struct image *image, const struct err *err)
{
    struct finding *f = arg;
    if (!image && err->code == ERR_NOT_FOUND && f->next) {
        f->name = f->next;
        f->next = NULL;
        image_source_resolve(f->m, f->rt, f->name, on_found, f);
        return;
    }
    f->fn(f->arg, image ? f->name : NULL, err);
    free(f);
}

void image_source_find(struct manager *m, struct runtime *rt, const char *first, const char *second,
                       image_source_name_fn *fn, void *arg)
{
    CLEANUP(image_free_p) struct image *image = NULL;
    struct err err = ERR_INIT;
    if (rt->ops->images) {
        struct finding *f = xzalloc(sizeof(*f));
        *f = (struct finding){ .m = m, .rt = rt, .name = first, .next = second, .fn = fn, .arg = arg };
        image_source_resolve(m, rt, first, on_found, f);
    } else if (image_resolve(m->images, first, &image, &err) == 0) {
        fn(arg, first, NULL);
    } else if (second && image_resolve(m->images, second, &image, NULL) == 0) {
        fn(arg, second, NULL);
    } else {
        fn(arg, NULL, &err);
    }
}

static bool is_of(const struct runtime *rt, const char *layer)
{
    size_t n = strlen(rt->ops->name);
    return strncmp(layer, rt->ops->name, n) == 0 && layer[n] == ':';
}

bool image_source_is_stored(const struct image *image)
{
    return image->n_layers == 0 || image->layers[0][0] == '/';
}

static bool can_run(const struct runtime *rt, const struct image *image)
{
    return image_source_is_stored(image) ? !rt->ops->images : is_of(rt, image->layers[0]);
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
