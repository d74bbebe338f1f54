/* Theory of operation. One snippet that runs in a context. struct context owns its struct context_run, from
 * context_execute() until the final frame, the death of the process or context_run_fail(). Output and results are
 * passed on to the caller's callbacks if it has them, else collected for the reply, both up to a limit; what exceeds it
 * is dropped and the reply is marked as truncated. Every frame comes from untrusted code.
 *
 * A run that times out is interrupted (PHASE_INTERRUPTED); CONTEXT_GRACE_MS later its process is killed (PHASE_KILLED),
 * and another CONTEXT_GRACE_MS later the driver process that has not killed it. A caller that cancels clears its
 * callbacks; the run then goes through the same phases without a reply. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "sandbox/exec/context_core.h"

enum phase { PHASE_RUNNING, PHASE_INTERRUPTED, PHASE_KILLED };

struct stream {
    struct buf kept;
    char tail[4]; /* the first bytes of an incomplete UTF-8 character */
    size_t tail_len;
    size_t seen; /* bytes so far */
};

struct context_run {
    struct context_events ev; /* on_done NULL: no caller waits any more */
    void *arg;
    struct stream streams[2];
    json_t *results;
    size_t results_bytes;
    struct buf part;      /* of a result that is still arriving */
    struct buf done_part; /* of the end */
    bool is_part_lost;    /* part grew past what is kept */
    int64_t begun_us, timeout_ms;
    enum phase phase;
    bool is_timed_out, is_cut;
};

static void free_run(struct context_run *run)
{
    for (int i = 0; i < 2; i++)
        buf_done(&run->streams[i].kept);
    buf_done(&run->part);
    buf_done(&run->done_part);
    json_decref(run->results);
    free(run);
}

/* --- output and results --- */

static void take_output(struct context_run *run, int i, const char *data, size_t len)
{
    struct stream *st = &run->streams[i];
    size_t room = CONTEXT_OUTPUT_MAX - st->seen;
    if (len > room) {
        run->is_cut = true;
        len = room;
    }
    st->seen += len;
    if (len == 0 || !run->ev.on_done)
        return;
    if (!run->ev.on_output) {
        run->is_cut |= buf_add(&st->kept, data, len) < 0;
        return;
    }
    CLEANUP(buf_done) struct buf piece = BUF_INIT(len + sizeof(st->tail));
    (void)buf_add(&piece, st->tail, st->tail_len); /* a failure shows below, too */
    if (buf_add(&piece, data, len) < 0)
        return;
    size_t whole = utf8_whole(piece.data, piece.len);
    st->tail_len = piece.len - whole;
    memcpy(st->tail, piece.data + whole, st->tail_len);
    if (whole)
        run->ev.on_output(run->arg, i ? "stderr" : "stdout", piece.data, whole);
}

static void take_result(struct context_run *run)
{
    JSON_OWNED result = NULL;
    if (run->is_part_lost) {
        run->is_cut = true;
    } else if (json_read_input(buf_text(&run->part), run->part.len, &result, NULL) == 0 &&
               json_get_str(result, "type", NULL) && json_object_get(result, "data") && run->ev.on_done) {
        run->results_bytes += run->part.len;
        if (run->ev.on_result)
            run->ev.on_result(run->arg, result);
        else
            (void)json_array_append(run->results, result);
    }
    run->is_part_lost = false;
    buf_clear(&run->part);
}

/* --- the end --- */

static json_t *text_or_null(const json_t *from, const char *key)
{
    const char *text = json_get_str(from, key, NULL);
    return text ? json_string(text) : json_null();
}

static json_t *kept_text(const struct context_run *run, int i)
{
    return json_text(buf_text(&run->streams[i].kept), run->streams[i].kept.len);
}

