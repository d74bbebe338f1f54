/* Theory of operation. exec_session_run() dials the WebSocket, sends the plan and runs a private loop until the server
 * has told how the command ended, or the connection is gone. Standard input is read when it is readable; a regular
 * file, which cannot be watched, is read whenever the send queue has room. The terminal is raw from the start of the
 * command until the end. A first SIGINT is passed on; a second one, SIGTERM and SIGHUP end the connection, and with it
 * the command. */
#include "cli/exec_session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/engine_connect.h"
#include "cli/raw_terminal.h"
#include "http/ws.h"
#include "loop/loop.h"
#include "os/write_all.h"

enum { MESSAGE_MAX = 1 << 20, FULL_BYTES = 1 << 20, PIECE = 65536, EXIT_NO_PROGRAM = 127, EXIT_SIGNALLED = 128 };

struct session {
    const struct exec_session_plan *plan;
    struct loop *loop;
    struct ws *ws;       /* NULL: closed */
    struct watch *input; /* NULL: not readable now, or a file */
    struct raw_terminal tty;
    bool is_file, is_started, is_fed, is_interrupted;
    int exit_code; /* -1: not known */
    char why[300]; /* of a failure */
};

void exec_session_plan_done(struct exec_session_plan *p)
{
    json_decref(p->command);
    json_decref(p->env);
}

static void session_end(struct session *s, int code)
{
    if (s->exit_code < 0)
        s->exit_code = code;
    s->input = watch_free(s->input);
    loop_stop(s->loop);
}

static void say(struct session *s, json_t *message)
{
    size_t len;
    CLEANUP(free_p) char *text = json_write(message, &len);
    if (s->ws)
        (void)ws_send(s->ws, true, text, len);
    json_decref(message);
}

/* --- standard input --- */

static void on_readable(void *arg, int events);

/* One piece. False: no more for now. */
static bool feed_piece(struct session *s)
{
    char piece[PIECE];
    ssize_t n = read(STDIN_FILENO, piece, sizeof(piece));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n > 0)
        return ws_send(s->ws, false, piece, (size_t)n) <= FULL_BYTES;
    s->is_fed = true;
    s->input = watch_free(s->input);
    if (s->plan->is_tty)
        session_end(s, EXIT_SIGNALLED + SIGHUP); /* our own terminal is gone */
    else
        say(s, json_pack("{s:s}", "type", "eof"));
    return false;
}

static void feed(struct session *s)
{
    if (s->is_fed || !s->ws || !s->is_started)
        return;
    while (s->is_file && feed_piece(s))
        ;
    if (s->is_file || s->input)
        return;
    s->is_file = watch_new(s->loop, STDIN_FILENO, LOOP_READ, on_readable, s, &s->input) < 0;
    if (s->is_file)
        feed(s);
}

static void on_readable(void *arg, int events)
{
    struct session *s = arg;
    (void)events;
    if (s->ws && !feed_piece(s) && ws_queued(s->ws) > FULL_BYTES)
        s->input = watch_free(s->input); /* on_drain continues */
}

static void on_drain(void *arg, struct ws *w)
{
    (void)w;
    if (((struct session *)arg)->plan->has_stdin)
        feed(arg);
}

/* --- what the server says --- */

static void on_started(struct session *s)
{
    s->is_started = true;
    if (s->plan->is_tty && raw_terminal_enter(&s->tty) < 0) {
        (void)snprintf(s->why, sizeof(s->why), "this terminal cannot be switched to raw mode");
        session_end(s, 1);
    } else if (s->plan->has_stdin) {
        feed(s);
    }
}

static void on_exit_message(struct session *s, const json_t *message)
{
    int code = (int)json_get_int(message, "code", 1) & 0xff;
    if (json_get_bool(message, "timedOut", false)) {
        code = EXEC_SESSION_TIMED_OUT;
        (void)snprintf(s->why, sizeof(s->why), "the command timed out after %.3g s and was killed; raise --timeout",
                       (double)s->plan->timeout_ms / 1000);
    } else if (json_get_bool(message, "oomKilled", false)) {
        (void)snprintf(s->why, sizeof(s->why), "the command was killed: the sandbox is out of memory; raise --memory");
    }
    session_end(s, code);
}

static void on_error_message(struct session *s, const json_t *message)
{
    int code = (int)json_get_int(message, "exitCode", 0); /* 0: our failure */
    const char *only =
        json_array_size(s->plan->command) == 1 ? json_string_value(json_array_get(s->plan->command, 0)) : NULL;
    bool is_code = code == EXIT_NO_PROGRAM && only && strpbrk(only, " ();|&");
    (void)snprintf(s->why, sizeof(s->why), "%.200s%s", json_get_str(message, "error", "the command failed"),
                   is_code ? "; that is the name of one program: `sh -c` or `python3 -c` before it runs a line of code"
                           : "");
    session_end(s, code);
}

