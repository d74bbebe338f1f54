#include "engine/registry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "engine/enqueue.h"
#include "engine/http_function.h"
#include "engine/presence.h"
#include "engine/session.h"
#include "engine/worker.h"

#define RESERVED "engine::"

static struct function *function_free(struct function *f)
{
    if (f) {
        free(f->id);
        free(f->description);
        json_decref(f->request_schema);
        json_decref(f->response_schema);
        json_decref(f->metadata);
        (void)http_function_free(f->http);
        free(f);
    }
    return NULL;
}

static struct function *function_new(const char *id, const char *description)
{
    struct function *f = xzalloc(sizeof(*f));
    f->id = xstrdup(id);
    f->description = xstrdup(description);
    return f;
}

void registry_init(struct engine *e)
{
    e->local = map_new();
    e->remote = map_new();
}

static void functions_free(struct map *m)
{
    for (struct map_iter it = map_iter(m); map_next(&it);)
        (void)function_free(it.value);
    map_free(m);
}

void registry_done(struct engine *e)
{
    functions_free(e->local);
    functions_free(e->remote);
}

struct function *registry_find_local(const struct engine *e, const char *id)
{
    return map_get(e->local, id);
}

struct function *registry_find(const struct engine *e, const char *id)
{
    struct function *f = map_get(e->remote, id);
    return f ? f : map_get(e->local, id);
}

static void function_put(struct map *m, struct function *f)
{
    struct function *old = map_remove(m, f->id);
    if (old && old->owner)
        old->owner->n_functions--;
    (void)function_free(old);
    map_set(m, f->id, f);
}

int registry_add(struct engine *e, struct worker *owner, const struct message *m)
{
    if (strncmp(m->id, RESERVED, strlen(RESERVED)) == 0)
        return -EPERM;
    if (owner->n_functions >= ENGINE_FUNCTIONS_MAX)
        return -E2BIG;
    struct http_function *http = NULL;
    struct err err = ERR_INIT;
    const json_t *invocation = json_get(m->body, "invocation");
    int r = invocation ? http_function_new(e, invocation, &http, &err) : 0;
    if (r < 0) {
        log_event(LOG_WARN, "engine.http_function", "function", m->id, "error", err.msg, "then", "it is not registered",
                  NULL);
        return r;
    }
    CLEANUP(free_p) char *description = message_clean_text(json_get_str(m->body, "description", ""), ENGINE_NAME_CHARS);
    struct function *f = function_new(m->id, *description ? description : NULL);
    f->request_schema = json_incref(json_get(m->body, "request_format"));
    f->response_schema = json_incref(json_get(m->body, "response_format"));
    f->metadata = json_incref(m->metadata);
    f->http = http;
    f->skip = strlen(session_prefix(owner->session));
    f->owner = owner;
    owner->n_functions++;
    function_put(e->remote, f);
    presence_functions_changed(e);
    enqueue_function_came(e, m->id);
    return 0;
}

static void function_drop(struct engine *e, struct function *f)
{
    f->owner->n_functions--;
    (void)map_remove(e->remote, f->id);
    (void)function_free(f);
    presence_functions_changed(e);
}

void registry_remove(struct engine *e, const struct worker *owner, const char *id)
{
    struct function *f = map_get(e->remote, id);
    if (f && f->owner == owner)
        function_drop(e, f);
}

void registry_worker_left(struct engine *e, const struct worker *w)
{
    if (w->n_functions == 0)
        return;
    for (struct map_iter it = map_iter(e->remote); map_next(&it);) {
        struct function *f = it.value;
        if (f->owner == w)
            function_drop(e, f);
    }
}

static struct function *add_local(struct engine *e, const char *id, const char *description, engine_fn *fn, void *arg)
{
    struct function *f = function_new(id, description);
    f->fn = fn;
    f->arg = arg;
    function_put(e->local, f);
    return f;
}

void registry_add_inside(struct engine *e, const char *id, const char *description, engine_fn *fn, void *arg)
{
    add_local(e, id, description, fn, arg)->is_inside = true;
}

void engine_add_function(struct engine *e, const char *id, const struct engine_about *about, engine_fn *fn, void *arg)
{
    struct function *f = add_local(e, id, about ? about->description : NULL, fn, arg);
    if (about) {
        f->request_schema = json_incref(about->request_schema);
        f->response_schema = json_incref(about->response_schema);
        f->metadata = json_incref(about->metadata);
        f->checks_caller = about->checks_caller;
    }
    presence_functions_changed(e);
    enqueue_function_came(e, id);
}

const char *registry_owner_name(const struct engine *e, const struct function *f, char *fallback, size_t size)
{
    if (f->owner && f->owner->name)
        return f->owner->name;
    if (!f->owner && !f->is_inside)
        return e->name;
    const char *end = strstr(f->id, "::");
    (void)snprintf(fallback, size, "%.*s", end ? (int)(end - f->id) : (int)size - 1, f->id);
    return fallback;
}
