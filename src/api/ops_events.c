/* Handlers of events: history, publishing, and the live stream. */
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "api/handlers.h"
#include "base/alloc.h"
#include "base/ident.h"
#include "base/limits.h"

#define STREAM_MARK (1024 * 1024) /* queued bytes past which a reader has to catch up first */
#define PING_MS     15000

void api_event_history(struct call *c)
{
    struct err err = ERR_INIT;
    struct event_log_query q = { .sandbox_id = call_str(c, "sandboxId", NULL),
                                 .topic = call_str(c, "topic", NULL),
                                 .tenant = call_view(c),
                                 .limit = call_int(c, "limit", LIMIT_DEFAULT(ENTRIES)),
                                 .offset = call_int(c, "offset", 0) };
    handlers_reply(c, event_log_page(call_manager(c)->events, &q, &err), &err);
}

void api_event_publish(struct call *c)
{
    struct err err = ERR_INIT;
    struct event_log_news news = { .topic = call_str(c, "topic", ""),
                                   .sandbox_id = call_str(c, "sandboxId", ""),
                                   .data = json_get(call_params(c), "data"),
                                   .tenant = call_by(c) ? call_by(c)->tenant : "" };
    handlers_record(c, event_log_publish(call_manager(c)->events, &news, &err), &err);
}

/* --- the stream --- */

/* One reader. It follows the log by place: events are sent as they come while it keeps up, and read back from the log
 * after it had to wait, so a slow reader misses only what the log no longer keeps. */
struct listener {
    struct call *c;
    struct event_log *log;
    struct event_log_sub *sub;
    struct timer *ping;
    char *topic, *tenant; /* NULL: all */
    struct event_log_query query;
    int64_t place;
    bool has_ids; /* asked for id lines: readers that know only data lines get none */
    bool is_held; /* its queue is full: on_drain resumes */
};

static void send_event(struct listener *l, json_t *event)
{
    const char *id = l->has_ids ? json_get_str(event, "id", NULL) : NULL;
    l->is_held = call_stream_event(l->c, json_incref(event), id) >= STREAM_MARK;
}

static void on_event(void *arg, json_t *event)
{
    struct listener *l = arg;
    if (l->is_held)
        return;
    l->place++;
    if (event_log_wants(&l->query, event))
        send_event(l, event);
}

static void catch_up(void *arg)
{
    struct listener *l = arg;
    l->is_held = false;
    while (!l->is_held) {
        JSON_OWNED event = event_log_next(l->log, &l->query, &l->place);
        if (!event)
            break;
        send_event(l, event);
    }
}

static void on_ping(void *arg)
{
    struct listener *l = arg;
    call_stream_comment(l->c, "ping");
}

static void on_listener_gone(void *arg)
{
    struct listener *l = arg;
    struct call *c = l->c;
    event_log_unsubscribe(l->sub);
    timer_free(l->ping);
    free(l->topic);
    free(l->tenant);
    free(l);
    call_stream_end(c);
}

void api_stream_events(struct call *c)
{
    const char *last = call_header(c, "last-event-id");
    struct listener *l = xzalloc(sizeof(*l));
    *l = (struct listener){ .c = c, .log = call_manager(c)->events, .topic = xstrdup(call_str(c, "topic", NULL)) };
    l->has_ids = last || call_bool(c, "ids", false);
    l->tenant = xstrdup(call_view(c));
    l->query = (struct event_log_query){ .topic = l->topic, .tenant = l->tenant };
    l->place = last && ident_is("evt", last) ? event_log_after(l->log, last) : event_log_end(l->log);
    l->sub = event_log_subscribe(l->log, on_event, l);
    l->ping = timer_new(call_loop(c), PING_MS, PING_MS, on_ping, l);
    call_stream_begin(c);
    call_on_cancel(c, on_listener_gone, l);
    call_stream_on_drain(c, catch_up, l);
    catch_up(l);
}
