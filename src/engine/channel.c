/* Channels and the hub that owns them. A channel has two ends, a writer and a reader; each end is local (held by C code
 * of this process) or belongs to a WebSocket client. States of an end: unclaimed, claimed, gone. A client claims its
 * end by upgrading GET /ws/channels/<id> with the channel's key, which is compared in constant time. Data goes straight
 * to the reader; a full reader's queue pauses the writer's socket. What a writer sends before there is a reader waits
 * in a short queue, and its close is answered at once: the reader gets the queue, then the end. A full queue pauses the
 * writer. A local reader gets the queue from a timer, one item a turn, because on_data may close the channel. The
 * reader's leaving, the writer's leaving with an empty queue, or an end that nobody claims within CHANNEL_CLAIM_MS,
 * ends the channel: the other socket gets a close frame, a local holder gets on_closed, and the memory is freed. */
#include "engine/channel.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "base/map.h"
#include "base/share.h"
#include "base/uuid.h"
#include "engine/request_json.h"
#include "http/url.h"
#include "http/ws.h"
#include "http/ws_closing.h"

#define PATH          "/ws/channels/"
#define SWEEPS        10                 /* checks for unclaimed ends in one claim time */
#define MESSAGE_MAX   (16 * 1024 * 1024) /* SDKs split at 64 KiB, but larger frames are legal */
#define QUEUE_MARK    (1024 * 1024)
#define CHANNEL_MAGIC 0xc4a27e1du
#define ITEM_BYTES    65536               /* what one item of buffer_size counts for */
#define WAITING_MAX   (256 * 1024 * 1024) /* bytes that wait for readers in all channels together */

struct end {
    struct channel *channel;
    enum channel_end kind;
    bool is_local, is_claimed;
    struct ws *ws; /* NULL: local, unclaimed or gone */
};

/* A message that waits for a reader. */
struct item {
    STAILQ_ENTRY(item) link;
    bool is_text;
    size_t len;
    char data[];
};

struct channel {
    unsigned magic;
    struct channel_hub *hub;
    char id[UUID_MAX], key[UUID_MAX], tenant[SHARE_TENANT_MAX];
    struct end writer, reader;
    struct channel_events events;
    void *arg;
    int64_t made_ms;
    int end_code; /* close code of the client that ended the channel */
    STAILQ_HEAD(, item) waiting;
    size_t n_waiting, waiting_bytes, buffer_items;
    bool is_ended;       /* the writer has left; the reader gets what waits, then the end */
    bool is_held;        /* by a local reader */
    struct timer *flush; /* hands what waits to a local reader; NULL: nothing waited */
};

struct channel_hub {
    struct loop *loop;
    struct map *channels; /* id -> struct channel */
    struct timer *sweep;
    struct ws_closing *parting;
    int64_t claim_ms;
    struct share *share, *bytes; /* of channels; of what waits in them */
};

/* --- life --- */

struct channel *channel_new(struct channel_hub *h, enum channel_end local, const struct channel_events *ev, void *arg)
{
    struct channel *c = xzalloc(sizeof(*c));
    c->magic = CHANNEL_MAGIC;
    c->hub = h;
    if (ev)
        c->events = *ev;
    c->arg = arg;
    c->writer = (struct end){ .channel = c, .kind = CHANNEL_WRITER, .is_local = local == CHANNEL_WRITER };
    c->reader = (struct end){ .channel = c, .kind = CHANNEL_READER, .is_local = local == CHANNEL_READER };
    c->writer.is_claimed = c->writer.is_local;
    c->reader.is_claimed = c->reader.is_local;
    c->made_ms = loop_now_ms(h->loop);
    c->buffer_items = CHANNEL_BUFFER_DEFAULT;
    STAILQ_INIT(&c->waiting);
    uuid_new(c->id);
    uuid_new(c->key);
    map_set(h->channels, c->id, c);
    return c;
}

