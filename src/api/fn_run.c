/* sandbox::run: create, write, exec and stop as steps of one call. A step's failure is told with the step's name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/access.h"
#include "api/fn_args.h"
#include "api/fn_gateway.h"
#include "api/fn_handlers.h"
#include "base/alloc.h"
#include "base/log.h"

struct run {
    struct fn_call *c;
    const char *step;
    const char *program;
    char *file;
    json_t *files; /* borrowed */
    size_t next_file;
    bool is_kept;
};

static const struct {
    const char *lang, *program, *ext;
} langs[] = { { "node", "node", "js" },      { "js", "node", "js" },     { "javascript", "node", "js" },
              { "python", "python3", "py" }, { "py", "python3", "py" },  { "shell", "/bin/sh", "sh" },
              { "sh", "/bin/sh", "sh" },     { "bash", "/bin/sh", "sh" } };

/* Ends what must not stay and gives the call back, for its answer. */
static struct fn_call *run_free(struct run *r)
{
    struct fn_call *c = r->c;
    struct err err = ERR_INIT;
    struct sandbox *s = *c->sandbox_id ? access_sandbox(c->set->manager, c->who, c->sandbox_id, &err) : NULL;
    if (s && !r->is_kept && manager_kill(c->set->manager, s, "sandbox.killed", &err) < 0)
        log_event(LOG_WARN, "sandbox.run", "id", c->sandbox_id, "error", err.msg, "then", "the reaper tries again",
                  NULL);
    free(r->file);
    free(r);
    return c;
}

static void run_fail(struct run *r, const struct fn_fault *inner)
{
    struct fn_call *c = r->c;
    CLEANUP(free_p) char *context = xasprintf("during sandbox::run step `%s`", r->step);
    (void)fn_set_fault(c, inner->code, "%s (sandbox %s): %s", context, *c->sandbox_id ? c->sandbox_id : "none yet",
                       inner->message);
    c->fault.fix =
        json_pack("{s:s, s:s, s:s}", "context", context, "sandbox_id", c->sandbox_id, "inner_code", inner->code);
    c->fault.has_no_note = true;
    c->fault.extra = json_incref(inner->extra);
    fn_fail_fault(run_free(r));
}

static void on_executed(void *arg, json_t *result, const struct fn_fault *fault)
{
    struct run *r = arg;
    if (fault) {
        run_fail(r, fault);
        return;
    }
    json_t *answer = json_copy(result);
    if (r->is_kept)
        (void)json_object_set_new(answer, "sandbox_id", json_string(r->c->sandbox_id));
    fn_ok(run_free(r), answer);
}

/* The values of env were rewritten at boot; the same ones here would undo that. */
static json_t *exec_env(struct fn_call *c)
{
    json_t *env = NULL;
    bool has_network = json_get_bool(c->in, "network", false);
    if (has_network && fn_args_env(c, &env) == 0)
        fn_gateway_rewrite(env);
    return env ? env : json_incref(json_get(c->in, "env"));
}

static void pass_on(json_t *to, const json_t *from, const char *const *keys)
{
    for (; *keys; keys++)
        if (json_get(from, *keys))
            (void)json_object_set(to, *keys, json_get(from, *keys));
}

static void exec_code(struct run *r)
{
    static const char *const keys[] = { "stdin", "timeout_ms", "workdir", NULL };
    struct fn_call *c = r->c;
    json_t *in = json_pack("{s:s, s:[s,s]}", "sandbox_id", c->sandbox_id, "argv", r->program, r->file);
    pass_on(in, c->in, keys);
    json_t *env = exec_env(c);
    if (env)
        (void)json_object_set_new(in, "env", env);
    r->step = "exec";
    fn_step(c, "sandbox::exec", in, on_executed, r);
}

static void on_code_written(void *arg, json_t *result, const struct fn_fault *fault)
{
    (void)result;
    if (fault)
        run_fail(arg, fault);
    else
        exec_code(arg);
}

static void on_file_written(void *arg, json_t *result, const struct fn_fault *fault);

