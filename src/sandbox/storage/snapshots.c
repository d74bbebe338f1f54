/* Theory of operation. A snapshot is a record (struct records) and a pin under its id, which keeps its image layers.
 * The record's "internal" part has the layers, the environment and the checksum, and is never sent to a client.
 *
 * Create (struct taking): the sandbox's files are captured as a layer (capture.h), a worker thread counts its bytes,
 * the record is stored, the caller is called, and a worker thread computes the checksum of the captured layers. A
 * failure drops the pin. A checksum that is missing at start is computed then.
 *
 * Open (struct opening): the layers are pinned for the duration, since the snapshot may be deleted meanwhile, and the
 * checksum is compared; a snapshot whose files have changed is refused. Clone creates a sandbox from what was opened.
 */
#include "sandbox/storage/snapshots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strlist.h"
#include "image/image.h"
#include "sandbox/lifecycle/offload.h"
#include "sandbox/lifecycle/records.h"
#include "sandbox/storage/capture.h"
#include "sandbox/storage/image_source.h"
#include "sandbox/storage/pins.h"

#define SCOPE "snapshot"

struct snapshots {
    struct manager *m;
    struct records records; /* the Snapshot, and "internal" */
    unsigned n_making;
    struct taking *takings; /* under way: they count, too */
};

/* Work off the loop over some layers of a snapshot. */
struct measure {
    struct snapshots *sn;
    char id[IDENT_MAX];
    char **layers;
    struct image_helper *helper; /* who can do it without being made first; or NULL */
    int64_t before, bytes;       /* known before; counted now */
    char sum[DIGEST_HEX];
    struct err err;
    void *owner; /* of whoever waits for it */
};

struct snapshots *snapshots_new(struct manager *m)
{
    struct snapshots *sn = xzalloc(sizeof(*sn));
    sn->m = m;
    records_init(&sn->records, m->store, SCOPE, "snapshot");
    return sn;
}

struct snapshots *snapshots_free(struct snapshots *sn)
{
    if (!sn)
        return NULL;
    records_done(&sn->records);
    free(sn);
    return NULL;
}

static json_t *wire_of(const json_t *record)
{
    json_t *wire = json_copy((json_t *)(uintptr_t)record);
    (void)json_object_del(wire, "internal");
    return wire;
}

static const json_t *inner_of(const json_t *record)
{
    return json_get(record, "internal");
}

/* The resolved image that a record describes. Borrows the strings of the record; done_image() frees the rest. */
static struct image image_of(const json_t *record)
{
    const json_t *inner = inner_of(record);
    struct image i = { .name = (char *)(uintptr_t)json_get_str(record, "imageId", ""),
                       .id = (char *)(uintptr_t)json_get_str(record, "imageId", ""),
                       .layers = strlist_from_json(json_get(inner, "layers")),
                       .is_host = json_get_bool(inner, "isHost", false),
                       .env = strlist_from_json(json_get(inner, "imageEnv")),
                       .user = (char *)(uintptr_t)json_get_str(inner, "user", ""),
                       .size_bytes = json_get_int(record, "size", 0) };
    i.n_layers = strlist_count(i.layers);
    return i;
}

static void done_image(struct image *i)
{
    strlist_free(i->layers);
    strlist_free(i->env);
}

/* --- checksums --- */

static struct measure *measure_new(struct snapshots *sn, const json_t *record, size_t from)
{
    struct measure *w = xzalloc(sizeof(*w));
    const json_t *layers = json_get(inner_of(record), "layers");
    w->sn = sn;
    (void)snprintf(w->id, sizeof(w->id), "%s", json_get_str(record, "id", ""));
    for (size_t i = from; i < json_array_size(layers); i++)
        strlist_add(&w->layers, json_string_value(json_array_get(layers, i)));
    return w;
}

static void measure_free(struct measure *w)
{
    strlist_free(w->layers);
    (void)image_helper_unref(w->helper);
    free(w);
}