struct channel *channel_new_for(struct channel_hub *h, const char *tenant, struct err *err)
{
    if (map_count(h->channels) >= CHANNEL_MAX || !share_take(h->share, tenant, 1)) {
        (void)err_set(err, ERR_CAPACITY, 0, "limit of %d open channels, or %d of one tenant, reached", CHANNEL_MAX,
                      CHANNEL_MAX / SHARE_PARTS);
        return NULL;
    }
    struct channel *c = channel_new(h, 0, NULL, NULL);
    (void)snprintf(c->tenant, sizeof(c->tenant), "%s", tenant);
    return c;
}

static void channel_release(struct end *e, int code, const char *reason)
{
    struct ws *w = STEAL(e->ws);
    if (w)
        ws_closing_add(e->channel->hub->parting, w, code, reason);
}

void channel_set_buffer(struct channel *c, int64_t items)
{
    c->buffer_items = items < 1 ? 1 : items > CHANNEL_BUFFER_MAX ? CHANNEL_BUFFER_MAX : (size_t)items;
}

/* The first message that waits, taken out of the queue; NULL: none. Caller frees. */
static struct item *item_take(struct channel *c)
{
    struct item *i = STAILQ_FIRST(&c->waiting);
    if (i) {
        STAILQ_REMOVE_HEAD(&c->waiting, link);
        c->n_waiting--;
        c->waiting_bytes -= i->len;
        share_give(c->hub->bytes, c->tenant, i->len);
    }
    return i;
}

static void channel_drop(struct channel *c, int code, const char *reason)
{
    assert(c->magic == CHANNEL_MAGIC);
    c->magic = 0;
    (void)map_remove(c->hub->channels, c->id);
    share_give(c->hub->share, c->tenant, 1);
    channel_release(&c->writer, code, reason);
    channel_release(&c->reader, code, reason);
    for (struct item *i; (i = item_take(c));)
        free(i);
    timer_free(c->flush);
    free(c);
}

void channel_close(struct channel *c, int code, const char *reason)
{
    channel_drop(c, code, reason);
}

/* Ends the channel on behalf of anyone but the local holder, who gets on_closed. */
static void channel_abort(struct channel *c, int code, const char *reason)
{
    if ((c->writer.is_local || c->reader.is_local) && c->events.on_closed)
        c->events.on_closed(c->arg, c);
    channel_drop(c, code, reason);
}

static void hub_sweep(void *arg)
{
    struct channel_hub *h = arg;
    int64_t oldest_ms = loop_now_ms(h->loop) - h->claim_ms;
    for (struct map_iter it = map_iter(h->channels); map_next(&it);) {
        struct channel *c = it.value;
        if (c->made_ms <= oldest_ms && !(c->writer.is_claimed && c->reader.is_claimed))
            channel_abort(c, 1001, "the other end never connected");
    }
}

struct channel_hub *channel_hub_new(struct loop *l, int64_t claim_ms)
{
    struct channel_hub *h = xzalloc(sizeof(*h));
    h->loop = l;
    h->claim_ms = claim_ms;
    h->channels = map_new();
    h->parting = ws_closing_new();
    h->share = share_new(CHANNEL_MAX);
    h->bytes = share_new(WAITING_MAX);
    h->sweep = timer_new(l, claim_ms / SWEEPS + 1, claim_ms / SWEEPS + 1, hub_sweep, h);
    return h;
}

struct channel_hub *channel_hub_free(struct channel_hub *h)
{
    if (!h)
        return NULL;
    for (struct map_iter it = map_iter(h->channels); map_next(&it);)
        channel_drop(it.value, 1001, "the server stops");
    map_free(h->channels);
    ws_closing_free(h->parting);
    timer_free(h->sweep);
    share_free(h->share);
    share_free(h->bytes);
    free(h);
    return NULL;
}

size_t channel_hub_count(const struct channel_hub *h)
{
    return map_count(h->channels);
}

json_t *channel_ref_json(const struct channel *c, enum channel_end which)
{
    return json_pack("{s:s, s:s, s:s}", "channel_id", c->id, "access_key", c->key, "direction",
                     which == CHANNEL_READER ? "read" : "write");
}

/* --- data --- */

