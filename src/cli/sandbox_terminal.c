#include "cli/sandbox_terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "cli/engine_connect.h"
#include "cli/raw_terminal.h"

enum { CALL_WAIT_MS = 30000 };

struct session {
    struct wire *w;
    struct ws *in, *out; /* keys to the shell, its output; NULL: closed */
    struct watch *keys;
    struct raw_terminal tty;
    char *id, *box;
    bool is_over;
    int exit_code;
    struct wire_answer resized; /* nothing waits for it */
};

/* --- both directions --- */

static void shell_output(void *arg, struct ws *ws, bool is_text, const char *data, size_t len)
{
    struct session *s = arg;
    (void)ws;
    if (!is_text)
        raw_terminal_show(&s->tty, data, len);
}

static void on_output_end(void *arg, struct ws *ws, int code, const char *reason)
{
    struct session *s = arg;
    (void)ws;
    s->out = NULL;
    s->is_over = true;
    s->exit_code =
        code == 1000 && reason && strncmp(reason, "exit ", 5) == 0 ? (int)strtol(reason + 5, NULL, 10) & 0xff : 1;
    wire_wake(s->w);
}

static void ignore_message(void *arg, struct ws *ws, bool is_text, const char *data, size_t len)
{
    (void)arg, (void)ws, (void)is_text, (void)data, (void)len; /* no data arrives in this direction */
}

static void on_input_end(void *arg, struct ws *ws, int code, const char *reason)
{
    struct session *s = arg;
    (void)ws, (void)code, (void)reason;
    s->in = NULL;
    s->keys = watch_free(s->keys);
}

static void key_event(void *arg, int events)
{
    struct session *s = arg;
    char piece[4096];
    (void)events;
    ssize_t n = read(STDIN_FILENO, piece, sizeof(piece));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0 && s->in) {
        (void)ws_send(s->in, false, piece, (size_t)n);
    } else {
        s->keys = watch_free(s->keys);
        s->is_over = n <= 0 || s->is_over;
        wire_wake(s->w);
    }
}

static void size_event(void *arg)
{
    struct session *s = arg;
    int cols, rows;
    raw_terminal_size(&cols, &rows);
    JSON_OWNED payload =
        json_pack("{s:s, s:s, s:i, s:i}", "id", s->box, "sessionId", s->id, "cols", cols, "rows", rows);
    wire_forget(s->w, &s->resized);
    wire_answer_done(&s->resized);
    wire_ask(s->w, "terminal::resize", payload, NULL, &s->resized);
}

/* --- the session --- */

static int open_session(struct session *s, const struct sandbox_exec_plan *plan)
{
    static const struct ws_events out_events = { .on_message = shell_output, .on_close = on_output_end };
    static const struct ws_events in_events = { .on_message = ignore_message, .on_close = on_input_end };
    struct err err = ERR_INIT;
    CLEANUP(wire_answer_done) struct wire_answer answer = { 0 };
    const char *shell = plan->n_argv == 1 ? raw_terminal_shell(plan->argv[0]) : NULL;
    int cols, rows;
    raw_terminal_size(&cols, &rows);
    JSON_OWNED payload = json_pack("{s:s, s:i, s:i, s:s}", "id", plan->id, "cols", cols, "rows", rows, "shell",
                                   shell ? shell : "/bin/sh");
    if (!payload)
        return engine_connect_fail_text("the id is not UTF-8");
    int r = wire_call(s->w, "terminal::create", payload, CALL_WAIT_MS, &answer, &err);
    if (r == 0 && answer.error)
        return engine_connect_fail(answer.error);
    const json_t *channel = json_get(answer.result, "channel");
    if (r == 0)
        r = wire_channel(s->w, json_get(channel, "reader"), &out_events, s, &s->out, &err);
    if (r == 0)
        r = wire_channel(s->w, json_get(channel, "writer"), &in_events, s, &s->in, &err);
    if (r < 0)
        return engine_connect_fail_text(err.msg);
    s->id = xstrdup(json_get_str(answer.result, "sessionId", ""));
    s->box = xstrdup(json_get_str(answer.result, "sandboxId", plan->id));
    if (shell || plan->n_argv == 0)
        return 0;
    /* A line that replaces the shell by the command. */
    CLEANUP(buf_done) struct buf line = BUF_INIT(RAW_TERMINAL_LINE_MAX);
    if (raw_terminal_line(&s->tty, plan->argv, plan->n_argv, &line) < 0)
        return engine_connect_fail_text("the command is too long for a terminal: put it into a script in the sandbox");
    (void)ws_send(s->in, false, line.data, line.len);
    return 0;
}

int sandbox_terminal_run(struct wire *w, const struct sandbox_exec_plan *plan)
{
    struct session s = { .w = w, .exit_code = 1, .tty = RAW_TERMINAL_INIT };
    struct err err = ERR_INIT;
    if (!isatty(STDIN_FILENO))
        return engine_connect_fail_text("-t needs a terminal on standard input; omit it in scripts");
    int r = open_session(&s, plan);
    if (r == 0) {
        (void)loop_on_signal(wire_loop(w), SIGWINCH, size_event, &s);
        if (raw_terminal_enter(&s.tty) < 0 ||
            watch_new(wire_loop(w), STDIN_FILENO, LOOP_READ, key_event, &s, &s.keys) < 0)
            r = engine_connect_fail_text("this terminal cannot be switched to raw mode");
        else
            (void)wire_wait(w, &s.is_over, -1, &err); /* err tells when the engine has disconnected */
    }
    raw_terminal_leave(&s.tty);
    if (r == 0 && err.code != ERR_NONE)
        r = engine_connect_fail_text(err.msg);
    else if (r == 0)
        r = s.exit_code;
    s.keys = watch_free(s.keys);
    if (s.in)
        ws_drop(STEAL(s.in));
    if (s.out)
        ws_drop(STEAL(s.out));
    wire_forget(w, &s.resized);
    wire_answer_done(&s.resized);
    raw_terminal_done(&s.tty);
    free(s.id);
    free(s.box);
    return r;
}
