/* Contents of files into a sandbox. Theory of operation. A struct writing joins a source, the body of a request or a
 * channel of the engine, to a sink: a file that the agent writes beside its target, an archive that it unpacks, a
 * converter whose output it unpacks, or a form, whose files are written one after the other. The sink says how much it
 * takes; the rest waits (pending) and the source is held until the sink has room. So at most one piece of the source is
 * kept here.
 *
 * Conditions on the file are the agent's to check: only it can check and replace in one step. A source that breaks off
 * drops the sink, which leaves the old file. A sink that fails answers at once; what is left of the body is not read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/content.h"
#include "base/alloc.h"
#include "engine/channel_handle.h"
#include "engine/engine.h"
#include "http/conditions.h"
#include "http/server.h"
#include "image/image.h"
#include "sandbox/lifecycle/limits.h"
#include "sandbox/lifecycle/manager.h"

#define PENDING_MAX  (64u * 1024 * 1024) /* one message of a channel; a body comes in pieces of 64 KiB */
#define WAITING_MAX  (256u * 1024)       /* output of a converter that the agent has no room for */
#define MIB          (1ll << 20)
#define UNPACK_SLACK (64 * MIB) /* what an archive may unpack to beside twice the disk */
#define LOST         1006       /* WebSocket: gone without a close frame */

struct writing {
    struct call *c;
    char *path;
    struct channel_handle *in;   /* over the engine, until it has ended */
    struct guest_writer *writer; /* to the agent; NULL with a form, and once it has ended */
    struct converter *converter; /* before it; NULL: none, or it has ended */
    struct content_form *form;
    struct buf pending;    /* of the source */
    struct buf waiting;    /* of the converter */
    int64_t taken;         /* bytes of the source */
    int64_t may_unpack;    /* bytes of tar that the converter may still make */
    struct asking *asking; /* the agent, whether it takes the sink; NULL: it has answered */
    bool is_converting;    /* there is or was a converter */
    bool is_ended;         /* the source */
    bool is_converted;     /* the converter's output is complete */
};

struct asking {
    struct writing *w; /* NULL: it ended meanwhile */
};

static struct call *writing_free(struct writing *w)
{
    struct call *c = w->c;
    if (w->writer)
        guest_writer_drop(w->writer);
    if (w->converter)
        converter_drop(w->converter);
    if (w->asking)
        w->asking->w = NULL;
    content_form_free(w->form);
    channel_handle_finish(w->in);
    call_on_cancel(c, NULL, NULL);
    buf_done(&w->pending);
    buf_done(&w->waiting);
    free(w->path);
    free(w);
    return c;
}

static void writing_fail(struct writing *w, const struct err *err)
{
    call_fail(writing_free(w), err);
}

static void on_cancel(void *arg)
{
    call_error(writing_free(arg), ERR_GONE, "the client left before the whole body had arrived");
}

/* --- the end --- */

static void on_stored(void *arg, const struct guest_content *content, const struct err *err)
{
    struct writing *w = arg;
    struct err unmet = ERR_INIT;
    w->writer = NULL;
    if (err && err->code == ERR_UNMET) {
        const char *none = call_str(w->c, "ifNoneMatch", NULL);
        (void)err_set(&unmet, ERR_UNMET, 0, "%.200s: %s", w->path,
                      !none                    ? "there is no such file, or its ETag is not one of If-Match"
                      : strcmp(none, "*") == 0 ? "it exists, and If-None-Match: * writes only a new file"
                                               : "its ETag is one of If-None-Match");
    }
    if (err) {
        writing_fail(w, unmet.code ? &unmet : err);
        return;
    }
    struct call *c = writing_free(w);
    char tag[CONDITIONS_TAG_TEXT];
    conditions_tag(content->version, tag);
    if (call_http(c))
        http_req_add_header(call_http(c), "ETag", tag);
    call_ok(c, content_json(content));
}

