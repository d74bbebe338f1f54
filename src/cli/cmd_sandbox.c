#include "cli/cmd_sandbox.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/display.h"
#include "cli/duration.h"
#include "cli/engine_connect.h"
#include "cli/sandbox_exec.h"
#include "cli/sandbox_terminal.h"

enum { CREATE_WAIT_MS = 300000, CALL_WAIT_MS = 30000, TICK_MS = 1000, EXIT_INTERRUPTED = 130 };

/* One call whose reply must be a result. 0, or an exit code after the error was printed. */
static int engine_ask(struct wire *w, const char *function, const json_t *payload, int64_t wait_ms, json_t **ret)
{
    struct err err = ERR_INIT;
    CLEANUP(wire_answer_done) struct wire_answer answer = { 0 };
    int r = wire_call(w, function, payload, wait_ms, &answer, &err);
    if (r == -EINTR)
        return EXIT_INTERRUPTED;
    if (r < 0)
        return engine_connect_fail_text(err.msg);
    if (answer.error)
        return engine_connect_fail(answer.error);
    *ret = answer.result ? STEAL(answer.result) : json_object();
    display_warnings(json_get(*ret, "warnings"));
    return 0;
}

static int engine_stop(struct wire *w, const char *id, json_t **ret)
{
    JSON_OWNED payload = json_pack("{s:s, s:b}", "sandbox_id", id, "wait", 1);
    return payload ? engine_ask(w, "sandbox::stop", payload, CALL_WAIT_MS, ret)
                   : engine_connect_fail_text("the id is not UTF-8");
}

static bool wants_json(const struct verbs_args *a)
{
    return verbs_value(a, "json") != NULL;
}

/* --- create --- */

static int add_number(const struct verbs_args *a, const char *option, json_t *payload, const char *key)
{
    long long n;
    int r = verbs_number(a, option, 0, 1000000000, &n);
    if (r == 0)
        (void)json_object_set_new(payload, key, json_integer(n));
    return r < 0 ? 2 : 0;
}

/* Sends only what was given, so that the server's defaults apply to the rest. */
static int create_payload(const struct verbs_args *a, json_t **ret)
{
    JSON_OWNED payload = json_pack("{s:s}", "image", a->words[0]);
    if (!payload)
        return verbs_usage_error(a->verb, "the image's name is not UTF-8");
    const char *name = verbs_value(a, "name");
    JSON_OWNED env = sandbox_exec_env(a);
    int r = add_number(a, "cpus", payload, "cpus");
    r = r ? r : add_number(a, "memory", payload, "memory_mb");
    r = r ? r : add_number(a, "idle-timeout", payload, "idle_timeout_secs");
    if (r != 0)
        return r;
    if (name)
        (void)json_object_set_new(payload, "name", json_text(name, strlen(name)));
    if (verbs_value(a, "network"))
        (void)json_object_set_new(payload, "network", json_true());
    if (json_array_size(env) > 0)
        (void)json_object_set(payload, "env", env);
    *ret = STEAL(payload);
    return 0;
}

/* A line on a terminal while a create takes long: its image is being pulled, or booted as a microVM for the first
 * time. */
struct patience {
    const char *image;
    int64_t start_us;
    bool is_drawn;
};

static void draw_patience(void *arg)
{
    struct patience *p = arg;
    CLEANUP(free_p) char *image = display_clean(p->image);
    (void)fprintf(stderr, "\r\033[Kwaiting for %s, which may have to be pulled, or booted once: %llds", image,
                  (long long)((clock_mono_us() - p->start_us) / 1000000));
    p->is_drawn = true;
}

/* Creates a sandbox; 0 with *ret_reply, which has an id, or an exit code. */
static int sandbox_create(const struct verbs_args *a, struct wire *w, json_t **ret_reply)
{
    JSON_OWNED payload = NULL;
    JSON_OWNED reply = NULL;
    struct patience patience = { .image = a->words[0], .start_us = clock_mono_us() };
    int r = create_payload(a, &payload);
    if (r != 0)
        return r;
    struct timer *t =
        isatty(STDERR_FILENO) ? timer_new(wire_loop(w), TICK_MS, TICK_MS, draw_patience, &patience) : NULL;
    r = engine_ask(w, "sandbox::create", payload, CREATE_WAIT_MS, &reply);
    timer_free(t);
    if (patience.is_drawn)
        (void)fprintf(stderr, "\r\033[K");
    if (r != 0)
        return r;
    if (!json_get_str(reply, "sandbox_id", NULL))
        return engine_connect_fail_text("sandbox::create answered without a sandbox_id");
    if (isatty(STDERR_FILENO))
        (void)fprintf(stderr, "%s\xe2\x9c\x93%s sandbox ready in %.1fs\n", display_on(stderr, DISPLAY_GOOD),
                      display_off(stderr), (double)(clock_mono_us() - patience.start_us) / 1e6);
    *ret_reply = STEAL(reply);
    return 0;
}

int cmd_sandbox_create(const struct verbs_args *a)
{
    CLEANUP(wire_close_p) struct wire *w = NULL;
    JSON_OWNED reply = NULL;
    int r = engine_connect_open(a, &w);
    r = r ? r : sandbox_create(a, w, &reply);
    if (r != 0)
        return r;
    if (wants_json(a))
        display_json(reply, stdout);
    else
        printf("%s\n", json_get_str(reply, "sandbox_id", ""));
    return 0;
}

/* --- exec and run --- */

