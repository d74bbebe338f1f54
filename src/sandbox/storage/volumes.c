/* Theory of operation. A volume's record names the backend that has its files (from its first attach on), and the
 * sandbox and path where it is attached. A struct volume_change (attach, detach or delete) has its volume's id in
 * `busy` while it works on it, and every other change of it is refused meanwhile.
 *
 * The record is stored before the mount is made and deleted after the files are: a crash in between leaves a mount that
 * is made when the sandbox enters again, or an empty volume that can be deleted again. A failed attach is undone by an
 * unmount, since its reply may be all that failed.
 *
 * A struct remount mounts a volume into a box that must have it: after a restart, a restore, or the death of the
 * driver's helper process, for which it waits up to REMOUNT_MS. volumes_when_mounted() calls back when none is left. */
#include "sandbox/storage/volumes.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/strlist.h"
#include "sandbox/lifecycle/limits.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/lifecycle/records.h"

#define SCOPE          "volume"
#define PATH_MAX_BYTES LIMIT_MAX(MOUNT_PATH_BYTES) /* what the driver's request holds */
#define REMOUNT_MS     10000

struct waiter {
    struct waiter *next;
    loop_fn *fn;
    void *arg;
};

struct volumes {
    struct manager *m;
    struct records records; /* SandboxVolume */
    struct map *busy;       /* the ids of those that the driver is at */
    struct remount *remounts;
    struct waiter *waiters; /* until there are none of those */
};

/* A volume being mounted again into a box whose record has it. */
struct remount {
    struct volumes *v;
    struct remount *next;
    char id[IDENT_MAX], sandbox_id[IDENT_MAX];
    bool is_waiting, is_last; /* for the driver's helper to come back; the last try */
    struct timer *limit;      /* of the wait; NULL until the first failure */
};

/* One attach, detach or delete under way. */
struct volume_change {
    struct volumes *v;
    char id[IDENT_MAX];
    struct sandbox *s;   /* attach, detach; a reference */
    uint64_t box_number; /* of s when it began: it may have another by then, or none */
    char target[PATH_MAX_BYTES + 1];
    bool is_first;  /* of no backend until this attach */
    size_t n_asked; /* delete: backends that have removed what they had of it */
    struct err why; /* attach: of its failure, while it is undone */
    volumes_done_fn *fn;
    void *arg;
};

static bool is_in(const json_t *rec, const struct sandbox *s)
{
    return records_is(rec, "sandboxId", s->id);
}

static void forget_place(struct volumes *v, json_t *rec)
{
    struct err err = ERR_INIT;
    const char *id = json_get_str(rec, "id", "");
    (void)json_object_del(rec, "sandboxId"); /* absent is fine */
    (void)json_object_del(rec, "mountPath");
    (void)json_object_del(rec, "readOnly");
    if (records_save(&v->records, id, &err) < 0)
        log_event(LOG_WARN, "volume.save", "id", id, "error", err.msg, NULL);
}

/* The sandbox it is in, or NULL. One that was lost while the server was down does not count. */
static struct sandbox *place_of(struct volumes *v, json_t *rec)
{
    const char *sid = json_get_str(rec, "sandboxId", NULL);
    struct sandbox *s = sid ? map_get(v->m->sandboxes, sid) : NULL;
    if (sid && !s)
        forget_place(v, rec);
    return s;
}

static void free_remount(struct remount *m)
{
    struct remount **at = &m->v->remounts;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    timer_free(m->limit);
    free(m);
}

static void end_remount(struct remount *m)
{
    struct volumes *v = m->v;
    free_remount(m);
    while (!v->remounts && v->waiters) {
        CLEANUP(free_p) struct waiter *w = v->waiters;
        v->waiters = w->next;
        w->fn(w->arg);
    }
}

/* 0: a folder, because the backend cannot limit it, or it was used before volumes had sizes. */
static uint32_t size_of(const json_t *rec)
{
    return (uint32_t)json_get_int(rec, "sizeMb", 0);
}

static void on_remounted(void *arg, const struct err *err);

