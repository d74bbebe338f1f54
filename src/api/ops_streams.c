/* Handlers of a sandbox's live streams: the output of its main process line by line, and its resource use at an
 * interval. Theory of operation. A struct log_reader is one client of the log, a struct meter one of the metrics; each
 * holds a reference to its sandbox and ends with the client, the sandbox or an error, which is its last event.
 *
 * A log_reader asks the agent one question at a time (enum log_step): the state of the log, backwards for the start of
 * the tail, then forwards line by line. When the log does not grow, it asks again after LOOK_MIN_MS, doubled up to
 * LOOK_MAX_MS. A client that disconnects while a question is pending clears c, and the answer frees the reader. A
 * client that does not read pauses the reader at STREAM_MARK queued bytes, until its queue drains. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "api/handlers.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/utf8.h"

#define MAIN_TAG    "main"        /* the durable command that is the sandbox's main process */
#define PIECE_MAX   (256 * 1024)  /* bytes of log in one look */
#define LINE_BYTES  (64 * 1024)   /* longer lines are sent in pieces */
#define STREAM_MARK (1024 * 1024) /* queued bytes past which the reader has to catch up first */
#define LOOK_MIN_MS 5             /* between looks at a log that does not grow: doubled each time */
#define LOOK_MAX_MS 200
#define PING_MS     15000

/* --- logs --- */

/* The log is polled: at once again after it has grown, and less and less often while it does not grow. At most one
 * question to the agent is pending; each step is one question. */
enum log_step {
    LOG_STATE, /* how much log there is, and whether the process runs */
    LOG_BACK,  /* going back from the end, piece by piece, until enough line ends were seen */
    LOG_READ,  /* forward, line by line */
    LOG_NONE,  /* there is no main process: nothing to ask, only the sandbox's end to wait for */
};

struct log_reader {
    struct call *c; /* NULL: the client has left while a question was under way */
    struct sandbox *s;
    struct timer *timer;
    enum log_step step;
    bool is_following, is_asking;
    bool is_placed;              /* the beginning of the tail was found */
    bool is_over;                /* the process has ended */
    int64_t tail;                /* LOG_BACK: lines still to be found */
    uint64_t start, end, offset; /* first byte kept; LOG_BACK: end of the piece; where to read */
    int64_t pause_ms, quiet_ms;
    struct buf line; /* what has arrived of the next line */
};

static void free_reader(struct log_reader *r)
{
    timer_free(r->timer);
    sandbox_unref(r->s);
    buf_done(&r->line);
    free(r);
}

static json_t *log_event_json(const char *type, const char *data, size_t len)
{
    return json_pack("{s:s, s:o, s:I}", "type", type, "data", json_text(data, len), "timestamp",
                     (json_int_t)clock_wall_ms());
}

/* A line of the log begins with the number of its stream (agent/log_mark.h); one that an older agent wrote does
 * not, and its stream is unknown. */
static json_t *line_json(const char *line, size_t len)
{
    bool has_mark = len > 0 && (line[0] == 1 || line[0] == 2), is_error = has_mark && line[0] == 2;
    return log_event_json(is_error ? "stderr" : "stdout", line + has_mark, len - has_mark);
}

static void end_log(struct log_reader *r)
{
    call_on_cancel(r->c, NULL, NULL);
    if (r->line.len)
        (void)call_stream_event(r->c, line_json(r->line.data, r->line.len), NULL);
    (void)call_stream_event(r->c, log_event_json("end", "", 0), NULL);
    call_stream_end(r->c);
    free_reader(r);
}

static void fail_log(struct log_reader *r, const struct err *err)
{
    call_on_cancel(r->c, NULL, NULL);
    call_fail(r->c, err);
    free_reader(r);
}

static void reader_continue(struct log_reader *r, enum log_step step)
{
    r->step = step;
    timer_set(r->timer, 0, 0);
}

