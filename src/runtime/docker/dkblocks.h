/* The output of an exec as the engine sends it: blocks {u8 stream, 3 x 0, u32 length, bytes}. Untrusted: all of it.
 * May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct dkblocks {
    struct buf held; /* what nobody has taken yet, and the beginning of a head */
    uint32_t left;   /* of the block that is being read */
    uint8_t stream;
};
struct dkblocks_piece {
    bool is_stderr;
    const char *data; /* until something is added or taken */
    size_t len;
};

void dkblocks_init(struct dkblocks *b);
void dkblocks_done(struct dkblocks *b);
int dkblocks_add(struct dkblocks *b, const char *data, size_t len); /* -E2BIG: far more than dkblocks_is_full() */
bool dkblocks_is_full(const struct dkblocks *b);                    /* the engine is to wait */
/* The next bytes of one stream, at most max of them. 1: there are some, to be taken by dkblocks_take(). 0: more is
 * needed first. -EBADMSG: these are no blocks. */
int dkblocks_next(struct dkblocks *b, size_t max, struct dkblocks_piece *ret);
void dkblocks_take(struct dkblocks *b, size_t n);
