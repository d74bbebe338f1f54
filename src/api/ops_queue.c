/* Handlers of queued commands. */
#include <string.h>

#include "api/call.h"
#include "api/handlers.h"
#include "base/limits.h"
#include "sandbox/exec/queue.h"

void api_queue_submit(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    const struct tenant_by *by = call_by(c);
    struct queue_plan plan = { .command = json_get(call_params(c), "command"),
                               .max_tries = call_int(c, "maxRetries", LIMIT_DEFAULT(JOB_TRIES)),
                               .timeout_ms = call_int(c, "timeout", 0) * 1000,
                               .retries_exit = call_bool(c, "retryOnExit", false),
                               .quota = by ? &by->quota : NULL };
    handlers_reply(c, queue_submit(call_manager(c)->queue, s, &plan, &err), &err);
}

void api_queue_status(struct call *c)
{
    struct err err = ERR_INIT;
    handlers_reply(c, queue_status(call_manager(c)->queue, call_str(c, "jobId", ""), &err), &err);
}

void api_queue_cancel(struct call *c)
{
    struct err err = ERR_INIT;
    const char *id = call_str(c, "jobId", "");
    if (queue_cancel(call_manager(c)->queue, id, &err) < 0)
        call_fail(c, &err);
    else
        call_ok(c, json_pack("{s:s}", "cancelled", id));
}

void api_queue_retry(struct call *c)
{
    struct err err = ERR_INIT;
    handlers_reply(c, queue_retry(call_manager(c)->queue, call_str(c, "jobId", ""), &err), &err);
}

void api_queue_list(struct call *c)
{
    struct err err = ERR_INIT;
    const struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    const char *status = call_str(c, "status", "all");
    const struct queue_filter f = { .sandbox_id = s->id,
                                    .status = strcmp(status, "all") != 0 ? status : NULL,
                                    .limit = call_int(c, "limit", LIMIT_DEFAULT(ENTRIES)),
                                    .offset = call_int(c, "offset", 0) };
    handlers_reply(c, queue_page(call_manager(c)->queue, &f, &err), &err);
}

void api_queue_dlq(struct call *c)
{
    struct err err = ERR_INIT;
    const struct queue_filter f = {
        .by = call_by(c), .status = "failed", .limit = call_int(c, "limit", 50), .offset = call_int(c, "offset", 0)
    };
    handlers_reply(c, queue_page(call_manager(c)->queue, &f, &err), &err);
}
