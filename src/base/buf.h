/* A growable byte buffer that always has a maximum. May include: base/.
 *
 * Invariants: len <= max; data[len] is always a NUL while data is set, so text can be read in place. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct buf {
    char *data; /* NULL until the first byte */
    size_t len, cap, max;
};

#define BUF_INIT(max_bytes) \
    {                       \
        .max = (max_bytes)  \
    }

void buf_init(struct buf *b, size_t max_bytes);
void buf_done(struct buf *b);  /* frees; for CLEANUP(buf_done) too */
void buf_clear(struct buf *b); /* empties it, keeps the memory */
/* Each returns 0, -E2BIG when max would be exceeded (nothing added), -ENOMEM. */
int buf_add(struct buf *b, const void *data, size_t len);
int buf_add_str(struct buf *b, const char *s);
int buf_add_char(struct buf *b, char c);
int buf_addf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
int buf_reserve(struct buf *b, size_t extra);    /* room for extra more bytes at data+len */
void buf_consume(struct buf *b, size_t n);       /* removes n bytes from the front */
char *buf_steal(struct buf *b, size_t *ret_len); /* caller frees; never NULL; ret_len may be NULL */
const char *buf_text(const struct buf *b);       /* "" when empty */
