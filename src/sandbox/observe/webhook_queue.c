/* Theory of operation. A message is a row of the store: its body as it is sent, the number of attempts and the time of
 * the next one. In memory there is a struct delivery without the body. Each webhook has a struct lane, which owns the
 * deliveries in one of four lists: READY, LATER (until its time), SENDING, DEAD.
 *
 * start_ready() takes lanes in turn, so that none waits for another, as long as the limits allow: of attempts in all,
 * for one tenant, one host, one webhook. A webhook that fails gets one attempt at a time, and all failing ones of a
 * tenant together FAILING_MAX: receivers that do not answer hold few attempts.
 *
 * A row is deleted when its message was delivered; a server that dies before sends it again, with the same id. The
 * number of attempts is written lazily: after a crash there may be one more. The table is bounded in bytes, with a
 * share for each tenant; the oldest dead letters of the tenant make room for new messages. */
#include "sandbox/observe/webhook_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ident.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/map.h"
#include "base/share.h"
#include "http/url.h"

#define SCOPE       "webhook_delivery"
#define MIB         1048576
#define CHARGE_MIN  4096 /* bytes of the table that a message takes at least: bounds the memory for it */
#define ALL_MAX     64   /* attempts at the same time */
#define TENANT_MAX  16
#define HOST_MAX    16
#define LANE_MAX    4
#define FAILING_MAX 2
#define GROWTH      3     /* of the pause, from attempt to attempt */
#define LOOK_MS     60000 /* the longest sleep: the wall clock may be set */

enum state { READY, LATER, SENDING, DEAD, STATES };

struct lane;
struct delivery {
    TAILQ_ENTRY(delivery) link;
    struct lane *lane;
    enum state state;
    struct webhook_send *send;
    int64_t next_at; /* wall clock; of LATER */
    size_t charge;
    char id[IDENT_MAX];
};
TAILQ_HEAD(delivery_list, delivery);

struct lane {
    TAILQ_ENTRY(lane) link;
    struct webhook_queue *q;
    char id[IDENT_MAX], host[URL_HOST_MAX];
    char *tenant;
    struct delivery_list lists[STATES];
    int64_t n[STATES], dropped;
    bool is_paused, is_failing;
};

struct webhook_queue {
    struct manager *m;
    struct webhook_queue_events events;
    const struct tls_context_trust *trust; /* NULL: not started */
    TAILQ_HEAD(, lane) lanes;              /* the next one to be served first */
    struct map *by_id;                     /* lanes */
    struct share *bytes;
    struct timer *timer;
    struct webhook_queue_counts counts;
};

/* --- lists --- */

static void enter(struct delivery *d, enum state st)
{
    d->state = st;
    TAILQ_INSERT_TAIL(&d->lane->lists[st], d, link);
    d->lane->n[st]++;
}

static void move_to(struct delivery *d, enum state st)
{
    TAILQ_REMOVE(&d->lane->lists[d->state], d, link);
    d->lane->n[d->state]--;
    enter(d, st);
}

/* Row and memory. */
static void delivery_drop(struct delivery *d)
{
    struct webhook_queue *q = d->lane->q;
    struct err err = ERR_INIT;
    if (store_delete(q->m->store, SCOPE, d->id, &err) < 0) /* a full disk: it may be sent once more */
        log_event(LOG_WARN, "webhook.forget", "id", d->id, "error", err.msg, NULL);
    TAILQ_REMOVE(&d->lane->lists[d->state], d, link);
    d->lane->n[d->state]--;
    share_give(q->bytes, d->lane->tenant, d->charge);
    (void)webhook_send_free(d->send);
    free(d);
}

static struct delivery *delivery_new(struct lane *l, const char *id, size_t body_len)
{
    struct delivery *d = xzalloc(sizeof(*d));
    d->lane = l;
    d->charge = body_len < CHARGE_MIN ? CHARGE_MIN : body_len;
    (void)snprintf(d->id, sizeof(d->id), "%s", id);
    return d;
}

/* --- when --- */