static void reader_pause(struct log_reader *r, enum log_step step)
{
    r->step = step;
    r->quiet_ms += r->pause_ms;
    if (r->quiet_ms >= PING_MS) {
        call_stream_comment(r->c, "ping");
        r->quiet_ms = 0;
    }
    timer_set(r->timer, r->pause_ms, 0);
    r->pause_ms = r->pause_ms * 2 < LOOK_MAX_MS ? r->pause_ms * 2 : LOOK_MAX_MS;
}

/* Sends every whole line of the piece; what is left waits for its end. Returns the bytes queued for the client. */
static size_t send_lines(struct log_reader *r, const char *data, size_t len)
{
    size_t queued = 0;
    while (len > 0) {
        const char *end = memchr(data, '\n', len);
        size_t n = end ? (size_t)(end - data) : len, room = r->line.max - r->line.len;
        bool is_long = n > room;
        size_t piece = is_long ? room : n, taken = is_long ? room : n + (end != NULL);
        if (buf_add(&r->line, data, piece) < 0)
            return STREAM_MARK; /* out of memory: read again when the client's queue has drained */
        if (end || is_long) {
            size_t whole = is_long ? utf8_whole(r->line.data, r->line.len) : r->line.len;
            queued = call_stream_event(r->c, line_json(buf_text(&r->line), whole), NULL);
            buf_consume(&r->line, whole);
        }
        r->offset += taken;
        data += taken;
        len -= taken;
    }
    return queued;
}

/* Counts line ends from the end of the piece on, and stops behind the one before the tail. */
static void on_back(struct log_reader *r, const char *data, size_t len)
{
    for (size_t i = len; i > 0; i--) {
        if (data[i - 1] != '\n' || r->tail-- > 0)
            continue;
        r->offset += i;
        reader_continue(r, LOG_READ);
        return;
    }
    if (r->offset == r->start) {
        reader_continue(r, LOG_READ);
        return;
    }
    r->end = r->offset;
    r->offset = r->end - r->start > PIECE_MAX ? r->end - PIECE_MAX : r->start;
    reader_continue(r, LOG_BACK);
}

static void on_log(void *arg, const char *data, size_t len, const struct err *err)
{
    struct log_reader *r = arg;
    r->is_asking = false;
    if (!r->c)
        free_reader(r);
    else if (r->s->is_gone)
        end_log(r);
    else if (err && err->code == ERR_GONE)
        reader_continue(r, LOG_STATE); /* overwritten meanwhile: continues with what is kept */
    else if (err)
        fail_log(r, err);
    else if (r->step == LOG_BACK)
        on_back(r, data, len);
    else if (len > 0) {
        r->pause_ms = LOOK_MIN_MS;
        r->quiet_ms = 0;
        if (send_lines(r, data, len) < STREAM_MARK)
            reader_continue(r, LOG_READ); /* else on_log_drain does */
    } else if (r->is_over || !r->is_following)
        end_log(r);
    else
        reader_pause(r, LOG_STATE); /* has it ended meanwhile? */
}

static void on_job(struct log_reader *r, const struct guest_job *job)
{
    r->is_over = !job->is_running;
    r->start = job->log_start;
    if (r->is_placed) {
        r->offset = r->offset < r->start ? r->start : r->offset;
        reader_continue(r, LOG_READ);
        return;
    }
    r->is_placed = true;
    r->end = r->offset = job->log_bytes;
    if (r->tail == 0) {
        reader_continue(r, LOG_READ);
        return;
    }
    r->offset = r->end - r->start > PIECE_MAX ? r->end - PIECE_MAX : r->start;
    reader_continue(r, LOG_BACK);
}

static void on_state(void *arg, const struct guest_job *job, const struct err *err)
{
    struct log_reader *r = arg;
    r->is_asking = false;
    if (!r->c)
        free_reader(r);
    else if (r->s->is_gone)
        end_log(r);
    else if (job)
        on_job(r, job);
    else if (err->code != ERR_NOT_FOUND)
        fail_log(r, err);
    else if (!r->is_following)
        end_log(r);
    else
        reader_pause(r, LOG_NONE);
}

