/* Theory of operation. A struct agent_conn is one link to a host: an input buffer, an output queue, a buffer that joins
 * requests of several frames, and the list of its streams. The agent owns the links; streams belong to the objects that
 * embed them (exec, reader, writer, tunnel, work).
 *
 * Input: whole frames are taken from the buffer and dispatched; a request opens its stream by its handler, other frames
 * go to the stream's on_frame. Output: frames are queued, large ones written at once when the queue is empty. Above
 * OUT_FULL streams wait for on_ready; above OUT_MAX the link is broken.
 *
 * States: before the handshake → serving → broken. Nothing frees a link inside a call: an error only marks it, and
 * agent_conn_settle() takes it down before the loop sleeps, calling on_drop of each stream once. A serial port goes
 * back to vm_channel.c with its link. Without any link the agent dials the host again, waits for one, or ends when
 * no host can reach it any more. */
#include "agent/conn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/denied.h"
#include "agent/job.h"
#include "agent/listening.h"
#include "agent/request.h"
#include "agent/stream.h"
#include "agent/vm_channel.h"
#include "guest/proto_vm.h"

#define IN_SMALL      4096u                  /* kept by an idle link */
#define IN_BIG        (2u * PROTO_FRAME_MAX) /* while data streams in */
#define OUT_FULL      (512u * 1024)          /* streams wait above this */
#define OUT_MAX       (128u * 1024 * 1024)   /* a host that sends requests and never reads loses its link */
#define WRITE_AT_ONCE 8192u
#define SEND_BYTES    (512 * 1024) /* asked of the kernel, which may give less: fewer turns for large data */
#define REDIAL_MS     100          /* the host's server restarts, or is gone permanently: cheap enough for both */

struct bytes {
    uint8_t *data;
    size_t len, cap, at; /* data[at..len) is valid */
};

struct agent_conn {
    struct agent *agent;
    struct agent_conn *next;
    struct agent_watch watch;
    struct agent_stream *streams;
    uint64_t serial;
    bool is_broken, has_handshake, was_full;
    uint32_t host_caps;
    struct bytes in, out, join; /* join: payloads of a request of several frames */
    struct proto_header joining;
    bool is_joining;
    bool is_port, is_taken_over; /* a handshake arrived at a frame boundary; `in` holds it */
};

static int bytes_reserve(struct bytes *b, size_t cap)
{
    if (b->cap >= cap)
        return 0;
    uint8_t *data = realloc(b->data, cap);
    if (!data)
        return -ENOMEM;
    b->data = data;
    b->cap = cap;
    return 0;
}

static int bytes_append(struct bytes *b, const void *data, size_t len, size_t max)
{
    if (len > max || b->len > max - len)
        return -EMSGSIZE;
    size_t need = b->len + len;
    if (need > b->cap && bytes_reserve(b, need < b->cap * 2 ? b->cap * 2 : need) < 0)
        return -ENOMEM;
    if (len)
        memcpy(b->data + b->len, data, len);
    b->len = need;
    return 0;
}

static void bytes_clear(struct bytes *b)
{
    free(b->data);
    *b = (struct bytes){ 0 };
}

uint8_t *agent_conn_scratch(struct agent *a)
{
    if (!a->scratch) {
        void *mem = mmap(NULL, PROTO_FRAME_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mem == MAP_FAILED)
            abort(); /* 64 KiB failed: the sandbox cannot recover */
        a->scratch = mem;
    }
    return a->scratch;
}

struct agent_conn *agent_conn_next(const struct agent_conn *c)
{
    return c->next;
}

struct agent_stream **agent_conn_streams(struct agent_conn *c)
{
    return &c->streams;
}

bool agent_conn_can(const struct agent_conn *c, uint32_t cap)
{
    return c->host_caps & cap;
}

bool agent_conn_has_handshake(const struct agent_conn *c)
{
    return c->has_handshake && !c->is_broken;
}

