/* Handlers of workers. */
#include "api/call.h"
#include "api/handlers.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/observe/workers.h"

static void reply_workers(struct call *c, json_t *(*fn)(struct workers *w, struct err *err))
{
    struct err err = ERR_INIT;
    handlers_reply(c, fn(call_manager(c)->workers, &err), &err);
}

void api_worker_list(struct call *c)
{
    reply_workers(c, workers_list);
}

void api_worker_select(struct call *c)
{
    reply_workers(c, workers_select);
}

void api_worker_reap(struct call *c)
{
    reply_workers(c, workers_reap);
}

void api_worker_migrate(struct call *c)
{
    reply_workers(c, workers_migrate);
}

void api_worker_heartbeat(struct call *c)
{
    reply_workers(c, workers_heartbeat);
}
