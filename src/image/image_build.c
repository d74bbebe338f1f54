/* Theory of operation. The layers and the configuration of the current stage are one struct image (`place.now`).
 * Instructions that only change the configuration change it there; RUN, COPY, ADD and WORKDIR add a layer to it
 * (build_step.c). A FROM puts the stage away under its name and number, where COPY --from and a later FROM find it.
 * After the last instruction a record of the last stage is stored under the requested name. Nothing from the Dockerfile
 * ever runs outside a sandbox. A failure stops the build and names the Dockerfile's line; the steps before it stay in
 * the cache. */
#include "image/image_build.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/strlist.h"
#include "image/build_add.h"
#include "image/build_step.h"
#include "image/dockerfile.h"
#include "image/image_cli.h"
#include "image/image_limits.h"
#include "image/layout.h"
#include "image/manifest.h"
#include "image/preset.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" /* of an image that states none */
#define CREATED_BY   1000 /* bytes of an instruction that the history shows */

struct stage {
    char *name; /* NULL: only its number */
    struct image *image;
};

struct build {
    struct build_step_place place;
    const struct image_build_options *options;
    struct stage *stages; /* those before the current one */
    size_t n_stages;
    char *stage_name; /* of the current one, or NULL */
    char **globals;   /* ARGs before FROM */
    char **args;      /* ARGs of the current stage */
    bool has_cmd, is_cached;
};

typedef int do_fn(struct build *b, const struct dockerfile_step *step, char *const *words, struct err *err);

/* Variables for expansion; ENV wins over ARG. Caller frees. */
static char **variables(const struct build *b)
{
    assert(b->place.now); /* dockerfile.c: only ARG comes before FROM */
    char **vars = strlist_copy(b->args);
    char *const *env = b->place.now->env;
    for (size_t i = 0; env && env[i]; i++) {
        CLEANUP(free_p) char *key = xstrndup(env[i], strcspn(env[i], "="));
        strlist_env_set(&vars, key, env[i] + strlen(key) + (env[i][strlen(key)] == '='));
    }
    return vars;
}

static int one_word(char *const *words, const char *what, struct err *err)
{
    if (words[1] || !words[0][0])
        return err_set(err, ERR_INVALID, 0, "%s is expected, and nothing else", what);
    return 0;
}

/* Progress: to whoever runs the build, or to standard error. */
static void tell(struct build *b, json_t *event)
{
    const struct image_build_hooks *hooks = b->options->hooks;
    if (hooks) {
        hooks->tell(hooks->arg, event);
        return;
    }
    JSON_OWNED own = event;
    const char *type = json_get_str(own, "type", "");
    if (strcmp(type, "step") == 0)
        (void)fprintf(stderr, "step %d/%d: %s\n", (int)json_get_int(own, "step", 0), (int)json_get_int(own, "steps", 0),
                      json_get_str(own, "text", ""));
    else
        (void)fprintf(stderr, "  %s\n", json_get_str(own, "text", "from the cache"));
}

static void replace(char **slot, const char *text)
{
    assert(slot);
    free(*slot);
    *slot = xstrdup(text);
}

/* --- stages --- */

static int do_arg(struct build *b, const struct dockerfile_step *step, char *const *words, struct err *err)
{
    bool is_global = !b->place.now;
    for (size_t i = 0; words[i]; i++) {
        size_t n = strcspn(words[i], "=");
        CLEANUP(free_p) char *key = xstrndup(words[i], n);
        if (!dockerfile_is_name(key, n))
            return err_set(err, ERR_INVALID, 0, "\"%.60s\" is not NAME or NAME=value", words[i]);
        const char *value = strlist_env_get(b->options->build_args, key);
        if (!value && words[i][n])
            value = words[i] + n + 1;
        if (!value && !is_global)
            value = strlist_env_get(b->globals, key);
        if (value)
            strlist_env_set(is_global ? &b->globals : &b->args, key, value);
    }
    return 0;
}

