/* What llhttp lets pass even when it is strict: bare LF, and lines that begin with a blank. Bytes of the head, of chunk
 * sizes and of trailers are checked here, bytes of the body are not. May include: nothing. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct httplines {
    const char *at; /* first byte not looked at yet */
    char last;      /* the byte before it; NUL at the begin of a message and behind a piece of the body */
};

/* Looks at all bytes up to end. False: a CR without LF, an LF without CR, or a line that begins with a blank. */
bool httplines_check(struct httplines *l, const char *end);
/* The same for a piece of the body, which is left out. */
bool httplines_skip(struct httplines *l, const char *body, size_t len);
