/* Theory of operation. A guest_link is the host's connection to one agent. It owns the descriptor, the table of open
 * calls (link_stream by id) and the send queue; the calls belong to link_*.c, which embed the stream. refs counts the
 * owner, a running dispatch and a deferred failure, so a callback may free the link.
 *
 * One recv reads up to 64 KiB and dispatches every complete frame in it; the start of an incomplete frame is kept in
 * heap memory of just that size, so an idle link holds no buffer. A frame is sent at once; only what the socket does
 * not accept is queued.
 *
 * States: open → broken → freed. Any error breaks the link: the descriptor is closed at once, and the open calls
 * fail from a deferred call, so user code never runs inside the call that found the error. A link that keeps the
 * loop busy rests, so that one sandbox's output cannot starve the others. */
#include "guest/link.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "guest/link_core.h"

#define LINK_MAGIC    0x4c696e6bu
#define RECV_MAX      PROTO_FRAME_MAX /* so that one turn delays others only briefly */
#define LARGE_FRAME   16384u          /* so much of a frame is not copied twice */
#define SEND_BYTES    (512 * 1024)    /* asked of the kernel, which may give less */
#define BUSY_US       1000            /* time in the loop after which a link has to rest */
#define BUSY_TURN_US  100             /* a turn this long makes each call of others wait that long, several times */
#define REST_MS       1
#define BUCKETS_LEAST 16u

struct guest_link {
    uint32_t magic;
    unsigned refs; /* the owner's, the running dispatch's and the deferred failure's */
    struct loop *loop;
    int fd;
    struct watch *watch;
    guest_gone_fn *on_gone;
    guest_why_fn *on_why;
    void *arg;
    struct err err; /* why it broke */
    bool is_broken, is_freed, has_handshake;
    void (*denied_fn)(void *arg, const struct guest_denied *d);
    void *denied_arg;
    guest_listening_fn *listening_fn;
    void *listening_arg;
    int64_t await_until_ms; /* until then tunnels wait for ports that refuse */
    unsigned version;       /* agreed with the agent; 0 before its HANDSHAKE */
    uint32_t caps;          /* PROTO_CAP_*: what it can do */

    struct link_stream **buckets; /* NULL while no call is open; a power of two of them */
    uint32_t bucket_count, stream_count, own_count, last_id;
    bool has_wrapped; /* last_id passed 2^32: any id may have been used */
    struct link_stream *waiting;

    struct buf out; /* unsent bytes from out_sent on */
    size_t out_sent;
    uint8_t *rest; /* the start of a frame whose end has not come */
    size_t rest_len;
    int64_t busy_us, looked_us; /* recent time spent on its frames; when that was last updated */
    struct timer *rest_timer;   /* made at the first rest */
    bool is_resting;            /* not reading: others have their turn */
    int64_t used_ms;            /* see guest_link_used_ms() */
    struct link_time time;
    struct link_jobs jobs;
    struct link_services services;
};

/* --- life --- */

static void link_unref(struct guest_link *g)
{
    if (--g->refs)
        return;
    g->magic = 0;
    buf_done(&g->out);
    free(g->rest);
    free(g->buckets);
    free(g);
}

static void link_disconnect(struct guest_link *g)
{
    g->watch = watch_free(g->watch);
    g->rest_timer = timer_free(g->rest_timer);
    g->time.timer = timer_free(g->time.timer);
    close_fd_p(&g->fd);
    g->fd = NO_FD;
    buf_done(&g->out);
    g->out_sent = 0;
}

static void link_fail_all(void *arg)
{
    struct guest_link *g = arg;
    assert(g->magic == LINK_MAGIC);
    if (!g->is_freed && g->on_why)
        g->on_why(g->arg, &g->err);
    for (uint32_t i = 0; i < g->bucket_count; i++) /* a broken link accepts no new calls, so one pass finds all */
        for (struct link_stream *s; (s = g->buckets[i]);) {
            link_close(s);
            s->kind->on_fail(s, &g->err);
        }
    if (!g->is_freed && g->on_gone)
        g->on_gone(g->arg, &g->err);
    link_unref(g);
}

/* Closes the connection for the reason in g->err. */
static void break_link(struct guest_link *g)
{
    if (g->is_broken)
        return;
    g->is_broken = true;
    link_disconnect(g);
    g->refs++;
    loop_defer(g->loop, link_fail_all, g);
}

