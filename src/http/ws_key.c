#include "http/ws_key.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/digest.h"
#include "base/ident.h"

bool ws_key_is_valid(const char *key)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return strlen(key) == 24 && strspn(key, letters) == 22 && strcmp(key + 22, "==") == 0;
}

void ws_key_accept(const char *key, char out[WS_KEY_ACCEPT_MAX])
{
    char text[64];
    uint8_t digest[DIGEST_SHA1];
    int len = snprintf(text, sizeof text, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    digest_sha1(text, (size_t)len, digest);
    base64_encode(digest, sizeof digest, out);
}

void ws_key_new(char out[WS_KEY_MAX])
{
    uint8_t bytes[16];
    ident_random(bytes, sizeof bytes);
    base64_encode(bytes, sizeof bytes, out);
}