/* An earlier stage by its name or, with can_number, its number; NULL: none. */
static const struct image *find_stage(const struct build *b, const char *name, bool can_number)
{
    char *end = NULL;
    unsigned long number = can_number && isdigit((unsigned char)*name) ? strtoul(name, &end, 10) : 0;
    if (end && !*end)
        return number < b->n_stages ? b->stages[number].image : NULL;
    for (size_t i = b->n_stages; i-- > 0;)
        if (b->stages[i].name && strcasecmp(b->stages[i].name, name) == 0)
            return b->stages[i].image;
    return NULL;
}

static int find_image(struct build *b, const char *name, struct image **ret, struct err *err)
{
    const struct image_build_options *o = b->options;
    const struct image_scope scope = { .tenant = o->tenant ? o->tenant : "", .has_shared = o->has_shared };
    struct image_store *s = b->place.store;
    struct err missing = ERR_INIT;
    if (o->hooks) {
        int found = o->hooks->find(o->hooks->arg, name, err);
        return found < 0 ? found : image_resolve_for(s, &scope, name, ret, err);
    }
    int r = image_resolve(s, name, ret, &missing);
    const char *pull = getenv("III_PULL"), *wanted = preset_pull_name(name);
    if (r == -ENOENT && wanted && !(pull && strcmp(pull, "never") == 0)) {
        struct err why = ERR_INIT;
        r = image_cli_pull(s, &(struct image_cli_pull_how){ .tenant = "" }, wanted, &why);
        const char *here = strstr(missing.msg, "here are: ");
        if (r < 0)
            return err_set(err, why.code, why.sys, "%.300s; %s", why.msg, here ? here : missing.msg);
        return image_resolve(s, name, ret, err);
    }
    if (r < 0)
        *err = missing;
    return r;
}

static int do_from(struct build *b, const struct dockerfile_step *step, char *const *words, struct err *err)
{
    const char *name = words[0], *platform = dockerfile_flag(step, "platform");
    bool has_name = words[1] && strcasecmp(words[1], "as") == 0 && words[2] && !words[3];
    if ((words[1] && !has_name) || !*name)
        return err_set(err, ERR_INVALID, 0, "an image is expected: FROM IMAGE [AS NAME]");
    if (has_name &&
        (!isalpha((unsigned char)words[2][0]) ||
         strspn(words[2], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != strlen(words[2])))
        return err_set(err, ERR_INVALID, 0,
                       "\"%.60s\" is not the name of a stage: a letter, then letters, digits, - _ and .", words[2]);
    if (platform) {
        CLEANUP(free_p) char *wanted = NULL;
        CLEANUP(free_p) char *ours = xasprintf("linux/%s", manifest_architecture());
        int r = dockerfile_expand(step, platform, b->globals, &wanted, err);
        if (r == 0 && strncmp(wanted, ours, strlen(ours)) != 0)
            r = err_set(err, ERR_INVALID, 0, "--platform=%.60s: only %s can be built here", wanted, ours);
        if (r < 0)
            return r;
    }
    if (b->place.now) { /* the stage that ends here */
        b->stages = xrealloc(b->stages, (b->n_stages + 1) * sizeof(*b->stages));
        b->stages[b->n_stages++] = (struct stage){ STEAL(b->stage_name), STEAL(b->place.now) };
    }
    if (has_name && find_stage(b, words[2], false))
        return err_set(err, ERR_INVALID, 0, "there is another stage %.60s above", words[2]);
    const struct image *stage = find_stage(b, name, false);
    int r = 0;
    if (stage)
        b->place.now = image_copy(stage);
    else if (strcmp(name, "scratch") == 0)
        b->place.now = image_copy(&(struct image){ .name = words[0], .id = words[0] });
    else
        r = find_image(b, name, &b->place.now, err);
    if (r < 0)
        return r;
    struct image *now = b->place.now;
    replace(&now->tenant, b->options->tenant ? b->options->tenant : "");
    json_t *more = now->more ? json_deep_copy(now->more) : json_object();
    json_decref(now->more);
    now->more = more;
    if (json_array_size(json_get(more, "onBuild")))
        tell(b, json_pack("{s:s, s:o}", "type", "note", "text",
                          json_sprintf("ONBUILD instructions of %.100s are not run", name)));
    (void)json_object_del(more, "onBuild");
    (void)json_object_set_new(more, "history", manifest_history(json_get(more, "history"), now->n_layers, 0));
    if (!strlist_env_get(now->env, "PATH"))
        strlist_env_set(&now->env, "PATH", DEFAULT_PATH);
    b->stage_name = has_name ? xstrdup(words[2]) : NULL;
    b->args = strlist_free(b->args);
    b->has_cmd = false;
    return 0;
}

/* --- configuration --- */

/* The member of the configuration, made when it is missing. */
static json_t *member(struct build *b, const char *name, bool is_list)
{
    json_t *more = b->place.now->more, *found = json_object_get(more, name);
    if (is_list ? !json_is_array(found) : !json_is_object(found))
        (void)json_object_set_new(more, name, is_list ? json_array() : json_object());
    return json_object_get(more, name);
}

static int add_once(json_t *list, const char *text, struct err *err)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_array_get(list, i)), text) == 0)
            return 0;
    return json_array_append_new(list, json_string(text)) < 0 ? err_set(err, ERR_INVALID, 0, "not UTF-8") : 0;
}

