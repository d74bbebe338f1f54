/* The WebSocket handshake's key (RFC 6455, section 4.2.2). SHA-1 is what the protocol fixes; it guards nothing here.
 * May include: base/. */
#pragma once
#include <stdbool.h>

enum { WSKEY_ACCEPT_MAX = 29, WSKEY_MAX = 25 };

bool wskey_is_valid(const char *key);                           /* base64 of 16 bytes */
void wskey_accept(const char *key, char out[WSKEY_ACCEPT_MAX]); /* key: at most 24 letters */
void wskey_new(char out[WSKEY_MAX]);                            /* random */
