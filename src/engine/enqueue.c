/* The durable queue. A job is a document in the store (scope JOBS) and a struct job in memory; struct enqueue owns both
 * maps. A job is in exactly one place: waiting in its lane (one queue by name), delayed (ordered by due time, one timer
 * for all), on the shelf of a function that is not registered, or running. queue_pump() takes lanes that are due and
 * runs jobs up to the lane's limit. Success deletes the document. Failure increments the count of tries in the store
 * and delays the job, twice as long each time; after the last try it becomes a dead letter. A crash loses nothing that
 * was acknowledged: enqueue_init() loads all jobs, and one that was running runs again. */
#include "engine/enqueue.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/binding_set.h"
#include "engine/invocation.h"
#include "engine/message.h"
#include "engine/registry.h"

#define JOBS        "engine_queue"
#define DEAD        "engine_dead"
#define PAUSE_MAX   (10 * 60 * 1000)
#define RETRIES_MAX 100
#define LANES_MAX   ENQUEUE_JOBS_MAX /* one that nobody is bound to has a job: the share of jobs is one of these, too */

TAILQ_HEAD(job_list, job);

/* One queue by name. */
struct lane {
    char *name;
    struct job_list waiting; /* in order of arrival */
    unsigned running, parallel, retries;
    int64_t pause_ms;
    size_t n_jobs;
    bool is_bound; /* a subscriber has set its limits */
    bool is_due;   /* in enqueue.due */
    TAILQ_ENTRY(lane) link;
};

/* Jobs of all lanes that wait for one function to be registered. */
struct shelf {
    struct job_list jobs;
};

struct job {
    char id[UUID_MAX];
    struct enqueue *queue;
    struct lane *lane;
    json_t *doc; /* as in the store: queue, function_id (absent: a topic without a subscriber so far), data, tries, … */
    int64_t due_ms; /* when a delayed job is tried next; loop time */
    bool is_running;
    TAILQ_ENTRY(job) link; /* in lane->waiting, in enqueue.delayed or on a shelf; in none while it runs */
};

struct enqueue {
    struct engine *engine;
    struct map *jobs;       /* id -> struct job, all of them */
    struct map *lanes;      /* name -> struct lane */
    struct map *shelves;    /* function id -> struct shelf */
    TAILQ_HEAD(, lane) due; /* to be processed by the next queue_pump() */
    struct job_list delayed;
    struct timer *timer;
    struct binding_set subscribers;
    struct share *share; /* of the jobs */
    struct share *dead;  /* of the dead letters */
    bool is_pump_due, is_over;
};

/* --- lanes and jobs --- */

static struct lane *lane_of(struct enqueue *q, const char *name)
{
    struct lane *l = map_get(q->lanes, name);
    if (l)
        return l;
    l = xzalloc(sizeof(*l));
    l->name = xstrdup(name);
    l->parallel = ENQUEUE_PARALLEL;
    l->retries = ENQUEUE_RETRIES;
    l->pause_ms = ENQUEUE_PAUSE_MS;
    TAILQ_INIT(&l->waiting);
    map_set(q->lanes, name, l);
    return l;
}

static void lane_free(struct enqueue *q, struct lane *l)
{
    (void)map_remove(q->lanes, l->name);
    if (l->is_due)
        TAILQ_REMOVE(&q->due, l, link);
    free(l->name);
    free(l);
}

/* Naming a queue creates it: unused ones are removed to make room. */
static int make_room(struct enqueue *q, const char *name, struct err *err)
{
    if (map_count(q->lanes) < LANES_MAX || map_get(q->lanes, name))
        return 0;
    for (struct map_iter it = map_iter(q->lanes); map_next(&it);) {
        struct lane *l = it.value;
        if (l->n_jobs == 0 && !l->is_bound)
            lane_free(q, l);
    }
    if (map_count(q->lanes) < LANES_MAX)
        return 0;
    return err_set(err, ERR_CAPACITY, 0, "limit of %d queues reached", LANES_MAX);
}

static const char *tenant_in(const json_t *doc)
{
    return json_get_str(doc, "tenant", "");
}

static const char *function_of(const struct job *j)
{
    return json_get_str(j->doc, "function_id", NULL);
}

