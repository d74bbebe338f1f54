/* Theory of operation. The layers and the configuration so far are one struct image (`place.now`). Instructions that
 * only change the configuration change it there; RUN, COPY, ADD and WORKDIR add a layer to it (build_step.c). After the
 * last instruction a record is stored under the requested name. Nothing from the Dockerfile ever runs outside a
 * sandbox. A failure stops the build and names the Dockerfile's line; the steps before it stay in the cache. */
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
#include "base/strlist.h"
#include "image/build_step.h"
#include "image/dockerfile.h"
#include "image/image_cli.h"
#include "image/image_limits.h"

struct build {
    struct build_step_place place;
    const struct image_build_options *options;
    char **globals; /* ARGs before FROM */
    char **args;    /* ARGs after it */
    json_t *labels, *ports;
    bool has_cmd, is_cached;
};

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

static void replace(char **slot, const char *text)
{
    assert(slot);
    free(*slot);
    *slot = xstrdup(text);
}

/* --- ARG and FROM --- */

static int do_arg(struct build *b, char *const *words, bool is_global, struct err *err)
{
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

static int do_from(struct build *b, char *const *words, struct err *err)
{
    const char *name = words[0];
    assert(name); /* the parser rejects an instruction without words */
    bool has_stage = words[1] && strcasecmp(words[1], "as") == 0 && words[2] && !words[3];
    if ((words[1] && !has_stage) || !*name)
        return err_set(err, ERR_INVALID, 0, "an image is expected: FROM IMAGE [AS NAME]");
    if (strcmp(name, "scratch") == 0)
        return err_set(err, ERR_INVALID, 0,
                       "scratch has nothing to run steps with: use `iii image import` for such images");
    struct image_store *s = b->place.store;
    int r = image_resolve(s, name, &b->place.now, err);
    const char *pull = getenv("III_PULL");
    if (r == -ENOENT && !(pull && strcmp(pull, "never") == 0)) {
        r = image_cli_pull(s, name, false, false, err);
        r = r < 0 ? r : image_resolve(s, name, &b->place.now, err);
    }
    return r;
}

/* --- configuration --- */

static int do_env(struct build *b, char *const *words, struct err *err)
{
    assert(b->place.now);
    for (size_t i = 0; words[i]; i++) {
        size_t n = strcspn(words[i], "=");
        if (n == 0 || !words[i][n])
            return err_set(err, ERR_INVALID, 0, "\"%.60s\" is not NAME=value", words[i]);
        CLEANUP(free_p) char *key = xstrndup(words[i], n);
        strlist_env_set(&b->place.now->env, key, words[i] + n + 1);
    }
    if (strlist_count(b->place.now->env) > IMAGE_LIMITS_ENV)
        return err_set(err, ERR_TOO_LARGE, 0, "an image has at most %d variables", IMAGE_LIMITS_ENV);
    return 0;
}

static int do_label(struct build *b, char *const *words, struct err *err)
{
    for (size_t i = 0; words[i]; i++) {
        size_t n = strcspn(words[i], "=");
        if (n == 0 || !words[i][n])
            return err_set(err, ERR_INVALID, 0, "\"%.60s\" is not NAME=value", words[i]);
        CLEANUP(free_p) char *key = xstrndup(words[i], n);
        if (json_object_set_new(b->labels, key, json_string(words[i] + n + 1)) < 0)
            return err_set(err, ERR_INVALID, 0, "a label is not UTF-8");
    }
    return 0;
}

static int do_expose(struct build *b, char *const *words, struct err *err)
{
    for (size_t i = 0; words[i]; i++) {
        char *end = NULL;
        long port = isdigit((unsigned char)words[i][0]) ? strtol(words[i], &end, 10) : 0;
        const char *protocol = end && *end ? end : "/tcp";
        if (port < 1 || port > 65535 || (strcmp(protocol, "/tcp") != 0 && strcmp(protocol, "/udp") != 0))
            return err_set(err, ERR_INVALID, 0, "\"%.60s\" is not a port from 1 to 65535, with /tcp or /udp or nothing",
                           words[i]);
        CLEANUP(free_p) char *text = xasprintf("%ld%s", port, protocol);
        (void)json_array_append_new(b->ports, json_string(text));
    }
    return 0;
}

/* CMD and ENTRYPOINT: a list of words, or text for a shell. */
static int do_command(struct build *b, const struct dockerfile_step *step, struct err *err)
{
    struct image *now = b->place.now;
    assert(now);
    char **words = NULL;
    int r = dockerfile_exec_form(step, &words, err);
    if (r < 0)
        return r;
    if (r == 0) {
        strlist_add(&words, "/bin/sh");
        strlist_add(&words, "-c");
        strlist_add(&words, step->args);
    }
    char ***slot = step->kind == DOCKERFILE_CMD ? &now->cmd : &now->entrypoint;
    *slot = strlist_free(*slot);
    *slot = words;
    if (step->kind == DOCKERFILE_CMD)
        b->has_cmd = true;
    else if (!b->has_cmd)
        now->cmd = strlist_free(now->cmd); /* the base image's CMD belongs to the base image's entry point */
    return 0;
}

/* --- instructions that change files --- */

static int do_run(struct build *b, const struct dockerfile_step *step, struct err *err)
{
    CLEANUP(strlist_free_p) char **words = NULL;
    CLEANUP(strlist_free_p) char **env = variables(b);
    int r = dockerfile_exec_form(step, &words, err);
    if (r < 0)
        return r;
    JSON_OWNED command = r ? strlist_to_json(words) : json_string(step->args);
    if (!command)
        return err_set(err, ERR_INVALID, 0, "the command is not UTF-8");
    return build_step_run(&b->place, command, env, &b->is_cached, err);
}

static int do_workdir(struct build *b, char *const *words, struct err *err)
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

static bool is_archive(const char *name)
{
    static const char *const ends[] = { ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst" };
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        size_t n = strlen(ends[i]), len = strlen(name);
        if (len >= n && strcasecmp(name + len - n, ends[i]) == 0)
            return true;
    }
    return false;
}

static int do_add(struct build *b, char *const *words, struct err *err)
{
    for (size_t i = 0; words[i] && words[i + 1]; i++) {
        if (strstr(words[i], "://") || strncmp(words[i], "git@", 4) == 0)
            return err_set(err, ERR_INVALID, 0,
                           "%.100s: only files of the context can be added: fetch it in a RUN step", words[i]);
        if (is_archive(words[i]))
            return err_set(err, ERR_INVALID, 0,
                           "%.100s: archives are not unpacked: COPY it and unpack it in a RUN step", words[i]);
    }
    return build_step_copy(&b->place, words, &b->is_cached, err);
}

/* --- the build loop --- */

static int apply_words(struct build *b, const struct dockerfile_step *step, char *const *words, struct err *err)
{
    int r;
    switch ((int)step->kind) {
    case DOCKERFILE_FROM:
        return do_from(b, words, err);
    case DOCKERFILE_ARG:
        return do_arg(b, words, !b->place.now, err);
    case DOCKERFILE_ENV:
        return do_env(b, words, err);
    case DOCKERFILE_LABEL:
        return do_label(b, words, err);
    case DOCKERFILE_EXPOSE:
        return do_expose(b, words, err);
    case DOCKERFILE_WORKDIR:
        return do_workdir(b, words, err);
    case DOCKERFILE_COPY:
        return build_step_copy(&b->place, words, &b->is_cached, err);
    case DOCKERFILE_ADD:
        return do_add(b, words, err);
    default:
        r = one_word(words, "a user", err);
        if (r == 0)
            replace(&b->place.now->user, words[0]);
        return r;
    }
}

static int build_apply(struct build *b, const struct dockerfile_step *step, struct err *err)
{
    CLEANUP(strlist_free_p) char **vars = b->place.now ? variables(b) : strlist_copy(b->globals);
    CLEANUP(strlist_free_p) char **words = NULL;
    int r;
    if (step->kind == DOCKERFILE_RUN)
        r = do_run(b, step, err);
    else if (step->kind == DOCKERFILE_CMD || step->kind == DOCKERFILE_ENTRYPOINT)
        r = do_command(b, step, err);
    else {
        r = dockerfile_words(step, vars, &words, err);
        r = r < 0 ? r : apply_words(b, step, words, err);
    }
    if (r < 0 && strncmp(err->msg, "Dockerfile line", 15) != 0)
        return err_wrap(err, r, "Dockerfile line %u: %s", step->line, dockerfile_kind_name(step->kind));
    return r;
}

static int apply_all(struct build *b, const struct dockerfile *d, struct err *err)
{
    for (size_t i = 0; i < d->n_steps; i++) {
        const struct dockerfile_step *step = &d->steps[i];
        CLEANUP(free_p) char *shown = xstrndup(step->args, 100);
        for (char *c = shown; *c; c++)
            if (iscntrl((unsigned char)*c))
                *c = ' ';
        (void)fprintf(stderr, "step %zu/%zu: %s %s\n", i + 1, d->n_steps, dockerfile_kind_name(step->kind), shown);
        b->is_cached = false;
        int r = build_apply(b, step, err);
        if (r < 0)
            return r;
        if (b->is_cached)
            (void)fprintf(stderr, "  from the cache\n");
    }
    return 0;
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

static int build_finish(struct build *b, struct image **ret, struct err *err)
{
    struct image *now = b->place.now;
    json_t *more = now->more ? json_copy(now->more) : json_object();
    if (json_object_size(b->labels))
        (void)json_object_set(more, "labels", b->labels);
    if (json_array_size(b->ports))
        (void)json_object_set(more, "exposedPorts", b->ports);
    json_decref(now->more);
    now->more = more;
    int r = image_compose(b->place.store, now, b->options->name, err);
    return r < 0 ? r : image_resolve(b->place.store, b->options->name, ret, err);
}

static void build_done(struct build *b)
{
    if (b->place.has_server)
        build_server_done(&b->place.server);
    build_context_done(&b->place.context);
    image_free(b->place.now);
    strlist_free(b->globals);
    strlist_free(b->args);
    json_decref(b->labels);
    json_decref(b->ports);
}

int image_build(struct image_store *s, const struct image_build_options *options, struct image **ret, struct err *err)
{
    struct build b = { .place = { .store = s, .options = options, .context.fd = -EBADF },
                       .options = options,
                       .labels = json_object(),
                       .ports = json_array() };
    CLEANUP(dockerfile_done) struct dockerfile d = { 0 };
    int r = image_name_check(options->name, err);
    if (r == 0 && strncmp(options->name, IMAGE_BUILD_CACHE, strlen(IMAGE_BUILD_CACHE)) == 0)
        r = err_set(err, ERR_INVALID, 0, "names that begin with " IMAGE_BUILD_CACHE " are for the steps of builds");
    if (r == 0)
        r = read_dockerfile(options, &d, err);
    if (r == 0)
        r = build_context_open(options->context, &b.place.context, err);
    if (r == 0)
        r = apply_all(&b, &d, err);
    if (r == 0)
        r = build_finish(&b, ret, err);
    build_done(&b);
    return r;
}
