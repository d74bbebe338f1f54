#include "engine/channel_handle.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "engine/channel.h"
#include "engine/channel_handle_core.h"
#include "http/ws.h"
#include "http/ws_closing.h"

#define EARLY_MAX   (64 * 1024 * 1024)
#define MESSAGE_MAX (16 * 1024 * 1024)

/* Data sent before there was a reader: a head, then the bytes. */
struct early_head {
    size_t len;
    bool is_text;
};

struct channel_handle {
    LIST_ENTRY(channel_handle) link;
    struct engine *engine;
    struct channel_handle_events events;
    void *arg;
    struct channel *channel; /* a channel of this engine, or */
    struct ws *ws;           /* one at an outside engine */
    struct buf early;
    int end_code;
    char identity[ENGINE_ID_MAX]; /* identity of the caller that opened it */
    bool has_identity;
    bool is_writer, is_ready;
    bool is_finished; /* the holder has finished; early data still waits for a reader */
};

static void end_free(struct channel_handle *c)
{
    LIST_REMOVE(c, link);
    buf_done(&c->early);
    free(c);
}

/* The other side is gone: calls on_end, unless the holder has finished. */
static void end_over(struct channel_handle *c)
{
    c->channel = NULL;
    c->ws = NULL;
    if (!c->is_finished)
        c->events.on_end(c->arg);
    end_free(c);
}

/* --- a channel of this engine --- */

static void local_claimed(void *arg, struct channel *ch)
{
    struct channel_handle *c = arg;
    bool was_full = c->early.len > CHANNEL_HANDLE_MARK;
    (void)ch;
    c->is_ready = true;
    if (!c->is_writer)
        return;
    for (size_t at = 0; at < c->early.len;) {
        struct early_head head;
        (void)memcpy(&head, c->early.data + at, sizeof(head));
        at += sizeof(head);
        (void)channel_write(c->channel, head.is_text, c->early.data + at, head.len);
        at += head.len;
    }
    buf_done(&c->early);
    if (c->is_finished) {
        channel_close(c->channel, 1000, "stream_complete");
        end_free(c);
    } else if (was_full && c->events.on_drain) {
        c->events.on_drain(c->arg);
    }
}

static void local_data(void *arg, struct channel *ch, bool is_text, const char *data, size_t len)
{
    struct channel_handle *c = arg;
    (void)ch;
    if (c->events.on_data)
        c->events.on_data(c->arg, is_text, data, len);
}

static void local_drain(void *arg, struct channel *ch)
{
    struct channel_handle *c = arg;
    (void)ch;
    if (c->events.on_drain)
        c->events.on_drain(c->arg);
}

static void local_closed(void *arg, struct channel *ch)
{
    struct channel_handle *c = arg;
    c->end_code = channel_end_code(ch);
    end_over(c);
}

static int open_here(struct channel_handle *c, const json_t *ref, struct err *err)
{
    static const struct channel_events events = {
        .on_claimed = local_claimed, .on_data = local_data, .on_drain = local_drain, .on_closed = local_closed
    };
    c->channel = channel_claim(c->engine->channels, ref, &events, c);
    if (!c->channel)
        return err_set(err, ERR_NOT_FOUND, 0, "channel \"%.64s\" does not exist, or that end is already claimed",
                       json_get_str(ref, "channel_id", ""));
    c->is_ready = channel_has_peer(c->channel);
    return 0;
}

/* --- a channel of an outside engine --- */

static void on_ws_message(void *arg, struct ws *w, bool is_text, const char *data, size_t len)
{
    struct channel_handle *c = arg;
    (void)w;
    if (!c->is_writer && c->events.on_data)
        c->events.on_data(c->arg, is_text, data, len);
}

static void on_ws_close(void *arg, struct ws *w, int code, const char *reason)
{
    struct channel_handle *c = arg;
    (void)w, (void)reason;
    c->end_code = code;
    end_over(c);
}

static void on_ws_drain(void *arg, struct ws *w)
{
    struct channel_handle *c = arg;
    (void)w;
    if (c->events.on_drain)
        c->events.on_drain(c->arg);
}

static bool is_plain(const char *s)
{
    return *s && strspn(s, "0123456789abcdefABCDEF-") == strlen(s);
}

