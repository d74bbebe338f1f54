/* Builds of images. Theory of operation. A struct building joins a source, the body of a request or a channel of the
 * engine, to a build (sandbox/storage/builds.h), which says how much of the context it takes; the rest waits (pending)
 * and the source is held until there is room. So at most one piece of the source is kept here. A stream begins when the
 * context has arrived, or with the first event; until then a failure is a plain error reply. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/call.h"
#include "api/image_json.h"
#include "base/alloc.h"
#include "engine/channel_handle.h"
#include "engine/engine.h"
#include "http/server.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/storage/builds.h"

#define PENDING_MAX (64u * 1024 * 1024) /* one message of a channel; a body comes in pieces of 64 KiB */
#define STREAM_MARK (1024 * 1024)       /* queued bytes past which a step has to wait for the log's reader */
#define LOST        1006                /* WebSocket: gone without a close frame */

struct building {
    struct call *c;
    struct build *build;       /* NULL: it is over */
    struct channel_handle *in; /* over the engine, until it has ended */
    struct buf pending;        /* of the source */
    int64_t taken;             /* bytes of the source */
    bool is_ended;             /* the source */
    bool is_stream, has_begun; /* events are wanted; the stream has begun */
};

static struct call *building_free(struct building *b)
{
    struct call *c = b->c;
    if (b->build)
        build_drop(b->build);
    channel_handle_finish(b->in);
    call_on_cancel(c, NULL, NULL);
    buf_done(&b->pending);
    free(b);
    return c;
}

static void on_cancel(void *arg)
{
    struct building *b = arg;
    bool has_begun = b->has_begun;
    struct call *c = building_free(b);
    if (has_begun)
        call_stream_end(c);
    else
        call_error(c, ERR_GONE, "the client left");
}

/* --- progress and end --- */

static void on_drain(void *arg)
{
    struct building *b = arg;
    if (b->build)
        build_drained(b->build);
}

static void stream_begin(struct building *b)
{
    if (!b->is_stream || b->has_begun)
        return;
    b->has_begun = true;
    call_stream_begin(b->c);
    call_stream_on_drain(b->c, on_drain, b);
}

static bool on_event(void *arg, json_t *event)
{
    struct building *b = arg;
    if (!b->is_stream) {
        json_decref(event);
        return true;
    }
    stream_begin(b);
    return call_stream_event(b->c, event, NULL) < STREAM_MARK;
}

static void on_done(void *arg, const struct image *image, const struct err *err)
{
    struct building *b = arg;
    b->build = NULL;
    bool is_stream = b->is_stream;
    if (image)
        stream_begin(b);
    struct call *c = building_free(b);
    if (!image) {
        call_fail(c, err);
    } else if (is_stream) {
        (void)call_stream_event(c, json_pack("{s:s, s:o}", "type", "done", "image", image_json(c, image)), NULL);
        call_stream_end(c);
    } else {
        call_ok(c, image_json(c, image));
    }
}

/* --- the context --- */

static void source_hold(struct building *b, bool is_held)
{
    if (b->in)
        channel_handle_hold(b->in, is_held);
    else if (call_http(b->c))
        http_req_hold(call_http(b->c), is_held);
}

static void source_ended(struct building *b)
{
    build_send_end(b->build);
    stream_begin(b);
}

static void on_room(void *arg)
{
    struct building *b = arg;
    buf_consume(&b->pending, build_send(b->build, b->pending.data, b->pending.len));
    if (b->pending.len > 0)
        return; /* called again */
    if (b->is_ended)
        source_ended(b);
    else
        source_hold(b, false);
}

static int check_size(const struct building *b, int64_t bytes, struct err *err)
{
    int64_t max_mb = call_manager(b->c)->settings->build_context_mb;
    return bytes <= max_mb << 20
               ? 0
               : err_set(err, ERR_TOO_LARGE, 0,
                         "the context has more than %lld MB (III_BUILD_CONTEXT_MB): list what is not needed in "
                         ".dockerignore",
                         (long long)max_mb);
}

static void on_bytes(struct building *b, const char *data, size_t len)
{
    struct err err = ERR_INIT;
    b->taken += (int64_t)len;
    if (check_size(b, b->taken, &err) < 0) {
        call_fail(building_free(b), &err);
        return;
    }
    size_t n = b->pending.len ? 0 : build_send(b->build, data, len);
    if (n < len && buf_add(&b->pending, data + n, len - n) < 0) {
        call_error(building_free(b), ERR_TOO_LARGE, "a message of the channel is larger than %u MiB",
                   PENDING_MAX >> 20);
        return;
    }
    if (n < len)
        source_hold(b, true);
}

static void on_source_end(struct building *b)
{
    b->is_ended = true;
    if (b->pending.len == 0)
        source_ended(b);
}

static void on_body(void *arg, const char *data, ssize_t len)
{
    if (len > 0)
        on_bytes(arg, data, (size_t)len);
    else if (len == 0)
        on_source_end(arg); /* else the client left: the call is cancelled next */
}

static void on_channel_data(void *arg, bool is_text, const char *data, size_t len)
{
    if (!is_text && len > 0)
        on_bytes(arg, data, len);
}

static void on_channel_end(void *arg)
{
    struct building *b = arg;
    int code = channel_handle_end_code(b->in);
    b->in = NULL;
    if (code == LOST || code == 0)
        call_error(building_free(b), ERR_GONE, "the channel %s",
                   code ? "vanished before the whole context had arrived" : "has no writer");
    else
        on_source_end(b);
}

static void start_source(struct building *b)
{
    static const struct channel_handle_events events = { .on_data = on_channel_data, .on_end = on_channel_end };
    struct err err = ERR_INIT;
    const json_t *ref = json_get(call_params(b->c), "content");
    call_on_cancel(b->c, on_cancel, b);
    if (call_http(b->c)) {
        http_req_read(call_http(b->c), on_body, b);
        return;
    }
    if (!call_engine(b->c) || !engine_is_channel_ref(ref)) {
        call_error(building_free(b), ERR_INVALID, "content: a channel reference is required");
        return;
    }
    JSON_OWNED whole = json_copy((json_t *)(uintptr_t)ref);
    (void)json_object_set_new(whole, "direction", json_string("read"));
    if (engine_call_open_channel(call_engine(b->c), whole, &events, b, &b->in, &err) < 0) {
        b->in = NULL;
        call_fail(building_free(b), &err);
    }
}

void api_image_build(struct call *c)
{
    static const struct build_events events = { .on_room = on_room, .on_event = on_event, .on_done = on_done };
    struct err err = ERR_INIT;
    const char *accept = call_header(c, "Accept");
    const struct build_plan plan = { .name = call_str(c, "name", ""),
                                     .dockerfile = call_str(c, "dockerfile", NULL),
                                     .target = call_str(c, "target", NULL),
                                     .args = json_get(call_params(c), "buildArgs"),
                                     .has_cache = !call_bool(c, "noCache", false),
                                     .has_network = call_bool(c, "network", false),
                                     .memory_mb = call_int(c, "memory", 0),
                                     .by = call_by(c) };
    struct building *b = xzalloc(sizeof(*b));
    *b = (struct building){ .c = c, .is_stream = accept && strcasestr(accept, "text/event-stream") };
    buf_init(&b->pending, PENDING_MAX);
    const char *announced = call_header(c, "Content-Length"); /* before a byte of it is sent */
    if ((announced && check_size(b, strtoll(announced, NULL, 10), &err) < 0) ||
        build_start(call_manager(c)->builds, &plan, &events, b, &b->build, &err) < 0)
        call_fail(building_free(b), &err);
    else
        start_source(b);
}
