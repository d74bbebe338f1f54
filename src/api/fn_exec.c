/* sandbox::exec: one command, its output captured, its slot counted. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "api/fn_args.h"
#include "api/fn_handlers.h"
#include "api/fn_stream.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/strlist.h"

#define OUTPUT_MAX   (1024u * 1024)
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct exec {
    struct fn_call *c;
    struct sandbox *s; /* a reference */
    struct guest_exec *x;
    char **argv, **env;
    const char *workdir;
    int64_t timeout_ms, begun_us;
    struct buf input, out, err;
    size_t input_at;
    struct fn_stream *stream; /* output goes there as it comes; NULL: it is captured */
    size_t owed;              /* bytes to credit when the stream has room again */
    bool is_out_cut, is_err_cut, has_slot;
};

/* Ends the work and gives the call back, for its answer. */
static struct fn_call *exec_free(struct exec *e)
{
    struct fn_call *c = e->c;
    if (e->has_slot && !e->s->is_gone) {
        struct fn_box *b = fn_box(c->set, e->s);
        b->execs--;
        b->touched_us = clock_mono_us();
    }
    e->stream = fn_stream_finish(e->stream);
    sandbox_unref(e->s);
    strlist_free(e->argv);
    strlist_free(e->env);
    buf_done(&e->input);
    buf_done(&e->out);
    buf_done(&e->err);
    free(e);
    return c;
}

static void exec_fail(struct exec *e)
{
    fn_fail_fault(exec_free(e));
}

static void capture(struct buf *into, bool *is_cut, const char *data, size_t len)
{
    size_t room = into->max - into->len;
    if (len > room) {
        *is_cut = true;
        len = room;
    }
    if (len && buf_add(into, data, len) < 0)
        *is_cut = true;
}

static void on_room(void *arg)
{
    struct exec *e = arg;
    size_t owed = e->owed;
    e->owed = 0;
    if (owed)
        guest_exec_credit(e->x, owed);
}

/* Nobody watches any more: the command would hold its slot until the deadline. */
static void on_reader_gone(void *arg)
{
    struct exec *e = arg;
    guest_exec_signal(e->x, SIGKILL);
    on_room(e);
}

static void on_output(void *arg, int fd, const char *data, size_t len)
{
    struct exec *e = arg;
    if (e->stream) {
        e->owed += len;
        if (fn_stream_send(e->stream, fd, data, len))
            on_room(e);
        return;
    }
    if (fd == 2)
        capture(&e->err, &e->is_err_cut, data, len);
    else
        capture(&e->out, &e->is_out_cut, data, len);
    guest_exec_credit(e->x, len);
}

static json_t *texts(const struct exec *e)
{
    return json_pack("{s:o, s:o}", "stdout", json_text(buf_text(&e->out), e->out.len), "stderr",
                     json_text(buf_text(&e->err), e->err.len));
}

static void answer(struct exec *e, int code)
{
    json_t *j = texts(e);
    int64_t ms = (clock_mono_us() - e->begun_us) / 1000;
    (void)json_object_set_new(j, "exit_code", json_integer(code));
    (void)json_object_set_new(j, "timed_out", json_false());
    (void)json_object_set_new(j, "duration_ms", json_integer((json_int_t)ms));
    (void)json_object_set_new(j, "success", json_boolean(code == 0));
    (void)json_object_set_new(j, "stdout_truncated", json_boolean(e->is_out_cut));
    (void)json_object_set_new(j, "stderr_truncated", json_boolean(e->is_err_cut));
    if (e->stream)
        (void)json_object_set_new(j, "streamed", json_true());
    fn_ok(exec_free(e), j);
}

static void on_exit_code(void *arg, const struct guest_exit *ex)
{
    struct exec *e = arg;
    if (!ex->is_timeout) {
        answer(e, ex->code);
        return;
    }
    (void)fn_set_fault(e->c, "S200", "exec timed out after %lld ms", (long long)e->timeout_ms);
    e->c->fault.extra = texts(e);
    exec_fail(e);
}

/* The agent says "exec NAME" when the program is at fault, "change to directory NAME" when the folder is. */
static void on_failed(void *arg, const struct err *err)
{
    struct exec *e = arg;
    bool is_program = strncmp(err->msg, "exec ", 5) == 0;
    bool is_missing = err->sys == ENOENT || err->sys == ENOTDIR;
    if (e->s->is_gone) {
        (void)fn_set_fault(e->c, "S004", "sandbox already stopped: %s", e->c->sandbox_id);
        exec_fail(e);
    } else if (is_program && (is_missing || err->sys == EACCES || err->sys == ENOEXEC)) {
        (void)buf_addf(&e->err, "exec: %s: %s", e->argv[0],
                       is_missing            ? "not found"
                       : err->sys == ENOEXEC ? "exec format error"
                                             : "permission denied"); /* a name that is too long stays out */
        answer(e, is_missing ? 127 : 126);
    } else if (strncmp(err->msg, "change to directory ", 20) == 0) {
        (void)fn_set_fault(e->c, is_missing ? "S211" : "S215", "%s: %s",
                           is_missing ? "working directory not found" : "permission denied", e->workdir);
        exec_fail(e);
    } else if (err->code == ERR_TIMEOUT) {
        (void)fn_set_fault(e->c, "S200", "exec timed out after %lld ms: %s", (long long)e->timeout_ms, err->msg);
        exec_fail(e);
    } else if (e->s->why) {
        (void)fn_set_fault(e->c, "S300", "VM died during the exec: %s%s%s", e->s->why, e->s->words ? "\n" : "",
                           e->s->words ? e->s->words : "");
        exec_fail(e);
    } else {
        (void)fn_set_fault(e->c, "S300", "VM died or could not run the command: %s", err->msg);
        exec_fail(e);
    }
}

