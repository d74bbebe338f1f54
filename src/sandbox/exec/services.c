/* Theory of operation. A struct service_set has what is known of the services of one sandbox, in the order of its
 * configuration. services_begin() asks for the agent's handshake by a ping, then sends all definitions: the agent
 * starts those that it does not know and tells the state of all. So the same call serves a new box, one that was
 * restored with its processes, and one that another server left running.
 *
 * States come as notices of the agent, which is untrusted: names that are not ours are ignored, and events are emitted
 * at a bounded pace. The first state that comes from a box that is not new makes no event: it is nothing that happened.
 */
#include "sandbox/exec/services.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/pace.h"
#include "base/strlist.h"
#include "sandbox/exec/command.h"

#define EVENTS_A_MINUTE 120 /* of one sandbox */
#define ERROR_MAX       sizeof(((struct err *)NULL)->msg)
#define UNKNOWN         0 /* the agent has not told its state yet; the others are PROTO_SERVICE_* */

struct service {
    uint8_t state;
    int pid, code;
    uint32_t restarts;
    int64_t since;
    char error[ERROR_MAX];
};

struct services_wait {
    struct services_wait *next;
    struct sandbox *s;
    struct timer *timer;
    loop_fn *fn;
    void *arg;
};

struct service_set {
    struct pace pace;
    struct services_wait *waits;
    size_t n;
    struct service all[];
};

static const char *const state_names[] = {
    [UNKNOWN] = "unknown",
    [PROTO_SERVICE_WAITING] = "waiting",
    [PROTO_SERVICE_STARTING] = "starting",
    [PROTO_SERVICE_RUNNING] = "running",
    [PROTO_SERVICE_RESTARTING] = "restarting",
    [PROTO_SERVICE_STOPPING] = "stopping",
    [PROTO_SERVICE_STOPPED] = "stopped",
    [PROTO_SERVICE_EXITED] = "exited",
    [PROTO_SERVICE_FAILED] = "failed",
};

static const json_t *row_of(const struct sandbox *s, size_t i)
{
    return json_array_get(s->config.services, i);
}

static const char *name_of(const json_t *row)
{
    return json_get_str(row, "name", "");
}

static size_t index_of(const json_t *list, const char *name)
{
    size_t i = 0;
    while (i < json_array_size(list) && strcmp(name_of(json_array_get(list, i)), name) != 0)
        i++;
    return i;
}

/* --- the definitions --- */

static int check_name(const char *name, struct err *err)
{
    bool is_good = isalnum((unsigned char)*name);
    for (const char *at = name; *at; at++)
        is_good &= isalnum((unsigned char)*at) || *at == '-' || *at == '_';
    return is_good
               ? 0
               : err_set(err, ERR_INVALID, 0,
                         "services: name \"%.40s\" is not letters, digits, '-' and '_' after a letter or digit", name);
}

static int check_ready(const json_t *row, struct err *err)
{
    const json_t *ready = json_get(row, "ready");
    bool has_port = json_get(ready, "port"), has_command = json_get(ready, "command");
    const char *path = json_get_str(ready, "http", NULL);
    if (!ready)
        return 0;
    if (has_port == has_command)
        return err_set(err, ERR_INVALID, 0, "services: ready of %s needs either port (with http: its path) or command",
                       name_of(row));
    if (path && has_command)
        return err_set(err, ERR_INVALID, 0, "services: ready.http of %s goes with a port", name_of(row));
    for (const char *at = path; at && *at; at++)
        if (*at <= ' ' || *at > '~' || *path != '/')
            return err_set(err, ERR_INVALID, 0, "services: ready.http of %s is not a path like /health, without blanks",
                           name_of(row));
    return 0;
}

/* Dependencies are an order if services can be taken off one by one, each with all that it depends on taken before. */
static int check_order(const json_t *list, struct err *err)
{
    bool is_taken[LIMIT_MAX(SERVICES)] = { false };
    size_t i, j, n_taken = 0, n_before;
    json_t *row, *name;
    do {
        n_before = n_taken;
        json_array_foreach(list, i, row)
        {
            bool is_next = !is_taken[i];
            json_array_foreach(json_get(row, "dependsOn"), j, name)
            {
                size_t at = index_of(list, json_string_value(name));
                if (at == json_array_size(list))
                    return err_set(err, ERR_INVALID, 0, "services: %s depends on \"%.40s\", which is not one of them",
                                   name_of(row), json_string_value(name));
                is_next &= is_taken[at];
            }
            is_taken[i] |= is_next;
            n_taken += is_next;
        }
    } while (n_taken > n_before);
    for (i = 0; i < json_array_size(list); i++)
        if (!is_taken[i])
            return err_set(err, ERR_INVALID, 0, "services: %s depends on itself, by way of others or directly",
                           name_of(json_array_get(list, i)));
    return 0;
}

