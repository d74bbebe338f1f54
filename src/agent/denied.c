#include "agent/denied.h"

#include <assert.h>
#include <unistd.h>

#include "os/denied_call.h"

static void send_denied(struct agent_conn *c, const struct denied_call *d)
{
    uint8_t frame[PROTO_HEADER + 64 + DENIED_CALL_PROGRAM];
    struct proto_writer w;

    proto_frame_begin(&w, frame, sizeof(frame));
    proto_put_u32(&w, d->nr);
    proto_put_u32(&w, d->arch);
    proto_put_u32(&w, d->error);
    proto_put_u32(&w, d->pid);
    proto_put_u64(&w, d->count);
    proto_put_u64(&w, d->lost);
    proto_put_str(&w, d->program);
    int len = proto_frame_end(&w, 0, PROTO_DENIED, 0);
    assert(len > 0);
    agent_conn_send(c, frame, (size_t)len);
}

static struct agent_conn *host_that_wants(const struct agent *a)
{
    struct agent_conn *c = a->conns;

    while (c && !(agent_conn_has_handshake(c) && agent_conn_can(c, PROTO_CAP_DENIED)))
        c = agent_conn_next(c);
    return c;
}

static void on_denied(struct agent_watch *w, uint32_t events)
{
    struct agent *a = (struct agent *)((char *)w - offsetof(struct agent, denied));
    struct agent_conn *c = host_that_wants(a);
    struct denied_call d;

    (void)events;
    if (!c) {
        (void)agent_loop_watch(&a->loop, w, 0); /* agent_denied_tell() watches it again */
        return;
    }
    ssize_t n = read(w->fd, &d, sizeof(d));
    if (n == 0) /* whoever answers them is gone: so they are not seen any more */
        agent_loop_close(&a->loop, w);
    if (n != (ssize_t)sizeof(d))
        return;
    d.program[sizeof(d.program) - 1] = '\0';
    send_denied(c, &d);
}

void agent_denied_start(struct agent *a, int fd)
{
    a->denied = (struct agent_watch){ .fd = fd, .fn = on_denied };
    agent_denied_tell(a);
}

void agent_denied_tell(struct agent *a)
{
    if (a->denied.fd >= 0)
        (void)agent_loop_watch(&a->loop, &a->denied, EPOLLIN); /* out of memory: they are not seen */
}
