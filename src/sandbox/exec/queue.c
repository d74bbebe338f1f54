/* Theory of operation. A job is PENDING, RUNNING, then COMPLETED, FAILED or CANCELLED. Its record is in the store
 * before the caller gets its id. Jobs that wait or run also have their record in memory, in the lane of their sandbox;
 * of the others only id and state are in memory, and the record is read on request, since its result may be large.
 *
 * A lane belongs to one sandbox and runs one job at a time, in order. It starts its first job when none runs and no
 * pause is set, and first wakes a sandbox that sleeps and has autoResume; a wake that fails is a try that failed. A job
 * that fails is retried after a pause that doubles with each try; when its tries are used up it is a dead letter. A
 * non-zero exit code is a failure only with retryOnExit. Without its sandbox a job fails. A job that ran when the
 * server stopped runs once more. */
#include "sandbox/exec/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "sandbox/exec/command.h"

#define SCOPE            "queue"
#define FIRST_PAUSE_MS   500
#define LONGEST_PAUSE_MS 30000

enum state { PENDING, RUNNING, COMPLETED, FAILED, CANCELLED };
static const char *const state_names[] = { "pending", "running", "completed", "failed", "cancelled" };

struct lane;

struct job {
    struct queue *q;
    struct job *next;  /* in its lane */
    struct lane *lane; /* NULL when its sandbox is gone */
    json_t *rec;       /* NULL when finished: then it is in no lane's list */
    struct command *cmd;
    enum state state;
    char id[IDENT_MAX], sandbox_id[IDENT_MAX];
    char *tenant; /* of its sandbox, which it may outlive */
};

/* The unfinished jobs of one sandbox, in order; the first one runs or is tried next. */
struct lane {
    struct queue *q;
    struct job *jobs;
    int64_t n_all;                 /* jobs of this sandbox, finished ones included */
    struct timer *timer;           /* starts the first job: at once, or after its pause */
    struct manager_waiter *waiter; /* while its sandbox is woken */
};

struct queue {
    struct manager *m;
    struct map *jobs;  /* id -> struct job, all of them */
    struct map *lanes; /* sandbox id -> struct lane */
};

int64_t queue_pause_ms(int64_t tries)
{
    int64_t pause = FIRST_PAUSE_MS;
    for (int64_t i = 1; i < tries && pause < LONGEST_PAUSE_MS; i++)
        pause *= 2;
    return pause < LONGEST_PAUSE_MS ? pause : LONGEST_PAUSE_MS;
}

static void copy_id(char to[IDENT_MAX], const char *id)
{
    memcpy(to, id, strnlen(id, IDENT_MAX - 1));
}

/* --- records --- */

static json_t *shown(const json_t *rec)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)rec);
    (void)json_object_del(copy, "internal");
    return copy;
}

static int save_job(struct queue *q, const char *id, const json_t *rec, struct err *err)
{
    return store_put(q->m->store, SCOPE, id, rec, err);
}

/* For changes that no caller waits for: at worst the job runs once more after a restart. */
static void save_or_log(struct job *j)
{
    struct err err = ERR_INIT;
    if (save_job(j->q, j->id, j->rec, &err) < 0)
        log_event(LOG_ERROR, "queue.save", "id", j->id, "error", err.msg, NULL);
}

static void set_state(struct job *j, enum state st)
{
    j->state = st;
    (void)json_object_set_new(j->rec, "status", json_string(state_names[st]));
}

static void set_now(json_t *rec, const char *name)
{
    (void)json_object_set_new(rec, name, json_integer(clock_wall_ms()));
}

static void set_text(json_t *rec, const char *name, const char *text)
{
    (void)json_object_set_new(rec, name, json_text(text, strlen(text)));
}

/* --- lanes --- */

static void start_first(void *arg);

static struct lane *lane_of(struct queue *q, const char *sandbox_id)
{
    struct lane *l = map_get(q->lanes, sandbox_id);
    if (!l) {
        l = xzalloc(sizeof(*l));
        l->q = q;
        l->timer = timer_new(q->m->loop, -1, 0, start_first, l);
        map_set(q->lanes, sandbox_id, l);
    }
    return l;
}

