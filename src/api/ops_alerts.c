/* Handlers of alerts. */
#include "api/call.h"
#include "api/handlers.h"
#include "base/limits.h"
#include "sandbox/observe/alerts.h"

void api_alert_set(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    json_t *alert = alerts_set(call_manager(c)->alerts, s, call_str(c, "metric", ""), call_num(c, "threshold", 0),
                               call_str(c, "action", "notify"), &err);
    handlers_record(c, alert, &err);
}

void api_alert_list(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    if (s)
        call_ok(c, json_pack("{s:o}", "alerts", alerts_list(call_manager(c)->alerts, s->id)));
}

void api_alert_delete(struct call *c)
{
    struct err err = ERR_INIT;
    const char *id = call_str(c, "alertId", "");
    if (alerts_delete(call_manager(c)->alerts, id, &err) < 0)
        call_fail(c, &err);
    else
        call_ok(c, json_pack("{s:s}", "deleted", id));
}

void api_alert_history(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    if (s)
        call_ok(c, alerts_history(call_manager(c)->alerts, s->id, call_int(c, "limit", LIMIT_DEFAULT(ENTRIES))));
}
