/* A file that the binary carries compressed, as a reply. May include: base/, http/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "http/server.h"

struct asset {
    const unsigned char *packed; /* gzip */
    size_t packed_len;
    size_t size;     /* unpacked */
    const char *tag; /* from its bytes: the same tag, the same bytes */
};

/* Replies with it, in the form that the client accepts, or with 304. vary: what else of the request the caller chose
 * by, or NULL. The caller has added its own headers. */
void asset_reply(struct http_req *r, const struct asset *asset, const char *type, const char *vary);
/* The value of a header names this, and does not exclude it by q=0. */
bool asset_accepts(struct http_req *r, const char *header, const char *what);