/* Takes doc. */
static struct job *job_new(struct enqueue *q, const char *id, json_t *doc)
{
    struct job *j = xzalloc(sizeof(*j));
    (void)memcpy(j->id, id, UUID_MAX);
    j->queue = q;
    j->doc = doc;
    j->lane = lane_of(q, json_get_str(doc, "queue", "default"));
    j->lane->n_jobs++;
    map_set(q->jobs, j->id, j);
    TAILQ_INSERT_TAIL(&j->lane->waiting, j, link);
    return j;
}

static void job_free(struct job *j)
{
    (void)map_remove(j->queue->jobs, j->id);
    share_give(j->queue->share, tenant_in(j->doc), 1);
    j->lane->n_jobs--;
    json_decref(j->doc);
    free(j);
}

static void pump_later(struct lane *l, struct enqueue *q);

/* --- running --- */

/* The oldest dead letter, of one tenant or of all. */
struct oldest {
    const char *tenant; /* NULL: all */
    char id[UUID_MAX], owner[SHARE_TENANT_MAX];
};

static bool is_not_oldest(void *arg, const char *key, json_t *doc)
{
    struct oldest *o = arg;
    if (o->tenant && strcmp(o->tenant, tenant_in(doc)) != 0)
        return true;
    (void)snprintf(o->id, sizeof(o->id), "%s", key);
    (void)snprintf(o->owner, sizeof(o->owner), "%s", tenant_in(doc));
    return false;
}

static void dead_drop_oldest(struct enqueue *q, const char *tenant)
{
    struct oldest o = { .tenant = tenant };
    (void)store_each(q->engine->store, DEAD, false, is_not_oldest, &o, NULL);
    (void)store_delete(q->engine->store, DEAD, o.id, NULL); /* at worst one more is kept */
    share_give(q->dead, o.owner, 1);
}

static void job_bury(struct enqueue *q, struct job *j, const struct engine_error *error)
{
    struct store *s = q->engine->store;
    struct err err = ERR_INIT;
    JSON_OWNED why = message_error_body(error->code, error->message, NULL);
    (void)json_object_set(j->doc, "error", why);
    (void)json_object_set_new(j->doc, "failed_at", json_integer(clock_wall_ms()));
    int r = store_begin(s, &err);
    if (r == 0)
        r = store_put(s, DEAD, j->id, j->doc, &err);
    if (r == 0)
        r = store_delete(s, JOBS, j->id, &err);
    if (r == 0)
        r = store_commit(s, &err);
    if (r < 0) {
        store_rollback(s);
        log_event(LOG_DEBUG, "engine.queue_store", "job", j->id, "error", err.msg, NULL);
    }
    if (!share_take(q->dead, tenant_in(j->doc), 1)) {
        dead_drop_oldest(q, tenant_in(j->doc));
        (void)share_take(q->dead, tenant_in(j->doc), 1);
    }
    if (store_count(s, DEAD) > ENQUEUE_DEAD_MAX)
        dead_drop_oldest(q, NULL);
    job_free(j);
}

/* Sets the timer for the first delayed job. */
static void queue_arm(struct enqueue *q)
{
    const struct job *j;
    int64_t soonest = -1, now = loop_now_ms(q->engine->loop);
    TAILQ_FOREACH(j, &q->delayed, link)
    if (soonest < 0 || j->due_ms < soonest)
        soonest = j->due_ms;
    if (soonest >= 0)
        timer_set(q->timer, soonest > now ? soonest - now : 0, 0);
}

static void try_again(struct enqueue *q, struct job *j, int64_t tries)
{
    int64_t pause = j->lane->pause_ms;
    for (int64_t i = 1; i < tries && pause < PAUSE_MAX; i++)
        pause *= 2;
    if (pause > PAUSE_MAX)
        pause = PAUSE_MAX;
    (void)json_object_set_new(j->doc, "tries", json_integer(tries));
    (void)store_put(q->engine->store, JOBS, j->id, j->doc, NULL); /* on failure only its count of tries restarts */
    j->due_ms = loop_now_ms(q->engine->loop) + pause;
    TAILQ_INSERT_TAIL(&q->delayed, j, link);
    queue_arm(q);
}

