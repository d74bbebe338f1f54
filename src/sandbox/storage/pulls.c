/* Theory of operation. A struct pull is one image being pulled; struct pulls owns them by name, in order of arrival.
 * Everyone who asks for the same name is a struct pulls_wait of the same pull. A waiter that leaves does not cancel the
 * pull.
 *
 * A pull runs on a thread of the pool, at most III_MAX_PULLS at a time, so that other work finds threads; a backend
 * with its own image store does the pull itself. While pulls run, a timer reports their progress to the waiters and,
 * less often, as event image.pull. A finished pull leaves the table before its waiters are called, with the image or
 * with the error: a waiter may ask for the same name again.
 *
 * A copy from our store into a backend's own is a pull, too: a thread writes the archive into a pipe, the backend reads
 * it. We hold the pipe's write end open until the thread has succeeded, and cancel the backend's work before we close
 * it otherwise: the backend never takes a part for the whole. */
#include "sandbox/storage/pulls.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "http/outgoing.h"
#include "http/url.h"
#include "image/image_policy.h"
#include "image/preset.h"
#include "image/reference.h"
#include "sandbox/lifecycle/limits.h"
#include "sandbox/lifecycle/offload.h"
#include "sandbox/net/ports.h"
#include "sandbox/observe/event_log.h"
#include "sandbox/storage/image_source.h"

#define LOOK_MS     250
#define PIPE_BYTES  (1 << 20)
#define EVENT_LOOKS 8 /* looks between two events: the log is kept, so it is not flooded */

struct pulls_wait {
    struct pull *pull;
    struct pulls_wait *next;
    pulls_progress_fn *progress;
    pulls_done_fn *done;
    void *arg;
};

struct pull {
    struct pulls *owner;
    char *name, *key; /* key: with the backend, unless it is the default */
    char *closed_ports, *tenant;
    bool is_ours; /* into our own store, whatever the backend has */
    struct runtime *rt;
    struct box_pull *engine_pull; /* of a backend with images of its own */
    struct image_pull_options options;
    struct image_store *images;
    struct image_pull_state state;
    struct pulls_wait *waits;
    bool is_running;
    unsigned looks;
    struct image *stored; /* a copy: of this image, which the backend keeps under the name kept */
    char *kept;
    int hold_fd;         /* write end of the pipe */
    unsigned n_at_work;  /* of its two halves: writer and backend */
    struct err send_err; /* of the writer */
    /* what the worker leaves */
    struct image *image;
    struct err err;
};

struct pulls {
    struct manager *manager;
    struct map *by_name; /* key -> struct pull, in order of arrival */
    struct timer *timer;
    size_t n_running;
    bool is_stopped;
};

int pulls_check(const struct settings *s, struct err *err)
{
    if (strcmp(s->pull, "missing") != 0 && strcmp(s->pull, "never") != 0)
        return err_set(err, ERR_INVALID, 0, "III_PULL is \"%s\": it must be missing or never", s->pull);
    if (strcmp(s->presets, "host") != 0 && strcmp(s->presets, "image") != 0)
        return err_set(err, ERR_INVALID, 0, "III_PRESETS is \"%s\": it must be host or image", s->presets);
    int r = address_hosts_check(s->private_registries, "III_PRIVATE_REGISTRIES", err);
    return r < 0 ? r : address_hosts_check(s->plain_registries, "III_PLAIN_REGISTRIES", err);
}

struct pulls *pulls_new(struct manager *m)
{
    struct pulls *p = xzalloc(sizeof(*p));
    p->manager = m;
    p->by_name = map_new();
    return p;
}

static void free_pull(struct pull *pull)
{
    for (struct pulls_wait *w = pull->waits, *next; w; w = next) {
        next = w->next;
        free(w);
    }
    (void)image_free(pull->image);
    (void)image_free(pull->stored);
    free(pull->kept);
    free(pull->closed_ports);
    free(pull->tenant);
    free(pull->name);
    free(pull->key);
    free(pull);
}

struct pulls *pulls_free(struct pulls *p)
{
    if (!p)
        return NULL;
    timer_free(p->timer);
    assert(p->n_running == 0); /* the manager's work off the loop is over before it goes */
    for (struct map_iter it = map_iter(p->by_name); map_next(&it);)
        free_pull(it.value);
    map_free(p->by_name);
    free(p);
    return NULL;
}

bool pulls_is_allowed(const struct pulls *p)
{
    return strcmp(p->manager->settings->pull, "never") != 0;
}

