/* If-Match, If-None-Match, If-Range and Range. The first eight bytes are the size that a range is of. */
#include "../feed.h"

#include "base/cleanup.h"
#include "http/conditions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t total;
    struct conditions_range part;
    struct conditions_tags strong, weak;
    if (size < sizeof(total))
        return 0;
    memcpy(&total, data, sizeof(total));
    CLEANUP(free_p) char *text = feed_text(data + sizeof(total), size - sizeof(total));
    if (conditions_read_range(text, total, &part) == 1)
        MUST(part.len > 0 && part.offset < total && part.len <= total - part.offset);
    if (conditions_read_tags(text, false, &strong) == 0) {
        int r = conditions_read_tags(text, true, &weak);
        MUST(r == 0 && weak.n >= strong.n && weak.is_any == strong.is_any);
    }
    if (conditions_may_range(text, total)) {
        char tag[CONDITIONS_TAG_TEXT];
        conditions_tag(total, tag);
        MUST(strncmp(text, tag, strlen(tag)) == 0);
    }
    return 0;
}
