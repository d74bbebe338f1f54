/* Create, kill, pause, resume, renew, clone. Theory of operation. A create counts against the limit from its start
 * (n_creating). The driver makes the box, the agent is linked, the record is stored; only then is the sandbox in the
 * manager's map and the caller called. A failure at any step destroys the box. A crash between box and record leaves a
 * box without a record: recovery removes it.
 *
 * The map holds one reference to a sandbox, each operation under way another. A kill removes the sandbox from map and
 * store at once; the box is destroyed in the background. A sandbox whose agent or first process exits is killed with
 * sandbox.error; why and its console output are kept for calls under way, the log and the event. Pause and resume are
 * in the record when the driver has done them; after a crash in between, adoption makes the box match the record. */
#include "sandbox/lifecycle/lifecycle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/strlist.h"
#include "image/preset.h"
#include "image/reference.h"
#include "sandbox/exec/services.h"
#include "sandbox/lifecycle/idle.h"
#include "sandbox/lifecycle/limits.h"
#include "sandbox/lifecycle/policy.h"
#include "sandbox/lifecycle/pool.h"
#include "sandbox/lifecycle/starts.h"
#include "sandbox/net/egress.h"
#include "sandbox/net/listening.h"
#include "sandbox/observe/denied_calls.h"
#include "sandbox/storage/capture.h"
#include "sandbox/storage/image_allowlist.h"
#include "sandbox/storage/image_source.h"
#include "sandbox/storage/pins.h"
#include "sandbox/storage/pulls.h"

struct creation {
    struct sandbox *s;
    manager_sandbox_fn *fn;
    void *arg;
    int64_t begun_us;
};

/* Keeps why it died, for pending calls, the log and the event. */
static void note_death(struct sandbox *s, const char *why)
{
    const struct runtime_ops *ops = s->runtime->ops;
    if (s->why)
        return;
    s->why = xstrdup(why);
    s->words = ops->console_text && s->box ? ops->console_text(s->box) : NULL;
    log_event(LOG_WARN, "sandbox.died", "id", s->id, "error", s->why, "console", s->words, NULL);
}

/* The last line of the console output, for the error message. */
static void on_link_why(void *arg, struct err *err)
{
    struct sandbox *s = arg;
    note_death(s, err->msg);
    if (!s->words)
        return;
    size_t len = strlen(s->words);
    const char *line = memrchr(s->words, '\n', len);
    line = line ? line + 1 : s->words;
    (void)err_set(err, ERR_GONE, 0, "the VM died: %s%s%.200s", s->why, *line ? "; its console: " : "", line);
}

/* The sandbox ended without a kill. Whatever is under way with it sees that and fails: a create, a start, a restore; a
 * stop has what it wanted. */
void lifecycle_die(struct sandbox *s)
{
    bool is_kept = s->is_persistent && s->runtime->ops->halt;
    if (s->stopping)
        lifecycle_hurry(s);
    else if (map_get(s->manager->sandboxes, s->id) != s)
        s->is_gone = true;
    else if (is_kept && !s->is_starting && !s->is_restoring)
        lifecycle_stop_dead(s);
    else if (!is_kept && !s->is_starting)
        (void)manager_kill(s->manager, s, "sandbox.error",
                           NULL); /* a store that fails now is tried again by the sweep */
}

static void on_link_gone(void *arg, const struct err *err)
{
    struct sandbox *s = arg;
    (void)err; /* noted already */
    s->link = guest_link_free(s->link);
    lifecycle_die(s); /* a box without its agent is useless */
}

static void on_box_gone(void *arg)
{
    struct sandbox *s = arg;
    struct err err = ERR_INIT;
    (void)err_set(&err, ERR_GONE, 0, "its first process has exited");
    if (s->link) {
        guest_link_fail(s->link, &err); /* a link that is already broken reports it */
        return;
    }
    note_death(s, err.msg);
    lifecycle_die(s);
}

