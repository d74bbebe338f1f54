/* Handlers of webhooks. */
#include <string.h>

#include "api/access.h"
#include "api/call.h"
#include "api/handlers.h"
#include "base/limits.h"
#include "sandbox/observe/webhooks.h"

static struct webhooks *webhooks_of(const struct call *c)
{
    return call_manager(c)->webhooks;
}

static const char *id_of(const struct call *c)
{
    return call_str(c, "webhookId", "");
}

/* A filter by a sandbox that is not there, or not the caller's, would never match. False: the call was answered. */
static bool check_sandbox(struct call *c)
{
    struct err err = ERR_INIT;
    const char *id = call_str(c, "sandboxId", NULL);
    if (!id || access_sandbox(call_manager(c), call_who(c), id, &err))
        return true;
    call_fail(c, &err);
    return false;
}

void api_webhook_create(struct call *c)
{
    struct err err = ERR_INIT;
    if (check_sandbox(c))
        handlers_reply(c, webhooks_create(webhooks_of(c), call_by(c), call_params(c), &err), &err);
}

void api_webhook_list(struct call *c)
{
    call_ok(c,
            json_pack("{s:o}", "webhooks", webhooks_list(webhooks_of(c), call_by(c), call_str(c, "sandboxId", NULL))));
}

void api_webhook_get(struct call *c)
{
    struct err err = ERR_INIT;
    handlers_reply(c, webhooks_get(webhooks_of(c), id_of(c), &err), &err);
}

void api_webhook_update(struct call *c)
{
    struct err err = ERR_INIT;
    if (check_sandbox(c))
        handlers_reply(c, webhooks_update(webhooks_of(c), id_of(c), call_params(c), &err), &err);
}

void api_webhook_delete(struct call *c)
{
    struct err err = ERR_INIT;
    json_t *reply = json_pack("{s:s}", "deleted", id_of(c));
    if (webhooks_delete(webhooks_of(c), id_of(c), &err) == 0) {
        call_ok(c, reply);
        return;
    }
    json_decref(reply);
    call_fail(c, &err);
}

void api_webhook_rotate(struct call *c)
{
    struct err err = ERR_INIT;
    handlers_reply(
        c, webhooks_rotate(webhooks_of(c), id_of(c), call_int(c, "overlap", LIMIT_DEFAULT(WEBHOOK_OVERLAP_S)), &err),
        &err);
}

/* --- a test --- */

static void on_tested(void *arg, const struct webhook_send_outcome *o)
{
    struct call *c = arg;
    json_t *reply = json_pack("{s:b, s:I}", "delivered", o->is_delivered, "durationMs", (json_int_t)o->duration_ms);
    if (o->status)
        (void)json_object_set_new(reply, "status", json_integer(o->status));
    if (*o->error)
        (void)json_object_set_new(reply, "error", json_text(o->error, strlen(o->error)));
    call_on_cancel(c, NULL, NULL);
    call_ok(c, reply);
}

static void on_cancel(void *arg)
{
    struct call *c = arg;
    webhooks_test_cancel(call_state(c));
    call_error(c, ERR_GONE, "the client left");
}

void api_webhook_test(struct call *c)
{
    struct err err = ERR_INIT;
    struct webhooks_test *t = NULL;
    if (webhooks_test(webhooks_of(c), id_of(c), on_tested, c, &t, &err) < 0) {
        call_fail(c, &err);
        return;
    }
    call_set_state(c, t);
    call_on_cancel(c, on_cancel, c);
}

/* --- messages --- */

static struct webhook_queue_query query_of(const struct call *c, const char *fallback)
{
    const char *status = call_str(c, "status", fallback);
    return (struct webhook_queue_query){ .wants_pending = strcmp(status, "dead") != 0,
                                         .wants_dead = strcmp(status, "pending") != 0,
                                         .limit = call_int(c, "limit", LIMIT_DEFAULT(ENTRIES)),
                                         .offset = call_int(c, "offset", 0) };
}

void api_webhook_deliveries(struct call *c)
{
    struct err err = ERR_INIT;
    const struct webhook_queue_query what = query_of(c, "all");
    handlers_reply(c, webhooks_deliveries(webhooks_of(c), id_of(c), &what, &err), &err);
}

void api_webhook_retry(struct call *c)
{
    struct err err = ERR_INIT;
    int n = webhooks_retry(webhooks_of(c), id_of(c), call_str(c, "deliveryId", NULL), &err);
    handlers_reply(c, n < 0 ? NULL : json_pack("{s:i}", "retried", n), &err);
}

void api_webhook_purge(struct call *c)
{
    struct err err = ERR_INIT;
    const struct webhook_queue_query what = query_of(c, "dead");
    int64_t n = webhooks_purge(webhooks_of(c), id_of(c), &what, &err);
    handlers_reply(c, n < 0 ? NULL : json_pack("{s:I}", "purged", (json_int_t)n), &err);
}