uint64_t agent_conn_serial(const struct agent_conn *c)
{
    return c->serial;
}

struct agent *agent_conn_agent(const struct agent_conn *c)
{
    return c->agent;
}

struct agent_conn *agent_conn_by_serial(struct agent *a, uint64_t serial)
{
    for (struct agent_conn *c = a->conns; c; c = c->next)
        if (c->serial == serial && !c->is_broken)
            return c;
    return NULL;
}

void agent_conn_break(struct agent_conn *c)
{
    c->is_broken = true;
}

void agent_conn_break_all(struct agent *a)
{
    for (struct agent_conn *c = a->conns; c; c = c->next)
        agent_conn_break(c);
}

bool agent_conn_is_full(const struct agent_conn *c)
{
    return c->out.len - c->out.at > OUT_FULL;
}

/* --- sending --- */

/* Bytes written; 0 when the link accepts none now or is broken. */
static size_t write_some(struct agent_conn *c, const uint8_t *data, size_t len)
{
    ssize_t n = write(c->watch.fd, data, len);

    if (n >= 0)
        return (size_t)n;
    if (errno != EAGAIN && errno != EINTR)
        agent_conn_break(c);
    return 0;
}

static void conn_flush(struct agent_conn *c)
{
    if (c->out.len > c->out.at && !c->is_broken)
        c->out.at += write_some(c, c->out.data + c->out.at, c->out.len - c->out.at);
    if (c->out.at == c->out.len) {
        c->out.at = c->out.len = 0;
        if (c->out.cap > IN_SMALL)
            bytes_clear(&c->out);
    } else if (c->out.at > OUT_FULL) {
        memmove(c->out.data, c->out.data + c->out.at, c->out.len - c->out.at);
        c->out.len -= c->out.at;
        c->out.at = 0;
    }
}

void agent_conn_send(struct agent_conn *c, const void *frame, size_t len)
{
    size_t done = 0;

    if (c->is_broken)
        return;
    if (len >= WRITE_AT_ONCE) {
        conn_flush(c);
        if (c->out.len == 0)
            done = write_some(c, frame, len);
    }
    if (done < len && bytes_append(&c->out, (const uint8_t *)frame + done, len - done, OUT_MAX) < 0)
        agent_conn_break(c);
    c->was_full |= agent_conn_is_full(c);
}

/* --- receiving --- */
/* One complete message: a frame, or a request joined from several. */
static int take_message(struct agent_conn *c, const struct proto_header *h, const uint8_t *data, size_t len)
{
    if (proto_check(PROTO_FROM_HOST, h->type, data, len) < 0)
        return -EBADMSG;
    if (h->type == PROTO_HANDSHAKE) {
        struct proto_handshake handshake;
        struct proto_reader r;
        if (c->has_handshake || h->stream != 0)
            return -EBADMSG;
        proto_reader_init(&r, data, len);
        proto_get_handshake(&r, &handshake);
        if (proto_reader_end(&r) < 0 || proto_agree(&handshake) == 0)
            return -EBADMSG;
        c->has_handshake = true;
        c->host_caps = handshake.caps;
        agent_job_tell(c->agent, c);
        agent_denied_tell(c->agent);
        agent_listening_tell(c->agent, c);
        return 0;
    }
    if (!c->has_handshake || h->stream == 0)
        return -EBADMSG;
    struct agent_stream *s = agent_stream_find(c, h->stream);
    if (proto_is_request(h->type)) {
        if (s)
            return -EBADMSG;
        struct agent_reply reply = { .agent = c->agent, .conn = c, .pipe_fd = -EBADF, .stream = h->stream };
        agent_request_run(&reply, h->type, data, len);
        return 0;
    }
    if (!s)
        return 0; /* the stream ended while this was under way */
    if (h->type == PROTO_CREDIT)
        return agent_stream_credited(s, data, len);
    if (h->type == PROTO_DROP) {
        agent_stream_close(s);
        s->ops->on_drop(s);
        return 0;
    }
    return s->ops->on_frame(s, h->type, data, len);
}