int services_check_list(const json_t *list, struct err *err)
{
    size_t i;
    json_t *row;
    if (json_array_size(list) > LIMIT_MAX(SERVICES)) /* of a record: the table has checked requests */
        return err_set(err, ERR_INVALID, 0, "services: %zu entries, allowed are 0 to %d", json_array_size(list),
                       LIMIT_MAX(SERVICES));
    json_array_foreach(list, i, row)
    {
        int r = check_name(name_of(row), err);
        if (r == 0 && index_of(list, name_of(row)) != i)
            r = err_set(err, ERR_INVALID, 0, "services: there are two with the name %s", name_of(row));
        if (r == 0)
            r = check_ready(row, err);
        if (r < 0)
            return r;
    }
    return check_order(list, err);
}

static uint8_t policy_of(const json_t *row)
{
    const char *text = json_get_str(row, "restart", "always");
    return strcmp(text, "no") == 0           ? PROTO_RESTART_NO
           : strcmp(text, "on-failure") == 0 ? PROTO_RESTART_ON_FAILURE
                                             : PROTO_RESTART_ALWAYS;
}

/* A definition as the link takes it, and what it borrows. */
struct prepared {
    struct guest_service_plan plan;
    char **argv, **env, **check, **after;
};

static void prepared_done(struct prepared *p)
{
    strlist_free(p->argv);
    strlist_free(p->env);
    strlist_free(p->check);
    strlist_free(p->after);
}

static int prepare(struct sandbox *s, const json_t *row, struct prepared *ret, struct err *err)
{
    const json_t *ready = json_get(row, "ready"), *check = json_get(ready, "command");
    const char *path = json_get_str(ready, "http", NULL);
    struct prepared p = { .argv = command_argv(json_get(row, "command"), err) };
    int r = p.argv ? 0 : -EINVAL;
    if (r == 0 && check)
        r = (p.check = command_argv(check, err)) ? 0 : -EINVAL;
    if (r == 0)
        r = (p.env = command_env(s, json_get(row, "env"), err)) ? 0 : -EINVAL;
    if (r == 0)
        r = command_cwd(s, json_get_str(row, "cwd", NULL), &p.plan.exec.cwd, err);
    if (r == 0)
        r = command_user(s, json_get_str(row, "user", NULL), &p.plan.exec.user, err);
    if (r < 0) {
        prepared_done(&p);
        (void)err_wrap(err, 0, "service %s", name_of(row));
        return r;
    }
    p.after = strlist_from_json(json_get(row, "dependsOn"));
    p.plan.name = name_of(row);
    p.plan.policy = policy_of(row);
    p.plan.max_restarts = (uint32_t)json_get_int(row, "maxRestarts", LIMIT_DEFAULT(SERVICE_RESTARTS));
    p.plan.pause_ms = (uint32_t)json_get_int(row, "backoffMs", LIMIT_DEFAULT(SERVICE_BACKOFF_MS));
    p.plan.stop_ms = (uint32_t)json_get_int(row, "stopTimeout", LIMIT_DEFAULT(STOP_S)) * 1000;
    p.plan.ready = check ? PROTO_READY_COMMAND : path ? PROTO_READY_HTTP : ready ? PROTO_READY_PORT : PROTO_READY_NONE;
    p.plan.port = (uint16_t)json_get_int(ready, "port", 0);
    p.plan.path = path;
    p.plan.interval_ms = (uint32_t)json_get_int(ready, "intervalMs", LIMIT_DEFAULT(SERVICE_INTERVAL_MS));
    p.plan.timeout_ms = (uint32_t)json_get_int(ready, "timeout", LIMIT_DEFAULT(SERVICE_READY_S)) * 1000;
    p.plan.check = (const char *const *)p.check;
    p.plan.after = (const char *const *)p.after;
    p.plan.exec.argv = (const char *const *)p.argv;
    p.plan.exec.env = (const char *const *)p.env;
    *ret = p;
    return 0;
}

