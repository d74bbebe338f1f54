/* Theory of operation. In either direction at most one piece is in transit. A piece that could not be passed on
 * completely waits in a buffer and nothing more is read from that side, so a slow reader slows its writer and holds no
 * memory. The watches follow from the state (pump_step()). A step moves a bounded number of pieces, so one busy
 * session cannot starve the others. The pump owns both descriptors. States: handshake, open, lingering; end of file is
 * passed on one direction at a time. Output that does not move for STALL_MS, or any TLS error, ends the session:
 * on_end, then both descriptors close. */
#include "tls/tls_pump.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/buf.h"

enum {
    PUMP_MAGIC = 0x7159a901,
    PIECE = 16384, /* the largest TLS record: after one SSL_read() nothing stays inside */
    ROUNDS = 8,
    PAIR_BYTES = 131072,
    STALL_MS = 60000, /* output that does not move */
    LINGER_MS = 5000, /* the plain side has closed; the peer has not */
    DISCARD_MAX = 1 << 20,
    HANDSHAKE_RECORD = 0x16,
};

enum state { SHAKING, OPEN, LINGERING };

struct tls_pump {
    unsigned magic, refs;
    struct loop *loop;
    struct tls_pump_events events;
    void *arg;
    SSL *ssl;
    int net, plain, other; /* other: the end that on_ready hands over */
    struct watch *net_watch, *plain_watch;
    struct timer *timer;
    struct loop_end *end; /* only when nobody owns it */
    struct buf in, out;   /* from the net, to the net */
    enum state state;
    size_t discarded;
    bool is_server, is_looked_at, is_freed;
    bool is_net_over, is_plain_over; /* end of file from that side */
    bool is_net_shut, is_plain_shut; /* end of file passed on to that side */
    bool is_out_waiting;             /* the timer runs because of out */
};

static void net_event(void *arg, int events);
static void plain_event(void *arg, int events);

/* --- life --- */

static void pump_unref(struct tls_pump *p)
{
    assert(p->magic == PUMP_MAGIC);
    if (--p->refs)
        return;
    p->magic = 0;
    free(p);
}

static void close_all(struct tls_pump *p)
{
    p->is_freed = true;
    p->net_watch = watch_free(p->net_watch);
    p->plain_watch = watch_free(p->plain_watch);
    p->timer = timer_free(p->timer);
    p->end = loop_end_free(p->end);
    SSL_free(p->ssl);
    p->ssl = NULL;
    int *const fds[] = { &p->net, &p->plain, &p->other };
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (*fds[i] >= 0)
            (void)close(steal_fd(fds[i]));
    buf_done(&p->in);
    buf_done(&p->out);
    pump_unref(p);
}

static void pump_finish(struct tls_pump *p, const char *why)
{
    if (p->is_freed)
        return;
    p->refs++;
    close_all(p);
    if (p->events.on_end)
        p->events.on_end(p->arg, p, why);
    pump_unref(p);
}

