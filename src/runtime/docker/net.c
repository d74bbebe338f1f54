/* Theory of operation. Networks of sandboxes are networks of the engine: a bridge without an address of the host, so
 * that members reach each other and nothing else.
 *
 * A `struct docker_net_job` is one create, join, leave or delete. The driver owns them in a queue and runs one at a
 * time, because its callers rely on their order and the engine answers in any order. Each job calls its caller once and
 * is freed; then the next starts.
 *
 * A container that is being removed still has its address and its endpoint: such conflicts are retried AGAIN_MAX
 * times. A network without members is removed with the server, and after a crash by the next sweep; whoever connects
 * a sandbox creates the network first. At shutdown nobody is called. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/docker/docker_core.h"

#define QUERY_MAX 1024
#define AGAIN_MS  100
#define AGAIN_MAX 100 /* a container that is being removed still has the address */

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
    bool is_second; /* second attempt, after the conflict was removed */
    unsigned n_tries;
    struct timer *again;
    json_t *rest; /* members to be disconnected */
    box_done_fn *fn;
    void *arg;
};

static void job_run_next(struct docker *d)
{
    struct docker_net_job *j = d->net_first;
    if (!j || j->is_started) /* the callback of the last job may have started the next */
        return;
    j->is_started = true;
    j->start(d, j);
}

