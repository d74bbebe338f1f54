#include "guest/agent/ag_rows.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int ag_rows_init(struct ag_rows *s, struct ag_reply *r)
{
    *s = (struct ag_rows){ .reply = r, .mem = malloc(PROTO_FRAME_MAX) };
    if (!s->mem)
        return -ENOMEM;
    proto_frame_begin(&s->frame, s->mem, PROTO_FRAME_MAX);
    return 0;
}

static void send_frame(struct ag_rows *s, uint16_t flags)
{
    int len = proto_frame_end(&s->frame, s->reply->stream, PROTO_FS_ROWS, flags);

    assert(len > 0);
    ag_reply_frame(s->reply, s->mem, (size_t)len);
    s->sent += (size_t)len;
    proto_frame_begin(&s->frame, s->mem, PROTO_FRAME_MAX);
}

bool ag_rows_add(struct ag_rows *s, const struct proto_row *row)
{
    if (s->sent >= AG_ROWS_BYTES)
        return false;
    proto_put_row(&s->frame, row);
    if (!s->frame.is_full)
        return true;
    s->frame.is_full = false;
    send_frame(s, PROTO_MORE);
    proto_put_row(&s->frame, row);
    assert(!s->frame.is_full); /* a path and a text are below one payload */
    return true;
}

void ag_rows_end(struct ag_rows *s)
{
    send_frame(s, 0);
    free(s->mem);
}

void ag_rows_fail(struct ag_rows *s, int error, const char *verb, const char *path)
{
    ag_reply_error(s->reply, error, "%s %s", verb, path);
    free(s->mem);
}
