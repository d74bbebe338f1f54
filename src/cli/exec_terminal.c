#include "cli/exec_terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/engine_connect.h"
#include "cli/operation_verb.h"
#include "cli/raw_terminal.h"
#include "http/ws.h"
#include "loop/loop.h"

enum { MESSAGE_MAX = 1 << 20, EXIT_SIGNALLED = 128 };

struct shell {
    struct loop *loop;
    struct ws *ws; /* NULL: closed */
    struct watch *keys;
    struct raw_terminal tty;
    bool is_open; /* data was received */
    int exit_code;
    char why[200]; /* why it ended, when it was not an exit */
};

static void shell_end(struct shell *s)
{
    s->keys = watch_free(s->keys);
    loop_stop(s->loop);
}

static void shell_output(void *arg, struct ws *ws, bool is_text, const char *data, size_t len)
{
    struct shell *s = arg;
    (void)ws, (void)is_text;
    raw_terminal_show(&s->tty, data, len);
}

static void shell_closed(void *arg, struct ws *ws, int code, const char *reason)
{
    struct shell *s = arg;
    (void)ws;
    s->ws = NULL;
    if (code == 1000 && reason && strncmp(reason, "exit ", 5) == 0)
        s->exit_code = (int)strtol(reason + 5, NULL, 10) & 0xff;
    else if (s->exit_code <= EXIT_SIGNALLED)
        (void)snprintf(s->why, sizeof(s->why), "the terminal's connection ended: %.120s (%d)",
                       reason && *reason ? reason : "closed", code);
    shell_end(s);
}

static void key_event(void *arg, int events)
{
    struct shell *s = arg;
    char piece[4096];
    (void)events;
    ssize_t n = read(STDIN_FILENO, piece, sizeof(piece));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0 && s->ws)
        (void)ws_send(s->ws, false, piece, (size_t)n);
    else
        shell_end(s); /* our own terminal is gone */
}

static void size_event(void *arg)
{
    struct shell *s = arg;
    char text[96];
    int cols, rows;
    raw_terminal_size(&cols, &rows);
    int n = snprintf(text, sizeof(text), "{\"type\":\"resize\",\"cols\":%d,\"rows\":%d}", cols, rows);
    if (s->ws)
        (void)ws_send(s->ws, true, text, (size_t)n);
}

/* Signals sent to us become keys for the shell; in raw mode keys make no signals. */
static void type_key(struct shell *s, char key)
{
    if (s->ws)
        (void)ws_send(s->ws, false, &key, 1);
}

static void send_interrupt(void *arg)
{
    type_key(arg, 'C' - '@');
}

static void send_quit(void *arg)
{
    type_key(arg, '\\' - '@');
}

static void send_terminate(void *arg)
{
    struct shell *s = arg;
    s->exit_code = EXIT_SIGNALLED + SIGTERM;
    shell_end(s);
}

static void send_hangup(void *arg)
{
    struct shell *s = arg;
    s->exit_code = EXIT_SIGNALLED + SIGHUP;
    shell_end(s);
}

/* Connects to the session's WebSocket: the address of the API with ws instead of http. */
static int dial_session(struct shell *s, const struct rest_client *l, const json_t *session, struct err *err)
{
    static const struct ws_events events = { .on_message = shell_output, .on_close = shell_closed };
    bool is_secure = strncmp(l->url, "https://", 8) == 0;
    const char *rest = strstr(l->url, "://");
    CLEANUP(free_p)
    char *url = xasprintf("%s%s/sandboxes/%s/terminal/%s/ws", is_secure ? "wss" : "ws", rest ? rest : "",
                          json_get_str(session, "sandboxId", ""), json_get_str(session, "sessionId", ""));
    CLEANUP(free_p) char *auth = xasprintf("Authorization: Bearer %s", l->token);
    const char *headers[] = { *l->token ? auth : NULL, NULL };
    struct ws_target to = { .url = url, .headers = headers, .message_max = MESSAGE_MAX, .trust = &l->trust };
    return ws_dial(s->loop, &to, &events, s, &s->ws, err);
}

static int shell_talk(struct shell *s, const struct rest_client *l, const json_t *session, char **words, int n_words)
{
    struct err err = ERR_INIT;
    bool is_shell = n_words == 0 || (n_words == 1 && raw_terminal_shell(words[0]));
    int r = loop_new(&s->loop, &err);
    if (r == 0)
        r = dial_session(s, l, session, &err);
    if (r < 0)
        return engine_connect_fail_text(err.msg);
    if (!is_shell) { /* one word is a line for a shell, several are a program and its arguments */
        char sh[] = "/bin/sh", flag[] = "-c", *line_argv[] = { sh, flag, words[0] };
        CLEANUP(buf_done) struct buf line = BUF_INIT(RAW_TERMINAL_LINE_MAX);
        r = n_words == 1 ? raw_terminal_line(&s->tty, line_argv, 3, &line)
                         : raw_terminal_line(&s->tty, words, n_words, &line);
        if (r < 0)
            return engine_connect_fail_text(
                "the command is too long for a terminal: put it into a script in the sandbox");
        (void)ws_send(s->ws, false, line.data, line.len);
    }
    (void)loop_on_signal(s->loop, SIGWINCH, size_event, s);
    (void)loop_on_signal(s->loop, SIGINT, send_interrupt, s);
    (void)loop_on_signal(s->loop, SIGQUIT, send_quit, s);
    (void)loop_on_signal(s->loop, SIGTERM, send_terminate, s);
    (void)loop_on_signal(s->loop, SIGHUP, send_hangup, s);
    if (raw_terminal_enter(&s->tty) < 0 || watch_new(s->loop, STDIN_FILENO, LOOP_READ, key_event, s, &s->keys) < 0)
        return engine_connect_fail_text("this terminal cannot be switched to raw mode");
    loop_run(s->loop);
    raw_terminal_leave(&s->tty);
    return *s->why ? engine_connect_fail_text(s->why) : s->exit_code;
}

int exec_terminal_run(const struct rest_client *l, const char *id, char **words, int n_words)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer made = { 0 }, closed = { 0 };
    struct shell s = { .exit_code = 1, .tty = RAW_TERMINAL_INIT };
    struct err err = ERR_INIT;
    const char *shell = n_words == 1 ? raw_terminal_shell(words[0]) : NULL;
    int cols, rows;
    if (!isatty(STDIN_FILENO))
        return engine_connect_fail_text("-t needs a terminal on standard input; omit it in scripts");
    raw_terminal_size(&cols, &rows);
    JSON_OWNED wanted =
        json_pack("{s:s, s:i, s:i, s:s}", "id", id, "cols", cols, "rows", rows, "shell", shell ? shell : "/bin/sh");
    int code = operation_verb_call(l, &spec_ops[OP_ID_terminal_create], wanted, &made);
    if (code != 0)
        return code;
    code = shell_talk(&s, l, made.body, words, n_words);
    s.keys = watch_free(s.keys);
    if (s.ws)
        ws_drop(STEAL(s.ws));
    raw_terminal_done(&s.tty);
    s.loop = loop_free(s.loop);
    /* A session whose shell has exited is gone already; one that we left is deleted here. */
    JSON_OWNED session = json_pack("{s:s, s:s}", "id", id, "sessionId", json_get_str(made.body, "sessionId", ""));
    (void)rest_client_op(l, &(struct rest_client_call){ .op = &spec_ops[OP_ID_terminal_close], .params = session },
                         &closed, &err);
    return code;
}
