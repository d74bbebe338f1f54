/* The response parser. The first byte picks the method and how the rest is cut; cutting the same bytes in another way
 * must give the same status and body. */
#include <stdint.h>
#include <stdlib.h>

#include "http/http_reply.h"

struct outcome {
    int state, status;
    size_t body_bytes;
};

static void on_data(void *arg, struct http_reply *r, const char *data, size_t len)
{
    struct outcome *o = arg;
    (void)r, (void)data;
    o->body_bytes += len;
}

static struct outcome run(const char *data, size_t size, bool is_head_method, size_t step)
{
    static const struct http_reply_events events = { .on_data = on_data };
    struct outcome o = { 0 };
    struct http_reply *r = http_reply_new(is_head_method, &events, &o);
    for (size_t at = 0; at < size && o.state == HTTP_REPLY_MORE;) {
        size_t part = size - at < step ? size - at : step, used = 0;
        o.state = http_reply_feed(r, data + at, part, &used);
        if (used > part || (o.state == HTTP_REPLY_MORE && used != part))
            abort();
        at += used;
    }
    if (o.state == HTTP_REPLY_MORE)
        o.state = http_reply_eof(r);
    o.status = http_reply_status(r);
    http_reply_free(r);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 60000) /* below the limit of a head, which is counted in pieces */
        return 0;
    const char *bytes = (const char *)data + 1;
    bool is_head_method = data[0] & 1;
    struct outcome whole = run(bytes, size - 1, is_head_method, size),
                   cut = run(bytes, size - 1, is_head_method, 1 + (data[0] >> 4));
    if (whole.state != cut.state || whole.status != cut.status || whole.body_bytes != cut.body_bytes)
        abort();
    return 0;
}
