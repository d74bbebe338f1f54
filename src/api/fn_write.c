/* sandbox::fs::write: a body in the request, or a channel that is read as it comes. At most one message of the channel
 * and the agent's window are held at a time; while the agent cannot take more, the writer is made to wait. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/fn.h"
#include "base/alloc.h"
#include "engine/channel_handle.h"
#include "engine/engine.h"
#include "image/image.h"
#include "sandbox/lifecycle/limits.h"
#include "sandbox/lifecycle/manager.h"

#define STALL_MS    5000
#define PENDING_MAX (64u * 1024 * 1024) /* one message of the channel, or the body of a request */
#define LOST        1006                /* WebSocket: gone without a close frame */

struct writing {
    struct call *c;
    struct sandbox *s; /* a reference */
    const char *path;
    struct guest_writer *writer;
    struct channel_handle *in; /* NULL: the body is in the request, or the channel has ended */
    struct timer *stall;
    struct buf pending; /* not accepted by the agent yet */
    uint64_t total;
    bool has_parents, is_last;
};

/* Ends the work, the file too unless it is in place, and gives the call back. */
static struct call *writing_free(struct writing *w)
{
    struct call *c = w->c;
    if (w->writer)
        guest_writer_drop(w->writer);
    channel_handle_finish(w->in);
    timer_free(w->stall);
    sandbox_unref(w->s);
    buf_done(&w->pending);
    free(w);
    return c;
}

static void abort_channel(struct writing *w, const char *why)
{
    struct call *c = writing_free(w);
    fn_fail(c, "S218", "fs channel aborted: %s: %s", call_str(c, "path", ""), why);
}

static void on_written(void *arg, const struct err *err)
{
    struct writing *w = arg;
    w->writer = NULL;
    if (!err) {
        json_t *answer = json_pack("{s:I, s:s}", "bytes_written", (json_int_t)w->total, "path", w->path);
        call_ok(writing_free(w), answer);
        return;
    }
    struct sandbox *s = sandbox_ref(w->s);
    bool is_parent = err->sys == ENOENT && !w->has_parents && !s->is_gone;
    struct call *c = writing_free(w);
    const char *path = call_str(c, "path", "");
    if (is_parent) {
        fn_fix(c, json_pack("{s:b}", "parents", true), FN_MERGE("parents: true"));
        fn_fail(c, "S211", "parent directory not found: %s", path);
    } else {
        fn_fail_file(c, s, err, path);
    }
    sandbox_unref(s);
}

/* Gives the agent what it takes; at the end of the data, closes the file. */
static void pump(void *arg)
{
    struct writing *w = arg;
    if (!w->writer)
        return;
    while (w->pending.len > 0) {
        size_t n = guest_writer_send(w->writer, w->pending.data, w->pending.len);
        if (n == 0)
            return; /* on_writable calls again */
        buf_consume(&w->pending, n);
    }
    if (w->is_last) {
        guest_writer_on_writable(w->writer, NULL, NULL);
        guest_writer_end(w->writer);
    } else if (w->in) {
        channel_handle_hold(w->in, false);
        timer_set(w->stall, STALL_MS, 0);
    }
}

static void on_data(void *arg, bool is_text, const char *data, size_t len)
{
    struct writing *w = arg;
    timer_set(w->stall, STALL_MS, 0);
    if (is_text || len == 0)
        return;
    w->total += len;
    size_t n = w->pending.len ? 0 : guest_writer_send(w->writer, data, len);
    if (n == len)
        return;
    if (buf_add(&w->pending, data + n, len - n) < 0) {
        abort_channel(w, "a message is larger than 64 MiB");
        return;
    }
    channel_handle_hold(w->in, true);
    timer_set(w->stall, -1, 0); /* now it is the sandbox that is slow */
}