static void job_answered(void *arg, json_t *result, const struct engine_error *error)
{
    struct job *j = arg;
    struct enqueue *q = j->queue;
    (void)result;
    j->is_running = false;
    j->lane->running--;
    if (q->is_over) {
        job_free(j); /* it is in the store: the next start runs it */
        return;
    }
    struct lane *l = j->lane;
    int64_t tries = json_get_int(j->doc, "tries", 0) + 1;
    if (!error) {
        (void)store_delete(q->engine->store, JOBS, j->id, NULL); /* at worst it runs once more after a restart */
        job_free(j);
    } else if (strcmp(error->code, "function_not_found") == 0) {
        TAILQ_INSERT_TAIL(&j->lane->waiting, j, link);
    } else if (tries > j->lane->retries) {
        job_bury(q, j, error);
    } else {
        try_again(q, j, tries);
    }
    pump_later(l, q);
}

static void job_run(struct enqueue *q, struct job *j)
{
    TAILQ_REMOVE(&j->lane->waiting, j, link);
    j->is_running = true;
    j->lane->running++;
    struct invocation i = { .function_id = function_of(j),
                            .payload = json_object_get(j->doc, "data"),
                            .metadata = json_get(j->doc, "metadata"),
                            .traceparent = json_get_str(j->doc, "traceparent", NULL),
                            .baggage = json_get_str(j->doc, "baggage", NULL),
                            .done = job_answered,
                            .arg = j };
    JSON_OWNED doc = json_incref(j->doc); /* the job may be done before the call returns */
    invocation_start(q->engine, &i);
}

static void job_shelve(struct enqueue *q, struct job *j)
{
    struct shelf *s = map_get(q->shelves, function_of(j));
    if (!s) {
        s = xzalloc(sizeof(*s));
        TAILQ_INIT(&s->jobs);
        map_set(q->shelves, function_of(j), s);
    }
    TAILQ_REMOVE(&j->lane->waiting, j, link);
    TAILQ_INSERT_TAIL(&s->jobs, j, link);
}

static void queue_pump(void *arg)
{
    struct engine *e = arg;
    struct enqueue *q = e->enqueue;
    struct lane *l;
    if (!q || q->is_over)
        return;
    q->is_pump_due = false;
    for (size_t n = map_count(q->lanes); n && (l = TAILQ_FIRST(&q->due));
         n--) { /* bounded: running may make more lanes due */
        TAILQ_REMOVE(&q->due, l, link);
        l->is_due = false;
        for (struct job *j; l->running < l->parallel && (j = TAILQ_FIRST(&l->waiting)) && function_of(j);)
            if (registry_find(q->engine, function_of(j)))
                job_run(q, j);
            else
                job_shelve(q, j);
    }
}

static void pump_later(struct lane *l, struct enqueue *q)
{
    if (q->is_over)
        return;
    if (!l->is_due)
        TAILQ_INSERT_TAIL(&q->due, l, link);
    l->is_due = true;
    if (!q->is_pump_due)
        loop_defer(q->engine->loop, queue_pump, q->engine);
    q->is_pump_due = true;
}

static void queue_tick(void *arg)
{
    struct enqueue *q = arg;
    int64_t now = loop_now_ms(q->engine->loop);
    struct job *next;
    for (struct job *j = TAILQ_FIRST(&q->delayed); j; j = next) {
        next = TAILQ_NEXT(j, link);
        if (j->due_ms <= now) {
            TAILQ_REMOVE(&q->delayed, j, link);
            TAILQ_INSERT_TAIL(&j->lane->waiting, j, link);
            pump_later(j->lane, q);
        }
    }
    queue_arm(q);
}

void enqueue_function_came(struct engine *e, const char *function_id)
{
    struct enqueue *q = e->enqueue;
    struct shelf *s = q ? map_remove(q->shelves, function_id) : NULL;
    while (s && !TAILQ_EMPTY(&s->jobs)) {
        struct job *j = TAILQ_FIRST(&s->jobs);
        TAILQ_REMOVE(&s->jobs, j, link);
        TAILQ_INSERT_TAIL(&j->lane->waiting, j, link);
        pump_later(j->lane, q);
    }
    free(s);
}

/* --- adding --- */

