#include "cli/mcpcmd.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/reach.h"
#include "http/url.h"
#include "loop/loop.h"
#include "mcp/mcpremote.h"
#include "mcp/mcpstdio.h"

/* The option, else the first variable that is set, else the usual. */
static const char *first_of(const struct verbs_args *a, const char *option, const char *const *names, const char *usual)
{
    const char *value = verbs_value(a, option);
    for (; !(value && *value) && *names; names++)
        value = getenv(*names);
    return value && *value ? value : usual;
}

static void on_stop_signal(void *arg)
{
    loop_stop(arg);
}

static int serve(const struct mcpremote_where *where, struct err *err)
{
    struct loop *l = NULL;
    int r = loop_new(&l, err);
    if (r == 0)
        r = loop_on_signal(l, SIGTERM, on_stop_signal, l);
    if (r == 0)
        r = loop_on_signal(l, SIGINT, on_stop_signal, l);
    if (r == 0) {
        struct mcpremote *remote = mcpremote_new(l, where);
        r = mcpstdio_run(l, mcpremote_back(remote), STDIN_FILENO, STDOUT_FILENO);
        if (r < 0)
            (void)err_sys(err, r, "standard input and output");
        loop_settle(l); /* what was begun in vain is told so */
        remote = mcpremote_free(remote);
    }
    (void)loop_free(l);
    return r;
}

int mcpcmd_run(const struct verbs_args *a)
{
    static const char *const urls[] = { "III_SANDBOX_URL", "III_SERVER", NULL },
                             *const tokens[] = { "III_SANDBOX_TOKEN", "III_AUTH_TOKEN", NULL },
                             *const prefixes[] = { "III_API_PREFIX", NULL }, *const cas[] = { "III_CA_CERT", NULL };
    struct mcpremote_where where = { .url = first_of(a, "url", urls, "http://localhost:3111"),
                                     .token = first_of(a, "token", tokens, ""),
                                     .prefix = first_of(a, "prefix", prefixes, "sandbox"),
                                     .ca_file = first_of(a, "ca-cert", cas, NULL) };
    struct err err = ERR_INIT;
    struct url u;
    if (url_parse_either(where.url, "http", &u) < 0)
        return verbs_usage_error(a->verb, "\"%s\" is no address: http://HOST:PORT or https://HOST:PORT is needed",
                                 where.url);
    (void)signal(SIGPIPE, SIG_IGN);
    return serve(&where, &err) < 0 ? reach_fail_text(err.msg) : 0;
}