static void run_pull(void *arg)
{
    struct pull *pull = arg;
    (void)image_pull(pull->images, pull->name, &pull->options, &pull->state, &pull->image,
                     &pull->err); /* see pull_finish() */
}

static void run_send(void *arg)
{
    struct pull *pull = arg;
    (void)image_send(pull->images, pull->stored, pull->kept, pull->hold_fd, &pull->state,
                     &pull->send_err); /* see on_sent() */
}

static void emit_pull(struct pull *pull, const char *state, const char *error)
{
    json_t *data = json_pack("{s:s, s:s, s:I, s:I, s:i, s:i}", "image", pull->name, "state", state, "done",
                             (json_int_t)atomic_load(&pull->state.done_bytes), "total",
                             (json_int_t)atomic_load(&pull->state.total_bytes), "layersDone",
                             atomic_load(&pull->state.layers_done), "layers", atomic_load(&pull->state.layers));
    if (error)
        (void)json_object_set_new(data, "error", json_text(error, strlen(error)));
    event_log_emit_for(pull->owner->manager->events, pull->tenant, "image.pull", "", data);
    if (pull->stored && strcmp(state, "pulling") == 0) { /* it may take minutes: say so where an operator looks */
        CLEANUP(free_p) char *mb = xasprintf("%lld", (long long)atomic_load(&pull->state.done_bytes) >> 20);
        log_event(LOG_INFO, "image.copy", "image", pull->name, "backend", pull->rt->ops->name, "copied_mb", mb, NULL);
    }
}

static void start_next(struct pulls *p);

/* The pull leaves the table first: whoever is told may ask for the same name again. */
static void pull_finish(struct pull *pull)
{
    struct pulls *p = pull->owner;
    const struct err *err = pull->image ? NULL : &pull->err;
    (void)map_remove(p->by_name, pull->key);
    log_event(err ? LOG_WARN : LOG_INFO, "image.pull", "image", pull->name, "error", err ? err->msg : "none", NULL);
    emit_pull(pull, err ? "failed" : "done", err ? err->msg : NULL);
    while (pull->waits) {
        struct pulls_wait *w = pull->waits;
        pull->waits = w->next;
        w->done(w->arg, pull->image, err);
        free(w);
    }
    free_pull(pull);
    start_next(p);
}

static void on_worked(void *arg)
{
    struct pull *pull = arg;
    pull->owner->n_running--;
    pull_finish(pull);
}

static void report_progress(void *arg)
{
    struct pulls *p = arg;
    for (struct map_iter it = map_iter(p->by_name); map_next(&it);) {
        struct pull *pull = it.value;
        if (!pull->is_running)
            continue;
        const struct pulls_progress at = { .done_bytes = atomic_load(&pull->state.done_bytes),
                                           .total_bytes = atomic_load(&pull->state.total_bytes),
                                           .layers_done = atomic_load(&pull->state.layers_done),
                                           .layers = atomic_load(&pull->state.layers) };
        for (struct pulls_wait *w = pull->waits, *next; w; w = next) {
            next = w->next;
            if (w->progress)
                w->progress(w->arg, &at);
        }
        if (++pull->looks % EVENT_LOOKS == 0)
            emit_pull(pull, "pulling", NULL);
    }
    if (map_count(p->by_name) == 0)
        timer_set(p->timer, -1, 0);
}

static void on_engine_progress(void *arg, int64_t done, int64_t total, int layers_done, int layers)
{
    struct pull *pull = arg;
    atomic_store(&pull->state.done_bytes, done);
    atomic_store(&pull->state.total_bytes, total);
    atomic_store(&pull->state.layers_done, layers_done);
    atomic_store(&pull->state.layers, layers);
}

static void cancel(struct pull *pull)
{
    if (pull->engine_pull)
        pull->rt->ops->images->cancel(pull->engine_pull);
    else
        image_pull_cancel(&pull->state);
}

/* The writer's error is the cause of the backend's, unless the backend stopped reading. */
static void copy_half_done(struct pull *pull)
{
    if (--pull->n_at_work)
        return;
    if (pull->image)
        image_source_copied(pull->image, pull->stored);
    else if (pull->send_err.code && pull->send_err.sys != EPIPE)
        pull->err = pull->send_err;
    on_worked(pull);
}

static void on_engine_done(void *arg, const struct box_image *image, const struct err *err)
{
    struct pull *pull = arg;
    pull->engine_pull = NULL;
    if (image)
        pull->image = image_source_image(pull->name, image);
    else
        pull->err = *err;
    if (pull->stored)
        copy_half_done(pull);
    else
        on_worked(pull);
}