static int take_frame(struct agent_conn *c, const struct proto_header *h, const uint8_t *data)
{
    bool has_more = h->flags & PROTO_MORE;

    if (!c->is_joining && !has_more)
        return take_message(c, h, data, h->length);
    if (has_more && (!proto_is_request(h->type) || !proto_can_have_more(h->type)))
        return -EBADMSG;
    if (c->is_joining && (h->stream != c->joining.stream || h->type != c->joining.type))
        return -EBADMSG;
    int r = bytes_append(&c->join, data, h->length, PROTO_REQUEST_MAX);
    if (r < 0)
        return r;
    c->is_joining = true;
    c->joining = *h;
    if (has_more)
        return 0;
    c->is_joining = false;
    r = take_message(c, h, c->join.data, c->join.len);
    bytes_clear(&c->join);
    return r;
}

/* Dispatches the complete frames in the buffer and moves the rest to its start. */
static int take_frames(struct agent_conn *c)
{
    struct bytes *in = &c->in;
    struct proto_header h;
    size_t want = PROTO_HEADER;

    while (in->len - in->at >= PROTO_HEADER && !c->is_broken) {
        if (c->is_port && proto_vm_is_magic(in->data + in->at, PROTO_HEADER)) {
            c->is_taken_over = true;
            return -EPIPE;
        }
        int r = proto_header_get(in->data + in->at, &h);
        if (r < 0)
            return r;
        want = PROTO_HEADER + h.length;
        if (in->len - in->at < want)
            break;
        r = take_frame(c, &h, in->data + in->at + PROTO_HEADER);
        if (r < 0)
            return r;
        in->at += want;
        want = PROTO_HEADER;
    }
    if (in->at > 0)
        memmove(in->data, in->data + in->at, in->len - in->at);
    in->len -= in->at;
    in->at = 0;
    /* A frame that does not fit the small buffer announces a stream: use the big one until the link is idle again. */
    if (want > in->cap)
        return bytes_reserve(in, IN_BIG);
    return 0;
}

static void conn_on_ready(struct agent_watch *w, uint32_t events)
{
    struct agent_conn *c = (struct agent_conn *)((char *)w - offsetof(struct agent_conn, watch));

    if (events & EPOLLOUT)
        conn_flush(c);
    if (c->is_broken || !(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        return;
    if (bytes_reserve(&c->in, IN_SMALL) < 0) {
        agent_conn_break(c);
        return;
    }
    ssize_t n = read(c->watch.fd, c->in.data + c->in.len, c->in.cap - c->in.len);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        agent_conn_break(c);
        return;
    }
    bool is_quiet = (size_t)n < c->in.cap - c->in.len;
    c->in.len += (size_t)n;
    if (take_frames(c) < 0)
        agent_conn_break(c);
    else if (is_quiet && c->in.len == 0 && c->in.cap > IN_SMALL)
        bytes_clear(&c->in);
}

static void send_handshake(struct agent_conn *c)
{
    uint8_t handshake[PROTO_HEADER + 32];
    struct proto_writer w;

    proto_frame_begin(&w, handshake, sizeof(handshake));
    proto_put_handshake(&w, PROTO_CAP_CONTENT | PROTO_CAP_WATCH | PROTO_CAP_SFTP | PROTO_CAP_LISTENING |
                                PROTO_CAP_SERVICES | (getpid() == 1 ? PROTO_CAP_END : 0));
    int len = proto_frame_end(&w, 0, PROTO_HANDSHAKE, 0);
    assert(len > 0);
    agent_conn_send(c, handshake, (size_t)len);
}

static int new_conn(struct agent *a, int fd, struct agent_conn **ret)
{
    struct agent_conn *c = calloc(1, sizeof(*c));
    int r = c ? 0 : -ENOMEM;

    if (r == 0 && (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0))
        r = -errno;
    if (r == 0) {
        c->watch = (struct agent_watch){ .fd = fd, .fn = conn_on_ready };
        r = agent_loop_watch(&a->loop, &c->watch, EPOLLIN);
    }
    if (r < 0) {
        free(c);
        return r;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){ SEND_BYTES }, sizeof(int)); /* a serial port has none */
    c->agent = a;
    c->serial = ++a->last_serial;
    c->next = a->conns;
    a->conns = c;
    *ret = c;
    return 0;
}