static void write_next(struct run *r)
{
    struct fn_call *c = r->c;
    const json_t *file = json_array_get(r->files, r->next_file++);
    json_t *path = file ? json_get(file, "path") : NULL,
           *content = json_get(file ? file : c->in, file ? "content" : "code");
    json_t *in = json_pack("{s:s, s:O, s:s, s:b}", "sandbox_id", c->sandbox_id, "content", content, "mode", "0644",
                           "parents", true);
    (void)json_object_set_new(in, "path", path ? json_incref(path) : json_string(r->file));
    r->step = file ? "fs::write (sibling file)" : "fs::write (code)";
    fn_step(c, "sandbox::fs::write", in, file ? on_file_written : on_code_written, r);
}

static void on_file_written(void *arg, json_t *result, const struct fn_fault *fault)
{
    (void)result;
    if (fault)
        run_fail(arg, fault);
    else
        write_next(arg);
}

static void on_created(void *arg, json_t *result, const struct fn_fault *fault)
{
    struct run *r = arg;
    if (fault) {
        run_fail(r, fault);
        return;
    }
    (void)uuid_parse(json_get_str(result, "sandbox_id", ""), r->c->sandbox_id);
    write_next(r);
}

static int check_files(struct run *r)
{
    json_t *file;
    size_t i;
    r->files = json_get(r->c->in, "files");
    if (r->files && !json_is_array(r->files))
        return fn_set_fault(r->c, "S001", "invalid request: `files` must be a list of {path, content}");
    json_array_foreach(r->files, i, file)
    {
        const json_t *content = json_get(file, "content");
        bool is_text = json_is_string(content) || json_is_number(content) || json_is_boolean(content);
        if (!json_is_string(json_get(file, "path")) || !is_text)
            return fn_set_fault(r->c, "S001", "invalid request: `files[%zu]` must be {path, content}, both strings", i);
    }
    return 0;
}

static int choose_program(struct run *r, const char *lang, const char *image)
{
    const char *ext = "txt";
    if (!lang && !fn_policy_is_preset(image))
        return fn_set_fault(r->c, "S001", "invalid request: missing field `lang` (python, node, shell, or a program)");
    lang = lang ? lang : image;
    r->program = lang;
    for (size_t i = 0; i < sizeof(langs) / sizeof(langs[0]); i++)
        if (strcmp(langs[i].lang, lang) == 0) {
            r->program = langs[i].program;
            ext = langs[i].ext;
        }
    if (!*lang)
        return fn_set_fault(r->c, "S001", "invalid request: `lang` is empty");
    r->file = xasprintf("/tmp/run.%s", ext);
    return 0;
}

static int prepare(struct run *r)
{
    struct fn_call *c = r->c;
    const char *image = NULL, *code = NULL, *lang = NULL, *input = NULL;
    bool has_network = false;
    int e = fn_args_str(c, "image", FN_ARG_REQUIRED, &image);
    if (e == 0)
        e = fn_args_str(c, "code", FN_ARG_REQUIRED | FN_ARG_SCALAR | FN_ARG_ANY_BYTES, &code);
    if (e == 0)
        e = fn_args_str(c, "lang", 0, &lang);
    if (e == 0)
        e = fn_args_str(c, "stdin", 0, &input);
    if (e == 0)
        e = fn_args_bool(c, "keep_sandbox", &r->is_kept);
    if (e == 0)
        e = fn_args_bool(c, "network", &has_network);
    if (e == 0)
        e = fn_args_env_shape(c);
    if (e == 0)
        e = choose_program(r, lang, image);
    return e < 0 ? e : check_files(r);
}

void fn_run_start(struct fn_call *c)
{
    static const char *const keys[] = { "image", "env", "cpus", "memory_mb", "name", "network", "idle_timeout_secs",
                                        NULL };
    struct run *r = xzalloc(sizeof(*r));
    r->c = c;
    r->step = "create";
    if (prepare(r) < 0) {
        fn_fail_fault(run_free(r));
        return;
    }
    json_t *in = json_object();
    pass_on(in, c->in, keys);
    fn_step(c, "sandbox::create", in, on_created, r);
}
