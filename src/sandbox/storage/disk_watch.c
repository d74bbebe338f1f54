/* The free space is asked for once a second, which costs nothing. Only when it is near the reserve, or will be soon at
 * this rate, the boxes are counted, one after the other, by the driver. Whoever is ended has at least a part of the
 * reserve: when the space went elsewhere, ending sandboxes would not bring it back. */
#include "sandbox/storage/disk_watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strlist.h"
#include "sandbox/observe/event_log.h"

#define CALM_MS     1000
#define NEAR_MS     100
#define GRACE_US    2000000 /* for the files of an ended sandbox to go */
#define LEAST_PARTS 8       /* of the reserve: ending a sandbox that uses less does not help */

struct round; /* one count of all boxes */

struct disk_watch {
    struct manager *m;
    struct timer *timer;
    struct round *round; /* NULL: none is under way */
    int64_t free_mb, looked_us, ended_us;
    bool is_near;
};

/* Outlives the watch when the driver still owes an answer. */
struct round {
    struct disk_watch *w; /* NULL: the watch was freed */
    char **ids;
    size_t at;
};

static void count_next(struct round *r);

static bool is_shared(const struct sandbox *s)
{
    return s->box && s->config.disk_mb == 0;
}

static void end_biggest(struct disk_watch *w)
{
    int64_t reserve = w->m->settings->disk_reserve_mb, bytes = 0;
    struct err err = ERR_INIT;
    struct sandbox *s = NULL;
    for (struct map_iter it = map_iter(w->m->sandboxes); map_next(&it);) {
        struct sandbox *one = it.value;
        struct box_stats st;
        if (!is_shared(one) || one->runtime->ops->stats(one->box, &st, NULL) < 0 || (int64_t)st.disk_bytes <= bytes)
            continue;
        s = one;
        bytes = (int64_t)st.disk_bytes;
    }
    if (!s || (bytes >> 20) < reserve / LEAST_PARTS) {
        log_event(LOG_ERROR, "disk.low", "why", "below III_DISK_RESERVE_MB, and no sandbox uses much of the disk",
                  NULL);
        w->ended_us = clock_mono_us();
        return;
    }
    char used[32] = "more than can be counted";
    if (bytes < INT64_MAX)
        (void)snprintf(used, sizeof(used), "%" PRId64 " MB", bytes >> 20);
    CLEANUP(free_p)
    char *why = xasprintf("terminated: it used most of the shared disk (%s) and less than the reserve of %" PRId64
                          " MB (III_DISK_RESERVE_MB) was free. Give it a disk of its own with diskMb",
                          used, reserve);
    log_event(LOG_WARN, "sandbox.disk", "id", s->id, "why", why, NULL);
    (void)event_log_emit(w->m->events, "sandbox.error", s->id, json_pack("{s:s}", "error", why));
    if (manager_kill(w->m, s, "sandbox.killed", &err) < 0)
        log_event(LOG_ERROR, "sandbox.disk", "error", err.msg, NULL); /* tried again at the next look */
    w->ended_us = clock_mono_us();
}

static void on_counted(void *arg, const struct err *err)
{
    (void)err; /* it ended meanwhile, or is counted next time */
    count_next(arg);
}

static void count_next(struct round *r)
{
    while (r->w && r->ids && r->ids[r->at]) {
        const struct sandbox *s = map_get(r->w->m->sandboxes, r->ids[r->at++]);
        if (!s || !is_shared(s) || !s->runtime->ops->measure)
            continue;
        s->runtime->ops->measure(s->box, on_counted, r);
        return;
    }
    struct disk_watch *w = r->w;
    strlist_free(r->ids);
    free(r);
    if (!w)
        return;
    w->round = NULL;
    int64_t free_mb = image_store_free_mb(w->m->images);
    if (free_mb >= 0 && free_mb < w->m->settings->disk_reserve_mb && clock_mono_us() - w->ended_us >= GRACE_US)
        end_biggest(w);
}

/* Near is twice the reserve, or where another CALM_MS at this rate leads below it. */
static bool is_near(const struct disk_watch *w, int64_t free_mb, int64_t now)
{
    int64_t reserve = w->m->settings->disk_reserve_mb, span_ms = (now - w->looked_us) / 1000;
    int64_t fell = w->looked_us && w->free_mb > free_mb && span_ms > 0 ? (w->free_mb - free_mb) * CALM_MS / span_ms : 0;
    return free_mb < 2 * reserve || free_mb - fell < reserve;
}

static void check_disk(void *arg)
{
    struct disk_watch *w = arg;
    int64_t free_mb = image_store_free_mb(w->m->images), now = clock_mono_us();
    if (free_mb < 0 || w->m->is_closing)
        return;
    bool was_near = w->is_near;
    w->is_near = is_near(w, free_mb, now);
    if (w->is_near != was_near)
        timer_set(w->timer, w->is_near ? NEAR_MS : CALM_MS, w->is_near ? NEAR_MS : CALM_MS);
    bool is_changed = w->free_mb != free_mb || free_mb < w->m->settings->disk_reserve_mb;
    w->free_mb = free_mb;
    w->looked_us = now;
    if (!w->is_near || !is_changed || w->round || now - w->ended_us < GRACE_US)
        return;
    w->round = xzalloc(sizeof(*w->round));
    w->round->w = w;
    for (struct map_iter it = map_iter(w->m->sandboxes); map_next(&it);)
        if (is_shared(it.value))
            strlist_add(&w->round->ids, it.key);
    count_next(w->round);
}

struct disk_watch *disk_watch_new(struct manager *m)
{
    if (m->settings->disk_reserve_mb == 0)
        return NULL;
    struct disk_watch *w = xzalloc(sizeof(*w));
    w->m = m;
    w->ended_us = clock_mono_us() - GRACE_US;
    w->timer = timer_new(m->loop, CALM_MS, CALM_MS, check_disk, w);
    return w;
}

struct disk_watch *disk_watch_free(struct disk_watch *w)
{
    if (!w)
        return NULL;
    if (w->round)
        w->round->w = NULL;
    timer_free(w->timer);
    free(w);
    return NULL;
}
