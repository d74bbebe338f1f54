/* Theory of operation. A client opens GET /sandboxes/:id/exec/attach as a WebSocket and sends, as its first message,
 * what to run (fields_exec_attach_plan). From then on a struct attach joins the connection and the command:
 *
 *   client  text    the plan; then {"type":"resize"|"eof"|"signal"}
 *           binary  standard input
 *   server  text    {"type":"started","pid","warnings"?}, {"type":"exit","code",…}, {"type":"error","error","status"}
 *           binary  a byte, 1 for standard output and 2 for standard error, then output
 *
 * Output is credited to the agent while the client's queue is short, otherwise when it has drained: a command waits for
 * a slow reader. Input that exceeds the agent's credit waits in `input`, and reading from the client is paused.
 * Whichever side ends first ends the other: a client that disconnects kills the command; an exit is told, then the
 * connection is closed. The set owns all of them and bounds their number. */
#include "api/attach.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "api/handlers.h"
#include "base/alloc.h"
#include "base/list.h"
#include "base/share.h"
#include "base/strlist.h"
#include "base/warnings.h"
#include "http/ws.h"
#include "http/ws_closing.h"
#include "sandbox/exec/command.h"
#include "spec/fields.h"

enum {
    MESSAGE_MAX = 1 << 20,
    FULL_BYTES = 1 << 20,
    PIECE = 65536,
    PATIENCE_MS = 10000, /* for the first message */
    EXIT_NOT_FOUND = 127,
    EXIT_NOT_EXECUTABLE = 126,
};

struct attach {
    struct attach *next;
    struct attach_set *set;
    struct sandbox *s; /* holds a reference */
    struct ws *ws;
    struct command *cmd; /* NULL: not started yet */
    struct timer *patience;
    struct buf input; /* what the agent has no credit for */
    size_t charged;   /* of it, to the tenant's bytes in flight */
    json_t *warnings; /* of the plan; NULL: none */
    size_t owed;      /* bytes of output that are not credited yet */
    bool is_full, is_eof;
    char token_id[IDENT_MAX], trace[SPAN_TEXT_MAX];
};
struct attach_set {
    struct api *api;
    struct attach *all;
    struct share *share;
    struct ws_closing *parting;
};

/* --- the end --- */

static void charge_input(struct attach *a)
{
    share_give(a->set->api->in_flight, a->s->tenant, a->charged);
    share_add(a->set->api->in_flight, a->s->tenant, a->input.len);
    a->charged = a->input.len;
}

/* Closes the connection if it is still there, and frees a; its command has ended or is killed here. */
static void attach_end(struct attach *a, int code, const char *reason)
{
    LIST_TAKE(a->set->all, a);
    share_give(a->set->share, a->s->tenant, 1);
    if (a->cmd)
        command_cancel(a->cmd);
    if (a->ws)
        ws_closing_add(a->set->parting, a->ws, code, reason);
    timer_free(a->patience);
    buf_clear(&a->input);
    charge_input(a);
    buf_done(&a->input);
    json_decref(a->warnings);
    sandbox_unref(a->s);
    free(a);
}

static void send_json(struct attach *a, json_t *message)
{
    size_t len;
    CLEANUP(free_p) char *text = json_write(message, &len);
    (void)ws_send(a->ws, true, text, len);
    json_decref(message);
}

static void attach_fail(struct attach *a, const struct err *err)
{
    bool is_program = strncmp(err->msg, "exec ", 5) == 0; /* not its folder or user */
    bool is_missing = err->sys == ENOENT || err->sys == ENOTDIR;
    bool is_ours = !is_missing && err->sys != EACCES && err->sys != ENOEXEC && err->sys != EISDIR;
    int exit_code = is_ours ? 0 : is_program && is_missing ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
    json_t *message = json_pack("{s:s, s:o, s:i}", "type", "error", "error", json_text(err->msg, strlen(err->msg)),
                                "status", err_status(err->code));
    if (exit_code && !a->s->is_gone)
        (void)json_object_set_new(message, "exitCode", json_integer(exit_code));
    send_json(a, message);
    attach_end(a, 1000, "failed");
}

/* --- the command --- */

static void on_started(void *arg, int pid)
{
    struct attach *a = arg;
    send_json(a, json_pack("{s:s, s:i, s:O*}", "type", "started", "pid", pid, "warnings", a->warnings));
}

static void on_output(void *arg, int fd, const char *data, size_t len)
{
    struct attach *a = arg;
    char frame[PIECE + 1];
    a->owed += len;
    frame[0] = fd == 2 ? 2 : 1;
    while (len > 0) {
        size_t n = len < PIECE ? len : PIECE;
        memcpy(frame + 1, data, n);
        a->is_full |= ws_send(a->ws, false, frame, n + 1) > FULL_BYTES;
        data += n;
        len -= n;
    }
    if (a->is_full)
        return;
    command_credit(a->cmd, a->owed);
    a->owed = 0;
}

