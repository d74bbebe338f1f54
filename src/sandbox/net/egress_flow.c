/* Theory of operation. A flow owns both sockets and a bounded buffer for each direction. With must_name, bytes of the
 * client are inspected and only cleared ones are sent: a TLS ClientHello must name an allowed server, and HTTP is
 * parsed request by request (http_requests.h), all of them for the host of the first. On ports 80 and 443 nothing else
 * is accepted, and the connection to the server begins after the first name; on other ports, which a rule lists,
 * protocols in which the server speaks first work as well, and what is neither TLS nor HTTP passes. After an Upgrade
 * the first response decides: 101 to "websocket" ends the inspection, 101 to anything else cuts the flow. With refusal,
 * nothing is connected: an HTTP request gets that reply. Any error resets both sides, and the owner hears once. */
#include "sandbox/net/egress_flow.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "http/http_reply.h"
#include "http/http_requests.h"

enum { RATE_PAUSE_MS = 10, RATE_LEAST = 16384 };
enum { FLOW_MAGIC = 0x0e6f1085, BUFFER = 65536, NAME_BYTES = 20000, CONNECT_MS = 30000, REFUSE_MS = 5000 };

enum sight { BLIND, FIRST_BYTES, REQUESTS }; /* what is inspected: nothing, what it is, HTTP */

enum state { NAMING, CONNECTING, OPEN, REFUSED };

struct half {
    struct buf data;
    size_t cleared; /* bytes at the beginning that may be sent */
    bool has_eof, is_shut;
};

struct egress_flow {
    unsigned magic;
    struct loop *loop;
    struct egress_flow_plan plan;
    struct egress_flow_events ev;
    void *arg;
    enum state state;
    int client, server;
    struct watch *client_watch, *server_watch;
    struct timer *limit; /* until it is open */
    struct half out, in; /* from the client, to the client */
    struct timer *pause; /* made when the rate is met for the first time */
    bool is_held[2];     /* as in struct egress_flow_rate: nothing is read until the pause is over */
    enum sight sight;
    struct http_requests *requests;
    struct http_reply *reply; /* to the first request, when it wants another protocol */
    size_t n_fed;             /* bytes of out that the parser has seen */
    unsigned n_requests;
    bool wants_websocket, is_refused;
    char host[EGRESS_POLICY_NAME]; /* of the first request */
};

/* How much of want may be read that way now. */
static size_t rate_allows(struct egress_flow_rate *r, int way, size_t want)
{
    if (!r || !r->bytes_per_s)
        return want;
    int64_t now = clock_mono_us(), most = r->bytes_per_s / 20;
    most = most > RATE_LEAST ? most : RATE_LEAST;
    int64_t more = r->filled_us ? (int64_t)((double)(now - r->filled_us) * (double)r->bytes_per_s / 1e6) : most;
    if (more > 0) {
        r->filled_us = now;
        for (int i = 0; i < 2; i++)
            r->left[i] = r->left[i] + more > most ? most : r->left[i] + more;
    }
    return r->left[way] <= 0 ? 0 : (int64_t)want < r->left[way] ? want : (size_t)r->left[way];
}

const struct egress_flow_plan *egress_flow_plan(const struct egress_flow *f)
{
    return &f->plan;
}

static void close_hard(int fd, bool is_broken)
{
    struct linger hard = { .l_onoff = 1 };
    if (is_broken)
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)); /* else it is an ordinary close */
    (void)close(fd);                                                      /* what could be sent was */
}

struct egress_flow *egress_flow_free(struct egress_flow *f)
{
    if (!f)
        return NULL;
    assert(f->magic == FLOW_MAGIC);
    bool is_broken = !f->in.is_shut || !f->out.is_shut;
    f->magic = 0;
    timer_free(f->limit);
    timer_free(f->pause);
    watch_free(f->client_watch);
    watch_free(f->server_watch);
    close_hard(f->client, is_broken);
    if (f->server >= 0)
        close_hard(f->server, is_broken);
    buf_done(&f->out.data);
    buf_done(&f->in.data);
    http_requests_free(f->requests);
    http_reply_free(f->reply);
    free(f->plan.refusal);
    free(f);
    return NULL;
}

