/* The server's own documents at /docs: HTML for browsers, Markdown for `Accept: text/markdown` and for NAME.md. They
 * are public: they hold nothing about this server. May include: base/, http/, api/. */
#pragma once
#include "api/api.h"

void docs_add(struct api *a); /* adds the paths */
/* Address of a part of a page ("errors#S001"): the host that a client has called, with the port of the REST API. host:
 * its Host header; one that is not a name or an address, and NULL, stand for the address that the server listens on.
 * Caller frees. */
char *docs_url(const struct api *a, const char *host, const char *page, const char *part);
