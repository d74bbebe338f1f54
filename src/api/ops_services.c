/* Handlers of services. What the agent knows of them is told behind their definitions, which it has when it answers a
 * ping (services_begin()): so calls that come right after a create ask for it that way first. */
#include <stdlib.h>

#include "api/call.h"
#include "api/handlers.h"
#include "api/log_follow.h"
#include "base/alloc.h"
#include "sandbox/exec/services.h"

/* --- list --- */

static void answer_list(struct call *c, const struct sandbox *s)
{
    call_ok(c, json_pack("{s:o}", "services", services_json(s)));
}

/* One client that waits until they are settled. */
struct listing {
    struct call *c;
    struct sandbox *s;
    struct services_wait *wait;
};

static void on_settled(void *arg)
{
    struct listing *l = arg;
    call_on_cancel(l->c, NULL, NULL);
    answer_list(l->c, l->s);
    sandbox_unref(l->s);
    free(l);
}

static void on_client_gone(void *arg)
{
    struct listing *l = arg;
    services_wait_cancel(l->wait);
    sandbox_unref(l->s);
    call_error(l->c, ERR_GONE, "the client left");
    free(l);
}

void api_service_list(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    int64_t wait_s = call_int(c, "wait", LIMIT_DEFAULT(SERVICE_WAIT_S));
    if (wait_s == 0 || services_are_settled(s)) {
        answer_list(c, s);
        return;
    }
    struct listing *l = xzalloc(sizeof(*l));
    *l = (struct listing){ .c = c, .s = sandbox_ref(s) };
    l->wait = services_wait(s, wait_s * 1000, on_settled, l);
    call_on_cancel(c, on_client_gone, l);
}

/* --- start, stop, restart --- */

static struct sandbox *sandbox_of(struct call *c, struct err *err)
{
    return manager_find_running(call_manager(c), call_str(c, "id", ""), err);
}

static void on_acted(void *arg, const struct err *err)
{
    struct call *c = arg;
    struct err why = ERR_INIT;
    struct sandbox *s = err ? NULL : sandbox_of(c, &why);
    handlers_reply(c, s ? services_one(s, call_str(c, "name", ""), &why) : NULL, err ? err : &why);
}

static void act(struct call *c, const struct err *err, uint8_t what)
{
    struct err why = ERR_INIT;
    struct sandbox *s = err ? NULL : sandbox_of(c, &why);
    if (!s || services_act(s, call_str(c, "name", ""), what, on_acted, c, &why) < 0)
        call_fail(c, err ? err : &why);
}

static void act_start(void *arg, const struct err *err)
{
    act(arg, err, PROTO_ACT_START);
}

static void act_stop(void *arg, const struct err *err)
{
    act(arg, err, PROTO_ACT_STOP);
}

static void act_restart(void *arg, const struct err *err)
{
    act(arg, err, PROTO_ACT_RESTART);
}

/* then: when the agent knows the service; 404 without one. */
static void with_service(struct call *c, guest_done_fn *then)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_running(c);
    json_t *one = s ? services_one(s, call_str(c, "name", ""), &err) : NULL;
    if (s && !one)
        call_fail(c, &err);
    else if (s)
        (void)handlers_failed(c, guest_ping(s->link, then, c), "asking the agent");
    json_decref(one);
}

void api_service_start(struct call *c)
{
    with_service(c, act_start);
}

void api_service_stop(struct call *c)
{
    with_service(c, act_stop);
}

void api_service_restart(struct call *c)
{
    with_service(c, act_restart);
}

/* --- logs --- */

/* One look at the log: first where it begins, then its bytes. */
struct look {
    struct call *c;
    uint64_t offset;
};

static void on_bytes(void *arg, const char *data, size_t len, const struct err *err)
{
    struct look l = *(struct look *)arg;
    struct err why = ERR_INIT;
    struct sandbox *s = err ? NULL : sandbox_of(l.c, &why);
    JSON_OWNED one = s ? services_one(s, call_str(l.c, "name", ""), &why) : NULL;
    free(arg);
    if (!one) {
        call_fail(l.c, err ? err : &why);
        return;
    }
    bool is_alive = json_get(one, "pid");
    size_t n = log_follow_giveable(l.c, data, len, !is_alive);
    call_ok(l.c, json_pack("{s:o, s:I, s:b, s:s}", "output", log_follow_text(l.c, data, n), "offset",
                           (json_int_t)l.offset + (json_int_t)n, "running", is_alive, "encoding",
                           call_str(l.c, "encoding", "utf8")));
}

static void on_log_state(void *arg, const struct guest_job *job, const struct err *err)
{
    struct call *c = arg;
    struct err why = ERR_INIT;
    char tag[PROTO_TAG_MAX + 1];
    struct sandbox *s = err ? NULL : sandbox_of(c, &why);
    if (!s) {
        call_fail(c, err ? err : &why);
        return;
    }
    bool has_offset = json_get(call_params(c), "offset");
    uint64_t offset = has_offset ? (uint64_t)call_int(c, "offset", 0) : job->log_start;
    services_tag(call_str(c, "name", ""), tag);
    if (log_follow_is_asked(c)) {
        log_follow_start(c, tag, s, offset);
        return;
    }
    struct look *l = xzalloc(sizeof(*l));
    *l = (struct look){ .c = c, .offset = offset };
    if (handlers_failed(c, guest_job_log(s->link, tag, offset, LOG_FOLLOW_READ_MAX, on_bytes, l), "reading the log"))
        free(l);
}

static void on_log_known(void *arg, const struct err *err)
{
    struct call *c = arg;
    struct err why = ERR_INIT;
    char tag[PROTO_TAG_MAX + 1];
    struct sandbox *s = err ? NULL : sandbox_of(c, &why);
    services_tag(call_str(c, "name", ""), tag);
    if (!s)
        call_fail(c, err ? err : &why);
    else
        (void)handlers_failed(c, guest_job_state(s->link, tag, on_log_state, c), "reading the log");
}

void api_service_logs(struct call *c)
{
    with_service(c, on_log_known);
}
