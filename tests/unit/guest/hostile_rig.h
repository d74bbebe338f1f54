/* A peer that lies to a link, and what every test of one needs: the calls that were called back, and the check that the
 * link has ended because of it. */
#pragma once
#include <errno.h>
#include <unistd.h>

#include "guest/link.h"
#include "guest/link_core.h"
#include "loopturn.h"
#include "mutepeer.h"

#define WAIT_MS 20000

struct rig {
    struct loop *loop;
    struct guest_link *g;
    int peer;
    int gone, failed, done, outputs, writable, late_calls;
    size_t entries;
    bool is_timed_out, is_inside_call, is_over;
    struct err gone_err, call_err;
    struct guest_exec *x;
    struct guest_reader *reader;
    struct guest_writer *writer;
    struct guest_tunnel *tunnel;
    char tag[64];
};

static inline void note(struct rig *r)
{
    r->late_calls += r->gone != 0 || r->is_inside_call;
    if (!r->is_over) /* loop_free() runs what is left, and must not be stopped in it */
        loop_stop(r->loop);
}

static inline void on_gone(void *arg, const struct err *err)
{
    struct rig *r = arg;
    note(r);
    r->gone++;
    r->gone_err = *err;
}

static inline void on_done(void *arg, const struct err *err)
{
    struct rig *r = arg;
    note(r);
    r->done += !err;
    r->failed += !!err;
    if (err)
        r->call_err = *err;
}

static inline void on_data(void *arg, const char *data, size_t len)
{
    struct rig *r = arg;
    r->outputs++;
    note(r);
    (void)data;
    (void)len;
}

static inline void on_timeout(void *arg)
{
    struct rig *r = arg;
    r->is_timed_out = true;
    loop_stop(r->loop);
}

static inline void rig_init(struct rig *r)
{
    *r = (struct rig){ 0 };
    r->peer = mutepeer_new(on_gone, r, &r->loop, &r->g);
}

static inline void rig_done(struct rig *r)
{
    r->gone = 0; /* failures from here on are the tear-down's */
    r->is_over = true;
    guest_link_free(r->g);
    loop_free(r->loop);
    if (r->peer >= 0)
        close(r->peer);
}

/* Runs the loop until *count reaches n. */
static inline void wait_for(struct rig *r, const int *count, int n)
{
    struct timer *t = timer_new(r->loop, WAIT_MS, 0, on_timeout, r);
    while (*count < n && !r->is_timed_out)
        loop_run(r->loop);
    CHECK(!r->is_timed_out);
    timer_free(t);
}

static inline void send_frame(struct rig *r, uint32_t stream, uint16_t type, uint16_t flags, const void *payload,
                              size_t len)
{
    mutepeer_send(r->peer, (struct proto_header){ (uint32_t)len, stream, type, flags }, payload);
}

/* The link must have ended because of the guest, with one failed call before. */
static inline void check_broken(struct rig *r)
{
    wait_for(r, &r->gone, 1);
    CHECK_INT(r->gone, 1);
    CHECK_INT(r->failed, 1);
    CHECK_INT(r->done, 0);
    CHECK_INT(r->late_calls, 0);
    CHECK_INT(r->gone_err.code, ERR_UPSTREAM);
    CHECK_INT(r->call_err.code, ERR_UPSTREAM);
    CHECK(strstr(r->gone_err.msg, "agent") != NULL);
    CHECK_INT(guest_ping(r->g, on_done, r), -EPIPE);
}

static inline size_t put_entries(uint8_t *mem, const char *name, int n)
{
    struct proto_writer w;
    proto_writer_init(&w, mem, PROTO_PAYLOAD_MAX);
    for (int i = 0; i < n; i++)
        proto_put_stat(&w, &(struct proto_stat){ .path = name });
    CHECK(!w.is_full);
    return w.len;
}