/* The captured layers: those above the image that the sandbox was made from, at least the topmost. */
static size_t first_captured(const json_t *record)
{
    size_t n = json_array_size(json_get(inner_of(record), "layers"));
    size_t base = (size_t)json_get_int(json_get(inner_of(record), CAPTURE_BASE), "layers", 0);
    return base > 0 && base < n ? base : n - 1;
}

static void sum_up(void *arg)
{
    struct measure *w = arg;
    (void)image_sum(w->sn->m->images, w->layers, w->helper, &w->sn->m->is_stopping, w->sum, &w->err); /* err tells */
}

static void summed_up(void *arg)
{
    struct measure *w = arg;
    json_t *record = records_find(&w->sn->records, w->id, NULL);
    struct err err = w->err;
    if (record && !err.code) {
        (void)json_object_set_new(json_object_get(record, "internal"), "checksum", json_string(w->sum));
        (void)records_save(&w->sn->records, w->id, &err); /* err tells */
    }
    if (record && err.code) /* one that was deleted meanwhile is not reported */
        log_event(LOG_WARN, "snapshot.checksum", "id", w->id, "error", err.msg, NULL);
    measure_free(w);
}

/* The checksum of an engine's image is the engine's task. */
static bool is_ours(const json_t *record)
{
    const char *layer = json_string_value(json_array_get(json_get(inner_of(record), "layers"), 0));
    return !layer || *layer == '/';
}

static void start_sum(struct snapshots *sn, const json_t *record, struct image_helper *helper)
{
    if (!is_ours(record))
        return;
    struct measure *w = measure_new(sn, record, first_captured(record));
    w->helper = image_helper_ref(helper);
    if (offload_run(sn->m, sum_up, summed_up, w) < 0)
        measure_free(w); /* tried again at the next start */
}

static bool load_one(void *arg, const char *key, json_t *doc)
{
    struct snapshots *sn = arg;
    struct err err = ERR_INIT;
    if (!ident_is("snap", key) || !inner_of(doc))
        return false;
    struct image image = image_of(doc);
    if (pins_add(sn->m, &image, key, &err) < 0)
        log_event(LOG_ERROR, "snapshot.lost", "id", key, "error", err.msg, NULL);
    else if (!json_get(inner_of(doc), "checksum"))
        start_sum(sn, doc, NULL);
    done_image(&image);
    return true;
}

void snapshots_load(struct snapshots *sn)
{
    struct err err = ERR_INIT;
    if (records_load(&sn->records, load_one, sn, &err) < 0)
        log_event(LOG_ERROR, "snapshot.records", "error", err.msg, NULL);
}

/* --- create, list, delete --- */

struct taking {
    struct taking *next;
    struct snapshots *sn;
    struct sandbox *s;
    char id[IDENT_MAX];
    char *name;
    json_t *record;
    struct image_helper *helper;
    snapshots_fn *fn;
    void *arg;
};

static void finish_taking(struct taking *t, const struct err *err)
{
    struct manager *m = t->sn->m;
    struct taking **at = &t->sn->takings;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    t->sn->n_making--;
    if (err) {
        pins_drop(m, t->id);
        t->fn(t->arg, NULL, err);
    } else {
        (void)event_log_emit(m->events, "sandbox.snapshot", t->s->id,
                             json_pack("{s:s, s:s}", "snapshotId", t->id, "name", t->name));
        JSON_OWNED wire = wire_of(t->record);
        t->fn(t->arg, wire, NULL);
        start_sum(t->sn, t->record, t->helper);
    }
    json_decref(t->record);
    (void)image_helper_unref(t->helper);
    sandbox_unref(t->s);
    free(t->name);
    free(t);
}

