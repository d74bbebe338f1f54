#include "api/fn_stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/channel_handle.h"
#include "engine/engine.h"

#define PIECE 32768 /* well below the size at which a channel cuts frames: each needs its first byte */

struct fn_stream {
    struct channel_handle *end; /* NULL: the reader has left */
    loop_fn *on_room, *on_gone;
    void *arg;
};

static void on_end(void *arg)
{
    struct fn_stream *st = arg;
    st->end = NULL;
    st->on_gone(st->arg);
}

static void on_drain(void *arg)
{
    struct fn_stream *st = arg;
    st->on_room(st->arg);
}

int fn_stream_open(struct call *c, loop_fn *on_room, loop_fn *on_gone, void *arg, struct fn_stream **ret)
{
    static const struct channel_handle_events events = { .on_end = on_end, .on_drain = on_drain };
    const json_t *ref = json_get(call_params(c), "stream");
    struct err err = ERR_INIT;
    if (!ref || !call_engine(c)) /* a step of sandbox::run has no caller of its own */
        return 0;
    if (strcmp(json_get_str(ref, "direction", ""), "write") != 0)
        return fn_set_fault(c, "S001", "invalid request: stream must be the write end of a channel");
    struct fn_stream *st = xzalloc(sizeof(*st));
    st->on_room = on_room;
    st->on_gone = on_gone;
    st->arg = arg;
    if (engine_call_open_channel(call_engine(c), ref, &events, st, &st->end, &err) < 0) {
        free(st);
        return fn_set_fault(c, "S001", "invalid request: stream: %s", err.msg);
    }
    *ret = st;
    return 0;
}

bool fn_stream_send(struct fn_stream *st, int fd, const char *data, size_t len)
{
    char frame[PIECE + 1];
    size_t queued = 0;
    frame[0] = (char)(fd == 2 ? 2 : 1);
    while (len > 0 && st->end) {
        size_t n = len < PIECE ? len : PIECE;
        memcpy(frame + 1, data, n);
        queued = channel_handle_send(st->end, false, frame, n + 1);
        data += n;
        len -= n;
    }
    return !st->end || queued <= CHANNEL_HANDLE_MARK;
}

struct fn_stream *fn_stream_finish(struct fn_stream *st)
{
    if (st) {
        channel_handle_finish(st->end);
        free(st);
    }
    return NULL;
}
