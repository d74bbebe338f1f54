/* The WebSocket frame reader. The first byte picks the role and how the rest is cut. Items must keep the contract, and
 * cutting the same bytes in another way must give the same items. */
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "http/ws_frame.h"

enum { MESSAGE_MAX = 4096 };

struct outcome {
    int result;
    unsigned items;
    size_t bytes;
};

static void check_item(const struct ws_frame_item *item)
{
    int code;
    char reason[WS_FRAME_CONTROL_MAX];
    bool is_control = item->op >= WS_FRAME_CLOSE;
    if (item->len > (is_control ? WS_FRAME_CONTROL_MAX : MESSAGE_MAX))
        abort();
    if (item->op == WS_FRAME_TEXT && !utf8_is_valid(item->data, item->len))
        abort();
    if (item->op == WS_FRAME_CLOSE)
        (void)ws_frame_close_parse(item->data, item->len, &code, reason);
}

static struct outcome run(const char *data, size_t size, bool is_mask_expected, size_t step)
{
    struct ws_frame_reader reader;
    struct outcome o = { 0 };
    ws_frame_reader_init(&reader, is_mask_expected, MESSAGE_MAX);
    for (size_t off = 0; off < size && o.result >= 0;) {
        size_t part = size - off < step ? size - off : step, used = 0;
        struct ws_frame_item item;
        o.result = ws_frame_read(&reader, data + off, part, &used, &item);
        if (used > part || (o.result == 0 && used != part))
            abort();
        off += used;
        if (o.result > 0) {
            check_item(&item);
            o.items++;
            o.bytes += item.len;
        }
    }
    ws_frame_reader_done(&reader);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const char *bytes = (const char *)data + 1;
    bool is_mask_expected = data[0] & 1;
    struct outcome whole = run(bytes, size - 1, is_mask_expected, size),
                   cut = run(bytes, size - 1, is_mask_expected, 1 + (data[0] >> 4));
    bool is_failed = whole.result < 0;
    if (whole.items != cut.items || whole.bytes != cut.bytes || (is_failed && whole.result != cut.result))
        abort();
    return 0;
}
