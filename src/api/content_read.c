/* Contents of files out of a sandbox. Theory of operation. A struct reading joins what the agent sends, a file or a tar
 * archive, to the receiver: the response over HTTP, a channel of the engine. An archive of another format passes a
 * converter on its way. Bytes are credited to whoever made them once the receiver has taken them, so at most a window,
 * the converter's socket and the receiver's queue are held.
 *
 * What is known about a file comes first (on_content). Conditions are checked here, since nothing changes; then the
 * head is sent, and the agent is asked for the range. An archive has no head before its first bytes: they show that it
 * can be made. Over the engine the call is answered with the channel's reader; until the channel is there, the first
 * bytes wait (early), uncredited. After the head a failure can only cut the connection, or be the last message of the
 * channel. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/content.h"
#include "base/alloc.h"
#include "engine/channel_handle.h"
#include "engine/engine.h"
#include "http/conditions.h"
#include "http/server.h"
#include "sandbox/lifecycle/manager.h"

#define QUEUE_MARK   (1024 * 1024)     /* queued bytes of a response past which nothing more is credited */
#define EARLY_MAX    (2 * 1024 * 1024) /* more than a window and a packet of the converter */
#define PIECE_BYTES  65536u
#define RANGE_TEXT   80
#define NAME_MAX_OUT 1024

struct reading {
    struct call *c; /* NULL: answered, over the engine */
    struct guest_reader *reader;
    struct converter *converter; /* NULL: none, or it has ended */
    struct channel_handle *out;  /* over the engine, once it is open */
    json_t *answer;              /* over the engine: what is told beside the channel */
    struct buf early, waiting;   /* before there is a channel; before the converter takes it */
    char *path, *format;         /* format "": a file */
    uint64_t offset, len;        /* of a file */
    size_t owed;                 /* passed on while the receiver's queue was long: credited once it has drained */
    int status;                  /* 0: the head is not sent */
    bool is_opening;             /* a channel */
    bool is_read, is_complete;   /* the agent has sent all; the receiver gets no more */
    struct err failure;          /* why, when it is complete too early */
};

static struct call *reading_free(struct reading *r)
{
    struct call *c = r->c;
    if (r->reader)
        guest_reader_drop(r->reader);
    if (r->converter)
        converter_drop(r->converter);
    if (c)
        call_on_cancel(c, NULL, NULL);
    channel_handle_finish(r->out);
    json_decref(r->answer);
    buf_done(&r->early);
    buf_done(&r->waiting);
    free(r->path);
    free(r->format);
    free(r);
    return c;
}

static void on_cancel(void *arg)
{
    call_error(reading_free(arg), ERR_GONE, "the client left");
}

/* --- the receiver --- */

static void archive_begin(struct reading *r);

/* Nothing more will come: the end of the response or the channel. Frees r. */
static void reading_settle(struct reading *r)
{
    struct err err = r->failure;
    if (r->c && !r->status && !r->is_opening && !err.code)
        archive_begin(r); /* of no bytes, as a hostile agent may send it */
    if (r->is_opening)
        return; /* on_channel() does it */
    if (r->c && !r->status) {
        call_fail(reading_free(r), &err);
        return;
    }
    if (!r->c) {
        if (err.code) { /* it can only be sent over the channel */
            JSON_OWNED message = json_pack("{s:s, s:s, s:s}", "error", err_name(err.code), "code", err_name(err.code),
                                           "message", err.msg);
            CLEANUP(free_p) char *text = json_write(message, NULL);
            (void)channel_handle_send(r->out, true, text, strlen(text));
        }
        (void)reading_free(r);
        return;
    }
    int status = err.code ? err_status(err.code) : r->status;
    struct call *c = reading_free(r);
    if (err.code)
        http_req_abort(call_http(c));
    else
        http_req_end(call_http(c)); /* cuts the connection when the file has become shorter than announced */
    call_taken(c, status);
}

static void reading_complete(struct reading *r, const struct err *err)
{
    r->is_complete = true;
    if (err)
        r->failure = *err;
    reading_settle(r);
}

