/* Flow control of one stream's data, in both directions. Received data is credited in steps of a quarter window, so
 * that a command that prints line by line does not cost a frame for each. Sending stops at the window's end, or
 * earlier while the link's queue is long, and the user is woken once there is room. */
#include <errno.h>

#include "guest/link_core.h"

void link_flow_init(struct link_flow *f)
{
    *f = (struct link_flow){ .window = PROTO_WINDOW, .in_left = PROTO_WINDOW, .out_left = PROTO_WINDOW };
}

void link_flow_widen(struct link_flow *f)
{
    f->window = f->in_left = f->out_left = PROTO_WINDOW_WIDE;
}

int link_flow_take(struct link_flow *f, size_t len)
{
    if (len > f->in_left)
        return -EBADMSG;
    f->in_left -= (uint32_t)len;
    f->in_held += (uint32_t)len;
    return 0;
}

void link_flow_credit(struct link_stream *s, struct link_flow *f, size_t bytes)
{
    uint32_t n = bytes < f->in_held ? (uint32_t)bytes : f->in_held;
    f->in_held -= n;
    f->in_owed += n;
    if (f->in_owed < f->window / 4)
        return;
    uint8_t mem[4];
    struct proto_writer w;
    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_u32(&w, f->in_owed);
    f->in_left += f->in_owed;
    f->in_owed = 0;
    link_post(s, PROTO_CREDIT, &w, NULL, 0);
}

bool link_flow_can_send(struct link_stream *s, struct link_flow *f, size_t len)
{
    bool has_room = link_has_room(s);
    f->is_short |= !has_room || len > f->out_left;
    return has_room && len <= f->out_left;
}

size_t link_flow_send(struct link_stream *s, struct link_flow *f, uint16_t type, const char *data, size_t len)
{
    size_t done = 0;
    while (done < len && link_has_room(s) && f->out_left) {
        size_t n = len - done < PROTO_PAYLOAD_MAX ? len - done : PROTO_PAYLOAD_MAX;
        n = n < f->out_left ? n : f->out_left;
        link_post(s, type, NULL, data + done, n);
        f->out_left -= (uint32_t)n;
        done += n;
    }
    f->is_short |= done < len;
    return done;
}

void link_flow_wake(struct link_flow *f)
{
    if (!f->is_short || !f->out_left)
        return;
    f->is_short = false;
    if (f->on_writable)
        f->on_writable(f->arg);
}

int link_flow_credited(struct link_flow *f, const uint8_t *payload, size_t len)
{
    struct proto_reader r;
    proto_reader_init(&r, payload, len);
    uint32_t n = proto_get_u32(&r);
    if (!n || n > f->window - f->out_left)
        return -EBADMSG;
    f->out_left += n;
    link_flow_wake(f);
    return 0;
}
