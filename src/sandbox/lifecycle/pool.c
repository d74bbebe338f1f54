#include "sandbox/lifecycle/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "loop/crontimer.h"
#include "sandbox/lifecycle/lifecycle.h"
#include "sandbox/lifecycle/limits.h"
#include "sandbox/storage/image_source.h"

#define PROFILES_MAX 32
#define REFILL_MS    5 /* after a take: not at once, when its client waits for the answer and sends the first command */

struct warm {
    struct warm *next;
    struct profile *profile;
    char box_id[IDENT_MAX];
    struct box *box; /* NULL: still being made */
    int guest_fd;
};

struct profile {
    struct pool *pool;
    char *key, *image;
    int64_t memory_mb;
    double cpu;
    bool has_network;
    struct warm *ready; /* oldest first */
    unsigned n_ready, n_making;
};

struct pool {
    struct manager *m;
    struct profile *profiles;
    size_t n_profiles;
    struct crontimer *timer;
    struct timer *refill;
    struct cron when;
    bool is_stopped;
    unsigned n_ending; /* boxes whose end was asked for and not answered yet */
};

static char *profile_key(const char *image, int64_t memory_mb, double cpu, bool has_network)
{
    return xasprintf("%s:%lld:%g:%s", image, (long long)memory_mb, cpu, has_network ? "true" : "false");
}

static void add_profile(struct pool *p, const char *image, int64_t memory_mb, double cpu, bool has_network)
{
    if (p->n_profiles == PROFILES_MAX)
        return;
    p->profiles[p->n_profiles++] = (struct profile){ .pool = p,
                                                     .key = profile_key(image, memory_mb, cpu, has_network),
                                                     .image = xstrdup(image),
                                                     .memory_mb = memory_mb,
                                                     .cpu = cpu,
                                                     .has_network = has_network };
}

int pool_new(struct manager *m, struct pool **ret, struct err *err)
{
    struct cron when;
    int r = cron_parse(m->settings->pool_replenish, &when, err);
    if (r < 0)
        return err_wrap(err, r, "III_POOL_REPLENISH");
    struct pool *p = xzalloc(sizeof(*p));
    p->m = m;
    p->when = when;
    p->profiles = xzalloc(PROFILES_MAX * sizeof(*p->profiles));
    const struct settings *s = m->settings;
    if (s->pool_size > 0 && !*s->pool_profiles)
        add_profile(p, s->default_image, s->default_memory_mb, (double)s->default_cpu, false);
    CLEANUP(free_p) char *text = xstrdup(s->pool_size > 0 ? s->pool_profiles : "");
    char *rest = text;
    /* "image,memoryMb,cpu,true|false": entries with fewer parts are skipped, as the contract says. */
    for (char *entry; (entry = strsep(&rest, ";"));) {
        char *parts[4] = { 0 };
        for (int i = 0; i < 4; i++)
            parts[i] = strsep(&entry, ",");
        if (parts[3] && *parts[0])
            add_profile(p, parts[0], strtoll(parts[1], NULL, 10), strtod(parts[2], NULL),
                        strcmp(parts[3], "true") == 0);
    }
    *ret = p;
    return 0;
}

struct pool *pool_free(struct pool *p)
{
    if (!p)
        return NULL;
    pool_stop(p);
    for (size_t i = 0; i < p->n_profiles; i++) {
        free(p->profiles[i].key);
        free(p->profiles[i].image);
    }
    free(p->profiles);
    free(p);
    return NULL;
}

static void on_box_ended(void *arg, const struct err *err)
{
    struct pool *p = arg;
    (void)err; /* what could not be removed now is swept at the next start */
    p->n_ending--;
}

static void end_box(struct pool *p, struct box *box)
{
    p->n_ending++;
    p->m->runtime->ops->destroy(box, on_box_ended, p);
}

static void on_warm(void *arg, struct box *box, int guest_fd, const struct err *err)
{
    struct warm *w = arg;
    struct profile *f = w->profile;
    struct pool *p = f->pool;
    f->n_making--;
    if (!box || p->is_stopped) {
        if (box) {
            (void)close(guest_fd);
            end_box(p, box);
        } else {
            log_event(LOG_WARN, "pool.create", "profile", f->key, "error", err->msg, NULL);
        }
        free(w);
        return;
    }
    w->box = box;
    w->guest_fd = guest_fd;
    struct warm **at = &f->ready;
    while (*at)
        at = &(*at)->next;
    *at = w;
    f->n_ready++;
}

