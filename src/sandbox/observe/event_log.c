/* Theory of operation. Events are rows of the store, written lazily and trimmed to `keep`. struct event_log also owns
 * the subscribers, which get each event in the call that emits it, and an index with id, topic, sandbox and tenant of
 * every kept event. The index is read from the store at the first query and updated from then on; a place in the log is
 * the number of an entry, which stays valid while older entries are trimmed.
 *
 * A subscriber may emit, subscribe or unsubscribe while it is called: removal is delayed until depth is 0. An event
 * that cannot be stored still reaches the subscribers. History that cannot be read is an error of event_log_page(), and
 * counts as empty for event_log_end() and event_log_after(). */
#include "sandbox/observe/event_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ident.h"

#define SCOPE      "event"
#define TRIM_EVERY 500 /* rows between two looks at how many are kept */

struct event_log_sub {
    struct event_log *log;
    struct event_log_sub *next;
    event_log_fn *fn; /* NULL: unsubscribed while events were being handed out */
    void *arg;
};

struct entry {
    char id[IDENT_MAX];
    char *topic, *sandbox_id, *tenant; /* tenant NULL: no owner */
};

struct event_log {
    struct store *store;
    struct event_log_sub *subs;
    event_log_owner_fn *owner_of; /* or NULL */
    void *owner_arg;
    json_t *last;
    int64_t keep, count;
    unsigned since_trim;
    unsigned depth;      /* > 0 while subscribers are being called */
    struct entry *index; /* oldest first; the entry at i has the place first + i. NULL until someone asks */
    size_t n, cap;
    int64_t first;
};

struct event_log *event_log_new(struct store *store)
{
    struct event_log *e = xzalloc(sizeof(*e));
    e->store = store;
    e->keep = EVENT_LOG_KEEP;
    return e;
}

void event_log_set_keep(struct event_log *e, int64_t keep)
{
    e->keep = keep;
}

static void drop_dead_subs(struct event_log *e)
{
    for (struct event_log_sub **at = &e->subs; *at;) {
        struct event_log_sub *sub = *at;
        if (sub->fn) {
            at = &sub->next;
            continue;
        }
        *at = sub->next;
        free(sub);
    }
}

/* --- the index --- */

static void index_drop(struct event_log *e, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(e->index[i].topic);
        free(e->index[i].sandbox_id);
        free(e->index[i].tenant);
    }
    memmove(e->index, e->index + count, (e->n - count) * sizeof(*e->index));
    e->n -= count;
    e->first += (int64_t)count;
}

static void index_add(struct event_log *e, const json_t *event)
{
    if (e->n == e->cap) {
        e->cap = e->cap ? e->cap * 2 : 256;
        e->index = xrealloc(e->index, e->cap * sizeof(*e->index));
    }
    struct entry *at = &e->index[e->n++];
    (void)snprintf(at->id, sizeof(at->id), "%s", json_get_str(event, "id", ""));
    at->topic = xstrdup(json_get_str(event, "topic", ""));
    at->sandbox_id = xstrdup(json_get_str(event, "sandboxId", ""));
    at->tenant = xstrdup(json_get_str(event, "tenant", NULL));
}

static bool load_one(void *arg, const char *key, json_t *doc)
{
    (void)key;
    index_add(arg, doc);
    return true;
}

static int index_need(struct event_log *e, struct err *err)
{
    if (e->index)
        return 0;
    (void)store_trim(e->store, SCOPE, e->keep);
    e->cap = 256;
    e->index = xzalloc(e->cap * sizeof(*e->index));
    int r = store_each(e->store, SCOPE, false, load_one, e, err);
    if (r < 0) {
        index_drop(e, e->n);
        free(STEAL(e->index));
        e->cap = 0;
    }
    return r;
}

struct event_log *event_log_free(struct event_log *e)
{
    if (!e)
        return NULL;
    for (struct event_log_sub *sub = e->subs; sub; sub = sub->next)
        sub->fn = NULL;
    drop_dead_subs(e);
    if (e->index)
        index_drop(e, e->n);
    free(e->index);
    json_decref(e->last);
    free(e);
    return NULL;
}

/* --- recording --- */

static const char *owner_of(const struct event_log *e, const char *sandbox_id)
{
    const char *tenant = e->owner_of ? e->owner_of(e->owner_arg, sandbox_id) : NULL;
    return tenant ? tenant : "";
}

/* Takes data. */
static json_t *record_event(struct event_log *e, const char *tenant, const char *topic, const char *sandbox_id,
                            json_t *data)
{
    char id[IDENT_MAX];
    ident_new("evt", id);
    json_t *event = json_pack("{s:s, s:s, s:s, s:o, s:I}", "id", id, "topic", topic, "sandboxId", sandbox_id, "data",
                              data, "timestamp", (json_int_t)clock_wall_ms());
    if (*tenant)
        (void)json_object_set_new(event, "tenant", json_string(tenant));
    (void)store_put_lazy(e->store, SCOPE, id, event,
                         NULL); /* history may miss one when the disk is full; the call may not */
    e->count++;
    if (e->index)
        index_add(e, event);
    if (++e->since_trim >= TRIM_EVERY) {
        e->since_trim = 0;
        (void)store_trim(e->store, SCOPE, e->keep);
        if (e->index && (int64_t)e->n > e->keep)
            index_drop(e, e->n - (size_t)e->keep);
    }
    json_decref(e->last);
    e->last = event;
    json_incref(event); /* a subscriber may emit in turn */
    e->depth++;
    for (struct event_log_sub *sub = e->subs; sub; sub = sub->next)
        if (sub->fn)
            sub->fn(sub->arg, event);
    if (--e->depth == 0)
        drop_dead_subs(e);
    json_decref(event);
    return event;
}

