/* The output of an exec as the engine multiplexes it: blocks {u8 stream, 3 x 0, u32 length, bytes}. Untrusted: all
 * of it. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct docker_mux {
    struct buf held; /* bytes that nobody has taken yet, and the start of a header */
    uint32_t left;   /* in the present block */
    uint8_t stream;
};
struct docker_mux_piece {
    bool is_stderr;
    const char *data; /* valid until bytes are added or taken */
    size_t len;
};

void docker_mux_init(struct docker_mux *b);
void docker_mux_done(struct docker_mux *b);
int docker_mux_add(struct docker_mux *b, const char *data, size_t len); /* -E2BIG: far more than docker_mux_is_full() */
bool docker_mux_is_full(const struct docker_mux *b);                    /* stop reading from the engine */
/* The next bytes of one stream, at most max of them. 1: there are some; consume them by docker_mux_take(). 0: more
 * input is needed. -EBADMSG: the input is not in blocks. */
int docker_mux_next(struct docker_mux *b, size_t max, struct docker_mux_piece *ret);
void docker_mux_take(struct docker_mux *b, size_t n);