static size_t send_frames(struct ws *w, bool is_text, const char *data, size_t len)
{
    size_t queued = 0, step = is_text ? len : CHANNEL_FRAME_BYTES; /* a text message is not split */
    for (size_t at = 0; at < len || (at == 0 && is_text); at += step) {
        size_t n = len - at < step ? len - at : step;
        queued = ws_send(w, is_text, data + at, n);
        if (step == 0)
            break;
    }
    return queued;
}

size_t channel_write(struct channel *c, bool is_text, const char *data, size_t len)
{
    return c->reader.ws ? send_frames(c->reader.ws, is_text, data, len) : 0;
}

void channel_hold(struct channel *c, bool is_held)
{
    c->is_held = is_held;
    if (c->flush && !is_held && (c->n_waiting || c->is_ended))
        timer_set(c->flush, 0, 0); /* what waits comes first */
    else if (c->writer.ws)
        ws_hold(c->writer.ws, is_held);
}

static bool is_full(const struct channel *c)
{
    return c->n_waiting >= c->buffer_items || c->waiting_bytes >= c->buffer_items * ITEM_BYTES ||
           !share_has_room(c->hub->bytes, "", 1) || !share_has_room(c->hub->bytes, c->tenant, 1);
}

/* Hands one message to a local reader, or the end. */
static void channel_flush(void *arg)
{
    struct channel *c = arg;
    if (c->is_held)
        return;
    CLEANUP(free_p) struct item *i = item_take(c);
    if (i) {
        timer_set(c->flush, 0, 0);
        c->events.on_data(c->arg, c, i->is_text, i->data, i->len); /* last: it may close the channel */
    } else if (c->is_ended) {
        channel_abort(c, 1000, "stream_complete");
    } else if (c->writer.ws) {
        ws_hold(c->writer.ws, false);
    }
}

static void end_message(void *arg, struct ws *w, bool is_text, const char *data, size_t len)
{
    struct end *e = arg;
    if (e->kind == CHANNEL_READER)
        return; /* a reader must not send */
    struct channel *c = e->channel;
    if (!c->reader.is_claimed || c->n_waiting) {
        struct item *i = xzalloc(sizeof(*i) + len);
        i->is_text = is_text;
        i->len = len;
        (void)memcpy(i->data, data, len);
        STAILQ_INSERT_TAIL(&c->waiting, i, link);
        c->n_waiting++;
        c->waiting_bytes += len;
        share_add(c->hub->bytes, c->tenant, len);
        ws_hold(w, is_full(c));
    } else if (c->reader.is_local) {
        c->events.on_data(c->arg, c, is_text, data, len);
    } else if (c->reader.ws && send_frames(c->reader.ws, is_text, data, len) > QUEUE_MARK) {
        ws_hold(w, true);
    }
}

static void end_drain(void *arg, struct ws *w)
{
    struct end *e = arg;
    (void)w;
    if (e->kind == CHANNEL_WRITER)
        return;
    struct channel *c = e->channel;
    if (!c->writer.is_local)
        channel_hold(c, false);
    else if (c->events.on_drain)
        c->events.on_drain(c->arg, c);
}

static void end_closed(void *arg, struct ws *w, int code, const char *reason)
{
    struct end *e = arg;
    (void)w, (void)reason;
    struct channel *c = e->channel;
    e->ws = NULL;
    c->end_code = code;
    if (e->kind == CHANNEL_WRITER && (!c->reader.is_claimed || c->n_waiting)) {
        c->is_ended = true; /* the reader gets it after what waits */
        return;
    }
    channel_abort(c, 1000, e->kind == CHANNEL_WRITER ? "stream_complete" : "the reader left");
}

/* --- claiming --- */

static struct channel *find(const struct channel_hub *h, const char *id, const struct buf *key)
{
    struct channel *c = map_get(h->channels, id);
    bool is_right = c && key->len == UUID_MAX - 1 && digest_same_secret(c->key, buf_text(key), UUID_MAX - 1);
    return is_right ? c : NULL;
}

static const struct ws_events ws_events = { .on_message = end_message, .on_close = end_closed, .on_drain = end_drain };