/* A layer never changes, and stands on the same ones wherever it is: what was counted up to it stays true. */
static struct measure *measure_bytes(struct taking *t)
{
    const struct sandbox *s = t->s;
    const json_t *layers = json_get(inner_of(t->record), "layers");
    size_t base = (size_t)json_get_int(json_get(inner_of(t->record), CAPTURE_BASE), "layers", 0);
    size_t i = s->counted.layer && s->counted.base == base ? json_array_size(layers) : 0;
    while (i > 0 && strcmp(json_string_value(json_array_get(layers, i - 1)), s->counted.layer) != 0)
        i--;
    struct measure *w = measure_new(t->sn, t->record, i > base ? i : base);
    w->before = i > base ? s->counted.bytes : 0;
    w->owner = t;
    w->helper = image_helper_ref(t->helper);
    return w;
}

static void count_bytes(void *arg)
{
    struct measure *w = arg;
    w->bytes = image_bytes(w->sn->m->images, w->layers, w->helper);
}

static void counted_bytes(void *arg)
{
    struct measure *w = arg;
    struct taking *t = w->owner;
    struct err err = ERR_INIT;
    int64_t base = json_get_int(json_get(inner_of(t->record), CAPTURE_BASE), "bytes", 0);
    (void)json_object_set_new(t->record, "size", json_integer(base + w->before + w->bytes));
    if (w->bytes > 0) { /* else it may also mean that they could not be counted */
        struct sandbox *s = t->s;
        const json_t *inner = inner_of(t->record), *layers = json_get(inner, "layers");
        free(s->counted.layer);
        s->counted.layer = xstrdup(json_string_value(json_array_get(layers, json_array_size(layers) - 1)));
        s->counted.base = (size_t)json_get_int(json_get(inner, CAPTURE_BASE), "layers", 0);
        s->counted.bytes = w->before + w->bytes;
    }
    int r = records_add(&t->sn->records, t->id, t->record, &err);
    measure_free(w);
    finish_taking(t, r < 0 ? &err : NULL);
}

static json_t *new_record(const struct taking *t, const struct image *image)
{
    struct sandbox *s = t->s;
    json_t *rec = json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:I, s:O, s:O}", "id", t->id, "snapshotId", t->id,
                            "sandboxId", s->id, "name", t->name, "imageId", image->id, "size", 0, "createdAt",
                            (json_int_t)clock_wall_ms(), "config", s->config_json, "metadata", s->metadata);
    json_t *layers = json_array();
    for (size_t i = 0; i < image->n_layers; i++)
        (void)json_array_append_new(layers, json_string(image->layers[i]));
    json_t *inner =
        json_pack("{s:o, s:O, s:o, s:s, s:b, s:O}", "layers", layers, "env", s->env, "imageEnv",
                  strlist_to_json(s->image_env), "user", s->user, "isHost", s->is_host, CAPTURE_BASE, capture_base(s));
    if (s->config.entrypoint)
        (void)json_object_set_new(rec, "entrypoint", strlist_to_json(s->config.entrypoint));
    (void)json_object_set_new(rec, "internal", inner);
    if (*s->tenant)
        (void)json_object_set_new(rec, "tenant", json_string(s->tenant));
    json_t *own = json_deep_copy(rec); /* the sandbox continues to change the parts it shares */
    json_decref(rec);
    return own;
}

static void on_captured(void *arg, const struct image *image, const struct err *err)
{
    struct taking *t = arg;
    struct err why = ERR_INIT;
    if (err) {
        finish_taking(t, err);
        return;
    }
    t->record = new_record(t, image);
    t->helper = image_helper_ref(image->helper);
    if (!is_ours(t->record)) {
        (void)json_object_set_new(t->record, "size", json_integer(image->size_bytes));
        int r = records_add(&t->sn->records, t->id, t->record, &why);
        finish_taking(t, r < 0 ? &why : NULL);
        return;
    }
    struct measure *w = measure_bytes(t);
    if (offload_run(t->sn->m, count_bytes, counted_bytes, w) < 0) {
        measure_free(w);
        (void)err_set(&why, ERR_CAPACITY, 0, "no worker thread to measure the snapshot");
        finish_taking(t, &why);
    }
}