static void on_unpacked(void *arg, const struct guest_unpacked *done, const struct err *err)
{
    struct writing *w = arg;
    w->writer = NULL;
    if (err) {
        writing_fail(w, err);
        return;
    }
    struct call *c = writing_free(w);
    const char *path = call_str(c, "path", "");
    call_ok(c, json_pack("{s:o, s:I, s:I}", "path", json_text(path, strlen(path)), "size", (json_int_t)done->bytes,
                         "entries", (json_int_t)done->entries));
}

static void on_form_failed(void *arg, const struct err *err)
{
    writing_fail(arg, err);
}

static void form_end(struct writing *w)
{
    struct err err = ERR_INIT;
    json_t *files, *file;
    if (content_form_end(w->form, &files, &err) < 0) {
        writing_fail(w, &err);
        return;
    }
    json_int_t size = 0;
    size_t i;
    json_array_foreach(files, i, file) size += json_get_int(file, "size", 0);
    json_incref(files);
    struct call *c = writing_free(w);
    const char *path = call_str(c, "path", "");
    call_ok(c, json_pack("{s:o, s:I, s:o}", "path", json_text(path, strlen(path)), "size", size, "files", files));
}

/* --- the sink --- */

/* Taken bytes. err is set when they are not what they should be. */
static size_t sink_send(struct writing *w, const char *data, size_t len, struct err *err)
{
    if (w->form)
        return content_form_send(w->form, data, len, err);
    if (w->is_converting) /* bytes behind the end of an archive are dropped */
        return w->converter ? converter_send(w->converter, data, len) : len;
    return guest_writer_send(w->writer, data, len);
}

static void sink_end(struct writing *w) /* may free w */
{
    if (w->form)
        form_end(w);
    else if (w->converter)
        converter_end(w->converter);
    else if (!w->is_converting)
        guest_writer_end(w->writer);
}

static void source_hold(struct writing *w, bool is_held)
{
    if (w->in)
        channel_handle_hold(w->in, is_held);
    else if (call_http(w->c))
        http_req_hold(call_http(w->c), is_held);
}

/* The sink has room: gives it what waits; then the source continues, or was all. */
static void on_room(void *arg)
{
    struct writing *w = arg;
    struct err err = ERR_INIT;
    while (w->pending.len > 0) {
        size_t n = sink_send(w, w->pending.data, w->pending.len, &err);
        if (err.code) {
            writing_fail(w, &err);
            return;
        }
        if (n == 0)
            return; /* called again */
        buf_consume(&w->pending, n);
    }
    if (w->is_ended)
        sink_end(w);
    else
        source_hold(w, false);
}

/* --- the source --- */

/* Against maxBytes. */
static int take_bytes(struct writing *w, size_t len, struct err *err)
{
    int64_t max = call_int(w->c, "maxBytes", -1);
    w->taken += (int64_t)len;
    return max < 0 || w->taken <= max
               ? 0
               : err_set(err, ERR_TOO_LARGE, 0, "the body is longer than maxBytes, %lld bytes; send less, or raise it",
                         (long long)max);
}

static void on_bytes(struct writing *w, const char *data, size_t len)
{
    struct err err = ERR_INIT;
    if (take_bytes(w, len, &err) < 0) {
        writing_fail(w, &err);
        return;
    }
    size_t n = w->pending.len ? 0 : sink_send(w, data, len, &err);
    if (!err.code && n < len && buf_add(&w->pending, data + n, len - n) < 0)
        (void)err_set(&err, ERR_TOO_LARGE, 0, "a message of the channel is larger than %u MiB", PENDING_MAX >> 20);
    if (err.code)
        writing_fail(w, &err);
    else if (n < len)
        source_hold(w, true);
}

static void on_source_end(struct writing *w)
{
    w->is_ended = true;
    if (w->pending.len == 0)
        sink_end(w);
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
    struct writing *w = arg;
    int code = channel_handle_end_code(w->in);
    w->in = NULL;
    if (code == LOST || code == 0)
        call_error(writing_free(w), ERR_GONE, "the channel %s",
                   code ? "vanished before all bytes had arrived" : "has no writer");
    else
        on_source_end(w);
}

