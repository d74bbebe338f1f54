/* Theory of operation. A struct agent_service owns its definition (as it came), its log (a job of job.h that outlives
 * its processes) and, while it runs, one agent_exec. Its state is one of PROTO_SERVICE_*:
 *
 *   waiting → starting → running → restarting → starting …
 *
 * Without a readiness check a service runs as soon as it was started. A service starts when all that it depends on run
 * (or have exited well); what happens to those later does not stop it. An exit is followed by a restart after a pause
 * that doubles, as its policy says; after max_restarts in a row it has failed. It starts from the first pause again
 * when it ran for STEADY_US. One that is not ready in time is killed, which counts as an exit.
 *
 * A new definition of a service that runs waits in `next` until its process has ended: the probe points into the old
 * one. Nothing here depends on a host: it defines services after each connect, and gets their state as the answer. */
#include "agent/service.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/exec.h"
#include "agent/job.h"
#include "agent/process_tree.h"
#include "agent/service_probe.h"
#include "base/limits.h"

#define PAUSE_MAX_MS LIMIT_MAX(SERVICE_BACKOFF_MS)
#define STEADY_US    (10u * 1000 * 1000) /* after so long it counts as having run */

/* What a SERVICE_DEFINE said; texts stay in the message, which it owns. */
struct definition {
    uint8_t *message;
    const char *name;
    uint8_t policy;
    uint32_t max_restarts, pause_ms, stop_ms;
    struct agent_probe_plan ready;
    char **words; /* owns ready.argv */
    const uint8_t *launch;
    size_t launch_len;
    uint32_t n_after;
    struct proto_reader after; /* the names of those that it waits for */
};

struct agent_service {
    struct agent_service *next;
    struct agent *agent;
    struct agent_job *log;
    struct agent_exec *exec; /* NULL: it does not run */
    struct definition def, next_def;
    struct agent_probe probe;
    struct agent_timer timer; /* its next start, or SIGKILL */
    uint8_t state;
    bool is_again; /* it is restarted when its process has ended */
    bool is_late;  /* its process was killed because it was not ready */
    bool has_exited;
    uint32_t code, restarts, n_failed; /* n_failed: restarts in a row */
    pid_t pid;
    uint64_t since_us;
    char error[320];
};

#define SERVICE_OF(ptr, field) ((struct agent_service *)((char *)(ptr)-offsetof(struct agent_service, field)))

static void definition_done(struct definition *d)
{
    free(d->words);
    free(d->message);
    *d = (struct definition){ 0 };
}

/* The layout has been checked. */
static int definition_read(struct definition *d, const uint8_t *data, size_t len)
{
    struct proto_reader r;

    *d = (struct definition){ .message = malloc(len) };
    if (!d->message)
        return -ENOMEM;
    memcpy(d->message, data, len);
    proto_reader_init(&r, d->message, len);
    d->name = proto_get_str(&r, PROTO_TAG_MAX);
    d->policy = proto_get_u8(&r);
    d->max_restarts = proto_get_u32(&r);
    d->pause_ms = proto_get_u32(&r);
    d->stop_ms = proto_get_u32(&r);
    d->ready.kind = proto_get_u8(&r);
    d->ready.port = proto_get_u16(&r);
    d->ready.path = proto_get_str(&r, PROTO_PATH_MAX);
    d->ready.interval_ms = proto_get_u32(&r);
    d->ready.timeout_ms = proto_get_u32(&r);
    uint32_t n = proto_get_count(&r, PROTO_ARGS_MAX);
    n = n == PROTO_NO_STRS ? 0 : n;
    d->words = calloc((size_t)n + 2, sizeof(char *)); /* one spare slot before argv for agent_spawn */
    if (!d->words) {
        definition_done(d);
        return -ENOMEM;
    }
    d->ready.argv = d->words + 1;
    for (uint32_t i = 0; i < n; i++)
        d->ready.argv[i] = (char *)(uintptr_t)proto_get_str(&r, PROTO_REQUEST_MAX);
    d->n_after = proto_get_count(&r, PROTO_ARGS_MAX);
    d->n_after = d->n_after == PROTO_NO_STRS ? 0 : d->n_after;
    d->after = r;
    for (uint32_t i = 0; i < d->n_after; i++)
        (void)proto_get_str(&r, PROTO_REQUEST_MAX);
    d->launch = d->ready.launch = proto_get_rest(&r, &d->launch_len);
    d->ready.launch_len = d->launch_len;
    bool is_good = d->policy <= PROTO_RESTART_ALWAYS && d->ready.kind <= PROTO_READY_COMMAND &&
                   (d->ready.kind != PROTO_READY_COMMAND || n > 0) &&
                   (d->ready.kind == PROTO_READY_NONE || d->ready.interval_ms > 0);
    if (!is_good)
        definition_done(d);
    return is_good ? 0 : -EINVAL;
}

