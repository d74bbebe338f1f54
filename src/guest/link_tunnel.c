/* Tunnels: a connection made inside the sandbox, its bytes carried over the link. Data may be sent before the guest
 * has connected; it is queued in the guest within the window. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "guest/link_core.h"

struct guest_tunnel {
    struct link_stream s;
    struct guest_tunnel_events ev;
    void *arg;
    struct link_flow flow;
    bool is_udp, is_open, has_eof, is_shut;
};

static void tunnel_fail(struct link_stream *s, const struct err *err)
{
    struct guest_tunnel t = *(struct guest_tunnel *)s;
    free(s);
    if (t.ev.on_closed)
        t.ev.on_closed(t.arg, err);
}

static int tunnel_frame(struct link_stream *s, const struct proto_header *h, const uint8_t *payload)
{
    struct guest_tunnel *t = (struct guest_tunnel *)s;
    struct err err = ERR_INIT;
    switch (h->type) {
    case PROTO_TUNNEL_OPENED:
        if (t->is_open)
            return -EBADMSG;
        t->is_open = true;
        link_time_limit(s, 0);
        if (t->ev.on_open)
            t->ev.on_open(t->arg);
        return 0;
    case PROTO_TUNNEL_DATA:
        if (!t->is_open || t->has_eof || (!h->length && !t->is_udp) || link_flow_take(&t->flow, h->length) < 0)
            return -EBADMSG;
        t->ev.on_data(t->arg, (const char *)payload, h->length);
        return 0;
    case PROTO_TUNNEL_EOF:
        if (!t->is_open || t->has_eof || t->is_udp)
            return -EBADMSG;
        t->has_eof = true;
        if (t->ev.on_eof)
            t->ev.on_eof(t->arg);
        return 0;
    case PROTO_CREDIT:
        return link_flow_credited(&t->flow, payload, h->length);
    case PROTO_DONE:
        if (!t->is_open)
            return -EBADMSG;
        break;
    case PROTO_ERROR:
        link_error(payload, h->length, &err);
        if (err.code != ERR_INVALID && err.code != ERR_CAPACITY)
            err.code = ERR_UPSTREAM; /* whatever the errno: the far end failed */
        break;
    default:
        return -EBADMSG;
    }
    link_close(s);
    tunnel_fail(s, err.code ? &err : NULL);
    return 0;
}

static void tunnel_room(struct link_stream *s)
{
    link_flow_wake(&((struct guest_tunnel *)s)->flow);
}

static const struct link_kind tunnel_kind = {
    .name = "tunnel", .on_frame = tunnel_frame, .on_fail = tunnel_fail, .on_room = tunnel_room
};

int guest_tunnel_open(struct guest_link *g, bool is_udp, const char *host, uint16_t port,
                      const struct guest_tunnel_events *ev, void *arg, struct guest_tunnel **ret)
{
    if (port == 0)
        return -EINVAL;
    struct link_fields f;
    int64_t wait_ms = is_udp ? 0 : guest_ports_wait_ms(g);
    link_fields_init(&f);
    if (wait_ms)
        proto_put_u32(&f.w, (uint32_t)wait_ms);
    proto_put_u8(&f.w, is_udp);
    proto_put_u16(&f.w, port);
    proto_put_str(&f.w, host);
    struct guest_tunnel *t = xzalloc(sizeof(*t));
    *t = (struct guest_tunnel){ .s.kind = &tunnel_kind, .ev = *ev, .arg = arg, .is_udp = is_udp };
    link_flow_init(&t->flow);
    int r = link_request(g, &t->s, wait_ms ? PROTO_TUNNEL_AWAIT : PROTO_TUNNEL_OPEN, &f.w, NULL, 0);
    if (r < 0) {
        free(t);
        return r;
    }
    if (wait_ms)
        link_time_limit(&t->s, (uint32_t)wait_ms + link_time(g)->answer_ms);
    *ret = t;
    return 0;
}

void guest_tunnel_redirect(struct guest_tunnel *t, const struct guest_tunnel_events *ev, void *arg)
{
    t->ev = *ev;
    t->arg = arg;
}

void guest_tunnel_credit(struct guest_tunnel *t, size_t bytes)
{
    link_flow_credit(&t->s, &t->flow, bytes);
}

size_t guest_tunnel_send(struct guest_tunnel *t, const char *data, size_t len)
{
    if (t->is_shut)
        return 0;
    if (!t->is_udp)
        return link_flow_send(&t->s, &t->flow, PROTO_TUNNEL_DATA, data, len);
    /* A datagram is sent whole or not at all; one that is too long for UDP is accepted and lost, as a network would. */
    if (len > PROTO_PAYLOAD_MAX)
        return len;
    if (!link_flow_can_send(&t->s, &t->flow, len))
        return 0;
    t->flow.out_left -= (uint32_t)len;
    link_post(&t->s, PROTO_TUNNEL_DATA, NULL, data, len);
    return len;
}

void guest_tunnel_on_writable(struct guest_tunnel *t, loop_fn *fn, void *arg)
{
    t->flow.on_writable = fn;
    t->flow.arg = arg;
}

void guest_tunnel_shutdown(struct guest_tunnel *t)
{
    if (!t->is_shut && !t->is_udp)
        link_post(&t->s, PROTO_TUNNEL_EOF, NULL, NULL, 0);
    t->is_shut = true;
}

void guest_tunnel_drop(struct guest_tunnel *t)
{
    link_drop(&t->s);
    free(t);
}