static int open_there(struct channel_handle *c, const char *base_url, const json_t *ref, struct err *err)
{
    static const struct ws_events events = { .on_message = on_ws_message,
                                             .on_close = on_ws_close,
                                             .on_drain = on_ws_drain };
    const char *id = json_get_str(ref, "channel_id", ""), *key = json_get_str(ref, "access_key", "");
    if (!is_plain(id) || !is_plain(key))
        return err_set(err, ERR_INVALID, 0, "a channel's id and key are UUIDs");
    CLEANUP(free_p)
    char *url = xasprintf("%s/ws/channels/%s?key=%s&dir=%s", base_url, id, key, c->is_writer ? "write" : "read");
    c->is_ready = true; /* frames sent before the handshake wait in the socket's queue */
    const struct ws_target to = {
        .url = url, .message_max = MESSAGE_MAX, .trust = c->engine->trust, .rule = outgoing_operator
    };
    return ws_dial(c->engine->loop, &to, &events, c, &c->ws, err);
}

/* --- both kinds --- */

int channel_handle_open(struct engine *e, const char *base_url, const json_t *ref,
                        const struct channel_handle_events *ev, void *arg, struct channel_handle **ret, struct err *err)
{
    if (!engine_is_channel_ref(ref))
        return err_set(err, ERR_INVALID, 0,
                       "a channel reference is {channel_id, access_key, direction: \"read\" or \"write\"}");
    if (e->is_stopping)
        return err_set(err, ERR_NOT_FOUND, 0, "the server is stopping: no channel can be opened");
    struct channel_handle *c = xzalloc(sizeof(*c));
    *c = (struct channel_handle){ .engine = e, .events = *ev, .arg = arg, .early = BUF_INIT(EARLY_MAX) };
    c->is_writer = strcmp(json_get_str(ref, "direction", ""), "write") == 0;
    LIST_INSERT_HEAD(&e->ends, c, link);
    int r = base_url ? open_there(c, base_url, ref, err) : open_here(c, ref, err);
    if (r < 0)
        end_free(c);
    else
        *ret = c;
    return r;
}

int channel_handle_end_code(const struct channel_handle *c)
{
    return c->end_code;
}

size_t channel_handle_send(struct channel_handle *c, bool is_text, const char *data, size_t len)
{
    struct early_head head = { .len = len, .is_text = is_text };
    if (c->ws)
        return ws_send(c->ws, is_text, data, len);
    if (c->is_ready)
        return channel_write(c->channel, is_text, data, len);
    if (buf_reserve(&c->early, sizeof(head) + len) == 0) {
        (void)buf_add(&c->early, &head, sizeof(head));
        (void)buf_add(&c->early, data, len);
    } /* a source that ignores the mark loses what exceeds 64 MiB */
    return c->early.len;
}

void channel_handle_hold(struct channel_handle *c, bool is_held)
{
    if (c->ws)
        ws_hold(c->ws, is_held);
    else
        channel_hold(c->channel, is_held);
}

struct channel_handle *channel_handle_finish(struct channel_handle *c)
{
    if (!c)
        return NULL;
    c->is_finished = true;
    if (c->is_writer && !c->is_ready)
        return NULL; /* kept until a reader connects or the claim times out: an empty stream needs its end, too */
    if (c->ws)
        ws_closing_add(c->engine->parting, STEAL(c->ws), 1000, c->is_writer ? "stream_complete" : "");
    else
        channel_close(c->channel, 1000, c->is_writer ? "stream_complete" : "the reader left");
    end_free(c);
    return NULL;
}

void channel_handle_set_identity(struct channel_handle *c, const char *identity)
{
    c->has_identity = true;
    (void)snprintf(c->identity, sizeof(c->identity), "%s", identity);
}

static void handle_cut(struct channel_handle *c, int code, const char *reason)
{
    struct ws *w = STEAL(c->ws);
    if (w)
        ws_drop(w);
    if (c->channel)
        channel_close(c->channel, code, reason);
    c->end_code = code;
    end_over(c);
}

void channel_handle_end_of(struct engine *e, const char *identity)
{
    struct channel_handle *c = LIST_FIRST(&e->ends);
    while (c) {
        if (c->has_identity && strcmp(c->identity, identity) == 0) {
            handle_cut(c, 1008, "the token was revoked");
            c = LIST_FIRST(&e->ends); /* on_end may have ended others */
        } else {
            c = LIST_NEXT(c, link);
        }
    }
}

void channel_handle_stop_all(struct engine *e)
{
    struct channel_handle *c;
    while ((c = LIST_FIRST(&e->ends)))
        handle_cut(c, 1001, "the server stops");
}
