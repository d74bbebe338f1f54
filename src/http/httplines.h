/* Checks that llhttp lacks even in strict mode: bare LF, and lines that begin with white space. Bytes of the head, of
 * chunk sizes and of trailers are checked here, bytes of the body are not. May include: nothing. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct httplines {
    const char *at; /* first byte not checked yet */
    char last;      /* the byte before it; NUL at the beginning of a message and after a piece of the body */
};

/* Checks all bytes up to end. False: a CR without LF, an LF without CR, or a line that begins with white space. */
bool httplines_check(struct httplines *l, const char *end);
/* The same up to a piece of the body, which is skipped. */
bool httplines_skip(struct httplines *l, const char *body, size_t len);
