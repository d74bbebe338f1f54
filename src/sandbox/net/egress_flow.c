#include "sandbox/net/egress_flow.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"

enum { RATE_PAUSE_MS = 10, RATE_LEAST = 16384 };
enum { FLOW_MAGIC = 0x0e6f1085, BUFFER = 65536, NAME_BYTES = 20000, CONNECT_MS = 30000, REFUSE_MS = 5000 };

enum state { NAMING, CONNECTING, OPEN, REFUSED };

struct half {
    struct buf data;
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
        (is_open && f->in.data.len ? LOOP_WRITE : 0);
    int server = f->state == CONNECTING
                     ? LOOP_WRITE
                     : (is_open && !f->in.has_eof && !f->is_held[1] && f->in.data.len < BUFFER ? LOOP_READ : 0) |
                           (is_open && f->out.data.len ? LOOP_WRITE : 0);
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
    while (h->data.len) {
        ssize_t n = send(fd, h->data.data, h->data.len, MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        buf_consume(&h->data, (size_t)n);
    }
    if (h->has_eof && !h->is_shut) {
        (void)shutdown(fd, SHUT_WR); /* a peer that is gone shows in its own direction */
        h->is_shut = true;
    }
    return true;
}

static void pump(struct egress_flow *f)
{
    if (!drain(&f->out, f->server) || !drain(&f->in, f->client) || (f->out.is_shut && f->in.is_shut)) {
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
    } else if (events & LOOP_READ && !fill(f, 1)) {
        flow_finish(f);
        return;
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
    bool is_whole = drain(&f->in, f->client);
    f->out.is_shut = f->out.has_eof;
    if (!is_whole || (f->out.is_shut && f->in.is_shut))
        flow_finish(f);
    else
        set_watches(f);
}

/* 1: may connect. 0: wait for more. -1: cut it. */
static int read_name(struct egress_flow *f)
{
    char name[EGRESS_POLICY_NAME];
    const uint8_t *data = (const uint8_t *)f->out.data.data;
    int r = f->plan.port == 443 && !f->plan.refusal ? egress_parse_tls_name(data, f->out.data.len, name)
                                                    : egress_parse_http_name(data, f->out.data.len, name);
    if (f->plan.refusal && f->out.data.len > 0 && (data[0] < 'A' || data[0] > 'Z'))
        return -1; /* not a method of HTTP */
    if (r == 0)
        return f->out.has_eof || f->out.data.len >= NAME_BYTES ? -1 : 0;
    return r > 0 && (f->plan.refusal || f->ev.on_name(f->arg, f, name)) ? 1 : -1;
}

static void on_client(void *arg, int events)
{
    struct egress_flow *f = arg;
    assert(f->magic == FLOW_MAGIC);
    if (events & LOOP_READ && !fill(f, 0)) {
        flow_finish(f);
        return;
    }
    if (f->state == NAMING) {
        int r = read_name(f);
        if (r > 0 && f->plan.refusal && buf_add_str(&f->in.data, f->plan.refusal) == 0) {
            f->state = REFUSED;
            f->in.has_eof = true;
            send_refusal(f);
            return;
        }
        if (r < 0 || (r > 0 && !begin_connect(f))) {
            flow_finish(f);
            return;
        }
        set_watches(f);
    } else if (f->state == OPEN) {
        pump(f);
    } else if (f->state == REFUSED) {
        send_refusal(f);
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
    if (!plan->must_name && !plan->refusal && !begin_connect(f))
        timer_set(f->limit, 0, 0); /* ends on the next turn */
    set_watches(f);
    return f;
}