void guest_link_fail(struct guest_link *g, const struct err *err)
{
    if (g->is_broken)
        return;
    g->err = *err;
    break_link(g);
}

void guest_link_on_why(struct guest_link *g, guest_why_fn *fn)
{
    g->on_why = fn;
}

bool link_can(const struct guest_link *g, uint32_t cap)
{
    return g->caps & cap;
}

unsigned guest_link_version(const struct guest_link *g)
{
    return g->version;
}

struct guest_link *guest_link_free(struct guest_link *g)
{
    if (!g)
        return NULL;
    assert(g->magic == LINK_MAGIC && !g->is_freed);
    g->is_freed = true;
    if (!g->is_broken) {
        (void)err_set(&g->err, ERR_GONE, 0, "the sandbox was stopped during the call");
        if (g->stream_count)
            break_link(g);
        else
            link_disconnect(g);
        g->is_broken = true;
    }
    link_unref(g);
    return NULL;
}

/* --- the table of open calls --- */

static struct link_stream **bucket_of(const struct guest_link *g, uint32_t id)
{
    return &g->buckets[id & (g->bucket_count - 1)]; /* ids are consecutive, so they need no hash */
}

static struct link_stream *find_stream(const struct guest_link *g, uint32_t id)
{
    struct link_stream *s = g->bucket_count ? *bucket_of(g, id) : NULL;
    while (s && s->id != id)
        s = s->next;
    return s;
}

static void put_stream(struct guest_link *g, struct link_stream *s)
{
    struct link_stream **b = bucket_of(g, s->id);
    s->next = *b;
    *b = s;
}

static void add_stream(struct guest_link *g, struct link_stream *s)
{
    if (g->stream_count >= g->bucket_count) {
        struct link_stream **old = g->buckets;
        uint32_t old_count = g->bucket_count;
        g->bucket_count = old_count ? old_count * 2 : BUCKETS_LEAST;
        g->buckets = xzalloc(g->bucket_count * sizeof(struct link_stream *));
        for (uint32_t i = 0; i < old_count; i++)
            for (struct link_stream *o = old[i], *next; o; o = next) {
                next = o->next;
                put_stream(g, o);
            }
        free(old);
    }
    do {
        g->last_id++;
        g->has_wrapped |= g->last_id == 0;
    } while (g->last_id == 0 || find_stream(g, g->last_id));
    s->id = g->last_id;
    s->link = g;
    put_stream(g, s);
    g->stream_count++;
}

static void stop_waiting(struct link_stream *s)
{
    if (!s->is_waiting)
        return;
    *(s->waiting_prev ? &s->waiting_prev->waiting_next : &s->link->waiting) = s->waiting_next;
    if (s->waiting_next)
        s->waiting_next->waiting_prev = s->waiting_prev;
    s->waiting_prev = s->waiting_next = NULL;
    s->is_waiting = false;
}

void link_close(struct link_stream *s)
{
    assert(s->id);
    stop_waiting(s);
    struct link_stream **at = bucket_of(s->link, s->id);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    s->link->stream_count--;
    s->link->own_count -= s->is_own;
    s->id = 0;
}

void link_drop(struct link_stream *s)
{
    link_post(s, PROTO_DROP, NULL, NULL, 0);
    link_close(s);
}

/* --- sending --- */

static size_t link_queued(const struct guest_link *g)
{
    return g->out.len - g->out_sent;
}

static void send_frame(struct guest_link *g, struct iovec *iov, int count)
{
    size_t total = 0, sent = 0;
    for (int i = 0; i < count; i++)
        total += iov[i].iov_len;
    if (!link_queued(g)) {
        struct msghdr msg = { .msg_iov = iov, .msg_iovlen = (size_t)count };
        ssize_t n = sendmsg(g->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            (void)err_set(&g->err, ERR_UPSTREAM, errno, "send to the sandbox's agent");
            break_link(g);
            return;
        }
        sent = n > 0 ? (size_t)n : 0;
    }
    if (sent == total)
        return;
    if (g->out_sent > g->out.len / 2) {
        buf_consume(&g->out, g->out_sent);
        g->out_sent = 0;
    }
    int r = 0;
    for (int i = 0; r >= 0 && i < count; i++) {
        size_t skip = sent < iov[i].iov_len ? sent : iov[i].iov_len;
        sent -= skip;
        r = buf_add(&g->out, (const char *)iov[i].iov_base + skip, iov[i].iov_len - skip);
    }
    if (r >= 0) {
        watch_set(g->watch, (g->is_resting ? 0 : LOOP_READ) | LOOP_WRITE);
    } else {
        (void)err_set(&g->err, ERR_UPSTREAM, 0,
                      "the sandbox's agent does not read: %zu bytes are queued, the limit is %u", link_queued(g),
                      LINK_QUEUE_MAX);
        break_link(g);
    }
}