/* function_id NULL: for the first subscriber of the topic. Returns the id in out. */
static int queue_add(struct enqueue *q, const struct enqueue_job *w, const char *topic, char out[UUID_MAX],
                     struct err *err)
{
    if (map_count(q->jobs) >= ENQUEUE_JOBS_MAX)
        return err_set(err, ERR_CAPACITY, 0, "limit of %d queued jobs reached", ENQUEUE_JOBS_MAX);
    const char *tenant = w->tenant ? w->tenant : "";
    if (!share_take(q->share, tenant, 1))
        return err_set(err, ERR_CAPACITY, 0, "limit of %d queued jobs of one tenant reached",
                       ENQUEUE_JOBS_MAX / SHARE_PARTS);
    int r = make_room(q, w->queue, err);
    uuid_new(out);
    JSON_OWNED doc = json_object();
    message_set_str(doc, "queue", w->queue);
    message_set_str(doc, "function_id", w->function_id);
    message_set_str(doc, "topic", topic);
    message_set(doc, "data", w->data);
    message_set(doc, "metadata", w->metadata);
    message_set_str(doc, "traceparent", w->traceparent);
    message_set_str(doc, "baggage", w->baggage);
    message_set_str(doc, "tenant", *tenant ? tenant : NULL);
    (void)json_object_set_new(doc, "tries", json_integer(0));
    (void)json_object_set_new(doc, "enqueued_at", json_integer(clock_wall_ms()));
    if (r == 0)
        r = store_put(q->engine->store, JOBS, out, doc, err);
    if (r < 0) {
        share_give(q->share, tenant, 1);
        return r;
    }
    pump_later(job_new(q, out, STEAL(doc))->lane, q);
    return 0;
}

json_t *enqueue_add(struct enqueue *q, const struct enqueue_job *job, struct err *err)
{
    char id[UUID_MAX];
    if (queue_add(q, job, NULL, id, err) < 0)
        return NULL;
    return json_pack("{s:s}", "messageReceiptId", id);
}

static void enqueue_fn(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    struct err err = ERR_INIT;
    json_t *data = json_object_get(payload, "data");
    JSON_OWNED none = json_object();
    struct enqueue_job job = { .queue = json_get_str(payload, "queue", NULL),
                               .function_id = json_get_str(payload, "function_id", NULL),
                               .data = data ? data : none,
                               .metadata = json_get(payload, "metadata"),
                               .tenant = c->tenant };
    if (!job.queue || !*job.queue || !job.function_id || !*job.function_id) {
        engine_fail(c, "deserialization_error", "engine::queue::enqueue needs queue and function_id");
        return;
    }
    json_t *receipt = enqueue_add(e->enqueue, &job, &err);
    if (receipt)
        engine_ok(c, receipt);
    else
        engine_fail(c, "enqueue_error", "%s", err.msg);
}

/* --- topics --- */

static char *topic_lane(const char *topic, const char *function_id)
{
    return xasprintf("topic:%s:%s", topic, function_id);
}

/* Each subscribed function gets its own job; without one the message waits for the first subscriber. */
static int publish_to(struct enqueue *q, const struct engine_call *c, const char *topic, json_t *data, struct err *err)
{
    char id[UUID_MAX];
    int r = 0;
    bool has_any = false;
    for (size_t i = 0; i < q->subscribers.n && r == 0; i++) {
        const struct binding *b = q->subscribers.items[i];
        if (strcmp(trigger_config_str(b, "topic", ""), topic) != 0)
            continue;
        CLEANUP(free_p) char *lane = topic_lane(topic, b->function_id);
        struct enqueue_job job = {
            .queue = lane, .function_id = b->function_id, .data = data, .metadata = b->metadata, .tenant = c->tenant
        };
        has_any = true;
        r = queue_add(q, &job, topic, id, err);
    }
    if (has_any || r < 0)
        return r;
    CLEANUP(free_p) char *lane = topic_lane(topic, "");
    struct enqueue_job job = { .queue = lane, .data = data, .tenant = c->tenant };
    return queue_add(q, &job, topic, id, err);
}

static void queue_publish(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    struct err err = ERR_INIT;
    const char *topic = json_get_str(payload, "topic", NULL);
    json_t *data = json_object_get(payload, "data");
    JSON_OWNED none = json_null();
    if (!topic || !*topic)
        engine_fail(c, "deserialization_error", "iii::durable::publish needs topic, a non-empty string");
    else if (publish_to(e->enqueue, c, topic, data ? data : none, &err) < 0)
        engine_fail(c, "enqueue_error", "%s", err.msg);
    else
        engine_ok(c, json_null());
}

