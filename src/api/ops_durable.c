/* Handlers of durable commands: started under an id, read by byte offset, followed, written to and signalled. Record
 * and process belong to sandbox/exec/background.c, the stream of a follower to log_follow.c; nothing is kept here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/call.h"
#include "api/handlers.h"
#include "api/log_follow.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "sandbox/exec/background.h"

void api_exec_start(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    struct background_plan plan = { .command = json_get(call_params(c), "command"),
                                    .prefix = "exec",
                                    .id = call_str(c, "execId", NULL),
                                    .cwd = call_str(c, "cwd", NULL),
                                    .user = call_str(c, "user", NULL),
                                    .env = json_get(call_params(c), "env"),
                                    .timeout_ms = call_int(c, "timeout", 0) * 1000,
                                    .has_stdin = call_bool(c, "stdin", false) };
    if (background_start(call_manager(c)->background, s, &plan, handlers_record, c, &err) < 0)
        call_fail(c, &err);
}

void api_exec_list(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    if (s)
        call_ok(c, json_pack("{s:o}", "execs", background_list(call_manager(c)->background, s->id)));
}

void api_exec_get(struct call *c)
{
    struct err err = ERR_INIT;
    if (background_state(call_manager(c)->background, call_str(c, "execId", ""), handlers_record, c, &err) < 0)
        call_fail(c, &err);
}

/* The sandbox a command runs in, which must be running itself; NULL with err. */
static struct sandbox *sandbox_of(struct manager *m, const char *id, struct err *err)
{
    json_t *rec = background_find(m->background, id, err);
    return rec ? manager_find_running(m, json_get_str(rec, "sandboxId", ""), err) : NULL;
}

static bool is_running(struct manager *m, const char *id)
{
    return json_get_bool(background_find(m->background, id, NULL), "running", false);
}

/* --- output --- */

static void answer_output(void *arg, const char *data, size_t len, const struct err *err)
{
    struct call *c = arg;
    if (err) {
        call_fail(c, err);
        return;
    }
    bool is_alive = is_running(call_manager(c), call_str(c, "execId", ""));
    size_t n = log_follow_giveable(c, data, len, !is_alive);
    call_ok(c, json_pack("{s:o, s:I, s:b, s:s}", "output", log_follow_text(c, data, n), "offset",
                         (json_int_t)call_int(c, "offset", 0) + (json_int_t)n, "running", is_alive, "encoding",
                         call_str(c, "encoding", "utf8")));
}

void api_exec_output(struct call *c)
{
    struct err err = ERR_INIT;
    const char *id = call_str(c, "execId", "");
    uint64_t offset = (uint64_t)call_int(c, "offset", 0);
    struct sandbox *s = sandbox_of(call_manager(c), id, &err);
    if (!s) {
        call_fail(c, &err);
        return;
    }
    if (!log_follow_is_asked(c)) {
        (void)handlers_failed(c, guest_job_log(s->link, id, offset, LOG_FOLLOW_READ_MAX, answer_output, c),
                              "reading the log");
        return;
    }
    log_follow_start(c, id, NULL, offset);
}

/* --- input and signals --- */

/* The sandbox of a command that has not ended; NULL: the call was answered. */
static struct sandbox *sandbox_of_running(struct call *c)
{
    struct err err = ERR_INIT;
    const char *id = call_str(c, "execId", "");
    struct sandbox *s = sandbox_of(call_manager(c), id, &err);
    if (s && !is_running(call_manager(c), id)) {
        (void)err_set(&err, ERR_CONFLICT, 0, "command %s has ended", id);
        s = NULL;
    }
    if (!s)
        call_fail(c, &err);
    return s;
}

/* One write. A command that does not read may keep it waiting for long: the call does not wait longer than its client.
 */
struct writing {
    struct call *c; /* NULL: the client has left */
    json_int_t len;
};

static void on_writer_gone(void *arg)
{
    struct writing *w = arg;
    call_error(STEAL(w->c), ERR_GONE, "the client left");
}

static void on_written(void *arg, const struct err *err)
{
    struct writing *w = arg;
    struct call *c = w->c;
    json_int_t len = w->len;
    free(w);
    if (!c)
        return;
    call_on_cancel(c, NULL, NULL);
    if (err && err->sys == EPIPE)
        call_error(c, ERR_CONFLICT, "command %s has no open standard input: start it with \"stdin\": true",
                   call_str(c, "execId", ""));
    else if (err)
        call_fail(c, err);
    else
        call_ok(c, json_pack("{s:I, s:b}", "written", len, "closed", call_bool(c, "close", false)));
}

void api_exec_input(struct call *c)
{
    struct err err = ERR_INIT;
    CLEANUP(buf_done) struct buf bytes = BUF_INIT(LOG_FOLLOW_READ_MAX);
    const json_t *data = json_get(call_params(c), "data");
    const char *text = data ? json_string_value(data) : "";
    size_t len = data ? json_string_length(data) : 0;
    int r = log_follow_is_base64(c) ? base64_decode(text, len, &bytes) : buf_add(&bytes, text, len);
    if (r < 0) {
        if (r == -EINVAL)
            (void)err_set(&err, ERR_INVALID, 0, "data: not padded standard base64");
        else
            (void)err_set(&err, ERR_TOO_LARGE, 0, "data: over %d bytes; write it in pieces", LOG_FOLLOW_READ_MAX);
        call_fail(c, &err);
        return;
    }
    struct sandbox *s = sandbox_of_running(c);
    if (!s)
        return;
    struct writing *w = xzalloc(sizeof(*w));
    *w = (struct writing){ .c = c, .len = (json_int_t)bytes.len };
    r = guest_job_input(s->link, call_str(c, "execId", ""), buf_text(&bytes), bytes.len, call_bool(c, "close", false),
                        on_written, w);
    if (handlers_failed(c, r, "writing to standard input"))
        free(w);
    else
        call_on_cancel(c, on_writer_gone, w);
}

static void on_signalled(void *arg, const struct err *err)
{
    struct call *c = arg;
    if (err)
        call_fail(c, err);
    else
        call_ok(c, json_pack("{s:s, s:s}", "signalled", call_str(c, "execId", ""), "signal",
                             call_str(c, "signal", "TERM")));
}

void api_exec_signal(struct call *c)
{
    const char *name = call_str(c, "signal", "TERM");
    struct sandbox *s = sandbox_of_running(c);
    int signo = s ? handlers_signal(c, name) : 0;
    if (signo > 0)
        (void)handlers_failed(c, guest_job_signal(s->link, call_str(c, "execId", ""), signo, on_signalled, c),
                              "signal");
}
