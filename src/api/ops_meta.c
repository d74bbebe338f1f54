/* Handlers about the server itself: health, counters, pool, sweep, the OpenAPI document. */
#include "api/api_core.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/version.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "sandbox/lifecycle/pool.h"
#include "sandbox/observe/sandbox_usage.h"
#include "store/store.h"

void api_health(struct call *c)
{
    const struct manager *m = call_manager(c);
    const struct store *s = m->store;
    json_t *answer = json_pack("{s:s}", "status", "healthy");
    JSON_OWNED problems = json_array();
    JSON_OWNED missing = json_array(); /* from this host: root, a control group or a file system */
    struct runtime *rt = m->n_runtimes ? m->runtimes[0] : NULL;
    const struct runtime_caps can = rt ? rt->ops->caps(rt) : (struct runtime_caps){ 0 };
#define RUNTIME_CAP(field, name)                     \
    if (rt && !can.field && !runtime_lack(rt, name)) \
        (void)json_array_append_new(missing, json_string(name));
    RUNTIME_CAPS(RUNTIME_CAP)
#undef RUNTIME_CAP
    if (json_array_size(missing))
        (void)json_object_set(answer, "missing", missing);
    if (store_was_rescued(s)) {
        const char *name = strrchr(store_rescued_path(s), '/'); /* the folder is not for unauthenticated clients */
        char text[200];
        (void)snprintf(text, sizeof(text), "state.db was damaged: it is kept as %.100s, %lld documents were salvaged",
                       name ? name + 1 : "", (long long)store_rescued_rows(s));
        (void)json_array_append_new(problems, json_string(text));
    }
    if (keyring_problem(call_api(c)->keys))
        (void)json_array_append_new(problems, json_string(keyring_problem(call_api(c)->keys)));
    if (json_array_size(problems))
        (void)json_object_set(answer, "problems", problems);
    call_ok(c, answer);
}

/* What each backend can do, the default first, and why it cannot do the rest. */
static json_t *backends_json(const struct manager *m)
{
    json_t *all = json_array();
    for (size_t i = 0; i < m->n_runtimes; i++) {
        struct runtime *rt = m->runtimes[i];
        const struct runtime_caps can = rt->ops->caps(rt);
        json_t *table = json_object(), *lacks = json_object();
#define RUNTIME_CAP(field, name) (void)json_object_set_new(table, name, json_boolean(can.field));
        RUNTIME_CAPS(RUNTIME_CAP)
#undef RUNTIME_CAP
        for (const struct runtime_lack *l = rt->ops->lacks; l && l->name; l++)
            if (!json_is_true(json_object_get(table, l->name)))
                (void)json_object_set_new(lacks, l->name, json_string(l->reason));
        (void)json_array_append_new(all,
                                    json_pack("{s:s, s:o, s:o}", "name", rt->ops->name, "can", table, "lacks", lacks));
    }
    return all;
}

/* How many sandboxes of each status the caller sees; those without any are left out. */
static json_t *statuses_json(struct call *c)
{
    json_int_t n[SANDBOX_STATUSES] = { 0 };
    json_t *j = json_object();
    for (struct map_iter it = map_iter(call_manager(c)->sandboxes); map_next(&it);) {
        const struct sandbox *s = it.value;
        n[s->status] += tenant_sees_of(call_by(c), s->tenant, s->id);
    }
    for (int i = 0; i < SANDBOX_STATUSES; i++)
        if (n[i])
            (void)json_object_set_new(j, sandbox_status_name((enum sandbox_status)i), json_integer(n[i]));
    return j;
}

void api_metrics_global(struct call *c)
{
    struct manager *m = call_manager(c);
    const char *view = call_view(c);
    json_int_t created = view ? tenant_counted(m, view, TENANT_CREATED) : m->total_created;
    json_int_t killed = view ? tenant_counted(m, view, TENANT_KILLED) : m->total_killed;
    json_int_t expired = view ? tenant_counted(m, view, TENANT_EXPIRED) : m->total_expired;
    json_t *body = json_pack("{s:I, s:I, s:I, s:I, s:I}", "activeSandboxes", (json_int_t)handlers_active(c),
                             "totalCreated", created, "totalKilled", killed, "totalExpired", expired, "uptimeSeconds",
                             (json_int_t)((clock_mono_us() - m->started_us) / 1000000));
    (void)json_object_set_new(body, "statuses", statuses_json(c));
    (void)json_object_set_new(body, "backends", backends_json(m));
    if (view) {
        (void)json_object_set_new(body, "usage", tenant_usage_json(m, view));
        (void)json_object_set_new(body, "quota", quota_json(&call_by(c)->quota));
    }
    call_ok(c, body);
}

struct measured {
    struct call *c;
    struct sandbox *s;
};

static void on_measured(void *arg)
{
    CLEANUP(free_p) struct measured *m = arg;
    struct err err = ERR_INIT;
    json_t *metrics = sandbox_metrics(m->s, &err);
    if (metrics)
        call_ok(m->c, metrics);
    else
        call_fail(m->c, &err);
    sandbox_unref(m->s);
}

void api_metrics_sandbox(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    struct measured *m = xzalloc(sizeof(*m));
    *m = (struct measured){ .c = c, .s = sandbox_ref(s) };
    sandbox_usage_refresh(s, on_measured, m);
}

void api_pool_status(struct call *c)
{
    call_ok(c, pool_status(call_manager(c)->pool));
}

void api_ttl_sweep(struct call *c)
{
    call_ok(c, json_pack("{s:i}", "swept", manager_sweep(call_manager(c))));
}

void api_openapi(struct call *c)
{
    call_ok(c, spec_openapi(call_manager(c)->settings->api_prefix, API_VERSION));
}