/* The member of the older contract: one text with the error. */
static json_t *error_text(const json_t *done, const json_t *lines)
{
    struct buf text = BUF_INIT(CONTEXT_OUTPUT_MAX);
    const char *name = json_get_str(done, "errorName", NULL);
    size_t i;
    json_t *line;
    if (!name)
        return json_null();
    json_array_foreach(lines, i, line) if (buf_addf(&text, "%s%s", i ? "\n" : "", json_string_value(line)) < 0) break;
    if (text.len == 0)
        (void)buf_addf(&text, "%s: %s", name, json_get_str(done, "errorValue", ""));
    json_t *j = json_text(text.data, text.len);
    buf_done(&text);
    return j;
}

/* done: {errorName, errorValue, traceback}; from a driver, so untrusted. */
static void run_finish(struct context *c, json_t *done)
{
    struct context_run *run = c->run;
    c->run = NULL;
    if (run->is_timed_out) {
        char text[120];
        (void)snprintf(text, sizeof(text), "timed out after %lld ms; %s", (long long)run->timeout_ms,
                       c->state == CONTEXT_DEAD ? "the process ignored the interrupt and was killed"
                                                : "the code was interrupted");
        (void)json_object_set_new(done, "errorName", json_string("TimeoutError"));
        (void)json_object_set_new(done, "errorValue", json_string(text));
        json_t *lines = json_get(done, "traceback");
        if (json_is_array(lines))
            (void)json_array_append_new(lines, json_sprintf("TimeoutError: %s", text));
    }
    for (int i = 0; i < 2 && run->ev.on_output; i++)
        if (run->streams[i].tail_len)
            run->ev.on_output(run->arg, i ? "stderr" : "stdout", run->streams[i].tail, run->streams[i].tail_len);
    if (run->ev.on_done) {
        JSON_OWNED lines = json_array();
        size_t i;
        json_t *line;
        json_array_foreach(json_get(done, "traceback"), i, line) if (json_is_string(line))(void)
            json_array_append(lines, line);
        JSON_OWNED j = json_pack("{s:o, s:o, s:I, s:O, s:o, s:o, s:o, s:o, s:O, s:I, s:b, s:b, s:s}", "output",
                                 kept_text(run, 0), "error", error_text(done, lines), "executionTime",
                                 (json_int_t)((clock_mono_us() - run->begun_us + 500) / 1000), "results", run->results,
                                 "stdout", kept_text(run, 0), "stderr", kept_text(run, 1), "errorName",
                                 text_or_null(done, "errorName"), "errorValue", text_or_null(done, "errorValue"),
                                 "traceback", lines, "executionCount", (json_int_t)c->count, "timedOut",
                                 run->is_timed_out, "truncated", run->is_cut, "state", context_state_name(c->state));
        run->ev.on_done(run->arg, j, NULL);
    }
    free_run(run);
    context_turn_next(c);
}

void context_run_frame(struct context *c, char letter, const char *data, size_t len)
{
    struct context_run *run = c->run;
    if (!run)
        return; /* printed by something that was left running */
    if (letter == KERNEL_STDOUT || letter == KERNEL_STDERR) {
        take_output(run, letter == KERNEL_STDERR, data, len);
    } else if (letter == KERNEL_RESULT_PART || letter == KERNEL_RESULT) {
        if (run->results_bytes + run->part.len + len > CONTEXT_RESULTS_MAX || buf_add(&run->part, data, len) < 0)
            run->is_part_lost = true;
        if (letter == KERNEL_RESULT)
            take_result(run);
    } else if (letter == KERNEL_DONE_PART || letter == KERNEL_DONE) {
        (void)buf_add(&run->done_part, data, len); /* past its maximum it will not read as JSON */
        if (letter != KERNEL_DONE)
            return;
        JSON_OWNED done = NULL;
        if (json_read_input(buf_text(&run->done_part), run->done_part.len, &done, NULL) < 0 || !json_is_object(done)) {
            json_decref(done);
            done = json_pack("{s:s, s:s, s:[]}", "errorName", "Error", "errorValue",
                             "the interpreter's reply could not be parsed", "traceback");
        }
        timer_set(c->timer, -1, 0);
        c->state = CONTEXT_IDLE;
        run_finish(c, done);
    }
}

