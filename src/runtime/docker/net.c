/* Networks of sandboxes as networks of the engine: a bridge without an address of the host, so that members reach each
 * other and nothing else. The room above counts on order, and the engine answers calls as it likes, so that one job is
 * done at a time. A network without members goes with the server, and with the next sweep after a crash: whoever
 * connects a sandbox asks for the network first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/docker/docker_core.h"

#define NAME_PREFIX "iii-net-"
#define QUERY_MAX   1024
#define AGAIN_MS    100
#define AGAIN_MAX   100 /* a container that is going still has the address */

struct docker_net_job;
typedef void start_fn(struct docker *d, struct docker_net_job *j);

struct docker_net_job {
    struct docker *d;
    struct docker_net_job *next;
    start_fn *start;
    char net_id[IDENT_MAX];
    char container[DOCKER_MESSAGES_ID_MAX];
    uint32_t address, prefix;
    bool is_started;
    bool is_gentle; /* a network with members stays */
    bool is_second; /* what was in the way has been removed */
    unsigned n_tries;
    struct timer *again;
    json_t *rest; /* members still to be cut off */
    box_done_fn *fn;
    void *arg;
};

static void run_next(struct docker *d)
{
    struct docker_net_job *j = d->net_first;
    if (!j || j->is_started) /* whoever was told of one job's end may have begun the next */
        return;
    j->is_started = true;
    j->start(d, j);
}

static void submit(struct docker *d, struct docker_net_job *j)
{
    struct docker_net_job **at = &d->net_first;
    bool is_idle = !*at;
    while (*at)
        at = &(*at)->next;
    *at = j;
    if (is_idle)
        run_next(d);
}

static struct docker_net_job *job_new(struct docker *d, start_fn *start, const char *net_id, box_done_fn *fn, void *arg)
{
    struct docker_net_job *j = xzalloc(sizeof(*j));
    *j = (struct docker_net_job){ .d = d, .start = start, .fn = fn, .arg = arg };
    (void)snprintf(j->net_id, sizeof(j->net_id), "%s", net_id);
    return j;
}

static void job_free(struct docker_net_job *j)
{
    timer_free(j->again);
    json_decref(j->rest);
    free(j);
}

/* At the end of the driver nobody is called, and nothing else is begun. */
static void finish(struct docker_net_job *j, const struct err *err)
{
    struct docker *d = j->d;
    bool is_over = docker_call_is_over(err);
    d->net_first = j->next;
    if (j->fn && !is_over)
        j->fn(j->arg, err);
    job_free(j);
    if (!is_over)
        run_next(d);
    if (!d->net_first && d->end.is_last)
        loop_stop(d->calls.loop); /* nothing comes after them */
}

void docker_net_drop_jobs(struct docker *d)
{
    while (d->net_first) {
        struct docker_net_job *j = d->net_first;
        d->net_first = j->next;
        job_free(j);
    }
}

static void call(struct docker_net_job *j, const char *method, const char *action, const json_t *body,
                 docker_call_fn *fn)
{
    CLEANUP(free_p) char *path = xasprintf("/networks/%s", action);
    CLEANUP(free_p) char *what = xasprintf("network %s", j->net_id);
    struct docker_call_request req = { .method = method, .path = path, .body = body, .what = what };
    (void)docker_call_start(&j->d->calls, &req, fn, j);
}

static bool says(const struct err *err, const char *word)
{
    return err && strstr(err->msg, word) != NULL;
}

static void address_text(uint32_t a, char ret[16])
{
    (void)snprintf(ret, 16, "%u.%u.%u.%u", a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255);
}

/* --- make --- */

static void on_made(void *arg, json_t *body, const struct err *err)
{
    struct docker_net_job *j = arg;
    struct err why = ERR_INIT;
    char range[16];
    (void)body;
    bool is_there = err && err->code == ERR_CONFLICT; /* by this name: ours, from before */
    if (says(err, "overlap") || says(err, "already used")) {
        address_text(j->address, range);
        (void)err_set(&why, ERR_CONFLICT, 0, "the range %s/%u is used by another network of the engine", range,
                      j->prefix);
        finish(j, &why);
        return;
    }
    if (!err || is_there)
        (void)json_object_set_new(j->d->nets, j->net_id, json_true());
    finish(j, is_there ? NULL : err);
}

