/* Handlers of durable commands: started under an id, read by byte offset, followed, written to and signalled. Theory of
 * operation. Record and process belong to sandbox/exec/background.c; the handlers of single requests keep no state.
 *
 * A struct follower is one client that follows a log. It reads the log to its end (is_looking while the agent is
 * asked), then watches it (watch) until it grows or the command exits; after the exit it reads once more and sends the
 * exit event. Output is cut at whole UTF-8 characters. A client that does not read pauses the follower at STREAM_MARK
 * queued bytes, until its queue drains. A client that disconnects while the agent is asked clears c, and the answer
 * frees the follower. An error ends the stream as its last event. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/call.h"
#include "api/handlers.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "sandbox/exec/background.h"

#define OUTPUT_MAX  (1024 * 1024) /* bytes in one answer */
#define PIECE_MAX   (256 * 1024)  /* bytes in one event */
#define STREAM_MARK (1024 * 1024) /* queued bytes past which the reader has to catch up first */
#define PING_MS     15000         /* a stream without events for so long sends a comment */

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

static bool wants_base64(const struct call *c)
{
    return strcmp(call_str(c, "encoding", "utf8"), "base64") == 0;
}

static json_t *encoded(const struct call *c, const char *data, size_t len)
{
    if (!wants_base64(c))
        return json_text(data, len);
    CLEANUP(free_p) char *text = xzalloc(BASE64_SIZE(len) + 1);
    base64_encode(data, len, text);
    return json_string(text);
}

/* How many bytes to send now: an incomplete UTF-8 character is left for the next time. */
static size_t giveable(const struct call *c, const char *data, size_t len, bool is_end)
{
    size_t whole = wants_base64(c) ? len : utf8_whole(data, len);
    return whole == 0 && is_end ? len : whole;
}

static void answer_output(void *arg, const char *data, size_t len, const struct err *err)
{
    struct call *c = arg;
    if (err) {
        call_fail(c, err);
        return;
    }
    bool is_alive = is_running(call_manager(c), call_str(c, "execId", ""));
    size_t n = giveable(c, data, len, !is_alive);
    call_ok(c, json_pack("{s:o, s:I, s:b, s:s}", "output", encoded(c, data, n), "offset",
                         (json_int_t)call_int(c, "offset", 0) + (json_int_t)n, "running", is_alive, "encoding",
                         call_str(c, "encoding", "utf8")));
}

/* One client that follows a log: it is read to its end, then watched until there is more. */
struct follower {
    struct call *c; /* NULL: the client has left while a look was under way */
    struct manager *m;
    char *id;
    uint64_t offset;
    struct timer *timer; /* looks again, or pings while nothing comes */
    struct background_watch *watch;
    bool has_begun, is_looking, is_over; /* is_over: it has ended, and one more look shows the last of its log */
};

static void read_log(struct follower *f);

static void free_follower(struct follower *f)
{
    background_unwatch(f->watch);
    timer_free(f->timer);
    free(f->id);
    free(f);
}

static void end_follower(struct follower *f, const struct err *err)
{
    call_on_cancel(f->c, NULL, NULL);
    if (err)
        call_fail(f->c, err);
    else
        call_stream_end(f->c);
    free_follower(f);
}

static void on_follower_gone(void *arg)
{
    struct follower *f = arg;
    struct call *c = STEAL(f->c);
    if (f->has_begun)
        call_stream_end(c);
    else
        call_error(c, ERR_GONE, "the client left");
    if (!f->is_looking)
        free_follower(f);
}

static void on_drain(void *arg)
{
    struct follower *f = arg;
    if (!f->is_looking && !f->watch)
        timer_set(f->timer, 0, 0);
}

static void on_timer(void *arg)
{
    struct follower *f = arg;
    if (f->watch) {
        call_stream_comment(f->c, "ping");
        timer_set(f->timer, PING_MS, 0);
    } else if (!f->is_looking) {
        read_log(f);
    }
}

static void send_exit(struct follower *f)
{
    json_t *rec = background_find(f->m->background, f->id, NULL);
    char code[24];
    (void)snprintf(code, sizeof(code), "%lld", (long long)json_get_int(rec, "exitCode", -1));
    (void)call_stream_event(f->c,
                            json_pack("{s:s, s:s, s:I, s:I}", "type", "exit", "data", code, "offset",
                                      (json_int_t)f->offset, "timestamp", (json_int_t)clock_wall_ms()),
                            NULL);
    end_follower(f, NULL);
}