static void on_box_overuse(void *arg, const char *why)
{
    struct sandbox *s = arg;
    if (map_get(s->manager->sandboxes, s->id) == s)
        manager_end(s->manager, s, why);
}

static void on_told(void *arg, const struct err *err)
{
    (void)arg;
    (void)err; /* a broken link is reported by its own callback */
}

static void on_box_late(void *arg)
{
    struct sandbox *s = arg;
    uint8_t seed[32];
    ident_random(seed, sizeof(seed));
    if (s->link)
        (void)guest_reseed(s->link, seed, sizeof(seed), on_told, NULL); /* the same */
}

void lifecycle_tell_still(struct sandbox *s)
{
    if (s->link)
        guest_link_stand_still(s->link, s->status == SANDBOX_PAUSED || s->captures);
}

int lifecycle_connect(struct sandbox *s, struct box *box, int guest_fd, struct err *err)
{
    const struct runtime_ops *ops = s->runtime->ops;
    int r = guest_link_new(s->manager->loop, guest_fd, on_link_gone, s, &s->link);
    if (r < 0) {
        (void)close(guest_fd);
        if (s->kept && ops->halt) /* it was started or adopted: its files stay */
            ops->halt(box, NULL, NULL);
        else
            ops->destroy(box, NULL, NULL);
        return err_sys(err, r, "link to the agent of %s", s->id);
    }
    s->box = box;
    s->box_number = ++s->manager->last_box;
    guest_link_on_why(s->link, on_link_why);
    guest_link_patience(s->link, (uint32_t)s->manager->settings->agent_timeout_s * 1000,
                        (uint32_t)s->manager->settings->agent_grace_s * 1000);
    denied_calls_watch(s->manager->denied_calls, s);
    listening_watch(s);
    lifecycle_tell_still(s);
    ops->on_gone(box, on_box_gone, s);
    if (ops->on_overuse)
        ops->on_overuse(box, on_box_overuse, s);
    if (ops->on_late)
        ops->on_late(box, on_box_late, s);
    return 0;
}

void lifecycle_forget(struct sandbox *s)
{
    s->is_gone = true;
    s->link = guest_link_free(s->link);
    if (s->box)
        s->runtime->ops->forget(s->box);
    s->box = NULL;
    sandbox_unref(s);
}

struct box_plan lifecycle_box_plan(const struct sandbox *s)
{
    struct sandbox_config c = s->config; /* only its numbers change here, so nothing of it is owned */
    sandbox_config_settle_limits(&c, s->manager->settings);
    struct box_plan plan = { .layers = (const char *const *)s->layers,
                             .n_layers = strlist_count(s->layers),
                             .is_host = s->is_host,
                             .workdir = sandbox_workdir(s),
                             .memory_mb = (uint32_t)(c.memory_mb ? c.memory_mb : LIMIT_DEFAULT(MEMORY_MB)),
                             .cpu_milli = (uint32_t)((c.cpu > 0 ? c.cpu : LIMIT_DEFAULT(CPU)) * 1000),
                             .disk_mb = (uint32_t)c.disk_mb,
                             .inodes = (uint32_t)c.inodes,
                             .pids_max = (uint32_t)c.pids,
                             .nofile = (uint32_t)c.open_files,
                             .shm_mb = (uint32_t)c.shm_mb,
                             .seccomp = sandbox_config_profile(&s->config, s->manager->settings),
                             .has_network = c.has_network };
    memcpy(plan.id, s->box_id, sizeof(plan.id));
    (void)snprintf(plan.hostname, sizeof(plan.hostname), "%s", s->id);
    return plan;
}

