#include "cli/cmd_ssh.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/operation_verb.h"
#include "http/url.h"

/* A server that listens everywhere is reached where its API is. */
static char *host_of(const struct rest_client *l, const char *given)
{
    struct url at;
    bool is_any = strcmp(given, "0.0.0.0") == 0 || strcmp(given, "::") == 0;
    return xstrdup(is_any && url_parse_either(l->server, "http", &at) == 0 ? at.host : given);
}

int cmd_ssh_run(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    JSON_OWNED none = json_object();
    const char *user = verbs_value(a, "user");
    int code = operation_verb_link(a, &link);
    code = code ? code : operation_verb_call(&link, &spec_ops[OP_ID_ssh_info], none, &answer);
    if (code != 0)
        return code;
    if (!json_get_bool(answer.body, "enabled", false)) {
        (void)fprintf(stderr, "iii ssh: this server does not serve SSH: start it with --ssh 2222 (III_SSH)\n");
        return verbs_failed(a);
    }
    CLEANUP(free_p) char *host = host_of(&link, json_get_str(answer.body, "host", "127.0.0.1"));
    CLEANUP(free_p) char *port = xasprintf("%lld", (long long)json_get_int(answer.body, "port", 0));
    CLEANUP(free_p) char *to = xasprintf("%s%s%s@%s", user ? user : "", user ? "+" : "", a->words[0], host);
    if (verbs_value(a, "print")) {
        (void)printf("ssh -p %s %s\n", port, to);
        return 0;
    }
    CLEANUP(free_p) char **argv = xzalloc(((size_t)a->n_tail + 5) * sizeof(*argv));
    static char program[] = "ssh", option[] = "-p";
    char **at = argv;
    *at++ = program;
    *at++ = option;
    *at++ = port;
    *at++ = to;
    memcpy(at, a->tail, (size_t)a->n_tail * sizeof(*at));
    (void)execvp(program, argv);
    (void)fprintf(stderr, "iii ssh: cannot run ssh: %s; install OpenSSH's client (openssh-client)\n", strerror(errno));
    return verbs_failed(a);
}