/* Gives credit to who made the bytes. */
static void credit(struct reading *r, size_t bytes)
{
    if (r->converter)
        converter_hold(r->converter, false);
    else if (r->reader)
        guest_reader_credit(r->reader, bytes);
}

static void on_drain(void *arg)
{
    struct reading *r = arg;
    size_t owed = r->owed;
    r->owed = 0;
    if (owed)
        credit(r, owed);
}

/* Returns whether the queue is long now. */
static bool channel_send(struct reading *r, const char *data, size_t len)
{
    size_t waiting = 0;
    for (size_t at = 0; at < len; at += PIECE_BYTES)
        waiting = channel_handle_send(r->out, false, data + at, len - at < PIECE_BYTES ? len - at : PIECE_BYTES);
    return waiting > CHANNEL_HANDLE_MARK;
}

static void fail_for_memory(struct reading *r)
{
    struct err err = ERR_INIT;
    (void)err_set(&err, ERR_CAPACITY, 0, "not enough memory to read %.200s", r->path);
    reading_complete(r, &err);
}

/* Bytes for the receiver. */
static void pass_on(struct reading *r, const char *data, size_t len)
{
    if (r->is_complete)
        return; /* it failed before there was a channel */
    if (!r->status && !r->is_opening)
        archive_begin(r);
    if (r->is_opening && buf_add(&r->early, data, len) < 0) { /* a window at most, since nothing is credited */
        fail_for_memory(r);
        return;
    }
    if (!r->is_opening &&
        !(r->out ? channel_send(r, data, len) : http_req_send(call_http(r->c), data, len) > QUEUE_MARK)) {
        if (!r->converter)
            credit(r, len);
        return;
    }
    r->owed += len;
    if (r->converter)
        converter_hold(r->converter, true);
}

/* --- the channel --- */

static void on_channel_end(void *arg)
{
    struct reading *r = arg;
    r->out = NULL; /* the reader has disconnected: the rest is not sent */
    (void)reading_free(r);
}

static void on_channel(void *arg, json_t *writer, json_t *reader, const struct err *err)
{
    static const struct channel_handle_events events = { .on_end = on_channel_end, .on_drain = on_drain };
    struct reading *r = arg;
    struct err why = ERR_INIT;
    r->is_opening = false;
    if (r->failure.code) {
        why = r->failure;
        call_fail(reading_free(r), &why);
        return;
    }
    if (err || engine_call_open_channel(call_engine(r->c), writer, &events, r, &r->out, &why) < 0) {
        why = err ? *err : why;
        call_fail(reading_free(r), &why);
        return;
    }
    (void)json_object_set(r->answer, "content", reader);
    r->status = 200;
    call_ok(STEAL(r->c), STEAL(r->answer));
    bool is_long = channel_send(r, buf_text(&r->early), r->early.len);
    buf_done(&r->early);
    if (r->is_complete)
        reading_settle(r);
    else if (!is_long)
        on_drain(r);
}

/* Answers over the engine; answer is taken. */
static void open_channel(struct reading *r, json_t *answer)
{
    r->answer = answer;
    r->is_opening = true;
    call_on_cancel(r->c, NULL, NULL); /* whoever reads the channel can leave it */
    engine_call_new_channel(call_engine(r->c), on_channel, r);
}

/* --- heads --- */

/* The name that a browser saves it under, in the encoding of RFC 8187: no byte of it means anything in a header. */
static void add_disposition(struct http_req *h, const char *path, const char *ending)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    CLEANUP(buf_done) struct buf text = BUF_INIT(NAME_MAX_OUT);
    const char *slash = strrchr(path, '/');
    (void)buf_add_str(&text, "attachment; filename*=UTF-8''");
    for (const char *at = slash ? slash + 1 : path; *at; at++)
        (void)(strchr(plain, *at) ? buf_add_char(&text, *at) : buf_addf(&text, "%%%02X", (unsigned char)*at));
    if (*ending)
        (void)buf_addf(&text, ".%s", ending);
    http_req_add_header(h, "Content-Disposition", buf_text(&text));
    /* Bytes of a sandbox on the server's own origin: never to be shown, and never to be guessed what they are. */
    http_req_add_header(h, "X-Content-Type-Options", "nosniff");
}