/* Sends one frame of fields and data in a single system call. */
static void frame_post(struct guest_link *g, const struct proto_header *h, struct iovec fields, struct iovec data)
{
    if (g->is_broken)
        return;
    uint8_t header[PROTO_HEADER];
    proto_header_put(header, h);
    struct iovec iov[3] = { { .iov_base = header, .iov_len = sizeof(header) } };
    int count = 1;
    if (fields.iov_len)
        iov[count++] = fields;
    if (data.iov_len)
        iov[count++] = data;
    send_frame(g, iov, count);
}

static struct iovec iov_piece(const void *data, size_t len)
{
    return (struct iovec){ .iov_base = (void *)(uintptr_t)data, .iov_len = len }; /* sendmsg only reads it */
}

void link_post(struct link_stream *s, uint16_t type, const struct proto_writer *fields, const void *data, size_t len)
{
    assert(s->id);
    struct iovec first = fields ? iov_piece(fields->data, fields->len) : iov_piece(NULL, 0);
    struct proto_header h = { .length = (uint32_t)(first.iov_len + len), .stream = s->id, .type = type };
    s->link->used_ms = loop_now_ms(s->link->loop);
    frame_post(s->link, &h, first, iov_piece(data, len));
}

int link_request(struct guest_link *g, struct link_stream *s, uint16_t type, const struct proto_writer *fields,
                 const void *data, size_t len)
{
    assert(g->magic == LINK_MAGIC);
    if (g->is_broken)
        return -EPIPE;
    struct iovec first = fields ? iov_piece(fields->data, fields->len) : iov_piece(NULL, 0);
    size_t total = first.iov_len + len, at = 0;
    /* The agent's own check: a caller's bad argument must not become a protocol error that breaks the link. */
    if ((fields && fields->is_full) || proto_check(PROTO_FROM_HOST, type, first.iov_base, first.iov_len) < 0)
        return -EINVAL;
    if (total > (proto_can_have_more(type) ? PROTO_REQUEST_MAX : PROTO_PAYLOAD_MAX))
        return -EINVAL;
    if (link_queued(g) + total > LINK_QUEUE_REQUEST || g->stream_count >= LINK_STREAMS_MAX)
        return -EBUSY;
    s->is_own = type == PROTO_PING || type == PROTO_USAGE || type == PROTO_RESEED || type == PROTO_HOSTNAME;
    add_stream(g, s);
    g->own_count += s->is_own;
    link_time_begin(s, type);
    if (!s->is_own)
        g->used_ms = loop_now_ms(g->loop);
    /* In as many frames as it takes: fields and data are one run of bytes. */
    do {
        size_t n = total - at < PROTO_PAYLOAD_MAX ? total - at : PROTO_PAYLOAD_MAX;
        size_t n_fields = at >= first.iov_len ? 0 : first.iov_len - at;
        n_fields = n_fields < n ? n_fields : n;
        size_t data_at = at + n_fields - first.iov_len; /* used only when data is in this frame */
        struct proto_header h = {
            .length = (uint32_t)n, .stream = s->id, .type = type, .flags = at + n < total ? PROTO_MORE : 0
        };
        frame_post(g, &h, n_fields ? iov_piece((const char *)first.iov_base + at, n_fields) : iov_piece(NULL, 0),
                   n > n_fields ? iov_piece((const char *)data + data_at, n - n_fields) : iov_piece(NULL, 0));
        at += n;
    } while (at < total);
    return 0; /* a failed send has broken the link, and s fails with all others */
}

int64_t guest_link_used_ms(const struct guest_link *g)
{
    return g->used_ms;
}

bool guest_link_is_busy(const struct guest_link *g)
{
    return g->stream_count > g->own_count;
}

