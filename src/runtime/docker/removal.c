/* Theory of operation. Removes containers: of one box, those that no box names (a sweep), and everything at shutdown. A
 * `struct ending` is one removal, a `struct sweeping` one listing with its removals; both belong to d->end and call
 * their caller once.
 *
 * The engine may still work on a call that was cut off by our crash or by a timeout: the container appears after a
 * sweep has looked. So sweeps are repeated for a while (gaps_s) after every start and every such call, and the boxes
 * involved are `doubted` meanwhile. After a crash they are recognized by the socket that is left in their folder; the
 * folder stays as long as the doubt, so that it survives another crash.
 *
 * A removal that fails sets is_due, and a later sweep tries again. At shutdown, a loop of its own runs for at most
 * LAST_MS; what is left is for the next server's sweep. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/docker/docker_core.h"

#define QUERY_MAX  1024
#define LIST_MS    20000
#define LAST_MS    8000 /* for everything at shutdown */
#define DOUBT_MS   5000 /* a shutdown waits until a doubt is this old */
#define LOOK_MS    200
#define MS_PER_SEC 1000

/* Seconds between the sweeps after a start, or after a call without an answer. */
static const uint8_t gaps_s[] = { 1, 1, 1, 2, 3, 5, 8, 13 };
#define N_GAPS (sizeof(gaps_s) / sizeof(gaps_s[0]))

/* One removal. */
struct ending {
    struct ending *next;
    struct docker *d;
    char id[IDENT_MAX];
    char *container;        /* its id or name */
    struct sweeping *sweep; /* the sweep that found it, or NULL */
    box_done_fn *fn;
    void *arg;
};

struct sweeping {
    struct docker *d;
    unsigned pending, n_found;
    box_done_fn *fn;
    void *arg;
    struct err err;
};

/* --- one box --- */

static void sweep_done(struct sweeping *s);

static void ending_finish(struct ending *e, const struct err *err)
{
    LIST_TAKE(e->d->end.first, e);
    if (e->fn && !docker_call_is_over(err))
        e->fn(e->arg, err);
    if (e->sweep && err)
        e->sweep->err = *err;
    if (e->sweep)
        sweep_done(e->sweep);
    free(e->container);
    free(e);
}

static void ending_on_removed(void *arg, json_t *body, const struct err *err)
{
    struct ending *e = arg;
    struct docker *d = e->d;
    (void)body;
    bool is_absent = err && err->code == ERR_NOT_FOUND;
    bool is_going = err && err->code == ERR_CONFLICT; /* another removal is under way: a later sweep checks it */
    if (!err)
        (void)json_object_del(d->end.doubted, e->id);
    if (!err || is_absent)
        docker_agent_socket_remove(d->agent_socket, e->id);
    else
        d->end.is_due = true;
    ending_finish(e, is_absent || is_going ? NULL : err);
}

static void remove_container(struct ending *e)
{
    CLEANUP(free_p) char *path = xasprintf("/containers/%s?force=1&v=1", e->container);
    CLEANUP(free_p) char *what = xasprintf("remove sandbox %s", e->id);
    struct docker_call_request req = { .method = "DELETE", .path = path, .what = what };
    (void)docker_call_start(&e->d->calls, &req, ending_on_removed, e);
}

/* Even when unpausing failed: the removal reports the error. */
static void ending_on_awake(void *arg, json_t *body, const struct err *err)
{
    struct ending *e = arg;
    (void)body;
    if (docker_call_is_over(err))
        ending_finish(e, err); /* the last sweep removes it */
    else
        remove_container(e);
}

static struct ending *ending_new(struct docker *d, const struct docker_removal_target *target)
{
    struct ending *e = xzalloc(sizeof(*e));
    *e = (struct ending){ .d = d, .next = d->end.first };
    d->end.first = e;
    (void)snprintf(e->id, sizeof(e->id), "%s", target->id);
    /* by name, for a container whose id we never got */
    e->container = *target->container ? xstrdup(target->container) : xasprintf("iii-sbx-%s", e->id);
    return e;
}

