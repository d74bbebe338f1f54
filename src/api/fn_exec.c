/* sandbox::exec: one command, its output captured, its slot counted. With `stream`, the write end of a channel, output
 * goes there while the command runs: binary frames, one byte 1 (stdout) or 2 (stderr) and then output; the channel is
 * closed after the last. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/fn.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/strlist.h"
#include "engine/channel_handle.h"
#include "engine/engine.h"
#include "sandbox/exec/command.h"

#define OUTPUT_MAX (1024u * 1024)
#define PIECE      32768 /* well below the size at which a channel cuts frames: each needs its first byte */

struct exec {
    struct call *c;
    struct sandbox *s;   /* a reference */
    struct command *cmd; /* NULL: it has ended */
    char **argv, **env;
    const char *workdir;
    int64_t timeout_ms, begun_us;
    struct buf input;
    struct channel_handle *out; /* NULL: output is captured, or its reader has left */
    size_t owed;                /* bytes to credit when the channel has room again */
    struct err failure;         /* why the command did not start, while its working directory is looked at */
    bool has_slot, is_streamed;
};

/* Frees the work and returns the call, for its response. */
static struct call *exec_free(struct exec *e)
{
    struct call *c = e->c;
    if (e->has_slot)
        e->s->slots--;
    channel_handle_finish(e->out);
    sandbox_unref(e->s);
    strlist_free(e->argv);
    strlist_free(e->env);
    buf_done(&e->input);
    free(e);
    return c;
}

static void exec_fail(struct exec *e)
{
    fn_fail_fault(exec_free(e));
}

static void on_room(void *arg)
{
    struct exec *e = arg;
    size_t owed = e->owed;
    e->owed = 0;
    if (owed && e->cmd)
        command_credit(e->cmd, owed);
}

/* The reader is gone: the command would hold its slot until the deadline. */
static void on_reader_gone(void *arg)
{
    struct exec *e = arg;
    e->out = NULL;
    if (e->cmd)
        command_kill(e->cmd);
    on_room(e);
}

static void on_output(void *arg, int fd, const char *data, size_t len)
{
    struct exec *e = arg;
    char frame[PIECE + 1];
    size_t queued = 0;
    e->owed += len;
    frame[0] = (char)(fd == 2 ? 2 : 1);
    while (len > 0 && e->out) {
        size_t n = len < PIECE ? len : PIECE;
        memcpy(frame + 1, data, n);
        queued = channel_handle_send(e->out, false, frame, n + 1);
        data += n;
        len -= n;
    }
    if (!e->out || queued <= CHANNEL_HANDLE_MARK)
        on_room(e); /* else when it has drained */
}

static json_t *texts(const struct buf *out, const struct buf *err)
{
    return json_pack("{s:o, s:o}", "stdout", json_text(buf_text(out), out->len), "stderr",
                     json_text(buf_text(err), err->len));
}

static void exec_reply(struct exec *e, const struct command_result *res)
{
    json_t *j = texts(&res->out, &res->err);
    (void)json_object_set_new(j, "exit_code", json_integer(res->exit.code));
    (void)json_object_set_new(j, "timed_out", json_false());
    (void)json_object_set_new(j, "duration_ms", json_integer((json_int_t)((clock_mono_us() - e->begun_us) / 1000)));
    (void)json_object_set_new(j, "success", json_boolean(res->exit.code == 0));
    (void)json_object_set_new(j, "stdout_truncated", json_boolean(res->is_out_cut));
    (void)json_object_set_new(j, "stderr_truncated", json_boolean(res->is_err_cut));
    if (e->is_streamed)
        (void)json_object_set_new(j, "streamed", json_true());
    call_ok(exec_free(e), j);
}

/* The contract: a program that cannot be started is an answer, as a shell gives it. */
static void answer_unstarted(struct exec *e)
{
    int sys = e->failure.sys;
    bool is_missing = sys == ENOENT || sys == ENOTDIR;
    struct command_result res = { .exit.code = is_missing ? 127 : 126, .out = BUF_INIT(1), .err = BUF_INIT(PATH_MAX) };
    (void)buf_addf(&res.err, "exec: %s: %s", e->argv[0],
                   is_missing       ? "not found"
                   : sys == ENOEXEC ? "exec format error"
                                    : "permission denied"); /* a name that is too long stays out */
    exec_reply(e, &res);
    buf_done(&res.err);
}

