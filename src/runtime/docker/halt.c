/* Theory of operation. A halted box is a container that has exited: its files stay with the engine. d->halted has the
 * ids of these boxes, so that no sweep removes their containers.
 *
 * A `struct halting` asks the engine about one container and then takes the steps that are left: unpause, stop, and for
 * a start leave networks (they are joined again; the engine may have made them again) and update limits. It works from
 * whatever a crash in the middle left, and calls its caller once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/docker/docker_core.h"

#define STOP_MS 60000

struct halting {
    struct docker *d;
    char id[IDENT_MAX], container[DOCKER_MESSAGES_ID_MAX];
    json_t *steps;    /* [[path, body or null, whether an error ends it]] */
    json_t *limits;   /* to be set; or NULL */
    bool is_to_start; /* its networks are left */
    bool is_own;      /* fn belongs to the driver: it is called when the server ends, too */
    box_done_fn *fn;
    void *arg;
};

static void halting_finish(struct halting *h, const struct err *err)
{
    if (h->fn && (h->is_own || !docker_call_is_over(err)))
        h->fn(h->arg, err);
    json_decref(h->steps);
    json_decref(h->limits);
    free(h);
}

static void step_next(struct halting *h);

static void step_on_done(void *arg, json_t *body, const struct err *err)
{
    struct halting *h = arg;
    bool is_needed = json_is_true(json_array_get(json_array_get(h->steps, 0), 2));
    (void)body;
    (void)json_array_remove(h->steps, 0);
    if (err && (is_needed || docker_call_is_over(err)))
        halting_finish(h, err);
    else
        step_next(h);
}

static void step_next(struct halting *h)
{
    const json_t *step = json_array_get(h->steps, 0);
    if (!step) {
        halting_finish(h, NULL);
        return;
    }
    CLEANUP(free_p) char *what = xasprintf("stop sandbox %s", h->id);
    const json_t *body = json_array_get(step, 1);
    struct docker_call_request req = { .method = "POST",
                                       .path = json_string_value(json_array_get(step, 0)),
                                       .body = json_is_object(body) ? body : NULL,
                                       .what = what,
                                       .timeout_ms = STOP_MS };
    (void)docker_call_start(&h->d->calls, &req, step_on_done, h);
}

/* Takes body. */
static void step_add(struct halting *h, const char *action, json_t *body, bool is_needed)
{
    CLEANUP(free_p) char *path = xasprintf("/containers/%s/%s", h->container, action);
    (void)json_array_append_new(h->steps, json_pack("[s, o?, b]", path, body, is_needed));
}

/* Even of networks that the engine does not have any more. */
static void add_networks(struct halting *h, const json_t *nets)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)nets, name, value)
    {
        if (strncmp(name, DOCKER_NET_PREFIX, strlen(DOCKER_NET_PREFIX)) != 0)
            continue;
        CLEANUP(free_p) char *path = xasprintf("/networks/%s/disconnect", name);
        (void)json_array_append_new(h->steps,
                                    json_pack("[s, {s:s, s:b}, b]", path, "Container", h->container, "Force", 1, 0));
    }
}

static void on_inspected(void *arg, json_t *body, const struct err *err)
{
    struct halting *h = arg;
    struct err why = ERR_INIT;
    const json_t *state = json_get(body, "State");
    if (err && err->code == ERR_NOT_FOUND)
        (void)err_set(&why, ERR_NOT_FOUND, 0, "the files of sandbox %s are gone: its container %.12s was removed",
                      h->id, h->container);
    if (err) {
        halting_finish(h, why.code ? &why : err);
        return;
    }
    if (json_get_bool(state, "Paused", false)) /* some engines cannot stop it then */
        step_add(h, "unpause", NULL, false);
    if (json_get_bool(state, "Running", false) || json_get_bool(state, "Paused", false))
        step_add(h, "stop?t=0", NULL, true);
    if (h->is_to_start)
        add_networks(h, json_get(json_get(body, "NetworkSettings"), "Networks"));
    if (h->limits)
        step_add(h, "update", json_incref(h->limits), true);
    step_next(h);
}

static struct halting *halting_new(struct docker *d, const char *id, const char *container, box_done_fn *fn, void *arg)
{
    struct halting *h = xzalloc(sizeof(*h));
    *h = (struct halting){ .d = d, .steps = json_array(), .fn = fn, .arg = arg };
    (void)snprintf(h->id, sizeof(h->id), "%s", id);
    (void)snprintf(h->container, sizeof(h->container), "%s", container);
    (void)json_object_set_new(d->halted, id, json_true());
    CLEANUP(free_p) char *path = xasprintf("/containers/%s/json", container);
    CLEANUP(free_p) char *what = xasprintf("sandbox %s", id);
    struct docker_call_request req = { .method = "GET", .path = path, .what = what };
    (void)docker_call_start(&d->calls, &req, on_inspected, h);
    return h;
}

void docker_halt_box(const struct box *box, bool is_own, box_done_fn *fn, void *arg)
{
    halting_new(box->d, box->id, box->container, fn, arg)->is_own = is_own;
}

void docker_halt_prepare(const struct box *box, json_t *limits, box_done_fn *fn, void *arg)
{
    struct halting *h = halting_new(box->d, box->id, box->container, fn, arg);
    h->is_own = h->is_to_start = true;
    h->limits = limits;
}

struct telling {
    struct err err;
    box_done_fn *fn;
    void *arg;
};

static void tell(void *arg)
{
    CLEANUP(free_p) struct telling *t = arg;
    t->fn(t->arg, &t->err);
}

void docker_halt_retain(struct runtime *rt, const json_t *record, box_done_fn *fn, void *arg)
{
    struct docker *d = docker_of(rt);
    char container[DOCKER_MESSAGES_ID_MAX];
    if (docker_messages_id(record, "container", container, NULL) == 0) {
        (void)halting_new(d, json_get_str(record, "id", ""), container, fn, arg);
        return;
    }
    struct telling *t = xzalloc(sizeof(*t));
    *t = (struct telling){ .fn = fn, .arg = arg };
    (void)err_set(&t->err, ERR_NOT_FOUND, 0, "the record of sandbox %s names no container",
                  json_get_str(record, "id", ""));
    loop_defer(rt->loop, tell, t);
}

void docker_halt_discard(struct runtime *rt, const json_t *record, box_done_fn *fn, void *arg)
{
    struct docker *d = docker_of(rt);
    struct docker_removal_target target = { .id = json_get_str(record, "id", ""),
                                            .container = json_get_str(record, "container", "") };
    (void)json_object_del(d->halted, target.id);
    docker_removal_remove(d, &target, fn, arg);
}