static void on_can_write(struct guest_link *g)
{
    if (link_queued(g)) {
        ssize_t n = send(g->fd, g->out.data + g->out_sent, link_queued(g), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            (void)err_set(&g->err, ERR_UPSTREAM, errno, "send to the sandbox's agent");
            break_link(g);
            return;
        }
        g->out_sent += n > 0 ? (size_t)n : 0;
    }
    if (!link_queued(g)) {
        buf_done(&g->out);
        buf_init(&g->out, LINK_QUEUE_MAX);
        g->out_sent = 0;
        watch_set(g->watch, g->is_resting ? 0 : LOOP_READ);
    }
    /* Resumes streams that waited for the queue, as long as it stays short. */
    while (g->waiting && link_queued(g) < LINK_QUEUE_DATA && !g->is_broken) {
        struct link_stream *s = g->waiting;
        stop_waiting(s);
        s->kind->on_room(s);
    }
}

bool link_has_room(struct link_stream *s)
{
    struct guest_link *g = s->link;
    if (g->is_broken)
        return false;
    if (link_queued(g) < LINK_QUEUE_DATA)
        return true;
    if (!s->is_waiting) {
        s->waiting_next = g->waiting;
        if (g->waiting)
            g->waiting->waiting_prev = s;
        g->waiting = s;
        s->is_waiting = true;
    }
    return false;
}

/* --- receiving --- */

static int on_denied_frame(struct guest_link *g, const uint8_t *payload, size_t len)
{
    struct proto_reader r;
    struct guest_denied d;
    proto_reader_init(&r, payload, len);
    d.nr = proto_get_u32(&r);
    d.arch = proto_get_u32(&r);
    d.error = proto_get_u32(&r);
    d.pid = proto_get_u32(&r);
    d.count = proto_get_u64(&r);
    d.lost = proto_get_u64(&r);
    d.program = proto_get_str(&r, GUEST_PROGRAM_MAX);
    if (proto_reader_end(&r) < 0 || d.error == 0 || d.error >= 4096 || d.count > LIMIT_MAX(WHOLE) ||
        d.lost > LIMIT_MAX(WHOLE))
        return -EBADMSG;
    if (g->denied_fn)
        g->denied_fn(g->denied_arg, &d);
    return 0;
}

static int on_listening_frame(struct guest_link *g, const uint8_t *payload, size_t len)
{
    struct proto_reader r;
    struct guest_listener rows[PROTO_LISTENERS_MAX];
    size_t n = 0;
    proto_reader_init(&r, payload, len);
    for (; r.left && !r.is_bad; n++) {
        struct proto_listener l;
        uint8_t address[16];
        if (n == PROTO_LISTENERS_MAX)
            return -EBADMSG;
        proto_get_listener(&r, &l);
        if (inet_pton(AF_INET, l.address, address) != 1 && inet_pton(AF_INET6, l.address, address) != 1)
            return -EBADMSG;
        rows[n] = (struct guest_listener){ .port = l.port, .pid = l.pid, .address = l.address, .program = l.program };
    }
    if (proto_reader_end(&r) < 0)
        return -EBADMSG;
    if (g->listening_fn)
        g->listening_fn(g->listening_arg, rows, n);
    return 0;
}

static int on_connection_frame(struct guest_link *g, const struct proto_header *h, const uint8_t *payload)
{
    if (h->type == PROTO_JOB_EXIT)
        return link_jobs_on_exit(&g->jobs, payload, h->length);
    if (h->type == PROTO_SERVICE_STATE)
        return link_services_on_state(&g->services, payload, h->length);
    if (h->type == PROTO_DENIED)
        return on_denied_frame(g, payload, h->length);
    if (h->type == PROTO_LISTENING)
        return on_listening_frame(g, payload, h->length);
    if (h->type != PROTO_HANDSHAKE || g->has_handshake)
        return -EBADMSG;
    struct proto_reader r;
    struct proto_handshake handshake;
    proto_reader_init(&r, payload, h->length);
    proto_get_handshake(&r, &handshake);
    if (handshake.magic != PROTO_MAGIC)
        return -EBADMSG;
    g->version = proto_agree(&handshake);
    if (g->version == 0)
        return -EPROTONOSUPPORT;
    g->caps = handshake.caps;
    g->has_handshake = true;
    return 0;
}

