#include "vm/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/ident.h"
#include "os/unixsock.h"
#include "vm/vmm/vmm.h"
#include "vm/vmm/vsock_connect.h"

#define REST_MS     60 /* the stream stays closed this long before a retry, so that the guest notices */
#define LOOK_BYTES  65536
#define DROPPED_MAX (64u << 20) /* a serial port may still hold the output of an earlier link */
#define FRESH_MAX   4096u       /* a new connection holds nothing but the reply */

struct vm_channel {
    struct vm_channel_options opt;
    char *path;
    int fd;
    struct vsock_connect *connector;
    struct watch *watch;
    struct timer *timer; /* fires when the attempt times out, or when the pause before the next one is over */
    int64_t ends_ms, patience_ms;
    size_t dropped;
    struct vm_channel_scan scan;
    vm_channel_fn *fn;
    void *arg;
};

size_t vm_channel_scan_room(const struct vm_channel_scan *s)
{
    return sizeof(s->bytes) - s->have;
}

int vm_channel_scan_added(struct vm_channel_scan *s, size_t n, uint64_t nonce)
{
    s->have += n;
    for (;;) {
        size_t at = 0;
        for (; at < s->have; at++) {
            size_t here = s->have - at < VM_HANDSHAKE_MAGIC_LEN ? s->have - at : VM_HANDSHAKE_MAGIC_LEN;
            if (memcmp(s->bytes + at, VM_HANDSHAKE_MAGIC, here) == 0)
                break;
        }
        memmove(s->bytes, s->bytes + at, s->have - at);
        s->have -= at;
        if (s->have < sizeof(s->bytes))
            return 0;
        struct vm_handshake_reply reply;
        memcpy(&reply, s->bytes, sizeof(reply));
        if (reply.version == VM_HANDSHAKE_VERSION && reply.nonce == nonce)
            return 1;
        s->bytes[0] = 0; /* the reply to an earlier handshake: continue the search behind its first byte */
    }
}

static void channel_disconnect(struct vm_channel *c)
{
    c->connector = vsock_connect_free(c->connector);
    c->watch = watch_free(c->watch);
    if (c->fd >= 0)
        (void)close(c->fd); /* the guest sees the hang-up */
    c->fd = NO_FD;
}

static void vm_channel_free(struct vm_channel *c)
{
    channel_disconnect(c);
    timer_free(c->timer);
    free(c->path);
    free(c);
}

void vm_channel_cancel(struct vm_channel *c)
{
    if (c)
        vm_channel_free(c);
}

static void channel_finish(struct vm_channel *c, const struct err *err)
{
    vm_channel_fn *fn = c->fn;
    void *arg = c->arg;
    struct err why = err ? *err : (struct err)ERR_INIT;
    int fd = NO_FD;
    if (!err) {
        c->watch = watch_free(c->watch);
        fd = steal_fd(&c->fd);
    }
    vm_channel_free(c);
    fn(arg, fd, err ? &why : NULL);
}

static void channel_rest(struct vm_channel *c)
{
    struct err err = ERR_INIT;
    channel_disconnect(c);
    if (loop_now_ms(c->opt.loop) + REST_MS >= c->ends_ms) {
        (void)err_set(&err, ERR_TIMEOUT, 0, "the VM's agent has not answered within %lld s",
                      (long long)c->opt.deadline_ms / 1000);
        channel_finish(c, &err);
        return;
    }
    timer_set(c->timer, REST_MS, 0);
}

static void take_reply(struct vm_channel *c)
{
    struct vm_handshake_reply reply;
    struct err err = ERR_INIT;
    memcpy(&reply, c->scan.bytes, sizeof(reply));
    reply.text[sizeof(reply.text) - 1] = '\0';
    for (char *p = reply.text; *p; p++)
        if (*p < ' ' || *p > '~')
            *p = '?';
    if (reply.result >= 0) {
        channel_finish(c, NULL);
        return;
    }
    (void)err_set(&err, ERR_UPSTREAM, reply.result < 0 && reply.result > -4096 ? -reply.result : EIO,
                  "the VM's agent: %s", reply.text);
    channel_finish(c, &err);
}