static int do_env(struct build *b, const struct dockerfile_step *step, char *const *words, struct err *err)
{
    char ***env = &b->place.now->env;
    if (!strchr(words[0], '=') && words[1]) { /* the old form: ENV NAME the rest */
        CLEANUP(buf_done) struct buf rest = BUF_INIT(DOCKERFILE_ARGS_MAX);
        for (size_t i = 1; words[i]; i++)
            (void)buf_addf(&rest, "%s%s", i > 1 ? " " : "", words[i]); /* not longer than the instruction was */
        strlist_env_set(env, words[0], buf_text(&rest));
        return 0;
    }
    for (size_t i = 0; words[i]; i++) {
        size_t n = strcspn(words[i], "=");
        if (n == 0 || !words[i][n])
            return err_set(err, ERR_INVALID, 0, "\"%.60s\" is not NAME=value", words[i]);
        CLEANUP(free_p) char *key = xstrndup(words[i], n);
        strlist_env_set(env, key, words[i] + n + 1);
    }
    if (strlist_count(*env) > IMAGE_LIMITS_ENV)
        return err_set(err, ERR_TOO_LARGE, 0, "an image has at most %d variables", IMAGE_LIMITS_ENV);
    return 0;
}

static int do_label(struct build *b, const struct dockerfile_step *step, char *const *words, struct err *err)
{
    for (size_t i = 0; words[i]; i++) {
        size_t n = strcspn(words[i], "=");
        if (n == 0 || !words[i][n])
            return err_set(err, ERR_INVALID, 0, "\"%.60s\" is not NAME=value", words[i]);
        CLEANUP(free_p) char *key = xstrndup(words[i], n);
        if (json_object_set_new(member(b, "labels", false), key, json_string(words[i] + n + 1)) < 0)
            return err_set(err, ERR_INVALID, 0, "a label is not UTF-8");
    }
    return 0;
}

static int do_expose(struct build *b, const struct dockerfile_step *step, char *const *words, struct err *err)
{
    for (size_t i = 0; words[i]; i++) {
        char *end = NULL;
        long first = isdigit((unsigned char)words[i][0]) ? strtol(words[i], &end, 10) : 0, last = first;
        if (end && *end == '-' && isdigit((unsigned char)end[1]))
            last = strtol(end + 1, &end, 10);
        const char *protocol = end && *end ? end : "/tcp";
        if (first < 1 || last > 65535 || last < first ||
            (strcmp(protocol, "/tcp") != 0 && strcmp(protocol, "/udp") != 0))
            return err_set(err, ERR_INVALID, 0, "\"%.60s\" is not a port from 1 to 65535, with /tcp or /udp or nothing",
                           words[i]);
        for (long port = first; port <= last; port++) {
            CLEANUP(free_p) char *text = xasprintf("%ld%s", port, protocol);
            (void)add_once(member(b, "exposedPorts", true), text, NULL); /* digits and letters only */
        }
    }
    return 0;
}

static int do_volume(struct build *b, const struct dockerfile_step *step, char *const *words, struct err *err)
{
    int r = 0;
    for (size_t i = 0; words[i] && r == 0; i++)
        r = words[i][0] ? add_once(member(b, "volumes", true), words[i], err)
                        : err_set(err, ERR_INVALID, 0, "a volume's path is empty");
    return r;
}

