/* Theory of operation. A host is a driver process in the sandbox (kernel.h). The Python contexts of a sandbox share one
 * host, which is made with the first and lives as long as the sandbox; a JavaScript context has its own host.
 *
 * A context is started by a NEW frame and answers READY; from then on it gets CODE frames, one at a time
 * (context_run.c). A context whose process dies keeps its record and its reason until it is restarted or deleted. After
 * a restart of the server the records are read again and their contexts count as lost: the processes ended with the
 * link. Numbers are never reused at one host, so a late frame of a killed process finds no context. */
#include "sandbox/exec/context.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strlist.h"
#include "sandbox/exec/command.h"
#include "sandbox/exec/context_core.h"

#define SCOPE    "context"
#define START_MS 120000 /* a VM without KVM on a busy host is slow */

struct context_set {
    struct manager *m;
    struct map *all; /* id -> struct context */
    struct context_host *hosts;
};

static const char *const language_names[] = { "python", "javascript" };

const char *context_state_name(enum context_state st)
{
    static const char *const names[] = { "starting", "idle", "busy", "dead", "lost" };
    return names[st];
}

json_t *context_json(const struct context *c)
{
    json_t *j = json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:s}", "id", c->id, "sandboxId", c->sandbox_id, "language",
                          c->language, "cwd", c->cwd, "createdAt", (json_int_t)c->created_at, "executionCount",
                          (json_int_t)c->count, "state", context_state_name(c->state));
    if (c->is_default)
        (void)json_object_set_new(j, "default", json_true());
    if (c->why[0])
        (void)json_object_set_new(j, "why", json_text(c->why, strlen(c->why)));
    return j;
}

json_t *context_list(const struct context_set *set, const char *sandbox_id)
{
    json_t *list = json_array();
    for (struct map_iter it = map_iter(set->all); map_next(&it);)
        if (strcmp(((struct context *)it.value)->sandbox_id, sandbox_id) == 0)
            (void)json_array_append_new(list, context_json(it.value));
    return json_pack("{s:o}", "contexts", list);
}

static const char *language_of(const char *name)
{
    for (size_t i = 0; i < sizeof(language_names) / sizeof(language_names[0]); i++)
        if (strcmp(language_names[i], name) == 0)
            return language_names[i];
    return NULL;
}

bool context_is_language(const char *id)
{
    return language_of(id);
}

struct context *context_find(struct context_set *set, const char *sandbox_id, const char *id, struct err *err)
{
    const char *language = language_of(id);
    struct context *c = map_get(set->all, id);
    for (struct map_iter it = map_iter(set->all); language && map_next(&it);) {
        struct context *one = it.value;
        if (one->is_default && one->language == language && strcmp(one->sandbox_id, sandbox_id) == 0)
            return one;
    }
    if (c && strcmp(c->sandbox_id, sandbox_id) == 0)
        return c;
    (void)err_set(err, ERR_NOT_FOUND, 0, "context not found: %.64s", id);
    return NULL;
}

static void free_context(struct context *c)
{
    timer_free(c->timer);
    json_decref(c->env);
    free(c->cwd);
    free(c);
}

static void release_host(struct context_host *h)
{
    kernel_stop(h->kernel);
    sandbox_unref(h->s);
    free(h);
}

static void free_host(struct context_host *h)
{
    for (struct context_host **at = &h->set->hosts; *at; at = &(*at)->next)
        if (*at == h) {
            *at = h->next;
            break;
        }
    release_host(h);
}

/* --- the end of a process --- */

static void answer_ready(struct context *c, const struct err *err)
{
    context_fn *fn = c->on_ready;
    c->on_ready = NULL;
    if (err)
        context_turn_fail(c, err);
    else
        context_turn_next(c);
    if (fn)
        fn(c->ready_arg, err ? NULL : c, err);
}