int services_check(struct sandbox *s, struct err *err)
{
    int r = services_check_list(s->config.services, err);
    for (size_t i = 0; r == 0 && i < json_array_size(s->config.services); i++) {
        struct prepared p;
        r = prepare(s, row_of(s, i), &p, err);
        if (r == 0)
            prepared_done(&p);
    }
    return r;
}

/* --- states --- */

static json_t *service_json(const struct sandbox *s, size_t i)
{
    const struct service *v = &s->services->all[i];
    json_t *j = json_pack("{s:s, s:s, s:I, s:I}", "name", name_of(row_of(s, i)), "state", state_names[v->state],
                          "restarts", (json_int_t)v->restarts, "since", (json_int_t)v->since);
    if (v->pid)
        (void)json_object_set_new(j, "pid", json_integer(v->pid));
    if (v->code >= 0)
        (void)json_object_set_new(j, "exitCode", json_integer(v->code));
    if (*v->error)
        (void)json_object_set_new(j, "error", json_text(v->error, strlen(v->error)));
    return j;
}

json_t *services_json(const struct sandbox *s)
{
    json_t *list = json_array();
    for (size_t i = 0; s->services && i < s->services->n; i++)
        (void)json_array_append_new(list, service_json(s, i));
    return list;
}

json_t *services_one(const struct sandbox *s, const char *name, struct err *err)
{
    size_t i = index_of(s->config.services, name);
    if (s->services && i < s->services->n)
        return service_json(s, i);
    (void)err_set(err, ERR_NOT_FOUND, 0, "service not found: sandbox %s has no service \"%.40s\"", s->id, name);
    return NULL;
}

static bool is_settled(const struct service *v)
{
    return v->state == PROTO_SERVICE_RUNNING || v->state == PROTO_SERVICE_STOPPED || v->state == PROTO_SERVICE_EXITED ||
           v->state == PROTO_SERVICE_FAILED || (v->state == PROTO_SERVICE_WAITING && *v->error); /* in vain */
}

bool services_are_settled(const struct sandbox *s)
{
    bool is_all = true;
    for (size_t i = 0; s->services && !sandbox_is_asleep(s) && i < s->services->n; i++)
        is_all &= is_settled(&s->services->all[i]);
    return is_all;
}

static void wait_end(void *arg)
{
    struct services_wait w = *(struct services_wait *)arg;
    services_wait_cancel(arg);
    w.fn(w.arg);
}

static void wake_waits(struct sandbox *s)
{
    for (struct services_wait *w = s->services ? s->services->waits : NULL; w; w = w->next)
        timer_set(w->timer, 0, 0);
}

struct services_wait *services_wait(struct sandbox *s, int64_t ms, loop_fn *fn, void *arg)
{
    struct services_wait *w = xzalloc(sizeof(*w));
    *w = (struct services_wait){ .next = s->services->waits, .s = sandbox_ref(s), .fn = fn, .arg = arg };
    w->timer = timer_new(s->manager->loop, ms, 0, wait_end, w);
    s->services->waits = w;
    return w;
}

void services_wait_cancel(struct services_wait *w)
{
    struct services_wait **at = &w->s->services->waits;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    timer_free(w->timer);
    sandbox_unref(w->s);
    free(w);
}

static void set_state(struct sandbox *s, size_t i, const struct service *now)
{
    struct service_set *set = s->services;
    struct service *v = &set->all[i];
    bool is_event = v->state != UNKNOWN && v->state != now->state && map_get(s->manager->sandboxes, s->id) == s &&
                    pace_take(&set->pace, EVENTS_A_MINUTE, loop_now_ms(s->manager->loop));
    *v = *now;
    if (is_event) {
        json_t *data = service_json(s, i);
        (void)json_object_set_new(data, "service", json_incref(json_object_get(data, "name")));
        (void)json_object_del(data, "name");
        (void)event_log_emit(s->manager->events, "sandbox.service", s->id, data);
    }
    if (services_are_settled(s))
        wake_waits(s);
}