static void free_lane(struct lane *l)
{
    if (l->waiter)
        manager_start_cancel(l->waiter);
    timer_free(l->timer);
    free(l);
}

static void lane_add(struct lane *l, struct job *j)
{
    struct job **at = &l->jobs;
    while (*at)
        at = &(*at)->next;
    *at = j;
}

static void lane_kick(struct lane *l, int64_t pause_ms)
{
    if (l->jobs && l->jobs->state == PENDING)
        timer_set(l->timer, pause_ms, 0);
}

/* --- jobs --- */

static struct job *new_job(struct queue *q, const json_t *rec, enum state st)
{
    const char *id = json_get_str(rec, "id", ""), *sandbox_id = json_get_str(rec, "sandboxId", "");
    struct job *j = xzalloc(sizeof(*j));
    j->q = q;
    j->state = st;
    copy_id(j->id, id);
    copy_id(j->sandbox_id, sandbox_id);
    j->tenant = xstrdup(json_get_str(rec, "tenant", ""));
    j->lane = lane_of(q, sandbox_id);
    j->lane->n_all++;
    map_set(q->jobs, id, j);
    return j;
}

static void forget_job(struct job *j)
{
    (void)store_delete(j->q->m->store, SCOPE, j->id,
                       NULL); /* a row that stays is seen, and dropped, at the next start */
    (void)map_remove(j->q->jobs, j->id);
    if (j->lane)
        j->lane->n_all--;
    json_decref(j->rec);
    free(j->tenant);
    free(j);
}

/* Takes a finished job out of its lane, and starts the next one. */
static void job_finish(struct job *j, enum state st)
{
    bool was_first = j->lane->jobs == j;
    set_state(j, st);
    set_now(j->rec, "completedAt");
    save_or_log(j);
    j->rec = json_unref(j->rec);
    struct job **at = &j->lane->jobs; /* a lane without jobs stays until its sandbox leaves */
    while (*at != j)
        at = &(*at)->next;
    *at = STEAL(j->next);
    if (was_first) /* else the first one runs, or its pause has not elapsed */
        lane_kick(j->lane, 0);
}

static void fail_or_pause(struct job *j, const struct err *err)
{
    int64_t tries = json_get_int(j->rec, "retries", 0) + 1;
    (void)json_object_set_new(j->rec, "retries", json_integer(tries));
    set_text(j->rec, "error", err->msg);
    if (tries >= json_get_int(j->rec, "maxRetries", 0)) {
        log_event(LOG_WARN, "queue.dead", "id", j->id, "sandbox", j->sandbox_id, "error", err->msg, NULL);
        job_finish(j, FAILED);
        return;
    }
    (void)json_object_del(j->rec, "startedAt");
    set_state(j, PENDING);
    save_or_log(j);
    lane_kick(j->lane, queue_pause_ms(tries));
}

static json_t *kept_output(const struct buf *out, bool *is_cut)
{
    *is_cut |= out->len > QUEUE_OUTPUT_MAX;
    return json_text(buf_text(out), out->len < QUEUE_OUTPUT_MAX ? out->len : QUEUE_OUTPUT_MAX);
}

static json_t *kept_result(const struct command_result *res)
{
    struct command_result small = *res;
    json_t *out = kept_output(&res->out, &small.is_out_cut), *err = kept_output(&res->err, &small.is_err_cut);
    small.out = (struct buf)BUF_INIT(0);
    small.err = (struct buf)BUF_INIT(0);
    json_t *j = command_result_json(&small);
    (void)json_object_set_new(j, "stdout", out);
    (void)json_object_set_new(j, "stderr", err);
    return j;
}