static void flow_finish(struct egress_flow *f)
{
    f->ev.on_done(f->arg, f);
}

static void set_watches(struct egress_flow *f)
{
    bool is_open = f->state == OPEN || f->state == REFUSED;
    int client =
        (!f->out.has_eof && !f->is_held[0] && f->out.data.len < BUFFER && f->state != CONNECTING ? LOOP_READ : 0) |
        (is_open && f->in.cleared ? LOOP_WRITE : 0);
    int server = f->state == CONNECTING
                     ? LOOP_WRITE
                     : (is_open && !f->in.has_eof && !f->is_held[1] && f->in.data.len < BUFFER ? LOOP_READ : 0) |
                           (is_open && f->out.cleared ? LOOP_WRITE : 0);
    watch_set(f->client_watch, client);
    if (f->server_watch)
        watch_set(f->server_watch, server);
}

static void on_pause_over(void *arg)
{
    struct egress_flow *f = arg;
    assert(f->magic == FLOW_MAGIC);
    f->is_held[0] = f->is_held[1] = false;
    set_watches(f);
}

/* Reads from the client (way 0) or from the server. False when the socket is broken. */
static bool fill(struct egress_flow *f, int way)
{
    struct half *h = way ? &f->in : &f->out;
    int fd = way ? f->server : f->client;
    size_t room = BUFFER - h->data.len;
    if (h->has_eof || room == 0)
        return true;
    if ((room = rate_allows(f->plan.rate, way, room)) == 0) {
        f->is_held[way] = true;
        if (!f->pause)
            f->pause = timer_new(f->loop, -1, 0, on_pause_over, f);
        timer_set(f->pause, RATE_PAUSE_MS, 0);
        return true;
    }
    if (buf_reserve(&h->data, room) < 0)
        return false;
    ssize_t n = recv(fd, h->data.data + h->data.len, room, 0);
    if (n > 0) {
        h->data.len += (size_t)n;
        h->data.data[h->data.len] = '\0';
        f->plan.moved[way] += (uint64_t)n;
        if (f->plan.rate)
            f->plan.rate->left[way] -= n;
    }
    h->has_eof = n == 0;
    return n >= 0 || errno == EAGAIN || errno == EINTR;
}