static void on_done(void *arg, const struct command_result *res, const struct err *err)
{
    struct attach *a = arg;
    a->cmd = NULL;
    if (!res) {
        attach_fail(a, err);
        return;
    }
    json_t *message =
        json_pack("{s:s, s:i, s:I}", "type", "exit", "code", res->exit.code, "duration", (json_int_t)res->duration_ms);
    command_exit_json(&res->exit, message);
    send_json(a, message);
    attach_end(a, 1000, "exit");
}

static void feed_rest(void *arg)
{
    struct attach *a = arg;
    buf_consume(&a->input, command_write(a->cmd, buf_text(&a->input), a->input.len));
    charge_input(a);
    if (a->input.len)
        return;
    if (a->is_eof)
        command_close_stdin(a->cmd);
    else
        ws_hold(a->ws, false);
}

static void feed(struct attach *a, const char *data, size_t len)
{
    size_t sent = a->input.len ? 0 : command_write(a->cmd, data, len);
    if (sent == len || a->is_eof)
        return;
    if (!share_has_room(a->set->api->in_flight, a->s->tenant, len - sent)) {
        attach_end(a, 1013, "too many bytes are in flight for this tenant: try again");
    } else if (buf_add(&a->input, data + sent, len - sent) < 0) {
        attach_end(a, 1009, "input is sent faster than it is read");
    } else {
        charge_input(a);
        ws_hold(a->ws, true);
    }
}

/* --- what the client says --- */

static int start(struct attach *a, json_t *plan, struct err *err)
{
    static const struct op checked = { .fields = fields_exec_attach_plan };
    static const struct command_events events = { .on_started = on_started,
                                                  .on_output = on_output,
                                                  .on_done = on_done };
    static const char *const shell[] = { "/bin/sh", NULL }, *const sftp[] = { "sftp-server", NULL };
    const struct settings *set = a->s->manager->settings;
    if (spec_check(&checked, plan, set, &a->warnings, err) < 0 ||
        (set->strict && warnings_refuse(a->warnings, err) < 0))
        return -EINVAL;
    bool is_tty = json_get_bool(plan, "tty", false);
    CLEANUP(strlist_free_p) char **env = command_env(a->s, json_get(plan, "env"), err);
    if (!env)
        return -EINVAL;
    if (*a->trace && !strlist_env_get(env, "TRACEPARENT"))
        strlist_env_set(&env, "TRACEPARENT", a->trace);
    if (is_tty && !strlist_env_get(env, "TERM"))
        strlist_env_set(&env, "TERM", "xterm-256color");
    const json_t *command = json_get(plan, "command");
    bool is_sftp = !command && json_get(plan, "subsystem");
    bool has_own = json_get_bool(plan, "imageCommand", false) && a->s->image_command && a->s->image_command[0];
    struct command_plan how = { .command = command,
                                .argv = command   ? NULL
                                        : is_sftp ? sftp
                                        : has_own ? (const char *const *)a->s->image_command
                                                  : shell,
                                .cwd = json_get_str(plan, "cwd", NULL),
                                .user = json_get_str(plan, "user", NULL),
                                .env = (const char *const *)env,
                                .timeout_ms = (int64_t)(json_get_num(plan, "timeout", 0) * 1000 + 0.5),
                                .longest_ms = LIMIT_MAX(COMMAND_TIMEOUT_S) * 1000LL,
                                .cols = is_tty ? (uint16_t)json_get_int(plan, "cols", LIMIT_DEFAULT(TERMINAL_COLS)) : 0,
                                .rows = is_tty ? (uint16_t)json_get_int(plan, "rows", LIMIT_DEFAULT(TERMINAL_ROWS)) : 0,
                                .has_stdin = json_get_bool(plan, "stdin", is_tty),
                                .is_sftp = is_sftp,
                                .is_endless = true,
                                .is_told = true };
    int r = command_start(a->s, &how, &events, a, &a->cmd, err);
    if (r == 0)
        command_on_writable(a->cmd, feed_rest, a);
    return r;
}

static void obey(struct attach *a, const json_t *message)
{
    static const struct {
        const char *name;
        int signo;
    } signals[] = { { "INT", SIGINT },   { "TERM", SIGTERM }, { "HUP", SIGHUP },  { "QUIT", SIGQUIT },
                    { "KILL", SIGKILL }, { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 } };
    const char *type = json_get_str(message, "type", ""), *wanted = json_get_str(message, "signal", "");
    if (strcmp(type, "resize") == 0) {
        int64_t cols = json_get_int(message, "cols", 0), rows = json_get_int(message, "rows", 0);
        if (cols >= LIMIT_MIN(TERMINAL_COLS) && cols <= LIMIT_MAX(TERMINAL_COLS) && rows >= LIMIT_MIN(TERMINAL_ROWS) &&
            rows <= LIMIT_MAX(TERMINAL_ROWS))
            command_resize(a->cmd, (uint16_t)cols, (uint16_t)rows);
    } else if (strcmp(type, "eof") == 0 && !a->is_eof) {
        a->is_eof = true;
        if (a->input.len == 0)
            command_close_stdin(a->cmd);
    } else if (strcmp(type, "signal") == 0) {
        for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
            if (strcmp(signals[i].name, wanted) == 0)
                command_signal(a->cmd, signals[i].signo);
    }
}