static void on_job_exited(void *arg, const struct command_result *res, const struct err *err)
{
    struct job *j = arg;
    struct err why = ERR_INIT;
    j->cmd = NULL;
    if (res && res->exit.is_timeout) {
        (void)command_timeout_err(res, &why);
        err = &why;
    }
    if (err || !res) {
        fail_or_pause(j, err ? err : &why);
        return;
    }
    (void)json_object_set_new(j->rec, "result", kept_result(res));
    (void)json_object_del(j->rec, "error"); /* of a try before this one */
    (void)event_log_emit(j->q->m->events, "sandbox.exec", j->sandbox_id,
                         json_pack("{s:i, s:I, s:s}", "exitCode", res->exit.code, "duration",
                                   (json_int_t)res->duration_ms, "jobId", j->id));
    if (res->exit.code != 0 && json_get_bool(j->rec, "retryOnExit", false)) {
        (void)err_set(&why, ERR_INTERNAL, 0, "the command exited with code %d", res->exit.code);
        fail_or_pause(j, &why);
        return;
    }
    job_finish(j, COMPLETED);
}

static void on_awake(void *arg, struct sandbox *s, const struct err *err)
{
    struct lane *l = arg;
    (void)s;
    if (err && l->jobs && l->jobs->state == PENDING)
        fail_or_pause(l->jobs, err);
    else
        lane_kick(l, 0);
}

/* With the quota of who submitted the job. */
static void wake(struct lane *l, struct sandbox *s, const struct job *j)
{
    struct tenant_by by = { .tenant = s->tenant };
    (void)quota_read(json_get(json_get(j->rec, "internal"), "quota"), &by.quota, NULL); /* we wrote it */
    manager_start(s, &by, on_awake, l, &l->waiter);
}

static void start_first(void *arg)
{
    struct lane *l = arg;
    struct job *j = l->jobs;
    struct err err = ERR_INIT;
    if (!j || j->state != PENDING || l->waiter)
        return;
    struct sandbox *s = manager_find(j->q->m, j->sandbox_id, &err);
    if (s && manager_is_to_wake(s)) {
        wake(l, s, j);
        return;
    }
    set_state(j, RUNNING);
    set_now(j->rec, "startedAt");
    save_or_log(j);
    static const struct command_events events = { .on_done = on_job_exited };
    const json_t *inner = json_get(j->rec, "internal");
    struct command_plan plan = { .command = json_get(inner, "command"),
                                 .timeout_ms = json_get_int(inner, "timeoutMs", 0) };
    if (!s || command_start(s, &plan, &events, j, &j->cmd, &err) < 0)
        fail_or_pause(j, &err);
}

/* --- sandboxes that go --- */

/* Its sandbox is gone: an unfinished job has failed and is a dead letter; a completed one is removed. */
static void end_orphan(struct job *j)
{
    if (j->cmd)
        command_cancel(STEAL(j->cmd));
    if (j->rec) {
        set_text(j->rec, "error", "its sandbox was removed before the command exited");
        job_finish(j, FAILED);
    }
    if (j->state == FAILED)
        j->lane = NULL;
    else
        forget_job(j);
}

static void trim_dead(struct queue *q)
{
    size_t n = 0;
    for (struct map_iter it = map_iter(q->jobs); map_next(&it);)
        n += ((struct job *)it.value)->lane == NULL;
    for (struct map_iter it = map_iter(q->jobs); n > QUEUE_DEAD_MAX && map_next(&it);) {
        struct job *j = it.value;
        if (j->lane)
            continue;
        forget_job(j);
        n--;
    }
}

void queue_sandbox_gone(struct queue *q, const char *sandbox_id)
{
    struct lane *l = map_remove(q->lanes, sandbox_id);
    if (!l)
        return; /* it never had a job */
    for (struct map_iter it = map_iter(q->jobs); map_next(&it);) {
        struct job *j = it.value;
        if (j->lane == l)
            end_orphan(j);
    }
    free_lane(l);
    trim_dead(q);
}

/* --- the life of the queue --- */

static void on_enter(void *arg, struct sandbox *s)
{
    struct queue *q = arg;
    struct lane *l = map_get(q->lanes, s->id);
    if (l)
        lane_kick(l, 0);
}

static void on_leave(void *arg, struct sandbox *s)
{
    queue_sandbox_gone(arg, s->id);
}

