/* The default contexts of a sandbox, one for each language: made at their first use, restarted when their process is
 * gone. Their callers take turns, first come, first served. A turn begins from a timer, never from inside the end of
 * the snippet before it: that may be the end of the whole host. Whatever changes the state of a context calls
 * context_turn_next() or, when nobody can have it any more, context_turn_fail(). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "sandbox/exec/context_core.h"

struct context_turn {
    struct context_turn *next;
    struct context *c;
    context_fn *fn;
    void *arg;
};

/* Takes the first turn out of its list and calls its function. */
static void turn_call(struct context *c, struct context *given, const struct err *err)
{
    struct context_turn turn = *c->turns;
    free(c->turns);
    c->turns = turn.next;
    turn.fn(turn.arg, given, err);
}

void context_turn_fail(struct context *c, const struct err *err)
{
    while (c->turns)
        turn_call(c, NULL, err);
}

static void on_restarted(void *arg, struct context *c, const struct err *err)
{
    (void)arg; /* the turns are served, or have failed, already */
    (void)c;
    (void)err;
}

static void turn_begin(void *arg)
{
    struct context *c = arg;
    struct err err = ERR_INIT;
    if (c->turns && c->state == CONTEXT_IDLE) {
        turn_call(c, c, NULL);
        context_turn_next(c); /* it could not run its code */
    } else if (c->turns && context_restart(c, on_restarted, NULL, &err) < 0) {
        context_turn_fail(c, &err);
    }
}

void context_turn_next(struct context *c)
{
    if (c->turns && c->state != CONTEXT_BUSY && c->state != CONTEXT_STARTING)
        context_set_timer(c, 0, turn_begin);
}

int context_default(struct context_set *set, struct sandbox *s, const char *language, const struct context_user *user,
                    struct context_turn **ret, struct err *err)
{
    struct context_plan plan = { .language = language, .is_default = true };
    struct context *c = context_find(set, s->id, language, NULL);
    size_t n = 0;
    int r = sandbox_need_running(s, err);
    if (r == 0 && !c)
        r = context_create(set, s, &plan, on_restarted, NULL, err);
    if (r < 0)
        return r;
    c = c ? c : context_find(set, s->id, language, NULL);
    struct context_turn **at = &c->turns;
    for (; *at; at = &(*at)->next)
        n++;
    if (n >= LIMIT_MAX(CONTEXT_TURNS))
        return err_set(err, ERR_CAPACITY, 0, "%zu snippets wait for the %s context of %s: wait, or create contexts", n,
                       language, s->id);
    *at = *ret = xzalloc(sizeof(**at));
    **at = (struct context_turn){ .c = c, .fn = user->fn, .arg = user->arg };
    context_turn_next(c);
    return 0;
}

void context_leave(struct context_turn *turn)
{
    struct context_turn **at = &turn->c->turns;
    while (*at != turn)
        at = &(*at)->next;
    *at = turn->next;
    free(turn);
}
