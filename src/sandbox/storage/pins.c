#include "sandbox/storage/pins.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "sandbox/lifecycle/offload.h"
#include "sandbox/storage/image_source.h"
#include "sandbox/storage/snapshots.h"

#define COLLECT_MS 500 /* kills come in bursts: one look at the layers for all of them */

struct collecting {
    struct manager *m;
    struct err err;
};

static void collect(void *arg)
{
    struct collecting *c = arg;
    (void)image_collect(c->m->images, &c->err); /* the error is told below */
}

static void collected(void *arg)
{
    struct collecting *c = arg;
    if (c->err.code)
        log_event(LOG_WARN, "image.collect", "error", c->err.msg, NULL);
    c->m->is_collecting = false;
    if (c->m->is_collect_due)
        timer_set(c->m->collect_timer, COLLECT_MS, 0);
    free(c);
}

static void on_collect(void *arg)
{
    struct manager *m = arg;
    if (m->is_collecting)
        return; /* collected() looks at is_collect_due */
    struct collecting *c = xzalloc(sizeof(*c));
    c->m = m;
    m->is_collect_due = false;
    m->is_collecting = offload_run(m, collect, collected, c) == 0;
    if (!m->is_collecting)
        free(c);
}

int pins_add(struct manager *m, const struct image *image, const char *owner, struct err *err)
{
    struct runtime *rt = image_source_runtime(m, image);
    if (!rt)
        return err_set(err, ERR_GONE, 0, "image %.100s is kept by a backend that this server does not have", image->id);
    if (image_source_is_stored(image))
        return image_pin(m->images, image, owner, err);
    rt->ops->saves->pin(rt, image->layers[0], owner);
    return 0;
}

void pins_drop(struct manager *m, const char *owner)
{
    struct err err = ERR_INIT;
    for (size_t i = 0; i < m->n_runtimes; i++)
        if (m->runtimes[i]->ops->saves)
            m->runtimes[i]->ops->saves->unpin(m->runtimes[i], owner);
    if (image_unpin_lazy(m->images, owner, &err) < 0)
        log_event(LOG_WARN, "image.unpin", "owner", owner, "error", err.msg, NULL);
    if (!m->collect_timer)
        m->collect_timer = timer_new(m->loop, COLLECT_MS, 0, on_collect, m);
    else if (!m->is_collect_due)
        timer_set(m->collect_timer, COLLECT_MS, 0);
    m->is_collect_due = true;
}

static bool is_alive(void *arg, const char *owner)
{
    struct manager *m = arg;
    if (strncmp(owner, "snap_", 5) == 0)
        return snapshots_has(m->snapshots, owner);
    bool is_box = strncmp(owner, "sbx_", 4) == 0 || strncmp(owner, "pool_", 5) == 0 ||
                  strncmp(owner, "fork_", 5) == 0 || strncmp(owner, "build_", 6) == 0;
    return !is_box || map_get(m->sandboxes, owner);
}

void pins_sweep(struct manager *m)
{
    struct err err = ERR_INIT;
    if (image_sweep_pins(m->images, is_alive, m, &err) < 0)
        log_event(LOG_WARN, "image.pins", "error", err.msg, NULL);
}