static json_t *named(const char *sandbox_id, json_t *data)
{
    if (!json_is_object(data)) {
        json_decref(data);
        data = json_object();
    }
    if (!json_object_get(data, "sandboxId"))
        (void)json_object_set_new(data, "sandboxId", json_string(sandbox_id));
    return data;
}

json_t *event_log_emit(struct event_log *e, const char *topic, const char *sandbox_id, json_t *data)
{
    return record_event(e, owner_of(e, sandbox_id), topic, sandbox_id, named(sandbox_id, data));
}

void event_log_emit_for(struct event_log *e, const char *tenant, const char *topic, const char *sandbox_id,
                        json_t *data)
{
    (void)record_event(e, tenant, topic, sandbox_id, named(sandbox_id, data));
}

void event_log_on_owner(struct event_log *e, event_log_owner_fn *fn, void *arg)
{
    e->owner_of = fn;
    e->owner_arg = arg;
}

json_t *event_log_publish(struct event_log *e, const struct event_log_news *news, struct err *err)
{
    const json_t *data = news->data;
    const char *tenant = *news->tenant ? news->tenant : owner_of(e, news->sandbox_id);
    size_t len = 0;
    CLEANUP(free_p) char *text = data ? json_write(data, &len) : NULL;
    if (len > EVENT_LOG_DATA_MAX) {
        (void)err_set(err, ERR_TOO_LARGE, 0, "data: %zu bytes as JSON, at most %d are kept with an event", len,
                      EVENT_LOG_DATA_MAX);
        return NULL;
    }
    return record_event(e, tenant, news->topic, news->sandbox_id, data ? json_deep_copy(data) : json_object());
}

int64_t event_log_count(const struct event_log *e)
{
    return e->count;
}

struct event_log_sub *event_log_subscribe(struct event_log *e, event_log_fn *fn, void *arg)
{
    struct event_log_sub *sub = xzalloc(sizeof(*sub));
    *sub = (struct event_log_sub){ .log = e, .next = e->subs, .fn = fn, .arg = arg };
    e->subs = sub;
    return sub;
}

struct event_log_sub *event_log_unsubscribe(struct event_log_sub *sub)
{
    if (!sub)
        return NULL;
    sub->fn = NULL;
    if (sub->log->depth == 0)
        drop_dead_subs(sub->log);
    return NULL;
}

/* --- reading --- */

static bool is_wanted(const struct entry *at, const struct event_log_query *q)
{
    return (!q->sandbox_id || strcmp(at->sandbox_id, q->sandbox_id) == 0) &&
           (!q->topic || strcmp(at->topic, q->topic) == 0) &&
           (!q->tenant || (at->tenant && strcmp(at->tenant, q->tenant) == 0));
}

bool event_log_wants(const struct event_log_query *q, const json_t *event)
{
    struct entry at = { .topic = (char *)(uintptr_t)json_get_str(event, "topic", ""),
                        .sandbox_id = (char *)(uintptr_t)json_get_str(event, "sandboxId", ""),
                        .tenant = (char *)(uintptr_t)json_get_str(event, "tenant", NULL) };
    return is_wanted(&at, q);
}

json_t *event_log_page(struct event_log *e, const struct event_log_query *q, struct err *err)
{
    if (index_need(e, err) < 0)
        return NULL;
    JSON_OWNED events = json_array();
    int64_t total = 0;
    int64_t kept = (int64_t)e->n > e->keep ? e->keep : (int64_t)e->n; /* the rest waits to be trimmed */
    for (int64_t i = (int64_t)e->n; i > (int64_t)e->n - kept; i--) {
        const struct entry *at = &e->index[i - 1];
        json_t *event = NULL;
        if (!is_wanted(at, q))
            continue;
        if (total >= q->offset && (int64_t)json_array_size(events) < q->limit) {
            if (store_get(e->store, SCOPE, at->id, &event, err) < 0)
                return NULL;
            (void)json_array_append_new(events, event);
        }
        total++;
    }
    return json_pack("{s:O, s:I}", "events", events, "total", (json_int_t)total);
}

int64_t event_log_end(struct event_log *e)
{
    (void)index_need(e, NULL); /* unreadable history counts as none */
    return e->first + (int64_t)e->n;
}

int64_t event_log_after(struct event_log *e, const char *id)
{
    if (index_need(e, NULL) < 0)
        return e->first; /* unreadable history counts as none */
    for (size_t i = e->n; i > 0; i--)
        if (strcmp(e->index[i - 1].id, id) == 0)
            return e->first + (int64_t)i;
    return e->first;
}

json_t *event_log_next(struct event_log *e, const struct event_log_query *q, int64_t *place)
{
    if (*place < e->first)
        *place = e->first;
    while (e->index && *place < e->first + (int64_t)e->n) {
        const struct entry *at = &e->index[(*place)++ - e->first];
        json_t *event = NULL;
        if (is_wanted(at, q) && store_get(e->store, SCOPE, at->id, &event, NULL) == 0)
            return event;
    }
    return NULL;
}
