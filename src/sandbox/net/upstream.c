#include "sandbox/net/upstream.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "sandbox/lifecycle/manager.h"

enum { UPSTREAM_MAGIC = 0x0b57ea31 };

struct upstream {
    unsigned magic, refs;
    struct upstream_plan plan;
    struct upstream_events events;
    void *arg;
    char name[IDENT_MAX + 16]; /* "port 8080 of sbx_…", for messages */
    struct guest_tunnel *tunnel;
    struct http_reply *reply;
    struct timer *timer;
    struct buf out;
    size_t out_at, piece_body; /* piece_body: bytes of the current piece that on_data got */
    bool is_open, is_closed, is_out_of_memory;
};

static void unref(struct upstream *u)
{
    assert(u->magic == UPSTREAM_MAGIC);
    if (--u->refs)
        return;
    u->magic = 0;
    http_reply_free(u->reply);
    buf_done(&u->out);
    free(u);
}

struct upstream *upstream_free(struct upstream *u)
{
    if (!u || u->is_closed)
        return NULL;
    u->is_closed = true;
    http_reply_stop(u->reply);
    if (u->tunnel)
        guest_tunnel_drop(STEAL(u->tunnel));
    u->timer = timer_free(u->timer);
    unref(u);
    return NULL;
}

static void upstream_finish(struct upstream *u, const struct err *err)
{
    if (u->is_closed)
        return;
    u->refs++;
    (void)upstream_free(u);
    u->events.on_done(u->arg, err);
    unref(u);
}

static void upstream_fail(struct upstream *u, enum err_code code, const char *text)
{
    struct err err = ERR_INIT;
    (void)err_set(&err, code, 0, "%s: %s", u->name, text);
    upstream_finish(u, &err);
}

static void on_timer(void *arg)
{
    struct upstream *u = arg;
    char text[80];
    (void)snprintf(text, sizeof(text), "no response within %lld ms", (long long)u->plan.timeout_ms);
    if (u->is_out_of_memory)
        upstream_fail(u, ERR_CAPACITY, "the request's body is larger than what may be queued");
    else
        upstream_fail(u, ERR_TIMEOUT, text);
}

/* --- the response --- */

static void on_head(void *arg, struct http_reply *reply, int status)
{
    struct upstream *u = arg;
    if (u->plan.is_timed_to_head)
        timer_set(u->timer, -1, 0);
    if (status != 101)
        u->events.on_head(u->arg, reply);
}

static void on_body(void *arg, struct http_reply *reply, const char *data, size_t len)
{
    struct upstream *u = arg;
    (void)reply;
    u->piece_body += len;
    u->events.on_data(u->arg, data, len);
}

static const struct http_reply_events reply_events = { .on_head = on_head, .on_data = on_body };

static void on_upgraded(struct upstream *u, const char *rest, size_t len)
{
    if (u->events.on_upgraded)
        u->events.on_upgraded(u->arg, u->reply, rest, len);
    if (!u->is_closed && u->tunnel)
        upstream_fail(u, ERR_UPSTREAM, "the server switched protocols without a request");
}

/* The time of the response begins here: the server may have had to start first. */
static void on_tunnel_open(void *arg)
{
    struct upstream *u = arg;
    u->is_open = true;
    timer_set(u->timer, u->plan.timeout_ms, 0);
}

static void on_tunnel_data(void *arg, const char *data, size_t len)
{
    struct upstream *u = arg;
    size_t used = 0;
    u->refs++;
    u->piece_body = 0;
    int state = http_reply_feed(u->reply, data, len, &used);
    if (!u->is_closed && state == HTTP_REPLY_UPGRADED) {
        guest_tunnel_credit(u->tunnel, len); /* what is left of the piece is handed over */
        on_upgraded(u, data + used, len - used);
    } else if (!u->is_closed && state == HTTP_REPLY_COMPLETE) {
        upstream_finish(u, NULL);
    } else if (!u->is_closed && state < 0) {
        upstream_fail(u, ERR_UPSTREAM, http_reply_problem(u->reply));
    } else if (!u->is_closed) {
        guest_tunnel_credit(u->tunnel, len - u->piece_body); /* heads and chunk sizes */
    }
    unref(u);
}

static void on_tunnel_eof(void *arg)
{
    struct upstream *u = arg;
    u->refs++;
    int state = http_reply_eof(u->reply);
    if (state == HTTP_REPLY_COMPLETE)
        upstream_finish(u, NULL);
    else
        upstream_fail(u, ERR_UPSTREAM, http_reply_problem(u->reply));
    unref(u);
}

static void on_tunnel_closed(void *arg, const struct err *err)
{
    struct upstream *u = arg;
    u->tunnel = NULL;
    if (err)
        upstream_fail(u, ERR_UPSTREAM, err->msg);
    else
        on_tunnel_eof(u);
}

/* --- the request --- */

static void flush(struct upstream *u)
{
    size_t left = u->out.len - u->out_at;
    u->out_at += left ? guest_tunnel_send(u->tunnel, u->out.data + u->out_at, left) : 0;
    if (u->out_at < u->out.len)
        return;
    buf_clear(&u->out);
    u->out_at = 0;
}

static void on_writable(void *arg)
{
    struct upstream *u = arg;
    flush(u);
    if (u->out.len == 0 && u->events.on_drain)
        u->events.on_drain(u->arg);
}

size_t upstream_write(struct upstream *u, const char *data, size_t len)
{
    if (u->is_closed || u->is_out_of_memory)
        return 0;
    if (buf_add(&u->out, data, len) < 0) {
        u->is_out_of_memory = true;
        timer_set(u->timer, 0, 0); /* told from the loop: the caller is on the stack */
        return 0;
    }
    if (u->is_open && !http_reply_status(u->reply))
        timer_set(u->timer, u->plan.timeout_ms, 0);
    flush(u);
    return u->out.len - u->out_at;
}

void upstream_credit(struct upstream *u, size_t bytes)
{
    if (u->tunnel && bytes)
        guest_tunnel_credit(u->tunnel, bytes);
}

struct guest_tunnel *upstream_take(struct upstream *u)
{
    return STEAL(u->tunnel);
}

int upstream_new(struct sandbox *s, const struct upstream_plan *plan, const struct upstream_events *ev, void *arg,
                 struct upstream **ret, struct err *err)
{
    static const struct guest_tunnel_events events = {
        .on_open = on_tunnel_open, .on_data = on_tunnel_data, .on_eof = on_tunnel_eof, .on_closed = on_tunnel_closed
    };
    struct upstream *u = xzalloc(sizeof(*u));
    *u = (struct upstream){ .magic = UPSTREAM_MAGIC, .refs = 1, .plan = *plan, .events = *ev, .arg = arg };
    (void)snprintf(u->name, sizeof(u->name), "port %u of %s", plan->port, s->id);
    buf_init(&u->out, plan->queue_max);
    u->reply = http_reply_new(plan->is_head_method, &reply_events, u);
    int r = guest_tunnel_open(s->link, false, NULL, plan->port, &events, u, &u->tunnel);
    if (r < 0) {
        (void)err_set(err, r == -EBUSY ? ERR_CAPACITY : ERR_UPSTREAM, -r, "%s", u->name);
        unref(u);
        return r;
    }
    guest_tunnel_on_writable(u->tunnel, on_writable, u);
    u->timer = timer_new(s->manager->loop, plan->timeout_ms + guest_ports_wait_ms(s->link), 0, on_timer, u);
    *ret = u;
    return 0;
}