const char *snapshots_owner(const struct snapshots *sn, const char *id, const char **ret_sandbox)
{
    if (ret_sandbox)
        *ret_sandbox = json_get_str(records_find(&sn->records, id, NULL), "sandboxId", NULL);
    return records_owner(&sn->records, id);
}

bool snapshots_has(const struct snapshots *sn, const char *id)
{
    const struct taking *t = sn->takings;
    while (t && strcmp(t->id, id) != 0)
        t = t->next;
    return t || records_find(&sn->records, id, NULL);
}

size_t snapshots_count(const struct snapshots *sn, const char *tenant)
{
    size_t n = records_count(&sn->records, "tenant", tenant);
    for (const struct taking *t = sn->takings; t; t = t->next)
        n += strcmp(t->s->tenant, tenant) == 0;
    return n;
}

int64_t snapshots_bytes(const struct snapshots *sn, const char *tenant)
{
    int64_t sum = 0;
    for (struct map_iter it = map_iter(sn->records.by_id); map_next(&it);)
        if (records_is(it.value, "tenant", tenant))
            sum += json_get_int(it.value, "size", 0) -
                   json_get_int(json_get(inner_of(it.value), CAPTURE_BASE), "bytes", 0);
    return sum;
}

void snapshots_create(struct snapshots *sn, struct sandbox *s, const struct snapshots_plan *plan, snapshots_fn *fn,
                      void *arg)
{
    struct err err = ERR_INIT;
    const char *name = plan->name;
    int64_t limit = sn->m->settings->max_snapshots;
    if (tenant_check(sn->m, plan->by, QUOTA_SNAPSHOTS, 1, &err) < 0 || tenant_check_disk(sn->m, plan->by, &err) < 0) {
        fn(arg, NULL, &err);
        return;
    }
    if ((int64_t)(map_count(sn->records.by_id) + sn->n_making) >= limit) {
        (void)err_set(&err, ERR_CAPACITY, 0, "snapshot limit reached (%lld): delete one, or raise III_MAX_SNAPSHOTS",
                      (long long)limit);
        fn(arg, NULL, &err);
        return;
    }
    struct taking *t = xzalloc(sizeof(*t));
    *t = (struct taking){ .sn = sn, .s = sandbox_ref(s), .fn = fn, .arg = arg };
    ident_new("snap", t->id);
    t->name = xstrdup(name ? name : t->id);
    t->next = sn->takings;
    sn->takings = t;
    sn->n_making++;
    capture_run(s, t->id, on_captured, t);
}

json_t *snapshots_list(const struct snapshots *sn, const struct tenant_by *by, const char *sandbox_id)
{
    json_t *list = json_array();
    for (struct map_iter it = map_iter(sn->records.by_id); map_next(&it);)
        if (tenant_sees_record(by, it.value) && (!sandbox_id || records_is(it.value, "sandboxId", sandbox_id)))
            (void)json_array_append_new(list, wire_of(it.value));
    return list;
}

int snapshots_delete(struct snapshots *sn, const char *id, struct err *err)
{
    int r = records_delete(&sn->records, id, err);
    if (r == 0)
        pins_drop(sn->m, id);
    return r;
}

/* --- opening one again --- */

struct opening {
    struct snapshots *sn;
    json_t *record;
    char pin[IDENT_MAX]; /* the snapshot may be deleted meanwhile */
    snapshots_open_fn *fn;
    void *arg;
};

static void finish_opening(struct opening *o, const struct err *err)
{
    struct image image = image_of(o->record);
    const struct snapshots_opened snap = { .record = o->record, .image = &image };
    o->fn(o->arg, err ? NULL : &snap, err);
    pins_drop(o->sn->m, o->pin);
    done_image(&image);
    json_decref(o->record);
    free(o);
}