static bool drain(struct half *h, int fd)
{
    while (h->cleared) {
        ssize_t n = send(fd, h->data.data, h->cleared, MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        buf_consume(&h->data, (size_t)n);
        h->cleared -= (size_t)n;
    }
    if (h->has_eof && !h->is_shut) {
        (void)shutdown(fd, SHUT_WR); /* a peer that is gone shows in its own direction */
        h->is_shut = true;
    }
    return true;
}

/* --- inspection --- */

/* Cuts the flow, and says why once. */
static bool refuse(struct egress_flow *f, const char *why)
{
    if (!f->is_refused)
        f->ev.on_refused(f->arg, f, why);
    f->is_refused = true;
    return false;
}

static bool is_allowed_name(struct egress_flow *f, const char *name)
{
    f->is_refused = !f->ev.on_name(f->arg, f, name);
    return !f->is_refused;
}

static bool on_request(void *arg, const struct http_requests_head *head)
{
    struct egress_flow *f = arg;
    char name[EGRESS_POLICY_NAME];
    if (!head->host || egress_parse_host(head->host, name) < 0)
        return refuse(f, "a request names no host");
    f->n_requests++;
    if (f->n_requests == 1) {
        memcpy(f->host, name, sizeof(name));
        f->wants_websocket = head->is_websocket;
        if (head->is_upgrade)
            f->reply = http_reply_new(strcmp(head->method, "HEAD") == 0, &(struct http_reply_events){ 0 }, NULL);
        return is_allowed_name(f, name);
    }
    if (strcmp(f->host, name) != 0)
        return refuse(f, "a later request names another host");
    return !head->is_upgrade && !f->reply ? true : refuse(f, "only the first request may change the protocol, alone");
}

static bool inspect_requests(struct egress_flow *f)
{
    struct half *h = &f->out;
    size_t pass = 0;
    int r = http_requests_feed(f->requests, h->data.data + f->n_fed, h->data.len - f->n_fed, &pass);
    f->n_fed = h->data.len;
    if (r < 0)
        return refuse(f, http_requests_problem(f->requests));
    h->cleared += pass;
    return h->cleared || h->data.len < BUFFER || refuse(f, "a request's head is too large");
}

/* What the client speaks, from its first bytes. */
static bool inspect_first(struct egress_flow *f)
{
    struct half *h = &f->out;
    char name[EGRESS_POLICY_NAME];
    const uint8_t *data = (const uint8_t *)h->data.data;
    bool is_strict = f->plan.port == 443 || f->plan.port == 80;
    enum egress_parse_kind kind = egress_parse_kind(data, h->data.len);
    int r = 0;
    if (kind == EGRESS_PARSE_TLS && f->plan.port != 80) {
        r = egress_parse_tls_name(data, h->data.len, name);
        if (r < 0)
            return refuse(f, "a ClientHello without a server's name");
        if (r > 0 && !is_allowed_name(f, name))
            return false;
    } else if (kind == EGRESS_PARSE_HTTP && f->plan.port != 443) {
        f->sight = REQUESTS;
        f->requests = http_requests_new(on_request, f);
        return inspect_requests(f);
    } else if (kind != EGRESS_PARSE_NONE && kind != EGRESS_PARSE_TEXT) {
        if (is_strict)
            return refuse(f, f->plan.port == 443 ? "not TLS" : "not HTTP");
        r = 1;
    }
    if (r > 0)
        f->sight = BLIND;
    else if (h->has_eof || h->data.len >= NAME_BYTES)
        return kind == EGRESS_PARSE_NONE && !is_strict ? true : refuse(f, "no name in the first bytes");
    return true;
}

/* After bytes of the client came: clears those that may be sent. False: cut it. */
static bool inspect(struct egress_flow *f)
{
    if (f->sight == FIRST_BYTES && !inspect_first(f))
        return false;
    if (f->sight == REQUESTS && f->n_fed < f->out.data.len && !inspect_requests(f))
        return false;
    if (f->sight == BLIND)
        f->out.cleared = f->out.data.len;
    return true;
}

/* Bytes of the server's first response, when the client asked for another protocol. */
static bool inspect_reply(struct egress_flow *f, size_t from)
{
    int state = http_reply_feed(f->reply, f->in.data.data + from, f->in.data.len - from, NULL);
    if (state == HTTP_REPLY_UPGRADED) {
        if (!f->wants_websocket)
            return refuse(f, "the server changes to a protocol that cannot be inspected");
        f->sight = BLIND;
        f->out.cleared = f->out.data.len;
    } else if (state < 0) {
        return refuse(f, "the response to an Upgrade is not valid HTTP");
    }
    if (state != HTTP_REPLY_MORE || http_reply_status(f->reply))
        f->reply = http_reply_free(f->reply);
    return true;
}

/* --- both ways --- */

static void pump(struct egress_flow *f)
{
    size_t waiting = f->out.cleared;
    bool is_whole = drain(&f->out, f->server) && drain(&f->in, f->client);
    f->n_fed -= f->n_fed < waiting - f->out.cleared ? f->n_fed : waiting - f->out.cleared;
    if (!is_whole || (f->out.is_shut && f->in.is_shut)) {
        flow_finish(f);
        return;
    }
    set_watches(f);
}

static void on_server(void *arg, int events)
{
    struct egress_flow *f = arg;
    assert(f->magic == FLOW_MAGIC);
    if (f->state == CONNECTING) {
        int why = 0;
        socklen_t len = sizeof(why);
        if (getsockopt(f->server, SOL_SOCKET, SO_ERROR, &why, &len) < 0 || why) {
            flow_finish(f);
            return;
        }
        f->state = OPEN;
        f->limit = timer_free(f->limit);
    } else if (events & LOOP_READ) {
        size_t from = f->in.data.len;
        if (!fill(f, 1) || (f->reply && f->in.data.len > from && !inspect_reply(f, from))) {
            flow_finish(f);
            return;
        }
        f->in.cleared = f->in.data.len;
    }
    pump(f);
}

/* False when it cannot even begin. */
static bool begin_connect(struct egress_flow *f)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(f->plan.port) };
    to.sin_addr.s_addr = htonl(f->plan.address);
    f->state = CONNECTING;
    f->server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (f->server < 0 || (connect(f->server, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINPROGRESS))
        return false;
    return watch_new(f->loop, f->server, LOOP_WRITE, on_server, f, &f->server_watch) == 0;
}

