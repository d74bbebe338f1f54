/* Theory of operation. A struct tunnel is one TCP connection or UDP socket to a port of the sandbox, with a stream to
 * the host; the stream's owner is the tunnel itself, which frees itself at its end. States: connecting (data from the
 * host is queued, at most one window) → open → each side sends EOF once → DONE. A UDP socket has no end of its own and
 * lives until the host drops it.
 *
 * tunnel_settle() derives the events to wait for from the state after every step, and finishes the tunnel when both
 * directions have ended. Reading stops without credit or when the link is full; credit is returned when the socket has
 * taken the bytes.
 *
 * Addresses are tried one after the other; when all fail, the first error is reported. A tunnel that may wait
 * (TUNNEL_AWAIT) tries all again, after pauses that grow, until the port no longer refuses or the wait has timed out. A
 * socket error ends the tunnel with ERROR; a datagram that cannot be sent is lost. */
#include "agent/tunnel.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/stream.h"

#define ADDRESSES_MAX 2
#define RETRY_MS      2 /* the first pause; each is an eighth of the time so far longer */
#define RETRY_MAX_MS  250

/* Data from the host that the socket has not taken; UDP keeps datagrams apart. */
struct packet {
    struct packet *next;
    size_t len, at;
    uint8_t data[];
};

struct tunnel {
    struct agent_stream stream;
    struct agent_watch watch;
    struct agent *agent;
    bool is_udp, is_open;
    bool has_host_eof, has_sent_fin, has_peer_eof;
    struct sockaddr_storage addresses[ADDRESSES_MAX];
    int n_addresses, next_address;
    struct agent_timer retry;
    uint64_t began_us, wait_us; /* wait_us 0: a port that refuses is an error at once */
    struct packet *packets;
};

#define TUNNEL_OF(ptr, field) ((struct tunnel *)((char *)(ptr)-offsetof(struct tunnel, field)))

static void on_socket(struct agent_watch *w, uint32_t events);

static void free_tunnel(struct tunnel *t)
{
    agent_loop_disarm(&t->agent->loop, &t->retry);
    agent_stream_close(&t->stream);
    agent_loop_close(&t->agent->loop, &t->watch);
    while (t->packets) {
        struct packet *p = t->packets;
        t->packets = p->next;
        free(p);
    }
    free(t);
}

static struct agent_reply reply_of(const struct tunnel *t)
{
    return (struct agent_reply){ .agent = t->agent, .conn = t->stream.conn, .pipe_fd = -EBADF, .stream = t->stream.id };
}

static void tunnel_fail(struct tunnel *t, int error, const char *step)
{
    struct agent_reply r = reply_of(t);

    agent_reply_error(&r, error, "tunnel: %s", step);
    free_tunnel(t);
}

/* Whether bytes may be read from the socket now. */
static bool can_read(const struct tunnel *t)
{
    if (!t->is_open || t->has_peer_eof || agent_conn_is_full(t->stream.conn) || t->stream.can_send == 0)
        return false;
    if (!t->is_udp || t->stream.can_send >= PROTO_PAYLOAD_MAX)
        return true;
    /* A datagram is sent whole: look how long the next one is. */
    return recv(t->watch.fd, NULL, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT) <= (ssize_t)t->stream.can_send;
}

/* Registers for the events of the present state; finishes the tunnel when both directions have ended. May free it. */
static void tunnel_settle(struct tunnel *t)
{
    uint32_t events = (can_read(t) ? EPOLLIN : 0u) | (t->packets || !t->is_open ? EPOLLOUT : 0u);

    if (t->has_peer_eof && t->has_sent_fin) {
        struct agent_reply r = reply_of(t);
        agent_reply_done(&r);
        free_tunnel(t);
        return;
    }
    if (t->watch.fd < 0) /* between two tries */
        return;
    int r = agent_loop_watch(&t->agent->loop, &t->watch, events);
    if (r < 0)
        tunnel_fail(t, -r, "watch");
}

/* --- to the socket --- */