void lifecycle_use_image(struct sandbox *s, const struct image *image)
{
    for (size_t i = 0; i < image->n_layers; i++)
        strlist_add(&s->layers, image->layers[i]);
    s->is_host = image->is_host;
    s->image_workdir = xstrdup(image->workdir);
    s->resolved = xstrdup(image->resolved);
    s->version = xstrdup(image->version);
    s->digest = xstrdup(strstr(image->id, "sha256:")); /* "host" has none, an engine's has "docker:" before it */
    s->image_env = strlist_copy(image->env);
    s->image_command = strlist_copy(image->entrypoint);
    for (char **word = image->cmd; word && *word; word++)
        strlist_add(&s->image_command, *word);
    free(s->user);
    s->user = xstrdup(image->user ? image->user : "");
}

static void create_finish(struct creation *b, const struct err *err)
{
    struct manager *m = b->s->manager;
    m->n_creating--;
    tenant_making(m, b->s, -1);
    if (err) {
        log_event(LOG_WARN, "sandbox.create", "id", b->s->id, "image", b->s->image, "error", err->msg, NULL);
        pins_drop(m, b->s->id);
        b->fn(b->arg, NULL, err);
        sandbox_unref(b->s);
    } else {
        m->total_created++;
        tenant_count(m, b->s->tenant, TENANT_CREATED);
        idle_touch(b->s);
        map_set(m->sandboxes, b->s->id, b->s); /* takes our reference */
        manager_entered(m, b->s);
        (void)event_log_emit(m->events, "sandbox.created", b->s->id, json_pack("{s:s}", "image", b->s->image));
        b->fn(b->arg, b->s, NULL);
    }
    free(b);
}

/* Its services, and the image's or the request's main process: a durable command with the tag "main", whose output is
 * the sandbox's log. */
void lifecycle_start_entrypoint(struct sandbox *s)
{
    char **argv = s->config.entrypoint;
    services_begin(s, true);
    if (!argv || !argv[0])
        return;
    static const struct guest_exec_events no_events;
    struct guest_exec_plan plan = { .argv = (const char *const *)argv,
                                    .env = sandbox_env(s),
                                    .cwd = sandbox_workdir(s),
                                    .user = s->user,
                                    .flags = GUEST_EXEC_LOG | GUEST_EXEC_MARKS,
                                    .tag = "main" };
    struct guest_exec *x = NULL;
    struct err err = ERR_INIT;
    if (guest_exec_start(s->link, &plan, &no_events, s, &x, &err) < 0)
        log_event(LOG_WARN, "sandbox.entrypoint", "id", s->id, "error", err.msg, NULL);
    else
        guest_exec_drop(x);
    guest_await_ports(s->link, s->manager->settings->wake_timeout_s * 1000);
}

static void create_record(void *arg)
{
    struct creation *b = arg;
    struct err why = ERR_INIT;
    int r = b->s->manager->is_closing ? err_set(&why, ERR_CAPACITY, 0, "the server is stopping")
            : b->s->is_gone ? err_set(&why, ERR_INTERNAL, 0, "sandbox %s died while it was being created: %s", b->s->id,
                                      b->s->why ? b->s->why : "it is gone")
                            : sandbox_save(b->s, &why);
    if (r < 0) {
        b->s->is_gone = true;
        b->s->link = guest_link_free(b->s->link);
        b->s->runtime->ops->destroy(b->s->box, NULL, NULL);
        b->s->box = NULL;
        create_finish(b, &why);
        return;
    }
    lifecycle_start_entrypoint(b->s);
    create_finish(b, NULL);
}

/* Before the sandbox is in the map, so that the first command already has its network. */
static void create_open_egress(struct creation *b)
{
    if (!egress_open(b->s->manager->egress, b->s, create_record, b))
        create_record(b);
}

static void on_renamed(void *arg, const struct err *err)
{
    struct creation *b = arg;
    if (err)
        log_event(LOG_WARN, "sandbox.rename", "id", b->s->id, "error", err->msg,
                  NULL); /* only its hostname is odd then */
    create_open_egress(b);
}

