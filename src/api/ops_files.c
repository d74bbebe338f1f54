/* Handlers of files that move bytes: read, write, upload, download. Those about names are in ops_tree.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "api/handlers.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "image/image.h"
#include "sandbox/lifecycle/limits.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/storage/work_path.h"

#define INLINE_MAX (1024 * 1024) /* one frame to the agent; more is streamed */
#define FILE_MODE  0644

/* --- read and download --- */

struct reading {
    struct call *c;
    struct guest_reader *reader;
    struct buf data;
    bool is_base64;
    bool is_cancelled;
};

static void free_reading(struct reading *r)
{
    buf_done(&r->data);
    free(r);
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct reading *r = arg;
    if (buf_add(&r->data, data, len) < 0) {
        struct call *c = r->c;
        guest_reader_drop(r->reader);
        call_on_cancel(c, NULL, NULL);
        free_reading(r);
        call_error(c, ERR_TOO_LARGE,
                   "%.200s is larger than %lld MB (III_MAX_BODY_MB): read it in pieces with a command",
                   call_str(c, "path", ""), (long long)call_manager(c)->settings->max_body_mb);
        return;
    }
    guest_reader_credit(r->reader, len);
}

static void on_read_done(void *arg, const struct err *err)
{
    struct reading *r = arg;
    struct call *c = r->c;
    call_on_cancel(c, NULL, NULL);
    CLEANUP(free_p) char *text = !err && r->is_base64 ? try_alloc(BASE64_SIZE(r->data.len) + 1) : NULL;
    if (text)
        base64_encode(buf_text(&r->data), r->data.len, text);
    if (err)
        call_fail(c, err);
    else if (r->is_base64 && !text)
        call_error(c, ERR_CAPACITY, "not enough memory for the response");
    else
        call_ok(c, text ? json_stringn_nocheck(text, BASE64_SIZE(r->data.len))
                        : json_text(buf_text(&r->data), r->data.len));
    free_reading(r);
}

static void on_read_cancel(void *arg)
{
    struct reading *r = arg;
    struct call *c = r->c;
    guest_reader_drop(r->reader);
    free_reading(r);
    call_error(c, ERR_GONE, "the client left");
}

static void start_read(struct call *c, bool is_base64)
{
    static const struct guest_read_events events = { .on_data = on_data, .on_done = on_read_done };
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    CLEANUP(free_p) char *path = NULL;
    if (work_path_resolve(s, call_str(c, "path", ""), &path, &err) < 0) {
        call_fail(c, &err);
        return;
    }
    struct reading *r = xzalloc(sizeof(*r));
    r->c = c;
    r->is_base64 = is_base64;
    buf_init(&r->data, (size_t)call_manager(c)->settings->max_body_mb << 20);
    int e = guest_fs_read(s->link, path, 0, UINT64_MAX, &events, r, &r->reader);
    if (e < 0) {
        free_reading(r);
        (void)handlers_failed(c, e, "reading");
        return;
    }
    call_on_cancel(c, on_read_cancel, r);
}

void api_fs_read(struct call *c)
{
    start_read(c, false);
}

void api_fs_download(struct call *c)
{
    start_read(c, true);
}

/* --- write and upload --- */

struct writing {
    struct call *c;
    struct guest_writer *writer;
    struct buf data; /* owned when decoded */
    const char *bytes;
    size_t len, at;
};

static void on_write_done(void *arg, const struct err *err)
{
    struct writing *w = arg;
    struct call *c = w->c;
    call_on_cancel(c, NULL, NULL);
    buf_done(&w->data);
    free(w);
    handlers_success(c, err);
}

static void feed(void *arg)
{
    struct writing *w = arg;
    while (w->at < w->len) {
        size_t n = guest_writer_send(w->writer, w->bytes + w->at, w->len - w->at);
        if (n == 0)
            return; /* on_writable calls again */
        w->at += n;
    }
    guest_writer_on_writable(w->writer, NULL, NULL);
    guest_writer_end(w->writer);
}

static void on_write_cancel(void *arg)
{
    struct writing *w = arg;
    struct call *c = w->c;
    guest_writer_drop(w->writer);
    buf_done(&w->data);
    free(w);
    call_error(c, ERR_GONE, "the client left");
}

/* Writes w->bytes to path: small ones in one frame, others as a stream. Takes w. */
static void start_write(struct writing *w, struct sandbox *s, const char *path)
{
    struct call *c = w->c;
    int r;
    if (w->len <= INLINE_MAX) {
        r = guest_fs_put(s->link, path, w->bytes, w->len, FILE_MODE, handlers_success, c);
        buf_done(&w->data);
        free(w);
        (void)handlers_failed(c, r, "writing");
        return;
    }
    r = guest_fs_write(s->link, path, FILE_MODE, true, on_write_done, w, &w->writer);
    if (r < 0) {
        buf_done(&w->data);
        free(w);
        (void)handlers_failed(c, r, "writing");
        return;
    }
    call_on_cancel(c, on_write_cancel, w);
    guest_writer_on_writable(w->writer, feed, w);
    feed(w);
}

static struct sandbox *target(struct call *c, char **ret_path)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_running(c);
    if (s && (limits_check_write(image_store_free_mb(s->manager->images), &s->config, s->manager->settings, &err) < 0 ||
              work_path_resolve(s, call_str(c, "path", ""), ret_path, &err) < 0)) {
        call_fail(c, &err);
        return NULL;
    }
    return s;
}

void api_fs_write(struct call *c)
{
    CLEANUP(free_p) char *path = NULL;
    struct sandbox *s = target(c, &path);
    if (!s)
        return;
    const json_t *content = json_get(call_params(c), "content");
    struct writing *w = xzalloc(sizeof(*w));
    w->c = c;
    w->bytes = json_string_value(content);
    w->len = json_string_length(content);
    start_write(w, s, path);
}

void api_fs_upload(struct call *c)
{
    CLEANUP(free_p) char *path = NULL;
    struct sandbox *s = target(c, &path);
    if (!s)
        return;
    const json_t *content = json_get(call_params(c), "content");
    struct writing *w = xzalloc(sizeof(*w));
    w->c = c;
    buf_init(&w->data, json_string_length(content) + 4);
    if (base64_decode(json_string_value(content), json_string_length(content), &w->data) < 0) {
        buf_done(&w->data);
        free(w);
        call_error(c, ERR_INVALID, "content: not padded standard base64");
        return;
    }
    w->bytes = buf_text(&w->data);
    w->len = w->data.len;
    start_write(w, s, path);
}
