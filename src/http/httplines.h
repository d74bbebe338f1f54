/* Checks that llhttp lacks even in strict mode: bare LF, lines that begin with white space, request lines of another
 * form, names and values of headers. Bytes of the head, of chunk sizes and of trailers are checked here, bytes of the
 * body are not. May include: nothing. */
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

struct httplines_request {
    unsigned spaces, version_len; /* seen so far */
    bool is_begun, is_done;
};
/* The next bytes of a request: empty lines, then exactly "METHOD target HTTP/D.D", or no version. False: another
 * form. */
bool httplines_request(struct httplines_request *q, const char *data, size_t len);
/* The name is a token, and the value has no control bytes. */
bool httplines_is_field(const char *name, const char *value);
