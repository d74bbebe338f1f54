/* Restore in place: the new box is made while the old one runs. Only when it is linked and the record that names it is
 * in the store does the sandbox switch to it; until then every failure ends the new box and leaves the old one
 * unchanged. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strlist.h"
#include "sandbox/lifecycle/lifecycle.h"
#include "sandbox/lifecycle/starts.h"
#include "sandbox/storage/capture.h"
#include "sandbox/storage/image_source.h"
#include "sandbox/storage/pins.h"
#include "sandbox/storage/snapshots.h"
#include "sandbox/storage/volumes.h"

/* What changes with the box. One of these is in the sandbox, the other in the restoring. */
struct root {
    struct box *box;
    struct guest_link *link;
    json_t *kept;
    char box_id[IDENT_MAX];
    uint64_t box_number;
    int64_t expires_at;
    enum sandbox_status status;
    char *image, *user;
    char **layers, **image_env;
    bool is_host;
    json_t *env, *base;
};

struct restoring {
    struct sandbox *s;
    struct root next;
    char pin[IDENT_MAX];
    char snapshot_id[IDENT_MAX];
    manager_sandbox_fn *fn;
    void *arg;
};

static void restore_finish(struct restoring *r, const struct err *err)
{
    struct sandbox *s = r->s;
    s->is_restoring = false;
    r->fn(r->arg, err ? NULL : s, err);
    if (!s->is_gone && s->box && !s->link && !s->stopping)
        lifecycle_die(s); /* meanwhile */
    manager_settled(s);
    pins_drop(s->manager, r->pin);
    sandbox_unref(s);
    free(r->next.image);
    free(r->next.user);
    strlist_free(r->next.layers);
    strlist_free(r->next.image_env);
    json_decref(r->next.env);
    json_decref(r->next.base);
    json_decref(r->next.kept);
    free(r);
}

/* Exchanges what the sandbox has with *x. */
static void exchange(struct sandbox *s, struct root *x)
{
    struct root had = { .box = s->box,
                        .link = s->link,
                        .kept = s->kept,
                        .box_number = s->box_number,
                        .expires_at = s->expires_at,
                        .status = s->status,
                        .image = s->image,
                        .user = s->user,
                        .layers = s->layers,
                        .image_env = s->image_env,
                        .is_host = s->is_host,
                        .env = s->env,
                        .base = json_incref(capture_base(s)) };
    memcpy(had.box_id, s->box_id, sizeof(had.box_id));
    s->box = x->box;
    s->link = x->link;
    s->kept = x->kept;
    s->box_number = x->box_number;
    sandbox_expire_at(s, x->expires_at);
    s->status = x->status;
    s->image = x->image;
    s->user = x->user;
    s->layers = x->layers;
    s->image_env = x->image_env;
    s->is_host = x->is_host;
    s->env = x->env;
    memcpy(s->box_id, x->box_id, sizeof(s->box_id));
    if (x->base)
        (void)json_object_set_new(s->extra, CAPTURE_BASE, x->base);
    else
        (void)json_object_del(s->extra, CAPTURE_BASE);
    capture_show_base(s);
    *x = had;
    sandbox_env_changed(s);
}

static void on_complete(void *arg)
{
    struct restoring *r = arg;
    struct sandbox *s = r->s;
    struct err err = ERR_INIT;
    if (s->is_gone) {
        (void)err_set(&err, ERR_NOT_FOUND, 0, "sandbox not found: %s", s->id);
        restore_finish(r, &err);
        return;
    }
    lifecycle_start_entrypoint(s);
    (void)event_log_emit(s->manager->events, "sandbox.restored", s->id,
                         json_pack("{s:s}", "snapshotId", r->snapshot_id));
    restore_finish(r, NULL);
}

static int check_still(const struct sandbox *s, struct err *err)
{
    if (s->is_gone)
        return err_set(err, ERR_NOT_FOUND, 0, "sandbox not found: %s", s->id);
    if (s->captures)
        return err_set(err, ERR_CONFLICT, 0, "sandbox %s is being captured: try again", s->id);
    return 0;
}

