/* Theory of operation. When the driver promotes, the captured folder is a layer of the running box from that moment on,
 * so nothing may get lost between the driver's answer and our record:
 *  1. the record of the sandbox names the layer's future place (sandbox_save),
 *  2. the folder moves there, pinned for whoever asked (image_stack_layer),
 *  3. the sandbox's own pin is renewed.
 * A crash before 1 or 2 leaves the folder with the box; the driver reports it at adoption and capture_recover() resumes
 * from there. A crash before 3 is repaired there, too. */
#include "sandbox/storage/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/strlist.h"
#include "sandbox/lifecycle/lifecycle.h"
#include "sandbox/lifecycle/limits.h"
#include "sandbox/lifecycle/offload.h"
#include "sandbox/storage/pins.h"

#define BASE_RESOLVED "resolvedImage"
#define BASE_DIGEST   "imageDigest"
#define BASE_VERSION  "imageVersion"
#define TRIES_MAX     3
#define PROMOTE_DEPTH 64 /* from here on copies: every promote makes the sandbox itself one layer deeper */

struct capture {
    struct capture *next; /* of the same sandbox; the first is under way */
    struct sandbox *s;
    char owner[IDENT_MAX];
    unsigned tries, takes; /* after deaths of the driver's helper; of what an earlier one left */
    capture_fn *fn;
    void *arg;
};

/* The sandbox's image as it was resolved. Borrows from s; nothing to free. */
static struct image image_of(const struct sandbox *s, size_t n_layers)
{
    return (struct image){ .name = s->image,
                           .id = s->image,
                           .layers = s->layers,
                           .n_layers = n_layers,
                           .is_host = s->is_host,
                           .env = s->image_env,
                           .cmd = s->image_command,
                           .user = s->user };
}

json_t *capture_base(struct sandbox *s)
{
    json_t *base = json_object_get(s->extra, CAPTURE_BASE);
    if (base)
        return base;
    CLEANUP(image_free_p) struct image *image = NULL;
    size_t n = strlist_count(s->layers);
    const struct image_scope scope = { .tenant = s->tenant, .has_shared = s->manager->settings->shared_images };
    bool is_known = image_resolve_for(s->manager->images, &scope, s->image, &image, NULL) == 0 && image->n_layers == n;
    base = json_pack("{s:I, s:I, s:s*, s:s*, s:s*}", "layers", is_known ? (json_int_t)n : (json_int_t)0, "bytes",
                     is_known ? (json_int_t)image->size_bytes : (json_int_t)0, BASE_RESOLVED, s->resolved, BASE_DIGEST,
                     s->digest, BASE_VERSION, s->version);
    (void)json_object_set_new(s->extra, CAPTURE_BASE, base);
    return base;
}

void capture_show_base(struct sandbox *s)
{
    const json_t *base = json_object_get(s->extra, CAPTURE_BASE);
    if (!json_get_str(base, BASE_RESOLVED, NULL))
        return; /* none, or one of a server before 0.2 */
    free(s->resolved);
    free(s->digest);
    free(s->version);
    s->resolved = xstrdup(json_get_str(base, BASE_RESOLVED, NULL));
    s->digest = xstrdup(json_get_str(base, BASE_DIGEST, NULL));
    s->version = xstrdup(json_get_str(base, BASE_VERSION, NULL));
}

struct sandbox_config capture_config(const struct sandbox_config *config, const json_t *metadata, const char *image_id,
                                     const char *name)
{
    static const char *const of_the_run[] = { "ports", "terminal_sessions", "proxy_cors", "proxy_auth",
                                              "proxy_timeout" };
    struct sandbox_config made = sandbox_config_copy(config);
    json_t *kept = metadata ? json_copy((json_t *)(uintptr_t)metadata) : json_object();
    for (size_t i = 0; i < sizeof(of_the_run) / sizeof(of_the_run[0]); i++)
        (void)json_object_del(kept, of_the_run[i]);
    sandbox_config_set_text(&made, SANDBOX_CONFIG_IMAGE, image_id);
    sandbox_config_set_map(&made, SANDBOX_CONFIG_METADATA, kept);
    sandbox_config_set_text(&made, SANDBOX_CONFIG_NAME, name);
    return made;
}