static void on_message(void *arg, struct ws *w, bool is_text, const char *data, size_t len)
{
    struct session *s = arg;
    JSON_OWNED message = NULL;
    (void)w;
    if (!is_text) {
        if (len > 1 && write_all_write(data[0] == 2 ? STDERR_FILENO : STDOUT_FILENO, data + 1, len - 1) < 0)
            session_end(s, EXIT_SIGNALLED + SIGPIPE); /* nobody reads */
        return;
    }
    if (json_read(data, len, &message, NULL) < 0)
        return;
    const char *type = json_get_str(message, "type", "");
    if (strcmp(type, "started") == 0)
        on_started(s);
    else if (strcmp(type, "exit") == 0)
        on_exit_message(s, message);
    else if (strcmp(type, "error") == 0)
        on_error_message(s, message);
}

static void on_close(void *arg, struct ws *w, int code, const char *reason)
{
    struct session *s = arg;
    (void)w;
    s->ws = NULL;
    if (s->exit_code < 0)
        (void)snprintf(s->why, sizeof(s->why), "the connection ended before the command: %.200s (%d)",
                       reason && *reason ? reason : "closed", code);
    session_end(s, 0);
}

/* --- signals --- */

static void on_resize(void *arg)
{
    int cols, rows;
    raw_terminal_size(&cols, &rows);
    say(arg, json_pack("{s:s, s:i, s:i}", "type", "resize", "cols", cols, "rows", rows));
}

static void on_interrupt(void *arg)
{
    struct session *s = arg;
    if (s->is_interrupted || !s->is_started)
        session_end(s, EXIT_SIGNALLED + SIGINT);
    s->is_interrupted = true;
    say(s, json_pack("{s:s, s:s}", "type", "signal", "signal", "INT"));
}

static void on_terminate(void *arg)
{
    session_end(arg, EXIT_SIGNALLED + SIGTERM);
}

static void on_hangup(void *arg)
{
    session_end(arg, EXIT_SIGNALLED + SIGHUP);
}

/* --- the whole --- */

/* The address of the API with ws instead of http. */
static int dial(struct session *s, const struct rest_client *l, const char *id, struct err *err)
{
    static const struct ws_events events = { .on_message = on_message, .on_close = on_close, .on_drain = on_drain };
    const char *rest = strstr(l->url, "://");
    bool is_secure = strncmp(l->url, "https://", 8) == 0;
    CLEANUP(free_p)
    char *url = xasprintf("%s%s/sandboxes/%s/exec/attach", is_secure ? "wss" : "ws", rest ? rest : "", id);
    CLEANUP(free_p) char *auth = xasprintf("Authorization: Bearer %s", l->token);
    const char *headers[] = { *l->token ? auth : NULL, NULL };
    struct ws_target to = {
        .url = url, .headers = headers, .message_max = MESSAGE_MAX, .trust = &l->trust, .rule = outgoing_any
    };
    return ws_dial(s->loop, &to, &events, s, &s->ws, err);
}

static json_t *plan_json(const struct exec_session_plan *p)
{
    json_t *j =
        json_pack("{s:O*, s:O*, s:s*, s:s*, s:b, s:b, s:b}", "command", p->command, "env", p->env, "cwd", p->cwd,
                  "user", p->user, "stdin", p->has_stdin, "tty", p->is_tty, "imageCommand", p->is_images);
    int cols, rows;
    raw_terminal_size(&cols, &rows);
    if (p->is_tty)
        (void)json_object_update_new(j, json_pack("{s:i, s:i}", "cols", cols, "rows", rows));
    if (p->timeout_ms)
        (void)json_object_set_new(j, "timeout", json_real((double)p->timeout_ms / 1000));
    return j;
}

int exec_session_run(const struct rest_client *l, const char *id, const struct exec_session_plan *plan, int failed)
{
    struct session s = { .plan = plan, .exit_code = -1, .tty = RAW_TERMINAL_INIT };
    struct err err = ERR_INIT;
    (void)signal(SIGPIPE, SIG_IGN);
    int r = loop_new(&s.loop, &err);
    if (r == 0)
        r = dial(&s, l, id, &err);
    if (r == 0) {
        say(&s, plan_json(plan));
        (void)loop_on_signal(s.loop, SIGINT, on_interrupt, &s);
        (void)loop_on_signal(s.loop, SIGTERM, on_terminate, &s);
        (void)loop_on_signal(s.loop, SIGHUP, on_hangup, &s);
        if (plan->is_tty)
            (void)loop_on_signal(s.loop, SIGWINCH, on_resize, &s);
        loop_run(s.loop);
    }
    raw_terminal_done(&s.tty);
    s.input = watch_free(s.input);
    if (s.ws)
        ws_drop(s.ws);
    s.loop = loop_free(s.loop);
    if (r < 0 || *s.why)
        (void)engine_connect_fail_text(r < 0 ? err.msg : s.why);
    return r < 0 || (*s.why && s.exit_code == 0) ? failed : s.exit_code;
}