/* EPIPE: the backend does not read any more, and says why. */
static void on_sent(void *arg)
{
    struct pull *pull = arg;
    if (pull->send_err.code && pull->send_err.sys != EPIPE && pull->engine_pull)
        cancel(pull);
    (void)close(steal_fd(&pull->hold_fd)); /* all is written, or nobody reads it */
    copy_half_done(pull);
}

static int start_copy(struct pulls *p, struct pull *pull)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_sys(&pull->err, -errno, "make a pipe for the copy of %s", pull->name);
    (void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES); /* with less it is only slower */
    pull->hold_fd = ends[1];
    int r = offload_run(p->manager, run_send, on_sent, pull);
    if (r < 0) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        return r == -ECANCELED ? err_set(&pull->err, ERR_CAPACITY, 0, "the server is stopping")
                               : err_sys(&pull->err, r, "start the copy of %s", pull->name);
    }
    const struct box_archive archive = { .name = pull->kept,
                                         .fd = ends[0],
                                         .is_root = strcmp(pull->stored->id, "host") == 0,
                                         .env = pull->stored->env,
                                         .cmd = pull->stored->cmd };
    pull->n_at_work = 2;
    pull->engine_pull = pull->rt->ops->images->load(pull->rt, &archive, on_engine_done, pull);
    log_event(LOG_INFO, "image.copy", "image", pull->name, "backend", pull->rt->ops->name, "to", pull->kept, NULL);
    return 0;
}

/* A backend with images of its own asks registries itself; what the name alone tells is judged here. */
static int check_engine_pull(struct pulls *p, struct pull *pull)
{
    const struct settings *set = p->manager->settings;
    struct reference ref;
    struct url u;
    int r = reference_parse(preset_pull_name(pull->name), &ref, &pull->err);
    if (r < 0)
        return r;
    CLEANUP(free_p) char *url = xasprintf("https://%s", ref.host);
    CLEANUP(free_p) char *listed = xasprintf("%s,%s", set->private_registries, set->plain_registries);
    const struct outgoing rule = { OUTGOING_PUBLIC, .private_hosts = listed, .closed_ports = pull->closed_ports };
    if (url_parse_either(url, "http", &u) < 0)
        return err_set(&pull->err, ERR_INVALID, 0, "registry \"%.100s\" is not HOST or HOST:PORT", ref.host);
    return outgoing_check_host(&rule, u.host, u.port, &pull->err);
}

static int start_one(struct pulls *p, struct pull *pull)
{
    const struct runtime_images *engine = pull->is_ours ? NULL : pull->rt->ops->images;
    free(pull->closed_ports);
    pull->options.closed_ports = pull->closed_ports = ports_closed(p->manager->ports);
    if (engine) {
        int r = pull->stored ? start_copy(p, pull) : check_engine_pull(p, pull);
        if (r < 0)
            return r;
        pull->is_running = true;
        p->n_running++;
        emit_pull(pull, "started", NULL);
        if (!pull->stored)
            pull->engine_pull = engine->pull(pull->rt, pull->name, on_engine_progress, on_engine_done, pull);
        return 0;
    }
    int r = offload_run(p->manager, run_pull, on_worked, pull);
    if (r == -ECANCELED)
        return err_set(&pull->err, ERR_CAPACITY, 0, "the server is stopping");
    if (r < 0)
        return err_sys(&pull->err, r, "start the pull of %s", pull->name);
    pull->is_running = true;
    p->n_running++;
    emit_pull(pull, "started", NULL);
    return 0;
}

/* One ended, so one may start. */
static void start_next(struct pulls *p)
{
    for (struct map_iter it = map_iter(p->by_name); map_next(&it);) {
        struct pull *pull = it.value;
        if (pull->is_running)
            continue;
        if (start_one(p, pull) < 0)
            pull_finish(pull); /* which looks for the next again */
        return;
    }
}

void pulls_stop(struct pulls *p)
{
    p->is_stopped = true;
    for (struct map_iter it = map_iter(p->by_name); map_next(&it);)
        cancel(it.value);
}