static void ending_start(struct ending *e, bool is_paused)
{
    if (!is_paused) {
        remove_container(e);
        return;
    }
    /* some runtimes deliver no signal while paused, and the engine waits 10 s for them */
    CLEANUP(free_p) char *path = xasprintf("/containers/%s/unpause", e->container);
    CLEANUP(free_p) char *what = xasprintf("wake sandbox %s", e->id);
    struct docker_call_request req = { .method = "POST", .path = path, .what = what };
    (void)docker_call_start(&e->d->calls, &req, ending_on_awake, e);
}

void docker_removal_remove(struct docker *d, const struct docker_removal_target *target, box_done_fn *fn, void *arg)
{
    struct ending *e = ending_new(d, target);
    e->fn = fn;
    e->arg = arg;
    ending_start(e, target->is_paused);
}

void docker_removal_keep(struct docker *d, const char *box_id)
{
    (void)json_object_set_new(d->end.kept, box_id, json_true());
}

/* Restarts the sequence of sweeps: now, then after each of the gaps. */
static void look_often(struct docker *d)
{
    d->end.since_ms = d->end.next_ms = loop_now_ms(d->calls.loop);
    d->end.n_looks = 0;
}

static void box_doubt(struct docker *d, const char *box_id, bool is_remembered)
{
    (void)json_object_set_new(d->end.doubted, box_id, json_boolean(is_remembered));
    look_often(d);
}

void docker_removal_doubt(struct docker *d, const char *box_id)
{
    box_doubt(d, box_id, false);
}

/* --- sweep --- */

static bool is_ours(const struct docker *d, const char *box_id)
{
    for (const struct box *b = d->boxes; b; b = b->next)
        if (strcmp(b->id, box_id) == 0)
            return true;
    return json_object_get(d->end.kept, box_id) || json_object_get(d->halted, box_id);
}

static bool is_ending(const struct docker *d, const char *box_id)
{
    for (const struct ending *e = d->end.first; e; e = e->next)
        if (strcmp(e->id, box_id) == 0)
            return true;
    return false;
}

/* Whether a box's folder is in use. */
static bool has_use(void *arg, const char *box_id)
{
    const struct docker *d = arg;
    return is_ours(d, box_id) || is_ending(d, box_id) || json_is_true(json_object_get(d->end.doubted, box_id));
}

static void after_last_sweep(struct docker *d, const struct sweeping *s);

static void sweep_done(struct sweeping *s)
{
    struct docker *d = s->d;
    bool is_good = s->err.code == ERR_NONE;
    if (--s->pending)
        return;
    d->end.is_sweeping = false;
    d->end.is_due = d->end.is_due || !is_good;
    d->are_powers_due = d->are_powers_due || !is_good;
    if (is_good && !d->end.is_last && d->end.n_looks < N_GAPS) {
        d->end.next_ms = loop_now_ms(d->calls.loop) + (int64_t)gaps_s[d->end.n_looks++] * MS_PER_SEC;
    } else if (is_good && !d->end.is_last) {
        d->end.next_ms = INT64_MAX;
        (void)json_object_clear(d->end.doubted); /* what has not appeared by now will not appear any more */
    }
    if (is_good)
        docker_agent_socket_sweep(d->agent_socket, has_use, d);
    if (is_good && !d->end.is_last)
        docker_net_sweep(d);
    if (d->end.is_last)
        after_last_sweep(d, s);
    else if (!docker_call_is_over(&s->err))
        docker_image_collect(d);
    if (s->fn && !docker_call_is_over(&s->err))
        s->fn(s->arg, is_good ? NULL : &s->err);
    free(s);
}

