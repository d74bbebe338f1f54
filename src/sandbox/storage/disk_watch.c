/* Theory of operation. The free space is asked for once a second, which costs nothing. A round counts every sandbox and
 * volume, one after the other, by their drivers: while the space is near the reserve, or will be soon at this rate, one
 * round follows the other; otherwise a round follows a change of the free space, and takes a small part of the time.
 *
 * A struct use is what one sandbox or volume takes, now and at two earlier times: its growth is that of the last half
 * hour to hour. What is there when the server starts has not grown.
 *
 * Below the reserve, the tenant that grew most loses its sandbox that grew most, with the volumes in it. Another
 * tenant's is never ended for it, even if the first has nothing left to end; and nobody is, when nobody grew by a part
 * of the reserve: then the space went elsewhere, and ending sandboxes would not bring it back. */
#include "sandbox/storage/disk_watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strlist.h"
#include "sandbox/lifecycle/limits.h"
#include "sandbox/storage/volumes.h"

#define CALM_MS     1000
#define NEAR_MS     100
#define GRACE_US    2000000 /* for the files of an ended sandbox to go */
#define LEAST_PARTS 8       /* of the reserve: ending a sandbox that grew by less does not help */
#define CALM_MB     16      /* change of the free space that a round is worth */
#define CALM_US     3000000
#define CALM_PARTS  10               /* of the time may go into rounds */
#define WINDOW_US   1800000000ll     /* half of the time that growth is counted over */
#define BYTES_MAX   (INT64_MAX >> 8) /* of one: sums do not overflow */

struct use {
    int64_t bytes, was, before; /* now, at the last turn of the window, at the one before */
};

struct round; /* one count of everything */

struct disk_watch {
    struct manager *m;
    struct timer *timer;
    struct round *round; /* NULL: none is under way */
    struct map *uses;    /* id of a sandbox or volume -> struct use */
    unsigned n_rounds;
    int64_t began_at; /* wall clock, ms: sandboxes made since then have grown from nothing */
    int64_t free_mb, looked_us, ended_us;
    int64_t round_free_mb, round_us, round_cost_us, window_us; /* at the last round; how long it took */
    bool is_near;
};

/* Outlives the watch when the driver still owes an answer. */
struct round {
    struct disk_watch *w; /* NULL: the watch was freed */
    char **ids;
    size_t at;
    int64_t began_us;
};

static void count_next(struct round *r);

static void use_set(struct disk_watch *w, const char *id, int64_t bytes)
{
    struct use *u = map_get(w->uses, id);
    bytes = bytes < 0 ? 0 : bytes > BYTES_MAX ? BYTES_MAX : bytes;
    if (!u) {
        u = xzalloc(sizeof(*u));
        const struct sandbox *s = map_get(w->m->sandboxes, id);
        bool is_new = w->n_rounds > 0 || (s && s->created_at >= w->began_at);
        u->was = u->before = is_new ? 0 : bytes;
        map_set(w->uses, id, u);
    }
    u->bytes = bytes;
}

static int64_t use_bytes(const struct disk_watch *w, const char *id)
{
    const struct use *u = map_get(w->uses, id);
    return u ? u->bytes : 0;
}

static int64_t use_growth(const struct disk_watch *w, const char *id)
{
    const struct use *u = map_get(w->uses, id);
    int64_t least = !u ? 0 : u->before < u->was ? u->before : u->was;
    return u && u->bytes > least ? u->bytes - least : 0;
}

/* NULL: it is gone. */
static const char *owner_of(const struct disk_watch *w, const char *id)
{
    const struct sandbox *s = map_get(w->m->sandboxes, id);
    return s ? s->tenant : volumes_owner(w->m->volumes, id);
}

static int64_t tenant_sum(const struct disk_watch *w, const char *tenant,
                          int64_t (*count)(const struct disk_watch *w, const char *id))
{
    int64_t sum = 0;
    for (struct map_iter it = map_iter(w->uses); map_next(&it);) {
        const char *owner = owner_of(w, it.key);
        if (owner && strcmp(owner, tenant) == 0)
            sum += count(w, it.key);
    }
    return sum;
}

int64_t disk_watch_used(const struct disk_watch *w, const char *tenant)
{
    return w ? tenant_sum(w, tenant, use_bytes) : 0;
}

json_t *disk_watch_tenants(const struct disk_watch *w)
{
    json_t *all = json_object();
    for (struct map_iter it = map_iter(w->uses); map_next(&it);) {
        const char *owner = owner_of(w, it.key);
        if (owner && *owner)
            (void)json_object_set_new(all, owner, json_integer(json_get_int(all, owner, 0) + use_bytes(w, it.key)));
    }
    return all;
}

/* --- who is ended --- */

/* What a sandbox grew by, itself and in the volumes that are in it. is_free: only those without a size. */
static int64_t sandbox_growth(const struct disk_watch *w, const struct sandbox *s, bool is_free)
{
    int64_t sum = is_free ? use_bytes(w, s->id) : use_growth(w, s->id);
    for (struct map_iter it = map_iter(w->uses); map_next(&it);)
        if (volumes_is_in(w->m->volumes, it.key, s, is_free))
            sum += use_growth(w, it.key);
    return sum;
}