static int do_user(struct build *b, const struct dockerfile_step *step, char *const *words, struct err *err)
{
    int r = one_word(words, "a user", err);
    if (r == 0)
        replace(&b->place.now->user, words[0]);
    return r;
}

static int do_stopsignal(struct build *b, const struct dockerfile_step *step, char *const *words, struct err *err)
{
    size_t n = strspn(words[0], "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-");
    if (words[1] || !words[0][0] || words[0][n])
        return err_set(err, ERR_INVALID, 0, "\"%.60s\" is not a signal: SIGTERM or a number", words[0]);
    (void)json_object_set_new(b->place.now->more, "stopSignal", json_string(words[0]));
    return 0;
}

static int do_maintainer(struct build *b, const struct dockerfile_step *step, char *const *words, struct err *err)
{
    (void)json_object_set_new(b->place.now->more, "author", json_text(step->args, strlen(step->args)));
    return 0;
}

static int do_shell(struct build *b, const struct dockerfile_step *step, char *const *words, struct err *err)
{
    CLEANUP(strlist_free_p) char **list = NULL;
    int r = dockerfile_exec_form(step, &list, err);
    if (r == 0)
        r = err_set(err, ERR_INVALID, 0, "a list is expected: SHELL [\"/bin/sh\", \"-c\"]");
    if (r > 0)
        (void)json_object_set_new(b->place.now->more, "shell", strlist_to_json(list));
    return r < 0 ? r : 0;
}

/* A command: a list of words, or text for the shell. strlist_free(*ret). */
static int command_of(const struct build *b, const struct dockerfile_step *step, char ***ret, struct err *err)
{
    int r = dockerfile_exec_form(step, ret, err);
    if (r != 0)
        return r < 0 ? r : 0;
    *ret = strlist_from_json(json_get(b->place.now->more, "shell"));
    if (!*ret) {
        strlist_add(ret, "/bin/sh");
        strlist_add(ret, "-c");
    }
    strlist_add(ret, step->args);
    return 0;
}

static int do_command(struct build *b, const struct dockerfile_step *step, char *const *words, struct err *err)
{
    struct image *now = b->place.now;
    char **command = NULL;
    int r = command_of(b, step, &command, err);
    if (r < 0)
        return r;
    char ***slot = step->kind == DOCKERFILE_CMD ? &now->cmd : &now->entrypoint;
    *slot = strlist_free(*slot);
    *slot = command;
    if (step->kind == DOCKERFILE_CMD)
        b->has_cmd = true;
    else if (!b->has_cmd)
        now->cmd = strlist_free(now->cmd); /* the base image's CMD belongs to the base image's entry point */
    return 0;
}

/* "1m30s" in nanoseconds; -1: not a duration of at least a millisecond, or 0. */
static int64_t duration_ns(const char *text)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 } };
    double sum = 0;
    if (strcmp(text, "0") == 0)
        return 0;
    while (*text) {
        char *end = NULL;
        double value = isdigit((unsigned char)*text) || *text == '.' ? strtod(text, &end) : -1;
        size_t n = end ? strspn(end, "numsh") : 0, unit = 0;
        while (unit < sizeof(units) / sizeof(units[0]) &&
               (strlen(units[unit].name) != n || strncmp(units[unit].name, end, n) != 0))
            unit++;
        if (value < 0 || n == 0 || unit == sizeof(units) / sizeof(units[0]))
            return -1;
        sum += value * units[unit].ns;
        text = end + n;
    }
    return sum == 0 || (sum >= 1e6 && sum < 9e18) ? (int64_t)sum : -1;
}