/* One complete frame. -EBADMSG: not of this protocol, or not allowed now. */
static int link_on_frame(struct guest_link *g, const struct proto_header *h, const uint8_t *payload)
{
    if (proto_check(PROTO_FROM_GUEST, h->type, payload, h->length) < 0)
        return -EBADMSG;
    if (((h->flags & PROTO_MORE) && !proto_can_have_more(h->type)) || (!g->has_handshake && h->type != PROTO_HANDSHAKE))
        return -EBADMSG;
    if (h->stream == 0)
        return on_connection_frame(g, h, payload);
    struct link_stream *s = find_stream(g, h->stream);
    if (!s)
        return h->stream <= g->last_id || g->has_wrapped ? 0 : -EBADMSG; /* was under way when we dropped it */
    return s->kind->on_frame(s, h, payload);
}

static void say_broken(struct guest_link *g, int r, const struct proto_header *h)
{
    if (g->is_broken)
        return;
    if (r == -EMSGSIZE)
        (void)err_set(&g->err, ERR_UPSTREAM, 0, "the sandbox's agent broke the protocol: a frame above %u bytes",
                      PROTO_PAYLOAD_MAX);
    else if (r == -EPROTONOSUPPORT)
        (void)err_set(&g->err, ERR_UPSTREAM, 0,
                      "the sandbox's agent supports no protocol version from %d to %d: create the sandbox again",
                      PROTO_OLDEST, PROTO_VERSION);
    else
        (void)err_set(&g->err, ERR_UPSTREAM, 0,
                      "the sandbox's agent broke the protocol: frame %s (type %u, %u bytes) on stream %u",
                      proto_name(h->type), h->type, h->length, h->stream);
    break_link(g);
}

/* Dispatches the complete frames at the start of data; returns their size. Stops when the link breaks. */
static size_t take_frames(struct guest_link *g, const uint8_t *data, size_t len)
{
    size_t at = 0;
    while (len - at >= PROTO_HEADER && !g->is_broken) {
        struct proto_header h = { .length = 0 };
        int r = proto_header_get(data + at, &h);
        if (r == 0 && len - at - PROTO_HEADER < h.length)
            break;
        if (r == 0)
            r = link_on_frame(g, &h, data + at + PROTO_HEADER);
        if (r < 0) {
            say_broken(g, r, &h);
            break;
        }
        at += PROTO_HEADER + h.length;
    }
    return at;
}

/* Of a large frame that has begun only its rest, so that the next one is handled where it was received. */
static size_t receive_size(const struct guest_link *g)
{
    struct proto_header h;
    if (g->rest_len < LARGE_FRAME || proto_header_get(g->rest, &h) < 0)
        return RECV_MAX;
    return PROTO_HEADER + h.length - g->rest_len;
}

static void on_can_read(struct guest_link *g)
{
    /* On the stack and not cleared: a thousand idle links would otherwise hold 320 MiB, or each wake-up write 320
     * KiB. */
    uint8_t mem[PROTO_FRAME_MAX + RECV_MAX] __attribute__((uninitialized));
    ssize_t n = recv(g->fd, mem + g->rest_len, receive_size(g), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        int sys = n < 0 ? errno : 0;
        (void)err_set(&g->err, ERR_UPSTREAM, sys, "the sandbox's agent has exited");
        break_link(g);
        return;
    }
    size_t len = g->rest_len + (size_t)n;
    if (g->rest_len) {
        memcpy(mem, g->rest, g->rest_len);
        free(STEAL(g->rest));
        g->rest_len = 0;
    }
    size_t used = take_frames(g, mem, len);
    if (used == len || g->is_broken)
        return;
    g->rest = try_alloc(len - used);
    if (!g->rest) {
        (void)err_set(&g->err, ERR_CAPACITY, ENOMEM, "receive from the sandbox's agent");
        break_link(g);
        return;
    }
    g->rest_len = len - used;
    memcpy(g->rest, mem + used, g->rest_len);
}

static void on_rested(void *arg)
{
    struct guest_link *g = arg;
    assert(g->magic == LINK_MAGIC);
    g->is_resting = false;
    watch_set(g->watch, LOOP_READ | (link_queued(g) ? LOOP_WRITE : 0));
}

/* A sandbox that floods its output would keep the loop busy: every turn would start with its next 64 KiB. So no link
 * gets more than half of the time, unless it is the only one that asks for more and the loop handles its frames fast
 * (a plain file). */
