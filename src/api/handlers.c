#include "api/handlers.h"

struct sandbox *handlers_sandbox(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = manager_find(call_manager(c), call_str(c, "id", ""), &err);
    if (!s)
        call_fail(c, &err);
    return s;
}

struct sandbox *handlers_running(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = manager_find_running(call_manager(c), call_str(c, "id", ""), &err);
    if (!s)
        call_fail(c, &err);
    return s;
}

void handlers_success(void *arg, const struct err *err)
{
    struct call *c = arg;
    if (err)
        call_fail(c, err);
    else
        call_ok(c, json_pack("{s:b}", "success", 1));
}

bool handlers_failed(struct call *c, int r, const char *what)
{
    if (r >= 0)
        return false;
    struct err err = ERR_INIT;
    (void)err_set(&err, err_from_errno(-r), -r, "%s", what);
    call_fail(c, &err);
    return true;
}