static int do_healthcheck(struct build *b, const struct dockerfile_step *step, char *const *words, struct err *err)
{
    static const char *const times[][2] = { { "interval", "Interval" },
                                            { "timeout", "Timeout" },
                                            { "start-period", "StartPeriod" },
                                            { "start-interval", "StartInterval" } };
    JSON_OWNED check = json_object();
    size_t n = strcspn(step->args, " \t");
    char *rest = step->args + n + strspn(step->args + n, " \t");
    bool is_none = n == 4 && strncasecmp(step->args, "NONE", 4) == 0;
    if ((!is_none && (n != 3 || strncasecmp(step->args, "CMD", 3) != 0)) || is_none != !*rest)
        return err_set(err, ERR_INVALID, 0, "HEALTHCHECK [OPTIONS] CMD command, or HEALTHCHECK NONE");
    const struct dockerfile_step command = { .kind = step->kind, .line = step->line, .args = rest };
    CLEANUP(strlist_free_p) char **list = NULL;
    int r = is_none ? 0 : dockerfile_exec_form(&command, &list, err);
    if (r < 0)
        return r;
    json_t *test = r ? strlist_to_json(list) : json_array();
    (void)json_array_insert_new(test, 0, json_string(is_none ? "NONE" : r ? "CMD" : "CMD-SHELL"));
    if (!is_none && !r)
        (void)json_array_append_new(test, json_text(rest, strlen(rest)));
    (void)json_object_set_new(check, "Test", test);
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        const char *value = dockerfile_flag(step, times[i][0]);
        int64_t ns = value ? duration_ns(value) : 0;
        if (ns < 0)
            return err_set(err, ERR_INVALID, 0, "--%s=%.60s is not a duration like 1m30s or 500ms", times[i][0], value);
        if (ns > 0)
            (void)json_object_set_new(check, times[i][1], json_integer(ns));
    }
    const char *retries = dockerfile_flag(step, "retries");
    if (retries) {
        char *end = NULL;
        long count = strtol(retries, &end, 10);
        if (!isdigit((unsigned char)*retries) || *end || count < 1 || count > 1000000)
            return err_set(err, ERR_INVALID, 0, "--retries=%.60s is not a number from 1 to 1000000", retries);
        (void)json_object_set_new(check, "Retries", json_integer(count));
    }
    (void)json_object_set(b->place.now->more, "healthcheck", check);
    return 0;
}

/* --- instructions that change files --- */

static int do_run(struct build *b, const struct dockerfile_step *step, char *const *words, struct err *err)
{
    CLEANUP(strlist_free_p) char **list = NULL;
    CLEANUP(strlist_free_p) char **env = variables(b);
    if (step->n_texts && strncmp(step->args, "#!", 2) == 0) { /* a script with an interpreter of its own */
        static const char *const start[] = {
            "/bin/sh", "-c",
            "f=/tmp/.script && printf %s \"$0\" >\"$f\" && chmod 700 \"$f\" && \"$f\"; r=$?; rm -f \"$f\"; exit $r"
        };
        for (size_t i = 0; i < sizeof(start) / sizeof(start[0]); i++)
            strlist_add(&list, start[i]);
        strlist_add(&list, step->args);
    } else {
        int r = command_of(b, step, &list, err);
        if (r < 0)
            return r;
    }
    JSON_OWNED command = strlist_to_json(list);
    return build_step_run(&b->place, command, env, &b->is_cached, err);
}

static int do_workdir(struct build *b, const struct dockerfile_step *step, char *const *words, struct err *err)
{
    int r = one_word(words, "a folder", err);
    if (r < 0)
        return r;
    CLEANUP(free_p) char *path = build_step_path(b->place.now, words[0]);
    r = build_step_mkdir(&b->place, path, &b->is_cached, err);
    if (r == 0)
        replace(&b->place.now->workdir, path);
    return r;
}

/* The owner and the mode that the instruction's options state. */
static int copy_attrs(struct build *b, const struct dockerfile_step *step, char *const *vars, struct build_attrs *ret,
                      struct err *err)
{
    const char *owner = dockerfile_flag(step, "chown"), *mode = dockerfile_flag(step, "chmod");
    CLEANUP(free_p) char *owner_text = NULL;
    CLEANUP(free_p) char *mode_text = NULL;
    int r = owner ? dockerfile_expand(step, owner, vars, &owner_text, err) : 0;
    if (r == 0 && mode)
        r = dockerfile_expand(step, mode, vars, &mode_text, err);
    return r < 0 ? r : build_attrs_read(b->place.now, owner_text, mode_text, ret, err);
}

