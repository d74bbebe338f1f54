#include "api/in_flight.h"

#include <stdlib.h>
#include <string.h>

#include "api/api_core.h"
#include "base/alloc.h"
#include "base/share.h"
#include "loop/json_work.h"

#define TRIM_BYTES (1u << 20)

struct charge {
    struct share *share; /* referenced: a request may outlive the API */
    struct loop *loop;
    size_t bytes;
    char tenant[TOKEN_FILE_TENANT_MAX + 1];
};

static const char *tenant_name(const struct caller *who)
{
    return who ? who->tenant : IN_FLIGHT_NOBODY;
}

static void give_back(void *arg)
{
    struct charge *c = arg;
    share_give(c->share, c->tenant, c->bytes);
    if (c->bytes >= TRIM_BYTES)
        json_work_trim(c->loop);
    (void)share_free(c->share);
    free(c);
}

static void charge(struct api *a, struct http_req *r, const char *tenant, size_t bytes)
{
    struct charge *c = http_req_over_arg(r);
    if (!c) {
        c = xzalloc(sizeof(*c));
        c->share = share_ref(a->in_flight);
        c->loop = a->loop;
        memcpy(c->tenant, tenant, strlen(tenant) + 1); /* of the same size, or a short word of ours */
        http_req_on_over(r, give_back, c);
    }
    share_add(c->share, c->tenant, bytes);
    c->bytes += bytes;
}

static int refuse(const struct api *a, const char *tenant, size_t more, struct err *err)
{
    return err_set(
        err, ERR_CAPACITY, 0,
        "%zu bytes of requests and replies are in flight for this caller, %zu more would be over its share of "
        "%zu: read the replies that wait, or try again (III_MAX_BODY_MB sets the share)",
        share_held(a->in_flight, tenant), more, share_max(a->in_flight, tenant));
}

int in_flight_body(struct api *a, struct http_req *r, const struct caller *who, size_t bytes, struct err *err)
{
    const char *tenant = tenant_name(who);
    if (!share_has_room(a->in_flight, tenant, bytes))
        return refuse(a, tenant, bytes, err);
    charge(a, r, tenant, bytes);
    return 0;
}

void in_flight_reply(struct api *a, struct http_req *r, const struct caller *who, size_t bytes)
{
    if (bytes > API_SMALL)
        charge(a, r, tenant_name(who), bytes);
}

int in_flight_check(const struct api *a, const struct caller *who, struct err *err)
{
    const char *tenant = tenant_name(who);
    return share_has_room(a->in_flight, tenant, 1) ? 0 : refuse(a, tenant, 1, err);
}