static void on_message(void *arg, struct ws *w, bool is_text, const char *data, size_t len)
{
    struct attach *a = arg;
    struct err err = ERR_INIT;
    JSON_OWNED message = NULL;
    (void)w;
    if (a->cmd && !is_text) {
        feed(a, data, len);
        return;
    }
    if (!is_text || json_read(data, len, &message, NULL) < 0 || !json_is_object(message))
        (void)err_set(&err, ERR_INVALID, 0, "the first message must be a JSON object with the command");
    if (a->cmd) {
        obey(a, message);
        return;
    }
    a->patience = timer_free(a->patience);
    if (err.code || start(a, message, &err) < 0)
        attach_fail(a, &err);
}

static void on_close(void *arg, struct ws *w, int code, const char *reason)
{
    struct attach *a = arg;
    (void)w, (void)code, (void)reason;
    a->ws = NULL;
    attach_end(a, 0, "");
}

static void on_drain(void *arg, struct ws *w)
{
    struct attach *a = arg;
    (void)w;
    a->is_full = false;
    if (a->cmd)
        command_credit(a->cmd, a->owed);
    a->owed = 0;
}

static void on_silence(void *arg)
{
    attach_end(arg, 1008, "no command within 10 s");
}

/* --- all of them --- */

static int check_room(const struct attach_set *set, const struct sandbox *s, struct err *err)
{
    size_t here = 0;
    for (const struct attach *a = set->all; a; a = a->next)
        here += a->s == s;
    if (here >= ATTACH_BOX_MAX)
        return err_set(err, ERR_RATE_LIMITED, 0, "limit of %d attached commands of %s reached: let one end",
                       ATTACH_BOX_MAX, s->id);
    return share_has_room(set->share, "", 1) && share_has_room(set->share, s->tenant, 1)
               ? 0
               : err_set(err, ERR_CAPACITY, 0,
                         "limit of %d attached commands, or %d of one tenant, reached: try again later", ATTACH_MAX,
                         ATTACH_MAX / SHARE_PARTS);
}

void api_exec_attach(struct call *c)
{
    static const struct ws_events events = { .on_message = on_message, .on_close = on_close, .on_drain = on_drain };
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_running(c);
    struct attach_set *set = call_api(c)->attached;
    if (!s)
        return;
    if (check_room(set, s, &err) < 0) {
        call_fail(c, &err);
        return;
    }
    struct attach *a = xzalloc(sizeof(*a));
    *a = (struct attach){ .set = set, .s = sandbox_ref(s), .input = BUF_INIT(2 * MESSAGE_MAX) };
    (void)call_traceparent(c, a->trace);
    (void)snprintf(a->token_id, sizeof(a->token_id), "%s", call_who(c) ? call_who(c)->id : "");
    share_add(set->share, s->tenant, 1);
    a->next = set->all;
    set->all = a;
    a->patience = timer_new(call_loop(c), PATIENCE_MS, 0, on_silence, a);
    int r = ws_accept(call_loop(c), call_http(c), MESSAGE_MAX, &events, a, &a->ws);
    if (r < 0)
        attach_end(a, 0, "");
    else
        ws_charge(a->ws, set->api->in_flight, s->tenant);
    call_taken(c, r < 0 ? 400 : 101);
}

static void end_those_of(struct attach_set *set, const char *token_id, int code, const char *why)
{
    for (struct attach *next, *a = set->all; a; a = next) {
        next = a->next;
        if (!token_id || strcmp(a->token_id, token_id) == 0)
            attach_end(a, code, why);
    }
}

void attach_end_of(struct attach_set *set, const char *token_id)
{
    end_those_of(set, token_id, 1008, "the token was revoked");
}

void attach_stop(struct attach_set *set)
{
    end_those_of(set, NULL, 1001, "the server stops");
}

struct attach_set *attach_set_new(struct api *a)
{
    struct attach_set *set = xzalloc(sizeof(*set));
    set->api = a;
    set->share = share_new(ATTACH_MAX);
    set->parting = ws_closing_new();
    return set;
}

struct attach_set *attach_set_free(struct attach_set *set)
{
    if (!set)
        return NULL;
    attach_stop(set);
    ws_closing_free(set->parting);
    share_free(set->share);
    free(set);
    return NULL;
}
