#include "runtime/agent_end.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define OUT_MAX (64u << 20)

static void flush(struct agent_end *e)
{
    while (e->out.len) {
        ssize_t n = send(e->fd, e->out.data, e->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n <= 0)
            break; /* the host is gone, or reads later: the watch reports it */
        buf_consume(&e->out, (size_t)n);
    }
    watch_set(e->watch, e->is_frozen ? 0 : e->out.len ? LOOP_READ | LOOP_WRITE : LOOP_READ);
}

void agent_end_send(struct agent_end *e, struct proto_writer *w, uint32_t stream, uint16_t type)
{
    int n = proto_frame_end(w, stream, type, 0);
    if (n > 0)
        (void)buf_add(&e->out, (const char *)w->data, (size_t)n); /* credit keeps it far below its maximum */
    flush(e);
}

void agent_end_send_done(struct agent_end *e, uint32_t stream)
{
    uint8_t mem[PROTO_HEADER];
    struct proto_writer w;
    proto_frame_begin(&w, mem, sizeof(mem));
    agent_end_send(e, &w, stream, PROTO_DONE);
}

void agent_end_send_error(struct agent_end *e, uint32_t stream, int sys, const char *text)
{
    uint8_t mem[PROTO_HEADER + PROTO_PATH_MAX + 64];
    struct proto_writer w;
    proto_frame_begin(&w, mem, sizeof(mem));
    proto_put_u32(&w, (uint32_t)sys);
    proto_put_str(&w, text);
    agent_end_send(e, &w, stream, PROTO_ERROR);
}

void agent_end_send_number(struct agent_end *e, uint32_t stream, uint16_t type, uint32_t number)
{
    uint8_t mem[PROTO_HEADER + 4];
    struct proto_writer w;
    proto_frame_begin(&w, mem, sizeof(mem));
    proto_put_u32(&w, number);
    agent_end_send(e, &w, stream, type);
}

static int take_frames(struct agent_end *e)
{
    struct proto_header h;
    struct proto_reader in;
    while (e->in.len >= PROTO_HEADER && !e->is_frozen) {
        if (proto_header_get((const uint8_t *)e->in.data, &h) < 0)
            return -EBADMSG;
        if (e->in.len < PROTO_HEADER + h.length)
            return 0;
        if (buf_add(&e->request, e->in.data + PROTO_HEADER, h.length) < 0)
            return -EBADMSG;
        buf_consume(&e->in, PROTO_HEADER + h.length);
        if (h.flags & PROTO_MORE)
            continue;
        if (proto_check(PROTO_FROM_HOST, h.type, buf_text(&e->request), e->request.len) < 0)
            return -EBADMSG;
        proto_reader_init(&in, buf_text(&e->request), e->request.len);
        e->fn(e->arg, &h, &in);
        buf_clear(&e->request);
    }
    return 0;
}

void agent_end_shut(struct agent_end *e)
{
    watch_set(e->watch, 0);
    (void)shutdown(e->fd, SHUT_RDWR);
}

static void on_io(void *arg, int events)
{
    struct agent_end *e = arg;
    char piece[65536];
    ssize_t n = events & LOOP_READ ? recv(e->fd, piece, sizeof(piece), MSG_DONTWAIT) : -1;
    flush(e);
    if (n > 0 && buf_add(&e->in, piece, (size_t)n) == 0 && take_frames(e) == 0)
        return;
    if (events & LOOP_READ && !(n < 0 && errno == EAGAIN))
        agent_end_shut(e);
}

void agent_end_freeze(struct agent_end *e, bool is_frozen)
{
    e->is_frozen = is_frozen;
    flush(e);
    if (!is_frozen && take_frames(e) < 0)
        agent_end_shut(e);
}

int agent_end_open(struct agent_end *e, struct loop *l, agent_end_fn *fn, void *arg, int *ret_fd, struct err *err)
{
    int pair[2];
    uint8_t mem[64];
    struct proto_writer w;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return err_sys(err, -errno, "stand in for an agent");
    *e = (struct agent_end){ .fd = pair[0], .fn = fn, .arg = arg };
    buf_init(&e->in, 2 * PROTO_FRAME_MAX);
    buf_init(&e->out, OUT_MAX);
    buf_init(&e->request, PROTO_REQUEST_MAX + PROTO_PAYLOAD_MAX);
    int r = watch_new(l, e->fd, LOOP_READ, on_io, e, &e->watch);
    if (r < 0) {
        agent_end_close(e);
        (void)close(pair[1]); /* nobody has it */
        return err_sys(err, r, "stand in for an agent");
    }
    *ret_fd = pair[1];
    proto_frame_begin(&w, mem, sizeof(mem));
    proto_put_handshake(&w, PROTO_CAP_END);
    agent_end_send(e, &w, 0, PROTO_HANDSHAKE);
    return 0;
}

void agent_end_close(struct agent_end *e)
{
    if (!e->fn)
        return;
    watch_free(e->watch);
    (void)close(e->fd);
    buf_done(&e->in);
    buf_done(&e->out);
    buf_done(&e->request);
    *e = (struct agent_end){ 0 };
}