static int set_host(SSL *ssl, const char *host)
{
    unsigned char raw[sizeof(struct in6_addr)];
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (inet_pton(AF_INET, host, raw) == 1 || inet_pton(AF_INET6, host, raw) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
    return SSL_set_tlsext_host_name(ssl, host) == 1 ? SSL_set1_host(ssl, host) : 0;
}

int tls_pump_new(struct loop *l, SSL_CTX *ctx, int net_fd, const char *host, struct tls_pump **ret)
{
    struct tls_pump *p = xzalloc(sizeof *p);
    *p = (struct tls_pump){ .magic = PUMP_MAGIC, .refs = 1, .loop = l, .net = net_fd, .plain = NO_FD, .other = NO_FD };
    p->is_server = !host;
    buf_init(&p->in, PIECE);
    buf_init(&p->out, PIECE);
    p->ssl = SSL_new(ctx);
    int r = p->ssl && SSL_set_fd(p->ssl, net_fd) == 1 && (!host || set_host(p->ssl, host) == 1) ? 0 : -ENOMEM;
    if (r == 0)
        r = watch_new(l, net_fd, 0, net_event, p, &p->net_watch);
    if (r < 0) {
        ERR_clear_error();
        close_all(p);
        return r;
    }
    if (host)
        SSL_set_connect_state(p->ssl);
    else
        SSL_set_accept_state(p->ssl);
    *ret = p;
    return 0;
}

void tls_pump_start(struct tls_pump *p, const struct tls_pump_events *events, void *arg)
{
    p->events = *events;
    p->arg = arg;
    watch_set(p->net_watch, p->is_server ? LOOP_READ : LOOP_WRITE);
}

int tls_pump_version(const struct tls_pump *p)
{
    return p->ssl ? SSL_version(p->ssl) : 0;
}

void tls_pump_peer(const struct tls_pump *p, char out[TLS_PEER_MAX])
{
    out[0] = '\0';
    if (p->ssl)
        tls_peer_describe(p->ssl, out);
}

/* --- moving bytes --- */

static void pump_timeout(void *arg)
{
    struct tls_pump *p = arg;
    struct pollfd plain = { .fd = p->plain };
    bool is_closed = poll(&plain, 1, 0) == 1 && plain.revents & (POLLHUP | POLLERR); /* in both directions */
    if (p->is_plain_over && !p->out.len && !is_closed)
        timer_set(p->timer, LINGER_MS, 0); /* it still reads: no time limit */
    else
        pump_finish(p, "the connection did not move");
}

static void pump_arm(struct tls_pump *p, int64_t ms)
{
    if (p->timer)
        timer_set(p->timer, ms, 0);
    else if (ms >= 0)
        p->timer = timer_new(p->loop, ms, 0, pump_timeout, p);
}

/* 1: sent, 0: later, negative: broken. */
static int ssl_result(struct tls_pump *p, int n)
{
    int e = SSL_get_error(p->ssl, n);
    ERR_clear_error();
    if (e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE)
        return 0;
    return e == SSL_ERROR_ZERO_RETURN ? 1 : -EPIPE;
}

/* Sends one piece to the peer; the rest goes into out. False: broken. */
static bool push_out(struct tls_pump *p, const char *data, size_t len)
{
    bool is_kept = data == p->out.data;
    while (len) {
        int n = SSL_write(p->ssl, data, (int)len);
        if (n <= 0) {
            if (ssl_result(p, n) != 0)
                return false;
            break;
        }
        data += n;
        len -= (size_t)n;
        p->is_out_waiting = false; /* restart the timer */
    }
    if (is_kept && len)
        buf_consume(&p->out, p->out.len - len);
    else if (is_kept)
        buf_done(&p->out);
    else if (len && buf_add(&p->out, data, len) < 0)
        return false;
    return true;
}

/* The same towards the plain side. A plain side that no longer reads may still write. */
static bool push_in(struct tls_pump *p, const char *data, size_t len)
{
    bool is_kept = data == p->in.data;
    while (len && !p->is_plain_shut) {
        ssize_t n = send(p->plain, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0 && errno != EINTR)
            p->is_plain_shut = p->is_net_over = true;
        if (n > 0) {
            data += n;
            len -= (size_t)n;
        }
    }
    if (p->is_plain_shut)
        len = 0;
    if (is_kept && len)
        buf_consume(&p->in, p->in.len - len);
    else if (is_kept)
        buf_done(&p->in);
    else if (len && buf_add(&p->in, data, len) < 0)
        return false;
    return true;
}

/* One piece in each direction. 1: something moved, 0: nothing, negative: broken. */
static int move_in(struct tls_pump *p)
{
    char piece[PIECE];
    if (p->in.len)
        return push_in(p, p->in.data, p->in.len) ? 0 : -EPIPE;
    if (p->is_net_over)
        return 0;
    int n = SSL_read(p->ssl, piece, sizeof piece);
    if (n > 0)
        return push_in(p, piece, (size_t)n) ? 1 : -EPIPE;
    int r = ssl_result(p, n);
    if (r == 1)
        p->is_net_over = true;
    return r;
}

static int move_out(struct tls_pump *p)
{
    char piece[PIECE];
    if (p->out.len)
        return push_out(p, p->out.data, p->out.len) ? 0 : -EPIPE;
    if (p->is_plain_over)
        return 0;
    ssize_t n = recv(p->plain, piece, sizeof piece, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        p->is_plain_over = true;
        return 1;
    }
    return push_out(p, piece, (size_t)n) ? 1 : -EPIPE;
}

/* Passes end of file on. False: both directions are finished. */
static bool move_ends(struct tls_pump *p)
{
    if (p->is_net_over && !p->in.len && !p->is_plain_shut) {
        p->is_plain_shut = true;
        (void)shutdown(p->plain, SHUT_WR); /* fails when the plain side is gone, which is fine */
    }
    if (p->is_plain_over && !p->out.len && !p->is_net_shut) {
        int n = SSL_shutdown(p->ssl);
        if (n < 0 && ssl_result(p, n) == 0)
            return true; /* its record did not fit: retried when the socket is writable */
        p->is_net_shut = true;
        (void)shutdown(p->net, SHUT_WR);
    }
    return !(p->is_net_shut && p->is_plain_shut);
}

static void pump_step(struct tls_pump *p)
{
    int in = 1, out = 1, round = 0, net = 0, plain = 0;
    bool is_on = true;
    bool was_over = p->is_plain_over;
    for (; round < ROUNDS && is_on && (in > 0 || out > 0); round++) {
        in = move_in(p);
        out = in < 0 ? in : move_out(p);
        if (out < 0) {
            pump_finish(p, "the connection is broken");
            return;
        }
        is_on = move_ends(p);
    }
    if (!is_on) {
        pump_finish(p, "closed");
        return;
    }
    if (p->is_plain_over && !was_over)
        p->is_out_waiting = false; /* from now on the shorter timeout */
    bool is_waiting = p->out.len || p->is_plain_over;
    if (is_waiting && !p->is_out_waiting)
        pump_arm(p, p->is_plain_over ? LINGER_MS : STALL_MS);
    else if (!is_waiting)
        pump_arm(p, -1);
    p->is_out_waiting = is_waiting;
    if (!p->in.len && !p->is_net_over)
        net |= LOOP_READ;
    if (p->out.len || (p->is_plain_over && !p->is_net_shut))
        net |= LOOP_WRITE;
    else if (!p->is_plain_over)
        plain |= LOOP_READ;
    if (p->in.len)
        plain |= LOOP_WRITE;
    watch_set(p->net_watch, net);
    watch_set(p->plain_watch, plain);
}

/* --- the handshake --- */

static const char *verify_hint(long verdict)
{
    switch (verdict) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        return ": give the certificate of its issuer with --ca-cert FILE or III_CA_CERT";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return ": use a name or address that the certificate bears";
    default:
        return "";
    }
}

