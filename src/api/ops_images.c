/* Handlers of the image store. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/access.h"
#include "api/call.h"
#include "api/image_json.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "http/url.h"
#include "image/image.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/lifecycle/offload.h"
#include "sandbox/storage/image_allowlist.h"
#include "sandbox/storage/image_source.h"
#include "sandbox/storage/pulls.h"

/* Looking into many records and removing layers read and write the disk: off the loop. */
struct task {
    struct call *call;
    struct image_store *images;
    char *name, *tenant;
    struct image_scope scope;
    json_t *reply; /* work may add to what is there */
    struct err err;
    int result;
};

static void task_free(struct task *t)
{
    free(t->name);
    free(t->tenant);
    free(t);
}

static void start_task(struct call *c, const char *name, json_t *reply, loop_fn *work, loop_fn *done)
{
    struct task *t = xzalloc(sizeof(*t));
    t->call = c;
    t->images = call_manager(c)->images;
    t->name = xstrdup(name);
    t->scope = image_source_scope(call_manager(c), call_by(c));
    t->scope.tenant = t->tenant = xstrdup(t->scope.tenant);
    t->reply = reply;
    int r = offload_run(call_manager(c), work, done, t);
    if (r == 0)
        return;
    call_error(c, ERR_INTERNAL, "start the work: %s", strerror(-r));
    json_decref(reply);
    task_free(t);
}

static void done_task(void *arg)
{
    struct task *t = arg;
    if (t->result < 0)
        call_fail(t->call, &t->err);
    else
        call_ok(t->call, t->reply);
    task_free(t);
}

static void work_list(void *arg)
{
    struct task *t = arg;
    t->reply = json_pack("{s:o}", "images", image_list(t->images, &t->scope));
}

/* Adds the tenant's own to those of the engine. */
static void work_list_own(void *arg)
{
    struct task *t = arg;
    const struct image_scope own = { .tenant = t->tenant };
    JSON_OWNED list = image_list(t->images, &own);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_get(json_array_get(list, i), "tenant"))
            (void)json_array_append(json_get(t->reply, "images"), json_array_get(list, i));
}

/* Images of an engine are the operator's. Copies that it has of ours are not shown to tenants: they are others', too.
 */
static void on_engine_list(void *arg, json_t *list, const struct err *err)
{
    struct call *c = arg;
    if (err) {
        call_fail(c, err);
        return;
    }
    if (!*image_source_owner(call_by(c))) {
        call_ok(c, json_pack("{s:o}", "images", list));
        return;
    }
    json_t *seen = json_array();
    for (size_t i = 0; call_manager(c)->settings->shared_images && i < json_array_size(list); i++)
        if (!strstr(json_get_str(json_array_get(list, i), "name", ""), "localhost/iii-sbx-"))
            (void)json_array_append(seen, json_array_get(list, i));
    json_decref(list);
    start_task(c, "", json_pack("{s:o}", "images", seen), work_list_own, done_task);
}

/* Images of the default backend: an engine's own, or those of our store. */
static const struct runtime_images *engine_of(struct call *c, struct runtime **ret)
{
    *ret = call_manager(c)->runtime;
    return (*ret)->ops->images;
}

void api_image_list(struct call *c)
{
    struct runtime *rt;
    const struct runtime_images *engine = engine_of(c, &rt);
    if (engine) {
        engine->list(rt, on_engine_list, c);
        return;
    }
    start_task(c, "", NULL, work_list, done_task);
}

static void work_verify(void *arg)
{
    struct task *t = arg;
    t->result = image_verify(t->images, &t->scope, t->name, &t->reply, &t->err);
}

void api_image_verify(struct call *c)
{
    start_task(c, call_str(c, "name", ""), NULL, work_verify, done_task);
}

static void work_inspect(void *arg)
{
    struct task *t = arg;
    JSON_OWNED record = NULL;
    const struct image_scope one = { .tenant = t->scope.tenant, .has_shared = t->scope.has_shared };
    t->result = image_inspect(t->images, &one, t->name, &record, &t->err);
    if (t->result < 0)
        return;
    static const char *const shown[] = { "name",   "id",       "source", "createdAt", "size",
                                         "tenant", "signedBy", "layers", "config" };
    t->reply = json_object();
    for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
        if (json_get(record, shown[i]))
            (void)json_object_set(t->reply, shown[i], json_object_get(record, shown[i]));
}

void api_image_inspect(struct call *c)
{
    start_task(c, call_str(c, "name", ""), NULL, work_inspect, done_task);
}