/* Downloads the addresses among the sources of an ADD into scratch. */
static int fetch_sources(struct build *b, char *const *sources, struct layout_tmp *scratch, struct err *err)
{
    int r = layout_tmp_new(b->place.store, scratch, err);
    for (size_t i = 0; r == 0 && sources[i]; i++) {
        char file[32];
        build_copy_download(i, file);
        if (build_add_is_url(sources[i]))
            r = build_add_fetch(b->place.store, sources[i], scratch->fd, file, err);
        else if (strstr(sources[i], "://") || strncmp(sources[i], "git@", 4) == 0)
            r = err_set(err, ERR_INVALID, 0, "%.100s: only http and https addresses and files of the context are added",
                        sources[i]);
    }
    return r;
}

static int do_copy(struct build *b, const struct dockerfile_step *step, char *const *words, struct err *err)
{
    const char *from = dockerfile_flag(step, "from");
    size_t n = strlist_count(words);
    if (n < 2)
        return err_set(err, ERR_INVALID, 0, "at least one source and a destination are needed");
    CLEANUP(image_free_p) struct image *other = NULL;
    CLEANUP(layer_view_done) struct layer_view view = { 0 };
    CLEANUP(free_p) char *where = from ? xasprintf("%.100s", from) : xstrdup("the context");
    if (from) {
        const struct image *stage = find_stage(b, from, true);
        bool is_number = from[strspn(from, "0123456789")] == '\0';
        if (!stage && (is_number || (b->stage_name && strcasecmp(b->stage_name, from) == 0)))
            return err_set(err, ERR_INVALID, 0, "--from=%.60s: there is no stage of this name or number above", from);
        int r = stage ? 0 : find_image(b, from, &other, err);
        if (r < 0)
            return r;
        stage = stage ? stage : other;
        r = layer_view_open(stage->layers, stage->n_layers, &view);
        if (r < 0)
            return err_sys(err, r, "open the files of %.100s", from);
    }
    CLEANUP(strlist_free_p) char **sources = strlist_copy(words);
    free(sources[n - 1]);
    sources[n - 1] = NULL;
    CLEANUP(strlist_free_p) char **vars = variables(b);
    CLEANUP(strlist_free_p) char **texts = NULL;
    for (size_t i = 0; i < step->n_texts; i++) {
        CLEANUP(free_p) char *text = NULL;
        int r = step->texts[i].is_literal ? 0 : dockerfile_expand(step, step->texts[i].text, vars, &text, err);
        if (r < 0)
            return r;
        strlist_add(&texts, text ? text : step->texts[i].text);
    }
    struct build_attrs attrs;
    CLEANUP(layout_tmp_done) struct layout_tmp scratch = { 0 };
    int r = copy_attrs(b, step, vars, &attrs, err);
    if (r == 0 && step->kind == DOCKERFILE_ADD)
        r = fetch_sources(b, sources, &scratch, err);
    if (r < 0)
        return r;
    const char *last = words[n - 1];
    size_t len = strlen(last);
    bool is_folder =
        len == 0 || last[len - 1] == '/' || strcmp(last, ".") == 0 || (len > 1 && strcmp(last + len - 2, "/.") == 0);
    CLEANUP(free_p) char *path = build_step_path(b->place.now, last);
    CLEANUP(free_p) char *to = xasprintf("%s%s", path, is_folder ? "/" : "");
    const struct build_copy copy = { .from = from ? &view : &b->place.context.view,
                                     .ignore = from ? NULL : b->place.context.ignore,
                                     .where = where,
                                     .sources = sources,
                                     .texts = texts,
                                     .to = to,
                                     .base = b->place.now,
                                     .attrs = attrs,
                                     .store = b->place.store,
                                     .stop = b->options->stop,
                                     .scratch_fd = scratch.store ? scratch.fd : NO_FD };
    return build_step_copy(&b->place, &copy, &b->is_cached, err);
}

/* --- the build loop --- */