static void reader_ask(void *arg)
{
    struct log_reader *r = arg;
    struct err err = ERR_INIT;
    int e;
    if (r->s->is_gone) {
        end_log(r);
        return;
    }
    if (r->step == LOG_NONE || r->s->status != SANDBOX_RUNNING) { /* paused: it says no more until it is resumed */
        reader_pause(r, r->step);
        return;
    }
    r->is_asking = true;
    if (r->step == LOG_STATE)
        e = guest_job_state(r->s->link, MAIN_TAG, on_state, r);
    else
        e = guest_job_log(r->s->link, MAIN_TAG, r->offset,
                          r->step == LOG_BACK ? (size_t)(r->end - r->offset) : PIECE_MAX, on_log, r);
    if (e < 0) {
        r->is_asking = false;
        (void)err_set(&err, err_from_errno(-e), -e, "reading the log of %s", r->s->id);
        fail_log(r, &err);
    }
}

static void on_log_drain(void *arg)
{
    struct log_reader *r = arg;
    if (!r->is_asking && r->step == LOG_READ)
        reader_continue(r, LOG_READ);
}

static void on_log_gone(void *arg)
{
    struct log_reader *r = arg;
    call_stream_end(STEAL(r->c));
    if (!r->is_asking)
        free_reader(r);
}

void api_stream_logs(struct call *c)
{
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    struct log_reader *r = xzalloc(sizeof(*r));
    *r = (struct log_reader){ .c = c,
                              .s = sandbox_ref(s),
                              .is_following = call_bool(c, "follow", true),
                              .tail = call_int(c, "tail", LIMIT_DEFAULT(LOG_LINES)),
                              .pause_ms = LOOK_MIN_MS,
                              .line = BUF_INIT(LINE_BYTES) };
    r->timer = timer_new(call_loop(c), 0, 0, reader_ask, r);
    call_stream_begin(c);
    call_on_cancel(c, on_log_gone, r);
    call_stream_on_drain(c, on_log_drain, r);
}

/* --- metrics --- */

struct meter {
    struct call *c;
    struct sandbox *s;
    struct timer *timer;
    bool is_held; /* the client has not read the last samples: it gets no more until it has */
};

static void free_meter(struct meter *m)
{
    timer_free(m->timer);
    sandbox_unref(m->s);
    free(m);
}

static void on_tick(void *arg)
{
    struct meter *m = arg;
    struct err err = ERR_INIT;
    if (m->is_held)
        return;
    json_t *sample = NULL;
    if (m->s->is_gone)
        (void)err_set(&err, ERR_NOT_FOUND, 0, "sandbox not found: %s", m->s->id);
    else
        sample = sandbox_metrics(m->s, &err);
    if (sample) {
        m->is_held = call_stream_event(m->c, sample, NULL) >= STREAM_MARK;
        return;
    }
    call_on_cancel(m->c, NULL, NULL);
    call_fail(m->c, &err);
    free_meter(m);
}

static void on_meter_drain(void *arg)
{
    struct meter *m = arg;
    m->is_held = false;
}

static void on_meter_gone(void *arg)
{
    struct meter *m = arg;
    struct call *c = m->c;
    free_meter(m);
    call_stream_end(c);
}

void api_stream_metrics(struct call *c)
{
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    int64_t every_ms = call_int(c, "interval", LIMIT_DEFAULT(SAMPLE_S)) * 1000;
    struct meter *m = xzalloc(sizeof(*m));
    *m = (struct meter){ .c = c, .s = sandbox_ref(s) };
    m->timer = timer_new(call_loop(c), 0, every_ms, on_tick, m);
    call_stream_begin(c);
    call_on_cancel(c, on_meter_gone, m);
    call_stream_on_drain(c, on_meter_drain, m);
}