/* Steps 1 to 3 for a folder that the running box uses. place: where it is to stand, the last of s->layers already. */
static int settle_shared(struct sandbox *s, const char *folder, const char *owner, struct image **ret, struct err *err)
{
    size_t n = strlist_count(s->layers);
    struct image base = image_of(s, n - 1);
    int r = sandbox_save(s, err);
    if (r >= 0)
        r = image_stack_layer(s->manager->images, &base, folder, s->layers[n - 1], owner, ret, err);
    if (r < 0) {
        struct err second = ERR_INIT;
        free(STEAL(s->layers[n - 1]));
        if (sandbox_save(s, &second) < 0)
            log_event(LOG_ERROR, "sandbox.capture", "id", s->id, "error", second.msg, NULL);
        return r;
    }
    if (s->box && s->runtime->ops->taken)
        s->runtime->ops->taken(s->box);
    return pins_add(s->manager, *ret, s->id, err);
}

static int take_shared(struct sandbox *s, const char *folder, const char *owner, struct image **ret, struct err *err)
{
    CLEANUP(free_p) char *place = image_layer_path(s->manager->images);
    (void)capture_base(s); /* before the list grows */
    strlist_add(&s->layers, place);
    return settle_shared(s, folder, owner, ret, err);
}

int capture_recover(struct sandbox *s, struct err *err)
{
    const struct runtime_ops *ops = s->runtime->ops;
    const char *folder = ops->leftover && s->box ? ops->leftover(s->box) : NULL;
    size_t n = strlist_count(s->layers);
    CLEANUP(image_free_p) struct image *image = NULL;
    if (folder && n && access(s->layers[n - 1], F_OK) < 0)
        return settle_shared(s, folder, s->id, &image, err); /* noted, not moved */
    if (folder)
        return take_shared(s, folder, s->id, &image, err);
    if (!ops->saves && !json_object_get(s->extra, CAPTURE_BASE))
        return 0; /* never captured */
    struct image whole = image_of(s, n);
    return pins_add(s->manager, &whole, s->id, err);
}

/* --- one after the other --- */

static void capture_begin(struct capture *c);

static void capture_finish(struct capture *c, const struct image *image, const struct err *err)
{
    struct sandbox *s = c->s;
    struct capture *next = c->next; /* fn may ask for another, which starts at once when none waits */
    s->captures = next;
    lifecycle_tell_still(s);
    c->fn(c->arg, image, err);
    if (next)
        capture_begin(next);
    sandbox_unref(s);
    free(c);
}

struct discarding {
    struct image_store *images;
    char *folder;
};

static void remove_copy(void *arg)
{
    struct discarding *d = arg;
    image_discard(d->images, d->folder);
}

static void removed_copy(void *arg)
{
    struct discarding *d = arg;
    free(d->folder);
    free(d);
}

/* The driver's helper died on the way, or left something to be taken first. */
static bool is_worth_another(struct capture *c, const struct err *err)
{
    const struct runtime_ops *ops = c->s->runtime->ops;
    bool has_left = !c->s->is_gone && c->s->box && ops->leftover && ops->leftover(c->s->box);
    if (has_left)
        return ++c->takes < TRIES_MAX; /* a helper that died often must not use up this one, too */
    return err->sys == EPIPE && ++c->tries < TRIES_MAX;
}

static void on_promoted(void *arg, const char *folder, int64_t size_bytes, bool is_shared, const struct err *err)
{
    struct capture *c = arg;
    struct sandbox *s = c->s;
    struct err why = ERR_INIT;
    CLEANUP(image_free_p) struct image *image = NULL;
    (void)size_bytes;
    if (err) {
        if (is_worth_another(c, err))
            capture_begin(c);
        else
            capture_finish(c, NULL, err);
        return;
    }
    int r;
    if (s->is_gone) {
        r = err_set(&why, ERR_NOT_FOUND, 0, "sandbox not found: %s (it was removed during the capture)", s->id);
    } else if (is_shared) {
        r = take_shared(s, folder, c->owner, &image, &why);
    } else {
        struct image base = image_of(s, strlist_count(s->layers));
        CLEANUP(free_p) char *place = image_layer_path(s->manager->images);
        (void)capture_base(s);
        r = image_stack_layer(s->manager->images, &base, folder, place, c->owner, &image, &why);
    }
    if (r < 0 && !is_shared) {
        struct discarding *d = xzalloc(sizeof(*d));
        *d = (struct discarding){ .images = s->manager->images, .folder = xstrdup(folder) };
        if (offload_run(s->manager, remove_copy, removed_copy, d) < 0)
            removed_copy(d);
    }
    capture_finish(c, r < 0 ? NULL : image, r < 0 ? &why : NULL);
}

