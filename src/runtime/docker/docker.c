/* Theory of operation. A box is a container named iii-sbx-ID whose first process is our agent. The agent connects to us
 * (agent_socket.h); from then on exec, files and terminals never involve the engine. Labels on the container name the
 * box and the data folder, so a container that a crash left is found again: a sweep (removal.c) removes every labelled
 * container that no box names. When the engine cannot be reached for a removal, the sweep is repeated until it answers.
 *
 * A `struct making` is a box that is being created or adopted. It calls its caller once, with the box or an error, and
 * frees itself. A failed create removes its container; a failed adoption leaves it to the sweep; after a failed start
 * of a halted box (halt.c) it is halted again. An image that cannot run the agent gets a second container without it
 * (agentless.h).
 *
 * Adoption needs no engine: the socket is made again where it was, and a living agent connects within a moment. The
 * engine is asked only to find dead containers at once and to unpause paused ones. */
#include "runtime/docker/docker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "runtime/docker/docker_core.h"

#define CALL_MS   20000 /* from a started container to its agent's connection */
#define ADOPT_MS  10000
#define TICK_MS   1000
#define INFO_MS   10000
#define DOCTOR_MS 10000
#define WHY_NO_LIMIT \
    "the engine has no control group for it; one without root needs control groups of version 2 that are delegated"

/* A box that is being created or adopted. */
struct making {
    struct box *box;
    struct docker_agent_socket_wait *wait;
    struct timer *deadline;
    struct docker_call *call;
    json_t *body;     /* of the create request, for a second container */
    bool is_adoption; /* on failure the container is left to the sweep */
    bool is_kept;     /* it was halted: on failure it is again */
    struct box_life_caller to;
};

/* A start that failed, while its container is halted again. */
struct refusal {
    struct box_life_caller to;
    struct err why;
};

static void box_free(struct box *box)
{
    LIST_TAKE(box->d->boxes, box);
    docker_agentless_free(box->proxy);
    free(box);
}

static struct box *box_new(struct docker *d, const char *id)
{
    struct box *box = xzalloc(sizeof(*box));
    box->d = d;
    (void)snprintf(box->id, sizeof(box->id), "%s", id);
    box->next = d->boxes;
    d->boxes = box;
    return box;
}

static struct docker_call *call_box(struct box *box, const char *method, const char *action, const json_t *body,
                                    docker_call_fn *fn, void *arg)
{
    CLEANUP(free_p) char *path = xasprintf("/containers/%s%s", box->container, action);
    CLEANUP(free_p) char *what = xasprintf("sandbox %s", box->id);
    struct docker_call_request req = { .method = method, .path = path, .body = body, .what = what };
    return docker_call_start(&box->d->calls, &req, fn, arg);
}

/* --- the end of a box --- */

static void docker_destroy(struct box *box, box_done_fn *fn, void *arg)
{
    struct docker_removal_target target = { .id = box->id, .container = box->container, .is_paused = box->is_paused };
    docker_removal_remove(box->d, &target, fn, arg);
    box_free(box);
}

/* The engine's calls need the handle no more. */
static void docker_halt(struct box *box, box_done_fn *fn, void *arg)
{
    docker_halt_box(box, false, fn, arg);
    box_free(box);
}

static void docker_forget(struct box *box)
{
    docker_removal_keep(box->d, box->id);
    box_free(box);
}

/* --- creating a box --- */

static void making_free(struct making *m)
{
    docker_agent_socket_close(m->wait);
    timer_free(m->deadline);
    if (m->call)
        docker_call_cancel(m->call);
    json_decref(m->body);
    free(m);
}

static void making_on_halted(void *arg, const struct err *err)
{
    CLEANUP(free_p) struct refusal *r = arg;
    box_life_fail(&r->to, docker_call_is_over(err) ? NULL : &r->why); /* the next start ends what still runs */
}

