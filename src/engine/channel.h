/* One-way channels: a stream of bytes (binary frames) and messages (text frames) from a writer to a reader. Each end is
 * held either here (local) or by a WebSocket client, who claims it once with the channel's id and key. Backpressure is
 * end to end: a slow reader pauses the writer. Untrusted: clients. May include: base/, loop/, http/.
 *
 * Invariants: (1) an end is claimed at most once; (2) keys are random and compared in constant time; (3) a channel ends
 * when one end has left, or when an end was not claimed in time; (4) a writer may finish before there is a reader, who
 * then gets everything and the end. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "http/server.h"
#include "loop/loop.h"

#define CHANNEL_MAX         10000  /* open at the same time */
#define CHANNEL_FRAME_BYTES 65536  /* larger writes are split into frames of this size */
#define CHANNEL_CLAIM_MS    300000 /* an end that is not claimed in this time ends the channel */
/* Messages that wait for a reader, of 64 KiB on average; then the writer is paused. */
#define CHANNEL_BUFFER_DEFAULT 64
#define CHANNEL_BUFFER_MAX     1024

struct channel_hub; /* all channels of a server */
struct channel;

struct channel_hub *channel_hub_new(struct loop *l, int64_t claim_ms);
struct channel_hub *channel_hub_free(struct channel_hub *h); /* channels end without callbacks */
size_t channel_hub_count(const struct channel_hub *h);
/* Serves GET /ws/channels/<id>?key=…&dir=read|write. false: another path, no response was sent. */
bool channel_hub_serve(struct channel_hub *h, struct http_req *r);
/* A listener that serves only these channels: 404 for the rest. */
struct http_app channel_hub_app(struct channel_hub *h);

enum channel_end { CHANNEL_WRITER = 1, CHANNEL_READER = 2 };

/* Callbacks to the holder of a local end. None runs inside a call below. */
struct channel_events {
    void (*on_claimed)(void *arg, struct channel *c); /* the other end was claimed; may be NULL */
    void (*on_data)(void *arg, struct channel *c, bool is_text, const char *data, size_t len); /* local reader */
    void (*on_drain)(void *arg, struct channel *c);  /* local writer: the queue emptied after it was full */
    void (*on_closed)(void *arg, struct channel *c); /* the other end left or was not claimed in time; c is freed */
};

/* local: the end that is held here; 0 when clients hold both (ev may be NULL then). */
struct channel *channel_new(struct channel_hub *h, enum channel_end local, const struct channel_events *ev, void *arg);
/* One whose both ends clients hold, out of the tenant's share ("": the operator). NULL with err: too many are open. */
struct channel *channel_new_for(struct channel_hub *h, const char *tenant, struct err *err);
void channel_set_buffer(struct channel *c, int64_t items); /* brought into 1 to CHANNEL_BUFFER_MAX */
/* {channel_id, access_key, direction} for the client that will hold that end. Caller owns. */
json_t *channel_ref_json(const struct channel *c, enum channel_end end);
/* Claims one end of a channel made with local 0 for this process. NULL: no such channel, wrong key, claimed before, or
 * the other end is held here too. */
struct channel *channel_claim(struct channel_hub *h, const json_t *ref, const struct channel_events *ev, void *arg);
bool channel_has_peer(const struct channel *c); /* the end that is not held here was claimed */
/* Local writer. Returns the bytes queued: past 1 MiB wait for on_drain. Data written before on_claimed is dropped. */
size_t channel_write(struct channel *c, bool is_text, const char *data, size_t len);
int channel_end_code(const struct channel *c); /* inside on_closed: the close code of the other end, 1006: vanished */
void channel_hold(struct channel *c, bool is_held); /* local reader: pauses and resumes on_data */
/* Ends it from the local side: the other end gets a close frame. c is freed, no callback. */
void channel_close(struct channel *c, int code, const char *reason);
