/* Handlers of commands: blocking, streamed, in the background, interrupted. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "api/handlers.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/strlist.h"
#include "base/utf8.h"
#include "sandbox/exec/background.h"
#include "sandbox/exec/command.h"

#define STREAM_MARK (1024 * 1024) /* queued bytes past which the command has to wait for its reader */
#define LOG_MAX     (1024 * 1024) /* bytes of a background log in one answer */

/* What a call asks for. command_start() copies all of it. */
struct request {
    char **env;
    struct buf input;
    struct command_plan plan;
};

static void request_done(struct request *r)
{
    strlist_free(r->env);
    buf_done(&r->input);
}

static int request_read(struct call *c, struct sandbox *s, struct request *r, struct err *err)
{
    const json_t *in = call_params(c), *text = json_get(in, "stdin");
    r->env = handlers_env(c, s, err);
    if (!r->env)
        return -EINVAL;
    r->plan = (struct command_plan){ .command = json_get(in, "command"),
                                     .is_told = true,
                                     .cwd = call_str(c, "cwd", NULL),
                                     .user = call_str(c, "user", NULL),
                                     .env = (const char *const *)r->env,
                                     .timeout_ms = json_get(in, "timeout") ? call_int(c, "timeout", 0) * 1000 : 0 };
    if (!text)
        return 0;
    r->plan.input = json_string_value(text);
    r->plan.input_len = json_string_length(text);
    if (strcmp(call_str(c, "stdinEncoding", "utf8"), "base64") != 0)
        return 0;
    if (base64_decode(r->plan.input, r->plan.input_len, &r->input) < 0)
        return err_set(err, ERR_INVALID, 0, "stdin: not padded standard base64");
    r->plan.input = buf_text(&r->input);
    r->plan.input_len = r->input.len;
    return 0;
}

#define REQUEST CLEANUP(request_done) struct request
#define REQUEST_INIT                              \
    {                                             \
        .input = BUF_INIT(LIMIT_MAX(INPUT_BYTES)) \
    }

static void on_run_done(void *arg, const struct command_result *res, const struct err *err)
{
    struct call *c = arg;
    struct err why = ERR_INIT;
    call_on_cancel(c, NULL, NULL);
    if (!res) {
        call_fail(c, err);
        return;
    }
    if (res->exit.is_timeout) {
        (void)command_timeout_err(res, &why);
        call_fail_with(c, &why, json_pack("{s:o}", "result", command_result_json(res)));
        return;
    }
    call_ok(c, command_result_json(res));
}

static void on_run_cancel(void *arg)
{
    struct call *c = arg;
    command_cancel(call_state(c));
    call_error(c, ERR_GONE, "the client left");
}

void api_cmd_run(struct call *c)
{
    static const struct command_events events = { .on_done = on_run_done };
    struct err err = ERR_INIT;
    struct command *cmd = NULL;
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    REQUEST asked = REQUEST_INIT;
    if (request_read(c, s, &asked, &err) < 0 || command_start(s, &asked.plan, &events, c, &cmd, &err) < 0) {
        call_fail(c, &err);
        return;
    }
    call_set_state(c, cmd);
    call_on_cancel(c, on_run_cancel, c);
}

/* --- streamed --- */

struct streaming {
    struct call *c;
    struct command *cmd;
    char tail[2][4]; /* the first bytes of an incomplete UTF-8 character, for each stream */
    size_t tail_len[2];
    size_t owed; /* bytes to credit once the client has read */
};

static json_t *make_event(const char *type, const char *data, size_t len)
{
    return json_pack("{s:s, s:o, s:I}", "type", type, "data", json_text(data, len), "timestamp",
                     (json_int_t)clock_wall_ms());
}

static void send_event(struct streaming *st, const char *type, const char *data, size_t len)
{
    size_t queued = call_stream_event(st->c, make_event(type, data, len), NULL);
    if (queued < STREAM_MARK && st->owed) {
        command_credit(st->cmd, st->owed);
        st->owed = 0;
    }
}

static void on_drain(void *arg)
{
    struct streaming *st = arg;
    if (st->owed && st->cmd)
        command_credit(st->cmd, st->owed);
    st->owed = 0;
}

