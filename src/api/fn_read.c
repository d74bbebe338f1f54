/* sandbox::fs::read. Theory of operation: the file is opened, a channel is made, and the answer names it. A small file
 * is read whole first, since its text is also in the answer; of a large one at most a window and the channel's mark are
 * held at a time: bytes are credited to the agent as the reader of the channel takes them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/fn.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include "engine/channel_handle.h"
#include "engine/engine.h"

#define BODY_MAX    (1024u * 1024) /* a file of this size has no body any more */
#define CHUNK_BYTES 65536u

struct reading {
    struct call *c;    /* NULL once answered */
    struct sandbox *s; /* a reference */
    struct guest_reader *reader;
    struct channel_handle *out;
    json_t *answer;
    struct buf body; /* what was read before the answer */
    uint64_t size;
    size_t uncredited; /* passed to the channel while it was full */
    bool is_small, is_read;
};

static void reading_free(struct reading *r)
{
    if (r->reader)
        guest_reader_drop(r->reader);
    channel_handle_finish(r->out);
    sandbox_unref(r->s);
    json_decref(r->answer);
    buf_done(&r->body);
    free(r);
}

static void reading_fail(struct reading *r, const struct err *err)
{
    struct call *c = STEAL(r->c);
    struct sandbox *s = sandbox_ref(r->s);
    reading_free(r);
    fn_fail_file(c, s, err, call_str(c, "path", ""));
    sandbox_unref(s);
}

/* Returns the bytes that wait for the reader of the channel. */
static size_t send_pieces(struct reading *r, const char *data, size_t len)
{
    size_t waiting = 0;
    for (size_t at = 0; at < len; at += CHUNK_BYTES)
        waiting = channel_handle_send(r->out, false, data + at, len - at < CHUNK_BYTES ? len - at : CHUNK_BYTES);
    return waiting;
}

static void on_channel_drain(void *arg)
{
    struct reading *r = arg;
    size_t owed = r->uncredited;
    r->uncredited = 0;
    if (owed && r->reader)
        guest_reader_credit(r->reader, owed);
}

static void on_channel_end(void *arg)
{
    struct reading *r = arg;
    r->out = NULL; /* the reader has disconnected: the rest is not sent */
    reading_free(r);
}

static const struct channel_handle_events channel_events = { .on_end = on_channel_end, .on_drain = on_channel_drain };

static void on_channel(void *arg, json_t *writer, json_t *reader, const struct err *err)
{
    struct reading *r = arg;
    struct err why = ERR_INIT;
    if (err || engine_call_open_channel(call_engine(r->c), writer, &channel_events, r, &r->out, &why) < 0) {
        why = err ? *err : why;
        why.sys = EIO;
        reading_fail(r, &why);
        return;
    }
    (void)json_object_set(r->answer, "content", reader);
    if (r->is_small && r->is_read && utf8_is_valid(buf_text(&r->body), r->body.len))
        (void)json_object_set_new(r->answer, "body", json_stringn(buf_text(&r->body), r->body.len));
    call_ok(STEAL(r->c), STEAL(r->answer));
    (void)send_pieces(r, r->body.data, r->body.len);
    buf_done(&r->body);
    if (r->is_read)
        reading_free(r);
    else
        on_channel_drain(r);
}

static void make_channel(struct reading *r)
{
    engine_call_new_channel(call_engine(r->c), on_channel, r);
}

/* --- the file --- */

static void on_open(void *arg, const struct guest_stat *st)
{
    struct reading *r = arg;
    char mode[8];
    (void)snprintf(mode, sizeof(mode), "%04o", st->mode & 07777);
    r->size = st->size;
    r->is_small = st->size < BODY_MAX;
    r->answer = json_pack("{s:n, s:I, s:s, s:I}", "content", "size", (json_int_t)st->size, "mode", mode, "mtime",
                          (json_int_t)(st->mtime_ms / 1000));
    if (!r->is_small)
        make_channel(r);
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct reading *r = arg;
    if (r->out && !r->c) {
        if (send_pieces(r, data, len) > CHANNEL_HANDLE_MARK)
            r->uncredited += len;
        else
            guest_reader_credit(r->reader, len);
        return;
    }
    /* Not answered yet: a small file, or a window's worth of a large one whose channel is on its way. */
    if (buf_add(&r->body, data, len) < 0) {
        struct err err = ERR_INIT;
        (void)err_set(&err, ERR_TOO_LARGE, EIO, "the file grew while it was read");
        reading_fail(r, &err);
        return;
    }
    if (r->is_small)
        guest_reader_credit(r->reader, len);
    else
        r->uncredited += len; /* one window at most, until the channel is there */
}

static void on_read(void *arg, const struct err *err)
{
    struct reading *r = arg;
    r->reader = NULL;
    r->is_read = true;
    if (r->c && err) {
        reading_fail(r, err);
    } else if (r->c && r->is_small) {
        make_channel(r);
    } else if (!r->c) {
        if (err) { /* it can only be sent over the channel */
            JSON_OWNED message = json_pack("{s:s, s:s, s:s}", "error", "S216", "code", "S216", "message", err->msg);
            CLEANUP(free_p) char *text = json_write(message, NULL);
            (void)channel_handle_send(r->out, true, text, strlen(text));
        }
        reading_free(r);
    }
}

void api_fn_read(struct call *c)
{
    static const struct guest_read_events events = { .on_open = on_open, .on_data = on_data, .on_done = on_read };
    const char *path = fn_path(c, "path");
    struct sandbox *s = fn_read_id(c) < 0 ? NULL : fn_find(c);
    if (!s) {
        fn_fail_fault(c);
        return;
    }
    struct reading *r = xzalloc(sizeof(*r));
    *r = (struct reading){ .c = c, .s = sandbox_ref(s) };
    buf_init(&r->body, 2 * BODY_MAX);
    int e = guest_fs_read(s->link, path, 0, 0, &events, r, &r->reader);
    if (e < 0) {
        r->c = NULL;
        reading_free(r);
        fn_fail_start(c, s, e, path);
    }
}