int agent_conn_new(struct agent *a, int fd)
{
    struct agent_conn *c;
    int r = new_conn(a, fd, &c);
    if (r < 0)
        (void)close(fd);
    else
        send_handshake(c);
    return r;
}

static void free_conn(struct agent_conn *c)
{
    while (c->streams) {
        struct agent_stream *s = c->streams;
        agent_stream_close(s);
        s->ops->on_drop(s);
    }
    if (c->is_port) {
        agent_loop_unwatch(&c->agent->loop, &c->watch);
        bool has_rest = c->is_taken_over;
        agent_vm_channel_link_ended(c->agent, has_rest ? c->in.data + c->in.at : NULL,
                                    has_rest ? c->in.len - c->in.at : 0);
    } else {
        agent_loop_close(&c->agent->loop, &c->watch);
    }
    bytes_clear(&c->in);
    bytes_clear(&c->out);
    bytes_clear(&c->join);
    free(c);
}

static void settle_one(struct agent_conn *c)
{
    conn_flush(c);
    if (c->was_full && !agent_conn_is_full(c) && !c->is_broken) {
        c->was_full = false;
        /* A stream may close itself but not its neighbours, so the next one is saved before the call. */
        for (struct agent_stream *s = c->streams, *next; s && !agent_conn_is_full(c); s = next) {
            next = s->next;
            if (s->ops->on_ready)
                s->ops->on_ready(s);
        }
    }
    conn_flush(c);
    uint32_t events = EPOLLIN | (c->out.len > c->out.at ? EPOLLOUT : 0u);
    if (!c->is_broken && agent_loop_watch(&c->agent->loop, &c->watch, events) < 0)
        agent_conn_break(c);
}

/* May be called while links are being taken down, when nobody else flushes the new one before the loop sleeps. */
int agent_conn_begin(struct agent *a, int fd, const struct agent_conn_begin *b)
{
    struct agent_conn *c;
    int r = new_conn(a, fd, &c);
    if (r < 0)
        return r;
    c->is_port = b->is_port;
    agent_conn_send(c, b->first, b->first_len);
    send_handshake(c);
    if (bytes_append(&c->in, b->rest, b->rest_len, IN_BIG) < 0 || take_frames(c) < 0)
        agent_conn_break(c);
    settle_one(c);
    return 0;
}

void agent_conn_settle(struct agent *a)
{
    for (struct agent_conn *c = a->conns; c; c = c->next)
        settle_one(c);
    for (struct agent_conn **at = &a->conns; *at;) {
        struct agent_conn *c = *at;
        if (!c->is_broken) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        free_conn(c);
    }
    if (!a->conns && a->dial_path && !a->redial.due_ms)
        agent_loop_arm(&a->loop, &a->redial, REDIAL_MS);
    else if (!a->conns && a->listener.fd < 0 && !a->dial_path && !a->vm)
        agent_loop_stop(&a->loop); /* nobody can ever reach us again */
    if (a->is_scratch_dirty && !a->execs && !a->readers) {
        (void)madvise(a->scratch, PROTO_FRAME_MAX, MADV_DONTNEED);
        a->is_scratch_dirty = false;
    }
}

void agent_conn_end_all(struct agent *a)
{
    while (a->conns) {
        struct agent_conn *c = a->conns;
        a->conns = c->next;
        free_conn(c);
    }
    if (a->scratch)
        (void)munmap(a->scratch, PROTO_FRAME_MAX);
    a->scratch = NULL;
}
