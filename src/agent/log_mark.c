#include "agent/log_mark.h"

#include <stdlib.h>
#include <string.h>

static size_t put_line(uint8_t *out, uint8_t number, const uint8_t *data, size_t len)
{
    out[0] = number;
    memcpy(out + 1, data, len);
    out[len + 1] = '\n';
    return len + 2;
}

/* Where to cut a line that is too long: not inside a UTF-8 character. */
static size_t cut_length(const uint8_t *data, size_t len)
{
    size_t back = 0;

    while (back < 3 && back < len && (data[len - 1 - back] & 0xc0) == 0x80)
        back++;
    if (back >= len || data[len - 1 - back] < 0xc0)
        return len;
    uint8_t lead = data[len - 1 - back];
    size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    return back + 1 < size && len > back + 1 ? len - back - 1 : len;
}

uint8_t *agent_log_mark_lines(struct agent_log_mark *m, uint8_t number, const uint8_t *data, size_t len,
                              size_t *out_len)
{
    struct agent_log_mark_part *p = &m->part[number == 2];
    size_t at = 0;

    if (!p->data && !(p->data = malloc(AGENT_LOG_MARK_LINE_MAX)))
        return NULL;
    /* A cut line grows by a mark and a newline for each AGENT_LOG_MARK_LINE_MAX - 3 bytes at least; a complete one by
     * its mark. */
    uint8_t *out = malloc(p->len + 2 * len + 8);
    if (!out)
        return NULL;
    while (len > 0) {
        const uint8_t *end = memchr(data, '\n', len);
        size_t n = end ? (size_t)(end - data) : len, room = AGENT_LOG_MARK_LINE_MAX - p->len;
        size_t taken = n < room ? n : room;
        memcpy(p->data + p->len, data, taken);
        p->len += taken;
        data += taken;
        len -= taken;
        if (end && taken == n) {
            at += put_line(out + at, number, p->data, p->len);
            p->len = 0;
            data++;
            len--;
        } else if (p->len == AGENT_LOG_MARK_LINE_MAX) {
            size_t now = cut_length(p->data, p->len);
            at += put_line(out + at, number, p->data, now);
            p->len -= now;
            memmove(p->data, p->data + now, p->len);
        }
    }
    *out_len = at;
    return out;
}

uint8_t *agent_log_mark_rest(struct agent_log_mark *m, size_t *out_len)
{
    uint8_t *out = malloc(m->part[0].len + m->part[1].len + 4);

    *out_len = 0;
    for (uint8_t i = 0; out && i < 2; i++) {
        if (m->part[i].len)
            *out_len += put_line(out + *out_len, (uint8_t)(i + 1), m->part[i].data, m->part[i].len);
        m->part[i].len = 0;
    }
    return out;
}

void agent_log_mark_done(struct agent_log_mark *m)
{
    free(m->part[0].data);
    free(m->part[1].data);
    *m = (struct agent_log_mark){ 0 };
}