static struct agent_service *service_find(const struct agent *a, const char *name)
{
    for (struct agent_service *s = a->services; s; s = s->next)
        if (strcmp(s->def.name, name) == 0)
            return s;
    return NULL;
}

/* --- state --- */

static void send_state(const struct agent_service *s, struct agent_conn *c)
{
    uint8_t frame[PROTO_HEADER + PROTO_TAG_MAX + sizeof(s->error) + 64];
    struct proto_writer w;

    proto_frame_begin(&w, frame, sizeof(frame));
    proto_put_str(&w, s->def.name);
    proto_put_u8(&w, s->state);
    proto_put_u32(&w, s->exec ? (uint32_t)s->pid : 0);
    proto_put_u32(&w, s->restarts);
    proto_put_u8(&w, s->has_exited);
    proto_put_u32(&w, s->code);
    proto_put_u64(&w, (agent_loop_now_us() - s->since_us) / 1000);
    proto_put_str(&w, s->error);
    int len = proto_frame_end(&w, 0, PROTO_SERVICE_STATE, 0);
    assert(len > 0);
    agent_conn_send(c, frame, (size_t)len);
}

static void tell(const struct agent_service *s)
{
    for (struct agent_conn *c = s->agent->conns; c; c = agent_conn_next(c))
        if (agent_conn_has_handshake(c) && agent_conn_can(c, PROTO_CAP_SERVICES))
            send_state(s, c);
}

static void set_state(struct agent_service *s, uint8_t state)
{
    s->state = state;
    s->since_us = agent_loop_now_us();
    tell(s);
}

/* --- its process --- */

static void wait_for_others(struct agent_service *s)
{
    s->error[0] = '\0';
    set_state(s, PROTO_SERVICE_WAITING);
}

/* It does not run any more, or could not be started: s->error says why. */
static void service_down(struct agent_service *s, bool is_well)
{
    uint64_t pause_ms = s->def.pause_ms;
    bool is_final = s->def.policy == PROTO_RESTART_NO || (is_well && s->def.policy == PROTO_RESTART_ON_FAILURE);

    if (s->next_def.message) {
        definition_done(&s->def);
        s->def = s->next_def;
        s->next_def = (struct definition){ 0 };
    }
    if (s->state == PROTO_SERVICE_STOPPING || s->agent->is_ending) {
        s->error[0] = '\0';
        if (s->is_again && !s->agent->is_ending)
            wait_for_others(s);
        else
            set_state(s, PROTO_SERVICE_STOPPED);
        s->is_again = false;
    } else if (is_final) {
        if (is_well)
            s->error[0] = '\0';
        set_state(s, is_well ? PROTO_SERVICE_EXITED : PROTO_SERVICE_FAILED);
    } else if (s->n_failed >= s->def.max_restarts) {
        size_t len = strlen(s->error);
        (void)snprintf(s->error + len, sizeof(s->error) - len, "; given up after %u restarts", s->n_failed);
        set_state(s, PROTO_SERVICE_FAILED);
    } else {
        for (uint32_t i = 0; i < s->n_failed && pause_ms < PAUSE_MAX_MS; i++)
            pause_ms *= 2;
        s->n_failed++;
        agent_loop_arm(&s->agent->loop, &s->timer, pause_ms < PAUSE_MAX_MS ? pause_ms : PAUSE_MAX_MS);
        set_state(s, PROTO_SERVICE_RESTARTING);
    }
}

static void start_ready_ones(struct agent *a);

