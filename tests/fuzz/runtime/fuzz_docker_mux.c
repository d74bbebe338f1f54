/* The output of a Docker engine's exec. The first byte says how the rest is cut, the second how much is taken at once:
 * another way must give the same bytes of each stream, and the same end. */
#include "../feed.h"

#include "runtime/docker/mux.h"

struct outcome {
    int end;
    size_t bytes[2];
    uint32_t sum[2];
};

static void take_all(struct docker_mux *b, size_t max, struct outcome *o)
{
    struct docker_mux_piece piece;
    while ((o->end = docker_mux_next(b, max, &piece)) > 0) {
        MUST(piece.len && piece.len <= max && piece.len <= b->held.len && piece.len <= b->left);
        for (size_t i = 0; i < piece.len; i++)
            o->sum[piece.is_stderr] = o->sum[piece.is_stderr] * 31 + (unsigned char)piece.data[i];
        o->bytes[piece.is_stderr] += piece.len;
        docker_mux_take(b, piece.len);
    }
}

static struct outcome run(const char *data, size_t size, size_t step, size_t max)
{
    struct outcome o = { 0 };
    struct docker_mux b;
    docker_mux_init(&b);
    for (size_t at = 0; at < size && o.end == 0; at += step) {
        size_t part = size - at < step ? size - at : step;
        char *copy = feed_bytes(data + at, part);
        MUST(docker_mux_add(&b, copy, part) == 0);
        free(copy);
        take_all(&b, max, &o);
    }
    docker_mux_done(&b);
    MUST(o.bytes[0] + o.bytes[1] <= size);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 256 * 1024)
        return 0;
    const char *text = (const char *)data + 2;
    struct outcome whole = run(text, size - 2, size, size);
    struct outcome cut = run(text, size - 2, 1 + data[0], 1 + data[1]);
    MUST(memcmp(&whole, &cut, sizeof(whole)) == 0);
    return 0;
}