static void archive_begin(struct reading *r)
{
    if (!call_http(r->c)) {
        open_channel(r, json_pack("{s:n, s:s}", "content", "format", r->format));
        return;
    }
    struct http_req *h = call_http(r->c);
    add_disposition(h, r->path, r->format);
    r->status = 200;
    http_req_begin(h, 200, content_type_of(r->format), -1);
    http_req_on_drain(h, on_drain, r);
}

static void add_headers(struct http_req *h, const struct guest_content *content)
{
    char tag[CONDITIONS_TAG_TEXT], date[CONDITIONS_DATE], mode[8];
    conditions_tag(content->version, tag);
    conditions_date(content->stat.mtime_ms, date);
    (void)snprintf(mode, sizeof(mode), "%04o", content->stat.mode & 07777);
    http_req_add_header(h, "ETag", tag);
    if (*date)
        http_req_add_header(h, "Last-Modified", date);
    http_req_add_header(h, "X-File-Mode", mode);
    http_req_add_header(h, "Access-Control-Expose-Headers",
                        "ETag, Last-Modified, X-File-Mode, Accept-Ranges, Content-Range, Content-Disposition");
}

static void file_begin_http(struct reading *r, const struct guest_content *content, bool is_part)
{
    struct http_req *h = call_http(r->c);
    char text[RANGE_TEXT];
    if (content->has_size)
        http_req_add_header(h, "Accept-Ranges", "bytes");
    if (is_part) {
        (void)snprintf(text, sizeof(text), "bytes %llu-%llu/%llu", (unsigned long long)r->offset,
                       (unsigned long long)(r->offset + r->len - 1), (unsigned long long)content->stat.size);
        http_req_add_header(h, "Content-Range", text);
    }
    add_disposition(h, r->path, "");
    r->status = is_part ? 206 : 200;
    http_req_begin(h, r->status, "application/octet-stream", content->has_size ? (int64_t)r->len : -1);
    if (strcmp(http_req_method(h), "HEAD") == 0) {
        guest_reader_drop(STEAL(r->reader));
        reading_complete(r, NULL);
        return;
    }
    http_req_on_drain(h, on_drain, r);
    guest_reader_range(r->reader, r->offset, r->len);
}

static void file_begin_engine(struct reading *r, const struct guest_content *content, bool is_part)
{
    json_t *answer = content_json(content);
    (void)json_object_del(answer, "created");
    if (!content->has_size)
        (void)json_object_del(answer, "size");
    if (is_part) {
        (void)json_object_set_new(answer, "offset", json_integer((json_int_t)r->offset));
        (void)json_object_set_new(answer, "length", json_integer((json_int_t)r->len));
    }
    guest_reader_range(r->reader, r->offset, r->len);
    open_channel(r, answer);
}

/* --- files --- */

/* A condition that the file does not meet, or meets too well: negative with err (400, 412), 304, or 0 to continue. */
static int check_conditions(struct call *c, const struct guest_content *content, struct err *err)
{
    struct conditions_tags match, none;
    if (conditions_read_tags(call_str(c, "ifMatch", NULL), false, &match) < 0 ||
        conditions_read_tags(call_str(c, "ifNoneMatch", NULL), true, &none) < 0)
        return err_set(err, ERR_INVALID, 0, "If-Match, If-None-Match: not * and not a list of up to %d ETags",
                       CONDITIONS_TAGS_MAX);
    if (match.is_given && !conditions_has(&match, content->version))
        return err_set(err, ERR_UNMET, 0, "%.200s: its ETag is not one of If-Match", call_str(c, "path", ""));
    return none.is_given && conditions_has(&none, content->version) ? 304 : 0;
}

static void answer_unchanged(struct reading *r, const struct guest_content *content)
{
    struct call *c = reading_free(r);
    if (call_http(c)) {
        http_req_reply(call_http(c), 304, NULL, NULL, 0);
        call_taken(c, 304);
        return;
    }
    json_t *answer = content_json(content);
    (void)json_object_del(answer, "created");
    (void)json_object_set_new(answer, "content", json_null());
    call_ok(c, answer);
}

