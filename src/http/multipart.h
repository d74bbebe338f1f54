/* A multipart/form-data body (RFC 7578), read as it arrives, in constant memory. Untrusted: everything. May include:
 * base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define MULTIPART_HEAD_MAX     8192 /* bytes of the headers of one part */
#define MULTIPART_BOUNDARY_MAX 70   /* RFC 2046 */

struct multipart;

struct multipart_events {
    /* A part begins. name and filename are decoded; filename NULL: the part has none, so it is a plain field. 0, or
     * -errno, which multipart_feed() then returns. */
    int (*on_part)(void *arg, const char *name, const char *filename);
    size_t (*on_data)(void *arg, const char *data, size_t len); /* taken bytes; fewer: the feed stops there */
    int (*on_part_end)(void *arg);                              /* 0, -EAGAIN: the feed stops there; -errno */
    void *arg;
};

/* The boundary that a Content-Type names. False: it is not multipart/form-data, or the boundary is not valid. */
bool multipart_boundary(const char *content_type, char out[MULTIPART_BOUNDARY_MAX + 1]);
bool multipart_is_form(const char *content_type); /* NULL is fine */

struct multipart *multipart_new(const char *boundary, const struct multipart_events *ev);
struct multipart *multipart_free(struct multipart *m);
/* Takes bytes of the body; *ret_used: how many, all of them unless an event stopped it. 0, or -EBADMSG: malformed, or
 * the error of an event. After a stop, feed the rest again. */
int multipart_feed(struct multipart *m, const char *data, size_t len, size_t *ret_used);
bool multipart_is_whole(const struct multipart *m); /* the closing boundary was read */
