/* A server without its entry points: loop, store, image store, the fake backend and the manager, in virtual time.
 * The store, the images and the fake host outlive a stop or a crash of the rest. */
#pragma once
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "runtime/fake/fake.h"
#include "sandbox/fake/virtualtime.h"
#include "sandbox/lifecycle/lifecycle.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/lifecycle/pool.h"
#include "sandbox/net/networks.h"
#include "sandbox/storage/snapshots.h"
#include "sandbox/storage/volumes.h"
#include "store/scrapfolder.h"
#include "tap.h"

struct rig {
    char dir[64];
    struct settings settings;
    struct store *store;
    struct image_store *images;
    struct fake_host *host;
    struct loop *loop;
    struct runtime *runtime;
    struct manager *manager;
    enum manager_end end; /* of rig_stop() */
    bool is_recovered, is_over;
    unsigned n_waiting; /* calls of the test without an answer */
};

static inline void rig_recovered(void *arg)
{
    ((struct rig *)arg)->is_recovered = true;
}

static inline void rig_over(void *arg)
{
    ((struct rig *)arg)->is_over = true;
}

/* Nothing that anyone waits for is under way. */
static inline bool rig_is_idle(const struct rig *g)
{
    const struct manager *m = g->manager;
    return g->n_waiting == 0 && g->is_recovered && fake_count_open(g->host) == 0 && m->n_creating == 0 &&
           m->n_changing == 0 && m->n_offloaded == 0 && pool_is_idle(m->pool);
}

/* Time goes by until then. false: a quarter of an hour was not enough. */
static inline bool rig_settle(struct rig *g)
{
    int64_t end_us = virtual_us + 900ll * 1000000;
    for (unsigned quiet = 0; quiet < 4;) {
        virtual_turn(g->loop);
        quiet = rig_is_idle(g) ? quiet + 1 : 0;
        for (int i = 0; i < 4 && !quiet; i++) /* answers of agents need turns, not time */
            virtual_turn(g->loop);
        if (!quiet && !rig_is_idle(g) && (virtual_us >= end_us || !virtual_fire(end_us - virtual_us)))
            return false;
    }
    return true;
}

static inline void rig_begin(struct rig *g)
{
    struct err err = ERR_INIT;
    g->is_recovered = false;
    int r = loop_new(&g->loop, &err);
    assert(r == 0);
    g->runtime = fake_new(g->loop, g->host, false);
    r = manager_new(g->loop, &g->settings, g->store, g->images, g->runtime, &g->manager, &err);
    if (r < 0)
        printf("# manager: %s\n", err.msg);
    assert(r == 0);
}

static inline void rig_start(struct rig *g)
{
    rig_begin(g);
    manager_recover(g->manager, rig_recovered, g);
}

/* Settings may be changed between this and rig_start(). */
static inline void rig_init(struct rig *g)
{
    struct err err = ERR_INIT;
    *g = (struct rig){ .end = MANAGER_REMOVE };
    log_setup(LOG_ERROR, 0);
    (void)snprintf(g->dir, sizeof(g->dir), "%s/iii-fake-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert(mkdtemp(g->dir));
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/fake", g->dir);
    assert(mkdir(path, 0700) == 0);
    g->host = fake_host_new(path);
    (void)snprintf(path, sizeof(path), "%s/images", g->dir);
    int r = image_store_open(path, &g->images, &err);
    assert(r == 0);
    r = store_open(STORE_IN_MEMORY, &g->store, &err);
    assert(r == 0);
    settings_init(&g->settings);
    g->settings.disk_reserve_mb = 0;
    free(g->settings.default_image);
    g->settings.default_image = xstrdup("shell");
}

/* As SIGTERM does: with MANAGER_KEEP the boxes stay. */
static inline void rig_stop(struct rig *g)
{
    g->is_over = false;
    manager_shutdown(g->manager, g->end, rig_over, g);
    for (int i = 0; i < 100000 && !g->is_over; i++) {
        virtual_turn(g->loop);
        (void)virtual_fire(1000000);
    }
    CHECK(g->is_over);
    manager_disconnect(g->manager);
    g->manager = manager_free(g->manager);
    g->runtime = g->runtime->ops->free(g->runtime);
    (void)store_flush(g->store, NULL);
    g->loop = loop_free(g->loop);
    virtual_abandon(g->loop);
}

/* Asked by the leak checker at the end. */
static bool rig_has_crashed;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return rig_has_crashed;
}

/* As SIGKILL does: nothing of the manager runs any more. Its memory stays, so this is for short-lived programs. */
static inline void rig_crash(struct rig *g)
{
    rig_has_crashed = true;
    for (struct map_iter it = map_iter(g->manager->sandboxes); map_next(&it);) {
        struct sandbox *s = it.value;
        s->link = guest_link_free(s->link); /* the kernel would close them */
    }
    (void)g->runtime->ops->free(g->runtime);
    virtual_abandon(g->loop);
    (void)store_flush(g->store, NULL);
    g->n_waiting = 0;
}