static void fault_workdir(struct exec *e)
{
    fn_fix_call(
        e->c, "sandbox::fs::mkdir",
        json_pack("{s:s, s:s, s:b}", "sandbox_id", call_fn(e->c)->sandbox_id, "path", e->workdir, "parents", true),
        NULL, FN_CALL("it makes the directory"));
    (void)fn_set_fault(e->c, "S211", "working directory not found: %s", e->workdir);
}

/* Finds out whether the program or the folder is missing: errno is the same, and the agent's text is untrusted. */
static void on_workdir_stat(void *arg, const struct guest_stat *st, size_t n, const struct err *err)
{
    struct exec *e = arg;
    (void)n;
    if (!err && (S_ISDIR(st->mode) || S_ISLNK(st->mode))) {
        answer_unstarted(e);
        return;
    }
    if (e->s->is_gone)
        (void)fn_set_fault(e->c, "S004", "sandbox already stopped: %s", call_fn(e->c)->sandbox_id);
    else if (!err || err->sys == ENOENT || err->sys == ENOTDIR)
        fault_workdir(e);
    else if (err->sys == EACCES)
        (void)fn_set_fault(e->c, "S215", "permission denied: %s", e->workdir);
    else
        (void)fn_set_fault(e->c, "S300", "the command could not be started: %s", e->failure.msg);
    exec_fail(e);
}

static void on_command_done(void *arg, const struct command_result *res, const struct err *err)
{
    struct exec *e = arg;
    const struct sandbox *s = e->s;
    e->cmd = NULL;
    if (res && !res->exit.is_timeout) {
        exec_reply(e, res);
        return;
    }
    if (res) {
        int64_t most = call_fn(e->c)->policy->max_exec_ms;
        if (e->timeout_ms < most)
            fn_fix(e->c, json_pack("{s:I}", "timeout_ms", (json_int_t)most),
                   FN_MERGE("the longest timeout_ms that the server allows") ", or split the work");
        (void)fn_set_fault(e->c, "S200", "exec timed out after %lldms", (long long)e->timeout_ms);
        call_fn(e->c)->fault.extra = texts(&res->out, &res->err);
    } else if (s->is_gone) {
        (void)fn_set_fault(e->c, "S004", "sandbox already stopped: %s", call_fn(e->c)->sandbox_id);
    } else if (s->link && (err->sys == ENOENT || err->sys == ENOTDIR || err->sys == EACCES || err->sys == ENOEXEC)) {
        e->failure = *err;
        if (strcmp(e->workdir, "/") == 0) {
            answer_unstarted(e);
            return;
        }
        if (guest_fs_stat(s->link, &e->workdir, 1, on_workdir_stat, e) == 0)
            return;
        (void)fn_set_fault(e->c, "S300", "the command could not be started: %s", err->msg);
    } else if (err->code == ERR_TIMEOUT) {
        (void)fn_set_fault(e->c, "S200", "exec timed out after %lldms: %s", (long long)e->timeout_ms, err->msg);
    } else if (s->why) {
        (void)fn_set_fault(e->c, "S300", "VM died during the exec: %s%s%s", s->why, s->words ? "\n" : "",
                           s->words ? s->words : "");
    } else {
        (void)fn_set_fault(e->c, "S300", "VM died or could not run the command: %s", err->msg);
    }
    exec_fail(e);
}

/* The sandbox's environment (its image's, its own), then what the call gives. */
static char **make_env(struct call *c, struct sandbox *s, const json_t *vars)
{
    char trace[SPAN_TEXT_MAX];
    char **env = strlist_copy((char *const *)(uintptr_t)sandbox_env(s));
    const char *name;
    json_t *value;
    if (call_traceparent(c, trace))
        strlist_env_set(&env, "TRACEPARENT", trace);
    json_object_foreach((json_t *)(uintptr_t)vars, name, value) strlist_env_set(&env, name, json_string_value(value));
    return env;
}