static void making_fail(struct making *m, const struct err *err)
{
    struct err why = *err;
    struct box_life_caller to = m->to;
    bool is_away = err->sys == ECONNREFUSED || err->sys == ENOENT;
    if (!m->is_adoption && !*m->box->container && !is_away && (err->code == ERR_CAPACITY || err->code == ERR_TIMEOUT))
        docker_removal_doubt(m->box->d, m->box->id); /* the engine got the request and may still be working on it */
    if (m->is_kept && !docker_call_is_over(err)) {
        struct refusal *r = xzalloc(sizeof(*r));
        *r = (struct refusal){ .to = to, .why = why };
        docker_halt_box(m->box, true, making_on_halted, r);
        box_free(m->box);
        making_free(m);
        return;
    }
    if (m->is_adoption && docker_call_is_over(err))
        docker_forget(m->box); /* it may still run */
    else if (m->is_adoption || docker_call_is_over(err))
        box_free(m->box); /* a sweep removes what there is of it */
    else
        docker_destroy(m->box, NULL, NULL);
    making_free(m);
    box_life_fail(&to, docker_call_is_over(&why) ? NULL : &why);
}

static void making_succeed(struct making *m)
{
    struct box *box = m->box;
    struct box_life_caller to = m->to;
    (void)json_object_del(box->d->halted, box->id);
    if (m->call && !m->is_adoption)
        m->call = docker_call_let_go(m->call); /* the agent has connected before the engine reports the start */
    making_free(m);
    to.fn(to.arg, box, to.guest_fd, NULL);
}

/* An adopted box is paused or running now, as it has to be. */
static void on_status_set(void *arg, json_t *body, const struct err *err)
{
    struct making *m = arg;
    (void)body;
    m->call = NULL;
    if (err)
        making_fail(m, err);
    else
        making_succeed(m);
}

static void making_step(struct making *m)
{
    if (m->to.guest_fd < 0)
        return;
    m->deadline = timer_free(m->deadline);
    if (m->is_adoption && m->call)
        return; /* the engine has yet to say whether it is paused */
    if (!m->box->is_paused)
        making_succeed(m);
    else
        m->call = call_box(m->box, "POST", "/pause", NULL, on_status_set, m);
}

static void making_on_agent(void *arg, const struct docker_agent_socket_caller *caller)
{
    struct making *m = arg;
    m->to.guest_fd = caller->fd;
    m->box->agent = (struct docker_agent_socket_caller){ .fd = NO_FD, .pid = caller->pid, .since = caller->since };
    m->wait = docker_agent_socket_close(m->wait);
    making_step(m);
}

/* --- a box without an agent --- */

static void on_seen(void *arg, json_t *body, const struct err *err)
{
    struct making *m = arg;
    struct err why = ERR_INIT;
    const json_t *state = json_get(body, "State");
    m->call = NULL;
    if (!err && !json_get_bool(state, "Running", false))
        (void)err_set(&why, m->is_adoption ? ERR_GONE : ERR_UPSTREAM, 0,
                      "container %.12s has exited; it has no agent: %.100s", m->box->container, m->box->no_agent);
    if (!err && why.code == ERR_NONE)
        (void)docker_agentless_new(&m->box->d->calls, m->box->container, &m->box->proxy, &m->to.guest_fd, &why);
    if (err || why.code != ERR_NONE) {
        making_fail(m, err ? err : &why);
        return;
    }
    m->box->agent.pid = (pid_t)json_get_int(state, "Pid", 0);
    bool is_paused = json_get_bool(state, "Paused", false);
    if (is_paused == m->box->is_paused)
        making_succeed(m);
    else
        m->call = call_box(m->box, "POST", is_paused ? "/unpause" : "/pause", NULL, on_status_set, m);
}

static void container_make(struct making *m);

static void on_cleared(void *arg, json_t *body, const struct err *err)
{
    struct making *m = arg;
    (void)body;
    m->call = NULL;
    if (err && err->code != ERR_NOT_FOUND) {
        making_fail(m, err);
        return;
    }
    m->box->container[0] = '\0';
    container_make(m);
}