void context_run_ended(struct context *c, const char *why)
{
    JSON_OWNED done = json_pack("{s:s, s:s, s:[s]}", "errorName", "ContextDied", "errorValue", why, "traceback", why);
    run_finish(c, done);
}

void context_run_fail(struct context *c, const struct err *err)
{
    struct context_run *run = c->run;
    c->run = NULL;
    if (!run)
        return;
    if (run->ev.on_done)
        run->ev.on_done(run->arg, NULL, err);
    free_run(run);
}

/* --- the beginning, and being stopped --- */

static void send_interrupt(struct context *c)
{
    if (strcmp(c->language, "javascript") == 0)
        kernel_signal(c->host->kernel, SIGINT);
    else
        (void)kernel_send(c->host->kernel, c->number, KERNEL_INTERRUPT, NULL, 0); /* if it is lost the kill follows */
}

static void on_run_late(void *arg)
{
    struct context *c = arg;
    struct context_run *run = c->run;
    if (c->host->s->status == SANDBOX_PAUSED) { /* a paused process gets no signal: tried again after the resume */
        timer_set(c->timer, CONTEXT_GRACE_MS, 0);
        return;
    }
    if (run->phase == PHASE_RUNNING) {
        run->phase = PHASE_INTERRUPTED;
        run->is_timed_out = true;
        timer_set(c->timer, CONTEXT_GRACE_MS, 0);
        send_interrupt(c);
    } else if (run->phase == PHASE_INTERRUPTED) {
        run->phase = PHASE_KILLED;
        timer_set(c->timer, CONTEXT_GRACE_MS, 0);
        context_kill(c);
    } else {
        context_end_host(c);
    }
}

int context_execute(struct context *c, const char *code, int64_t timeout_ms, const struct context_events *ev, void *arg,
                    struct err *err)
{
    struct manager *m = context_manager(c);
    int64_t max = m->settings->max_cmd_timeout_s * 1000;
    if (c->state == CONTEXT_DEAD || c->state == CONTEXT_LOST)
        return err_set(err, ERR_CONFLICT, 0, "context %s is %s (%s): restart it", c->id, context_state_name(c->state),
                       c->why);
    if (c->state != CONTEXT_IDLE)
        return err_set(err, ERR_CONFLICT, 0, "context %s is %s: wait, interrupt it or use another", c->id,
                       context_state_name(c->state));
    int r = kernel_send(c->host->kernel, c->number, KERNEL_CODE, code, strlen(code));
    if (r < 0)
        return err_set(err, ERR_CAPACITY, -r, "context %s does not read", c->id);
    struct context_run *run = xzalloc(sizeof(*run));
    *run = (struct context_run){ .ev = *ev, .arg = arg, .results = json_array(), .begun_us = clock_mono_us() };
    run->timeout_ms = timeout_ms <= 0 || timeout_ms > max ? max : timeout_ms;
    for (int i = 0; i < 2; i++)
        buf_init(&run->streams[i].kept, CONTEXT_OUTPUT_MAX);
    buf_init(&run->part, CONTEXT_RESULTS_MAX);
    buf_init(&run->done_part, CONTEXT_OUTPUT_MAX);
    c->run = run;
    c->state = CONTEXT_BUSY;
    c->count++;
    context_set_timer(c, run->timeout_ms, on_run_late);
    return 0;
}

bool context_interrupt(struct context *c)
{
    if (!c->run || !c->host)
        return false;
    send_interrupt(c);
    return true;
}

void context_abandon(struct context *c)
{
    struct context_run *run = c->run;
    run->ev = (struct context_events){ 0 };
    if (run->phase != PHASE_RUNNING)
        return;
    run->phase = PHASE_INTERRUPTED;
    timer_set(c->timer, CONTEXT_GRACE_MS, 0);
    send_interrupt(c);
}
