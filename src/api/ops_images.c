/* Handlers of the image store. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/call.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "http/url.h"
#include "image/image.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/lifecycle/offload.h"
#include "sandbox/storage/image_allowlist.h"
#include "sandbox/storage/pulls.h"

/* Looking into many records and removing layers read and write the disk: off the loop. */
struct task {
    struct call *call;
    struct image_store *images;
    char *name;
    json_t *list;
    struct err err;
    int result;
};

static void start_task(struct call *c, const char *name, loop_fn *work, loop_fn *done)
{
    struct task *t = xzalloc(sizeof(*t));
    t->call = c;
    t->images = call_manager(c)->images;
    t->name = xstrdup(name);
    int r = offload_run(call_manager(c), work, done, t);
    if (r == 0)
        return;
    call_error(c, ERR_INTERNAL, "start the work: %s", strerror(-r));
    free(t->name);
    free(t);
}

static void work_list(void *arg)
{
    struct task *t = arg;
    t->list = image_list(t->images);
}

static void done_list(void *arg)
{
    struct task *t = arg;
    call_ok(t->call, json_pack("{s:o}", "images", t->list));
    free(t->name);
    free(t);
}

static void on_engine_list(void *arg, json_t *list, const struct err *err)
{
    if (err)
        call_fail(arg, err);
    else
        call_ok(arg, json_pack("{s:o}", "images", list));
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
    start_task(c, "", work_list, done_list);
}

static void work_delete(void *arg)
{
    struct task *t = arg;
    t->result = image_remove(t->images, t->name, &t->err);
}

static void done_delete(void *arg)
{
    struct task *t = arg;
    if (t->result < 0)
        call_fail(t->call, &t->err);
    else
        call_ok(t->call, json_pack("{s:s}", "deleted", t->name));
    free(t->name);
    free(t);
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
        start_task(r->call, name, work_delete, done_delete); /* only our store may have it */
    else if (err)
        call_fail(r->call, err);
    else
        call_ok(r->call, json_pack("{s:s}", "deleted", name));
}

static void remove_image(struct call *c, const char *name)
{
    struct runtime *rt;
    const struct runtime_images *engine = engine_of(c, &rt);
    if (!engine) {
        start_task(c, name, work_delete, done_delete);
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

static json_t *image_json(struct call *c, const struct image *image)
{
    JSON_OWNED record = NULL;
    int64_t created = image_inspect(call_manager(c)->images, image->name, &record, NULL) == 0
                          ? json_get_int(record, "createdAt", 0)
                          : 0;
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:s}", "name", image->name, "id", image->id, "size",
                     (json_int_t)image->size_bytes, "layers", (json_int_t)image->n_layers, "createdAt",
                     (json_int_t)created, "source", image->n_layers && image->layers[0][0] != '/' ? "docker" : "oci");
}

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
        r = pulls_start(m->pulls, name, &(struct pulls_how){ .progress = w->is_stream ? on_progress : NULL },
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