/* Creates the container again without our folder, with a first process that only sleeps. */
static void fall_back(struct making *m, const char *why)
{
    struct box *box = m->box;
    (void)snprintf(box->no_agent, sizeof(box->no_agent), "%s", why);
    m->wait = docker_agent_socket_close(m->wait);
    docker_agent_socket_remove(box->d->agent_socket, box->id);
    (void)json_object_set_new(m->body, "Entrypoint", json_pack("[s,s,s]", "tail", "-f", "/dev/null"));
    (void)json_object_del(json_get(m->body, "HostConfig"), "Mounts");
    timer_set(m->deadline, -1, 0);
    CLEANUP(free_p) char *path = xasprintf("/containers/iii-sbx-%s?force=1&v=1", box->id);
    CLEANUP(free_p) char *what = xasprintf("make sandbox %s again", box->id);
    struct docker_call_request req = { .method = "DELETE", .path = path, .what = what };
    m->call = docker_call_start(&box->d->calls, &req, on_cleared, m);
}

/* Whether the engine's error names the agent or our folder: the agent cannot be mounted or executed. */
static bool is_agents_fault(const struct making *m, const struct err *err)
{
    if (!err || *m->box->no_agent || !m->body)
        return false;
    CLEANUP(free_p) char *folder = docker_agent_socket_folder(m->box->d->agent_socket, m->box->id);
    return strstr(err->msg, DOCKER_MESSAGES_GUEST "/guest") || strstr(err->msg, "bind source path does not exist") ||
           strstr(err->msg, folder);
}

static void making_on_deadline(void *arg)
{
    struct making *m = arg;
    struct err err = ERR_INIT;
    if (!m->is_adoption && !m->is_kept) {
        fall_back(m, "the agent runs, but has not connected within 20 s");
        return;
    }
    (void)err_set(&err, m->is_kept ? ERR_UPSTREAM : ERR_GONE, 0,
                  "container %.12s runs, but its agent has not connected within %d s", m->box->container,
                  (m->is_kept ? CALL_MS : ADOPT_MS) / 1000);
    making_fail(m, &err);
}

static void container_on_started(void *arg, json_t *body, const struct err *err)
{
    struct making *m = arg;
    (void)body;
    m->call = NULL;
    if (is_agents_fault(m, err))
        fall_back(m, "the container cannot run the agent");
    else if (err)
        making_fail(m, err);
    else if (*m->box->no_agent)
        m->call = call_box(m->box, "GET", "/json", NULL, on_seen, m);
    else
        timer_set(m->deadline, CALL_MS, 0);
}

static void container_on_made(void *arg, json_t *body, const struct err *err)
{
    struct making *m = arg;
    struct err why = ERR_INIT;
    m->call = NULL;
    if (is_agents_fault(m, err)) {
        fall_back(m, "the engine does not see the server's data folder");
        return;
    }
    if (err || docker_messages_id(body, "Id", m->box->container, &why) < 0) {
        making_fail(m, err ? err : &why);
        return;
    }
    m->call = call_box(m->box, "POST", "/start", NULL, container_on_started, m);
}

static void container_make(struct making *m)
{
    CLEANUP(free_p) char *path = xasprintf("/containers/create?name=iii-sbx-%s", m->box->id);
    CLEANUP(free_p) char *what = xasprintf("create sandbox %s", m->box->id);
    struct docker_call_request req = { .method = "POST", .path = path, .body = m->body, .what = what };
    m->call = docker_call_start(&m->box->d->calls, &req, container_on_made, m);
}

static struct making *making_new(struct box *box, box_ready_fn *fn, void *arg)
{
    struct making *m = xzalloc(sizeof(*m));
    *m = (struct making){ .box = box, .to = BOX_LIFE_CALLER(fn, arg) };
    m->deadline = timer_new(box->d->base.loop, -1, 0, making_on_deadline, m);
    return m;
}