static void send_piece(struct follower *f, const char *data, size_t len)
{
    char id[24];
    f->offset += len;
    (void)snprintf(id, sizeof(id), "%llu", (unsigned long long)f->offset);
    size_t queued =
        call_stream_event(f->c,
                          json_pack("{s:s, s:o, s:I, s:I}", "type", "output", "data", encoded(f->c, data, len),
                                    "offset", (json_int_t)f->offset, "timestamp", (json_int_t)clock_wall_ms()),
                          id);
    if (queued < STREAM_MARK)
        timer_set(f->timer, 0, 0); /* else on_drain resumes */
}

static void on_grown(void *arg)
{
    struct follower *f = arg;
    f->watch = NULL;
    read_log(f);
}

static void on_looked(void *arg, const char *data, size_t len, const struct err *err)
{
    struct follower *f = arg;
    f->is_looking = false;
    if (!f->c) {
        free_follower(f);
        return;
    }
    if (err) {
        end_follower(f, err);
        return;
    }
    if (!f->has_begun) {
        f->has_begun = true;
        call_stream_begin(f->c);
        call_stream_on_drain(f->c, on_drain, f);
    }
    size_t n = giveable(f->c, data, len, f->is_over);
    if (n > 0) {
        send_piece(f, data, n);
    } else if (is_running(f->m, f->id)) {
        struct err why = ERR_INIT; /* len: an incomplete UTF-8 character at the end */
        f->watch = background_watch(f->m->background, f->id, f->offset + len, on_grown, f, &why);
        if (f->watch)
            timer_set(f->timer, PING_MS, 0);
        else
            end_follower(f, &why);
    } else if (!f->is_over) {
        f->is_over = true;
        read_log(f);
    } else {
        send_exit(f);
    }
}

static void read_log(struct follower *f)
{
    struct err err = ERR_INIT;
    json_t *rec = background_find(f->m->background, f->id, &err);
    struct sandbox *s = rec ? manager_find(f->m, json_get_str(rec, "sandboxId", ""), &err) : NULL;
    int r = -1;
    if (s && !s->link)
        (void)err_set(&err, ERR_CONFLICT, 0, "sandbox %s has lost its agent", s->id);
    else if (s) {
        f->is_looking = true;
        r = guest_job_log(s->link, f->id, f->offset, PIECE_MAX, on_looked, f);
        if (r < 0)
            (void)err_set(&err, err_from_errno(-r), -r, "reading the log");
    }
    if (r < 0) {
        f->is_looking = false;
        end_follower(f, &err);
    }
}

void api_exec_output(struct call *c)
{
    struct err err = ERR_INIT;
    const char *id = call_str(c, "execId", ""), *accept = call_header(c, "accept");
    uint64_t offset = (uint64_t)call_int(c, "offset", 0);
    struct sandbox *s = sandbox_of(call_manager(c), id, &err);
    if (!s) {
        call_fail(c, &err);
        return;
    }
    if (!call_bool(c, "follow", accept && strcasestr(accept, "text/event-stream"))) {
        (void)handlers_failed(c, guest_job_log(s->link, id, offset, OUTPUT_MAX, answer_output, c), "reading the log");
        return;
    }
    const char *last = json_get(call_params(c), "offset") ? NULL : call_header(c, "last-event-id");
    struct follower *f = xzalloc(sizeof(*f));
    *f = (struct follower){
        .c = c, .m = call_manager(c), .id = xstrdup(id), .offset = last ? strtoull(last, NULL, 10) : offset
    };
    f->timer = timer_new(call_loop(c), 0, 0, on_timer, f);
    call_on_cancel(c, on_follower_gone, f);
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
    CLEANUP(buf_done) struct buf bytes = BUF_INIT(OUTPUT_MAX);
    const json_t *data = json_get(call_params(c), "data");
    const char *text = data ? json_string_value(data) : "";
    size_t len = data ? json_string_length(data) : 0;
    int r = wants_base64(c) ? base64_decode(text, len, &bytes) : buf_add(&bytes, text, len);
    if (r < 0) {
        if (r == -EINVAL)
            (void)err_set(&err, ERR_INVALID, 0, "data: not padded standard base64");
        else
            (void)err_set(&err, ERR_TOO_LARGE, 0, "data: over %d bytes; write it in pieces", OUTPUT_MAX);
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