static void on_end(void *arg, const struct proto_exit *end)
{
    struct agent_service *s = arg;

    s->exec = NULL;
    agent_probe_stop(&s->probe);
    agent_loop_disarm(&s->agent->loop, &s->timer);
    agent_process_tree_kill(s->pid, true); /* what it left would hold its port */
    s->has_exited = true;
    s->code = end->code;
    if (s->state == PROTO_SERVICE_RUNNING && agent_loop_now_us() - s->since_us > STEADY_US)
        s->n_failed = 0;
    if (s->is_late)
        (void)snprintf(s->error, sizeof(s->error), "not ready within %u ms", s->def.ready.timeout_ms);
    else if (end->signal)
        (void)snprintf(s->error, sizeof(s->error), "killed by signal %u%s", end->signal,
                       end->flags & PROTO_EXIT_OOM ? " (out of memory)" : "");
    else
        (void)snprintf(s->error, sizeof(s->error), "exited with code %u", end->code);
    service_down(s, end->code == 0 && !s->is_late);
    start_ready_ones(s->agent);
}

static void on_probed(struct agent_probe *p, bool is_ready)
{
    struct agent_service *s = SERVICE_OF(p, probe);

    if (is_ready) {
        s->error[0] = '\0';
        set_state(s, PROTO_SERVICE_RUNNING);
        start_ready_ones(s->agent);
    } else {
        s->is_late = true;
        agent_exec_signal(s->exec, SIGKILL);
    }
}

static void service_start(struct agent_service *s)
{
    struct agent_reply r = { .agent = s->agent, .pipe_fd = -EBADF, .text = s->error, .text_size = sizeof(s->error) };
    const struct agent_exec_owner owner = { .job = s->log, .on_end = on_end, .arg = s };

    s->is_late = false;
    s->exec = agent_exec_run(&r, &owner, s->def.launch, s->def.launch_len, NULL);
    if (!s->exec) {
        service_down(s, false);
        return;
    }
    s->pid = agent_exec_pid(s->exec);
    if (s->def.ready.kind == PROTO_READY_NONE) {
        s->error[0] = '\0';
        set_state(s, PROTO_SERVICE_RUNNING);
    } else {
        set_state(s, PROTO_SERVICE_STARTING);
        agent_probe_start(&s->probe, s->agent, &s->def.ready, on_probed);
    }
}

static void on_timer(struct agent_timer *t)
{
    struct agent_service *s = SERVICE_OF(t, timer);

    if (s->exec) { /* it was told to exit */
        agent_exec_signal(s->exec, SIGKILL);
        return;
    }
    s->restarts++;
    service_start(s);
    start_ready_ones(s->agent);
}

/* --- order --- */

/* Whether all that it depends on run. When one never will, s->error says so. */
static bool is_free(struct agent_service *s)
{
    struct proto_reader names = s->def.after;

    for (uint32_t i = 0; i < s->def.n_after; i++) {
        const char *name = proto_get_str(&names, PROTO_REQUEST_MAX);
        const struct agent_service *other = service_find(s->agent, name);
        uint8_t state = other ? other->state : PROTO_SERVICE_WAITING;
        bool is_hopeless = state == PROTO_SERVICE_FAILED || state == PROTO_SERVICE_STOPPED ||
                           (state == PROTO_SERVICE_WAITING && other && other->error[0]);
        if (state == PROTO_SERVICE_RUNNING || state == PROTO_SERVICE_EXITED)
            continue;
        if (is_hopeless != (s->error[0] != '\0')) {
            s->error[0] = '\0';
            if (is_hopeless)
                (void)snprintf(s->error, sizeof(s->error), "waits for service %.60s, which does not run", name);
            tell(s);
        }
        return false;
    }
    return true;
}

static void start_ready_ones(struct agent *a)
{
    bool has_changed = !a->is_ending;

    while (has_changed) { /* each turn starts one or says of one more that it waits in vain, or is the last */
        has_changed = false;
        for (struct agent_service *s = a->services; s; s = s->next) {
            bool was_hopeless = s->error[0] != '\0';
            if (s->state != PROTO_SERVICE_WAITING)
                continue;
            bool is_next = is_free(s);
            has_changed |= is_next || was_hopeless != (s->error[0] != '\0');
            s->error[0] = is_next ? '\0' : s->error[0];
            if (is_next)
                service_start(s);
        }
    }
}

