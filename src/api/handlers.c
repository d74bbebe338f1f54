#include "api/handlers.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>

#include "base/strlist.h"
#include "sandbox/exec/command.h"

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

bool handlers_driver(struct call *c, const char *only)
{
    struct err err = ERR_INIT;
    const char *wanted = call_str(c, "driver", only);
    if (strcmp(wanted, only) == 0 ||
        call_warn(c, &err, "driver: \"%.40s\" is not known; the only one is %s", wanted, only) == 0)
        return true;
    call_fail(c, &err);
    return false;
}

size_t handlers_active(const struct call *c)
{
    const char *view = call_view(c);
    return view ? (size_t)tenant_usage(call_manager(c), view, QUOTA_SANDBOXES) : map_count(call_manager(c)->sandboxes);
}

char **handlers_env(struct call *c, struct sandbox *s, struct err *err)
{
    char text[SPAN_TEXT_MAX];
    const json_t *vars = json_get(call_params(c), "env");
    char **env = command_env(s, vars, err);
    if (env && !json_get(vars, "TRACEPARENT") && call_traceparent(c, text))
        strlist_env_set(&env, "TRACEPARENT", text);
    return env;
}

bool handlers_is_env_name(const char *name)
{
    bool is_good = isalpha((unsigned char)*name) || *name == '_';
    for (; *name && is_good; name++)
        is_good = isalnum((unsigned char)*name) || *name == '_';
    return is_good;
}

void handlers_reply(struct call *c, json_t *body, const struct err *err)
{
    if (body)
        call_ok(c, body);
    else
        call_fail(c, err);
}

void handlers_record(void *arg, json_t *record, const struct err *err)
{
    handlers_reply(arg, json_incref(record), err);
}

void handlers_success(void *arg, const struct err *err)
{
    struct call *c = arg;
    if (err)
        call_fail(c, err);
    else
        call_ok(c, json_pack("{s:b}", "success", 1));
}

void handlers_answer(void *arg, struct sandbox *s, const struct err *err)
{
    struct call *c = arg;
    if (!s) {
        call_fail(c, err);
        return;
    }
    call_set_sandbox(c, s->id);
    call_ok(c, sandbox_json(s));
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

int handlers_signal(struct call *c, const char *name)
{
    static const struct {
        const char *name;
        int signo;
    } signals[] = { { "TERM", SIGTERM }, { "KILL", SIGKILL }, { "INT", SIGINT },   { "HUP", SIGHUP },
                    { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "STOP", SIGSTOP }, { "CONT", SIGCONT } };
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (strcmp(signals[i].name, name) == 0)
            return signals[i].signo;
    call_error(c, ERR_INVALID, "signal: \"%.32s\" is not one of TERM KILL INT HUP USR1 USR2 STOP CONT", name);
    return 0;
}
