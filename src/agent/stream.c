#include "agent/stream.h"

#include <assert.h>
#include <errno.h>

void agent_stream_open(struct agent_stream *s, struct agent_conn *c, uint32_t id, const struct agent_stream_ops *ops)
{
    *s = (struct agent_stream){
        .conn = c, .ops = ops, .id = id, .window = PROTO_WINDOW, .can_send = PROTO_WINDOW, .can_come = PROTO_WINDOW
    };
    struct agent_stream **all = agent_conn_streams(c);
    s->next = *all;
    *all = s;
}

void agent_stream_widen(struct agent_stream *s)
{
    s->window = s->can_send = s->can_come = PROTO_WINDOW_WIDE;
}

void agent_stream_close(struct agent_stream *s)
{
    if (!s->conn)
        return;
    for (struct agent_stream **at = agent_conn_streams(s->conn); *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    s->conn = NULL;
}

void agent_stream_credit(struct agent_stream *s, uint32_t bytes)
{
    uint8_t frame[PROTO_HEADER + 4];
    struct proto_writer w;

    s->owed += bytes;
    if (!s->conn || s->owed == 0 || (s->window > PROTO_WINDOW && s->owed < s->window / 4))
        return;
    bytes = s->owed;
    s->owed = 0;
    s->can_come += bytes;
    proto_frame_begin(&w, frame, sizeof(frame));
    proto_put_u32(&w, bytes);
    int len = proto_frame_end(&w, s->id, PROTO_CREDIT, 0);
    assert(len > 0);
    agent_conn_send(s->conn, frame, (size_t)len);
}

int agent_stream_take(struct agent_stream *s, size_t len)
{
    if (len > s->can_come)
        return -EBADMSG;
    s->can_come -= (uint32_t)len;
    return 0;
}

struct agent_stream *agent_stream_find(struct agent_conn *c, uint32_t id)
{
    for (struct agent_stream *s = *agent_conn_streams(c); s; s = s->next)
        if (s->id == id)
            return s;
    return NULL;
}

int agent_stream_credited(struct agent_stream *s, const uint8_t *data, size_t len)
{
    struct proto_reader r;

    proto_reader_init(&r, data, len);
    uint32_t bytes = proto_get_u32(&r);
    if (bytes == 0 || bytes > s->window - s->can_send)
        return -EBADMSG;
    s->can_send += bytes;
    if (s->ops->on_ready && !agent_conn_is_full(s->conn))
        s->ops->on_ready(s);
    return 0;
}