static void on_box_ready(void *arg, struct box *box, int guest_fd, const struct err *err)
{
    struct creation *b = arg;
    struct sandbox *s = b->s;
    struct err why = ERR_INIT;
    if (!box || lifecycle_connect(s, box, guest_fd, &why) < 0) {
        create_finish(b, box ? &why : err);
        return;
    }
    if (strcmp(s->box_id, s->id) == 0) {
        create_open_egress(b);
        return;
    }
    int r = 0; /* it came from the pool, and gets its name now */
    if (s->runtime->ops->rename)
        s->runtime->ops->rename(box, s->id, on_renamed, b);
    else
        r = guest_set_hostname(s->link, s->id, on_renamed, b);
    if (r < 0) {
        (void)err_sys(&why, r, "set the agent's name");
        on_renamed(b, &why);
    }
}

static void on_new_box(void *arg, struct box *box, int guest_fd, const struct err *err)
{
    struct creation *b = arg;
    starts_done(b->s->manager->starts, b->s->tenant);
    on_box_ready(b, box, guest_fd, err);
}

static void create_box(void *arg)
{
    struct creation *b = arg;
    struct box_plan plan = lifecycle_box_plan(b->s);
    b->s->runtime->ops->create(b->s->runtime, &plan, on_new_box, b);
}

int lifecycle_check_room(const struct manager *m, unsigned count, struct err *err)
{
    int r = limits_check_reserve(image_store_free_mb(m->images), m->settings, err);
    if (r < 0)
        return r;
    if (map_count(m->sandboxes) + m->n_creating + count <= (size_t)m->settings->max_sandboxes)
        return 0;
    return err_set(err, ERR_CAPACITY, 0, "sandbox limit reached (%lld): kill one, or raise III_MAX_SANDBOXES",
                   (long long)m->settings->max_sandboxes);
}

/* The backend that a new sandbox is for. */
static struct runtime *runtime_for(const struct manager *m, const struct create_plan *plan, struct err *err)
{
    return plan->runtime
               ? plan->runtime
               : manager_runtime(m, plan->config->backend ? plan->config->backend : m->runtime->ops->name, err);
}

static const char *image_of(const struct manager *m, const struct sandbox_config *c)
{
    return c->image ? c->image : m->settings->default_image;
}

static int resolve(struct manager *m, const struct create_plan *plan, struct image **owned, struct err *err)
{
    const char *name = image_of(m, plan->config);
    if (plan->image)
        return 0;
    int r = image_name_check(name, err);
    if (r == 0 && !plan->is_unlisted)
        r = image_allowlist_check(m->settings->allowed_images, name, err);
    struct runtime *rt = r < 0 ? NULL : runtime_for(m, plan, err);
    if (!rt)
        return -EINVAL;
    if (rt->ops->images)
        return -ENOENT; /* an engine has to be asked */
    const struct image_scope scope = image_source_scope(m, plan->by);
    return image_resolve_for(m->images, &scope, name, owned, err);
}

/* A create whose image is being pulled. */
struct expecting {
    struct manager *m;
    struct create_plan plan;
    char *parent_id, *tenant;
    struct tenant_by by; /* its texts are owned, too */
    char *by_tenant, *by_view;
    struct pulls_how pulling;
    struct sandbox_config config; /* these are owned copies: the plan's are the caller's */
    json_t *env, *extra;
    manager_sandbox_fn *fn;
    void *arg;
};

static void create_from(struct manager *m, const struct create_plan *plan, const struct image *image,
                        manager_sandbox_fn *fn, void *arg);

static void expecting_free(struct expecting *x)
{
    free(x->parent_id);
    free(x->tenant);
    free(x->by_tenant);
    free(x->by_view);
    sandbox_config_done(&x->config);
    json_decref(x->env);
    json_decref(x->extra);
    free(x);
}