/* 0, or 2 after a usage error was printed. */
static int exec_plan(const struct verbs_args *a, struct sandbox_exec_plan *ret)
{
    const char *timeout = verbs_value(a, "timeout");
    struct err err = ERR_INIT;
    *ret = (struct sandbox_exec_plan){ .argv = a->tail,
                                       .n_argv = a->n_tail,
                                       .timeout_ms = -1,
                                       .workdir = verbs_value(a, "workdir"),
                                       .has_stdin = verbs_value(a, "interactive") != NULL,
                                       .is_json = wants_json(a) };
    if (timeout && duration_parse(timeout, &ret->timeout_ms, &err) < 0)
        return verbs_usage_error(a->verb, "--timeout: %s", err.msg);
    return 0;
}

static int exec_in(const struct verbs_args *a, bool is_terminal)
{
    CLEANUP(wire_close_p) struct wire *w = NULL;
    struct sandbox_exec_plan plan;
    int r = exec_plan(a, &plan);
    if (r != 0)
        return r;
    if (a->n_tail == 0 && !is_terminal)
        return verbs_usage_error(a->verb, "no command was given: iii %s ID -- CMD [ARG]...", a->verb->path);
    r = engine_connect_open(a, &w);
    if (r != 0)
        return r;
    plan.id = a->words[0];
    if (is_terminal)
        return sandbox_terminal_run(w, &plan);
    JSON_OWNED env = sandbox_exec_env(a);
    plan.env = env;
    return sandbox_exec_run(w, &plan);
}

int cmd_sandbox_exec(const struct verbs_args *a)
{
    return exec_in(a, verbs_value(a, "tty") != NULL);
}

int cmd_sandbox_worker_exec(const struct verbs_args *a)
{
    bool is_alone = a->n_tail == 0 && isatty(STDIN_FILENO);
    return exec_in(a, verbs_value(a, "tty") != NULL || is_alone);
}

int cmd_sandbox_run(const struct verbs_args *a)
{
    CLEANUP(wire_close_p) struct wire *w = NULL;
    JSON_OWNED reply = NULL;
    JSON_OWNED stopped = NULL;
    struct sandbox_exec_plan plan;
    int r = exec_plan(a, &plan);
    if (r != 0)
        return r;
    if (a->n_tail == 0)
        return verbs_usage_error(a->verb, "no command was given: iii %s IMAGE -- CMD [ARG]...", a->verb->path);
    r = engine_connect_open(a, &w);
    if (r == 0)
        wire_on_interrupt(w);
    r = r ? r : sandbox_create(a, w, &reply);
    if (r != 0)
        return r;
    plan.id = json_get_str(reply, "sandbox_id", "");
    r = sandbox_exec_run(w, &plan);
    wire_calm(w); /* a second interrupt terminates us, the first one must not keep the sandbox alive */
    (void)engine_stop(w, plan.id, &stopped); /* a failure is printed; the command's exit code counts */
    return r;
}

/* --- list and stop --- */

int cmd_sandbox_list(const struct verbs_args *a)
{
    CLEANUP(wire_close_p) struct wire *w = NULL;
    JSON_OWNED reply = NULL;
    JSON_OWNED nothing = json_object();
    int r = engine_connect_open(a, &w);
    r = r ? r : engine_ask(w, "sandbox::list", nothing, CALL_WAIT_MS, &reply);
    if (r != 0)
        return r;
    const json_t *boxes = json_get(reply, "sandboxes");
    if (wants_json(a)) {
        display_json(reply, stdout);
        return 0;
    }
    printf("%s%-36s  %-10s  %8s  %s%s\n", display_on(stdout, DISPLAY_BOLD), "SANDBOX_ID", "IMAGE", "AGE_SECS", "NAME",
           display_off(stdout));
    for (size_t i = 0; i < json_array_size(boxes); i++) {
        const json_t *box = json_array_get(boxes, i);
        CLEANUP(free_p) char *id = display_clean(json_get_str(box, "sandbox_id", "?"));
        CLEANUP(free_p) char *image = display_clean(json_get_str(box, "image", "?"));
        CLEANUP(free_p) char *name = display_clean(json_get_str(box, "name", ""));
        printf("%-36s  %-10s  %8lld  %s\n", id, image, (long long)json_get_int(box, "age_secs", 0), name);
    }
    return 0;
}

int cmd_sandbox_stop(const struct verbs_args *a)
{
    CLEANUP(wire_close_p) struct wire *w = NULL;
    int r = engine_connect_open(a, &w), worst = r;
    for (int i = 0; r == 0 && i < a->n_words; i++) {
        JSON_OWNED reply = NULL;
        int one = engine_stop(w, a->words[i], &reply);
        if (one != 0)
            worst = one;
        else if (wants_json(a))
            display_json(reply, stdout);
        else
            printf("stopped %s\n", a->words[i]);
    }
    return worst;
}

void cmd_sandbox_each(const struct verbs_args *a, cmd_sandbox_each_fn *fn, void *arg)
{
    CLEANUP(wire_close_p) struct wire *w = NULL;
    JSON_OWNED reply = NULL;
    JSON_OWNED nothing = json_object();
    if (engine_connect_open(a, &w) != 0 || engine_ask(w, "sandbox::list", nothing, CALL_WAIT_MS, &reply) != 0)
        return;
    const json_t *boxes = json_get(reply, "sandboxes");
    for (size_t i = 0; i < json_array_size(boxes); i++) {
        const json_t *box = json_array_get(boxes, i);
        fn(arg, json_get_str(box, "sandbox_id", ""), json_get_str(box, "name", ""), json_get_str(box, "image", ""));
    }
}
