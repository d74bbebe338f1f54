#include "sandbox/net/relay.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "http/output_queue.h"

enum { RELAY_MAGIC = 0x4e1a4001, READ_BYTES = 65536 };

struct relay {
    unsigned magic;
    int fd;
    struct watch *watch;
    struct guest_tunnel *tunnel; /* NULL once it has ended */
    struct output_queue to_client;
    struct buf to_guest; /* read, but past the tunnel's window: nothing more is read meanwhile */
    relay_done_fn *done;
    void *arg;
    bool has_client_eof, has_guest_eof, is_shut; /* is_shut: the guest's end was passed on */
};

/* --- ending --- */

struct relay *relay_free(struct relay *r)
{
    if (!r)
        return NULL;
    assert(r->magic == RELAY_MAGIC);
    r->magic = 0;
    if (r->tunnel)
        guest_tunnel_drop(r->tunnel);
    watch_free(r->watch);
    (void)close(r->fd);
    output_queue_done(&r->to_client);
    buf_done(&r->to_guest);
    free(r);
    return NULL;
}

static void relay_finish(struct relay *r)
{
    r->done(r->arg, r);
}

/* A reset, so that the client does not take what it got for all there is. */
static void finish_broken(struct relay *r)
{
    struct linger hard = { .l_onoff = 1 };
    (void)setsockopt(r->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)); /* else it is an ordinary close */
    relay_finish(r);
}

/* --- to the client --- */

static void update_watch(struct relay *r)
{
    bool can_read = r->tunnel && !r->has_client_eof && r->to_guest.len == 0;
    watch_set(r->watch, (can_read ? LOOP_READ : 0) | (r->to_client.is_blocked ? LOOP_WRITE : 0));
}

/* After the queue got shorter. May end the relay. */
static void relay_settle(struct relay *r)
{
    if (output_queue_len(&r->to_client) == 0 && r->has_guest_eof && !r->is_shut) {
        r->is_shut = true;
        (void)shutdown(r->fd, SHUT_WR); /* fails when the client has left, which reading finds out */
    }
    if (output_queue_len(&r->to_client) == 0 && !r->tunnel)
        relay_finish(r);
    else
        update_watch(r);
}

static void credit(struct relay *r, size_t bytes)
{
    if (r->tunnel && bytes)
        guest_tunnel_credit(r->tunnel, bytes);
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct relay *r = arg;
    struct iovec piece = { (void *)(uintptr_t)data, len };
    size_t before = output_queue_len(&r->to_client) + len;
    if (output_queue_send(&r->to_client, r->fd, &piece, 1) < 0) {
        finish_broken(r);
        return;
    }
    credit(r, before - output_queue_len(&r->to_client));
    update_watch(r);
}

static void on_eof(void *arg)
{
    struct relay *r = arg;
    r->has_guest_eof = true;
    relay_settle(r);
}

static void on_closed(void *arg, const struct err *err)
{
    struct relay *r = arg;
    r->tunnel = NULL;
    if (err)
        finish_broken(r);
    else
        relay_settle(r);
}

/* --- to the guest --- */

static void pass_end(struct relay *r)
{
    if (r->has_client_eof && r->to_guest.len == 0 && r->tunnel)
        guest_tunnel_shutdown(r->tunnel);
}

static void on_writable(void *arg)
{
    struct relay *r = arg;
    buf_consume(&r->to_guest, guest_tunnel_send(r->tunnel, buf_text(&r->to_guest), r->to_guest.len));
    pass_end(r);
    update_watch(r);
}

static void on_readable(struct relay *r)
{
    char piece[READ_BYTES] __attribute__((uninitialized)); /* the build zeroes locals, too expensive for this one */
    ssize_t n = recv(r->fd, piece, sizeof(piece), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        relay_finish(r);
        return;
    }
    size_t sent = n > 0 ? guest_tunnel_send(r->tunnel, piece, (size_t)n) : 0;
    if (buf_add(&r->to_guest, piece + sent, (size_t)n - sent) < 0) {
        finish_broken(r);
        return;
    }
    r->has_client_eof = n == 0;
    pass_end(r);
    update_watch(r);
}

static void on_event(void *arg, int events)
{
    struct relay *r = arg;
    assert(r->magic == RELAY_MAGIC);
    if (events & LOOP_WRITE) {
        size_t before = output_queue_len(&r->to_client);
        if (output_queue_flush(&r->to_client, r->fd) < 0) {
            relay_finish(r);
            return;
        }
        credit(r, before - output_queue_len(&r->to_client));
        if (output_queue_len(&r->to_client) == 0 && !r->tunnel) {
            relay_finish(r);
            return;
        }
        relay_settle(r);
    }
    if (events & LOOP_READ && r->tunnel && !r->has_client_eof && r->to_guest.len == 0)
        on_readable(r);
}

/* --- beginning --- */

int relay_new(struct loop *l, int fd, relay_done_fn *done, void *arg, struct relay **ret)
{
    struct relay *r = xzalloc(sizeof(*r));
    int e = watch_new(l, fd, 0, on_event, r, &r->watch);
    if (e < 0) {
        free(r);
        return e;
    }
    r->magic = RELAY_MAGIC;
    r->fd = fd;
    r->done = done;
    r->arg = arg;
    output_queue_init(&r->to_client);
    buf_init(&r->to_guest, READ_BYTES);
    *ret = r;
    return 0;
}

static const struct guest_tunnel_events tunnel_events = { .on_data = on_data,
                                                          .on_eof = on_eof,
                                                          .on_closed = on_closed };

static void relay_start(struct relay *r)
{
    guest_tunnel_on_writable(r->tunnel, on_writable, r);
    update_watch(r);
}

int relay_open(struct relay *r, struct guest_link *g, uint16_t port)
{
    int e = guest_tunnel_open(g, false, NULL, port, &tunnel_events, r, &r->tunnel);
    if (e == 0)
        relay_start(r);
    return e;
}

int relay_join(struct relay *r, struct guest_tunnel *t, const struct buf *to_client, const struct buf *to_guest)
{
    struct iovec piece = { to_client->data, to_client->len };
    r->tunnel = t;
    guest_tunnel_redirect(t, &tunnel_events, r);
    size_t sent = to_guest->len ? guest_tunnel_send(t, to_guest->data, to_guest->len) : 0;
    int e = buf_add(&r->to_guest, buf_text(to_guest) + sent, to_guest->len - sent);
    if (e == 0)
        e = output_queue_send(&r->to_client, r->fd, &piece, 1);
    if (e == 0)
        relay_start(r);
    return e;
}
