/* Handlers of traces and the numbers made from them. */
#include "api/api_core.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/observe.h"
#include "api/traces.h"
#include "base/clock.h"
#include "base/limits.h"

static struct traces *traces_of(struct call *c)
{
    return observe_traces(call_api(c)->observe);
}

void api_observability_traces(struct call *c)
{
    struct err err = ERR_INIT;
    struct traces_query q = { .sandbox_id = call_str(c, "sandboxId", NULL),
                              .fn = call_str(c, "functionId", NULL),
                              .tenant = call_view(c),
                              .limit = call_int(c, "limit", LIMIT_DEFAULT(TRACE_ENTRIES)),
                              .offset = call_int(c, "offset", 0) };
    handlers_reply(c, traces_page(traces_of(c), &q, &err), &err);
}

void api_observability_metrics(struct call *c)
{
    struct err err = ERR_INIT;
    json_t *numbers = traces_metrics(traces_of(c), call_view(c), &err);
    if (!numbers) {
        call_fail(c, &err);
        return;
    }
    (void)json_object_set_new(numbers, "activeSandboxes", json_integer((json_int_t)handlers_active(c)));
    call_ok(c, numbers);
}

void api_observability_clear(struct call *c)
{
    struct err err = ERR_INIT;
    int64_t cleared = traces_clear(traces_of(c), call_int(c, "before", clock_wall_ms()), &err);
    if (cleared < 0)
        call_fail(c, &err);
    else
        call_ok(c, json_pack("{s:I}", "cleared", (json_int_t)cleared));
}
