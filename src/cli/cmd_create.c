/* Theory of operation. Options become the parameters of one create; volumes and ports, which are calls of their own,
 * are read and checked before it and applied after it. When one of them fails, the sandbox is removed again, so that a
 * failed command leaves nothing. An interrupt while the server creates is remembered until its response has the id to
 * remove; a second one ends the command at once. */
#include "cli/cmd_create.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/alloc.h"
#include "cli/cmd_exec.h"
#include "cli/display.h"
#include "cli/duration.h"
#include "cli/engine_connect.h"
#include "cli/operation_args.h"
#include "cli/operation_output.h"
#include "cli/operation_verb.h"

enum { EXIT_SIGNALLED = 128 };

/* --- what was asked --- */

int64_t cmd_create_size_mb(const char *text)
{
    static const char letters[] = "bkmgt";
    char *end;
    double mb = strtod(text, &end);
    const char *unit = *end ? strchr(letters, tolower((unsigned char)*end)) : NULL;
    if (end == text || !(mb > 0 && mb < 1e12) || (*end && !unit))
        return 0;
    for (long i = unit ? unit - letters : 2; i < 2; i++)
        mb /= 1024;
    for (long i = unit ? unit - letters : 2; i > 2; i--)
        mb *= 1024;
    end += unit != NULL;
    if (*end && strcasecmp(end, "b") != 0 && strcasecmp(end, "ib") != 0)
        return 0;
    return mb < 1 ? 1 : (int64_t)(mb + 0.5);
}

int cmd_create_sizes(const struct verbs_args *a, json_t *params)
{
    const char *memory = verbs_value(a, "memory"), *cpus = verbs_value(a, "cpus");
    struct err err = ERR_INIT;
    if (memory && cmd_create_size_mb(memory) == 0)
        return verbs_usage_error(a->verb, "--memory: \"%s\" is not a size like 512 (MB), 256m or 2g", memory);
    if (memory)
        (void)json_object_set_new(params, "memory", json_integer(cmd_create_size_mb(memory)));
    if (cpus && operation_args_put(params, operation_args_field(a->verb->op, "cpu"), cpus, &err) < 0)
        return verbs_usage_error(a->verb, "--cpus: \"%s\" is not a number", cpus);
    return 0;
}

/* One of --volume and --publish, as parameters of its call without the sandbox; NULL after a usage error. */
static json_t *read_volume(const struct verbs_args *a, const char *given)
{
    const char *colon = strchr(given, ':'), *mode = colon ? strchr(colon + 1, ':') : NULL;
    CLEANUP(free_p) char *name = xstrndup(given, colon ? (size_t)(colon - given) : 0);
    CLEANUP(free_p)
    char *path = colon ? xstrndup(colon + 1, mode ? (size_t)(mode - colon) - 1 : strlen(colon + 1)) : NULL;
    bool is_read_only = mode && strcmp(mode, ":ro") == 0;
    if (strchr("/.~", *name) && *name) {
        (void)verbs_usage_error(a->verb,
                                "--volume: \"%s\" is a folder of this host, which sandboxes do not see: name a "
                                "volume, or copy files with `%s cp`",
                                name, a->program->name);
        return NULL;
    }
    json_t *volume = *name && path && *path == '/' && (!mode || is_read_only || strcmp(mode, ":rw") == 0)
                         ? json_pack("{s:s, s:s, s:b}", "volumeId", name, "mountPath", path, "readOnly", is_read_only)
                         : NULL;
    if (!volume)
        (void)verbs_usage_error(a->verb, "--volume: \"%s\" is not VOLUME:/FOLDER[:ro]", given);
    return volume;
}

static json_t *read_port(const struct verbs_args *a, const char *given)
{
    char *end;
    long first = strtol(given, &end, 10), second = *end == ':' ? strtol(end + 1, &end, 10) : -1;
    bool is_udp = strcmp(end, "/udp") == 0;
    long inner = second < 0 ? first : second, outer = second < 0 ? 0 : first;
    if ((*end && !is_udp && strcmp(end, "/tcp") != 0) || inner < 1 || inner > 65535 || outer < 0 || outer > 65535) {
        (void)verbs_usage_error(a->verb, "--publish: \"%s\" is not [HOST:]PORT, with /tcp or /udp behind it", given);
        return NULL;
    }
    return json_pack("{s:i, s:i, s:s}", "containerPort", (int)inner, "hostPort", (int)outer, "protocol",
                     is_udp ? "udp" : "tcp");
}

struct creation {
    const struct verbs_args *a;
    struct rest_client link;
    struct rest_client_answer made; /* the record */
    json_t *params, *volumes, *ports;
};