/* The tenant that grew most; NULL: nobody grew. */
static const char *find_tenant(const struct disk_watch *w, int64_t *ret_bytes)
{
    const char *most = NULL;
    *ret_bytes = 0;
    for (struct map_iter it = map_iter(w->uses); map_next(&it);) {
        const char *owner = use_growth(w, it.key) > 0 ? owner_of(w, it.key) : NULL;
        if (!owner || (most && strcmp(owner, most) == 0))
            continue;
        int64_t bytes = tenant_sum(w, owner, use_growth);
        if (bytes > *ret_bytes) {
            *ret_bytes = bytes;
            most = owner;
        }
    }
    return most;
}

static void end_grower(struct disk_watch *w)
{
    int64_t reserve = w->m->settings->disk_reserve_mb, most = 0, of_tenant = 0;
    struct sandbox *s = NULL;
    const char *tenant = find_tenant(w, &of_tenant);
    for (struct map_iter it = map_iter(w->m->sandboxes); tenant && map_next(&it);) {
        struct sandbox *one = it.value;
        int64_t bytes = one->box && strcmp(one->tenant, tenant) == 0 ? sandbox_growth(w, one, false) : 0;
        if (bytes <= most)
            continue;
        s = one;
        most = bytes;
    }
    w->ended_us = clock_mono_us();
    if (!s || (most >> 20) < reserve / LEAST_PARTS) {
        bool is_theirs = (of_tenant >> 20) >= reserve / LEAST_PARTS;
        log_event(LOG_ERROR, "disk.low", "why",
                  is_theirs
                      ? "below III_DISK_RESERVE_MB, and the tenant that grew most has no sandbox that is growing: "
                        "delete its volumes, snapshots or sandboxes"
                      : "below III_DISK_RESERVE_MB, and no sandbox uses much more of the disk than before",
                  "tenant", is_theirs ? tenant : "", NULL);
        return;
    }
    char used[32] = "more than can be counted";
    if (most < BYTES_MAX)
        (void)snprintf(used, sizeof(used), "%" PRId64 " MB", most >> 20);
    CLEANUP(free_p)
    char *why = xasprintf("terminated: it took most of the disk (%s) and less than the reserve of %" PRId64
                          " MB (III_DISK_RESERVE_MB) was free. Give it a disk of its own with diskMb",
                          used, reserve);
    manager_end(w->m, s, why); /* one that is still there is found again */
}

/* The default limit of sandboxes without a disk of their own, and of volumes without a size in them. */
static void end_oversized(struct disk_watch *w)
{
    int64_t most = limits_by_disk(w->m->settings->shared_disk_mb, image_store_disk_mb(w->m->images));
    struct sandbox *s = NULL;
    for (struct map_iter it = map_iter(w->m->sandboxes); most > 0 && !s && map_next(&it);) {
        struct sandbox *one = it.value;
        if (one->box && one->config.disk_mb == 0 && sandbox_growth(w, one, true) >> 20 > most)
            s = one;
    }
    if (!s)
        return;
    CLEANUP(free_p)
    char *why = xasprintf(
        "terminated: it used more than %" PRId64 " MB of the shared disk (III_SHARED_DISK_MB)%s. Give it "
        "a disk of its own with diskMb",
        most, sandbox_growth(w, s, true) < BYTES_MAX ? "" : ", or more folders in each other than are counted");
    manager_end(w->m, s, why);
}

/* --- rounds --- */

static void forget_gone(struct disk_watch *w)
{
    char **gone = NULL;
    for (struct map_iter it = map_iter(w->uses); map_next(&it);)
        if (!owner_of(w, it.key))
            strlist_add(&gone, it.key);
    for (size_t i = 0; gone && gone[i]; i++)
        free(map_remove(w->uses, gone[i]));
    strlist_free(gone);
}

static void round_finish(struct disk_watch *w, int64_t began_us)
{
    int64_t now = clock_mono_us(), free_mb = image_store_free_mb(w->m->images);
    w->round = NULL;
    w->round_us = now;
    w->round_cost_us = now - began_us;
    w->n_rounds++;
    forget_gone(w);
    if (now - w->window_us >= WINDOW_US) {
        w->window_us = now;
        for (struct map_iter it = map_iter(w->uses); map_next(&it);) {
            struct use *u = it.value;
            u->before = u->was;
            u->was = u->bytes;
        }
    }
    end_oversized(w);
    if (free_mb >= 0 && free_mb < w->m->settings->disk_reserve_mb && now - w->ended_us >= GRACE_US)
        end_grower(w);
}