static void on_pulled(void *arg, const struct image *image, const struct err *err)
{
    struct expecting *x = arg;
    struct err why = ERR_INIT;
    struct runtime *rt = x->pulling.runtime;
    if (image && rt && rt->ops->images &&
        image_source_is_stored(image)) { /* pulled into our store: the engine gets a copy */
        image_source_resolve(x->m, rt, x->plan.by, image_of(x->m, &x->config), on_pulled, x);
        return;
    }
    if (image && lifecycle_check_room(x->m, 1, &why) < 0) {
        image = NULL;
        err = &why;
    }
    if (image)
        create_from(x->m, &x->plan, image, x->fn, x->arg);
    else
        x->fn(x->arg, NULL, err);
    expecting_free(x);
}

static struct expecting *expect(struct manager *m, const struct create_plan *plan, manager_sandbox_fn *fn, void *arg)
{
    struct expecting *x = xzalloc(sizeof(*x));
    x->m = m;
    x->plan = *plan;
    x->plan.parent_id = x->parent_id = xstrdup(plan->parent_id);
    x->plan.tenant = x->tenant = xstrdup(plan->tenant);
    if (plan->by) { /* the caller may be gone when the image is there */
        x->by = *plan->by;
        x->by.tenant = x->by_tenant = xstrdup(plan->by->tenant);
        x->by.view = x->by_view = xstrdup(plan->by->view);
        x->by.sandbox = NULL; /* a token for one sandbox makes none */
        x->plan.by = &x->by;
    }
    x->pulling.by = x->plan.by;
    x->config = sandbox_config_copy(plan->config);
    x->plan.config = &x->config;
    x->plan.env = x->env = json_deep_copy(plan->env);
    x->plan.extra = x->extra = json_deep_copy(plan->extra);
    x->fn = fn;
    x->arg = arg;
    return x;
}

static bool is_pullable(const struct manager *m, const char *name)
{
    struct reference ref;
    const char *wanted = preset_pull_name(name);
    return wanted && pulls_is_allowed(m->pulls) && reference_parse(wanted, &ref, NULL) == 0;
}

/* An engine has answered whether it has the image. */
static void on_looked_up(void *arg, const struct image *image, const struct err *err)
{
    struct expecting *x = arg;
    const char *name = image_of(x->m, &x->config);
    struct err why = ERR_INIT;
    if (!image && err->code == ERR_NOT_FOUND && is_pullable(x->m, name)) {
        if (pulls_start(x->m->pulls, preset_pull_name(name), &x->pulling, on_pulled, x, NULL, &why) == 0)
            return;
        err = &why;
    }
    on_pulled(x, image, err);
}

/* The image is not in our store. -ENOENT, err as it was: the name is none that a registry could know, or pulling is
 * off. */
static int fetch_first(struct manager *m, const struct create_plan *plan, manager_sandbox_fn *fn, void *arg,
                       struct err *err)
{
    const char *name = image_of(m, plan->config);
    struct runtime *rt = runtime_for(m, plan, err);
    if (rt && rt->ops->images) {
        struct expecting *x = expect(m, plan, fn, arg);
        x->pulling.runtime = rt;
        image_source_resolve(m, rt, x->plan.by, name, on_looked_up, x);
        return 0;
    }
    if (!is_pullable(m, name))
        return -ENOENT;
    struct expecting *x = expect(m, plan, fn, arg);
    int r =
        pulls_start(m->pulls, preset_pull_name(name), &(struct pulls_how){ .by = x->plan.by }, on_pulled, x, NULL, err);
    if (r < 0)
        expecting_free(x);
    return r;
}

void manager_create(struct manager *m, const struct create_plan *plan, manager_sandbox_fn *fn, void *arg)
{
    struct err err = ERR_INIT;
    CLEANUP(image_free_p) struct image *owned = NULL;
    int r = resolve(m, plan, &owned, &err);
    bool is_missing = r == -ENOENT;
    if (r == 0 || is_missing)
        r = lifecycle_check_room(m, 1, &err);
    if (r == 0 && is_missing)
        r = fetch_first(m, plan, fn, arg, &err);
    if (r < 0)
        fn(arg, NULL, &err);
    else if (!is_missing)
        create_from(m, plan, plan->image ? plan->image : owned, fn, arg);
}