static void explain_failure(struct tls_pump *p, int n, char *why, size_t size)
{
    int kind = SSL_get_error(p->ssl, n), sys = errno;
    unsigned long e = ERR_peek_error();
    long verdict = SSL_get_verify_result(p->ssl);
    const char *text = e ? ERR_reason_error_string(e) : NULL;
    if (!p->is_server && verdict != X509_V_OK)
        (void)snprintf(why, size, "the server's certificate is not accepted: %s%s",
                       X509_verify_cert_error_string(verdict), verify_hint(verdict));
    else if (!p->is_server && e && ERR_GET_REASON(e) == SSL_R_WRONG_VERSION_NUMBER)
        (void)snprintf(why, size, "the server does not speak TLS: use ws:// or http://");
    else if (kind == SSL_ERROR_SYSCALL)
        (void)snprintf(why, size, "TLS handshake: %s", sys ? strerror(sys) : "the connection was closed");
    else
        (void)snprintf(why, size, "TLS handshake: %s", text ? text : "the connection was closed");
    ERR_clear_error();
}

static void open_up(struct tls_pump *p)
{
    int pair[2] = { NO_FD, NO_FD }, bytes = PAIR_BYTES;
    bool is_made = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0;
    p->plain = pair[0];
    p->other = pair[1];
    if (!is_made || watch_new(p->loop, p->plain, LOOP_READ, plain_event, p, &p->plain_watch) < 0) {
        pump_finish(p, "no descriptor is free");
        return;
    }
    for (int i = 0; i < 2; i++) /* limits the memory of a session; on failure the system's default applies */
        (void)setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    p->state = OPEN;
    p->refs++;
    p->events.on_ready(p->arg, p, steal_fd(&p->other));
    if (!p->is_freed)
        pump_step(p); /* the peer's first bytes may have come with the end of the handshake */
    pump_unref(p);
}

