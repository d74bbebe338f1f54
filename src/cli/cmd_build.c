/* `iii build`. A child packs the context into a pipe, without what .dockerignore excludes; the request sends what comes
 * out of the pipe, and the reply is the build's log. */
#include "cli/cmd_build.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/cmd_create.h"
#include "cli/display.h"
#include "cli/engine_connect.h"
#include "cli/operation_verb.h"
#include "image/build_context.h"
#include "os/write_all.h"
#include "tar/tar_pack.h"

struct context {
    struct build_context files;
    const char *dockerfile; /* in the context: it is sent, whatever .dockerignore says */
    int pipe_fd;
};

struct log {
    json_t *image; /* of the last event; owned */
    int code;
};

static int write_piece(void *arg, const void *data, size_t len)
{
    const struct context *c = arg;
    return write_all_write(c->pipe_fd, data, len);
}

static bool is_left_out(void *arg, const char *path, bool is_folder)
{
    const struct context *c = arg;
    if (strcmp(path, c->dockerfile) == 0 || strcmp(path, ".dockerignore") == 0)
        return false;
    return build_context_is_ignored(c->files.ignore, path) &&
           !(is_folder &&
             (build_context_has_exceptions(c->files.ignore) || strncmp(path, c->dockerfile, strlen(path)) == 0));
}

/* Runs in the child. */
static _Noreturn void pack(struct context *c)
{
    struct tar_packed packed;
    const struct tar_pack_plan plan = {
        .fd = c->files.view.fds[0], .name = "", .sink = write_piece, .is_out = is_left_out, .arg = c
    };
    int r = tar_pack(&plan, &packed);
    if (r < 0 && r != -EPIPE) /* the server does not read on: its reply says why */
        (void)fprintf(stderr, "error: context: %s: %s\n", packed.why, strerror(-r));
    _exit(r < 0 && r != -EPIPE);
}

static void print_text(const char *text)
{
    for (; *text; text++) { /* a command's output is untrusted: no byte of it may control the terminal */
        unsigned char c = (unsigned char)*text;
        bool is_shown = c >= 0x20 ? c != 0x7f : c == '\n' || c == '\t';
        (void)fputc(is_shown ? c : c == '\r' ? '\n' : '?', stderr);
    }
}

static int on_event(void *arg, const json_t *event)
{
    struct log *l = arg;
    const char *type = json_get_str(event, "type", "");
    if (strcmp(type, "step") == 0) {
        (void)fprintf(stderr, "step %d/%d: ", (int)json_get_int(event, "step", 0),
                      (int)json_get_int(event, "steps", 0));
        print_text(json_get_str(event, "text", ""));
        (void)fputc('\n', stderr);
    } else if (strcmp(type, "cached") == 0 || strcmp(type, "note") == 0) {
        (void)fputs("  ", stderr);
        print_text(json_get_str(event, "text", "from the cache"));
        (void)fputc('\n', stderr);
    } else if (strcmp(type, "stdout") == 0 || strcmp(type, "stderr") == 0) {
        print_text(json_get_str(event, "data", ""));
    } else if (strcmp(type, "done") == 0) {
        l->image = json_incref(json_get(event, "image"));
    } else if (strcmp(type, "error") == 0) {
        l->code = engine_connect_fail_text(json_get_str(event, "error", "the build failed"));
    }
    return 0;
}