/* Completes the upgrade even for an end that was claimed before: this is how clients tell it from a wrong key. */
static void end_claim(struct end *e, struct http_req *r)
{
    struct channel *c = e->channel;
    struct ws *w = NULL;
    bool was_claimed = e->is_claimed;
    if (ws_accept(c->hub->loop, r, MESSAGE_MAX, &ws_events, e, &w) < 0)
        return;
    if (was_claimed) {
        ws_closing_add(c->hub->parting, w, 1008, "this end of the channel is already claimed");
        return;
    }
    e->is_claimed = true;
    e->ws = w;
    ws_charge(w, c->hub->bytes, c->tenant);
    if (e->kind == CHANNEL_WRITER && !c->reader.is_claimed) {
        ws_hold(w, is_full(c)); /* only the hub can be full */
    } else if (e->kind == CHANNEL_READER && !c->writer.is_local) {
        size_t queued = 0;
        for (struct item *i; (i = item_take(c)); free(i))
            queued = send_frames(w, i->is_text, i->data, i->len);
        if (c->is_ended) {
            channel_drop(c, 1000, "stream_complete");
            return;
        }
        channel_hold(c, queued > QUEUE_MARK);
    }
    if ((c->writer.is_local || c->reader.is_local) && c->events.on_claimed)
        c->events.on_claimed(c->arg, c);
}

int channel_end_code(const struct channel *c)
{
    return c->end_code;
}

bool channel_has_peer(const struct channel *c)
{
    return (c->writer.is_local ? &c->reader : &c->writer)->is_claimed;
}

struct channel *channel_claim(struct channel_hub *h, const json_t *ref, const struct channel_events *ev, void *arg)
{
    CLEANUP(buf_done) struct buf key = BUF_INIT(256);
    const char *id = json_get_str(ref, "channel_id", ""), *direction = json_get_str(ref, "direction", "");
    bool is_read = strcmp(direction, "read") == 0;
    if ((!is_read && strcmp(direction, "write") != 0) || buf_add_str(&key, json_get_str(ref, "access_key", "")) < 0)
        return NULL;
    struct channel *c = find(h, id, &key);
    struct end *e = c ? (is_read ? &c->reader : &c->writer) : NULL;
    if (!e || e->is_claimed || c->writer.is_local || c->reader.is_local)
        return NULL;
    e->is_local = e->is_claimed = true;
    c->events = *ev;
    c->arg = arg;
    if (is_read && (c->n_waiting || c->is_ended))
        c->flush = timer_new(h->loop, 0, 0, channel_flush, c);
    else if (is_read)
        channel_hold(c, false); /* a full hub may have paused the writer */
    return c;
}

bool channel_hub_serve(struct channel_hub *h, struct http_req *r)
{
    const char *path = http_req_path(r);
    CLEANUP(buf_done) struct buf key = BUF_INIT(256), dir = BUF_INIT(256);
    if (strncmp(path, PATH, strlen(PATH)) != 0)
        return false;
    bool has_both =
        url_query_get(http_req_query(r), "key", &key) == 1 && url_query_get(http_req_query(r), "dir", &dir) == 1;
    bool is_read = has_both && strcmp(buf_text(&dir), "read") == 0;
    struct channel *c = has_both ? find(h, path + strlen(PATH), &key) : NULL;
    struct end *e = c ? (is_read ? &c->reader : &c->writer) : NULL;
    if (!has_both || (!is_read && strcmp(buf_text(&dir), "write") != 0))
        request_json_refuse(r, 400, "a channel needs key= and dir=read or dir=write");
    else if (!e || e->is_local)
        request_json_refuse(r, 404, "channel not found");
    else
        end_claim(e, r);
    return true;
}

/* --- a listener for channels alone --- */

static struct http_body_rule app_head(void *arg, struct http_req *r)
{
    (void)arg, (void)r;
    return (struct http_body_rule){ .max_bytes = 4096 };
}

static void app_request(void *arg, struct http_req *r)
{
    if (!channel_hub_serve(arg, r))
        request_json_refuse(r, 404, "not found: this port serves /ws/channels/");
}

struct http_app channel_hub_app(struct channel_hub *h)
{
    return (struct http_app){ .arg = h, .on_head = app_head, .on_request = app_request };
}