int64_t webhook_queue_pause(int64_t first_ms, int64_t tries)
{
    int64_t pause = first_ms;
    while (--tries > 0 && pause < WEBHOOK_QUEUE_PAUSE_MAX_MS)
        pause *= GROWTH;
    return pause < WEBHOOK_QUEUE_PAUSE_MAX_MS ? pause : WEBHOOK_QUEUE_PAUSE_MAX_MS;
}

/* From four fifths to six fifths, so that what failed together is not retried together. */
static int64_t with_jitter(int64_t ms)
{
    uint32_t random;
    ident_random(&random, sizeof(random));
    return ms * 4 / 5 + (int64_t)((double)random / UINT32_MAX * (double)ms * 2 / 5);
}

static void start_ready(struct webhook_queue *q);

/* Moves what is due, and sets the timer for what is due next. */
static void on_time(void *arg)
{
    struct webhook_queue *q = arg;
    int64_t now = clock_wall_ms(), next = INT64_MAX;
    struct lane *l;
    TAILQ_FOREACH(l, &q->lanes, link)
    {
        struct delivery *d = TAILQ_FIRST(&l->lists[LATER]), *after;
        for (; d; d = after) {
            after = TAILQ_NEXT(d, link);
            if (d->next_at <= now)
                move_to(d, READY);
            else if (!l->is_paused && d->next_at < next)
                next = d->next_at;
        }
    }
    int64_t wait = next == INT64_MAX ? -1 : next - now;
    timer_set(q->timer, wait > LOOK_MS ? LOOK_MS : wait, 0);
    start_ready(q);
}

/* --- attempts --- */

static bool may_start(const struct lane *l)
{
    int64_t all = 0, of_tenant = 0, of_host = 0, failing = 0;
    const struct lane *other;
    if (l->is_paused || l->n[READY] == 0 || l->n[SENDING] >= (l->is_failing ? 1 : LANE_MAX))
        return false;
    TAILQ_FOREACH(other, &l->q->lanes, link)
    {
        bool is_same = strcmp(other->tenant, l->tenant) == 0;
        all += other->n[SENDING];
        of_tenant += is_same ? other->n[SENDING] : 0;
        failing += is_same && other->is_failing ? other->n[SENDING] : 0;
        of_host += strcmp(other->host, l->host) == 0 ? other->n[SENDING] : 0;
    }
    return all < ALL_MAX && of_tenant < TENANT_MAX && of_host < HOST_MAX && !(l->is_failing && failing >= FAILING_MAX);
}

static void retry_later(struct delivery *d, json_t *row, const struct webhook_send_outcome *o)
{
    struct webhook_queue *q = d->lane->q;
    const struct settings *s = q->m->settings;
    int64_t tries = json_get_int(row, "attempts", 0) + 1;
    bool is_over = tries >= s->webhook_tries;
    int64_t wait = with_jitter(webhook_queue_pause(s->webhook_retry_ms, tries));
    d->next_at = clock_wall_ms() + (wait > o->retry_after_ms ? wait : o->retry_after_ms);
    (void)json_object_set_new(row, "attempts", json_integer(tries));
    (void)json_object_set_new(row, "status", json_string(is_over ? "dead" : "pending"));
    (void)json_object_set_new(row, "lastError", json_text(o->error, strlen(o->error)));
    (void)json_object_set_new(row, "lastAttemptAt", json_integer(clock_wall_ms()));
    if (o->status)
        (void)json_object_set_new(row, "lastStatus", json_integer(o->status));
    else
        (void)json_object_del(row, "lastStatus");
    if (is_over)
        (void)json_object_del(row, "nextAttemptAt");
    else
        (void)json_object_set_new(row, "nextAttemptAt", json_integer(d->next_at));
    (void)store_put_lazy(q->m->store, SCOPE, d->id, row, NULL); /* else there is one more attempt after a crash */
    q->counts.failed++;
    q->counts.died += is_over;
    move_to(d, is_over ? DEAD : LATER);
    if (is_over)
        log_event(LOG_WARN, "webhook.dead", "webhook", d->lane->id, "id", d->id, "error", o->error, NULL);
}