static inline void rig_done(struct rig *g)
{
    if (g->manager)
        rig_stop(g);
    (void)fake_host_free(g->host);
    image_store_close(g->images);
    store_close(g->store);
    settings_done(&g->settings);
    scrapfolder_remove(g->dir);
}

/* --- one call and its answer --- */

struct answer {
    struct rig *rig;
    unsigned n; /* how often it came */
    struct err err;
    char id[IDENT_MAX];
    size_t count;
};

static inline struct answer answer_init(struct rig *g)
{
    g->n_waiting++;
    return (struct answer){ .rig = g };
}

static inline void answer_take(struct answer *a, const struct err *err)
{
    if (a->n++ == 0)
        a->rig->n_waiting--;
    a->err = err ? *err : (struct err)ERR_INIT;
}

static inline void answer_sandbox(void *arg, struct sandbox *s, const struct err *err)
{
    struct answer *a = arg;
    if (s)
        memcpy(a->id, s->id, sizeof(a->id));
    a->count = s != NULL;
    answer_take(a, err);
}

static inline void answer_children(void *arg, struct sandbox *const *children, size_t n, const struct err *err)
{
    struct answer *a = arg;
    if (n)
        memcpy(a->id, children[0]->id, sizeof(a->id));
    a->count = n;
    answer_take(a, err);
}

static inline void answer_done(void *arg, const struct err *err)
{
    answer_take(arg, err);
}

static inline void answer_record(void *arg, json_t *record, const struct err *err)
{
    struct answer *a = arg;
    (void)snprintf(a->id, sizeof(a->id), "%s", json_get_str(record, "id", ""));
    answer_take(a, err);
}

static inline void answer_snapshot(void *arg, const json_t *record, const struct err *err)
{
    struct answer *a = arg;
    (void)snprintf(a->id, sizeof(a->id), "%s", json_get_str(record, "id", ""));
    answer_take(a, err);
}

/* --- what many tests do --- */

/* more: further members of the configuration as JSON text, or NULL. Caller ends it with sandbox_config_done(). */
static inline struct sandbox_config rig_config(const char *more)
{
    struct sandbox_config config = { 0 };
    JSON_OWNED extra = more ? json_loads(more, 0, NULL) : NULL;
    sandbox_config_set_text(&config, SANDBOX_CONFIG_IMAGE, "shell");
    sandbox_config_read(&config, extra);
    return config;
}

/* more: as for rig_config(). */
static inline struct answer rig_create_by(struct rig *g, const struct tenant_by *by, const char *more)
{
    struct answer a = answer_init(g);
    SANDBOX_CONFIG_OWNED config = rig_config(more);
    struct create_plan plan = { .config = &config, .by = by };
    manager_create(g->manager, &plan, answer_sandbox, &a);
    CHECK(rig_settle(g));
    CHECK_INT(a.n, 1);
    return a;
}

static inline struct sandbox *rig_create(struct rig *g)
{
    struct answer a = rig_create_by(g, NULL, NULL);
    struct sandbox *s = map_get(g->manager->sandboxes, a.id);
    CHECK(s != NULL);
    return s;
}

static inline void rig_kill(struct rig *g, struct sandbox *s)
{
    CHECK_INT(manager_kill(g->manager, s, "sandbox.killed", NULL), 0);
    CHECK(rig_settle(g));
}

static inline void rig_count(void *arg, const struct fake_view *v)
{
    (void)v;
    ++*(size_t *)arg;
}

static inline size_t rig_boxes(struct rig *g)
{
    size_t n = 0;
    fake_each(g->host, rig_count, &n);
    return n;
}

/* Records, sandboxes and boxes are as many. */
static inline void rig_check(struct rig *g, size_t n)
{
    CHECK_INT(store_count(g->store, "sandbox"), n);
    CHECK_INT(map_count(g->manager->sandboxes), n);
    CHECK_INT(rig_boxes(g), n);
    CHECK_INT(g->manager->n_creating, 0);
}

/* A file in a sandbox, by way of its agent. */
static inline void rig_write(struct rig *g, struct sandbox *s, const char *path, const char *text)
{
    struct answer a = answer_init(g);
    CHECK_INT(guest_fs_put(s->link, path, text, strlen(text), 0, answer_done, &a), 0);
    CHECK(rig_settle(g));
    CHECK_INT(a.err.code, ERR_NONE);
}

static inline void rig_open(struct rig *g)
{
    rig_init(g);
    rig_start(g);
    CHECK(rig_settle(g));
}

static inline void rig_close(struct rig *g)
{
    if (fake_complaint(g->host))
        printf("# driver: %s\n", fake_complaint(g->host));
    CHECK(fake_complaint(g->host) == NULL);
    rig_done(g);
}
