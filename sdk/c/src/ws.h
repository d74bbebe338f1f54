/* ws.h: the client's end of one WebSocket. libcurl makes the connection (and TLS); handshake and frames are here. */
#pragma once
#include "http.h"

struct ws;

enum ws_kind { WS_DATA, WS_CLOSE };

int iii_ws_open(iii_client *client, const char *path, struct ws **ret, struct iii_error *err);
void iii_ws_free(struct ws *w);
/* One frame of at most 64 KiB. */
int iii_ws_send(struct ws *w, bool is_text, const void *data, size_t size, struct iii_error *err);
/* Waits for the next message or piece of one. *ret points to its bytes, which are good until the next call; a close has
 * its reason there. timeout_ms < 0: for ever. III_DEADLINE: nothing came. */
int iii_ws_next(struct ws *w, int timeout_ms, enum ws_kind *kind, struct text *ret, struct iii_error *err);