static void settle(struct delivery *d, const struct webhook_send_outcome *o)
{
    struct webhook_queue *q = d->lane->q;
    char webhook_id[IDENT_MAX];
    JSON_OWNED row = NULL;
    memcpy(webhook_id, d->lane->id, sizeof(webhook_id));
    d->send = NULL;
    if (o->is_delivered) {
        q->counts.delivered++;
        delivery_drop(d);
    } else if (store_get(q->m->store, SCOPE, d->id, &row, NULL) == 0) {
        retry_later(d, row, o);
    } else { /* the store cannot be read now */
        d->next_at = clock_wall_ms() + q->m->settings->webhook_retry_ms;
        move_to(d, LATER);
    }
    q->events.on_outcome(q->events.arg, webhook_id, o);
}

static void on_sent(void *arg, const struct webhook_send_outcome *o)
{
    struct delivery *d = arg;
    struct webhook_queue *q = d->lane->q;
    settle(d, o);
    on_time(q);
}

/* What cannot even be started counts as an attempt. */
static void attempt_failed(struct delivery *d, const struct err *err)
{
    struct webhook_queue *q = d->lane->q;
    struct webhook_send_outcome o = { 0 };
    (void)snprintf(o.error, sizeof(o.error), "%.150s", err->msg);
    settle(d, &o);
    timer_set(q->timer, 0, 0);
}

static void attempt(struct delivery *d)
{
    struct webhook_queue *q = d->lane->q;
    struct err err = ERR_INIT;
    JSON_OWNED row = NULL;
    const json_t *hook = q->events.record(q->events.arg, d->lane->id);
    move_to(d, SENDING);
    int r = store_get(q->m->store, SCOPE, d->id, &row, &err);
    const char *body = json_get_str(row, "body", "");
    const struct webhook_send_plan plan = { .manager = q->m,
                                            .trust = q->trust,
                                            .tenant = d->lane->tenant,
                                            .url = json_get_str(hook, "url", ""),
                                            .secrets = json_get(json_get(hook, "internal"), "secrets"),
                                            .id = d->id,
                                            .body = body,
                                            .len = strlen(body) };
    if (r == 0)
        r = webhook_send_start(&plan, on_sent, d, &d->send, &err);
    if (r < 0)
        attempt_failed(d, &err);
}

static void start_ready(struct webhook_queue *q)
{
    struct lane *l = q->trust ? TAILQ_FIRST(&q->lanes) : NULL;
    while (l) {
        if (!may_start(l)) {
            l = TAILQ_NEXT(l, link);
            continue;
        }
        TAILQ_REMOVE(&q->lanes, l, link);
        TAILQ_INSERT_TAIL(&q->lanes, l, link);
        attempt(TAILQ_FIRST(&l->lists[READY]));
        l = TAILQ_FIRST(&q->lanes);
    }
}

/* --- lanes --- */

void webhook_queue_open(struct webhook_queue *q, const char *webhook_id, const char *tenant)
{
    struct lane *l = xzalloc(sizeof(*l));
    l->q = q;
    l->tenant = xstrdup(tenant);
    (void)snprintf(l->id, sizeof(l->id), "%s", webhook_id);
    for (int st = 0; st < STATES; st++)
        TAILQ_INIT(&l->lists[st]);
    TAILQ_INSERT_TAIL(&q->lanes, l, link);
    map_set(q->by_id, webhook_id, l);
}

void webhook_queue_set(struct webhook_queue *q, const char *webhook_id, const struct webhook_queue_state *st)
{
    struct lane *l = map_get(q->by_id, webhook_id);
    (void)snprintf(l->host, sizeof(l->host), "%s", st->host);
    l->is_paused = st->is_paused;
    l->is_failing = st->is_failing;
    timer_set(q->timer, 0, 0);
}

static int64_t drop_all(struct lane *l, enum state st)
{
    int64_t n = 0;
    for (struct delivery *d; (d = TAILQ_FIRST(&l->lists[st])); n++)
        delivery_drop(d);
    return n;
}

static void lane_free(struct lane *l)
{
    TAILQ_REMOVE(&l->q->lanes, l, link);
    free(l->tenant);
    free(l);
}

void webhook_queue_close(struct webhook_queue *q, const char *webhook_id)
{
    struct lane *l = map_remove(q->by_id, webhook_id);
    for (int st = 0; st < STATES; st++)
        (void)drop_all(l, (enum state)st);
    lane_free(l);
    timer_set(q->timer, 0, 0);
}