static void on_listed(void *arg, json_t *body, const struct err *err)
{
    struct sweeping *s = arg;
    struct docker *d = s->d;
    size_t i;
    json_t *row;
    if (err)
        s->err = *err;
    json_array_foreach(body, i, row)
    {
        char container[DOCKER_MESSAGES_ID_MAX];
        const char *box_id = json_get_str(json_get(row, "Labels"), DOCKER_MESSAGES_LABEL_ID, "");
        struct docker_removal_target target = { .id = box_id, .container = container };
        if (is_ours(d, box_id) || docker_messages_id(row, "Id", container, NULL) < 0)
            continue;
        s->n_found++;
        if (is_ending(d, box_id))
            continue;
        struct ending *e = ending_new(d, &target);
        e->sweep = s;
        s->pending++;
        ending_start(e, strcmp(json_get_str(row, "State", ""), "paused") == 0);
    }
    sweep_done(s);
}

static void start_sweep(struct docker *d, box_done_fn *fn, void *arg)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT(QUERY_MAX);
    JSON_OWNED filter = docker_messages_filter(docker_agent_socket_tag(d->agent_socket), NULL, NULL);
    CLEANUP(free_p) char *text = json_write(filter, NULL);
    struct sweeping *s = xzalloc(sizeof(*s));
    *s = (struct sweeping){ .d = d, .pending = 1, .fn = fn, .arg = arg };
    (void)buf_add_str(&path, "/containers/json?all=1&filters=");
    docker_call_escape(&path, text);
    struct docker_call_request req = {
        .method = "GET", .path = buf_text(&path), .what = "list containers", .timeout_ms = LIST_MS
    };
    d->end.is_sweeping = true;
    d->end.is_due = false;
    (void)docker_call_start(&d->calls, &req, on_listed, s);
}

static void see_folder(void *arg, const char *box_id, bool is_waiting)
{
    struct docker *d = arg;
    if (is_waiting && !is_ours(d, box_id))
        box_doubt(d, box_id, true);
}

void docker_removal_first_sweep(struct docker *d, box_done_fn *fn, void *arg)
{
    d->end.is_told = true;
    look_often(d);
    docker_agent_socket_each(d->agent_socket, see_folder, d);
    start_sweep(d, fn, arg);
}

bool docker_removal_tick(struct docker *d)
{
    bool is_time = d->end.is_told && (d->end.is_due || loop_now_ms(d->calls.loop) >= d->end.next_ms);
    if (is_time && !d->end.is_sweeping)
        start_sweep(d, NULL, NULL);
    return is_time;
}

/* --- shutdown --- */

static void sweep_on_look(void *arg)
{
    start_sweep(arg, NULL, NULL);
}

/* Repeats while something was found, or may still appear. */
static void after_last_sweep(struct docker *d, const struct sweeping *s)
{
    bool is_doubtful = json_object_size(d->end.doubted) && loop_now_ms(d->calls.loop) < d->end.since_ms + DOUBT_MS;
    bool is_handed_on = json_object_size(d->end.kept); /* another server takes over soon, with its own sweeps */
    if (docker_call_is_over(&s->err))
        return;
    if (s->err.code == ERR_NONE && !is_handed_on && (s->n_found || is_doubtful))
        timer_set(d->end.look, LOOK_MS, 0);
    else
        docker_net_leave(d);
}

static void last_on_late(void *arg)
{
    loop_stop(arg);
}

void docker_removal_last(struct docker *d)
{
    CLEANUP(loop_free_p) struct loop *loop = NULL;
    struct loop *before = d->calls.loop;
    if (!d->end.is_told || loop_new(&loop, NULL) < 0) /* the containers may be boxes of an earlier server */
        return;
    d->calls.loop = loop; /* the server's own loop has stopped */
    d->end.is_last = true;
    d->end.look = timer_new(loop, 0, 0, sweep_on_look, d);
    struct timer *late = timer_new(loop, LAST_MS, 0, last_on_late, loop);
    loop_run(loop);
    timer_free(late);
    d->end.look = timer_free(d->end.look);
    docker_call_end_all(&d->calls);
    docker_net_drop_jobs(d);
    d->calls.loop = before;
}
