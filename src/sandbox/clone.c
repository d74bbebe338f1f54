/* Clone: the writable layer is captured as a read-only layer over the same image, and a new sandbox starts from both. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strlist.h"
#include "sandbox/lifecycle.h"

struct cloning {
    struct sandbox *source;
    char *name; /* or NULL */
    manager_sandbox_fn *fn;
    void *arg;
};

static void finish(struct cloning *c, struct sandbox *s, const struct err *err)
{
    c->fn(c->arg, s, err);
    sandbox_unref(c->source);
    free(c->name);
    free(c);
}

static void on_created(void *arg, struct sandbox *s, const struct err *err)
{
    finish(arg, s, err);
}

/* The source's image as it was resolved, for image_add_layer(). Borrows from s; nothing to free. */
static struct image image_of(struct sandbox *s)
{
    return (struct image){ .name = s->image,
                           .id = s->image,
                           .layers = s->layers,
                           .n_layers = strlist_count(s->layers),
                           .is_host = s->is_host,
                           .env = s->image_env,
                           .user = s->user,
                           .workdir = NULL };
}

static json_t *clone_config(const struct sandbox *s, const struct image *image, const char *name)
{
    json_t *config = json_copy(s->config);
    (void)json_object_set_new(config, "image", json_string(image->id));
    (void)json_object_set(config, "metadata", s->metadata);
    (void)json_object_del(config, "name");
    if (name)
        (void)json_object_set_new(config, "name", json_string(name));
    return config;
}

static void on_captured(void *arg, const char *folder, int64_t size_bytes, const struct err *err)
{
    struct cloning *c = arg;
    struct sandbox *s = c->source;
    struct err why = ERR_INIT;
    CLEANUP(image_free_p) struct image *image = NULL;
    (void)size_bytes;
    if (err) {
        finish(c, NULL, err);
        return;
    }
    struct image base = image_of(s);
    CLEANUP(free_p) char *name = NULL;
    char key[IDENT_MAX];
    ident_new("clone", key);
    name = xasprintf("iii-clone:%s", key);
    if (image_add_layer(s->manager->images, &base, folder, name, &image, &why) < 0) {
        finish(c, NULL, &why);
        return;
    }
    JSON_OWNED config = clone_config(s, image, c->name);
    struct create_plan plan = { .config = config, .parent_id = s->id, .image = image, .env = s->env, .is_unlisted = true };
    manager_create(s->manager, &plan, on_created, c);
}

void manager_clone(struct manager *m, struct sandbox *s, const char *name, manager_sandbox_fn *fn, void *arg)
{
    struct err err = ERR_INIT;
    if (!m->runtime->ops->caps(m->runtime).can_capture) {
        (void)err_set(&err, ERR_UNSUPPORTED, 0, "the %s backend cannot capture a sandbox's files", m->runtime->ops->name);
        fn(arg, NULL, &err);
        return;
    }
    struct cloning *c = xzalloc(sizeof(*c));
    *c = (struct cloning){ .source = sandbox_ref(s), .name = xstrdup(name), .fn = fn, .arg = arg };
    m->runtime->ops->capture(s->box, on_captured, c);
}