/* --- the life of the queue --- */

struct webhook_queue *webhook_queue_new(struct manager *m, const struct webhook_queue_events *ev)
{
    struct webhook_queue *q = xzalloc(sizeof(*q));
    q->m = m;
    q->events = *ev;
    TAILQ_INIT(&q->lanes);
    q->by_id = map_new();
    q->bytes = share_new((size_t)m->settings->webhook_queue_mb * MIB);
    q->timer = timer_new(m->loop, -1, 0, on_time, q);
    return q;
}

struct webhook_queue *webhook_queue_free(struct webhook_queue *q)
{
    if (!q)
        return NULL;
    for (struct map_iter it = map_iter(q->by_id); map_next(&it);) {
        struct lane *l = it.value;
        for (int st = 0; st < STATES; st++)
            for (struct delivery *d; (d = TAILQ_FIRST(&l->lists[st]));) {
                TAILQ_REMOVE(&l->lists[st], d, link);
                (void)webhook_send_free(d->send);
                free(d);
            }
        lane_free(l);
    }
    timer_free(q->timer);
    share_free(q->bytes);
    map_free(q->by_id);
    free(q);
    return NULL;
}

static bool load_one(void *arg, const char *key, json_t *doc)
{
    struct webhook_queue *q = arg;
    struct lane *l = map_get(q->by_id, json_get_str(doc, "webhookId", ""));
    if (!l) { /* a server was killed in the middle of a delete */
        (void)store_delete(q->m->store, SCOPE, key, NULL);
        return true;
    }
    struct delivery *d = delivery_new(l, key, strlen(json_get_str(doc, "body", "")));
    d->next_at = json_get_int(doc, "nextAttemptAt", 0);
    share_add(q->bytes, l->tenant, d->charge);
    bool is_dead = strcmp(json_get_str(doc, "status", ""), "dead") == 0;
    enter(d, is_dead ? DEAD : d->next_at ? LATER : READY);
    return true;
}

int webhook_queue_load(struct webhook_queue *q, struct err *err)
{
    int r = store_each(q->m->store, SCOPE, false, load_one, q, err);
    return r < 0 ? err_wrap(err, r, "read the webhook deliveries") : 0;
}

void webhook_queue_start(struct webhook_queue *q, const struct tls_context_trust *trust)
{
    q->trust = trust;
    on_time(q);
}

const struct tls_context_trust *webhook_queue_trust(const struct webhook_queue *q)
{
    return q->trust;
}

/* --- messages --- */

static bool has_room(const struct lane *l, size_t charge)
{
    return share_has_room(l->q->bytes, "", charge) && share_has_room(l->q->bytes, l->tenant, charge);
}

/* The oldest dead letters of the same tenant go first. */
static bool make_room(struct lane *l, size_t charge)
{
    for (struct map_iter it = map_iter(l->q->by_id); !has_room(l, charge) && map_next(&it);) {
        struct lane *other = it.value;
        while (strcmp(other->tenant, l->tenant) == 0 && other->n[DEAD] && !has_room(l, charge))
            delivery_drop(TAILQ_FIRST(&other->lists[DEAD]));
    }
    return has_room(l, charge);
}

int webhook_queue_add(struct webhook_queue *q, const char *webhook_id, const char *topic, const char *body,
                      struct err *err)
{
    char id[IDENT_MAX];
    struct lane *l = map_get(q->by_id, webhook_id);
    ident_new("msg", id);
    struct delivery *d = delivery_new(l, id, strlen(body));
    JSON_OWNED row =
        json_pack("{s:s, s:s, s:s, s:s, s:i, s:I, s:s}", "id", id, "webhookId", webhook_id, "topic", topic, "status",
                  "pending", "attempts", 0, "createdAt", (json_int_t)clock_wall_ms(), "body", body);
    int r = 0;
    if (!row)
        r = err_set(err, ERR_CAPACITY, 0, "webhook %s: no memory for a message", webhook_id);
    else if (!make_room(l, d->charge))
        r = err_set(
            err, ERR_CAPACITY, 0,
            "webhook %s: too many messages wait; repair its receiver, purge some, or raise III_WEBHOOK_QUEUE_MB",
            webhook_id);
    else
        r = store_put(q->m->store, SCOPE, id, row, err);
    if (r < 0) {
        l->dropped++;
        q->counts.dropped++;
        free(d);
        return r;
    }
    share_add(q->bytes, l->tenant, d->charge);
    enter(d, READY);
    timer_set(q->timer, 0, 0); /* from the loop: whoever emits does not wait */
    return 0;
}