static void on_stream_output(void *arg, int fd, const char *data, size_t len)
{
    struct streaming *st = arg;
    int i = fd == 2;
    struct buf piece = BUF_INIT(len + sizeof(st->tail[0]));
    st->owed += len;
    (void)buf_add(&piece, st->tail[i], st->tail_len[i]);
    if (buf_add(&piece, data, len) < 0) {
        buf_done(&piece);
        return;
    }
    size_t whole = utf8_whole(piece.data, piece.len);
    st->tail_len[i] = piece.len - whole;
    memcpy(st->tail[i], piece.data + whole, st->tail_len[i]);
    if (whole)
        send_event(st, fd == 2 ? "stderr" : "stdout", piece.data, whole);
    else
        on_drain(st);
    buf_done(&piece);
}

static void on_stream_done(void *arg, const struct command_result *res, const struct err *err)
{
    struct streaming *st = arg;
    struct call *c = st->c;
    st->cmd = NULL;
    st->owed = 0;
    call_on_cancel(c, NULL, NULL);
    for (int i = 0; i < 2; i++)
        if (st->tail_len[i])
            send_event(st, i ? "stderr" : "stdout", st->tail[i], st->tail_len[i]);
    if (!res) {
        send_event(st, "stderr", err->msg, strlen(err->msg));
        send_event(st, "exit", "-1", 2);
    } else {
        char code[16];
        int n = snprintf(code, sizeof(code), "%d", res->exit.is_timeout ? -1 : res->exit.code);
        json_t *event = make_event("exit", code, (size_t)n);
        (void)json_object_set_new(event, "duration", json_integer((json_int_t)res->duration_ms));
        command_exit_json(&res->exit, event);
        (void)call_stream_event(c, event, NULL);
    }
    call_stream_end(c);
    free(st);
}

static void on_stream_cancel(void *arg)
{
    struct streaming *st = arg;
    struct call *c = st->c;
    command_cancel(st->cmd);
    free(st);
    call_stream_end(c);
}

void api_cmd_run_stream(struct call *c)
{
    static const struct command_events events = { .on_output = on_stream_output, .on_done = on_stream_done };
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    struct streaming *st = xzalloc(sizeof(*st));
    st->c = c;
    REQUEST asked = REQUEST_INIT;
    if (request_read(c, s, &asked, &err) < 0 || command_start(s, &asked.plan, &events, st, &st->cmd, &err) < 0) {
        free(st);
        call_fail(c, &err);
        return;
    }
    call_stream_begin(c);
    call_stream_on_drain(c, on_drain, st);
    call_on_cancel(c, on_stream_cancel, st);
}

/* --- in the background --- */

void api_cmd_background(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    struct background_plan plan = { .command = json_get(call_params(c), "command"),
                                    .prefix = "bg",
                                    .cwd = call_str(c, "cwd", NULL),
                                    .user = call_str(c, "user", NULL),
                                    .env = json_get(call_params(c), "env") };
    if (background_start(call_manager(c)->background, s, &plan, handlers_record, c, &err) < 0)
        call_fail(c, &err);
}

void api_cmd_background_status(struct call *c)
{
    struct err err = ERR_INIT;
    json_t *rec = background_find(call_manager(c)->background, call_str(c, "id", ""), &err);
    handlers_record(c, rec, &err);
}

static void answer_log(void *arg, const char *data, size_t len, const struct err *err)
{
    struct call *c = arg;
    int64_t cursor = call_int(c, "cursor", 0);
    if (err) {
        call_fail(c, err);
        return;
    }
    call_ok(c, json_pack("{s:o, s:I}", "output", json_text(data, len), "cursor", (json_int_t)(cursor + (int64_t)len)));
}

void api_cmd_background_logs(struct call *c)
{
    struct err err = ERR_INIT;
    const char *id = call_str(c, "id", "");
    json_t *rec = background_find(call_manager(c)->background, id, &err);
    struct sandbox *s = rec ? manager_find_running(call_manager(c), json_get_str(rec, "sandboxId", ""), &err) : NULL;
    if (!s) {
        call_fail(c, &err);
        return;
    }
    (void)handlers_failed(c, guest_job_log(s->link, id, (uint64_t)call_int(c, "cursor", 0), LOG_MAX, answer_log, c),
                          "reading the log");
}

static void answer_interrupt(void *arg, const struct err *err)
{
    (void)err; /* the contract: success whether or not anything was there to interrupt */
    handlers_success(arg, NULL);
}

void api_cmd_interrupt(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    if (s->status != SANDBOX_RUNNING || !s->link) {
        handlers_success(c, NULL);
        return;
    }
    int64_t pid = call_int(c, "pid", 0);
    int r = pid > 0 ? guest_kill(s->link, (int)pid, SIGINT, answer_interrupt, c)
                    : guest_interrupt(s->link, answer_interrupt, c);
    (void)handlers_failed(c, r, "interrupt");
}