static void remount(void *arg)
{
    struct remount *m = arg;
    m->is_waiting = false;
    const json_t *rec = records_find(&m->v->records, m->id, NULL);
    const struct sandbox *s = map_get(m->v->m->sandboxes, m->sandbox_id);
    if (!rec || map_get(m->v->busy, m->id) || !s || !s->box || !s->runtime->ops->mount_volume || !is_in(rec, s)) {
        end_remount(m);
        return;
    }
    struct box_volume how = { .id = m->id,
                              .size_mb = size_of(rec),
                              .target = json_get_str(rec, "mountPath", "/"),
                              .is_readonly = json_get_bool(rec, "readOnly", false) };
    s->runtime->ops->mount_volume(s->box, &how, on_remounted, m);
}

static void on_limit(void *arg)
{
    struct remount *m = arg;
    m->is_last = true;
    if (m->is_waiting)
        remount(m);
}

/* A driver whose helper process died is asked again when it has a new one, by volumes_remount(): writes of the client
 * must not go to the folder below the mount. A new helper may also report a box as gone that it does not know yet; if
 * the box has really ended, the sandbox leaves, and on_leave() ends the wait. */
static void on_remounted(void *arg, const struct err *err)
{
    struct remount *m = arg;
    const struct sandbox *s = map_get(m->v->m->sandboxes, m->sandbox_id);
    if (err && (err->sys == EPIPE || err->code == ERR_GONE) && !m->is_last && s && s->box) {
        m->is_waiting = true;
        if (!m->limit)
            m->limit = timer_new(m->v->m->loop, REMOUNT_MS, 0, on_limit, m);
        return;
    }
    if (err && err->code != ERR_CONFLICT && err->code != ERR_GONE) /* a box that lived on still has it */
        log_event(LOG_WARN, "volume.remount", "id", m->id, "sandbox", m->sandbox_id, "error", err->msg, NULL);
    end_remount(m);
}

/* The one of this volume that waits, or with NULL the first that waits for this sandbox; NULL when there is none. */
static struct remount *find_waiting(struct volumes *v, const char *id, const char *sandbox_id)
{
    struct remount *m = v->remounts;
    while (m && (!m->is_waiting || (id && strcmp(m->id, id) != 0) || strcmp(m->sandbox_id, sandbox_id) != 0))
        m = m->next;
    return m;
}

void volumes_remount(struct volumes *v, const struct sandbox *s)
{
    for (struct map_iter it = map_iter(v->records.by_id); map_next(&it);) {
        if (!is_in(it.value, s) || !s->box || map_get(v->busy, it.key))
            continue;
        struct remount *m = find_waiting(v, it.key, s->id);
        if (m) {
            remount(m);
            continue;
        }
        m = xzalloc(sizeof(*m));
        m->v = v;
        snprintf(m->id, sizeof(m->id), "%s", it.key);
        snprintf(m->sandbox_id, sizeof(m->sandbox_id), "%s", s->id);
        m->next = v->remounts;
        v->remounts = m;
        remount(m);
    }
}

/* After an adoption the mount is still there; after a restore or a start the box is new. */
static void on_enter(void *arg, struct sandbox *s)
{
    volumes_remount(arg, s);
}

void volumes_when_mounted(struct volumes *v, loop_fn *fn, void *arg)
{
    if (!v->remounts) {
        fn(arg);
        return;
    }
    struct waiter *w = xzalloc(sizeof(*w));
    *w = (struct waiter){ .next = v->waiters, .fn = fn, .arg = arg };
    v->waiters = w;
}

static void on_sleep(void *arg, struct sandbox *s)
{
    struct volumes *v = arg;
    for (struct remount *m; (m = find_waiting(v, NULL, s->id));)
        end_remount(m);
}

static void on_leave(void *arg, struct sandbox *s)
{
    struct volumes *v = arg;
    for (struct map_iter it = map_iter(v->records.by_id); map_next(&it);)
        if (is_in(it.value, s))
            forget_place(v, it.value);
    on_sleep(v, s);
}