static const struct {
    do_fn *fn;
    bool is_raw; /* it reads the text itself: no words, no variables */
} instructions[] = {
    [DOCKERFILE_FROM] = { do_from, false },
    [DOCKERFILE_RUN] = { do_run, true },
    [DOCKERFILE_COPY] = { do_copy, false },
    [DOCKERFILE_ADD] = { do_copy, false },
    [DOCKERFILE_ENV] = { do_env, false },
    [DOCKERFILE_WORKDIR] = { do_workdir, false },
    [DOCKERFILE_ARG] = { do_arg, false },
    [DOCKERFILE_USER] = { do_user, false },
    [DOCKERFILE_CMD] = { do_command, true },
    [DOCKERFILE_ENTRYPOINT] = { do_command, true },
    [DOCKERFILE_LABEL] = { do_label, false },
    [DOCKERFILE_EXPOSE] = { do_expose, false },
    [DOCKERFILE_VOLUME] = { do_volume, false },
    [DOCKERFILE_HEALTHCHECK] = { do_healthcheck, true },
    [DOCKERFILE_STOPSIGNAL] = { do_stopsignal, false },
    [DOCKERFILE_SHELL] = { do_shell, true },
    [DOCKERFILE_MAINTAINER] = { do_maintainer, true },
};

/* What one instruction did, for `docker history` and its like. */
static void note_history(struct build *b, const struct dockerfile_step *step, bool is_empty)
{
    char when[MANIFEST_TIME];
    manifest_time(clock_wall_ms(), when);
    CLEANUP(free_p)
    char *text = xasprintf("%s %.*s", dockerfile_kind_name(step->kind), CREATED_BY, step->args);
    json_t *entry = json_pack("{s:s, s:o}", "created", when, "created_by", json_text(text, strlen(text)));
    if (is_empty)
        (void)json_object_set_new(entry, "empty_layer", json_true());
    (void)json_array_append_new(member(b, "history", true), entry);
}

static int apply(struct build *b, const struct dockerfile_step *step, struct err *err)
{
    bool is_from = step->kind == DOCKERFILE_FROM || !b->place.now;
    size_t n_layers = is_from ? 0 : b->place.now->n_layers;
    CLEANUP(strlist_free_p) char **vars = is_from ? strlist_copy(b->globals) : variables(b);
    CLEANUP(strlist_free_p) char **words = NULL;
    int r = instructions[step->kind].is_raw ? 0 : dockerfile_words(step, vars, &words, err);
    if (r == 0)
        r = instructions[step->kind].fn(b, step, words, err);
    if (r < 0 && strncmp(err->msg, "Dockerfile line", 15) != 0)
        return err_wrap(err, r, "Dockerfile line %u: %s", step->line, dockerfile_kind_name(step->kind));
    if (r == 0 && !is_from)
        note_history(b, step, b->place.now->n_layers == n_layers);
    return r;
}

/* Whether the current stage is the last one to build. */
static bool is_target(const struct build *b)
{
    const char *target = b->options->target;
    CLEANUP(free_p) char *number = xasprintf("%zu", b->n_stages);
    return target && b->place.now &&
           (strcmp(target, number) == 0 || (b->stage_name && strcasecmp(b->stage_name, target) == 0));
}

static int apply_all(struct build *b, const struct dockerfile *d, struct err *err)
{
    static const char *const platform[] = { "TARGET", "BUILD" };
    for (size_t i = 0; i < 2; i++) { /* what docker build sets, too */
        CLEANUP(free_p) char *whole = xasprintf("%sPLATFORM=linux/%s", platform[i], manifest_architecture());
        CLEANUP(free_p) char *os = xasprintf("%sOS=linux", platform[i]);
        CLEANUP(free_p) char *arch = xasprintf("%sARCH=%s", platform[i], manifest_architecture());
        strlist_add(&b->globals, whole);
        strlist_add(&b->globals, os);
        strlist_add(&b->globals, arch);
    }
    for (size_t i = 0; i < d->n_steps; i++) {
        const struct dockerfile_step *step = &d->steps[i];
        CLEANUP(free_p) char *shown = xstrndup(step->args, 100);
        for (char *c = shown; *c; c++)
            if (iscntrl((unsigned char)*c))
                *c = ' ';
        CLEANUP(free_p) char *text = xasprintf("%s %s", dockerfile_kind_name(step->kind), shown);
        if (step->kind == DOCKERFILE_FROM && is_target(b))
            break;
        tell(b,
             json_pack("{s:s, s:I, s:I, s:I, s:o}", "type", "step", "step", (json_int_t)i + 1, "steps",
                       (json_int_t)d->n_steps, "line", (json_int_t)step->line, "text", json_text(text, strlen(text))));
        b->is_cached = false;
        bool is_stopped = b->options->stop && atomic_load(b->options->stop);
        int r = is_stopped ? err_set(err, ERR_GONE, ECANCELED, "the build was stopped") : apply(b, step, err);
        if (r < 0)
            return r;
        if (b->is_cached)
            tell(b, json_pack("{s:s}", "type", "cached"));
    }
    return !b->options->target || is_target(b)
               ? 0
               : err_set(err, ERR_INVALID, 0, "the Dockerfile has no stage \"%.100s\"", b->options->target);
}

