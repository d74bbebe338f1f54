/* Theory of operation. Events are rows of the store, written lazily and trimmed to `keep` and EVENT_LOG_BYTES_MAX. What
 * goes is the oldest of those tenants that hold most (share_level()), so that nobody's events push out another's.
 * struct event_log also owns the subscribers, which get each event in the call that emits it, and an index with id,
 * topic, sandbox and tenant of every kept event. The index is read from the store at the first query, or when something
 * has to be trimmed, and updated from then on; places grow from entry to entry, with gaps where entries were trimmed.
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
#include "base/share.h"

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
    int64_t place;
    size_t bytes;
};

struct event_log {
    struct store *store;
    struct event_log_sub *subs;
    event_log_owner_fn *owner_of; /* or NULL */
    void *owner_arg;
    json_t *last;
    int64_t keep, count;
    unsigned since_trim; /* rows, and their bytes */
    size_t since_bytes;
    unsigned depth;      /* > 0 while subscribers are being called */
    struct entry *index; /* oldest first; NULL until it is needed */
    size_t n, cap;
    struct share *rows, *bytes; /* of what is in the index */
    int64_t next_place;
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

static const char *owner_in(const struct entry *at)
{
    return at->tenant ? at->tenant : "";
}

static void entry_drop(struct event_log *e, struct entry *at)
{
    share_give(e->rows, owner_in(at), 1);
    share_give(e->bytes, owner_in(at), at->bytes);
    free(at->topic);
    free(at->sandbox_id);
    free(at->tenant);
}

static void index_free(struct event_log *e)
{
    for (size_t i = 0; i < e->n; i++)
        entry_drop(e, &e->index[i]);
    free(STEAL(e->index));
    e->n = e->cap = 0;
    e->rows = share_free(e->rows);
    e->bytes = share_free(e->bytes);
}

static void index_add(struct event_log *e, const json_t *event)
{
    bool is_own = true;
    if (e->n == e->cap) {
        e->cap = e->cap ? e->cap * 2 : 256;
        e->index = xrealloc(e->index, e->cap * sizeof(*e->index));
    }
    struct entry *at = &e->index[e->n++];
    (void)snprintf(at->id, sizeof(at->id), "%s", json_get_str(event, "id", ""));
    at->topic = xstrdup(json_get_str(event, "topic", ""));
    at->sandbox_id = xstrdup(json_get_str(event, "sandboxId", ""));
    at->tenant = xstrdup(json_get_str(event, "tenant", NULL));
    at->place = e->next_place++;
    at->bytes = json_weight(event, 2 * EVENT_LOG_DATA_MAX, &is_own);
    share_add(e->rows, owner_in(at), 1);
    share_add(e->bytes, owner_in(at), at->bytes);
}

/* In memory and in the store; what the store keeps in spite of it is removed after the next start. */
static void trim_index(struct event_log *e)
{
    if (!share_is_over(e->rows) && !share_is_over(e->bytes))
        return;
    bool is_stored = store_begin(e->store, NULL) == 0;
    size_t row_level = share_level(e->rows), byte_level = share_level(e->bytes), kept = 0, i = 0;
    int r = 0;
    for (; i < e->n && (share_is_over(e->rows) || share_is_over(e->bytes)); i++) {
        struct entry at = e->index[i];
        bool is_over = (share_is_over(e->rows) && share_held(e->rows, owner_in(&at)) > row_level) ||
                       (share_is_over(e->bytes) && share_held(e->bytes, owner_in(&at)) > byte_level);
        if (!is_over) {
            e->index[kept++] = at;
            continue;
        }
        if (is_stored && r == 0)
            r = store_delete(e->store, SCOPE, at.id, NULL);
        entry_drop(e, &at);
    }
    memmove(e->index + kept, e->index + i, (e->n - i) * sizeof(*e->index));
    e->n -= i - kept;
    if (is_stored && r == 0)
        (void)store_commit(e->store, NULL);
    else if (is_stored)
        store_rollback(e->store);
}

static bool load_one(void *arg, const char *key, json_t *doc)
{
    (void)key;
    index_add(arg, doc);
    return true;
}

static int index_need(struct event_log *e, struct err *err)
{
    int r = 0;
    if (!e->index) {
        e->cap = 256;
        e->index = xzalloc(e->cap * sizeof(*e->index));
        e->rows = share_new((size_t)e->keep);
        e->bytes = share_new(EVENT_LOG_BYTES_MAX);
        r = store_each(e->store, SCOPE, false, load_one, e, err);
    }
    if (r < 0)
        index_free(e);
    else
        trim_index(e);
    return r;
}

struct event_log *event_log_free(struct event_log *e)
{
    if (!e)
        return NULL;
    for (struct event_log_sub *sub = e->subs; sub; sub = sub->next)
        sub->fn = NULL;
    drop_dead_subs(e);
    index_free(e);
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
    bool is_own = true;
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
    e->since_bytes += json_weight(event, 2 * EVENT_LOG_DATA_MAX, &is_own);
    bool is_heavy = e->since_bytes >= EVENT_LOG_BYTES_MAX / 4;
    if (++e->since_trim >= TRIM_EVERY || is_heavy) {
        e->since_trim = 0;
        e->since_bytes = 0;
        if (e->index || is_heavy || store_count(e->store, SCOPE) > e->keep)
            (void)index_need(e, NULL);
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
    for (size_t i = e->n; i > 0; i--) {
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
    return e->next_place;
}

int64_t event_log_after(struct event_log *e, const char *id)
{
    if (index_need(e, NULL) < 0)
        return e->next_place; /* unreadable history counts as none */
    for (size_t i = e->n; i > 0; i--)
        if (strcmp(e->index[i - 1].id, id) == 0)
            return e->index[i - 1].place + 1;
    return 0;
}

/* The first entry at this place or behind it: its number in the index. */
static size_t index_find(const struct event_log *e, int64_t place)
{
    size_t low = 0, high = e->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (e->index[mid].place < place)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

json_t *event_log_next(struct event_log *e, const struct event_log_query *q, int64_t *place)
{
    for (size_t i = index_find(e, *place); i < e->n; i++) {
        const struct entry *at = &e->index[i];
        json_t *event = NULL;
        *place = at->place + 1;
        if (is_wanted(at, q) && store_get(e->store, SCOPE, at->id, &event, NULL) == 0)
            return event;
    }
    return NULL;
}