struct queue *queue_new(struct manager *m)
{
    struct queue *q = xzalloc(sizeof(*q));
    q->m = m;
    q->jobs = map_new();
    q->lanes = map_new();
    manager_on_enter(m, on_enter, q);
    manager_on_leave(m, on_leave, q);
    return q;
}

struct queue *queue_free(struct queue *q)
{
    if (!q)
        return NULL;
    for (struct map_iter it = map_iter(q->jobs); map_next(&it);) {
        struct job *j = it.value;
        if (j->cmd)
            command_cancel(j->cmd);
        json_decref(j->rec);
        free(j->tenant);
        free(j);
    }
    for (struct map_iter it = map_iter(q->lanes); map_next(&it);)
        free_lane(it.value);
    map_free(q->jobs);
    map_free(q->lanes);
    free(q);
    return NULL;
}

static enum state state_of(const json_t *rec)
{
    const char *name = json_get_str(rec, "status", "");
    for (enum state st = PENDING; st < CANCELLED; st++)
        if (strcmp(name, state_names[st]) == 0)
            return st;
    return CANCELLED;
}

static bool load_one(void *arg, const char *key, json_t *doc)
{
    struct queue *q = arg;
    enum state st = state_of(doc);
    if (!ident_is("job", key))
        return true;
    struct job *j = new_job(q, doc, st);
    if (st != PENDING && st != RUNNING)
        return true;
    j->rec = json_incref(doc);
    lane_add(j->lane, j);
    return true;
}

void queue_load(struct queue *q)
{
    struct err err = ERR_INIT;
    if (store_each(q->m->store, SCOPE, false, load_one, q, &err) < 0)
        log_event(LOG_ERROR, "queue.load", "error", err.msg, NULL);
    for (struct map_iter it = map_iter(q->jobs); map_next(&it);) {
        struct job *j = it.value;
        if (j->state == RUNNING) { /* when the server died: it runs again */
            (void)json_object_del(j->rec, "startedAt");
            set_state(j, PENDING);
            save_or_log(j);
        }
        if (!map_get(q->m->sandboxes, j->sandbox_id))
            end_orphan(j);
    }
    for (struct map_iter it = map_iter(q->lanes); map_next(&it);)
        if (!map_get(q->m->sandboxes, it.key)) {
            free_lane(it.value);
            (void)map_remove(q->lanes, it.key);
        }
    trim_dead(q);
}

/* --- calls --- */

static struct job *find_job(struct queue *q, const char *id, struct err *err)
{
    struct job *j = map_get(q->jobs, id);
    if (!j)
        (void)err_set(err, ERR_NOT_FOUND, 0, "job not found: %.64s", id);
    return j;
}

/* The record of any job; caller owns. */
static json_t *record_of(struct job *j, struct err *err)
{
    json_t *rec = NULL;
    if (j->rec)
        return json_incref(j->rec);
    return store_get(j->q->m->store, SCOPE, j->id, &rec, err) < 0 ? NULL : rec;
}

json_t *queue_status(struct queue *q, const char *id, struct err *err)
{
    struct job *j = find_job(q, id, err);
    JSON_OWNED rec = j ? record_of(j, err) : NULL;
    return rec ? shown(rec) : NULL;
}

/* At the limit the oldest finished job is removed; a dead letter only when there is no other. */
static int make_room(struct lane *l, struct err *err)
{
    struct job *oldest = NULL;
    int64_t max = l->q->m->settings->max_jobs;
    if (l->n_all < max)
        return 0;
    for (struct map_iter it = map_iter(l->q->jobs); map_next(&it);) {
        struct job *j = it.value;
        if (j->lane != l || j->rec)
            continue;
        if (!oldest || (oldest->state == FAILED && j->state != FAILED))
            oldest = j;
    }
    if (!oldest)
        return err_set(
            err, ERR_CAPACITY, 0,
            "limit of %lld waiting and running jobs in this sandbox reached: cancel some, or raise III_MAX_JOBS",
            (long long)max);
    forget_job(oldest);
    return 0;
}

