/* Messages of two workers, one on each line, given to them in turns; then the engine is taken down. Nothing a worker
 * says may crash it, leak or leave something of a worker that is gone. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/channel.h"
#include "engine/engine.h"
#include "engine/trigger.h"
#include "engine/worker.h"
#include "loopturn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void echo(void *arg, struct engine_call *c, json_t *payload)
{
    (void)arg;
    engine_ok(c, json_incref(payload));
}

static void feed(struct worker *const w[2], const char *text, size_t size)
{
    for (size_t at = 0, i = 0; at < size && i < 64; i++) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t len = end ? (size_t)(end - text) - at : size - at;
        worker_receive(w[i % 2], true, text + at, len);
        at += len + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    CLEANUP(loop_free_p) struct loop *loop = NULL;
    CLEANUP(store_close_p) struct store *store = NULL;
    struct engine *e = NULL;
    if (loop_new(&loop, &err) < 0 || store_open(STORE_IN_MEMORY, &store, &err) < 0)
        abort();
    struct channel_hub *channels = channel_hub_new(loop, CHANNEL_CLAIM_MS);
    struct engine_options o = { .loop = loop, .store = store, .channels = channels, .name = "fuzz", .version = "1" };
    if (engine_new(&o, &e, &err) < 0)
        abort();
    engine_add_function(e, "a::echo", NULL, echo, NULL);
    struct worker *const w[2] = { worker_new(e, "unix"), worker_new(e, "unix") };
    CLEANUP(free_p) char *text = xzalloc(size + 1);
    if (size)
        (void)memcpy(text, data, size);
    char ids[2][UUID_MAX];
    for (int i = 0; i < 2; i++)
        (void)memcpy(ids[i], w[i]->id, UUID_MAX);
    feed(w, text, size);
    loopturn_deferred(loop);
    for (int i = 0; i < 2; i++) {
        struct worker *left = map_get(e->workers, ids[i]);
        if (left)
            worker_retire(left, 1000, "");
    }
    if (map_count(e->remote) || map_count(e->calls))
        abort();
    loopturn_deferred(loop);
    engine_free(e);
    channel_hub_free(channels);
    return 0;
}