static void creation_done(struct creation *c)
{
    rest_client_done(&c->link);
    rest_client_answer_done(&c->made);
    json_decref(c->params);
    json_decref(c->volumes);
    json_decref(c->ports);
}

static int read_list(const struct verbs_args *a, const char *option,
                     json_t *(*read)(const struct verbs_args *a, const char *given), json_t *list)
{
    size_t at = 0;
    for (const char *given; (given = verbs_next(a, option, &at));)
        if (json_array_append_new(list, read(a, given)) < 0)
            return a->verb->flags & VERBS_RUNS ? VERBS_EXIT_OWN : a->program->usage_exit;
    return 0;
}

/* 0, or an exit code after the error was printed. */
static int read_options(struct creation *c)
{
    static const char *const own[] = { "memory", "env", "rm", "timeout", NULL }, *const lasting[] = { "memory", "env",
                                                                                                      NULL };
    const struct verbs_args *a = c->a;
    const char *ttl = verbs_value(a, "ttl");
    struct err err = ERR_INIT;
    int64_t ttl_ms;
    c->params = json_object();
    c->volumes = json_array();
    c->ports = json_array();
    int code = operation_args_take(a, c->params, a->verb->flags & VERBS_RUNS ? own : lasting);
    code = code ? code : read_list(a, "volume", read_volume, c->volumes);
    code = code ? code : read_list(a, "publish", read_port, c->ports);
    if (code != 0)
        return code;
    if (a->n_words > 0 && json_object_set_new(c->params, "image", json_string(a->words[0])) < 0)
        return verbs_usage_error(a->verb, "the image's name is not UTF-8");
    if ((code = cmd_create_sizes(a, c->params)) != 0)
        return code;
    if (ttl && duration_or_seconds(ttl, &ttl_ms, &err) < 0)
        return verbs_usage_error(a->verb, "--ttl: %s", err.msg);
    if (ttl)
        (void)json_object_set_new(c->params, "timeout", json_integer((ttl_ms + 999) / 1000));
    json_t *env = cmd_exec_env(a);
    if (!env)
        return a->verb->flags & VERBS_RUNS ? VERBS_EXIT_OWN : a->program->usage_exit;
    return json_object_size(env) ? json_object_set_new(c->params, "env", env) : (json_decref(env), 0);
}

/* --- the calls --- */

static void creation_remove(const struct creation *c)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer gone = { 0 };
    struct err err = ERR_INIT;
    JSON_OWNED params = json_pack("{s:s}", "id", json_get_str(c->made.body, "id", ""));
    (void)rest_client_op(&c->link, &(struct rest_client_call){ .op = &spec_ops[OP_ID_sandbox_kill], .params = params },
                         &gone, &err);
}

/* Attaches a volume, which is made when there is none of that name. */
static int attach_volume(const struct creation *c, json_t *volume)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 }, made = { 0 };
    struct rest_client_call call = { .op = &spec_ops[OP_ID_volume_attach], .params = volume };
    struct err err = ERR_INIT;
    int r = rest_client_op(&c->link, &call, &answer, &err);
    if (r == 0 && answer.status == 404 && strncmp(answer.error, "volume ", 7) == 0) {
        JSON_OWNED name = json_pack("{s:O}", "name", json_object_get(volume, "volumeId"));
        if (operation_verb_call(&c->link, &spec_ops[OP_ID_volume_create], name, &made) != 0)
            return 1;
        (void)json_object_set(volume, "volumeId", json_get(made.body, "id"));
        rest_client_answer_done(&answer);
        r = rest_client_op(&c->link, &call, &answer, &err);
    }
    return operation_verb_verdict(&c->link, &answer, r, &err);
}

static int apply_rest(const struct creation *c)
{
    const char *id = json_get_str(c->made.body, "id", "");
    size_t i;
    json_t *one;
    int code = 0;
    json_array_foreach(c->volumes, i, one)
    {
        (void)json_object_set_new(one, "sandboxId", json_string(id));
        code = code ? code : attach_volume(c, one);
    }
    json_array_foreach(c->ports, i, one)
    {
        CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
        (void)json_object_set_new(one, "id", json_string(id));
        code = code ? code : operation_verb_call(&c->link, &spec_ops[OP_ID_port_expose], one, &answer);
    }
    return code;
}