static void start_make(struct docker *d, struct docker_net_job *j)
{
    char first[16], gateway[16];
    if (json_object_get(d->nets, j->net_id)) {
        finish(j, NULL);
        return;
    }
    address_text(j->address, first);
    address_text(j->address + 1, gateway);
    CLEANUP(free_p) char *name = xasprintf(NAME_PREFIX "%s", j->net_id);
    CLEANUP(free_p) char *subnet = xasprintf("%s/%u", first, j->prefix);
    JSON_OWNED body = json_pack(
        "{s:s, s:b, s:s, s:b, s:b, s:{s:s, s:[{s:s, s:s}]}, s:{s:s}, s:{s:s, s:s}}", "Name", name, "CheckDuplicate", 1,
        "Driver", "bridge", "Internal", 1, "EnableIPv6", 0, "IPAM", "Driver", "default", "Config", "Subnet", subnet,
        "Gateway", gateway, "Options", "com.docker.network.bridge.inhibit_ipv4", "true", /* the host is no member */
        "Labels", DOCKER_MESSAGES_LABEL, "true", DOCKER_MESSAGES_LABEL_DATA, docker_agent_socket_tag(d->agent_socket));
    call(j, "POST", "create", body, on_made);
}

void docker_net_create(struct runtime *rt, const struct box_plug *net, box_done_fn *fn, void *arg)
{
    struct docker_net_job *j = job_new(docker_of(rt), start_make, net->net_id, fn, arg);
    j->address = net->address;
    j->prefix = net->prefix;
    submit(j->d, j);
}

/* --- in and out --- */

static void leave_name(struct docker_net_job *j, const char *net, docker_call_fn *fn)
{
    CLEANUP(free_p) char *action = xasprintf("%s/disconnect", net);
    JSON_OWNED body = json_pack("{s:s, s:b}", "Container", j->container, "Force", 1);
    call(j, "POST", action, body, fn);
}

static void on_plugged(void *arg, json_t *body, const struct err *err);

static void start_plug(struct docker *d, struct docker_net_job *j)
{
    char address[16];
    (void)d;
    address_text(j->address, address);
    CLEANUP(free_p) char *action = xasprintf(NAME_PREFIX "%s/connect", j->net_id);
    JSON_OWNED body = json_pack("{s:s, s:{s:{s:s}}}", "Container", j->container, "EndpointConfig", "IPAMConfig",
                                "IPv4Address", address);
    call(j, "POST", action, body, on_plugged);
}

static void on_left_none(void *arg, json_t *body, const struct err *err)
{
    struct docker_net_job *j = arg;
    (void)body;
    if (err)
        finish(j, err);
    else
        start_plug(j->d, j);
}

static void on_again(void *arg)
{
    struct docker_net_job *j = arg;
    j->again = timer_free(j->again);
    j->start(j->d, j);
}

static void try_again(struct docker_net_job *j)
{
    j->again = timer_new(j->d->calls.loop, AGAIN_MS, 0, on_again, j);
}

static void on_plugged(void *arg, json_t *body, const struct err *err)
{
    struct docker_net_job *j = arg;
    (void)body;
    if (says(err, "already in use") && j->n_tries++ < AGAIN_MAX) {
        try_again(j);
        return;
    }
    if (says(err, "(none)") && !j->is_second) { /* "no network" counts as one, and as an exclusive one */
        j->is_second = true;
        leave_name(j, "none", on_left_none);
        return;
    }
    finish(j, says(err, "already exists in network") ? NULL : err);
}

static struct docker_net_job *plug_job(struct box *box, start_fn *start, const struct box_plug *plug, box_done_fn *fn,
                                       void *arg)
{
    struct docker_net_job *j = job_new(box->d, start, plug->net_id, fn, arg);
    memcpy(j->container, box->container, sizeof(j->container));
    j->address = plug->address;
    j->prefix = plug->prefix;
    return j;
}

void docker_net_attach(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg)
{
    submit(box->d, plug_job(box, start_plug, plug, fn, arg));
}

static void on_unplugged(void *arg, json_t *body, const struct err *err)
{
    (void)body;
    bool is_out = says(err, "is not connected") || (err && err->code == ERR_NOT_FOUND);
    finish(arg, is_out ? NULL : err);
}

static void start_unplug(struct docker *d, struct docker_net_job *j)
{
    CLEANUP(free_p) char *name = xasprintf(NAME_PREFIX "%s", j->net_id);
    (void)d;
    leave_name(j, name, on_unplugged);
}

void docker_net_detach(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg)
{
    submit(box->d, plug_job(box, start_unplug, plug, fn, arg));
}

/* --- the end of one --- */

static void start_delete(struct docker *d, struct docker_net_job *j);
static void cut_next(struct docker_net_job *j);

static void on_cut(void *arg, json_t *body, const struct err *err)
{
    struct docker_net_job *j = arg;
    (void)body;
    if (docker_call_is_over(err))
        finish(j, err);
    else
        cut_next(j); /* whether it went, the network's removal says */
}