static void compared_sums(void *arg)
{
    struct measure *w = arg;
    struct opening *o = w->owner;
    struct err err = w->err;
    const char *id = json_get_str(o->record, "id", "");
    if (err.code)
        (void)err_set(&err, ERR_CONFLICT, w->err.sys, "snapshot %s cannot be read: %.120s", id, w->err.msg);
    else if (strcmp(w->sum, json_get_str(inner_of(o->record), "checksum", "")) != 0)
        (void)err_set(&err, ERR_CONFLICT, 0,
                      "snapshot %s is damaged: its files have changed since it was taken; delete it", id);
    measure_free(w);
    finish_opening(o, err.code ? &err : NULL);
}

void snapshots_open(struct snapshots *sn, const char *id, snapshots_open_fn *fn, void *arg)
{
    struct err err = ERR_INIT;
    json_t *record = records_find(&sn->records, id, &err);
    if (!record) {
        fn(arg, NULL, &err);
        return;
    }
    struct opening *o = xzalloc(sizeof(*o));
    *o = (struct opening){ .sn = sn, .record = json_incref(record), .fn = fn, .arg = arg };
    ident_new("fork", o->pin);
    struct image image = image_of(record);
    int r = pins_add(sn->m, &image, o->pin, &err);
    done_image(&image);
    if (r < 0) {
        (void)err_set(&err, ERR_CONFLICT, 0, "snapshot %s is damaged: one of its layers is missing; delete it", id);
        finish_opening(o, &err);
        return;
    }
    struct measure *w = json_get(inner_of(record), "checksum") ? measure_new(sn, record, first_captured(record)) : NULL;
    if (w)
        w->owner = o;
    if (!w) { /* taken a moment ago: its checksum is still being made */
        finish_opening(o, NULL);
    } else if (offload_run(sn->m, sum_up, compared_sums, w) < 0) {
        measure_free(w);
        (void)err_set(&err, ERR_CAPACITY, 0, "no worker thread to check snapshot %s", id);
        finish_opening(o, &err);
    }
}

struct cloning {
    struct snapshots *sn;
    char *name;
    struct quota quota;
    manager_sandbox_fn *fn;
    void *arg;
};

static void on_opened(void *arg, const struct snapshots_opened *snap, const struct err *err)
{
    CLEANUP(free_p) struct cloning *c = arg;
    CLEANUP(free_p) char *name = c->name;
    if (!snap) {
        c->fn(c->arg, NULL, err);
        return;
    }
    const json_t *inner = inner_of(snap->record);
    SANDBOX_CONFIG_OWNED taken = { 0 };
    sandbox_config_read(&taken, json_get(snap->record, "config"));
    SANDBOX_CONFIG_OWNED config = capture_config(&taken, json_get(snap->record, "metadata"), snap->image->id, name);
    JSON_OWNED extra = json_pack("{s:O}", CAPTURE_BASE, json_get(inner, CAPTURE_BASE));
    struct tenant_by by = { .tenant = json_get_str(snap->record, "tenant", ""), .quota = c->quota };
    struct create_plan plan = { .config = &config,
                                .parent_id = json_get_str(snap->record, "sandboxId", NULL),
                                .image = snap->image,
                                .runtime = image_source_runtime(c->sn->m, snap->image),
                                .env = json_get(inner, "env"),
                                .extra = extra,
                                .by = &by,
                                .tenant = by.tenant,
                                .is_unlisted = true };
    manager_create(c->sn->m, &plan, c->fn, c->arg); /* pins the layers before it returns */
}

void snapshots_clone(struct snapshots *sn, const char *id, const struct snapshots_plan *plan, manager_sandbox_fn *fn,
                     void *arg)
{
    struct cloning *c = xzalloc(sizeof(*c));
    *c = (struct cloning){ .sn = sn, .name = xstrdup(plan->name), .fn = fn, .arg = arg };
    if (plan->by)
        c->quota = plan->by->quota;
    snapshots_open(sn, id, on_opened, c);
}