static void job_submit(struct docker *d, struct docker_net_job *j)
{
    LIST_APPEND(d->net_first, j);
    if (d->net_first == j)
        job_run_next(d);
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

/* At shutdown nobody is called, and no other job is started. */
static void job_finish(struct docker_net_job *j, const struct err *err)
{
    struct docker *d = j->d;
    bool is_over = docker_call_is_over(err);
    d->net_first = j->next;
    if (j->fn && !is_over)
        j->fn(j->arg, err);
    job_free(j);
    if (!is_over)
        job_run_next(d);
    if (!d->net_first && d->end.is_last)
        loop_stop(d->calls.loop); /* nothing follows */
}

void docker_net_drop_jobs(struct docker *d)
{
    while (d->net_first) {
        struct docker_net_job *j = d->net_first;
        d->net_first = j->next;
        job_free(j);
    }
}

static void job_call(struct docker_net_job *j, const char *method, const char *action, const json_t *body,
                     docker_call_fn *fn)
{
    CLEANUP(free_p) char *path = xasprintf("/networks/%s", action);
    CLEANUP(free_p) char *what = xasprintf("network %s", j->net_id);
    struct docker_call_request req = { .method = method, .path = path, .body = body, .what = what };
    (void)docker_call_start(&j->d->calls, &req, fn, j);
}

static bool error_contains(const struct err *err, const char *word)
{
    return err && strstr(err->msg, word) != NULL;
}

static void address_text(uint32_t a, char ret[16])
{
    (void)snprintf(ret, 16, "%u.%u.%u.%u", a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255);
}

/* --- make --- */

static void network_on_made(void *arg, json_t *body, const struct err *err)
{
    struct docker_net_job *j = arg;
    struct err why = ERR_INIT;
    char range[16];
    (void)body;
    bool is_there = err && err->code == ERR_CONFLICT; /* our own, from an earlier server */
    if (error_contains(err, "overlap") || error_contains(err, "already used")) {
        address_text(j->address, range);
        (void)err_set(&why, ERR_CONFLICT, 0, "the range %s/%u is used by another network of the engine", range,
                      j->prefix);
        job_finish(j, &why);
        return;
    }
    if (!err || is_there)
        (void)json_object_set_new(j->d->nets, j->net_id, json_true());
    job_finish(j, is_there ? NULL : err);
}

static void start_make(struct docker *d, struct docker_net_job *j)
{
    char first[16], gateway[16];
    if (json_object_get(d->nets, j->net_id)) {
        job_finish(j, NULL);
        return;
    }
    address_text(j->address, first);
    address_text(j->address + 1, gateway);
    CLEANUP(free_p) char *name = xasprintf(DOCKER_NET_PREFIX "%s", j->net_id);
    CLEANUP(free_p) char *subnet = xasprintf("%s/%u", first, j->prefix);
    JSON_OWNED body = json_pack(
        "{s:s, s:b, s:s, s:b, s:b, s:{s:s, s:[{s:s, s:s}]}, s:{s:s}, s:{s:s, s:s}}", "Name", name, "CheckDuplicate", 1,
        "Driver", "bridge", "Internal", 1, "EnableIPv6", 0, "IPAM", "Driver", "default", "Config", "Subnet", subnet,
        "Gateway", gateway, "Options", "com.docker.network.bridge.inhibit_ipv4", "true", /* the host is not a member */
        "Labels", DOCKER_MESSAGES_LABEL, "true", DOCKER_MESSAGES_LABEL_DATA, docker_agent_socket_tag(d->agent_socket));
    job_call(j, "POST", "create", body, network_on_made);
}

void docker_net_create(struct runtime *rt, const struct box_plug *net, box_done_fn *fn, void *arg)
{
    struct docker_net_job *j = job_new(docker_of(rt), start_make, net->net_id, fn, arg);
    j->address = net->address;
    j->prefix = net->prefix;
    job_submit(j->d, j);
}

/* --- join and leave --- */

static void leave_name(struct docker_net_job *j, const char *net, docker_call_fn *fn)
{
    CLEANUP(free_p) char *action = xasprintf("%s/disconnect", net);
    JSON_OWNED body = json_pack("{s:s, s:b}", "Container", j->container, "Force", 1);
    job_call(j, "POST", action, body, fn);
}

static void member_on_joined(void *arg, json_t *body, const struct err *err);

static void start_plug(struct docker *d, struct docker_net_job *j)
{
    char address[16];
    (void)d;
    address_text(j->address, address);
    CLEANUP(free_p) char *action = xasprintf(DOCKER_NET_PREFIX "%s/connect", j->net_id);
    JSON_OWNED body = json_pack("{s:s, s:{s:{s:s}}}", "Container", j->container, "EndpointConfig", "IPAMConfig",
                                "IPv4Address", address);
    job_call(j, "POST", action, body, member_on_joined);
}

static void on_left_none(void *arg, json_t *body, const struct err *err)
{
    struct docker_net_job *j = arg;
    (void)body;
    if (err)
        job_finish(j, err);
    else
        start_plug(j->d, j);
}

static void job_on_again(void *arg)
{
    struct docker_net_job *j = arg;
    j->again = timer_free(j->again);
    j->start(j->d, j);
}

static void try_again(struct docker_net_job *j)
{
    j->again = timer_new(j->d->calls.loop, AGAIN_MS, 0, job_on_again, j);
}

static void member_on_joined(void *arg, json_t *body, const struct err *err)
{
    struct docker_net_job *j = arg;
    (void)body;
    if (error_contains(err, "already in use") && j->n_tries++ < AGAIN_MAX) {
        try_again(j);
        return;
    }
    if (error_contains(err, "(none)") && !j->is_second) { /* the network "none" is exclusive: leave it first */
        j->is_second = true;
        leave_name(j, "none", on_left_none);
        return;
    }
    job_finish(j, error_contains(err, "already exists in network") ? NULL : err);
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
    job_submit(box->d, plug_job(box, start_plug, plug, fn, arg));
}

static void member_on_left(void *arg, json_t *body, const struct err *err)
{
    (void)body;
    bool is_out = error_contains(err, "is not connected") || (err && err->code == ERR_NOT_FOUND);
    job_finish(arg, is_out ? NULL : err);
}

static void start_unplug(struct docker *d, struct docker_net_job *j)
{
    CLEANUP(free_p) char *name = xasprintf(DOCKER_NET_PREFIX "%s", j->net_id);
    (void)d;
    leave_name(j, name, member_on_left);
}

void docker_net_detach(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg)
{
    job_submit(box->d, plug_job(box, start_unplug, plug, fn, arg));
}

/* --- delete --- */

static void start_delete(struct docker *d, struct docker_net_job *j);
static void member_cut_next(struct docker_net_job *j);

static void member_on_cut(void *arg, json_t *body, const struct err *err)
{
    struct docker_net_job *j = arg;
    (void)body;
    if (docker_call_is_over(err))
        job_finish(j, err);
    else
        member_cut_next(j); /* the removal of the network reports whether it worked */
}

static void member_cut_next(struct docker_net_job *j)
{
    const char *id = json_object_iter_key(json_object_iter(j->rest));
    if (!id) {
        start_delete(j->d, j);
        return;
    }
    (void)snprintf(j->container, sizeof(j->container), "%s", id);
    (void)json_object_del(j->rest, id);
    CLEANUP(free_p) char *name = xasprintf(DOCKER_NET_PREFIX "%s", j->net_id);
    leave_name(j, name, member_on_cut);
}

static void on_members(void *arg, json_t *body, const struct err *err)
{
    struct docker_net_job *j = arg;
    if (err) {
        job_finish(j, err);
        return;
    }
    const json_t *members = json_get(body, "Containers");
    if (j->is_gentle && json_object_size(members)) {
        bool has_users = j->d->boxes || json_object_size(j->d->end.kept);
        bool is_going =
            !has_users && j->n_tries++ < AGAIN_MAX; /* no sandbox is left: their containers are being removed */
        j->is_second = false;
        if (is_going)
            try_again(j);
        else
            job_finish(j, NULL);
        return;
    }
    j->rest = json_deep_copy(members);
    member_cut_next(j);
}

static void on_deleted(void *arg, json_t *body, const struct err *err)
{
    struct docker_net_job *j = arg;
    (void)body;
    if (error_contains(err, "active endpo") && /* the engine truncates the text */
        !j->is_second) {
        CLEANUP(free_p) char *name = xasprintf(DOCKER_NET_PREFIX "%s", j->net_id);
        j->is_second = true;
        job_call(j, "GET", name, NULL, on_members);
        return;
    }
    if (error_contains(err, "active endpo") && j->n_tries++ < AGAIN_MAX) { /* of a container that is being removed */
        try_again(j);
        return;
    }
    bool is_gone = !err || err->code == ERR_NOT_FOUND;
    if (is_gone)
        (void)json_object_del(j->d->nets, j->net_id);
    job_finish(j, is_gone ? NULL : err);
}

static void start_delete(struct docker *d, struct docker_net_job *j)
{
    CLEANUP(free_p) char *name = xasprintf(DOCKER_NET_PREFIX "%s", j->net_id);
    (void)d;
    job_call(j, "DELETE", name, NULL, on_deleted);
}

void docker_net_delete(struct runtime *rt, const char *net_id, box_done_fn *fn, void *arg)
{
    struct docker *d = docker_of(rt);
    job_submit(d, job_new(d, start_delete, net_id, fn, arg));
}

/* --- sweep --- */

static void on_leftover_deleted(void *arg, const struct err *err)
{
    struct docker *d = arg;
    d->end.is_due = d->end.is_due || err;
}

/* It may have been requested again since the list was made. */
static void start_delete_leftover(struct docker *d, struct docker_net_job *j)
{
    if (json_object_get(d->nets, j->net_id))
        job_finish(j, NULL);
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
        const char *id =
            strncmp(name, DOCKER_NET_PREFIX, strlen(DOCKER_NET_PREFIX)) == 0 ? name + strlen(DOCKER_NET_PREFIX) : "";
        if (ident_is("net", id) && !json_object_get(d->nets, id))
            job_submit(d, job_new(d, start_delete_leftover, id, on_leftover_deleted, d));
    }
    job_finish(j, err);
}

static void start_list(struct docker *d, struct docker_net_job *j)
{
    CLEANUP(buf_done) struct buf action = BUF_INIT(QUERY_MAX);
    JSON_OWNED filter = docker_messages_filter(docker_agent_socket_tag(d->agent_socket), NULL, NULL);
    CLEANUP(free_p) char *text = json_write(filter, NULL);
    (void)buf_add_str(&action, "?filters=");
    docker_call_escape(&action, text);
    job_call(j, "GET", buf_text(&action), NULL, on_nets);
}

void docker_net_sweep(struct docker *d)
{
    job_submit(d, job_new(d, start_list, "", on_leftover_deleted, d));
}

/* --- shutdown --- */

void docker_net_leave(struct docker *d)
{
    const char *id;
    json_t *value;
    json_object_foreach(d->nets, id, value)
    {
        struct docker_net_job *j = job_new(d, start_delete, id, NULL, NULL);
        j->is_gentle = true; /* sandboxes that outlive us stay connected */
        job_submit(d, j);
    }
    docker_net_sweep(d); /* the next server removes what is left */
}