static void detach(struct context *c)
{
    for (struct context **at = c->host ? &c->host->contexts : NULL; at && *at; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    c->host = NULL;
    if (c->timer)
        timer_set(c->timer, -1, 0);
}

/* It has no process any more: pending requests are answered. */
static void context_died(struct context *c, const char *why)
{
    struct err err = ERR_INIT;
    bool was_starting = c->state == CONTEXT_STARTING;
    detach(c);
    c->state = CONTEXT_DEAD;
    (void)snprintf(c->why, sizeof(c->why), "%s", why);
    if (was_starting) {
        (void)err_set(&err, ERR_INTERNAL, 0, "context %s did not start: %s", c->id, why);
        answer_ready(c, &err);
    } else if (c->run) {
        context_run_ended(c, why); /* whoever is next gets a new process */
    } else {
        (void)err_set(&err, ERR_INTERNAL, 0, "context %s died: %s", c->id, why);
        context_turn_fail(c, &err);
    }
}

/* Ends a host and its contexts. err: for those that were starting. */
static void host_ended(struct context_host *h, const char *why, const struct err *err)
{
    for (struct context *c; (c = h->contexts);) {
        if (c->state == CONTEXT_STARTING && err) {
            detach(c);
            c->state = CONTEXT_DEAD;
            (void)snprintf(c->why, sizeof(c->why), "%.190s", err->msg);
            answer_ready(c, err);
        } else {
            context_died(c, why);
        }
    }
    free_host(h);
}

static void describe_exit(struct context_host *h, const struct guest_exit *ex, char *out, size_t size)
{
    if (ex->is_oom || command_was_oom(h->s, ex))
        (void)snprintf(out, size, "its process was killed: the sandbox is out of memory");
    else if (ex->signal)
        (void)snprintf(out, size, "its process was killed by signal %d", ex->signal);
    else
        (void)snprintf(out, size, "its process exited with code %d%s%s", ex->code, h->complaint[0] ? ": " : "",
                       h->complaint);
}

static void on_kernel_end(void *arg, const struct guest_exit *ex, const struct err *err)
{
    struct context_host *h = arg;
    char why[200];
    h->kernel = NULL;
    if (err)
        (void)snprintf(why, sizeof(why), "%.190s", err->msg);
    else
        describe_exit(h, ex, why, sizeof(why));
    host_ended(h, why, err);
}

static bool is_shared(const struct context_host *h)
{
    return h->language == language_names[0];
}

void context_kill(struct context *c)
{
    struct context_host *h = c->host;
    if (!h)
        return;
    if (is_shared(h) && kernel_send(h->kernel, c->number, KERNEL_KILL, NULL, 0) == 0)
        return; /* the zygote reports its end */
    host_ended(h, "its process was killed", NULL);
}

void context_end_host(struct context *c)
{
    host_ended(c->host, "its interpreter did not answer and was killed", NULL);
}

struct manager *context_manager(const struct context *c)
{
    return c->set->m;
}

void context_set_timer(struct context *c, int64_t delay_ms, timer_fn *fn)
{
    if (c->timer && c->timer_is == fn) {
        timer_set(c->timer, delay_ms, 0);
        return;
    }
    timer_free(c->timer);
    c->timer = timer_new(c->set->m->loop, delay_ms, 0, fn, c);
    c->timer_is = fn;
}

/* --- frames --- */

static struct context *by_number(const struct context_host *h, uint32_t number)
{
    struct context *c = h->contexts;
    while (c && c->number != number)
        c = c->next;
    return c;
}

static void take_failed(struct context *c, enum err_code code, const char *data, size_t len)
{
    struct err err = ERR_INIT;
    if (c->state != CONTEXT_STARTING)
        return;
    (void)err_set(&err, code, 0, "context: %.*s", (int)(len < 300 ? len : 300), data);
    detach(c);
    c->state = CONTEXT_DEAD;
    (void)snprintf(c->why, sizeof(c->why), "%.190s", err.msg);
    answer_ready(c, &err);
}

static void on_frame(void *arg, uint32_t number, char letter, const char *data, size_t len)
{
    struct context_host *h = arg;
    struct context *c = by_number(h, number);
    if (!c)
        return;
    if (letter == KERNEL_READY && c->state == CONTEXT_STARTING) {
        c->state = CONTEXT_IDLE;
        timer_set(c->timer, -1, 0);
        answer_ready(c, NULL);
    } else if (letter == KERNEL_FAILED || letter == KERNEL_NO_ROOM) {
        take_failed(c, letter == KERNEL_FAILED ? ERR_INVALID : ERR_CAPACITY, data, len);
    } else if (letter == KERNEL_ENDED) {
        char why[200];
        JSON_OWNED end = NULL;
        (void)json_read_input(data, len, &end, NULL); /* what it lacks is unknown */
        struct guest_exit ex = { .code = (int)json_get_int(end, "code", -1),
                                 .signal = (int)json_get_int(end, "signal", 0) };
        describe_exit(h, &ex, why, sizeof(why));
        context_died(c, why);
    } else {
        context_run_frame(c, letter, data, len);
    }
}

static void on_raw(void *arg, const char *data, size_t len)
{
    struct context_host *h = arg;
    while (len && data[len - 1] == '\n')
        len--;
    const char *line = len ? memrchr(data, '\n', len) : NULL;
    line = line ? line + 1 : data;
    size_t n = len - (size_t)(line - data);
    if (n)
        (void)snprintf(h->complaint, sizeof(h->complaint), "%.*s", (int)(n < 150 ? n : 150), line);
    if (is_shared(h))
        return;
    struct context *c = by_number(h, h->last_number);
    if (c)
        context_run_frame(c, KERNEL_STDERR, data, len);
}

/* --- the beginning --- */

static struct context_host *host_for(struct context_set *set, struct sandbox *s, const char *language, struct err *err)
{
    static const struct kernel_events events = { .on_frame = on_frame, .on_raw = on_raw, .on_end = on_kernel_end };
    for (struct context_host *h = set->hosts; h; h = h->next)
        if (h->s == s && is_shared(h) && h->language == language)
            return h;
    struct context_host *h = xzalloc(sizeof(*h));
    *h = (struct context_host){ .set = set, .next = set->hosts, .s = sandbox_ref(s), .language = language };
    if (kernel_start(s, language, "/", &events, h, &h->kernel, err) < 0) {
        sandbox_unref(h->s);
        free(h);
        return NULL;
    }
    set->hosts = h;
    return h;
}

static char *new_frame(struct context *c, struct sandbox *s, size_t *ret_len)
{
    JSON_OWNED env = json_object();
    const char *key;
    json_t *value;
    for (const char *const *e = sandbox_env(s); *e; e++) {
        const char *eq = strchr(*e, '=');
        if (eq)
            (void)json_object_setn_new(env, *e, (size_t)(eq - *e), json_text(eq + 1, strlen(eq + 1)));
    }
    json_object_foreach(c->env, key, value)(void) json_object_set(env, key, value);
    JSON_OWNED plan = json_pack("{s:s, s:O}", "cwd", c->cwd, "env", env);
    return json_write(plan, ret_len);
}

static void on_start_late(void *arg)
{
    struct context *c = arg;
    struct err err = ERR_INIT;
    if (c->host->s->status == SANDBOX_PAUSED) {
        timer_set(c->timer, START_MS, 0);
        return;
    }
    (void)err_set(&err, ERR_TIMEOUT, 0, "the interpreter did not answer within %d ms; its processes were killed",
                  START_MS);
    host_ended(c->host, err.msg, &err);
}

static int context_start(struct context *c, struct sandbox *s, context_fn *fn, void *arg, struct err *err)
{
    size_t len = 0;
    struct context_host *h = host_for(c->set, s, c->language, err);
    if (!h)
        return -EIO;
    c->host = h;
    c->number = ++h->last_number;
    c->next = h->contexts;
    h->contexts = c;
    c->state = CONTEXT_STARTING;
    c->why[0] = '\0';
    c->count = 0;
    c->on_ready = fn;
    c->ready_arg = arg;
    CLEANUP(free_p) char *frame = new_frame(c, s, &len);
    int r = kernel_send(h->kernel, c->number, KERNEL_NEW, frame, len);
    if (r < 0) {
        c->on_ready = NULL;
        detach(c);
        c->state = CONTEXT_DEAD;
        return err_set(err, ERR_CAPACITY, -r, "the interpreter of %s does not read", s->id);
    }
    context_set_timer(c, START_MS, on_start_late);
    return 0;
}

/* A context that has never been ready is not kept. */
struct creation {
    struct context *c;
    context_fn *fn;
    void *arg;
};

static void context_forget(struct context *c)
{
    (void)map_remove(c->set->all, c->id);
    free_context(c);
}

static void on_created(void *arg, struct context *ready, const struct err *err)
{
    struct creation made = *(struct creation *)arg;
    struct err why = ERR_INIT;
    free(arg);
    JSON_OWNED doc = NULL;
    if (ready)
        doc = json_pack("{s:s, s:s, s:s, s:s, s:I, s:b, s:O?}", "id", ready->id, "sandboxId", ready->sandbox_id,
                        "language", ready->language, "cwd", ready->cwd, "createdAt", (json_int_t)ready->created_at,
                        "default", ready->is_default, "env", ready->env);
    if (ready && store_put(ready->set->m->store, SCOPE, ready->id, doc, &why) < 0) {
        context_kill(ready);
        detach(ready);
        ready = NULL;
        err = &why;
    }
    if (ready)
        ready->is_new = false;
    made.fn(made.arg, ready, err);
    if (!ready) {
        context_turn_fail(made.c, err);
        context_forget(made.c);
    }
}

int context_create(struct context_set *set, struct sandbox *s, const struct context_plan *plan, context_fn *fn,
                   void *arg, struct err *err)
{
    const char *cwd = NULL, *language = language_of(plan->language);
    int r = sandbox_need_running(s, err);
    if (r == 0 && !language)
        r = err_set(err, ERR_INVALID, 0, "language: \"%.32s\" does not support contexts; python and javascript do",
                    plan->language);
    if (r == 0)
        r = command_cwd(s, plan->cwd, &cwd, err);
    long long n = 0, max = set->m->settings->max_contexts;
    for (struct map_iter it = map_iter(set->all); map_next(&it);)
        n += strcmp(((struct context *)it.value)->sandbox_id, s->id) == 0;
    if (r == 0 && n >= max)
        r = err_set(err, ERR_CAPACITY, 0,
                    "sandbox %s has %lld contexts, the limit is %lld (III_MAX_CONTEXTS): delete one first", s->id, n,
                    max);
    if (r < 0)
        return r;
    struct context *c = xzalloc(sizeof(*c));
    *c = (struct context){ .set = set,
                           .language = language,
                           .cwd = xstrdup(cwd),
                           .created_at = clock_wall_ms(),
                           .is_new = true,
                           .is_default = plan->is_default };
    c->env = plan->env ? json_deep_copy(plan->env) : NULL;
    ident_new("ctx", c->id);
    (void)snprintf(c->sandbox_id, sizeof(c->sandbox_id), "%s", s->id);
    struct creation *made = xzalloc(sizeof(*made));
    *made = (struct creation){ .c = c, .fn = fn, .arg = arg };
    r = context_start(c, s, on_created, made, err);
    if (r < 0) {
        free(made);
        free_context(c);
        return r;
    }
    map_set(set->all, c->id, c);
    return 0;
}

/* Ends the process of a context; the context stays. */
static void context_stop_process(struct context *c, const struct err *err)
{
    struct context_host *h = c->host;
    if (h) {
        detach(c);
        if (is_shared(h))
            (void)kernel_send(h->kernel, c->number, KERNEL_KILL, NULL, 0); /* fails only when it is ending anyway */
        else
            free_host(h);
    }
    if (c->state == CONTEXT_STARTING) {
        c->state = CONTEXT_DEAD;
        answer_ready(c, err);
        return;
    }
    c->state = CONTEXT_DEAD;
    context_run_fail(c, err);
}

/* The same, and removes the context; a new one is removed by the failure of its start. */
static void context_remove(struct context *c, const struct err *err)
{
    bool is_new = c->is_new;
    context_stop_process(c, err);
    if (is_new)
        return;
    context_turn_fail(c, err);
    context_forget(c);
}

int context_restart(struct context *c, context_fn *fn, void *arg, struct err *err)
{
    struct err why = ERR_INIT;
    struct sandbox *s = manager_find_running(c->set->m, c->sandbox_id, err);
    if (!s)
        return -EBUSY;
    if (c->state == CONTEXT_STARTING)
        return err_set(err, ERR_CONFLICT, 0, "context %s is starting", c->id);
    (void)err_set(&why, ERR_CONFLICT, 0, "context %s was restarted while this ran", c->id);
    context_stop_process(c, &why);
    int r = context_start(c, s, fn, arg, err);
    if (r < 0)
        (void)snprintf(c->why, sizeof(c->why), "%.190s", err->msg);
    return r;
}

int context_delete(struct context *c, struct err *err)
{
    struct err why = ERR_INIT;
    if (c->state == CONTEXT_STARTING)
        return err_set(err, ERR_CONFLICT, 0, "context %s is starting", c->id);
    int r = store_delete(c->set->m->store, SCOPE, c->id, err);
    if (r < 0)
        return r;
    (void)err_set(&why, ERR_GONE, 0, "context %s was deleted while this ran", c->id);
    context_remove(c, &why);
    return 0;
}

/* --- all of them --- */

void context_set_drop(struct context_set *set, const char *sandbox_id)
{
    struct err why = ERR_INIT;
    (void)err_set(&why, ERR_GONE, 0, "sandbox %s has ended", sandbox_id);
    for (struct map_iter it = map_iter(set->all); map_next(&it);) {
        struct context *c = it.value;
        if (strcmp(c->sandbox_id, sandbox_id) != 0)
            continue;
        (void)store_delete(set->m->store, SCOPE, c->id, NULL); /* tried again at the next start */
        context_remove(c, &why);
    }
    for (struct context_host *h = set->hosts, *next; h; h = next) {
        next = h->next;
        if (strcmp(h->s->id, sandbox_id) == 0)
            free_host(h);
    }
}

static void on_leave(void *arg, struct sandbox *s)
{
    context_set_drop(arg, s->id);
}

static bool load(void *arg, const char *key, json_t *doc)
{
    struct context_set *set = arg;
    const char *language = language_of(json_get_str(doc, "language", ""));
    const char *sandbox_id = json_get_str(doc, "sandboxId", "");
    if (!language || !map_get(set->m->sandboxes, sandbox_id)) {
        (void)store_delete(set->m->store, SCOPE, key, NULL); /* its sandbox is gone; tried again at the next start */
        return true;
    }
    struct context *c = xzalloc(sizeof(*c));
    *c = (struct context){ .set = set,
                           .language = language,
                           .cwd = xstrdup(json_get_str(doc, "cwd", "/")),
                           .env = json_incref(json_get(doc, "env")),
                           .created_at = json_get_int(doc, "createdAt", 0),
                           .is_default = json_get_bool(doc, "default", false),
                           .state = CONTEXT_LOST };
    (void)snprintf(c->id, sizeof(c->id), "%s", key);
    (void)snprintf(c->sandbox_id, sizeof(c->sandbox_id), "%s", sandbox_id);
    (void)snprintf(c->why, sizeof(c->why), "the server was restarted; restart the context to use it");
    map_set(set->all, c->id, c);
    return true;
}

void context_set_load(struct context_set *set)
{
    struct err err = ERR_INIT;
    if (store_each(set->m->store, SCOPE, false, load, set, &err) < 0)
        log_event(LOG_ERROR, "recover.contexts", "error", err.msg, NULL);
}

struct context_set *context_set_new(struct manager *m)
{
    struct context_set *set = xzalloc(sizeof(*set));
    *set = (struct context_set){ .m = m, .all = map_new() };
    manager_on_leave(m, on_leave, set);
    return set;
}

struct context_set *context_set_free(struct context_set *set)
{
    struct err why = ERR_INIT;
    if (!set)
        return NULL;
    (void)err_set(&why, ERR_GONE, 0, "the server stops");
    for (struct map_iter it = map_iter(set->all); map_next(&it);)
        context_remove(it.value, &why);
    for (struct context_host *h = set->hosts, *next; h; h = next) {
        next = h->next;
        release_host(h);
    }
    map_free(set->all);
    free(set);
    return NULL;
}
