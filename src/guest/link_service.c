/* Services: their definitions, what is done to them, and their states as the agent reports them. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "guest/link_core.h"

int guest_service_define(struct guest_link *g, const struct guest_service_plan *plan, guest_done_fn *fn, void *arg,
                         struct err *err)
{
    size_t size = 64 + PROTO_TAG_MAX + PROTO_PATH_MAX + link_strs_size(plan->check) + link_strs_size(plan->after) +
                  link_exec_size(&plan->exec);
    int r = link_exec_check(&plan->exec, err);
    if (r < 0)
        return r;
    if (!link_can(g, PROTO_CAP_SERVICES)) {
        (void)err_set(err, ERR_UNSUPPORTED, EOPNOTSUPP,
                      "services need an agent of this release: stop and start the sandbox");
        return -EOPNOTSUPP;
    }
    if (size > PROTO_REQUEST_MAX)
        return err_set(err, ERR_TOO_LARGE, 0, "service %s: with its environment it takes %zu bytes, the limit is %u",
                       plan->name, size, PROTO_REQUEST_MAX);
    CLEANUP(free_p) uint8_t *mem = xzalloc(size);
    struct proto_writer w;
    proto_writer_init(&w, mem, size);
    proto_put_str(&w, plan->name);
    proto_put_u8(&w, plan->policy);
    proto_put_u32(&w, plan->max_restarts);
    proto_put_u32(&w, plan->pause_ms);
    proto_put_u32(&w, plan->stop_ms);
    proto_put_u8(&w, plan->ready);
    proto_put_u16(&w, plan->port);
    proto_put_str(&w, plan->path);
    proto_put_u32(&w, plan->interval_ms);
    proto_put_u32(&w, plan->timeout_ms);
    link_strs_put(&w, plan->check);
    link_strs_put(&w, plan->after);
    link_exec_put(&w, &plan->exec);
    r = link_simple(g, PROTO_SERVICE_DEFINE, &w, (struct link_then){ fn, arg });
    return r < 0 ? err_set(err, err_from_errno(-r), -r, "define service %s", plan->name) : 0;
}

int guest_service_act(struct guest_link *g, const char *name, uint8_t act, guest_done_fn *fn, void *arg)
{
    struct link_fields f;
    if (!link_can(g, PROTO_CAP_SERVICES))
        return -EOPNOTSUPP;
    link_fields_init(&f);
    proto_put_str(&f.w, name);
    proto_put_u8(&f.w, act);
    return link_simple(g, PROTO_SERVICE_ACT, &f.w, (struct link_then){ fn, arg });
}

void guest_on_service(struct guest_link *g, void (*fn)(void *arg, const struct guest_service *s), void *arg)
{
    *link_services(g) = (struct link_services){ .fn = fn, .arg = arg };
}

int link_services_on_state(struct link_services *l, const uint8_t *payload, size_t len)
{
    struct guest_service s = { 0 };
    struct proto_reader r;
    proto_reader_init(&r, payload, len);
    s.name = proto_get_str(&r, PROTO_TAG_MAX);
    s.state = proto_get_u8(&r);
    uint32_t pid = proto_get_u32(&r);
    s.restarts = proto_get_u32(&r);
    bool has_exited = proto_get_u8(&r) != 0;
    uint32_t code = proto_get_u32(&r);
    s.age_ms = proto_get_u64(&r);
    s.error = proto_get_str(&r, PROTO_PATH_MAX);
    if (s.state == 0 || s.state > PROTO_SERVICE_LAST || pid > INT_MAX || code > 255 || s.age_ms > LIMIT_MAX(WHOLE))
        return -EBADMSG;
    s.pid = (int)pid;
    s.code = has_exited ? (int)code : -1;
    if (l->fn)
        l->fn(l->arg, &s);
    return 0;
}