static void on_content(void *arg, const struct guest_content *content)
{
    struct reading *r = arg;
    struct call *c = r->c;
    struct err err = ERR_INIT;
    struct conditions_range part = { 0 };
    int status = check_conditions(c, content, &err);
    if (status < 0) {
        call_fail(reading_free(r), &err);
        return;
    }
    if (call_http(c))
        add_headers(call_http(c), content);
    if (status == 304) {
        answer_unchanged(r, content);
        return;
    }
    bool may_range = content->has_size && conditions_may_range(call_str(c, "ifRange", NULL), content->version);
    const char *range = may_range ? call_str(c, "range", NULL) : NULL;
    int is_part = conditions_read_range(range, content->stat.size, &part);
    if (is_part < 0) {
        char text[RANGE_TEXT];
        (void)snprintf(text, sizeof(text), "bytes */%llu", (unsigned long long)content->stat.size);
        if (call_http(c))
            http_req_add_header(call_http(c), "Content-Range", text);
        (void)err_set(&err, ERR_RANGE, 0, "Range: %.60s is outside of %.200s, which has %llu bytes", range,
                      call_str(c, "path", ""), (unsigned long long)content->stat.size);
        call_fail(reading_free(r), &err);
        return;
    }
    r->offset = part.offset;
    r->len = is_part ? part.len : content->has_size ? content->stat.size : UINT64_MAX;
    (call_http(c) ? file_begin_http : file_begin_engine)(r, content, is_part);
}

/* --- the agent and the converter --- */

/* Gives the converter what it takes of what waits, and credits the agent for it. */
static void feed(void *arg)
{
    struct reading *r = arg;
    while (r->converter && r->waiting.len > 0) {
        size_t n = converter_send(r->converter, r->waiting.data, r->waiting.len);
        if (n == 0)
            return; /* on_room calls again */
        buf_consume(&r->waiting, n);
        if (r->reader)
            guest_reader_credit(r->reader, n);
    }
    if (r->is_read && r->converter)
        converter_end(r->converter);
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct reading *r = arg;
    if (!r->converter) {
        pass_on(r, data, len);
        return;
    }
    if (buf_add(&r->waiting, data, len) < 0) { /* a window at most */
        fail_for_memory(r);
        return;
    }
    feed(r);
}

static void on_read(void *arg, const struct err *err)
{
    struct reading *r = arg;
    r->reader = NULL;
    r->is_read = true;
    if (err || !r->converter)
        reading_complete(r, err);
    else if (r->waiting.len == 0)
        converter_end(r->converter);
}

static void on_converted(void *arg, const char *data, size_t len)
{
    pass_on(arg, data, len);
}

static void on_converter_done(void *arg, const struct err *err)
{
    struct reading *r = arg;
    r->converter = NULL;
    reading_complete(r, err);
}

void content_read_start(struct call *c, const struct content_place *place)
{
    static const struct guest_read_events events = { .on_content = on_content, .on_data = on_data, .on_done = on_read };
    static const struct converter_events converts = { .on_output = on_converted,
                                                      .on_room = feed,
                                                      .on_done = on_converter_done };
    struct sandbox *s = place->s;
    struct err err = ERR_INIT;
    struct reading *r = xzalloc(sizeof(*r));
    *r = (struct reading){ .c = c, .path = xstrdup(place->path), .format = xstrdup(place->format) };
    buf_init(&r->early, EARLY_MAX);
    buf_init(&r->waiting, EARLY_MAX);
    bool is_converted = *place->format && strcmp(place->format, "tar") != 0;
    if (is_converted &&
        converter_start(s->manager->converters, &(struct converter_plan){ s->tenant, place->format, true }, &converts,
                        r, &r->converter, &err) < 0) {
        call_fail(reading_free(r), &err);
        return;
    }
    const struct guest_pack_plan plan = { .path = place->path,
                                          .user = s->user,
                                          .is_plain = strcmp(place->format, "zip") == 0 };
    int e = *place->format ? guest_tree_pack(s->link, &plan, &events, r, &r->reader)
                           : guest_content_open(s->link, place->path, s->user, &events, r, &r->reader);
    if (e < 0)
        content_failed(reading_free(r), s, e);
    else
        call_on_cancel(c, on_cancel, r);
}
