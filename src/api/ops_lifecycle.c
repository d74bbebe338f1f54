/* Handlers of the sandbox lifecycle. */
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "api/handlers.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/lifecycle/templates.h"

void api_sandbox_create(struct call *c)
{
    struct err err = ERR_INIT;
    SANDBOX_CONFIG_OWNED config = { 0 };
    if (templates_apply(call_manager(c)->templates, call_by(c), call_params(c), &config, &err) < 0) {
        call_fail(c, &err);
        return;
    }
    if (!config.image && call_has_other_body(c)) { /* the default image would hide that what was sent was not read */
        call_error(c, ERR_INVALID, "image name is empty");
        return;
    }
    struct create_plan plan = { .config = &config, .by = call_by(c) };
    manager_create(call_manager(c), &plan, handlers_answer, c);
}

static bool metadata_matches(const struct sandbox *s, const json_t *wanted)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)wanted, key, value)
    {
        if (!json_equal(json_object_get(s->metadata, key), value))
            return false;
    }
    return true;
}

void api_sandbox_list(struct call *c)
{
    const char *status = call_str(c, "status", NULL);
    const char *parent = call_str(c, "parentId", NULL);
    const json_t *wanted = json_get(call_params(c), "metadata");
    json_int_t page = call_int(c, "page", LIMIT_DEFAULT(PAGE)),
               size = call_int(c, "pageSize", LIMIT_DEFAULT(PAGE_SIZE)), total = 0;
    json_t *items = json_array();
    for (struct map_iter it = map_iter(call_manager(c)->sandboxes); map_next(&it);) {
        const struct sandbox *s = it.value;
        if (!tenant_sees(call_by(c), s->tenant))
            continue;
        if (status && strcmp(status, sandbox_status_name(s->status)) != 0)
            continue;
        if (wanted && !metadata_matches(s, wanted))
            continue;
        if (parent && (!s->parent_id || strcmp(parent, s->parent_id) != 0))
            continue;
        if (total / size == page - 1)
            (void)json_array_append_new(items, sandbox_json(s));
        total++;
    }
    call_ok(c, json_pack("{s:o, s:I, s:I, s:I}", "items", items, "total", total, "page", page, "pageSize", size));
}

void api_sandbox_get(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    if (s)
        call_ok(c, sandbox_json(s));
}

void api_sandbox_kill(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    if (manager_kill(call_manager(c), s, "sandbox.killed", &err) < 0)
        call_fail(c, &err);
    else
        call_ok(c, json_pack("{s:b}", "success", 1));
}

void api_sandbox_pause(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    if (s)
        manager_pause(call_manager(c), s, handlers_answer, c);
}

void api_sandbox_resume(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    if (s)
        manager_resume(call_manager(c), s, handlers_answer, c);
}

void api_sandbox_renew(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    if (manager_renew(call_manager(c), s, call_int(c, "expiresAt", 0), &err) < 0)
        call_fail(c, &err);
    else
        call_ok(c, sandbox_json(s));
}

void api_sandbox_label(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    const json_t *remove = json_get(call_params(c), "remove"), *set = json_get(call_params(c), "metadata");
    if (!remove && !set)
        call_error(c, ERR_INVALID, "nothing to change: give metadata (pairs to set), remove (keys), or both");
    else if (manager_label(s, remove, set, &err) < 0)
        call_fail(c, &err);
    else
        call_ok(c, sandbox_json(s));
}

void api_sandbox_clone(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    struct manager_fork_plan plan = { .count = 1, .name = call_str(c, "name", NULL), .by = call_by(c) };
    manager_clone(call_manager(c), s, &plan, handlers_answer, c);
}

static void answer_fork(void *arg, struct sandbox *const *children, size_t n, const struct err *err)
{
    struct call *c = arg;
    if (err) {
        call_fail(c, err);
        return;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, sandbox_json(children[i]));
    call_ok(c, json_pack("{s:o}", "sandboxes", list));
}

void api_sandbox_fork(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return; /* the call is gone */
    int64_t count = call_int(c, "count", LIMIT_DEFAULT(FORK)), limit = call_manager(c)->settings->max_fork;
    if (count > limit) {
        call_error(c, ERR_INVALID, "count: %lld is more than %lld; fork several times, or raise III_MAX_FORK",
                   (long long)count, (long long)limit);
        return;
    }
    struct manager_fork_plan plan = { .count = (unsigned)count, .name = call_str(c, "name", NULL), .by = call_by(c) };
    manager_fork(call_manager(c), s, &plan, answer_fork, c);
}