static void create_from(struct manager *m, const struct create_plan *plan, const struct image *image,
                        manager_sandbox_fn *fn, void *arg)
{
    struct err err = ERR_INIT;
    char id[IDENT_MAX];
    ident_new("sbx", id);
    struct creation *b = xzalloc(sizeof(*b));
    struct sandbox *s = sandbox_new(m, id);
    s->runtime = runtime_for(m, plan, NULL); /* it was there a moment ago */
    *b = (struct creation){ .s = s, .fn = fn, .arg = arg, .begun_us = clock_mono_us() };
    s->name = xstrdup(plan->config->name ? plan->config->name : id);
    s->image = xstrdup(plan->image && !plan->config->image ? image->id : image_of(m, plan->config));
    s->parent_id = xstrdup(plan->parent_id);
    free(s->tenant);
    s->tenant = xstrdup(plan->tenant ? plan->tenant : tenant_of(plan->by));
    struct sandbox_config config = sandbox_config_copy(plan->config);
    if (!config.image && !plan->image)
        sandbox_config_set_text(&config, SANDBOX_CONFIG_IMAGE, s->image);
    sandbox_config_settle(&config, m->settings,
                          image->workdir && *image->workdir ? image->workdir : m->settings->workspace_dir);
    sandbox_set_config(s, &config);
    s->is_persistent = policy_is_persistent(&s->config);
    if (s->config.metadata)
        (void)json_object_update(s->metadata, s->config.metadata);
    if (plan->env)
        (void)json_object_update(s->env, plan->env);
    if (plan->extra)
        (void)json_object_update(s->extra, (json_t *)(uintptr_t)plan->extra);
    lifecycle_use_image(s, image);
    capture_show_base(s);
    s->created_at = clock_wall_ms();
    sandbox_expire_at(s, plan->is_unexpiring ? 0 : s->created_at + s->config.timeout_s * 1000);
    int r = tenant_check_sandbox(m, plan->by, s, &err); /* here, where memory and CPUs are known */
    m->n_creating++;
    tenant_making(m, s, 1);
    if (r < 0 || limits_check(&s->config, s->runtime, &err) < 0 || policy_check(&s->config, s->runtime, &err) < 0 ||
        services_check(s, &err) < 0 || pins_add(m, image, s->id, &err) < 0) {
        create_finish(b, &err);
        return;
    }
    bool is_pooled =
        !plan->image && s->runtime == m->runtime && !(image->tenant && *image->tenant); /* those of the server */
    if (is_pooled && pool_take(m->pool, s, on_box_ready, b))
        return;
    starts_begin(m->starts, s->tenant, create_box, b);
}

/* A caller waits for the end of a teardown. */
struct aftermath {
    loop_fn *done;
    void *arg;
};

static void on_destroyed(void *arg, const struct err *err)
{
    struct aftermath *a = arg;
    if (err)
        log_event(LOG_WARN, "sandbox.destroy", "error", err->msg, NULL); /* the driver's sweep takes the rest */
    a->done(a->arg);
    free(a);
}

int manager_kill(struct manager *m, struct sandbox *s, const char *topic, struct err *err)
{
    return manager_kill_then(m, s, topic, NULL, NULL, err);
}

void manager_end(struct manager *m, struct sandbox *s, const char *why)
{
    struct err err = ERR_INIT;
    log_event(LOG_WARN, "sandbox.ended", "id", s->id, "why", why, NULL);
    (void)event_log_emit(m->events, "sandbox.error", s->id, json_pack("{s:s}", "error", why));
    if (manager_kill(m, s, "sandbox.killed", &err) < 0)
        log_event(LOG_ERROR, "sandbox.ended", "id", s->id, "error", err.msg, NULL); /* who asked for it asks again */
}