/* --- requests --- */

static int service_new(struct agent *a, struct definition *def, struct agent_service **ret)
{
    size_t n = 0;

    for (const struct agent_service *other = a->services; other; other = other->next)
        n++;
    if (n >= LIMIT_MAX(SERVICES))
        return -EBUSY;
    struct agent_service *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    int r = agent_job_new_service(a, def->name, &s->log);
    if (r < 0) {
        free(s);
        return r;
    }
    s->agent = a;
    s->def = *def;
    s->timer.fn = on_timer;
    s->next = a->services;
    a->services = s;
    s->state = PROTO_SERVICE_WAITING;
    s->since_us = agent_loop_now_us();
    *ret = s;
    return 0;
}

void agent_service_define(struct agent_reply *r, const uint8_t *data, size_t len)
{
    struct definition def;
    struct agent *a = r->agent;
    int e = a->is_ending ? -ESHUTDOWN : definition_read(&def, data, len);

    if (e < 0) {
        agent_reply_error(r, -e, "define a service");
        return;
    }
    struct agent_service *s = service_find(a, def.name);
    if (s) {
        struct definition *into = s->exec ? &s->next_def : &s->def;
        definition_done(into);
        *into = def;
    } else if ((e = service_new(a, &def, &s)) < 0) {
        agent_reply_error(r, -e, "define service %.60s", def.name);
        definition_done(&def);
        return;
    }
    start_ready_ones(a);
    send_state(s, r->conn);
    agent_reply_done(r);
}

static void service_stop(struct agent_service *s)
{
    agent_loop_disarm(&s->agent->loop, &s->timer);
    agent_probe_stop(&s->probe);
    s->error[0] = '\0';
    if (!s->exec) {
        set_state(s, PROTO_SERVICE_STOPPED);
    } else if (s->state != PROTO_SERVICE_STOPPING) {
        agent_exec_signal(s->exec, SIGTERM);
        agent_loop_arm(&s->agent->loop, &s->timer, s->def.stop_ms);
        set_state(s, PROTO_SERVICE_STOPPING);
    }
}

void agent_service_act(struct agent_reply *r, const uint8_t *data, size_t len)
{
    struct proto_reader in;

    proto_reader_init(&in, data, len);
    const char *name = proto_get_str(&in, PROTO_TAG_MAX);
    uint8_t act = proto_get_u8(&in);
    struct agent_service *s = service_find(r->agent, name);
    if (!s || act > PROTO_ACT_RESTART) {
        agent_reply_error(r, s ? EINVAL : ENOENT, "service %s", name);
        return;
    }
    bool is_up = s->exec && s->state != PROTO_SERVICE_STOPPING;
    s->is_again = act == PROTO_ACT_RESTART || (act == PROTO_ACT_START && s->state == PROTO_SERVICE_STOPPING);
    s->n_failed = 0;
    if (act == PROTO_ACT_STOP || (act == PROTO_ACT_RESTART && is_up)) {
        service_stop(s);
    } else if (!s->exec) {
        agent_loop_disarm(&r->agent->loop, &s->timer);
        s->is_again = false;
        wait_for_others(s);
    }
    start_ready_ones(r->agent);
    send_state(s, r->conn);
    agent_reply_done(r);
}

/* --- the end --- */

void agent_service_halt(struct agent *a)
{
    a->is_ending = true;
    for (struct agent_service *s = a->services; s; s = s->next) {
        agent_probe_stop(&s->probe);
        agent_loop_disarm(&a->loop, &s->timer);
        if (!s->exec)
            set_state(s, PROTO_SERVICE_STOPPED);
    }
}

void agent_service_end_all(struct agent *a)
{
    while (a->services) {
        struct agent_service *s = a->services;
        a->services = s->next;
        agent_probe_stop(&s->probe);
        agent_loop_disarm(&a->loop, &s->timer);
        if (s->exec)
            agent_exec_disown(s->exec);
        definition_done(&s->def);
        definition_done(&s->next_def);
        free(s);
    }
}