static void cut_next(struct docker_net_job *j)
{
    const char *id = json_object_iter_key(json_object_iter(j->rest));
    if (!id) {
        start_delete(j->d, j);
        return;
    }
    (void)snprintf(j->container, sizeof(j->container), "%s", id);
    (void)json_object_del(j->rest, id);
    CLEANUP(free_p) char *name = xasprintf(NAME_PREFIX "%s", j->net_id);
    leave_name(j, name, on_cut);
}

static void on_members(void *arg, json_t *body, const struct err *err)
{
    struct docker_net_job *j = arg;
    if (err) {
        finish(j, err);
        return;
    }
    const json_t *members = json_get(body, "Containers");
    if (j->is_gentle && json_object_size(members)) {
        bool goes_on = j->d->boxes || json_object_size(j->d->end.kept);
        bool is_going = !goes_on && j->n_tries++ < AGAIN_MAX; /* none goes on: these are on their way out */
        j->is_second = false;
        if (is_going)
            try_again(j);
        else
            finish(j, NULL);
        return;
    }
    j->rest = json_deep_copy(members);
    cut_next(j);
}

static void on_deleted(void *arg, json_t *body, const struct err *err)
{
    struct docker_net_job *j = arg;
    (void)body;
    if (says(err, "active endpo") && /* the end is cut off */
        !j->is_second) {
        CLEANUP(free_p) char *name = xasprintf(NAME_PREFIX "%s", j->net_id);
        j->is_second = true;
        call(j, "GET", name, NULL, on_members);
        return;
    }
    if (says(err, "active endpo") && j->n_tries++ < AGAIN_MAX) { /* of a container that is just going */
        try_again(j);
        return;
    }
    bool is_gone = !err || err->code == ERR_NOT_FOUND;
    if (is_gone)
        (void)json_object_del(j->d->nets, j->net_id);
    finish(j, is_gone ? NULL : err);
}

static void start_delete(struct docker *d, struct docker_net_job *j)
{
    CLEANUP(free_p) char *name = xasprintf(NAME_PREFIX "%s", j->net_id);
    (void)d;
    call(j, "DELETE", name, NULL, on_deleted);
}

void docker_net_delete(struct runtime *rt, const char *net_id, box_done_fn *fn, void *arg)
{
    struct docker *d = docker_of(rt);
    submit(d, job_new(d, start_delete, net_id, fn, arg));
}

/* --- those that nobody names --- */

static void on_leftover_deleted(void *arg, const struct err *err)
{
    struct docker *d = arg;
    d->end.is_due = d->end.is_due || err;
}

/* Somebody may have asked for it since the list was made. */
static void start_delete_leftover(struct docker *d, struct docker_net_job *j)
{
    if (json_object_get(d->nets, j->net_id))
        finish(j, NULL);
    else
        start_delete(d, j);
}

static void on_nets(void *arg, json_t *body, const struct err *err)
{
    struct docker_net_job *j = arg;
    struct docker *d = j->d;
    size_t i;
    json_t *row;
    json_array_foreach(body, i, row)
    {
        const char *name = json_get_str(row, "Name", "");
        const char *id = strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX)) == 0 ? name + strlen(NAME_PREFIX) : "";
        if (ident_is("net", id) && !json_object_get(d->nets, id))
            submit(d, job_new(d, start_delete_leftover, id, on_leftover_deleted, d));
    }
    finish(j, err);
}

static void start_list(struct docker *d, struct docker_net_job *j)
{
    CLEANUP(buf_done) struct buf action = BUF_INIT(QUERY_MAX);
    JSON_OWNED filter = docker_messages_filter(docker_agent_socket_tag(d->agent_socket), NULL, NULL);
    CLEANUP(free_p) char *text = json_write(filter, NULL);
    (void)buf_add_str(&action, "?filters=");
    docker_call_escape(&action, text);
    call(j, "GET", buf_text(&action), NULL, on_nets);
}

void docker_net_sweep(struct docker *d)
{
    submit(d, job_new(d, start_list, "", on_leftover_deleted, d));
}

/* --- the end of the driver --- */

void docker_net_leave(struct docker *d)
{
    const char *id;
    json_t *value;
    json_object_foreach(d->nets, id, value)
    {
        struct docker_net_job *j = job_new(d, start_delete, id, NULL, NULL);
        j->is_gentle = true; /* sandboxes that go on without us stay connected */
        submit(d, j);
    }
    docker_net_sweep(d); /* what the engine still has after that is for the next server */
}
