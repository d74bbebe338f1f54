#include "runtime/docker/mux.h"

#include <errno.h>

#define HEAD       8u
#define FULL       (256u * 1024)
#define STDERR     2
#define STREAM_MAX 3 /* of the engine itself: shown as output */

void docker_mux_init(struct docker_mux *b)
{
    *b = (struct docker_mux){ 0 };
    buf_init(&b->held, 2 * (size_t)FULL);
}

void docker_mux_done(struct docker_mux *b)
{
    buf_done(&b->held);
}

int docker_mux_add(struct docker_mux *b, const char *data, size_t len)
{
    return buf_add(&b->held, data, len);
}

bool docker_mux_is_full(const struct docker_mux *b)
{
    return b->held.len >= FULL;
}

/* Skips empty blocks. */
static int read_heads(struct docker_mux *b)
{
    while (b->left == 0 && b->held.len >= HEAD) {
        const uint8_t *head = (const uint8_t *)b->held.data;
        if (head[0] > STREAM_MAX || head[1] || head[2] || head[3])
            return -EBADMSG;
        b->stream = head[0];
        b->left = (uint32_t)head[4] << 24 | (uint32_t)head[5] << 16 | (uint32_t)head[6] << 8 | head[7];
        buf_consume(&b->held, HEAD);
    }
    return 0;
}

int docker_mux_next(struct docker_mux *b, size_t max, struct docker_mux_piece *ret)
{
    int r = read_heads(b);
    if (r < 0)
        return r;
    size_t n = b->left < b->held.len ? b->left : b->held.len;
    *ret =
        (struct docker_mux_piece){ .is_stderr = b->stream == STDERR, .data = b->held.data, .len = n < max ? n : max };
    return ret->len > 0;
}

void docker_mux_take(struct docker_mux *b, size_t n)
{
    buf_consume(&b->held, n);
    b->left -= (uint32_t)n;
}