static bool is_wanted(const struct webhook_queue_query *what, enum state st)
{
    return st == DEAD ? what->wants_dead : what->wants_pending;
}

json_t *webhook_queue_page(struct webhook_queue *q, const char *webhook_id, const struct webhook_queue_query *what,
                           struct err *err)
{
    const struct lane *l = map_get(q->by_id, webhook_id);
    JSON_OWNED list = json_array();
    int64_t total = 0;
    static const enum state order[] = { DEAD, SENDING, LATER, READY }; /* about oldest first */
    for (size_t i = 0; i < STATES; i++) {
        const struct delivery *d;
        TAILQ_FOREACH(d, &l->lists[order[i]], link)
        {
            json_t *row = NULL;
            if (!is_wanted(what, order[i]))
                break;
            if (total++ < what->offset || total - what->offset > what->limit)
                continue;
            if (store_get(q->m->store, SCOPE, d->id, &row, err) < 0)
                return NULL;
            (void)json_object_del(row, "body");
            (void)json_array_append_new(list, row);
        }
    }
    return json_pack("{s:O, s:I}", "deliveries", list, "total", (json_int_t)total);
}

static int revive(struct delivery *d, struct err *err)
{
    struct webhook_queue *q = d->lane->q;
    JSON_OWNED row = NULL;
    int r = store_get(q->m->store, SCOPE, d->id, &row, err);
    (void)json_object_set_new(row, "status", json_string("pending"));
    (void)json_object_set_new(row, "attempts", json_integer(0));
    if (r == 0)
        r = store_put(q->m->store, SCOPE, d->id, row, err);
    if (r == 0) {
        d->next_at = 0;
        move_to(d, READY);
        timer_set(q->timer, 0, 0);
    }
    return r;
}

int webhook_queue_retry(struct webhook_queue *q, const char *webhook_id, const char *delivery_id, struct err *err)
{
    struct lane *l = map_get(q->by_id, webhook_id);
    struct delivery *d = TAILQ_FIRST(&l->lists[DEAD]), *next;
    int n = 0, r = 0;
    for (; d && r == 0; d = next) {
        next = TAILQ_NEXT(d, link);
        if (delivery_id && strcmp(d->id, delivery_id) != 0)
            continue;
        r = revive(d, err);
        n += r == 0;
    }
    if (r == 0 && delivery_id && n == 0)
        return err_set(err, ERR_NOT_FOUND, 0, "dead letter not found: %.64s", delivery_id);
    return r < 0 ? r : n;
}

int64_t webhook_queue_purge(struct webhook_queue *q, const char *webhook_id, const struct webhook_queue_query *what)
{
    struct lane *l = map_get(q->by_id, webhook_id);
    int64_t n = 0;
    for (int st = 0; st < STATES; st++)
        n += is_wanted(what, (enum state)st) ? drop_all(l, (enum state)st) : 0;
    timer_set(q->timer, 0, 0);
    return n;
}

struct webhook_queue_counts webhook_queue_lane_counts(const struct webhook_queue *q, const char *webhook_id)
{
    const struct lane *l = map_get(q->by_id, webhook_id);
    return (struct webhook_queue_counts){ .pending = l->n[READY] + l->n[LATER] + l->n[SENDING],
                                          .dead = l->n[DEAD],
                                          .dropped = l->dropped };
}

struct webhook_queue_counts webhook_queue_counts(const struct webhook_queue *q)
{
    struct webhook_queue_counts c = q->counts;
    for (struct map_iter it = map_iter(q->by_id); map_next(&it);) {
        struct webhook_queue_counts of = webhook_queue_lane_counts(q, it.key);
        c.pending += of.pending;
        c.dead += of.dead;
    }
    return c;
}