static void start_source(struct writing *w)
{
    static const struct channel_handle_events events = { .on_data = on_channel_data, .on_end = on_channel_end };
    struct err err = ERR_INIT;
    call_on_cancel(w->c, on_cancel, w);
    if (call_http(w->c)) {
        http_req_read(call_http(w->c), on_body, w);
        return;
    }
    const json_t *ref = json_get(call_params(w->c), "content");
    if (!call_engine(w->c) || !engine_is_channel_ref(ref)) {
        call_error(writing_free(w), ERR_INVALID, "content: a channel reference is required");
        return;
    }
    JSON_OWNED whole = json_copy((json_t *)(uintptr_t)ref);
    (void)json_object_set_new(whole, "direction", json_string("read"));
    if (engine_call_open_channel(call_engine(w->c), whole, &events, w, &w->in, &err) < 0) {
        w->in = NULL;
        writing_fail(w, &err);
    }
}

/* The agent answers in order: had it refused the sink, that would have been known first. So a client that waits for 100
 * Continue does not send a body in vain. */
static void on_asked(void *arg, const struct err *err)
{
    struct writing *w = ((struct asking *)arg)->w;
    free(arg);
    if (!w)
        return;
    w->asking = NULL;
    if (err)
        writing_fail(w, err);
    else
        start_source(w);
}

static void ask_agent(struct writing *w, struct sandbox *s)
{
    struct asking *a = xzalloc(sizeof(*a));
    int r = guest_ping(s->link, on_asked, a);
    if (r < 0) {
        free(a);
        content_failed(writing_free(w), s, r);
        return;
    }
    a->w = w;
    w->asking = a;
    call_on_cancel(w->c, on_cancel, w);
}

/* --- a converter before the agent --- */

/* The agent has room: gives it what waits; then the converter continues, or was all. */
static void on_unpacker_room(void *arg)
{
    struct writing *w = arg;
    while (w->waiting.len > 0) {
        size_t n = guest_writer_send(w->writer, w->waiting.data, w->waiting.len);
        if (n == 0)
            return;
        buf_consume(&w->waiting, n);
    }
    if (w->is_converted)
        guest_writer_end(w->writer);
    else if (w->converter)
        converter_hold(w->converter, false);
}

static void on_converted(void *arg, const char *data, size_t len)
{
    struct writing *w = arg;
    struct err err = ERR_INIT;
    w->may_unpack -= (int64_t)len;
    if (w->may_unpack < 0) {
        (void)err_set(&err, ERR_TOO_LARGE, 0, "the archive unpacks to more than twice the disk that the sandbox has");
        writing_fail(w, &err);
        return;
    }
    size_t n = w->waiting.len ? 0 : guest_writer_send(w->writer, data, len);
    if (n == len)
        return;
    if (buf_add(&w->waiting, data + n, len - n) < 0) {
        (void)err_set(&err, ERR_CAPACITY, 0, "not enough memory for the archive");
        writing_fail(w, &err);
        return;
    }
    converter_hold(w->converter, true);
}

static void on_converter_done(void *arg, const struct err *err)
{
    struct writing *w = arg;
    w->converter = NULL;
    if (err) {
        writing_fail(w, err);
        return;
    }
    w->is_converted = true;
    on_unpacker_room(w);
}

/* --- start --- */

/* The mode as it was given. False: the call was answered. */
static bool read_mode(struct call *c, uint32_t *ret)
{
    const char *text = call_str(c, "mode", "");
    char *end;
    unsigned long mode = strtoul(text, &end, 8);
    if (*end || strspn(text, "01234567") != strlen(text) || mode > 07777) {
        call_error(c, ERR_INVALID, "mode: \"%.8s\" is not 3 or 4 octal digits", text);
        return false;
    }
    *ret = *text ? (uint32_t)mode | GUEST_MODE_GIVEN : 0;
    return true;
}