static void take_turn(struct guest_link *g)
{
    int64_t begun = clock_mono_us(), idle = begun - g->looked_us;
    g->busy_us = g->busy_us > idle ? g->busy_us - idle : 0;
    on_can_read(g);
    g->looked_us = clock_mono_us();
    int64_t took = g->looked_us - begun;
    g->busy_us += took;
    if (g->is_broken || g->busy_us < BUSY_US)
        return;
    bool is_contended = loop_others_are_busy(g->loop, g);
    if (took < BUSY_TURN_US && !is_contended) {
        g->busy_us = BUSY_US;
        return;
    }
    if (!g->rest_timer)
        g->rest_timer = timer_new(g->loop, -1, 0, on_rested, g);
    if (!g->rest_timer)
        return;
    g->is_resting = true;
    timer_set(g->rest_timer, REST_MS, 0);
    watch_set(g->watch, link_queued(g) ? LOOP_WRITE : 0);
}

static void link_on_ready(void *arg, int events)
{
    struct guest_link *g = arg;
    assert(g->magic == LINK_MAGIC);
    g->refs++; /* a callback may free the link */
    if (events & (LOOP_READ | LOOP_HUP))
        take_turn(g);
    if ((events & LOOP_WRITE) && !g->is_broken)
        on_can_write(g);
    link_unref(g);
}

int guest_link_new(struct loop *l, int fd, guest_gone_fn *on_gone, void *arg, struct guest_link **ret)
{
    struct guest_link *g = xzalloc(sizeof(*g));
    *g = (struct guest_link){ .magic = LINK_MAGIC, .refs = 1, .loop = l, .fd = NO_FD, .on_gone = on_gone, .arg = arg };
    buf_init(&g->out, LINK_QUEUE_MAX);
    link_time_init(&g->time);
    int r = watch_new(l, fd, LOOP_READ, link_on_ready, g, &g->watch);
    if (r < 0) {
        link_unref(g);
        return r;
    }
    g->fd = fd;
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){ SEND_BYTES }, sizeof(int));
    uint8_t mem[64];
    struct proto_writer w;
    proto_frame_begin(&w, mem, sizeof(mem));
    proto_put_handshake(&w, PROTO_CAP_DENIED | PROTO_CAP_LISTENING | PROTO_CAP_SERVICES);
    int n = proto_frame_end(&w, 0, PROTO_HANDSHAKE, 0);
    assert(n > 0);
    struct iovec handshake = { .iov_base = mem, .iov_len = (size_t)n };
    send_frame(g, &handshake, 1);
    *ret = g;
    return 0;
}

void guest_on_denied(struct guest_link *g, void (*fn)(void *arg, const struct guest_denied *d), void *arg)
{
    g->denied_fn = fn;
    g->denied_arg = arg;
}

void guest_on_listening(struct guest_link *g, guest_listening_fn *fn, void *arg)
{
    g->listening_fn = fn;
    g->listening_arg = arg;
}

void guest_await_ports(struct guest_link *g, int64_t ms)
{
    int64_t until = loop_now_ms(g->loop) + ms;
    g->await_until_ms = until > g->await_until_ms ? until : g->await_until_ms;
}

int64_t guest_ports_wait_ms(const struct guest_link *g)
{
    int64_t left = g->await_until_ms - loop_now_ms(g->loop);
    /* Before its handshake: whoever asks for the wait has just started this agent, which is of this release. */
    return left > 0 && (!g->has_handshake || link_can(g, PROTO_CAP_LISTENING)) ? left : 0;
}

struct link_services *link_services(struct guest_link *g)
{
    return &g->services;
}

struct link_jobs *link_jobs(struct guest_link *g)
{
    return &g->jobs;
}

struct link_time *link_time(struct guest_link *g)
{
    return &g->time;
}

struct loop *link_loop(struct guest_link *g)
{
    return g->loop;
}

struct link_stream *link_find(struct guest_link *g, uint32_t id)
{
    return find_stream(g, id);
}

void link_each(struct guest_link *g, link_each_fn *fn, void *arg)
{
    for (uint32_t i = 0; i < g->bucket_count; i++)
        for (struct link_stream *s = g->buckets[i]; s; s = s->next)
            fn(arg, s);
}

void link_hold(struct guest_link *g)
{
    g->refs++;
}

void link_unhold(struct guest_link *g)
{
    link_unref(g);
}

bool link_is_broken(const struct guest_link *g)
{
    return g->is_broken;
}