/* Sends the refusal, and what else the client says is read until it closes: a reset would take the text from it. */
static void send_refusal(struct egress_flow *f)
{
    buf_clear(&f->out.data);
    f->out.cleared = 0;
    bool is_whole = drain(&f->in, f->client);
    f->out.is_shut = f->out.has_eof;
    if (!is_whole || (f->out.is_shut && f->in.is_shut))
        flow_finish(f);
    else
        set_watches(f);
}

/* A request to a closed port of the gateway. 1: answer it. 0: wait for more. -1: cut it. */
static int read_refused(const struct egress_flow *f)
{
    switch (egress_parse_kind((const uint8_t *)f->out.data.data, f->out.data.len)) {
    case EGRESS_PARSE_HTTP:
        return 1;
    case EGRESS_PARSE_NONE:
    case EGRESS_PARSE_TEXT:
        return f->out.has_eof || f->out.data.len >= NAME_BYTES ? -1 : 0;
    case EGRESS_PARSE_TLS:
    case EGRESS_PARSE_OTHER:
    default:
        return -1;
    }
}

/* The first bytes of a client, before anything is connected. False: cut it. */
static bool before_connect(struct egress_flow *f)
{
    if (f->plan.refusal) {
        int r = read_refused(f);
        if (r > 0 && buf_add_str(&f->in.data, f->plan.refusal) == 0) {
            f->state = REFUSED;
            f->in.cleared = f->in.data.len;
            f->in.has_eof = true;
        }
        return r >= 0;
    }
    return inspect(f) && (f->out.cleared == 0 || begin_connect(f));
}

static void on_client(void *arg, int events)
{
    struct egress_flow *f = arg;
    assert(f->magic == FLOW_MAGIC);
    if (events & LOOP_READ && !fill(f, 0)) {
        flow_finish(f);
        return;
    }
    if (f->state == NAMING && !before_connect(f)) {
        flow_finish(f);
        return;
    }
    if (f->state == OPEN) {
        if (inspect(f))
            pump(f);
        else
            flow_finish(f);
    } else if (f->state == REFUSED) {
        send_refusal(f);
    } else {
        set_watches(f);
    }
}

static void on_limit(void *arg)
{
    flow_finish(arg);
}

struct egress_flow *egress_flow_new(struct loop *l, const struct egress_flow_plan *plan,
                                    const struct egress_flow_events *ev, void *arg)
{
    struct egress_flow *f = xzalloc(sizeof(*f));
    *f = (struct egress_flow){ .magic = FLOW_MAGIC, .loop = l, .plan = *plan, .ev = *ev, .arg = arg };
    f->client = plan->client_fd;
    f->server = NO_FD;
    buf_init(&f->out.data, BUFFER);
    buf_init(&f->in.data, BUFFER);
    if (watch_new(l, f->client, LOOP_READ, on_client, f, &f->client_watch) < 0)
        return egress_flow_free(f);
    f->limit = timer_new(l, plan->refusal ? REFUSE_MS : CONNECT_MS, 0, on_limit, f);
    f->sight = plan->must_name ? FIRST_BYTES : BLIND;
    bool is_named_first = plan->must_name && (plan->port == 443 || plan->port == 80);
    if (!is_named_first && !plan->refusal && !begin_connect(f))
        timer_set(f->limit, 0, 0); /* ends on the next turn */
    set_watches(f);
    return f;
}
