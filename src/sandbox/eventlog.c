#include "sandbox/eventlog.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ident.h"

#define TRIM_EVERY 500 /* rows between two looks at how many are kept */

struct eventlog_sub {
    struct eventlog *log;
    struct eventlog_sub *next;
    eventlog_fn *fn; /* NULL: unsubscribed while events were being handed out */
    void *arg;
};

struct eventlog {
    struct store *store;
    struct eventlog_sub *subs;
    json_t *last;
    unsigned since_trim;
    unsigned depth; /* > 0 while subscribers are being called */
};

struct eventlog *eventlog_new(struct store *store)
{
    struct eventlog *e = xzalloc(sizeof(*e));
    e->store = store;
    return e;
}

static void drop_dead_subs(struct eventlog *e)
{
    for (struct eventlog_sub **at = &e->subs; *at;) {
        struct eventlog_sub *sub = *at;
        if (sub->fn) {
            at = &sub->next;
            continue;
        }
        *at = sub->next;
        free(sub);
    }
}

struct eventlog *eventlog_free(struct eventlog *e)
{
    if (!e)
        return NULL;
    for (struct eventlog_sub *sub = e->subs; sub; sub = sub->next)
        sub->fn = NULL;
    drop_dead_subs(e);
    json_decref(e->last);
    free(e);
    return NULL;
}

static void publish(struct eventlog *e, json_t *event)
{
    e->depth++;
    for (struct eventlog_sub *sub = e->subs; sub; sub = sub->next)
        if (sub->fn)
            sub->fn(sub->arg, event);
    if (--e->depth == 0)
        drop_dead_subs(e);
}

json_t *eventlog_emit(struct eventlog *e, const char *topic, const char *sandbox_id, json_t *data)
{
    char id[IDENT_MAX];
    ident_new("evt", id);
    if (!json_is_object(data)) {
        json_decref(data);
        data = json_object();
    }
    if (!json_object_get(data, "sandboxId"))
        (void)json_object_set_new(data, "sandboxId", json_string(sandbox_id));
    json_t *event = json_pack("{s:s, s:s, s:s, s:o, s:I}", "id", id, "topic", topic, "sandboxId", sandbox_id, "data",
                              data, "timestamp", (json_int_t)clock_wall_ms());
    (void)store_put_lazy(e->store, "event", id, event, NULL); /* history may miss one when the disk is full; the call may not */
    if (++e->since_trim >= TRIM_EVERY) {
        e->since_trim = 0;
        (void)store_trim(e->store, "event", EVENTLOG_KEEP);
    }
    json_decref(e->last);
    e->last = event;
    json_incref(event); /* a subscriber may emit in turn */
    publish(e, event);
    json_decref(event);
    return event;
}

struct eventlog_sub *eventlog_subscribe(struct eventlog *e, eventlog_fn *fn, void *arg)
{
    struct eventlog_sub *sub = xzalloc(sizeof(*sub));
    *sub = (struct eventlog_sub){ .log = e, .next = e->subs, .fn = fn, .arg = arg };
    e->subs = sub;
    return sub;
}

struct eventlog_sub *eventlog_unsubscribe(struct eventlog_sub *sub)
{
    if (!sub)
        return NULL;
    sub->fn = NULL;
    if (sub->log->depth == 0)
        drop_dead_subs(sub->log);
    return NULL;
}