static void pump_linger(struct tls_pump *p)
{
    char piece[PIECE];
    ssize_t n = recv(p->net, piece, sizeof piece, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    p->discarded += n > 0 ? (size_t)n : 0;
    if (n <= 0 || p->discarded > DISCARD_MAX)
        pump_finish(p, "plain HTTP on a TLS port");
}

/* Whether a client's first byte is that of TLS; false: it was handled, or there is none yet. */
static bool check_first_byte(struct tls_pump *p)
{
    static const char text[] = "HTTP/1.1 400 TLS required: use https or wss\r\nContent-Type: application/json\r\n"
                               "Content-Length: 62\r\nConnection: close\r\n\r\n"
                               "{\"error\":\"this port speaks TLS: use https:// or wss:// here\"}\n";
    unsigned char first;
    ssize_t n = recv(p->net, &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        watch_set(p->net_watch, LOOP_READ);
        return false;
    }
    p->is_looked_at = n == 1 && first == HANDSHAKE_RECORD;
    if (n == 1 && first >= 'A' && first <= 'Z') {
        /* A client that speaks plain HTTP. The status line carries the message: some clients show nothing else. The
         * send buffer of a new connection has room for it. */
        (void)send(p->net, text, sizeof text - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)shutdown(p->net, SHUT_WR);
        p->state = LINGERING; /* closing with unread bytes would send a reset that destroys the reply */
        watch_set(p->net_watch, LOOP_READ);
    } else if (!p->is_looked_at) {
        pump_finish(p, n <= 0 ? "the client has left" : "not TLS");
    }
    return p->is_looked_at;
}

static void pump_shake(struct tls_pump *p)
{
    if (p->state != SHAKING || (p->is_server && !p->is_looked_at && !check_first_byte(p)))
        return;
    ERR_clear_error();
    errno = 0;
    int n = SSL_do_handshake(p->ssl);
    if (n == 1) {
        open_up(p);
        return;
    }
    int e = SSL_get_error(p->ssl, n);
    if (e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE) {
        ERR_clear_error();
        watch_set(p->net_watch, e == SSL_ERROR_WANT_READ ? LOOP_READ : LOOP_WRITE);
        return;
    }
    char why[300];
    explain_failure(p, n, why, sizeof why);
    pump_finish(p, why);
}

void tls_pump_shake(struct tls_pump *p)
{
    p->refs++; /* a step may end the session */
    pump_shake(p);
    pump_unref(p);
}

static void net_event(void *arg, int events)
{
    struct tls_pump *p = arg;
    (void)events; /* the I/O calls tell what is possible */
    p->refs++;
    if (p->state == LINGERING) {
        pump_linger(p);
    } else if (p->state == OPEN) {
        pump_step(p);
    } else if (p->events.on_due) {
        watch_set(p->net_watch, 0); /* until its turn comes */
        p->events.on_due(p->arg, p);
    } else {
        tls_pump_shake(p);
    }
    pump_unref(p);
}

static void plain_event(void *arg, int events)
{
    struct tls_pump *p = arg;
    (void)events;
    p->refs++;
    pump_step(p);
    pump_unref(p);
}

struct tls_pump *tls_pump_free(struct tls_pump *p)
{
    if (!p || p->is_freed)
        return NULL;
    if (p->state == OPEN) {
        int moved = 1;
        while (moved > 0)
            moved = move_out(p);
        if (moved == 0 && !p->out.len)
            (void)SSL_shutdown(p->ssl); /* best effort: the peer may be gone */
        ERR_clear_error();
    }
    close_all(p);
    return NULL;
}

static void on_loop_end(void *arg)
{
    struct tls_pump *p = arg;
    p->end = NULL;
    (void)tls_pump_free(p);
}

void tls_pump_let_go(struct tls_pump *p)
{
    p->events = (struct tls_pump_events){ 0 };
    p->end = loop_on_end(p->loop, on_loop_end, p);
}