/* The order is the contract's: id, command, env, sandbox, slot, stdin, stream. */
static int prepare(struct exec *e)
{
    static const struct channel_handle_events events = { .on_end = on_reader_gone, .on_drain = on_room };
    struct err err = ERR_INIT;
    struct call *c = e->c;
    const struct fn_policy *policy = call_fn(c)->policy;
    JSON_OWNED vars = NULL;
    int r = fn_read_id(c);
    if (r == 0)
        r = fn_read_command(c, &e->argv);
    if (r == 0)
        r = fn_read_env(c, &vars);
    if (r < 0)
        return r;
    int64_t wanted_ms = call_int(c, "timeout_ms", LIMIT_DEFAULT(FN_EXEC_MS));
    e->timeout_ms = wanted_ms < 1 ? 1 : wanted_ms > policy->max_exec_ms ? policy->max_exec_ms : wanted_ms;
    if (e->timeout_ms != wanted_ms && json_get(call_params(c), "timeout_ms") &&
        call_warn(c, &err, "timeout_ms: %lld is not between 1 and %lld (max_exec_timeout_ms)", (long long)wanted_ms,
                  (long long)policy->max_exec_ms) < 0)
        return fn_set_fault(c, "S001", "invalid request: %s", err.msg);
    struct sandbox *s = fn_find(c);
    if (!s)
        return -EINVAL;
    e->s = sandbox_ref(s);
    e->workdir = *call_str(c, "workdir", "")             ? fn_path(c, "workdir")
                 : s->image_workdir && *s->image_workdir ? s->image_workdir
                                                         : "/";
    e->env = make_env(c, s, vars);
    if (s->slots >= policy->max_execs) {
        if (s->runtime->ops->caps(s->runtime).can_capture)
            fn_fix_call(c, "sandbox::clone", json_pack("{s:s}", "id", call_fn(c)->sandbox_id),
                        json_pack("{s:s}", "sandbox_id", "id"), NULL);
        return fn_set_fault(
            c, "S003",
            "sandbox %s already runs %lld command%s (max_concurrent_exec_per_sandbox); commands are not queued",
            call_fn(c)->sandbox_id, (long long)policy->max_execs, policy->max_execs == 1 ? "" : "s");
    }
    s->slots++;
    e->has_slot = true;
    r = fn_read_base64(c, "stdin", &e->input);
    const json_t *stream = json_get(call_params(c), "stream");
    if (r < 0 || !stream || !call_engine(c)) /* a step of sandbox::run has no caller of its own */
        return r;
    if (strcmp(json_get_str(stream, "direction", ""), "write") != 0)
        return fn_set_fault(c, "S001", "invalid request: stream must be the write end of a channel");
    if (engine_call_open_channel(call_engine(c), stream, &events, e, &e->out, &err) < 0)
        return fn_set_fault(c, "S001", "invalid request: stream: %s", err.msg);
    e->is_streamed = true;
    return 0;
}

void api_fn_exec(struct call *c)
{
    struct err err = ERR_INIT;
    struct exec *e = xzalloc(sizeof(*e));
    e->c = c;
    if (prepare(e) < 0) {
        exec_fail(e);
        return;
    }
    struct command_events events = { .on_output = e->is_streamed ? on_output : NULL, .on_done = on_command_done };
    struct command_plan plan = { .argv = (const char *const *)e->argv,
                                 .env = (const char *const *)e->env,
                                 .cwd = e->workdir,
                                 .timeout_ms = e->timeout_ms,
                                 .longest_ms = call_fn(c)->policy->max_exec_ms,
                                 .input = e->input.len ? e->input.data : NULL,
                                 .input_len = e->input.len,
                                 .output_max = OUTPUT_MAX,
                                 .is_told = true,
                                 .waits_eof = true };
    e->begun_us = clock_mono_us();
    if (command_start(e->s, &plan, &events, e, &e->cmd, &err) == 0)
        return;
    (void)fn_set_fault(c, err.code == ERR_INVALID ? "S001" : "S300", "the command cannot be sent: %s", err.msg);
    exec_fail(e);
}
