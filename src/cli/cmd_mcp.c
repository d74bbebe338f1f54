#include "cli/cmd_mcp.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/engine_connect.h"
#include "cli/rest_client.h"
#include "loop/loop.h"
#include "mcp/mcp_remote.h"
#include "mcp/mcp_stdio.h"
#include "mcp/mcp_tool.h"

#define NAME_MAX_BYTES 64

static void on_stop_signal(void *arg)
{
    loop_stop(arg);
}

static int mcp_serve(const struct mcp_remote_where *where, const char *choice, struct err *err)
{
    struct loop *l = NULL;
    int r = loop_new(&l, err);
    if (r == 0)
        r = loop_on_signal(l, SIGTERM, on_stop_signal, l);
    if (r == 0)
        r = loop_on_signal(l, SIGINT, on_stop_signal, l);
    if (r == 0) {
        struct mcp_remote *remote = mcp_remote_new(l, where);
        const struct mcp_stdio_options o = { .in = STDIN_FILENO, .out = STDOUT_FILENO, .choice = choice };
        r = mcp_stdio_run(l, mcp_remote_back(remote), &o);
        if (r < 0)
            (void)err_sys(err, r, "standard input and output");
        loop_settle(l); /* lets cancelled calls finish */
        (void)mcp_remote_free(remote);
    }
    (void)loop_free(l);
    return r;
}

/* A misspelt name would leave an agent without its tool, without any hint why. */
static const char *unknown_name(const char *choice, char out[NAME_MAX_BYTES])
{
    for (const char *at = choice; at && *at; at += strcspn(at, ","), at += *at == ',') {
        const struct mcp_tool *t = mcp_tool_rows;
        (void)snprintf(out, NAME_MAX_BYTES, "%.*s", (int)strcspn(at, ","), at);
        while (t->name && !mcp_tool_is_chosen(t, out))
            t++;
        if (!t->name)
            return out;
    }
    return NULL;
}

int cmd_mcp_run(const struct verbs_args *a)
{
    char name[NAME_MAX_BYTES];
    const char *given = verbs_value(a, "tools"), *choice = given ? given : getenv("III_MCP_TOOLS");
    if (unknown_name(choice, name))
        return verbs_usage_error(a->verb, "\"%s\": no tool has this name; docs/mcp.md lists them", name);
    struct rest_client link = REST_CLIENT_INIT;
    struct err err = ERR_INIT;
    if (rest_client_open(a, &link, &err) < 0)
        return err.code == ERR_INVALID ? verbs_usage_error(a->verb, "%s", err.msg) : engine_connect_fail_text(err.msg);
    char *prefix = strrchr(link.url, '/'); /* "http://localhost:3111" and "sandbox" */
    *prefix++ = '\0';
    struct mcp_remote_where where = { .url = link.url, .prefix = prefix, .token = link.token, .trust = &link.trust };
    int code = 0;
    (void)signal(SIGPIPE, SIG_IGN);
    if (mcp_serve(&where, choice, &err) < 0)
        code = engine_connect_fail_text(err.msg);
    rest_client_done(&link);
    return code;
}
