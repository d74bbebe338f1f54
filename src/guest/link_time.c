/* Timeouts of calls. A link has one timer for all of its calls: it is set to the first moment at which one may be
 * late, and stays set when that one ends; when it fires, all calls are checked once. So a call costs a comparison,
 * and checks are at least STEP_MS apart, however many calls there are. */
#include <stdlib.h>

#include "base/alloc.h"
#include "guest/link_core.h"

#define ANSWER_MS 300000
#define GRACE_MS  30000
#define STEP_MS   100

void link_time_init(struct link_time *t)
{
    t->answer_ms = ANSWER_MS;
    t->grace_ms = GRACE_MS;
}

void guest_link_patience(struct guest_link *g, uint32_t answer_ms, uint32_t grace_ms)
{
    link_time(g)->answer_ms = answer_ms;
    link_time(g)->grace_ms = grace_ms;
}

/* --- late calls --- */

struct late {
    int64_t now_ms, next_ms; /* next_ms: the first moment after now; 0: none */
    uint32_t *ids;
    size_t n, room;
};

static void call_look(void *arg, struct link_stream *s)
{
    struct late *l = arg;
    if (!s->due_ms)
        return;
    if (s->due_ms > l->now_ms) {
        l->next_ms = l->next_ms && l->next_ms < s->due_ms ? l->next_ms : s->due_ms;
        return;
    }
    if (l->n == l->room) {
        l->room = l->room ? 2 * l->room : 8;
        l->ids = xrealloc(l->ids, l->room * sizeof(*l->ids));
    }
    l->ids[l->n++] = s->id;
}

static void link_on_timer(void *arg);

static void timer_arm(struct guest_link *g, int64_t at_ms)
{
    struct link_time *t = link_time(g);
    if (link_is_broken(g))
        return;
    if (!t->timer)
        t->timer = timer_new(link_loop(g), -1, 0, link_on_timer, g);
    if (!t->timer)
        return;
    int64_t left = at_ms - loop_now_ms(link_loop(g));
    t->at_ms = at_ms;
    timer_set(t->timer, left > STEP_MS ? left : STEP_MS, 0);
}

static void link_on_timer(void *arg)
{
    struct guest_link *g = arg;
    struct link_time *t = link_time(g);
    struct late l = { .now_ms = loop_now_ms(link_loop(g)) };
    t->at_ms = 0;
    if (t->is_still || link_is_broken(g))
        return;
    link_each(g, call_look, &l);
    if (l.next_ms)
        timer_arm(g, l.next_ms);
    link_hold(g); /* a callback may free it */
    for (size_t i = 0; i < l.n && !link_is_broken(g); i++) {
        struct link_stream *s = link_find(g, l.ids[i]); /* unless an earlier callback has dropped it */
        if (!s || !s->due_ms || s->due_ms > l.now_ms)
            continue;
        if (s->kind->is_users_turn && s->kind->is_users_turn(s)) {
            link_time_again(s);
            continue;
        }
        struct err err = ERR_INIT;
        (void)err_set(&err, ERR_TIMEOUT, 0,
                      "the sandbox's agent has not answered in time (%u s for a call, %u s over a time limit): if it "
                      "stays so, delete the sandbox",
                      t->answer_ms / 1000, t->grace_ms / 1000);
        link_drop(s);
        (s->kind->on_late ? s->kind->on_late : s->kind->on_fail)(s, &err);
    }
    link_unhold(g);
    free(l.ids);
}

/* --- timeouts --- */

static void set_due(struct link_stream *s, int64_t ms)
{
    struct link_time *t = link_time(s->link);
    s->due_ms = loop_now_ms(link_loop(s->link)) + ms;
    if (!t->is_still && (!t->at_ms || s->due_ms < t->at_ms))
        timer_arm(s->link, s->due_ms);
}

void link_time_begin(struct link_stream *s, uint16_t type)
{
    const struct link_time *t = link_time(s->link);
    uint32_t ms = t->answer_ms;
    switch (type) {
    case PROTO_JOB_WAIT:
    case PROTO_PROC_END:
        ms = 0; /* for something that may never happen */
        break;
    case PROTO_PING:
    case PROTO_HOSTNAME:
    case PROTO_RESEED:
    case PROTO_USAGE:
    case PROTO_JOB_STATE:
    case PROTO_JOB_SIGNAL:
    case PROTO_JOB_FORGET:
    case PROTO_PROC_LIST:
    case PROTO_PROC_KILL:
    case PROTO_PROC_INTERRUPT:
        ms = t->grace_ms; /* a mere query */
        break;
    default:
        break;
    }
    s->due_ms = 0;
    if (ms)
        set_due(s, ms);
}

void link_time_limit(struct link_stream *s, uint32_t limit_ms)
{
    s->due_ms = 0;
    if (limit_ms)
        set_due(s, (int64_t)limit_ms + link_time(s->link)->grace_ms);
}

void link_time_again(struct link_stream *s)
{
    set_due(s, link_time(s->link)->answer_ms);
}

/* --- a sandbox that is paused --- */

static void call_shift(void *arg, struct link_stream *s)
{
    const int64_t *by = arg;
    if (s->due_ms)
        s->due_ms += *by;
}

void guest_link_stand_still(struct guest_link *g, bool is_still)
{
    struct link_time *t = link_time(g);
    int64_t now = loop_now_ms(link_loop(g));
    if (t->is_still == is_still || link_is_broken(g))
        return;
    t->is_still = is_still;
    if (is_still) {
        t->still_ms = now;
        return;
    }
    int64_t by = now - t->still_ms;
    struct late l = { .now_ms = INT64_MIN };
    link_each(g, call_shift, &by);
    link_each(g, call_look, &l);
    if (l.next_ms)
        timer_arm(g, l.next_ms);
}