static void on_box_ready(void *arg, struct box *box, int guest_fd, const struct err *err)
{
    struct restoring *r = arg;
    struct sandbox *s = r->s;
    struct err why = ERR_INIT;
    starts_done(s->manager->starts, s->tenant);
    if (!box) {
        restore_finish(r, err);
        return;
    }
    if (check_still(s, &why) < 0) {
        (void)close(guest_fd); /* it has had no request */
        s->runtime->ops->destroy(box, NULL, NULL);
        restore_finish(r, &why);
        return;
    }
    r->next.expires_at = lifecycle_next_expiry(s);
    exchange(s, &r->next);
    int result = lifecycle_connect(s, box, guest_fd, &why);
    bool has_box = result >= 0;
    if (result >= 0)
        result = sandbox_save(s, &why);
    if (result >= 0) { /* the new box is in s, the old one in r->next */
        struct image image = { .name = s->image, .layers = s->layers, .n_layers = strlist_count(s->layers) };
        (void)pins_add(s->manager, &image, s->id, &why); /* fails only if a layer went, and r->pin holds them */
        r->next.link = guest_link_free(r->next.link); /* what ran in the old box fails: commands, terminals, contexts */
        if (r->next.box)
            s->runtime->ops->destroy(r->next.box, NULL, NULL);
        else if (r->next.kept) /* it was stopped */
            s->runtime->ops->discard(s->runtime, r->next.kept, NULL, NULL);
        free(STEAL(s->why)); /* of the old box */
        free(STEAL(s->words));
        manager_entered(s->manager, s);
        /* Complete when the volumes are mounted: earlier writes would go to the folder below the mount. */
        volumes_when_mounted(s->manager->volumes, on_complete, r);
        return;
    }
    exchange(s, &r->next);
    r->next.link = guest_link_free(r->next.link);
    if (has_box)
        s->runtime->ops->destroy(r->next.box, NULL, NULL);
    restore_finish(r, &why);
}

static void fill_next(struct root *x, const struct snapshots_opened *snap)
{
    const json_t *inner = json_get(snap->record, "internal");
    const struct image *image = snap->image;
    x->status = SANDBOX_RUNNING;
    x->image = xstrdup(image->id);
    x->user = xstrdup(image->user);
    x->layers = strlist_copy(image->layers);
    x->image_env = strlist_copy(image->env);
    x->is_host = image->is_host;
    x->env = json_deep_copy(json_get(inner, "env"));
    x->base = json_deep_copy(json_get(inner, CAPTURE_BASE));
    ident_new("sbx", x->box_id); /* the driver needs another name while both are there */
}

static void make_box(void *arg)
{
    struct restoring *r = arg;
    struct box_plan plan = lifecycle_box_plan(r->s);
    memcpy(plan.id, r->next.box_id, sizeof(plan.id));
    plan.layers = (const char *const *)r->next.layers;
    plan.n_layers = strlist_count(r->next.layers);
    plan.is_host = r->next.is_host;
    r->s->runtime->ops->create(r->s->runtime, &plan, on_box_ready, r);
}

static void on_opened(void *arg, const struct snapshots_opened *snap, const struct err *err)
{
    struct restoring *r = arg;
    struct sandbox *s = r->s;
    struct manager *m = s->manager;
    struct err why = ERR_INIT;
    if (!snap) {
        restore_finish(r, err);
        return;
    }
    fill_next(&r->next, snap);
    if (check_still(s, &why) < 0 || image_source_check(m, s->runtime, snap->image, &why) < 0 ||
        pins_add(m, snap->image, r->pin, &why) < 0) {
        restore_finish(r, &why);
        return;
    }
    starts_begin(m->starts, s->tenant, make_box, r);
}

void snapshots_restore(struct snapshots *sn, struct sandbox *s, const char *id, manager_sandbox_fn *fn, void *arg)
{
    struct err err = ERR_INIT;
    int bad = check_still(s, &err);
    if (bad >= 0 && (s->is_restoring || s->stopping || s->is_starting))
        bad = err_set(&err, ERR_CONFLICT, 0, "sandbox %s is already being restored, stopped or started", s->id);
    if (bad < 0) {
        fn(arg, NULL, &err);
        return;
    }
    struct restoring *r = xzalloc(sizeof(*r));
    *r = (struct restoring){ .s = sandbox_ref(s), .fn = fn, .arg = arg };
    memcpy(r->snapshot_id, id, strnlen(id, sizeof(r->snapshot_id) - 1));
    ident_new("fork", r->pin);
    s->is_restoring = true;
    snapshots_open(sn, id, on_opened, r);
}