/* The Dockerfile of a context that came from elsewhere: its links are followed inside the context. */
static int read_inside(const struct build *b, struct dockerfile *ret, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT(DOCKERFILE_BYTES_MAX);
    const char *path = b->options->dockerfile ? b->options->dockerfile : "Dockerfile";
    int r = layer_view_read(&b->place.context.view, path, &text);
    if (r == -E2BIG)
        return err_set(err, ERR_TOO_LARGE, 0, "%.200s: at most %d bytes are read", path, DOCKERFILE_BYTES_MAX);
    if (r < 0)
        return err_set(err, r == -ENOENT ? ERR_NOT_FOUND : ERR_INVALID, -r, "%.200s in the context", path);
    return dockerfile_parse(buf_text(&text), text.len, ret, err);
}

static int read_dockerfile(const struct image_build_options *o, struct dockerfile *ret, struct err *err)
{
    CLEANUP(free_p) char *path = o->dockerfile ? xstrdup(o->dockerfile) : xasprintf("%s/Dockerfile", o->context);
    CLEANUP(buf_done) struct buf text = BUF_INIT(DOCKERFILE_BYTES_MAX);
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    char piece[4096];
    ssize_t n = 0;
    if (fd < 0)
        return err_set(err, err_from_errno(errno), errno, "%s", path);
    while ((n = read(fd, piece, sizeof(piece))) > 0)
        if (buf_add(&text, piece, (size_t)n) < 0)
            return err_set(err, ERR_TOO_LARGE, 0, "%s: at most %d bytes are read", path, DOCKERFILE_BYTES_MAX);
    if (n < 0)
        return err_set(err, ERR_INTERNAL, errno, "read %s", path);
    return dockerfile_parse(buf_text(&text), text.len, ret, err);
}

int image_build(struct image_store *s, const struct image_build_options *options, struct image **ret, struct err *err)
{
    struct build b = { .place = { .store = s, .options = options }, .options = options };
    CLEANUP(dockerfile_done) struct dockerfile d = { 0 };
    int r = image_name_check(options->name, err);
    if (r == 0 && strncmp(options->name, IMAGE_BUILD_CACHE, strlen(IMAGE_BUILD_CACHE)) == 0)
        r = err_set(err, ERR_INVALID, 0, "names that begin with " IMAGE_BUILD_CACHE " are for the steps of builds");
    if (r == 0 && !options->hooks)
        r = read_dockerfile(options, &d, err);
    if (r == 0)
        r = build_context_open(options->context, &b.place.context, err);
    if (r == 0 && options->hooks)
        r = read_inside(&b, &d, err);
    if (r == 0)
        r = apply_all(&b, &d, err);
    struct image *now = b.place.now;
    if (r == 0 && now->n_layers == 0)
        r = err_set(err, ERR_INVALID, 0, "the last stage has no files: an image needs a COPY or a RUN");
    if (r == 0) {
        char when[MANIFEST_TIME];
        manifest_time(clock_wall_ms(), when);
        (void)json_object_set_new(now->more, "created", json_string(when));
        r = image_compose(s, now, options->name, err);
    }
    if (r == 0)
        r = image_resolve_for(s, &(struct image_scope){ .tenant = now->tenant }, options->name, ret, err);
    if (b.place.has_server)
        build_server_done(&b.place.server);
    build_context_done(&b.place.context);
    image_free(now);
    for (size_t i = 0; i < b.n_stages; i++) {
        free(b.stages[i].name);
        image_free(b.stages[i].image);
    }
    free(b.stages);
    free(b.stage_name);
    strlist_free(b.globals);
    strlist_free(b.args);
    return r;
}