static void on_counted(void *arg, const struct err *err)
{
    struct round *r = arg;
    struct box_stats st;
    const struct sandbox *s = r->w && !err ? map_get(r->w->m->sandboxes, r->ids[r->at - 1]) : NULL;
    if (s && s->box && s->runtime->ops->stats(s->box, &st, NULL) >= 0) /* else it ended meanwhile */
        use_set(r->w, s->id, st.disk_bytes > (uint64_t)BYTES_MAX ? BYTES_MAX : (int64_t)st.disk_bytes);
    count_next(r);
}

static void on_volume_counted(void *arg, int64_t bytes, const struct err *err)
{
    struct round *r = arg;
    if (r->w && !err) {
        use_set(r->w, r->ids[r->at - 1], bytes);
        volumes_counted(r->w->m->volumes, r->ids[r->at - 1], bytes);
    }
    count_next(r);
}

static void count_next(struct round *r)
{
    while (r->w && r->ids && r->ids[r->at]) {
        struct manager *m = r->w->m;
        const char *id = r->ids[r->at++];
        const struct sandbox *s = map_get(m->sandboxes, id);
        struct runtime *rt = s ? NULL : volumes_runtime(m->volumes, id);
        if (rt && rt->ops->measure_volume) {
            rt->ops->measure_volume(rt, id, on_volume_counted, r);
            return;
        }
        struct box_stats st;
        if (s && s->box && s->config.disk_mb == 0 && s->runtime->ops->measure) {
            s->runtime->ops->measure(s->box, on_counted, r);
            return;
        }
        if (s && s->box && s->runtime->ops->caps(s->runtime).can_measure &&
            s->runtime->ops->stats(s->box, &st, NULL) >= 0)
            use_set(r->w, id, (int64_t)st.disk_bytes);
    }
    struct disk_watch *w = r->w;
    int64_t began_us = r->began_us;
    strlist_free(r->ids);
    free(r);
    if (w)
        round_finish(w, began_us);
}

static void round_start(struct disk_watch *w, int64_t now)
{
    w->round = xzalloc(sizeof(*w->round));
    w->round->w = w;
    w->round->began_us = now;
    w->round_free_mb = w->free_mb;
    for (struct map_iter it = map_iter(w->m->sandboxes); map_next(&it);)
        if (((struct sandbox *)it.value)->box)
            strlist_add(&w->round->ids, it.key);
    volumes_ids(w->m->volumes, &w->round->ids);
    count_next(w->round);
}

/* Near is twice the reserve, or where another CALM_MS at this rate leads below it. */
static bool is_near(const struct disk_watch *w, int64_t free_mb, int64_t now)
{
    int64_t reserve = w->m->settings->disk_reserve_mb, span_ms = (now - w->looked_us) / 1000;
    int64_t fell = w->looked_us && w->free_mb > free_mb && span_ms > 0 ? (w->free_mb - free_mb) * CALM_MS / span_ms : 0;
    return free_mb < 2 * reserve || free_mb - fell < reserve;
}

/* Whether a round in calm times is due. The first sets what has not grown. */
static bool is_due(const struct disk_watch *w, int64_t free_mb, int64_t now)
{
    int64_t changed = free_mb > w->round_free_mb ? free_mb - w->round_free_mb : w->round_free_mb - free_mb;
    int64_t pause = w->round_cost_us * CALM_PARTS;
    return w->n_rounds == 0 || (changed >= CALM_MB && now - w->round_us >= (pause > CALM_US ? pause : CALM_US));
}

static void check_disk(void *arg)
{
    struct disk_watch *w = arg;
    int64_t free_mb = image_store_free_mb(w->m->images), now = clock_mono_us();
    if (free_mb < 0 || w->m->is_closing || w->m->is_recovering)
        return;
    bool was_near = w->is_near;
    w->is_near = is_near(w, free_mb, now);
    if (w->is_near != was_near)
        timer_set(w->timer, w->is_near ? NEAR_MS : CALM_MS, w->is_near ? NEAR_MS : CALM_MS);
    bool is_changed = w->free_mb != free_mb || free_mb < w->m->settings->disk_reserve_mb;
    w->free_mb = free_mb;
    w->looked_us = now;
    bool is_urgent = w->is_near && is_changed && now - w->ended_us >= GRACE_US;
    if (!w->round && (is_urgent || is_due(w, free_mb, now)))
        round_start(w, now);
}

struct disk_watch *disk_watch_new(struct manager *m)
{
    struct disk_watch *w = xzalloc(sizeof(*w));
    w->m = m;
    w->uses = map_new();
    w->began_at = clock_wall_ms();
    w->window_us = clock_mono_us();
    w->ended_us = w->window_us - GRACE_US;
    w->timer = timer_new(m->loop, CALM_MS, CALM_MS, check_disk, w);
    return w;
}

struct disk_watch *disk_watch_free(struct disk_watch *w)
{
    if (!w)
        return NULL;
    if (w->round)
        w->round->w = NULL;
    for (struct map_iter it = map_iter(w->uses); map_next(&it);)
        free(it.value);
    map_free(w->uses);
    timer_free(w->timer);
    free(w);
    return NULL;
}
