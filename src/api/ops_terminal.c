/* Handlers of terminals. */
#include "api/call.h"
#include "api/handlers.h"
#include "api/keyring.h"
#include "base/limits.h"
#include "sandbox/exec/terminal.h"

static struct terminal *find_terminal(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return NULL;
    struct terminal *t = terminal_find(call_manager(c)->terminals, s, call_str(c, "sessionId", ""), &err);
    if (!t)
        call_fail(c, &err);
    return t;
}

static void on_open(void *arg, const json_t *session, const struct err *err)
{
    struct call *c = arg;
    if (!session) {
        call_fail(c, err);
        return;
    }
    if (call_is_cancelled(c)) { /* no client has this session's id */
        struct sandbox *s = manager_find(call_manager(c), call_str(c, "id", ""), NULL);
        struct terminal *t =
            s ? terminal_find(call_manager(c)->terminals, s, json_get_str(session, "sessionId", ""), NULL) : NULL;
        if (t)
            terminal_close(t);
        call_error(c, ERR_GONE, "the client left");
        return;
    }
    call_ok(c, json_deep_copy(session));
}

void api_terminal_create(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    struct terminal_plan plan = { .cols = (uint16_t)call_int(c, "cols", LIMIT_DEFAULT(TERMINAL_COLS)),
                                  .rows = (uint16_t)call_int(c, "rows", LIMIT_DEFAULT(TERMINAL_ROWS)),
                                  .shell = call_str(c, "shell", "/bin/sh"),
                                  .token_id = call_who(c) ? call_who(c)->id : "" };
    if (terminal_open(call_manager(c)->terminals, s, &plan, on_open, c, &err) < 0)
        call_fail(c, &err);
}

void api_terminal_resize(struct call *c)
{
    struct terminal *t = find_terminal(c);
    if (!t)
        return;
    int64_t cols = call_int(c, "cols", 0), rows = call_int(c, "rows", 0);
    terminal_resize(t, (uint16_t)cols, (uint16_t)rows);
    call_ok(c, json_pack("{s:I, s:I}", "cols", (json_int_t)cols, "rows", (json_int_t)rows));
}

void api_terminal_close(struct call *c)
{
    struct terminal *t = find_terminal(c);
    if (!t)
        return;
    terminal_close(t);
    call_ok(c, json_pack("{s:s}", "closed", call_str(c, "sessionId", "")));
}

void api_terminal_attach(struct call *c)
{
    struct terminal *t = find_terminal(c);
    if (t)
        call_taken(c, terminal_attach(t, call_http(c), call_who(c)->id));
}
