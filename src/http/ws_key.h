/* The WebSocket handshake's key (RFC 6455, section 4.2.2). The protocol prescribes SHA-1; no security depends on it
 * here. May include: base/. */
#pragma once
#include <stdbool.h>

enum { WS_KEY_ACCEPT_MAX = 29, WS_KEY_MAX = 25 };

bool ws_key_is_valid(const char *key);                            /* base64 of 16 bytes */
void ws_key_accept(const char *key, char out[WS_KEY_ACCEPT_MAX]); /* key: at most 24 characters */
void ws_key_new(char out[WS_KEY_MAX]);                            /* random */
