#include "sandbox/exec/command.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/strlist.h"
#include "guest/proto_user.h"
#include "sandbox/lifecycle/idle.h"
#include "sandbox/lifecycle/manager.h"

struct command {
    struct sandbox *s;
    struct guest_exec *exec;
    struct command_events ev;
    void *arg;
    struct command_result res;
    int64_t begun_us;
    char *input; /* what is left to write */
    size_t input_len, input_at;
    bool is_told;
};

static void free_command(struct command *c)
{
    buf_done(&c->res.out);
    buf_done(&c->res.err);
    idle_command_done(c->s);
    sandbox_unref(c->s);
    free(c->input);
    free(c);
}

char **command_argv(const json_t *command, struct err *err)
{
    char **argv = NULL;
    if (json_is_string(command) && json_string_length(command)) {
        strlist_add(&argv, "sh");
        strlist_add(&argv, "-c");
        strlist_add(&argv, json_string_value(command));
        return argv;
    }
    argv = strlist_from_json(command);
    if (!argv || !argv[0] || !*argv[0]) {
        (void)err_set(err, ERR_INVALID, 0, "command: expected a non-empty string or a non-empty list of strings");
        return strlist_free(argv);
    }
    return argv;
}

json_t *command_text(const json_t *command)
{
    if (json_is_string(command))
        return json_copy((json_t *)(uintptr_t)command);
    CLEANUP(free_p) char *joined = json_write(command, NULL);
    return json_string(joined);
}

int command_cwd(const struct sandbox *s, const char *cwd, const char **ret, struct err *err)
{
    if (!cwd || !*cwd) {
        *ret = sandbox_workdir(s);
        return 0;
    }
    if (cwd[0] != '/' || strstr(cwd, ".."))
        return err_set(err, ERR_INVALID, 0, "cwd: \"%.200s\" is not an absolute path without \"..\" (path traversal)",
                       cwd);
    *ret = cwd;
    return 0;
}

char **command_env(struct sandbox *s, const json_t *vars, struct err *err)
{
    const char *key;
    json_t *value;
    CLEANUP(strlist_free_p) char **env = strlist_copy((char *const *)(uintptr_t)sandbox_env(s));
    json_object_foreach((json_t *)(uintptr_t)vars, key, value)
    {
        if (!*key || strchr(key, '=')) {
            (void)err_set(err, ERR_INVALID, 0, "env: \"%.80s\" is not a name: it is empty or has a \"=\"", key);
            return NULL;
        }
        strlist_env_set(&env, key, json_string_value(value));
    }
    return STEAL(env);
}

_Static_assert(LIMIT_MAX(USER_BYTES) == PROTO_USER_MAX_BYTES,
               "a user that the table takes is one that the agent takes");
int command_user(const struct sandbox *s, const char *user, const char **ret, struct err *err)
{
    struct proto_user parsed;
    if (user && proto_user_parse(user, &parsed) < 0)
        return err_set(err, ERR_INVALID, 0,
                       "user: \"%.128s\" is not a name, a uid, or one of them with \":\" and a group or gid", user);
    *ret = user ? user : s->user;
    return 0;
}