static struct pull *add_pull(struct pulls *p, struct runtime *rt, const char *name, const char *key,
                             const struct pulls_how *how)
{
    const struct tenant_by *by = how ? how->by : NULL;
    const struct settings *set = p->manager->settings;
    struct pull *pull = xzalloc(sizeof(*pull));
    pull->owner = p;
    pull->name = xstrdup(name);
    pull->key = xstrdup(key);
    pull->rt = rt;
    pull->hold_fd = NO_FD;
    pull->images = p->manager->images;
    pull->options = (struct image_pull_options){ .mirrors = set->registry_mirrors,
                                                 .plain_hosts = set->plain_registries,
                                                 .private_hosts = set->private_registries,
                                                 .is_terse = true,
                                                 .disk_bytes = set->image_disk_mb << 20,
                                                 .has_shared = set->shared_images,
                                                 .rule = image_policy_rule(p->manager->image_policy, name) };
    pull->options.tenant = pull->tenant = xstrdup(image_source_owner(by));
    pull->is_ours = !(how && how->stored) && image_source_is_ours(p->manager, by, name);
    map_set(p->by_name, key, pull);
    if (!p->timer)
        p->timer = timer_new(p->manager->loop, LOOK_MS, LOOK_MS, report_progress, p);
    else if (map_count(p->by_name) == 1)
        timer_set(p->timer, LOOK_MS, LOOK_MS);
    return pull;
}

/* Half of the queue at most for one tenant. */
static int check_share(const struct pulls *p, const char *tenant, struct err *err)
{
    size_t n = 0, max = (size_t)(p->manager->settings->pull_queue + 1) / 2;
    for (struct map_iter it = map_iter(p->by_name); *tenant && map_next(&it);)
        n += strcmp(((const struct pull *)it.value)->tenant, tenant) == 0;
    return n < max
               ? 0
               : err_set(err, ERR_CAPACITY, 0,
                         "limit of %zu running and waiting pulls of one tenant reached (half of III_PULL_QUEUE): try "
                         "again later",
                         max);
}

int pulls_start(struct pulls *p, const char *name, const struct pulls_how *how, pulls_done_fn *done, void *arg,
                struct pulls_wait **ret, struct err *err)
{
    struct runtime *rt = how && how->runtime ? how->runtime : p->manager->runtime;
    CLEANUP(free_p)
    char *key = rt == p->manager->runtime ? xstrdup(name) : xasprintf("%s:%s", rt->ops->name, name);
    const struct image *stored = how ? how->stored : NULL;
    const struct tenant_by *by = how ? how->by : NULL;
    const char *tenant = image_source_owner(by);
    if (*tenant && !stored) /* no name has a line break */
        key = (free(key), xasprintf("%s\n%s", tenant, name));
    if (stored)
        key = (free(key), xasprintf("%s:%s", rt->ops->name, how->kept));
    struct pull *pull = map_get(p->by_name, key);
    if (!stored && !pulls_is_allowed(p))
        return err_set(err, ERR_FORBIDDEN, 0,
                       "pulling is off (III_PULL=never): add the image with `iii image pull %s` or `iii image import`",
                       name);
    if (p->is_stopped)
        return err_set(err, ERR_CAPACITY, 0, "the server is stopping");
    int r = stored ? 0 : image_policy_may_pull(p->manager->image_policy, tenant, name, err);
    if (r == 0 && !pull && !stored)
        r = check_share(p, tenant, err);
    if (r == 0 && !stored)
        r = tenant_check_disk(p->manager, by, err);
    if (r < 0)
        return r;
    if (!pull && map_count(p->by_name) >= (size_t)p->manager->settings->pull_queue)
        return err_set(err, ERR_CAPACITY, 0,
                       "limit of %zu running and waiting pulls reached (III_PULL_QUEUE): try again later",
                       map_count(p->by_name));
    r = limits_check_reserve(image_store_free_mb(p->manager->images), p->manager->settings, err);
    if (r < 0)
        return r;
    if (!pull) {
        pull = add_pull(p, rt, name, key, how);
        pull->stored = stored ? image_copy(stored) : NULL;
        pull->kept = stored ? xstrdup(how->kept) : NULL;
        if (p->n_running < (size_t)p->manager->settings->max_pulls && start_one(p, pull) < 0) {
            *err = pull->err;
            (void)map_remove(p->by_name, key);
            free_pull(pull);
            return -EAGAIN;
        }
    }
    struct pulls_wait *w = xzalloc(sizeof(*w));
    *w = (struct pulls_wait){ .pull = pull, .progress = how ? how->progress : NULL, .done = done, .arg = arg };
    struct pulls_wait **at = &pull->waits;
    while (*at)
        at = &(*at)->next;
    *at = w;
    if (ret)
        *ret = w;
    return 0;
}

void pulls_leave(struct pulls_wait *w)
{
    for (struct pulls_wait **at = &w->pull->waits; *at; at = &(*at)->next)
        if (*at == w) {
            *at = w->next;
            free(w);
            return;
        }
}