/* --- starting a halted box --- */

/* Only now: an agent of an interrupted start would have connected. */
static void on_prepared(void *arg, const struct err *err)
{
    struct making *m = arg;
    struct err why = ERR_INIT;
    struct docker *d = m->box->d;
    if (!err && !*m->box->no_agent)
        (void)docker_agent_socket_open(d->agent_socket, m->box->id, NULL, making_on_agent, m, &m->wait, &why);
    if (err || why.code)
        making_fail(m, err ? err : &why);
    else
        m->call = call_box(m->box, "POST", "/start", NULL, container_on_started, m);
}

static struct docker_limits limits_of(const json_t *record)
{
    return (struct docker_limits){ .memory_mb = (uint32_t)json_get_int(record, "memoryMb", 0),
                                   .cpu_milli = (uint32_t)json_get_int(record, "cpuMilli", 0),
                                   .pids_max = (uint32_t)json_get_int(record, "pidsMax", 0) };
}

static void start_kept(struct docker *d, const struct box_plan *plan, box_ready_fn *fn, void *arg)
{
    struct err err = ERR_INIT;
    struct making *m = making_new(box_new(d, plan->id), fn, arg);
    (void)snprintf(m->box->no_agent, sizeof(m->box->no_agent), "%s", json_get_str(plan->kept, "noAgent", ""));
    if (docker_messages_id(plan->kept, "container", m->box->container, &err) < 0) {
        m->is_adoption = true; /* nothing is there that could be halted */
        making_fail(m, &err);
        return;
    }
    m->is_kept = true;
    const struct docker_limits had = limits_of(plan->kept);
    m->box->limits = (struct docker_limits){ plan->memory_mb, plan->cpu_milli, plan->pids_max };
    bool is_same = memcmp(&had, &m->box->limits, sizeof(had)) == 0;
    docker_halt_prepare(m->box,
                        is_same ? NULL : docker_messages_limits(plan->memory_mb, plan->cpu_milli, plan->pids_max),
                        on_prepared, m);
}

static void docker_create(struct runtime *rt, const struct box_plan *plan, box_ready_fn *fn, void *arg)
{
    struct docker *d = docker_of(rt);
    struct err err = ERR_INIT;
    if (plan->kept) {
        start_kept(d, plan, fn, arg);
        return;
    }
    const char *image = plan->n_layers == 1 ? plan->layers[0] : "";
    struct making *m = making_new(box_new(d, plan->id), fn, arg);
    m->box->limits = (struct docker_limits){ plan->memory_mb, plan->cpu_milli, plan->pids_max };
    int r = strncmp(image, "docker:", 7) != 0
                ? err_set(&err, ERR_INVALID, 0, "the docker backend runs images of its engine")
                : docker_agent_socket_open(d->agent_socket, plan->id, NULL, making_on_agent, m, &m->wait, &err);
    if (r < 0) {
        m->is_adoption = true; /* no container exists that could be removed */
        docker_agent_socket_remove(d->agent_socket, plan->id);
        making_fail(m, &err);
        return;
    }
    CLEANUP(free_p) char *folder = docker_agent_socket_folder(d->agent_socket, plan->id);
    struct docker_messages_box box = { .plan = plan,
                                       .image = image + 7,
                                       .folder = folder,
                                       .tag = docker_agent_socket_tag(d->agent_socket),
                                       .runtime = d->runtime };
    m->body = docker_messages_container(&box);
    container_make(m);
}

/* --- adopting a box of an earlier server --- */

static void on_woken(void *arg, json_t *body, const struct err *err)
{
    struct making *m = arg;
    (void)body;
    m->call = NULL;
    if (err)
        making_fail(m, err);
    else
        making_step(m);
}