static void work_delete(void *arg)
{
    struct task *t = arg;
    t->result = image_remove(t->images, &t->scope, t->name, &t->err);
    if (t->result == 0)
        t->reply = json_pack("{s:s}", "deleted", t->name);
}

struct removing {
    struct call *call;
    char *name;
};

static void on_engine_removed(void *arg, const struct err *err)
{
    CLEANUP(free_p) struct removing *r = arg;
    CLEANUP(free_p) char *name = r->name;
    if (err && err->code == ERR_NOT_FOUND)
        start_task(r->call, name, NULL, work_delete, done_task); /* only our store may have it */
    else if (err)
        call_fail(r->call, err);
    else
        call_ok(r->call, json_pack("{s:s}", "deleted", name));
}

/* A tenant removes its own; what is for all, only an admin. */
static void remove_image(struct call *c, const char *name)
{
    struct runtime *rt;
    struct err err = ERR_INIT;
    const struct runtime_images *engine = engine_of(c, &rt);
    bool is_own = *image_source_owner(call_by(c));
    if (!is_own && access_need_admin(call_who(c), "removing an image of the operator", &err) < 0) {
        call_fail(c, &err);
        return;
    }
    if (!engine || is_own) {
        start_task(c, name, NULL, work_delete, done_task);
        return;
    }
    struct removing *r = xzalloc(sizeof(*r));
    *r = (struct removing){ .call = c, .name = xstrdup(name) };
    engine->remove(rt, name, on_engine_removed, r);
}

/* A part of the path comes as it was written: names of images have slashes, which only an escape can carry. */
void api_image_delete(struct call *c)
{
    const char *name = call_str(c, "name", "");
    CLEANUP(buf_done) struct buf plain = BUF_INIT(IMAGE_NAME_MAX * 3);
    if (call_http(c) && url_decode(name, strlen(name), &plain) < 0)
        call_error(c, ERR_INVALID, "name: bad percent escape in \"%.60s\"", name);
    else
        remove_image(c, call_http(c) ? buf_text(&plain) : name);
}

void api_image_delete_query(struct call *c)
{
    remove_image(c, call_str(c, "name", ""));
}

/* --- pull --- */

struct waiting {
    struct call *call;
    struct pulls_wait *wait;
    bool is_stream;
};

static void on_progress(void *arg, const struct pulls_progress *at)
{
    struct waiting *w = arg;
    json_t *event =
        json_pack("{s:s, s:I, s:I, s:i, s:i}", "type", "progress", "done", (json_int_t)at->done_bytes, "total",
                  (json_int_t)at->total_bytes, "layersDone", at->layers_done, "layers", at->layers);
    (void)call_stream_event(w->call, event, NULL); /* four small events a second: no reader is that slow for long */
}

static void on_pull_done(void *arg, const struct image *image, const struct err *err)
{
    struct waiting *w = arg;
    struct call *c = w->call;
    call_on_cancel(c, NULL, NULL);
    if (!image) {
        call_fail(c, err);
    } else if (w->is_stream) {
        (void)call_stream_event(c, json_pack("{s:s, s:o}", "type", "done", "image", image_json(c, image)), NULL);
        call_stream_end(c);
    } else {
        call_ok(c, image_json(c, image));
    }
    free(w);
}

/* The pull continues for other waiters, and for the store. */
static void on_cancel(void *arg)
{
    struct waiting *w = arg;
    pulls_leave(w->wait);
    if (w->is_stream)
        call_stream_end(w->call);
    else
        call_error(w->call, ERR_GONE, "the client left");
    free(w);
}

void api_image_pull(struct call *c)
{
    struct err err = ERR_INIT;
    const char *name = call_str(c, "image", ""), *accept = call_header(c, "Accept");
    struct manager *m = call_manager(c);
    struct waiting *w = xzalloc(sizeof(*w));
    w->call = c;
    w->is_stream = accept && strcasestr(accept, "text/event-stream");
    int r = image_name_check(name, &err);
    if (r == 0)
        r = image_allowlist_check(m->settings->allowed_images, name, &err);
    if (r == 0)
        r = pulls_start(m->pulls, name,
                        &(struct pulls_how){ .progress = w->is_stream ? on_progress : NULL, .by = call_by(c) },
                        on_pull_done, w, &w->wait, &err);
    if (r < 0) {
        free(w);
        call_fail(c, &err);
        return;
    }
    if (w->is_stream)
        call_stream_begin(c);
    call_on_cancel(c, on_cancel, w);
}
