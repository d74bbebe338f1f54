/* WebSockets of which only the closing handshake is left: their owner has forgotten them, and they go when the peer has
 * answered, after 3 s, or with this object. May include: base/, http/. */
#pragma once
#include <stddef.h>

#include "base/cleanup.h"
#include "http/ws.h"

struct ws_closing;

struct ws_closing *ws_closing_new(void);
struct ws_closing *ws_closing_free(struct ws_closing *b); /* cuts those that are left */
DEFINE_CLEANUP(struct ws_closing *, ws_closing_free)
void ws_closing_add(struct ws_closing *b, struct ws *w, int code,
                    const char *reason); /* takes w; its events come no more */
size_t ws_closing_count(const struct ws_closing *b);