static void on_inspected(void *arg, json_t *body, const struct err *err)
{
    struct making *m = arg;
    struct err why = ERR_INIT;
    const json_t *state = json_get(body, "State");
    m->call = NULL;
    if (err && err->code != ERR_NOT_FOUND && !docker_call_is_over(err)) {
        making_step(m); /* the engine is unreachable: the agent may still connect */
        return;
    }
    if (err && docker_call_is_over(err)) {
        making_fail(m, err);
        return;
    }
    if (err || !json_get_bool(state, "Running", false)) {
        (void)err_set(&why, ERR_GONE, 0, "its container %.12s has exited", m->box->container);
        making_fail(m, &why);
        return;
    }
    if (json_get_bool(state, "Paused", false)) /* its agent cannot connect, or it was paused without a record */
        m->call = call_box(m->box, "POST", "/unpause", NULL, on_woken, m);
    else
        making_step(m);
}

static void docker_adopt(struct runtime *rt, const json_t *record, bool is_paused, box_ready_fn *fn, void *arg)
{
    struct docker *d = docker_of(rt);
    struct err err = ERR_INIT;
    struct making *m = making_new(box_new(d, json_get_str(record, "id", "")), fn, arg);
    struct docker_agent_socket_caller only = { .fd = NO_FD,
                                               .pid = (pid_t)json_get_int(record, "pid", 0),
                                               .since = (uint64_t)json_get_int(record, "since", 0) };
    m->is_adoption = true;
    m->box->is_paused = is_paused;
    m->box->limits = limits_of(record);
    (void)snprintf(m->box->no_agent, sizeof(m->box->no_agent), "%s", json_get_str(record, "noAgent", ""));
    int r = docker_messages_id(record, "container", m->box->container, &err);
    if (r == 0 && !*m->box->no_agent)
        r = docker_agent_socket_open(d->agent_socket, m->box->id, &only, making_on_agent, m, &m->wait, &err);
    if (r < 0) {
        making_fail(m, &err);
        return;
    }
    if (!*m->box->no_agent)
        timer_set(m->deadline, ADOPT_MS, 0);
    m->call = call_box(m->box, "GET", "/json", NULL, *m->box->no_agent ? on_seen : on_inspected, m);
}

static json_t *docker_save(struct box *box)
{
    json_t *record = json_pack("{s:s, s:s, s:I, s:I, s:i, s:i, s:i}", "id", box->id, "container", box->container, "pid",
                               (json_int_t)box->agent.pid, "since", (json_int_t)box->agent.since, "memoryMb",
                               (int)box->limits.memory_mb, "cpuMilli", (int)box->limits.cpu_milli, "pidsMax",
                               (int)box->limits.pids_max);
    if (*box->no_agent)
        (void)json_object_set_new(record, "noAgent", json_string(box->no_agent));
    return record;
}

static const char *docker_without_agent(const struct box *box)
{
    return *box->no_agent ? box->no_agent : NULL;
}

/* --- a running box --- */

enum change { CHANGE_NONE, CHANGE_PAUSED, CHANGE_RUNNING };

struct doing {
    struct docker *d;
    char id[IDENT_MAX]; /* the box may be destroyed meanwhile */
    enum change change;
    box_done_fn *fn;
    void *arg;
};

static void on_did(void *arg, json_t *body, const struct err *err)
{
    CLEANUP(free_p) struct doing *a = arg;
    (void)body;
    for (struct box *b = a->d->boxes; !err && a->change && b; b = b->next)
        if (strcmp(b->id, a->id) == 0)
            b->is_paused = a->change == CHANGE_PAUSED;
    if (a->fn && !docker_call_is_over(err))
        a->fn(a->arg, err);
}

static struct doing *doing_new(const struct box *box, enum change to, box_done_fn *fn, void *arg)
{
    struct doing *a = xzalloc(sizeof(*a));
    *a = (struct doing){ .d = box->d, .change = to, .fn = fn, .arg = arg };
    memcpy(a->id, box->id, sizeof(a->id));
    return a;
}

static void docker_pause(struct box *box, box_done_fn *fn, void *arg)
{
    (void)call_box(box, "POST", "/pause", NULL, on_did, doing_new(box, CHANGE_PAUSED, fn, arg));
}