int manager_kill_then(struct manager *m, struct sandbox *s, const char *topic, loop_fn *done, void *arg,
                      struct err *err)
{
    struct err why = ERR_INIT;
    int r = store_delete(m->store, "sandbox", s->id, &why);
    if (r < 0 &&
        why.code == ERR_NO_SPACE) { /* the teardown frees space: the record is deleted as soon as there is some */
        strlist_add(&m->undeleted, s->id);
    } else if (r < 0) {
        if (err)
            *err = why;
        return r;
    }
    s->is_gone = true;
    manager_leaving(m, s);
    (void)map_remove(m->sandboxes, s->id);
    bool is_expired = strcmp(topic, "sandbox.expired") == 0;
    tenant_count(m, s->tenant, is_expired ? TENANT_EXPIRED : TENANT_KILLED);
    if (is_expired)
        m->total_expired++;
    else
        m->total_killed++;
    s->link = guest_link_free(s->link);
    if (s->box) {
        struct aftermath *a = done ? xzalloc(sizeof(*a)) : NULL;
        if (a)
            *a = (struct aftermath){ done, arg };
        s->runtime->ops->destroy(s->box, a ? on_destroyed : NULL, a);
        s->box = NULL;
    } else {
        if (s->kept && s->status == SANDBOX_STOPPED && !s->is_changing) /* else the change sees that it is gone */
            s->runtime->ops->discard(s->runtime, s->kept, NULL, NULL);
        if (done)
            loop_defer(m->loop, done, arg);
    }
    lifecycle_drop_saved(s);
    pins_drop(m, s->id);
    event_log_emit_for(m->events, s->tenant, topic, s->id, /* its owner cannot be looked up any more */
                       s->why ? json_pack("{s:s, s:s*}", "error", s->why, "console", s->words) : NULL);
    sandbox_unref(s);
    return 0;
}

struct change {
    struct sandbox *s;
    uint64_t box_number; /* whose status it is: a restore gives the sandbox another */
    enum sandbox_status to;
    bool is_expiry; /* it is paused because it has expired: it has the full time again when it is resumed */
    manager_sandbox_fn *fn;
    void *arg;
};

static void on_changed(void *arg, const struct err *err)
{
    struct change *c = arg;
    struct sandbox *s = c->s;
    struct err why = ERR_INIT;
    s->is_changing = s->stopping || s->is_starting; /* it died meanwhile */
    if (s->is_gone)
        (void)err_set(&why, ERR_NOT_FOUND, 0, "sandbox not found: %s", s->id);
    else if (s->box_number != c->box_number || !s->box)
        (void)err_set(&why, ERR_CONFLICT, 0, "sandbox %s was stopped, or restored from a snapshot, meanwhile", s->id);
    if (why.code)
        err = &why;
    enum sandbox_status was = s->status;
    int64_t expires_at = s->expires_at;
    if (!err) {
        s->stop.has_expiry |= c->is_expiry;
        sandbox_expire_at(s, c->is_expiry ? 0 : lifecycle_next_expiry(s));
        s->status = c->to;
        if (sandbox_save(s, &why) < 0) {
            sandbox_expire_at(s, expires_at);
            err = &why;
        }
    }
    if (!err) {
        lifecycle_tell_still(s);
        idle_touch(s);
        (void)event_log_emit(s->manager->events, c->to == SANDBOX_PAUSED ? "sandbox.paused" : "sandbox.resumed", s->id,
                             NULL);
    } else if (!s->is_gone &&
               s->box) { /* it may have taken effect: only its answer was lost, or its record is not stored */
        const struct runtime_ops *ops = s->runtime->ops;
        s->status = was;
        (was == SANDBOX_PAUSED ? ops->pause : ops->resume)(s->box, NULL, NULL);
    }
    c->fn(c->arg, err ? NULL : s, err);
    manager_settled(s);
    sandbox_unref(s);
    free(c);
}

