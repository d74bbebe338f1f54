/* Theory of operation. A struct follower is one client that follows a log. It reads the log to its end (is_looking
 * while the agent is asked), then watches it (watch) until it grows or the command exits; after the exit it reads once
 * more and sends the exit event. A service has no exit: its log continues until its box ends. Output is cut at whole
 * UTF-8 characters. A client that does not read pauses the follower at STREAM_MARK queued bytes, until its queue
 * drains. A client that disconnects while the agent is asked clears c, and the answer frees the follower. An error ends
 * the stream as its last event. */
#include "api/log_follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "sandbox/exec/background.h"

#define PIECE_MAX   (256 * 1024)  /* bytes in one event */
#define STREAM_MARK (1024 * 1024) /* queued bytes past which the reader has to catch up first */
#define PING_MS     15000         /* a stream without events for so long sends a comment */

bool log_follow_is_asked(const struct call *c)
{
    const char *accept = call_header(c, "accept");
    return call_bool(c, "follow", accept && strcasestr(accept, "text/event-stream"));
}

bool log_follow_is_base64(const struct call *c)
{
    return strcmp(call_str(c, "encoding", "utf8"), "base64") == 0;
}

json_t *log_follow_text(const struct call *c, const char *data, size_t len)
{
    if (!log_follow_is_base64(c))
        return json_text(data, len);
    CLEANUP(free_p) char *text = xzalloc(BASE64_SIZE(len) + 1);
    base64_encode(data, len, text);
    return json_string(text);
}

size_t log_follow_giveable(const struct call *c, const char *data, size_t len, bool is_end)
{
    size_t whole = log_follow_is_base64(c) ? len : utf8_whole(data, len);
    return whole == 0 && is_end ? len : whole;
}

/* One client that follows a log: it is read to its end, then watched until there is more. */
struct follower {
    struct call *c; /* NULL: the client has left while a look was under way */
    struct manager *m;
    char *tag;
    struct sandbox *service; /* whose service it is; NULL: it is a durable command */
    uint64_t box_number;     /* of the box in which the service runs */
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
    sandbox_unref(f->service);
    free(f->tag);
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

static bool is_running(const struct follower *f)
{
    return f->service || json_get_bool(background_find(f->m->background, f->tag, NULL), "running", false);
}

/* Where the log is; NULL with err. */
static struct sandbox *sandbox_of(struct follower *f, struct err *err)
{
    json_t *rec = f->service ? NULL : background_find(f->m->background, f->tag, err);
    struct sandbox *s = f->service ? f->service
                        : rec      ? manager_find(f->m, json_get_str(rec, "sandboxId", ""), err)
                                   : NULL;
    if (s && (!s->link || (f->service && s->box_number != f->box_number))) {
        (void)err_set(err, ERR_CONFLICT, 0, "sandbox %s has lost its agent", s->id);
        return NULL;
    }
    return s;
}

/* The box of a service has ended, and its log with it. */
static void send_end(struct follower *f)
{
    (void)call_stream_event(f->c,
                            json_pack("{s:s, s:I, s:I}", "type", "end", "offset", (json_int_t)f->offset, "timestamp",
                                      (json_int_t)clock_wall_ms()),
                            NULL);
    end_follower(f, NULL);
}

static void send_exit(struct follower *f)
{
    json_t *rec = background_find(f->m->background, f->tag, NULL);
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
                          json_pack("{s:s, s:o, s:I, s:I}", "type", "output", "data", log_follow_text(f->c, data, len),
                                    "offset", (json_int_t)f->offset, "timestamp", (json_int_t)clock_wall_ms()),
                          id);
    if (queued < STREAM_MARK)
        timer_set(f->timer, 0, 0); /* else on_drain resumes */
}

static void on_grown(void *arg)
{
    struct follower *f = arg;
    f->watch = NULL;
    timer_set(f->timer, 0, 0); /* on the next turn: the link may be ending just now */
}

static void on_looked(void *arg, const char *data, size_t len, const struct err *err)
{
    struct follower *f = arg;
    f->is_looking = false;
    if (!f->c) {
        free_follower(f);
        return;
    }
    struct err gone = ERR_INIT;
    if (err && f->service && f->has_begun && !sandbox_of(f, &gone)) {
        send_end(f);
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
    size_t n = log_follow_giveable(f->c, data, len, f->is_over);
    if (n > 0) {
        send_piece(f, data, n);
    } else if (is_running(f)) {
        struct err why = ERR_INIT; /* len: an incomplete UTF-8 character at the end */
        struct sandbox *s = sandbox_of(f, &why);
        f->watch = s ? background_watch(f->m->background, s, f->tag, f->offset + len, on_grown, f, &why) : NULL;
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
    struct sandbox *s = sandbox_of(f, &err);
    int r = -1;
    if (!s && f->service && f->has_begun) {
        send_end(f);
        return;
    }
    if (s) {
        f->is_looking = true;
        r = guest_job_log(s->link, f->tag, f->offset, PIECE_MAX, on_looked, f);
        if (r < 0)
            (void)err_set(&err, err_from_errno(-r), -r, "reading the log");
    }
    if (r < 0) {
        f->is_looking = false;
        end_follower(f, &err);
    }
}

void log_follow_start(struct call *c, const char *tag, struct sandbox *service, uint64_t offset)
{
    const char *last = json_get(call_params(c), "offset") ? NULL : call_header(c, "last-event-id");
    struct follower *f = xzalloc(sizeof(*f));
    *f = (struct follower){ .c = c,
                            .m = call_manager(c),
                            .tag = xstrdup(tag),
                            .service = service ? sandbox_ref(service) : NULL,
                            .box_number = service ? service->box_number : 0,
                            .offset = last ? strtoull(last, NULL, 10) : offset };
    f->timer = timer_new(call_loop(c), 0, 0, on_timer, f);
    call_on_cancel(c, on_follower_gone, f);
}