/* Peeks at the received bytes and consumes everything up to the end of the reply. It peeks at many bytes at once,
 * because the scan alone would consume a stream of false matches a few bytes at a time. 1: the reply is complete. 0:
 * not yet. -errno: nothing was received. */
static int channel_read_reply(struct vm_channel *c)
{
    static unsigned char piece[LOOK_BYTES];
    ssize_t n = recv(c->fd, piece, sizeof(piece), MSG_DONTWAIT | MSG_PEEK);
    if (n <= 0)
        return n < 0 ? -errno : -EPIPE;
    size_t at = 0;
    int is_whole = 0;
    while (!is_whole && at < (size_t)n) {
        size_t room = vm_channel_scan_room(&c->scan), more = (size_t)n - at < room ? (size_t)n - at : room;
        memcpy(c->scan.bytes + c->scan.have, piece + at, more);
        at += more;
        is_whole = vm_channel_scan_added(&c->scan, more, c->opt.handshake.nonce);
    }
    c->dropped += at;
    n = recv(c->fd, piece, at, MSG_DONTWAIT); /* cannot fail: only we read from it */
    return n == (ssize_t)at ? is_whole : -EPIPE;
}

static void on_readable(void *arg, int events)
{
    struct vm_channel *c = arg;
    struct err err = ERR_INIT;
    (void)events;
    int r = channel_read_reply(c);
    if (r == -EAGAIN || r == -EINTR)
        return;
    if (r < 0) {
        channel_rest(c);
    } else if (r > 0) {
        take_reply(c);
    } else if (c->dropped > (c->path ? DROPPED_MAX : FRESH_MAX)) {
        (void)err_set(&err, ERR_UPSTREAM, 0, "the VM's agent talks, but does not answer");
        channel_finish(c, &err);
    }
}

static void channel_send_handshake(struct vm_channel *c)
{
    struct vm_handshake *h = &c->opt.handshake;
    struct timespec now;
    c->scan.have = 0;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    memcpy(h->magic, VM_HANDSHAKE_MAGIC, VM_HANDSHAKE_MAGIC_LEN);
    h->version = VM_HANDSHAKE_VERSION;
    h->realtime_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    ident_random(&h->nonce, sizeof(h->nonce));
    ident_random(h->seed, sizeof(h->seed));
    if (c->fd < 0 || send(c->fd, h, sizeof(*h), MSG_NOSIGNAL) != (ssize_t)sizeof(*h) ||
        watch_new(c->opt.loop, c->fd, LOOP_READ, on_readable, c, &c->watch) < 0) {
        channel_rest(c);
        return;
    }
    int64_t left = c->ends_ms - loop_now_ms(c->opt.loop);
    timer_set(c->timer, left < c->patience_ms ? left : c->patience_ms, 0);
    c->patience_ms *= 2;
}

static void on_connector(void *arg, int fd, const struct err *err)
{
    struct vm_channel *c = arg;
    c->connector = NULL;
    c->fd = fd;
    if (err)
        channel_finish(c, err);
    else
        channel_send_handshake(c);
}

static void channel_on_timer(void *arg)
{
    struct vm_channel *c = arg;
    struct vsock_connect_where where = { .folder_fd = c->opt.box_fd,
                                         .name = VMM_VSOCK_NAME,
                                         .port = c->opt.port,
                                         .timeout_ms = c->ends_ms - loop_now_ms(c->opt.loop) };
    if (c->fd >= 0) {
        channel_rest(c);
    } else if (c->path) {
        c->fd = unixsock_dial(c->path);
        channel_send_handshake(c);
    } else {
        c->connector = vsock_connect_open(c->opt.loop, &where, on_connector, c);
    }
}

struct vm_channel *vm_channel_open(const struct vm_channel_options *opt, vm_channel_fn *fn, void *arg)
{
    struct vm_channel *c = xzalloc(sizeof(*c));
    *c = (struct vm_channel){ .opt = *opt, .path = xstrdup(opt->path), .fd = NO_FD, .fn = fn, .arg = arg };
    c->opt.path = NULL;
    c->patience_ms = opt->first_ms;
    c->ends_ms = loop_now_ms(opt->loop) + opt->deadline_ms;
    c->timer = timer_new(opt->loop, 0, 0, channel_on_timer, c);
    return c;
}
