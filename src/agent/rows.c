#include "agent/rows.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int agent_rows_init(struct agent_rows *s, struct agent_reply *r)
{
    *s = (struct agent_rows){ .reply = r, .mem = malloc(PROTO_FRAME_MAX) };
    if (!s->mem)
        return -ENOMEM;
    proto_frame_begin(&s->frame, s->mem, PROTO_FRAME_MAX);
    return 0;
}

static void send_frame(struct agent_rows *s, uint16_t flags)
{
    int len = proto_frame_end(&s->frame, s->reply->stream, PROTO_FS_ROWS, flags);

    assert(len > 0);
    agent_reply_frame(s->reply, s->mem, (size_t)len);
    s->sent += (size_t)len;
    proto_frame_begin(&s->frame, s->mem, PROTO_FRAME_MAX);
}

bool agent_rows_add(struct agent_rows *s, const struct proto_row *row)
{
    if (s->sent >= AGENT_ROWS_BYTES)
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

void agent_rows_end(struct agent_rows *s)
{
    send_frame(s, 0);
    free(s->mem);
}

void agent_rows_fail(struct agent_rows *s, int error, const char *verb, const char *path)
{
    agent_reply_error(s->reply, error, "%s %s", verb, path);
    free(s->mem);
}