static void docker_resume(struct box *box, box_done_fn *fn, void *arg)
{
    (void)call_box(box, "POST", "/unpause", NULL, on_did, doing_new(box, CHANGE_RUNNING, fn, arg));
}

static void docker_set_limits(struct box *box, uint32_t memory_mb, uint32_t cpu_milli, uint32_t pids_max,
                              box_done_fn *fn, void *arg)
{
    struct err err = ERR_INIT;
    struct box_stats now = { 0 };
    if (docker_stat_read(box, &now, NULL) == 0 && now.memory_bytes > (uint64_t)memory_mb << 20) {
        (void)err_set(&err, ERR_CONFLICT, EBUSY,
                      "memory cannot be lowered to %u MB: %u MB are in use, and the engine would end processes for it",
                      memory_mb, (unsigned)(now.memory_bytes >> 20) + 1);
        fn(arg, &err);
        return;
    }
    JSON_OWNED body = docker_messages_limits(memory_mb, cpu_milli, pids_max);
    box->limits = (struct docker_limits){ memory_mb, cpu_milli, pids_max };
    (void)call_box(box, "POST", "/update", body, on_did, doing_new(box, CHANGE_NONE, fn, arg));
}

/* Renames it in the engine. The hostname of a container cannot change; commands get the new one in HOSTNAME. */
static void docker_rename(struct box *box, const char *hostname, box_done_fn *fn, void *arg)
{
    CLEANUP(free_p) char *action = xasprintf("/rename?name=iii-sbx-%s", hostname);
    (void)call_box(box, "POST", action, NULL, on_did, doing_new(box, CHANGE_NONE, fn, arg));
}

/* --- what the engine supports --- */

struct asking {
    struct docker *d;
    box_done_fn *fn; /* of the first sweep, which follows */
    void *arg;
    bool is_start;
};

static void on_info(void *arg, json_t *body, const struct err *err)
{
    CLEANUP(free_p) struct asking *a = arg;
    struct docker *d = a->d;
    d->are_powers_due = err;
    if (!err) {
        struct docker_messages_powers now = docker_messages_powers(body);
        if (memcmp(&now, &d->powers, sizeof(now)) != 0 && (!now.can_memory || !now.can_cpu || !now.can_pids))
            log_event(LOG_WARN, "docker.limits", "memory", now.can_memory ? "enforced" : "not enforced", "cpu",
                      now.can_cpu ? "enforced" : "not enforced", "pids", now.can_pids ? "enforced" : "not enforced",
                      "why", WHY_NO_LIMIT, NULL);
        d->powers = now;
    }
    if (a->is_start && !docker_call_is_over(err))
        docker_removal_first_sweep(d, a->fn, a->arg);
}

static void ask_powers(struct docker *d, const struct asking *what)
{
    struct asking *a = xzalloc(sizeof(*a));
    struct docker_call_request req = {
        .method = "GET", .path = "/info", .what = "query the engine's features", .timeout_ms = INFO_MS
    };
    *a = *what;
    a->d = d;
    d->are_powers_due = false;
    (void)docker_call_start(&d->calls, &req, on_info, a);
}

/* --- sweep --- */

static void docker_sweep(struct runtime *rt, const char *const *kept_ids, size_t n, box_done_fn *fn, void *arg)
{
    (void)kept_ids; /* the adopted boxes are in d->boxes */
    (void)n;
    ask_powers(docker_of(rt), &(struct asking){ .is_start = true, .fn = fn, .arg = arg });
}

static void docker_on_tick(void *arg)
{
    struct docker *d = arg;
    if (d->are_powers_due)
        ask_powers(d, &(struct asking){ 0 });
    if (!docker_removal_tick(d) && d->is_collect_due && !d->is_collecting)
        docker_image_collect(d);
}

/* --- the driver --- */

