/* sandbox::run: create, write, exec and stop as steps of one call. A step's failure is reported with the step's name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/access.h"
#include "api/fn.h"
#include "api/fn_gateway.h"
#include "base/alloc.h"
#include "base/log.h"

struct run {
    struct call *c;
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

/* Stops what must not stay and returns the call, for its response. */
static struct call *run_free(struct run *r)
{
    struct call *c = r->c;
    struct err err = ERR_INIT;
    struct sandbox *s =
        *call_fn(c)->sandbox_id ? access_sandbox(call_manager(c), call_who(c), call_fn(c)->sandbox_id, &err) : NULL;
    if (s && !r->is_kept && manager_kill(call_manager(c), s, "sandbox.killed", &err) < 0)
        log_event(LOG_WARN, "sandbox.run", "id", call_fn(c)->sandbox_id, "error", err.msg, "then",
                  "the reaper tries again", NULL);
    free(r->file);
    free(r);
    return c;
}

/* status and body of a step: an answer, or an envelope. */
static bool is_failed(struct run *r, int status, const json_t *body)
{
    struct call *c = r->c;
    struct fn_part *p = call_fn(c);
    if (status < 400)
        return false;
    const char *code = fn_code(json_get_str(body, "code", ""));
    CLEANUP(free_p) char *context = xasprintf("during sandbox::run step `%s`", r->step);
    (void)fn_set_fault(c, code, "%s (sandbox %s): %s", context, *p->sandbox_id ? p->sandbox_id : "none yet",
                       json_get_str(body, "message", ""));
    p->fault.fix = json_pack("{s:s, s:s, s:s}", "context", context, "sandbox_id", p->sandbox_id, "inner_code", code);
    /* Its sandbox may be gone, and its own fields are not those of this call: of a step's cure, what merges holds. */
    json_t *cure = json_get(body, "fix");
    if (json_is_object(cure) && (!json_get(cure, "call") || strcmp(r->step, "create") == 0))
        (void)json_object_set(p->fault.fix, "inner_fix", cure);
    p->fault.has_no_note = true;
    p->fault.extra = json_copy((json_t *)(uintptr_t)body); /* what the envelope has itself is not taken from it */
    fn_fail_fault(run_free(r));
    return true;
}

static void on_executed(void *arg, int status, json_t *body)
{
    struct run *r = arg;
    if (is_failed(r, status, body))
        return;
    json_t *answer = json_copy(body);
    if (r->is_kept)
        (void)json_object_set_new(answer, "sandbox_id", json_string(call_fn(r->c)->sandbox_id));
    call_ok(run_free(r), answer);
}

static void pass_on(json_t *to, const json_t *from, const char *const *keys)
{
    for (; *keys; keys++)
        if (json_get(from, *keys))
            (void)json_object_set(to, *keys, json_get(from, *keys));
}

static void on_code_written(void *arg, int status, json_t *body)
{
    static const char *const keys[] = { "stdin", "timeout_ms", "workdir", "env", NULL };
    struct run *r = arg;
    struct call *c = r->c;
    json_t *env = NULL;
    if (is_failed(r, status, body))
        return;
    json_t *in = json_pack("{s:s, s:[s,s]}", "sandbox_id", call_fn(c)->sandbox_id, "argv", r->program, r->file);
    pass_on(in, call_params(c), keys);
    /* The values of env were rewritten at boot; the same ones here would undo that. */
    if (call_bool(c, "network", false) && fn_read_env(c, &env) == 0) {
        fn_gateway_rewrite(env);
        (void)json_object_set_new(in, "env", env);
    }
    r->step = "exec";
    call_step(c, OP_ID_fn_exec, in, on_executed, r);
}

static void on_file_written(void *arg, int status, json_t *body);

static void write_next(struct run *r)
{
    struct call *c = r->c;
    const json_t *file = json_array_get(r->files, r->next_file++);
    json_t *path = file ? json_get(file, "path") : NULL,
           *content = json_get(file ? file : call_params(c), file ? "content" : "code");
    json_t *in = json_pack("{s:s, s:O, s:s, s:b}", "sandbox_id", call_fn(c)->sandbox_id, "content", content, "mode",
                           "0644", "parents", true);
    (void)json_object_set_new(in, "path", path ? json_incref(path) : json_string(r->file));
    r->step = file ? "fs::write (sibling file)" : "fs::write (code)";
    call_step(c, OP_ID_fn_write, in, file ? on_file_written : on_code_written, r);
}

static void on_file_written(void *arg, int status, json_t *body)
{
    if (!is_failed(arg, status, body))
        write_next(arg);
}

static void on_created(void *arg, int status, json_t *body)
{
    struct run *r = arg;
    if (is_failed(r, status, body))
        return;
    const struct sandbox *s = manager_find(call_manager(r->c), json_get_str(body, "sandbox_id", ""), NULL);
    (void)uuid_parse(json_get_str(body, "sandbox_id", ""), call_fn(r->c)->sandbox_id);
    if (s)
        call_set_sandbox(r->c, s->id);
    (void)call_warn_all(r->c, json_get(body, "warnings"), NULL); /* the step itself refuses them when strict */
    write_next(r);
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

void api_fn_run(struct call *c)
{
    static const char *const keys[] = { "image", "env", "cpus", "memory_mb", "name", "network", "idle_timeout_secs",
                                        NULL };
    struct run *r = xzalloc(sizeof(*r));
    r->c = c;
    r->step = "create";
    r->files = json_get(call_params(c), "files");
    r->is_kept = call_bool(c, "keep_sandbox", false);
    if (fn_check_env(c) < 0 || choose_program(r, call_str(c, "lang", NULL), call_str(c, "image", "")) < 0) {
        fn_fail_fault(run_free(r));
        return;
    }
    json_t *in = json_object();
    pass_on(in, call_params(c), keys);
    call_step(c, OP_ID_fn_create, in, on_created, r);
}