static void on_copied(void *arg, const char *folder, int64_t size_bytes, const struct err *err)
{
    on_promoted(arg, folder, size_bytes, false, err);
}

/* The backend has made an image of the box, and the box continues unchanged. */
static void on_committed(void *arg, const struct box_image *made, const struct err *err)
{
    struct capture *c = arg;
    struct sandbox *s = c->s;
    struct err why = ERR_INIT;
    if (!err && s->is_gone)
        (void)err_set(&why, ERR_NOT_FOUND, 0, "sandbox not found: %s (it was removed during the capture)", s->id);
    if (err || why.code) {
        if (!err)
            pins_drop(s->manager, c->owner);
        capture_finish(c, NULL, err ? err : &why);
        return;
    }
    char *layers[] = { (char *)(uintptr_t)made->id, NULL };
    const struct image image = { .name = s->image,
                                 .id = layers[0],
                                 .layers = layers,
                                 .n_layers = 1,
                                 .env = s->image_env,
                                 .cmd = s->image_command,
                                 .user = s->user,
                                 .size_bytes = made->size_bytes };
    capture_finish(c, &image, NULL);
}

static int check(const struct sandbox *s, struct err *err)
{
    const struct runtime *rt = s->runtime;
    size_t n = strlist_count(s->layers);
    if (s->is_gone)
        return err_set(err, ERR_NOT_FOUND, 0, "sandbox not found: %s", s->id);
    if (!s->box)
        return err_set(err, ERR_CONFLICT, 0, "sandbox %s is not running (it is %s): start it first", s->id,
                       sandbox_status_name(s->status));
    int r = limits_check_reserve(image_store_free_mb(s->manager->images), s->manager->settings, err);
    if (r < 0)
        return r;
    bool can_capture = rt->ops->caps(s->runtime).can_capture;
    if (!can_capture && runtime_lack(rt, "snapshot"))
        return runtime_cannot(rt, "snapshot", "capture a sandbox's files", err);
    if (!can_capture)
        return err_set(
            err, ERR_UNSUPPORTED, 0,
            "the %s backend cannot capture a sandbox's files here: it has no control group to freeze it with "
            "(iii doctor says what is missing)",
            rt->ops->name);
    if ((int64_t)n >= s->manager->settings->max_layers)
        return err_set(err, ERR_TOO_LARGE, 0,
                       "sandbox %s has %zu layers, the limit is %lld: copy its files into a new sandbox and continue "
                       "there, or raise III_MAX_LAYERS",
                       s->id, n, (long long)s->manager->settings->max_layers);
    return 0;
}

static void capture_begin(struct capture *c)
{
    struct sandbox *s = c->s;
    const struct runtime_ops *ops = s->runtime->ops;
    struct err err = ERR_INIT;
    int r = check(s, &err);
    if (r >= 0 && ops->leftover && ops->leftover(s->box))
        r = capture_recover(s, &err); /* an earlier one that could not be taken then */
    if (r < 0)
        capture_finish(c, NULL, &err);
    else if (ops->saves)
        ops->saves->commit(s->box, c->owner, on_committed, c);
    else if (ops->promote && strlist_count(s->layers) < PROMOTE_DEPTH)
        ops->promote(s->box, (const char *const *)s->layers, strlist_count(s->layers), on_promoted, c);
    else
        ops->capture(s->box, on_copied, c);
}

void capture_run(struct sandbox *s, const char *owner, capture_fn *fn, void *arg)
{
    struct capture *c = xzalloc(sizeof(*c)), **at = &s->captures;
    *c = (struct capture){ .s = sandbox_ref(s), .fn = fn, .arg = arg };
    memcpy(c->owner, owner, strnlen(owner, sizeof(c->owner) - 1));
    while (*at)
        at = &(*at)->next;
    *at = c;
    lifecycle_tell_still(s);
    if (s->captures == c)
        capture_begin(c);
}