static const struct runtime_lack lacks[] = {
    { "pause", WHY_NO_LIMIT },
    { "snapshot", "the engine cannot pause a container while it is captured: " WHY_NO_LIMIT },
    { "hibernate", "the engine saves files, not the memory of processes; the qemu and firecracker backends do" },
    { "network", "Podman cannot connect a container that was created without a network" },
    { "limitMemory", WHY_NO_LIMIT },
    { "limitCpu", WHY_NO_LIMIT },
    { "limitPids", WHY_NO_LIMIT },
    { "volume", "a running container accepts no new mount" },
    { "egress", "the engine's bridge has no policy; omit \"network\", or use the native backend" },
    { "limitDisk", "the engine's storage has no reliable limit for one container" },
    { "growDisk", "the engine's storage has no reliable limit for one container" },
    { "limitRate", "the engine has no rate limit for a container's network" },
    { "hostname", "a container keeps the host name it was created with" },
    { "seccomp", "a container has the engine's own profile; use the native backend" },
    { "deniedCalls", "a container has the engine's own filter, which reports nothing" },
    { "diskWatch", "files are on the engine's disk, not in the data folder" },
    { "imageStore", "images are the engine's own, or its copies of those in the store" },
    { "hostFiles", "a container cannot share the host's own programs: it gets a copy of them, made once as an image" },
    { NULL, NULL },
};

static struct runtime_caps docker_caps(struct runtime *rt)
{
    const struct docker_messages_powers *p = &docker_of(rt)->powers;
    return (struct runtime_caps){ .can_pause = p->can_pause,
                                  .can_capture = p->can_pause,
                                  .can_limit_memory = p->can_memory,
                                  .can_limit_cpu = p->can_cpu,
                                  .can_limit_pids = p->can_pids,
                                  .can_network = p->can_network,
                                  .can_resize = true,
                                  .can_stop = true,
                                  .has_layers = true };
}

static struct runtime *docker_free(struct runtime *rt)
{
    struct docker *d = docker_of(rt);
    docker_call_end_all(&d->calls);
    docker_net_drop_jobs(d);
    docker_removal_last(d);
    timer_free(d->tick);
    while (d->boxes)
        box_free(d->boxes);
    docker_agent_socket_free(d->agent_socket);
    json_decref(d->pins);
    json_decref(d->nets);
    json_decref(d->captured);
    json_decref(d->halted);
    json_decref(d->copies);
    json_decref(d->end.doubted);
    json_decref(d->end.kept);
    docker_call_host_done(&d->host);
    free(d->runtime);
    free(d);
    return NULL;
}

static const struct runtime_ops docker_ops = {
    .name = "docker",
    .lacks = lacks,
    .images = &docker_image_ops,
    .saves = &docker_image_saves,
    .caps = docker_caps,
    .create = docker_create,
    .adopt = docker_adopt,
    .save = docker_save,
    .without_agent = docker_without_agent,
    /* never told: a container's end closes its agent's connection, which the link notices first */
    .on_gone = box_life_on_gone,
    .destroy = docker_destroy,
    .halt = docker_halt,
    .retain = docker_halt_retain,
    .discard = docker_halt_discard,
    .forget = docker_forget,
    .pause = docker_pause,
    .resume = docker_resume,
    .stats = docker_stat_read,
    .set_limits = docker_set_limits,
    .rename = docker_rename,
    .sweep = docker_sweep,
    .net_create = docker_net_create,
    .net_delete = docker_net_delete,
    .net_attach = docker_net_attach,
    .net_detach = docker_net_detach,
    .free = docker_free
};