static void on_image(void *arg, const struct image *image, const struct err *err)
{
    struct profile *f = arg;
    struct manager *m = f->pool->m;
    if (!image || f->pool->is_stopped) {
        f->n_making--;
        if (!image)
            log_event(LOG_WARN, "pool.image", "profile", f->key, "error", err->msg, NULL);
        return;
    }
    struct warm *w = xzalloc(sizeof(*w));
    w->profile = f;
    ident_new("pool", w->box_id);
    struct sandbox *shape = sandbox_new(m, w->box_id); /* only to make the plan the way a create does */
    shape->config = (struct sandbox_config){ .memory_mb = f->memory_mb, .cpu = f->cpu, .has_network = f->has_network };
    if (image->workdir && *image->workdir)
        sandbox_config_set_text(&shape->config, SANDBOX_CONFIG_WORKDIR, image->workdir);
    lifecycle_use_image(shape, image);
    struct box_plan plan = lifecycle_box_plan(shape);
    m->runtime->ops->create(m->runtime, &plan, on_warm, w);
    sandbox_unref(shape);
}

static void replenish(void *arg)
{
    struct pool *p = arg;
    struct manager *m = p->m;
    for (size_t i = 0; i < p->n_profiles && !p->is_stopped; i++) {
        struct profile *f = &p->profiles[i];
        for (int64_t n = f->n_ready + f->n_making; n < m->settings->pool_size; n++) {
            f->n_making++;
            image_source_resolve(m, m->runtime, NULL, f->image, on_image, f);
        }
    }
}

void pool_start(struct pool *p)
{
    if (p->n_profiles == 0)
        return;
    p->timer = crontimer_new(p->m->loop, &p->when, replenish, p);
    p->refill = timer_new(p->m->loop, -1, 0, replenish, p);
    replenish(p);
}

void pool_stop(struct pool *p)
{
    p->is_stopped = true;
    p->timer = crontimer_free(p->timer);
    p->refill = timer_free(p->refill);
    for (size_t i = 0; i < p->n_profiles; i++) {
        struct profile *f = &p->profiles[i];
        for (struct warm *w = f->ready, *next; w; w = next) {
            next = w->next;
            (void)close(w->guest_fd);
            end_box(p, w->box);
            free(w);
        }
        f->ready = NULL;
        f->n_ready = 0;
    }
}

bool pool_is_idle(const struct pool *p)
{
    unsigned busy = p->n_ending;
    for (size_t i = 0; i < p->n_profiles; i++)
        busy += p->profiles[i].n_making;
    return busy == 0;
}

struct handing {
    struct warm *w;
    box_ready_fn *fn;
    void *arg;
    struct pool *pool;
};

static void hand_over(void *arg)
{
    struct handing *h = arg;
    struct pool *p = h->pool;
    h->fn(h->arg, h->w->box, h->w->guest_fd, NULL);
    if (!p->is_stopped)
        timer_set(p->refill, REFILL_MS, 0);
    free(h->w);
    free(h);
}

bool pool_take(struct pool *p, struct sandbox *s, box_ready_fn *fn, void *arg)
{
    if (p->n_profiles == 0)
        return false;
    bool is_plain = !s->config.env && !s->config.entrypoint && !json_object_size(s->env) &&
                    strcmp(sandbox_workdir(s), p->m->settings->workspace_dir) == 0 &&
                    limits_are_default(&s->config, p->m->settings);
    if (!is_plain)
        return false;
    CLEANUP(free_p)
    char *key = profile_key(s->image, s->config.memory_mb, s->config.cpu, s->config.has_network);
    for (size_t i = 0; i < p->n_profiles; i++) {
        struct profile *f = &p->profiles[i];
        struct warm *w = f->ready;
        if (!w || strcmp(f->key, key) != 0)
            continue;
        f->ready = w->next;
        f->n_ready--;
        memcpy(s->box_id, w->box_id, sizeof(s->box_id));
        struct handing *h = xzalloc(sizeof(*h));
        *h = (struct handing){ .w = w, .fn = fn, .arg = arg, .pool = p };
        loop_defer(p->m->loop, hand_over, h);
        return true;
    }
    return false;
}

json_t *pool_status(struct pool *p)
{
    json_t *by = json_object();
    json_int_t total = 0, ready = 0;
    for (size_t i = 0; i < p->n_profiles; i++) {
        const struct profile *f = &p->profiles[i];
        (void)json_object_set_new(by, f->key, json_integer(f->n_ready));
        ready += f->n_ready;
        total += f->n_ready + f->n_making;
    }
    return json_pack("{s:I, s:I, s:o}", "total", total, "ready", ready, "by_profile", by);
}