static void on_started(void *arg, int pid)
{
    struct command *c = arg;
    if (c->ev.on_started)
        c->ev.on_started(c->arg, pid);
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

static void on_output(void *arg, int fd, const char *data, size_t len)
{
    struct command *c = arg;
    if (c->ev.on_output) {
        c->ev.on_output(c->arg, fd, data, len);
        return;
    }
    if (fd == 2)
        capture(&c->res.err, &c->res.is_err_cut, data, len);
    else
        capture(&c->res.out, &c->res.is_out_cut, data, len);
    guest_exec_credit(c->exec, len);
}

/* The agent sees only that a process was killed; whether the kernel's memory limit did it, the box's counters know. */
bool command_was_oom(struct sandbox *s, const struct guest_exit *ex)
{
    struct box_stats st = { 0 };
    if (ex->is_timeout ||
        (ex->signal != 9 && ex->code != 137)) /* not killed by the kernel: the OOM count is of another process */
        return false;
    if (!s->box || s->runtime->ops->stats(s->box, &st, NULL) < 0)
        return false;
    bool is_oom = st.oom_kills > s->oom_seen;
    s->oom_seen = st.oom_kills;
    return is_oom;
}

static void on_exited(void *arg, const struct guest_exit *ex)
{
    struct command *c = arg;
    c->exec = NULL;
    c->res.exit = *ex;
    c->res.exit.is_oom = ex->is_oom || command_was_oom(c->s, ex);
    c->res.duration_ms = (clock_mono_us() - c->begun_us + 999) / 1000;
    if (c->is_told)
        (void)event_log_emit(c->s->manager->events, "sandbox.exec", c->s->id,
                             json_pack("{s:i, s:I}", "exitCode", ex->code, "duration", (json_int_t)c->res.duration_ms));
    c->ev.on_done(c->arg, &c->res, NULL);
    free_command(c);
}

static void on_failed(void *arg, const struct err *err)
{
    struct command *c = arg;
    struct err why = *err;
    c->exec = NULL;
    if (why.code == ERR_NOT_FOUND && !c->s->is_gone)
        why.code = ERR_INVALID; /* the program or the folder is missing, not the sandbox */
    c->ev.on_done(c->arg, NULL, &why);
    free_command(c);
}

static const struct guest_exec_events exec_events = {
    .on_started = on_started, .on_output = on_output, .on_exit = on_exited, .on_failed = on_failed
};

static void write_input(void *arg)
{
    struct command *c = arg;
    while (c->input_at < c->input_len) {
        size_t n = guest_exec_write(c->exec, c->input + c->input_at, c->input_len - c->input_at);
        if (n == 0)
            return; /* on_writable calls again */
        c->input_at += n;
    }
    guest_exec_on_writable(c->exec, NULL, NULL);
    guest_exec_close_stdin(c->exec);
}

int command_start(struct sandbox *s, const struct command_plan *plan, const struct command_events *ev, void *arg,
                  struct command **ret, struct err *err)
{
    const char *cwd = NULL, *user = NULL;
    CLEANUP(strlist_free_p) char **owned = NULL;
    int r = sandbox_need_running(s, err);
    if (r == 0)
        r = command_cwd(s, plan->cwd, &cwd, err);
    if (r == 0)
        r = command_user(s, plan->user, &user, err);
    if (r == 0 && plan->command && !(owned = command_argv(plan->command, err)))
        r = -EINVAL;
    if (r < 0)
        return r;
    struct command *c = xzalloc(sizeof(*c));
    *c = (struct command){
        .s = sandbox_ref(s), .ev = *ev, .arg = arg, .begun_us = clock_mono_us(), .is_told = plan->is_told
    };
    bool is_endless = plan->is_endless && plan->timeout_ms <= 0;
    int64_t longest = plan->longest_ms ? plan->longest_ms : s->manager->settings->max_cmd_timeout_s * 1000;
    c->res.timeout_ms = plan->timeout_ms <= 0 || plan->timeout_ms > longest ? longest : plan->timeout_ms;
    idle_command(s, c->res.timeout_ms);
    buf_init(&c->res.out, plan->output_max ? plan->output_max : COMMAND_OUTPUT_MAX);
    buf_init(&c->res.err, plan->output_max ? plan->output_max : COMMAND_OUTPUT_MAX);
    struct guest_exec_plan gp = { .argv = owned ? (const char *const *)owned : plan->argv,
                                  .env = plan->env ? plan->env : sandbox_env(s),
                                  .cwd = cwd,
                                  .user = user,
                                  .flags = (plan->input || plan->has_stdin ? GUEST_EXEC_STDIN : 0u) |
                                           (plan->cols ? GUEST_EXEC_PTY : 0u) |
                                           (plan->waits_eof ? GUEST_EXEC_WAIT_EOF : 0u) |
                                           (plan->is_sftp ? GUEST_EXEC_SFTP : 0u),
                                  .cols = plan->cols,
                                  .rows = plan->rows,
                                  .timeout_ms = is_endless ? 0 : (uint32_t)c->res.timeout_ms };
    r = guest_exec_start(s->link, &gp, &exec_events, c, &c->exec, err);
    if (r < 0) {
        free_command(c);
        return r;
    }
    if (plan->input) {
        c->input = xzalloc(plan->input_len + 1);
        memcpy(c->input, plan->input, plan->input_len);
        c->input_len = plan->input_len;
        guest_exec_on_writable(c->exec, write_input, c);
        write_input(c);
    }
    if (ret)
        *ret = c;
    return 0;
}

void command_credit(struct command *c, size_t bytes)
{
    if (c->exec)
        guest_exec_credit(c->exec, bytes);
}

size_t command_write(struct command *c, const char *data, size_t len)
{
    return c->exec ? guest_exec_write(c->exec, data, len) : len;
}

void command_on_writable(struct command *c, loop_fn *fn, void *arg)
{
    guest_exec_on_writable(c->exec, fn, arg);
}

void command_close_stdin(struct command *c)
{
    if (c->exec)
        guest_exec_close_stdin(c->exec);
}

void command_resize(struct command *c, uint16_t cols, uint16_t rows)
{
    if (c->exec)
        guest_exec_resize(c->exec, cols, rows);
}

void command_signal(struct command *c, int signo)
{
    if (c->exec)
        guest_exec_signal(c->exec, signo);
}

void command_cancel(struct command *c)
{
    if (c->exec)
        guest_exec_drop(c->exec);
    free_command(c);
}

void command_kill(struct command *c)
{
    if (c->exec)
        guest_exec_signal(c->exec, SIGKILL);
}

void command_exit_json(const struct guest_exit *ex, json_t *into)
{
    const char *signal = ex->signal && !ex->is_timeout ? sigabbrev_np(ex->signal) : NULL;
    if (signal)
        (void)json_object_set_new(into, "signal", json_string(signal));
    (void)json_object_set_new(into, "timedOut", json_boolean(ex->is_timeout));
    (void)json_object_set_new(into, "oomKilled", json_boolean(ex->is_oom));
}

json_t *command_result_json(const struct command_result *res)
{
    json_t *j =
        json_pack("{s:i, s:o, s:o, s:I}", "exitCode", res->exit.is_timeout ? -1 : res->exit.code, "stdout",
                  json_text(buf_text(&res->out), res->out.len), "stderr", json_text(buf_text(&res->err), res->err.len),
                  "duration", (json_int_t)(res->duration_ms > 0 ? res->duration_ms : 1));
    (void)json_object_set_new(j, "userMs", json_integer((json_int_t)(res->exit.user_us / 1000)));
    (void)json_object_set_new(j, "systemMs", json_integer((json_int_t)(res->exit.system_us / 1000)));
    (void)json_object_set_new(j, "maxRssKb", json_integer((json_int_t)res->exit.max_rss_kb));
    (void)json_object_set_new(j, "stdoutTruncated", json_boolean(res->is_out_cut));
    (void)json_object_set_new(j, "stderrTruncated", json_boolean(res->is_err_cut));
    command_exit_json(&res->exit, j);
    return j;
}

int command_timeout_err(const struct command_result *res, struct err *err)
{
    if (res->exit.is_silent)
        return err_set(err, ERR_TIMEOUT, 0,
                       "command timed out after %lld ms, and the sandbox's agent did not end it: its processes may run "
                       "on until the sandbox is deleted",
                       (long long)res->timeout_ms);
    return err_set(err, ERR_TIMEOUT, 0, "command timed out after %lld ms; its processes were killed",
                   (long long)res->timeout_ms);
}