/* The parameters, from the options. 0 or an exit code. */
static int read_options(const struct verbs_args *a, const char *dockerfile, json_t *params)
{
    static const char *const texts[][2] = { { "tag", "name" }, { "target", "target" } };
    const char *memory = verbs_value(a, "memory");
    json_t *args = json_object();
    (void)json_object_set_new(params, "buildArgs", args);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (verbs_value(a, texts[i][0]))
            (void)json_object_set_new(params, texts[i][1], json_string(verbs_value(a, texts[i][0])));
    if (!json_get(params, "name"))
        return verbs_usage_error(a->verb, "-t NAME is required: the name of the image");
    size_t at = 0;
    for (const char *given; (given = verbs_next(a, "build-arg", &at));) {
        const char *equals = strchr(given, '=');
        CLEANUP(free_p) char *key = xstrndup(given, equals ? (size_t)(equals - given) : 0);
        if (!*key)
            return verbs_usage_error(a->verb, "--build-arg takes NAME=value");
        (void)json_object_set_new(args, key, json_string(equals + 1));
    }
    if (memory && cmd_create_size_mb(memory) == 0)
        return verbs_usage_error(a->verb, "--memory: \"%s\" is not a size like 512 (MB), 256m or 2g", memory);
    if (memory)
        (void)json_object_set_new(params, "memory", json_integer(cmd_create_size_mb(memory)));
    (void)json_object_set_new(params, "dockerfile", json_string(dockerfile));
    (void)json_object_set_new(params, "noCache", json_boolean(verbs_is_on(a, "no-cache")));
    (void)json_object_set_new(params, "network", json_boolean(verbs_is_on(a, "network")));
    return 0;
}

/* The Dockerfile's path in the context; NULL: it is elsewhere. Caller frees. */
static char *dockerfile_in(const char *folder, const char *given)
{
    CLEANUP(free_p) char *root = realpath(folder, NULL);
    CLEANUP(free_p) char *path = realpath(given, NULL);
    size_t n = root ? strlen(root) : 0;
    return path && n && strncmp(path, root, n) == 0 && path[n] == '/' ? xstrdup(path + n + 1) : NULL;
}

static int run(const struct verbs_args *a, struct context *c, struct rest_client *link, const json_t *params)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    struct log log = { 0 };
    struct err err = ERR_INIT;
    int ends[2], status = 0;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return engine_connect_fail_text("cannot make a pipe");
    c->pipe_fd = ends[1];
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        (void)signal(SIGPIPE, SIG_IGN);
        pack(c);
    }
    (void)close(ends[1]);
    const struct rest_client_call call = { .op = &spec_ops[OP_ID_image_build],
                                           .params = params,
                                           .body_fd = &ends[0],
                                           .on_event = on_event,
                                           .arg = &log,
                                           .wants_events = true };
    int r = pid < 0 ? err_set(&err, ERR_INTERNAL, errno, "fork") : rest_client_op(link, &call, &answer, &err);
    if (pid > 0 && (r < 0 || answer.status >= 400 || answer.signal))
        (void)kill(pid, SIGTERM); /* nobody reads what it packs */
    if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status))
        log.code = 1;
    int code = operation_verb_verdict(link, &answer, r, &err);
    code = code ? code : log.code;
    JSON_OWNED image = log.image;
    if (code == 0 && !image)
        code = engine_connect_fail_text("the log of the build ended without a result");
    return code ? code : operation_verb_show(a, &spec_ops[OP_ID_image_build], image);
}

int cmd_build_run(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    struct context c = { .pipe_fd = NO_FD };
    struct err err = ERR_INIT;
    JSON_OWNED params = json_object();
    const char *file = verbs_value(a, "file"), *url = verbs_value(a, "url");
    CLEANUP(free_p) char *inside = file ? dockerfile_in(a->words[0], file) : xstrdup("Dockerfile");
    if (!inside)
        return engine_connect_fail_text("the Dockerfile of --file is not a file of the context");
    if (url)
        (void)setenv("III_SANDBOX_URL", url, 1);
    c.dockerfile = inside;
    int code = read_options(a, inside, params);
    if (code == 0)
        code = operation_verb_link(a, &link);
    if (code == 0 && build_context_open(a->words[0], &c.files, &err) < 0)
        code = engine_connect_fail_text(err.msg);
    if (code == 0)
        code = run(a, &c, &link, params);
    build_context_done(&c.files);
    return fflush(stdout) == EOF ? 1 : code;
}
