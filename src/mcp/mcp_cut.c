#include "mcp/mcp_cut.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/utf8.h"

#define BYTES_MAX ((size_t)LIMIT_MAX(MCP_RESULT_BYTES))
#define HEAD_MAX  (BYTES_MAX * 2 / 3) /* the beginning says what it is, the end how it ended */
#define TAIL_MAX  (BYTES_MAX - HEAD_MAX)
#define NOTE_MAX  256 /* bytes of the line that says what was cut */

bool mcp_cut_text(struct buf *text)
{
    if (text->len <= BYTES_MAX)
        return false;
    const char *bytes = text->data;
    size_t head = utf8_whole(bytes, HEAD_MAX), tail = text->len - TAIL_MAX;
    while (tail < text->len && ((unsigned char)bytes[tail] & 0xc0) == 0x80)
        tail++;
    CLEANUP(buf_done) struct buf out = BUF_INIT(BYTES_MAX + NOTE_MAX);
    (void)buf_add(&out, bytes, head);
    (void)buf_addf(&out,
                   "\n[cut: %zu of %zu bytes are not shown; write the output to a file and read parts of it, "
                   "or filter it]\n",
                   tail - head, text->len);
    (void)buf_add(&out, bytes + tail, text->len - tail);
    buf_done(text);
    text->data = buf_steal(&out, &text->len);
    text->cap = text->len + 1;
    return true;
}

static json_t *copy_array(const json_t *list)
{
    json_t *copy = json_array();
    size_t used = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *entry = mcp_cut_copy(json_array_get(list, i));
        size_t len = 0;
        free(json_write(entry, &len));
        used += len + 1;
        if (used > BYTES_MAX - NOTE_MAX) {
            json_decref(entry);
            break;
        }
        (void)json_array_append_new(copy, entry);
    }
    return copy;
}

json_t *mcp_cut_copy(const json_t *value)
{
    if (json_is_array(value))
        return copy_array(value);
    if (json_is_object(value)) {
        json_t *copy = json_object(), *member;
        const char *key;
        json_object_foreach((json_t *)(uintptr_t)value, key, member)
        {
            (void)json_object_set_new(copy, key, mcp_cut_copy(member));
        }
        return copy;
    }
    if (json_string_length(value) <= BYTES_MAX)
        return json_deep_copy(value);
    CLEANUP(buf_done) struct buf text = BUF_INIT(json_string_length(value));
    (void)buf_add(&text, json_string_value(value), json_string_length(value));
    (void)mcp_cut_text(&text);
    return json_text(text.data, text.len);
}