static int64_t config_int(const json_t *config, const char *key, int64_t fallback, int64_t min, int64_t max)
{
    int64_t n = json_get_int(config, key, fallback);
    return n < min ? min : n > max ? max : n;
}

/* Gives messages that arrived before there was a subscriber to this one. */
static void queue_adopt(struct enqueue *q, struct lane *to, const struct binding *b, const char *topic)
{
    CLEANUP(free_p) char *name = topic_lane(topic, "");
    struct lane *from = map_get(q->lanes, name);
    while (from && !TAILQ_EMPTY(&from->waiting)) {
        struct job *j = TAILQ_FIRST(&from->waiting);
        TAILQ_REMOVE(&from->waiting, j, link);
        message_set_str(j->doc, "function_id", b->function_id);
        message_set_str(j->doc, "queue", to->name);
        message_set(j->doc, "metadata", b->metadata);
        (void)store_put(q->engine->store, JOBS, j->id, j->doc, NULL); /* on failure it waits for a subscriber again */
        j->lane->n_jobs--;
        to->n_jobs++;
        j->lane = to;
        TAILQ_INSERT_TAIL(&to->waiting, j, link);
    }
}

static int queue_bind(struct engine *e, struct binding *b, struct err *err)
{
    struct enqueue *q = e->enqueue;
    const char *topic = trigger_config_str(b, "topic", NULL);
    const json_t *config = json_get(b->config, "queue_config");
    if (!topic || !*topic)
        return err_set(err, ERR_INVALID, 0, "a %s trigger needs config.topic, a non-empty string", b->type);
    CLEANUP(free_p) char *name = topic_lane(topic, b->function_id);
    struct lane *l = lane_of(q, name);
    l->is_bound = true;
    bool is_fifo = strcmp(json_get_str(config, "type", ""), "fifo") == 0;
    l->parallel = is_fifo ? 1 : (unsigned)config_int(config, "concurrency", ENQUEUE_PARALLEL, 1, 1000);
    l->retries = (unsigned)config_int(config, "max_retries", ENQUEUE_RETRIES, 0, RETRIES_MAX);
    l->pause_ms = config_int(config, "backoff_ms", ENQUEUE_PAUSE_MS, 1, PAUSE_MAX);
    binding_set_add(&q->subscribers, b);
    queue_adopt(q, l, b, topic);
    pump_later(l, q);
    return 0;
}

static void queue_unbind(struct engine *e, struct binding *b)
{
    binding_set_remove(&e->enqueue->subscribers, b);
}

static const struct trigger_provider durable_type = {
    .type = "durable:subscriber",
    .description = "A message of a topic, kept until a function has consumed it",
    .bind = queue_bind,
    .unbind = queue_unbind,
};
static const struct trigger_provider queue_type = {
    .type = "queue",
    .description = "Another name of durable:subscriber",
    .bind = queue_bind,
    .unbind = queue_unbind,
};

/* --- inspection --- */

static void queue_stats(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    (void)payload;
    json_t *queues = json_array();
    for (struct map_iter it = map_iter(e->enqueue->lanes); map_next(&it);) {
        const struct lane *l = it.value;
        const struct job *j;
        json_int_t waiting = 0;
        TAILQ_FOREACH(j, &l->waiting, link)
        waiting++;
        (void)json_array_append_new(queues, json_pack("{s:s, s:I, s:I}", "queue", l->name, "waiting", waiting,
                                                      "running", (json_int_t)l->running));
    }
    engine_ok(c, json_pack("{s:o, s:I, s:I}", "queues", queues, "jobs", (json_int_t)map_count(e->enqueue->jobs), "dead",
                           (json_int_t)store_count(e->store, DEAD)));
}

struct dead_list {
    json_t *jobs;
    int64_t limit;
};

static bool add_dead(void *arg, const char *key, json_t *doc)
{
    struct dead_list *l = arg;
    json_t *copy = json_copy(doc);
    message_set_str(copy, "id", key);
    (void)json_array_append_new(l->jobs, copy);
    return --l->limit > 0;
}

static void dead_letters(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    struct dead_list l = { .jobs = json_array(), .limit = config_int(payload, "limit", 100, 1, 1000) };
    (void)store_each(e->store, DEAD, false, add_dead, &l, NULL);
    engine_ok(c, json_pack("{s:o, s:I}", "jobs", l.jobs, "total", (json_int_t)store_count(e->store, DEAD)));
}