static bool is_volume(void *arg, const char *key, json_t *doc)
{
    (void)arg;
    return ident_is("vol", key) && records_is(doc, "id", key);
}

int volumes_new(struct manager *m, struct volumes **ret, struct err *err)
{
    struct volumes *v = xzalloc(sizeof(*v));
    v->m = m;
    v->busy = map_new();
    records_init(&v->records, m->store, SCOPE, "volume");
    int r = records_load(&v->records, is_volume, NULL, err);
    if (r < 0) {
        volumes_free(v);
        return r;
    }
    manager_on_enter(m, on_enter, v);
    manager_on_sleep(m, on_sleep, v);
    manager_on_leave(m, on_leave, v);
    *ret = v;
    return 0;
}

struct volumes *volumes_free(struct volumes *v)
{
    if (!v)
        return NULL;
    while (v->remounts) /* the driver ends without an answer to them */
        free_remount(v->remounts);
    records_done(&v->records);
    map_free(v->busy);
    free(v);
    return NULL;
}

const char *volumes_owner(const struct volumes *v, const char *id)
{
    return records_owner(&v->records, id);
}

size_t volumes_count(const struct volumes *v, const char *tenant)
{
    return records_count(&v->records, "tenant", tenant);
}

static bool can_size(struct runtime *rt)
{
    struct runtime_caps caps = rt->ops->caps(rt);
    return rt->ops->mount_volume && caps.can_mount && caps.can_limit_disk;
}

static int64_t usual_size(const struct manager *m)
{
    int64_t mb = limits_by_disk(m->settings->volume_mb, image_store_disk_mb(m->images));
    return mb < m->settings->max_disk_mb ? mb : m->settings->max_disk_mb;
}

/* Checks a size that was asked for. Where the default backend can limit volumes, every volume has a size. */
static int settle_size(const struct volumes *v, int64_t *mb, struct err *err)
{
    const struct manager *m = v->m;
    int64_t most = m->settings->max_disk_mb;
    if (*mb > most)
        return err_set(err, ERR_INVALID, 0, "sizeMb: %lld is more than III_MAX_DISK, which is %lld", (long long)*mb,
                       (long long)most);
    bool is_asked = *mb > 0;
    size_t i = 0;
    while (is_asked && i < m->n_runtimes && !can_size(m->runtimes[i]))
        i++;
    if (is_asked && i == m->n_runtimes)
        return limits_check_disk(m->runtime, "sizeMb", err);
    if (!is_asked)
        *mb = can_size(m->runtime) ? usual_size(m) : 0;
    return 0;
}

json_t *volumes_create(struct volumes *v, const struct tenant_by *by, const struct volumes_plan *plan, struct err *err)
{
    char id[IDENT_MAX];
    int64_t size_mb = plan->size_mb;
    long long most = v->m->settings->max_volumes;
    if ((long long)map_count(v->records.by_id) >= most) {
        (void)err_set(err, ERR_CAPACITY, 0, "volume limit reached (%lld): delete one, or raise III_MAX_VOLUMES", most);
        return NULL;
    }
    if (tenant_check(v->m, by, QUOTA_VOLUMES, 1, err) < 0 || tenant_check_disk(v->m, by, err) < 0 ||
        settle_size(v, &size_mb, err) < 0)
        return NULL;
    ident_new("vol", id);
    CLEANUP(free_p) char *compat = xasprintf("iii-vol-%s", id);
    JSON_OWNED rec = json_pack("{s:s, s:s, s:s, s:I}", "id", id, "name", plan->name, "dockerVolumeName", compat,
                               "createdAt", (json_int_t)clock_wall_ms());
    if (size_mb > 0)
        (void)json_object_set_new(rec, "sizeMb", json_integer(size_mb));
    tenant_mark(by, rec);
    return records_add(&v->records, id, rec, err) < 0 ? NULL : rec;
}

void volumes_ids(const struct volumes *v, char ***list)
{
    for (struct map_iter it = map_iter(v->records.by_id); map_next(&it);)
        if (json_object_get(it.value, "backend"))
            strlist_add(list, it.key);
}