static void on_state(void *arg, const struct guest_service *g)
{
    struct sandbox *s = arg;
    size_t i = index_of(s->config.services, g->name);
    if (i >= s->services->n)
        return;
    struct service now = { .state = g->state,
                           .pid = g->pid,
                           .code = g->code,
                           .restarts = g->restarts,
                           .since = clock_wall_ms() - (int64_t)g->age_ms };
    (void)snprintf(now.error, sizeof(now.error), "%s", g->error);
    set_state(s, i, &now);
}

static void set_failed(struct sandbox *s, size_t i, const struct err *err)
{
    struct service now = { .state = PROTO_SERVICE_FAILED, .code = -1, .since = clock_wall_ms() };
    (void)snprintf(now.error, sizeof(now.error), "%s", err->msg);
    set_state(s, i, &now);
}

/* --- the agent --- */

/* One definition under way. */
struct defining {
    struct sandbox *s;
    size_t at;
};

static void on_defined(void *arg, const struct err *err)
{
    struct defining d = *(struct defining *)arg;
    free(arg);
    if (err && d.s->link) /* else the box is gone, and all of this is told again */
        set_failed(d.s, d.at, err);
    sandbox_unref(d.s);
}

static int define(struct sandbox *s, size_t i, struct err *err)
{
    struct prepared p;
    int r = prepare(s, row_of(s, i), &p, err);
    if (r < 0)
        return r;
    struct defining *d = xzalloc(sizeof(*d));
    *d = (struct defining){ .s = sandbox_ref(s), .at = i };
    r = guest_service_define(s->link, &p.plan, on_defined, d, err);
    if (r < 0) {
        sandbox_unref(s);
        free(d);
    }
    prepared_done(&p);
    return r;
}

static void on_handshake(void *arg, const struct err *err)
{
    struct sandbox *s = arg;
    for (size_t i = 0; !err && s->link && i < s->services->n; i++) {
        struct err why = ERR_INIT;
        if (define(s, i, &why) < 0)
            set_failed(s, i, &why);
    }
    sandbox_unref(s);
}

static void set_all(struct sandbox *s, uint8_t state, int64_t since)
{
    size_t n = json_array_size(s->config.services);
    if (n && !s->services) {
        s->services = xzalloc(sizeof(*s->services) + n * sizeof(s->services->all[0]));
        s->services->n = n;
    }
    for (size_t i = 0; i < n; i++)
        s->services->all[i] = (struct service){ .state = state, .code = -1, .since = since };
}

void services_begin(struct sandbox *s, bool is_new)
{
    set_all(s, is_new ? PROTO_SERVICE_WAITING : UNKNOWN, clock_wall_ms());
    if (!s->services)
        return;
    guest_on_service(s->link, on_state, s);
    (void)sandbox_ref(s);
    if (guest_ping(s->link, on_handshake, s) < 0)
        sandbox_unref(s); /* the link is broken: it is told of, and the sandbox ends */
}

int services_act(struct sandbox *s, const char *name, uint8_t act, guest_done_fn *fn, void *arg, struct err *err)
{
    JSON_OWNED one = services_one(s, name, err);
    if (!one)
        return -ENOENT;
    int r = act == PROTO_ACT_STOP ? 0 : define(s, index_of(s->config.services, name), err);
    if (r < 0)
        return r;
    r = guest_service_act(s->link, name, act, fn, arg);
    return r < 0 ? err_set(err, err_from_errno(-r), -r, "service %s", name) : 0;
}

void services_tag(const char *name, char ret[PROTO_TAG_MAX + 1])
{
    (void)snprintf(ret, PROTO_TAG_MAX + 1, PROTO_SERVICE_TAG "%.*s", LIMIT_MAX(SERVICE_NAME_BYTES), name);
}

/* --- with the sandbox --- */

static void on_sleep(void *arg, struct sandbox *s)
{
    (void)arg;
    if (s->status != SANDBOX_HIBERNATED)
        set_all(s, PROTO_SERVICE_STOPPED, s->stop.at);
    else if (!s->services) /* its processes come back */
        set_all(s, UNKNOWN, s->stop.at);
    wake_waits(s);
}

static void on_leave(void *arg, struct sandbox *s)
{
    (void)arg;
    wake_waits(s);
}

void services_init(struct manager *m)
{
    manager_on_sleep(m, on_sleep, NULL);
    manager_on_leave(m, on_leave, NULL);
}

void services_free(struct sandbox *s)
{
    free(s->services); /* a wait holds a reference to the sandbox: there is none */
}