/* 0, or the errno that ends the tunnel. */
static int write_packets(struct tunnel *t)
{
    while (t->packets) {
        struct packet *p = t->packets;
        ssize_t n = send(t->watch.fd, p->data + p->at, p->len - p->at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (n < 0 && !t->is_udp)
            return errno;
        p->at = t->is_udp ? p->len : p->at + (size_t)n; /* a datagram that cannot be sent is lost, as UDP allows */
        if (p->at < p->len)
            continue;
        t->packets = p->next;
        agent_stream_credit(&t->stream, (uint32_t)p->len);
        free(p);
    }
    if (t->has_host_eof && !t->has_sent_fin) {
        (void)shutdown(t->watch.fd, SHUT_WR);
        t->has_sent_fin = true;
    }
    return 0;
}

static int tunnel_on_frame(struct agent_stream *s, uint16_t type, const uint8_t *data, size_t len)
{
    struct tunnel *t = TUNNEL_OF(s, stream);
    struct packet **at = &t->packets;

    if (type == PROTO_TUNNEL_EOF && !t->is_udp && !t->has_host_eof) {
        t->has_host_eof = true;
    } else if (type != PROTO_TUNNEL_DATA || t->has_host_eof || (len == 0 && !t->is_udp) ||
               agent_stream_take(s, len) < 0) {
        return -EBADMSG;
    } else {
        struct packet *p = malloc(sizeof(*p) + len);
        if (!p)
            return -ENOMEM;
        *p = (struct packet){ .len = len };
        if (len)
            memcpy(p->data, data, len);
        while (*at)
            at = &(*at)->next;
        *at = p;
    }
    if (!t->is_open)
        return 0;
    int error = write_packets(t);
    if (error)
        tunnel_fail(t, error, "send");
    else
        tunnel_settle(t);
    return 0;
}

/* --- from the socket --- */

/* Reads once; 0, or the errno that ends the tunnel. */
static int read_socket(struct tunnel *t)
{
    struct proto_writer w;
    size_t room = t->stream.can_send < PROTO_PAYLOAD_MAX ? t->stream.can_send : PROTO_PAYLOAD_MAX;

    proto_frame_begin(&w, agent_conn_scratch(t->agent), PROTO_FRAME_MAX);
    ssize_t n = recv(t->watch.fd, w.data + w.len, room, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR || t->is_udp)) /* UDP: a port that refuses now may answer later */
        return 0;
    if (n < 0)
        return errno;
    uint16_t type = n == 0 && !t->is_udp ? PROTO_TUNNEL_EOF : PROTO_TUNNEL_DATA;
    t->has_peer_eof = type == PROTO_TUNNEL_EOF;
    w.len += (size_t)n;
    t->stream.can_send -= (uint32_t)n;
    t->agent->is_scratch_dirty |= n > 4096;
    int len = proto_frame_end(&w, t->stream.id, type, 0);
    assert(len > 0);
    agent_conn_send(t->stream.conn, w.data, (size_t)len);
    return 0;
}

static void tunnel_on_ready(struct agent_stream *s)
{
    tunnel_settle(TUNNEL_OF(s, stream));
}

static void tunnel_on_drop(struct agent_stream *s)
{
    free_tunnel(TUNNEL_OF(s, stream));
}

static const struct agent_stream_ops tunnel_ops = { .on_frame = tunnel_on_frame,
                                                    .on_ready = tunnel_on_ready,
                                                    .on_drop = tunnel_on_drop };