/* 0 with c->made, or an exit code and no sandbox. */
static int creation_make(struct creation *c)
{
    struct err err = ERR_INIT;
    const char *image = json_get_str(c->params, "image", json_get_str(c->params, "template", "the default image"));
    CLEANUP(free_p) char *clean = display_clean(image), *what = xasprintf("creating a sandbox of %s", clean);
    if (operation_verb_link(c->a, &c->link) != 0)
        return verbs_failed(c->a);
    int r = rest_client_op(&c->link,
                           &(struct rest_client_call){ .op = c->a->verb->op,
                                                       .params = c->params,
                                                       .what = what,
                                                       .image = json_get_str(c->params, "image", NULL),
                                                       .waits_out = true },
                           &c->made, &err);
    int interrupt = c->made.signal;
    bool is_made = r == 0 && c->made.status < 400 && c->made.body;
    if (!interrupt && operation_verb_verdict(&c->link, &c->made, r, &err) != 0)
        return verbs_failed(c->a);
    int code = is_made && !interrupt ? apply_rest(c) : 0;
    if (is_made && (interrupt || code))
        creation_remove(c);
    return interrupt ? EXIT_SIGNALLED + interrupt : code ? verbs_failed(c->a) : 0;
}

/* --- commands --- */

/* The contract's four lines. */
static void print_contract(const json_t *record)
{
    int64_t ms = json_get_int(record, "expiresAt", 0);
    time_t s = (time_t)(ms / 1000);
    struct tm tm;
    char day[32], when[40] = "never";
    if (ms && gmtime_r(&s, &tm) && strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm))
        (void)snprintf(when, sizeof(when), "%s.%03dZ", day, (int)(ms % 1000));
    CLEANUP(free_p) char *id = display_clean(json_get_str(record, "id", ""));
    CLEANUP(free_p) char *image = display_clean(json_get_str(record, "image", ""));
    CLEANUP(free_p) char *state = display_clean(json_get_str(record, "status", ""));
    const char *colour = operation_output_colour(state, stdout);
    (void)printf("Created sandbox: %s\n  Image: %s\n  Status: %s%s%s\n  Expires: %s\n", id, image, colour, state,
                 *colour ? display_off(stdout) : "", when);
}

static int creation_print(const struct creation *c)
{
    CLEANUP(free_p) char *id = display_clean(json_get_str(c->made.body, "id", ""));
    if (c->link.is_json)
        display_json(c->made.body, stdout);
    else if (c->a->program->is_contract && !verbs_value(c->a, "output"))
        print_contract(c->made.body);
    else
        (void)printf("%s\n", id);
    return fflush(stdout) == EOF ? verbs_failed(c->a) : 0;
}

int cmd_create_run(const struct verbs_args *a)
{
    CLEANUP(creation_done) struct creation c = { .a = a, .link = REST_CLIENT_INIT };
    int code = read_options(&c);
    code = code ? code : creation_make(&c);
    return code ? code : creation_print(&c);
}

/* -d: the command is the sandbox's main process, whose output is its log. */
static int run_detached(struct creation *c, const struct exec_session_plan *plan)
{
    static const char *const without[] = { "timeout", "user" };
    for (size_t i = 0; i < sizeof(without) / sizeof(*without); i++)
        if (verbs_value(c->a, without[i]))
            return verbs_usage_error(c->a->verb, "--%s cannot be used with -d", without[i]);
    if (json_is_string(plan->command))
        (void)json_object_set_new(c->params, "entrypoint", json_pack("[s, s, O]", "/bin/sh", "-c", plan->command));
    else if (plan->command)
        (void)json_object_set(c->params, "entrypoint", plan->command);
    int code = creation_make(c);
    return code ? code : creation_print(c);
}

int cmd_create_and_run(const struct verbs_args *a)
{
    CLEANUP(creation_done) struct creation c = { .a = a, .link = REST_CLIENT_INIT };
    CLEANUP(exec_session_plan_done) struct exec_session_plan plan = { 0 };
    int code = cmd_exec_plan(a, a->tail, a->n_tail, &plan);
    code = code ? code : read_options(&c);
    if (code != 0)
        return code;
    plan.is_images = true;
    plan.cwd = NULL; /* the sandbox has it */
    json_object_clear(plan.env);
    bool is_kept = verbs_value(a, "rm") && !verbs_is_on(a, "rm");
    if (verbs_value(a, "detach"))
        return run_detached(&c, &plan);
    if (!is_kept && verbs_value(a, "if-exists"))
        return verbs_usage_error(a->verb, "--if-exists needs --rm=false, or the sandbox that exists would be removed");
    code = creation_make(&c);
    if (code != 0)
        return code;
    code = cmd_exec_in(a, &c.link, json_get_str(c.made.body, "id", ""), &plan);
    if (!is_kept)
        creation_remove(&c);
    return code;
}
