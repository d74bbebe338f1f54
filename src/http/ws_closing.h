/* WebSockets in the closing handshake whose owner has released them: they are freed when the peer has replied, after 3
 * s, or with this object. May include: base/, http/. */
#pragma once
#include <stddef.h>

#include "base/cleanup.h"
#include "http/ws.h"

struct ws_closing;

struct ws_closing *ws_closing_new(void);
struct ws_closing *ws_closing_free(struct ws_closing *b); /* cuts the remaining ones */
DEFINE_CLEANUP(struct ws_closing *, ws_closing_free)
void ws_closing_add(struct ws_closing *b, struct ws *w, int code,
                    const char *reason); /* takes w; its owner gets no more events */
size_t ws_closing_count(const struct ws_closing *b);