/* --- opening --- */
static int try_address(struct tunnel *t)
{
    const struct sockaddr *addr = (const struct sockaddr *)&t->addresses[t->next_address++];
    socklen_t len = addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    int one = 1;

    agent_loop_close(&t->agent->loop, &t->watch);
    int fd = socket(addr->sa_family, (t->is_udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    t->watch = (struct agent_watch){ .fd = fd, .fn = on_socket };
    if (!t->is_udp)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(fd, addr, len) < 0 && errno != EINPROGRESS)
        return -errno;
    return 0;
}

/* Whether all of it is tried again later. */
static bool tunnel_waits(struct tunnel *t)
{
    uint64_t past_us = agent_loop_now_us() - t->began_us, pause_ms = RETRY_MS + past_us / 8000;

    if (past_us >= t->wait_us)
        return false;
    agent_loop_close(&t->agent->loop, &t->watch);
    t->next_address = 0;
    agent_loop_arm(&t->agent->loop, &t->retry, pause_ms < RETRY_MAX_MS ? pause_ms : RETRY_MAX_MS);
    return true;
}

/* Tries the remaining addresses, or fails the tunnel with the first one's error. */
static void tunnel_connect_next(struct tunnel *t, int error)
{
    while (t->next_address < t->n_addresses) {
        int r = try_address(t);
        if (r == 0) {
            tunnel_settle(t);
            return;
        }
        error = error ? error : -r;
    }
    if (error != ECONNREFUSED || !tunnel_waits(t))
        tunnel_fail(t, error, "connect");
}

static void on_retry(struct agent_timer *timer)
{
    tunnel_connect_next(TUNNEL_OF(timer, retry), 0);
}

static void finish_connect(struct tunnel *t)
{
    int error = 0;
    socklen_t len = sizeof(error);

    if (getsockopt(t->watch.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        error = errno;
    if (error) {
        tunnel_connect_next(t, error);
        return;
    }
    struct agent_reply r = reply_of(t);
    t->is_open = true;
    agent_reply_empty(&r, PROTO_TUNNEL_OPENED);
    error = write_packets(t);
    if (error)
        tunnel_fail(t, error, "send");
    else
        tunnel_settle(t);
}

static void on_socket(struct agent_watch *w, uint32_t events)
{
    struct tunnel *t = TUNNEL_OF(w, watch);
    int error = 0;

    if (!t->is_open) {
        finish_connect(t);
        return;
    }
    if (events & EPOLLOUT)
        error = write_packets(t);
    if (!error && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && can_read(t))
        error = read_socket(t);
    /* A reset while we may not read: nothing more will come, and the event would repeat forever. */
    else if (!error && (events & EPOLLERR) && !t->is_udp)
        error = ECONNRESET;
    if (error)
        tunnel_fail(t, error, "connection");
    else
        tunnel_settle(t);
}

void agent_tunnel_start(struct agent_reply *r, uint16_t type, const uint8_t *data, size_t len)
{
    struct proto_reader in;

    proto_reader_init(&in, data, len);
    uint32_t wait_ms = type == PROTO_TUNNEL_AWAIT ? proto_get_u32(&in) : 0;
    bool is_udp = proto_get_u8(&in);
    uint16_t port = proto_get_u16(&in);
    const char *host = proto_get_str(&in, PROTO_PATH_MAX);
    struct tunnel *t = calloc(1, sizeof(*t));
    if (!t) {
        agent_reply_error(r, ENOMEM, "tunnel to port %u", port);
        return;
    }
    t->agent = r->agent;
    t->watch.fd = -EBADF;
    t->is_udp = is_udp;
    t->retry.fn = on_retry;
    t->began_us = agent_loop_now_us();
    t->wait_us = (uint64_t)wait_ms * 1000;
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    bool is_v4 = inet_pton(AF_INET, host[0] ? host : "127.0.0.1", &v4.sin_addr) == 1;
    bool is_v6 = inet_pton(AF_INET6, host[0] ? host : "::1", &v6.sin6_addr) == 1;
    if (is_v4)
        memcpy(&t->addresses[t->n_addresses++], &v4, sizeof(v4));
    if (is_v6 && !(is_v4 && is_udp)) /* a UDP socket always connects, so a fallback would never be tried */
        memcpy(&t->addresses[t->n_addresses++], &v6, sizeof(v6));
    if (port == 0 || t->n_addresses == 0) {
        agent_reply_error(r, EINVAL, "tunnel to %s port %u: not a numeric address and a port", host, port);
        free(t);
        return;
    }
    agent_stream_open(&t->stream, r->conn, r->stream, &tunnel_ops);
    tunnel_connect_next(t, 0);
}