static void write_input(void *arg)
{
    struct exec *e = arg;
    while (e->input_at < e->input.len) {
        size_t n = guest_exec_write(e->x, e->input.data + e->input_at, e->input.len - e->input_at);
        if (n == 0)
            return; /* on_writable calls again */
        e->input_at += n;
    }
    guest_exec_on_writable(e->x, NULL, NULL);
    guest_exec_close_stdin(e->x);
}

/* PATH, then the sandbox's variables, then those of the call; the image's own do not count here. */
static char **make_env(const struct sandbox *s, json_t *vars)
{
    char **env = NULL;
    const char *name;
    json_t *value, *layers[] = { s->config.env, s->env, vars };
    strlist_env_set(&env, "PATH", DEFAULT_PATH);
    strlist_env_set(&env, "HOME", "/root");
    for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
        json_object_foreach(layers[i], name, value)
        {
            if (json_is_string(value))
                strlist_env_set(&env, name, json_string_value(value));
            else
                strlist_env_unset(env, name);
        }
    }
    return env;
}

static int take_slot(struct exec *e)
{
    struct fn_call *c = e->c;
    const struct fn_policy *p = c->policy;
    struct fn_box *b = fn_box(c->set, e->s);
    if (b->execs >= p->max_execs)
        return fn_set_fault(
            c, "S003",
            "sandbox %s already runs %lld commands (max_concurrent_exec_per_sandbox); commands are not queued",
            c->sandbox_id, (long long)p->max_execs);
    if (b->execs == 0 || b->exec_ms < p->max_exec_ms)
        b->exec_ms = p->max_exec_ms;
    b->execs++;
    e->has_slot = true;
    return 0;
}

static void launch(struct exec *e)
{
    static const struct guest_exec_events events = { .on_output = on_output,
                                                     .on_exit = on_exit_code,
                                                     .on_failed = on_failed };
    struct guest_exec_plan plan = { .argv = (const char *const *)e->argv,
                                    .env = (const char *const *)e->env,
                                    .cwd = e->workdir,
                                    .flags = GUEST_EXEC_WAIT_EOF | (e->input.len ? GUEST_EXEC_STDIN : 0u),
                                    .timeout_ms = (uint32_t)e->timeout_ms };
    struct err err = ERR_INIT;
    e->begun_us = clock_mono_us();
    if (guest_exec_start(e->s->link, &plan, &events, e, &e->x, &err) < 0) {
        (void)fn_set_fault(e->c, err.code == ERR_INVALID ? "S001" : "S300", "the command cannot be sent: %s", err.msg);
        exec_fail(e);
        return;
    }
    if (e->input.len) {
        guest_exec_on_writable(e->x, write_input, e);
        write_input(e);
    }
}

/* The order is the contract's: id, command, env, sandbox, slot, stdin. */
static int prepare(struct exec *e)
{
    struct fn_call *c = e->c;
    const char *input = "";
    int64_t max_ms = c->policy->max_exec_ms;
    JSON_OWNED vars = NULL;
    e->timeout_ms = max_ms;
    e->workdir = "/";
    int r = fn_args_id(c);
    if (r == 0)
        r = fn_args_command(c, &e->argv);
    if (r == 0)
        r = fn_args_env(c, &vars);
    if (r == 0)
        r = fn_args_int(c, "timeout_ms", 0, INT64_MAX, &e->timeout_ms);
    if (r == 0)
        r = fn_args_str(c, "stdin", 0, &input);
    if (r == 0 && *json_get_str(c->in, "workdir", "/") && json_get(c->in, "workdir"))
        r = fn_args_path(c, "workdir", &e->workdir);
    if (r < 0)
        return r;
    e->timeout_ms = e->timeout_ms < 1 ? 1 : e->timeout_ms > max_ms ? max_ms : e->timeout_ms;
    struct sandbox *s = fn_find(c);
    if (!s)
        return -EINVAL;
    e->s = sandbox_ref(s);
    e->env = make_env(s, vars);
    r = take_slot(e);
    if (r == 0)
        r = fn_args_base64(c, "stdin", &e->input);
    return r < 0 ? r : fn_stream_open(c, on_room, on_reader_gone, e, &e->stream);
}

void fn_exec_start(struct fn_call *c)
{
    struct exec *e = xzalloc(sizeof(*e));
    e->c = c;
    buf_init(&e->out, OUTPUT_MAX);
    buf_init(&e->err, OUTPUT_MAX);
    if (prepare(e) < 0)
        exec_fail(e);
    else
        launch(e);
}
