/* Handlers of what a sandbox may connect to. */
#include "api/handlers.h"
#include "sandbox/net/egress.h"

void api_egress_get(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    if (egress_check(s, &err) < 0)
        call_fail(c, &err);
    else
        call_ok(c, egress_json(call_manager(c)->egress, s));
}

void api_egress_set(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    if (egress_set(call_manager(c)->egress, s, call_params(c), &err) < 0)
        call_fail(c, &err);
    else
        call_ok(c, egress_json(call_manager(c)->egress, s));
}