static void change_status(struct sandbox *s, enum sandbox_status to, bool is_expiry, manager_sandbox_fn *fn, void *arg)
{
    enum sandbox_status from = to == SANDBOX_PAUSED ? SANDBOX_RUNNING : SANDBOX_PAUSED;
    struct err err = ERR_INIT;
    if (s->status != from || !s->box) {
        (void)err_set(&err, ERR_CONFLICT, 0, "sandbox %s is not %s (it is %s)", s->id, sandbox_status_name(from),
                      sandbox_status_name(s->status));
        fn(arg, NULL, &err);
        return;
    }
    const struct runtime_ops *ops = s->runtime->ops;
    if (to == SANDBOX_PAUSED && runtime_lack(s->runtime, "pause") && !ops->caps(s->runtime).can_pause) {
        (void)runtime_cannot(s->runtime, "pause", "pause a sandbox", &err);
        fn(arg, NULL, &err);
        return;
    }
    if (s->is_changing) { /* with two changes pending, the later answer need not be the state of the box */
        (void)err_set(&err, ERR_CONFLICT, 0,
                      "sandbox %s is being paused, resumed, stopped or started by another request", s->id);
        fn(arg, NULL, &err);
        return;
    }
    s->is_changing = true;
    struct change *c = xzalloc(sizeof(*c));
    *c = (struct change){
        .s = sandbox_ref(s), .box_number = s->box_number, .to = to, .is_expiry = is_expiry, .fn = fn, .arg = arg
    };
    (to == SANDBOX_PAUSED ? ops->pause : ops->resume)(s->box, on_changed, c);
}

void manager_pause(struct manager *m, struct sandbox *s, manager_sandbox_fn *fn, void *arg)
{
    change_status(s, SANDBOX_PAUSED, false, fn, arg);
}

void lifecycle_pause_expired(struct sandbox *s, manager_sandbox_fn *fn, void *arg)
{
    change_status(s, SANDBOX_PAUSED, true, fn, arg);
}

void manager_resume(struct manager *m, struct sandbox *s, manager_sandbox_fn *fn, void *arg)
{
    change_status(s, SANDBOX_RUNNING, false, fn, arg);
}

int64_t manager_expiry(const struct manager *m, int64_t expires_at)
{
    int64_t now = clock_wall_ms();
    int64_t low = now + LIMIT_MIN(TIMEOUT_S) * 1000, high = now + m->settings->max_timeout_s * 1000;
    return expires_at < low ? low : expires_at > high ? high : expires_at;
}

int manager_renew(struct manager *m, struct sandbox *s, int64_t expires_at, struct err *err)
{
    int64_t was = s->expires_at;
    sandbox_expire_at(s, manager_expiry(m, expires_at));
    int r = sandbox_save(s, err);
    if (r < 0)
        sandbox_expire_at(s, was);
    return r;
}

int manager_label(struct sandbox *s, const json_t *keys, const json_t *pairs, struct err *err)
{
    json_t *was = s->metadata, *changed = json_copy(was);
    for (size_t i = 0; i < json_array_size(keys); i++)
        (void)json_object_del(changed, json_string_value(json_array_get(keys, i))); /* one that is not there: fine */
    if (pairs)
        (void)json_object_update(changed, (json_t *)(uintptr_t)pairs);
    size_t n = json_object_size(changed);
    s->metadata = changed;
    int r = n > MANAGER_METADATA_MAX
                ? err_set(err, ERR_INVALID, 0, "metadata: sandbox %s would have %zu pairs, more than %d; remove some",
                          s->id, n, MANAGER_METADATA_MAX)
                : sandbox_save(s, err);
    if (r < 0)
        s->metadata = was;
    json_decref(r < 0 ? changed : was);
    return r;
}