static void on_channel_end(void *arg)
{
    struct writing *w = arg;
    int code = channel_handle_end_code(w->in);
    w->in = NULL;
    w->stall = timer_free(w->stall);
    if (code == LOST || code == 0) {
        abort_channel(w, code ? "the writer vanished without closing it" : "the writer never came");
        return;
    }
    w->is_last = true;
    pump(w);
}

static void on_stall(void *arg)
{
    abort_channel(arg, "no data for 5 s");
}

static void open_channel(struct writing *w, const json_t *ref)
{
    static const struct channel_handle_events events = { .on_data = on_data, .on_end = on_channel_end };
    struct err err = ERR_INIT;
    JSON_OWNED whole = json_copy((json_t *)(uintptr_t)ref);
    (void)json_object_set_new(whole, "direction", json_string("read"));
    if (!call_engine(w->c) || engine_call_open_channel(call_engine(w->c), whole, &events, w, &w->in, &err) < 0) {
        w->in = NULL;
        abort_channel(w, err.msg);
        return;
    }
    w->stall = timer_new(w->s->manager->loop, STALL_MS, 0, on_stall, w);
}

/* The body's shape, first of all. *ret_ref: the channel, when it is one. */
static int read_body(struct call *c, struct buf *body, const json_t **ret_ref)
{
    const json_t *content = json_get(call_params(c), "content"), *encoded = json_get(call_params(c), "content_b64");
    if (content && encoded)
        return fn_set_fault(c, "S001", "invalid request: give `content` or `content_b64`, not both");
    if (!content && !encoded)
        return fn_set_fault(c, "S001",
                            "invalid request: missing file body: `content` (text or a channel) or `content_b64`");
    if (encoded)
        return fn_read_base64(c, "content_b64", body);
    if (json_is_object(content)) {
        if (!json_is_string(json_get(content, "channel_id")) || !json_is_string(json_get(content, "access_key")))
            return fn_set_fault(c, "S001", "invalid request: `content` must be a string or a channel reference");
        *ret_ref = content;
        return 0;
    }
    CLEANUP(free_p)
    char *scalar = json_is_number(content) || json_is_boolean(content) ? json_write(content, NULL) : NULL;
    const char *text = scalar ? scalar : json_string_value(content);
    if (!text)
        return fn_set_fault(c, "S001", "invalid request: `content` must be a string or a channel reference");
    if (buf_add(body, text, scalar ? strlen(scalar) : json_string_length(content)) < 0)
        return fn_set_fault(c, "S001", "invalid request: `content` is larger than 64 MiB: use a channel");
    return 0;
}

void api_fn_write(struct call *c)
{
    struct writing *w = xzalloc(sizeof(*w));
    const json_t *ref = NULL;
    uint32_t mode = 0;
    w->c = c;
    buf_init(&w->pending, PENDING_MAX);
    int r = read_body(c, &w->pending, &ref);
    w->path = fn_path(c, "path");
    w->has_parents = call_bool(c, "parents", false);
    if (r == 0)
        r = fn_read_id(c);
    if (r == 0)
        r = fn_read_mode(c, "0644", &mode);
    struct sandbox *s = r == 0 ? fn_find(c) : NULL;
    if (!s) {
        fn_fail_fault(writing_free(w));
        return;
    }
    struct err full = ERR_INIT;
    if (limits_check_write(image_store_free_mb(s->manager->images), &s->config, s->manager->settings, &full) < 0) {
        fn_fail_file(writing_free(w), s, &full, call_str(c, "path", ""));
        return;
    }
    w->s = sandbox_ref(s);
    w->total = w->pending.len;
    r = guest_fs_replace(s->link, w->path, mode, w->has_parents, on_written, w, &w->writer);
    if (r < 0) {
        fn_fail_start(writing_free(w), s, r, call_str(c, "path", ""));
        return;
    }
    guest_writer_on_writable(w->writer, pump, w);
    if (ref) {
        open_channel(w, ref);
        return;
    }
    w->is_last = true;
    pump(w);
}