static void queue_redrive(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    struct err err = ERR_INIT;
    JSON_OWNED doc = NULL;
    const char *id = json_get_str(payload, "id", "");
    if (store_get(e->store, DEAD, id, &doc, NULL) < 0) {
        engine_fail(c, "NOT_FOUND", "there is no dead letter \"%.64s\"", id);
        return;
    }
    struct enqueue_job job = { .queue = json_get_str(doc, "queue", "default"),
                               .function_id = json_get_str(doc, "function_id", NULL),
                               .data = json_object_get(doc, "data"),
                               .metadata = json_get(doc, "metadata"),
                               .traceparent = json_get_str(doc, "traceparent", NULL),
                               .baggage = json_get_str(doc, "baggage", NULL),
                               .tenant = tenant_in(doc) };
    char new_id[UUID_MAX];
    if (queue_add(e->enqueue, &job, json_get_str(doc, "topic", NULL), new_id, &err) < 0 ||
        store_delete(e->store, DEAD, id, &err) < 0)
        engine_fail(c, "enqueue_error", "%s", err.msg);
    else {
        share_give(e->enqueue->dead, tenant_in(doc), 1);
        engine_ok(c, json_pack("{s:s}", "messageReceiptId", new_id));
    }
}

/* --- life --- */

static bool load_job(void *arg, const char *key, json_t *doc)
{
    char id[UUID_MAX];
    if (uuid_parse(key, id)) {
        struct job *j = job_new(arg, id, json_incref(doc));
        (void)share_take(j->queue->share, tenant_in(doc),
                         1); /* what is in the store stays, even over a smaller limit */
        pump_later(j->lane, arg);
    }
    return true;
}

static bool count_dead(void *arg, const char *key, json_t *doc)
{
    (void)key;
    (void)share_take(arg, tenant_in(doc), 1);
    return true;
}

void enqueue_init(struct engine *e)
{
    struct enqueue *q = xzalloc(sizeof(*q));
    e->enqueue = q;
    q->engine = e;
    q->jobs = map_new();
    q->lanes = map_new();
    q->shelves = map_new();
    q->share = share_new(ENQUEUE_JOBS_MAX);
    q->dead = share_new(ENQUEUE_DEAD_MAX);
    TAILQ_INIT(&q->due);
    TAILQ_INIT(&q->delayed);
    q->timer = timer_new(e->loop, -1, 0, queue_tick, q);
    (void)store_each(e->store, JOBS, false, load_job, q, NULL); /* a job that cannot be read stays in the store */
    (void)store_each(e->store, DEAD, false, count_dead, q->dead, NULL); /* one that cannot be read is not counted */
    trigger_add_provider(e, &durable_type);
    trigger_add_provider(e, &queue_type);
    registry_add_inside(e, "engine::queue::enqueue", "Queue a call: {queue, function_id, data}", enqueue_fn, e);
    registry_add_inside(e, "engine::queue::stats", "Queues with the numbers of waiting and running jobs", queue_stats,
                        e);
    registry_add_inside(e, "engine::queue::dlq", "Dead letters, oldest first: {limit}", dead_letters, e);
    registry_add_inside(e, "engine::queue::redrive", "Queue a dead letter again: {id}", queue_redrive, e);
    registry_add_inside(e, "iii::durable::publish", "Queue data for all subscribers of a topic: {topic, data}",
                        queue_publish, e);
}

void enqueue_stop(struct engine *e)
{
    e->enqueue->is_over = true;
    timer_set(e->enqueue->timer, -1, 0);
}

void enqueue_done(struct engine *e)
{
    struct enqueue *q = e->enqueue;
    for (struct map_iter it = map_iter(q->jobs); map_next(&it);)
        job_free(it.value);
    for (struct map_iter it = map_iter(q->lanes); map_next(&it);) {
        lane_free(q, it.value);
    }
    for (struct map_iter it = map_iter(q->shelves); map_next(&it);)
        free(it.value);
    map_free(q->jobs);
    map_free(q->lanes);
    map_free(q->shelves);
    share_free(q->share);
    share_free(q->dead);
    binding_set_done(&q->subscribers);
    timer_free(q->timer);
    free(q);
    e->enqueue = NULL;
}