json_t *queue_submit(struct queue *q, struct sandbox *s, const struct queue_plan *plan, struct err *err)
{
    char id[IDENT_MAX];
    ident_new("job", id);
    if (make_room(lane_of(q, s->id), err) < 0)
        return NULL;
    JSON_OWNED rec = json_pack("{s:s, s:s, s:o, s:s, s:i, s:I, s:I, s:{s:O, s:I}}", "id", id, "sandboxId", s->id,
                               "command", command_text(plan->command), "status", state_names[PENDING], "retries", 0,
                               "maxRetries", (json_int_t)plan->max_tries, "createdAt", (json_int_t)clock_wall_ms(),
                               "internal", "command", plan->command, "timeoutMs", (json_int_t)plan->timeout_ms);
    if (plan->quota && plan->quota->set)
        (void)json_object_set_new(json_get(rec, "internal"), "quota", quota_json(plan->quota));
    if (plan->retries_exit)
        (void)json_object_set_new(rec, "retryOnExit", json_true());
    if (*s->tenant)
        (void)json_object_set_new(rec, "tenant", json_string(s->tenant));
    if (save_job(q, id, rec, err) < 0)
        return NULL;
    struct job *j = new_job(q, rec, PENDING);
    j->rec = json_incref(rec);
    lane_add(j->lane, j);
    if (j->lane->jobs == j)
        lane_kick(j->lane, 0);
    return shown(rec);
}

int queue_cancel(struct queue *q, const char *id, struct err *err)
{
    struct job *j = find_job(q, id, err);
    if (!j)
        return -1;
    if (!j->rec)
        return err_set(err, ERR_CONFLICT, 0, "job %s is %s: only a pending or running job can be cancelled", j->id,
                       state_names[j->state]);
    if (j->cmd)
        command_cancel(STEAL(j->cmd));
    job_finish(j, CANCELLED);
    return 0;
}

json_t *queue_retry(struct queue *q, const char *id, struct err *err)
{
    struct job *j = find_job(q, id, err);
    if (!j)
        return NULL;
    if (j->state != FAILED) {
        (void)err_set(err, ERR_CONFLICT, 0, "job %s is %s: only a failed job can be retried", j->id,
                      state_names[j->state]);
        return NULL;
    }
    if (!manager_find(q->m, j->sandbox_id, err))
        return NULL;
    JSON_OWNED rec = record_of(j, err);
    if (!rec)
        return NULL;
    static const char *const old[] = { "error", "startedAt", "completedAt" };
    for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++)
        (void)json_object_del(rec, old[i]);
    (void)json_object_set_new(rec, "retries", json_integer(0));
    (void)json_object_set_new(rec, "status", json_string(state_names[PENDING]));
    if (save_job(q, j->id, rec, err) < 0)
        return NULL;
    j->rec = json_incref(rec);
    j->state = PENDING;
    lane_add(j->lane, j);
    if (j->lane->jobs == j)
        lane_kick(j->lane, 0);
    return shown(rec);
}

const char *queue_owner(const struct queue *q, const char *id, const char **ret_sandbox)
{
    const struct job *j = map_get(q->jobs, id);
    *ret_sandbox = j ? j->sandbox_id : NULL;
    return j ? j->tenant : NULL;
}

static bool is_wanted(const struct job *j, const struct queue_filter *f)
{
    return (!f->status || strcmp(state_names[j->state], f->status) == 0) &&
           (!f->sandbox_id || strcmp(j->sandbox_id, f->sandbox_id) == 0) &&
           (!f->by || tenant_sees_of(f->by, j->tenant, j->sandbox_id));
}

json_t *queue_page(struct queue *q, const struct queue_filter *f, struct err *err)
{
    JSON_OWNED jobs = json_array();
    int64_t total = 0;
    for (struct map_iter it = map_iter(q->jobs); map_next(&it);) {
        struct job *j = it.value;
        if (!is_wanted(j, f))
            continue;
        if (total >= f->offset && total - f->offset < f->limit) {
            JSON_OWNED rec = record_of(j, err);
            if (!rec)
                return NULL;
            (void)json_array_append_new(jobs, shown(rec));
        }
        total++;
    }
    return json_pack("{s:O, s:I}", "jobs", jobs, "total", (json_int_t)total);
}