struct runtime *volumes_runtime(const struct volumes *v, const char *id)
{
    const char *backend = json_get_str(records_find(&v->records, id, NULL), "backend", NULL);
    return backend ? manager_runtime(v->m, backend, NULL) : NULL;
}

void volumes_counted(struct volumes *v, const char *id, int64_t bytes)
{
    json_t *rec = records_find(&v->records, id, NULL);
    if (rec) /* stored with its next change */
        (void)json_object_set_new(rec, "usedMb", json_integer(bytes >> 20));
}

bool volumes_is_in(const struct volumes *v, const char *id, const struct sandbox *s, bool is_unsized)
{
    const json_t *rec = map_get(v->records.by_id, id);
    return rec && is_in(rec, s) && (!is_unsized || size_of(rec) == 0);
}

json_t *volumes_list(struct volumes *v, const struct tenant_by *by)
{
    for (struct map_iter it = map_iter(v->records.by_id); map_next(&it);)
        (void)place_of(v, it.value); /* drops a place that is gone */
    return records_list(&v->records, by, NULL, NULL);
}

int volumes_path(const char *given, char *ret, size_t size, struct err *err)
{
    static const char *const closed[] = { "/proc", "/sys", "/dev" };
    size_t len = 0;
    if (given[0] != '/')
        return err_set(err, ERR_INVALID, 0, "mountPath must be absolute");
    for (const char *p = given; *p;) {
        p += strspn(p, "/");
        size_t n = strcspn(p, "/");
        if (n == 0)
            break;
        if ((n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
            return err_set(err, ERR_INVALID, 0, "mountPath must not contain \".\" or \"..\"");
        if (n > NAME_MAX || len + 1 + n >= size)
            return err_set(err, ERR_INVALID, 0, "mountPath is longer than %zu bytes, or a name in it than %d", size - 1,
                           NAME_MAX);
        ret[len++] = '/';
        memcpy(ret + len, p, n);
        len += n;
        p += n;
    }
    ret[len] = '\0';
    if (len == 0)
        return err_set(err, ERR_INVALID, 0, "mountPath must not be the root folder");
    for (size_t i = 0; i < sizeof(closed) / sizeof(*closed); i++) {
        size_t n = strlen(closed[i]);
        if (strncmp(ret, closed[i], n) == 0 && (ret[n] == '\0' || ret[n] == '/'))
            return err_set(err, ERR_INVALID, 0, "mountPath must not be in %s", closed[i]);
    }
    return 0;
}

static int check_idle(struct volumes *v, json_t *rec, struct err *err)
{
    const struct sandbox *s = place_of(v, rec);
    const char *id = json_get_str(rec, "id", "");
    if (map_get(v->busy, id))
        return err_set(err, ERR_CONFLICT, 0, "volume %s is being changed by another request", id);
    if (s)
        return err_set(err, ERR_CONFLICT, 0, "volume %s is attached to %s at %.200s: detach it first", id, s->id,
                       json_get_str(rec, "mountPath", ""));
    return 0;
}

/* Whether this volume may be attached there. The place is looked at before it is noted: what is noted at one that is
 * taken would count as mounted there after a crash. */
static int check_place(struct volumes *v, const json_t *rec, const struct sandbox *s, const char *target,
                       struct err *err)
{
    const char *first = json_get_str(rec, "backend", NULL), *here = s->runtime->ops->name;
    long long have = (long long)records_count(&v->records, "sandboxId", s->id);
    if (first && strcmp(first, here) != 0) /* its files are in that backend's format */
        return err_set(err, ERR_CONFLICT, 0,
                       "volume %s has its files in the %s backend, where it was used first, and sandbox %s is one of "
                       "the %s backend: make another volume, or a sandbox with backend %s",
                       json_get_str(rec, "id", ""), first, s->id, here, first);
    if (have >= v->m->settings->max_sandbox_volumes)
        return err_set(err, ERR_CAPACITY, 0,
                       "sandbox %s: limit of %lld volumes reached: detach one, or raise III_MAX_SANDBOX_VOLUMES", s->id,
                       have);
    for (struct map_iter it = map_iter(v->records.by_id); map_next(&it);)
        if (is_in(it.value, s) && records_is(it.value, "mountPath", target))
            return err_set(err, ERR_CONFLICT, 0,
                           "volume %s is at %.200s of sandbox %s: detach it, or mount this elsewhere", it.key, target,
                           s->id);
    if (!s->runtime->ops->mount_volume || !s->runtime->ops->caps(s->runtime).can_mount)
        return runtime_cannot(s->runtime, "volume", "mount volumes", err);
    return json_object_get(rec, "sizeMb") ? limits_check_disk(s->runtime, "sizeMb", err) : 0;
}

static struct volume_change *change_begin(struct volumes *v, const char *id, struct sandbox *s, volumes_done_fn *fn,
                                          void *arg)
{
    struct volume_change *c = xzalloc(sizeof(*c));
    c->v = v;
    snprintf(c->id, sizeof(c->id), "%s", id);
    c->s = s ? sandbox_ref(s) : NULL;
    c->box_number = s ? s->box_number : 0;
    c->fn = fn;
    c->arg = arg;
    map_set(v->busy, c->id, c);
    return c;
}

static void change_report(struct volume_change *c, const struct err *err)
{
    c->fn(c->arg, err);
    sandbox_unref(c->s);
    free(c);
}

/* Frees the change; the volume may be used again. */
static void change_finish(struct volume_change *c, const struct err *err)
{
    (void)map_remove(c->v->busy, c->id);
    change_report(c, err);
}

static void on_in_place(void *arg)
{
    change_report(arg, NULL);
}

static void on_taken_back(void *arg, const struct err *err)
{
    struct volume_change *c = arg;
    (void)err; /* the box is gone, or its next restart repairs it */
    change_finish(c, &c->why);
}

static bool is_moved(const struct volume_change *c)
{
    return !c->s->is_gone && (c->s->box_number != c->box_number || !c->s->box);
}

static void on_mounted(void *arg, const struct err *err)
{
    struct volume_change *c = arg;
    json_t *rec = records_find(&c->v->records, c->id, NULL); /* it is busy, so nobody deleted it */
    struct err why = ERR_INIT;
    if (!err && c->s->is_gone) {
        (void)err_set(&why, ERR_NOT_FOUND, 0, "sandbox not found: %s", c->s->id);
        err = &why;
    }
    if (err && c->is_first)
        (void)json_object_del(rec, "backend"); /* nothing was written there: it may begin elsewhere */
    if (err)
        forget_place(c->v, rec);
    if (!err && is_moved(c)) {
        (void)map_remove(c->v->busy, c->id);
        volumes_remount(c->v, c->s); /* the restore left out what was busy */
        volumes_when_mounted(c->v, on_in_place, c);
    } else if (err && !c->s->is_gone && !is_moved(c) && err->code != ERR_CONFLICT) {
        /* Its answer may be all that failed, and a volume that stays mounted here could be attached elsewhere. */
        struct box_volume how = { .id = c->id, .target = c->target };
        c->why = *err;
        c->s->runtime->ops->unmount_volume(c->s->box, &how, on_taken_back, c);
    } else {
        change_finish(c, err);
    }
}

void volumes_attach(struct volumes *v, const char *id, struct sandbox *s, const struct box_volume *how,
                    volumes_done_fn *fn, void *arg)
{
    struct err err = ERR_INIT;
    char target[PATH_MAX_BYTES + 1];
    json_t *rec = records_find(&v->records, id, &err);
    if (!rec || volumes_path(how->target, target, sizeof(target), &err) < 0 || check_idle(v, rec, &err) < 0 ||
        check_place(v, rec, s, target, &err) < 0) {
        fn(arg, &err);
        return;
    }
    struct volume_change *c = change_begin(v, id, s, fn, arg);
    memcpy(c->target, target, sizeof(target));
    c->is_first = !json_object_get(rec, "backend");
    /* The record goes first: a crash in between must not leave a mount that nobody knows of. One that is noted and not
     * made is made when the sandbox enters again. */
    (void)json_object_set_new(rec, "sandboxId", json_string(s->id));
    (void)json_object_set_new(rec, "mountPath", json_string(target));
    (void)json_object_set_new(rec, "backend", json_string(s->runtime->ops->name));
    if (c->is_first && !json_object_get(rec, "sizeMb") && can_size(s->runtime)) /* made for a backend that cannot */
        (void)json_object_set_new(rec, "sizeMb", json_integer(usual_size(v->m)));
    if (how->is_readonly)
        (void)json_object_set_new(rec, "readOnly", json_true());
    if (records_save(&v->records, id, &err) < 0) {
        if (c->is_first)
            (void)json_object_del(rec, "backend");
        forget_place(v, rec);
        change_finish(c, &err);
        return;
    }
    struct box_volume clean = {
        .id = c->id, .size_mb = size_of(rec), .target = c->target, .is_readonly = how->is_readonly
    };
    s->runtime->ops->mount_volume(s->box, &clean, on_mounted, c);
}

static void on_unmounted(void *arg, const struct err *err)
{
    struct volume_change *c = arg;
    if (!err || c->s->is_gone) {
        forget_place(c->v, records_find(&c->v->records, c->id, NULL));
        err = NULL;
    }
    if (err && is_moved(c)) { /* it stays attached, and the restore left out what was busy */
        (void)map_remove(c->v->busy, c->id);
        volumes_remount(c->v, c->s);
    }
    change_finish(c, err);
}

void volumes_detach(struct volumes *v, const char *id, volumes_done_fn *fn, void *arg)
{
    struct err err = ERR_INIT;
    json_t *rec = records_find(&v->records, id, &err);
    bool is_busy = rec && map_get(v->busy, id);
    struct sandbox *s = rec && !is_busy ? place_of(v, rec) : NULL;
    if (is_busy)
        (void)err_set(&err, ERR_CONFLICT, 0, "volume %s is being changed by another request", id);
    else if (rec && !s)
        (void)err_set(&err, ERR_CONFLICT, 0, "volume %s is not attached", id);
    if (!s) {
        fn(arg, &err);
        return;
    }
    struct volume_change *c = change_begin(v, id, s, fn, arg);
    snprintf(c->target, sizeof(c->target), "%s", json_get_str(rec, "mountPath", ""));
    struct box_volume how = { .id = c->id, .target = c->target };
    if (s->box)
        s->runtime->ops->unmount_volume(s->box, &how, on_unmounted, c);
    else /* it is stopped */
        on_unmounted(c, NULL);
}

static void on_removed(void *arg, const struct err *err);

/* The files go first: a crash in between leaves an empty volume that can be deleted again, never a folder without
 * owner. Of every backend: a first attach that failed may have left an empty place in another one. */
static void remove_next(struct volume_change *c)
{
    const struct manager *m = c->v->m;
    struct err why = ERR_INIT;
    while (c->n_asked < m->n_runtimes) {
        struct runtime *rt = m->runtimes[c->n_asked++];
        if (!rt->ops->remove_volume)
            continue;
        rt->ops->remove_volume(rt, c->id, on_removed, c);
        return;
    }
    change_finish(c, records_delete(&c->v->records, c->id, &why) < 0 ? &why : NULL);
}

static void on_removed(void *arg, const struct err *err)
{
    struct volume_change *c = arg;
    if (err)
        change_finish(c, err);
    else
        remove_next(c);
}

void volumes_delete(struct volumes *v, const char *id, volumes_done_fn *fn, void *arg)
{
    struct err err = ERR_INIT;
    json_t *rec = records_find(&v->records, id, &err);
    if (!rec || check_idle(v, rec, &err) < 0) {
        fn(arg, &err);
        return;
    }
    const char *backend = json_get_str(rec, "backend", NULL);
    if (backend && !manager_runtime(v->m, backend, &err)) { /* its files would stay behind */
        (void)err_wrap(&err, 0, "volume %s has its files in the %s backend", id, backend);
        fn(arg, &err);
        return;
    }
    remove_next(change_begin(v, id, NULL, fn, arg));
}