/* False: the call was answered. */
static bool read_conditions(struct call *c, struct conditions_tags *tags, struct guest_store_plan *plan)
{
    struct conditions_tags none;
    if (conditions_read_tags(call_str(c, "ifMatch", NULL), false, tags) < 0 ||
        conditions_read_tags(call_str(c, "ifNoneMatch", NULL), true, &none) < 0 || (tags->is_given && none.is_given)) {
        call_error(c, ERR_INVALID, "If-Match, If-None-Match: give one of them, * or a list of up to %d ETags",
                   CONDITIONS_TAGS_MAX);
        return false;
    }
    if (tags->is_given)
        plan->flags = tags->is_any ? GUEST_STORE_EXISTS : GUEST_STORE_MATCH;
    else if (none.is_given)
        plan->flags = none.is_any ? GUEST_STORE_ABSENT : GUEST_STORE_OTHER;
    if (none.is_given)
        *tags = none;
    plan->versions = tags->versions;
    plan->n_versions = tags->n;
    return true;
}

/* Opens what takes the bytes. 0, -errno of guest/, or -EINVAL with err. */
static int open_sink(struct writing *w, const struct content_place *place, struct guest_store_plan *plan,
                     struct err *err)
{
    static const struct converter_events converts = { .on_output = on_converted,
                                                      .on_room = on_room,
                                                      .on_done = on_converter_done };
    const char *type = call_header(w->c, "content-type");
    struct sandbox *s = place->s;
    bool is_converted = *place->format && strcmp(place->format, "tar") != 0;
    if (!*place->format && content_form_is_one(type)) {
        const struct content_form_events ev = { .on_room = on_room, .on_failed = on_form_failed, .arg = w };
        return content_form_new(place, plan->mode, type, &ev, &w->form, err);
    }
    w->is_converting = is_converted;
    if (is_converted &&
        converter_start(s->manager->converters, &(struct converter_plan){ s->tenant, place->format, false }, &converts,
                        w, &w->converter, err) < 0)
        return -EINVAL;
    int r = *place->format ? guest_tree_unpack(s->link, place->path, s->user, on_unpacked, w, &w->writer)
                           : guest_content_store(s->link, plan, on_stored, w, &w->writer);
    if (r == 0)
        guest_writer_on_writable(w->writer, is_converted ? on_unpacker_room : on_room, w);
    return r;
}

void content_write_start(struct call *c, const struct content_place *place)
{
    struct sandbox *s = place->s;
    struct err err = ERR_INIT;
    struct conditions_tags tags;
    struct guest_store_plan plan = { .path = place->path, .user = s->user };
    if (!read_mode(c, &plan.mode) || !read_conditions(c, &tags, &plan))
        return;
    bool is_form = !*place->format && content_form_is_one(call_header(c, "content-type"));
    if ((*place->format && plan.mode) || ((*place->format || is_form) && plan.flags)) {
        call_error(c, ERR_INVALID,
                   "mode, If-Match and If-None-Match are about one file: an archive takes none of them, "
                   "a form takes a mode");
        return;
    }
    int64_t free_mb = image_store_free_mb(s->manager->images);
    if (limits_check_write(free_mb, &s->config, s->manager->settings, &err) < 0) {
        call_fail(c, &err);
        return;
    }
    struct writing *w = xzalloc(sizeof(*w));
    w->c = c;
    w->path = xstrdup(place->path);
    w->may_unpack = 2 * MIB * (s->config.disk_mb > 0 ? s->config.disk_mb : free_mb > 0 ? free_mb : 0) + UNPACK_SLACK;
    buf_init(&w->pending, PENDING_MAX);
    buf_init(&w->waiting, WAITING_MAX);
    int r = open_sink(w, place, &plan, &err);
    if (r < 0 && err.code)
        writing_fail(w, &err);
    else if (r < 0)
        content_failed(writing_free(w), s, r);
    else
        ask_agent(w, s);
}