int docker_new(struct loop *l, const struct docker_options *opt, struct runtime **ret, struct err *err)
{
    struct docker *d = xzalloc(sizeof(*d));
    d->base = (struct runtime){ .ops = &docker_ops, .loop = l };
    d->runtime = xstrdup(opt->runtime ? opt->runtime : "");
    d->pins = json_object();
    d->nets = json_object();
    d->captured = json_object();
    d->halted = json_object();
    d->copies = json_object();
    d->powers = (struct docker_messages_powers){ true, true, true, true, true };
    d->end.doubted = json_object();
    d->end.kept = json_object();
    d->calls = (struct docker_call_set){ .loop = l, .host = &d->host };
    int r = docker_call_host_parse(opt->host, opt->is_tls, &opt->tls, &d->host, err);
    if (r == 0)
        r = docker_agent_socket_new(l, opt->data_dir, &d->agent_socket, err);
    if (r < 0) {
        (void)docker_free(&d->base);
        return err_wrap(err, r, "docker backend");
    }
    d->tick = timer_new(l, TICK_MS, TICK_MS, docker_on_tick, d);
    *ret = &d->base;
    return 0;
}

/* --- doctor --- */

struct check {
    struct loop *loop;
    struct docker_call_set *calls;
    json_t *rows;
    const struct docker_options *opt;
    struct docker_call_host host;
};

static void add_row(struct check *c, const char *name, bool is_ok, const char *detail, const char *fix)
{
    (void)json_array_append_new(c->rows, json_pack("{s:s, s:b, s:b, s:o, s:s}", "name", name, "ok", is_ok, "required",
                                                   0, "detail", json_text(detail, strlen(detail)), "fix", fix));
}

static void on_limits(void *arg, json_t *body, const struct err *err)
{
    struct check *c = arg;
    const struct docker_messages_powers g = docker_messages_powers(body);
    CLEANUP(free_p)
    char *detail = err ? xstrdup(err->msg)
                       : xasprintf("memory: %s, CPU: %s, processes: %s, pause: %s", g.can_memory ? "yes" : "no",
                                   g.can_cpu ? "yes" : "no", g.can_pids ? "yes" : "no", g.can_pause ? "yes" : "no");
    add_row(c, "docker limits", !err && g.can_memory && g.can_cpu && g.can_pids && g.can_pause, detail, WHY_NO_LIMIT);
    loop_stop(c->loop);
}

static void on_version(void *arg, json_t *body, const struct err *err)
{
    struct check *c = arg;
    CLEANUP(free_p)
    char *detail = err ? xstrdup(err->msg)
                       : xasprintf("%s: version %.40s, API %.20s, %.20s/%.20s", c->opt->host,
                                   json_get_str(body, "Version", "?"), json_get_str(body, "ApiVersion", "?"),
                                   json_get_str(body, "Os", "?"), json_get_str(body, "Arch", "?"));
    struct docker_call_request req = {
        .method = "GET", .path = "/info", .what = "query the engine's features", .timeout_ms = DOCTOR_MS
    };
    add_row(c, "docker engine", !err, detail, "start the engine, or set DOCKER_HOST; only the docker backend needs it");
    if (err)
        loop_stop(c->loop);
    else
        (void)docker_call_start(c->calls, &req, on_limits, c);
}

json_t *docker_doctor(const struct docker_options *opt)
{
    struct check c = { .rows = json_array(), .opt = opt };
    struct err err = ERR_INIT;
    CLEANUP(loop_free_p) struct loop *loop = NULL;
    int r = docker_call_host_parse(opt->host, opt->is_tls, &opt->tls, &c.host, &err);
    if (r == 0)
        r = loop_new(&loop, &err);
    c.loop = loop;
    if (r < 0) {
        (void)json_array_append_new(c.rows, json_pack("{s:s, s:b, s:b, s:s}", "name", "docker engine", "ok", 0,
                                                      "required", 0, "detail", err.msg));
        docker_call_host_done(&c.host);
        return c.rows;
    }
    struct docker_call_set calls = { .loop = loop, .host = &c.host };
    c.calls = &calls;
    struct docker_call_request req = {
        .method = "GET", .path = "/version", .what = "ask for its version", .timeout_ms = DOCTOR_MS
    };
    (void)docker_call_start(&calls, &req, on_version, &c);
    loop_run(loop);
    docker_call_host_done(&c.host);
    return c.rows;
}
