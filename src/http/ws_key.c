#include "http/ws_key.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/ident.h"

static uint32_t turn(uint32_t v, unsigned n)
{
    return v << n | v >> (32 - n);
}

static void sha1_block(uint32_t h[5], const uint8_t *block)
{
    uint32_t w[80];
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    for (size_t i = 16; i < 80; i++)
        w[i] = turn(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    static const uint32_t k[] = { 0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6 };
    for (size_t i = 0; i < 80; i++) {
        uint32_t f = i < 20 ? (b & c) | (~b & d) : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
        uint32_t next = turn(a, 5) + f + e + k[i / 20] + w[i];
        e = d;
        d = c;
        c = turn(b, 30);
        b = a;
        a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

/* For texts of fewer than 120 bytes: a key and its suffix are shorter. */
static void sha1(const char *text, size_t len, uint8_t out[20])
{
    uint32_t h[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
    uint8_t padded[128] = { 0 };
    size_t blocks = len + 9 > 64 ? 2 : 1;
    assert(len + 9 <= sizeof padded);
    memcpy(padded, text, len);
    padded[len] = 0x80;
    padded[blocks * 64 - 2] = (uint8_t)(len * 8 >> 8);
    padded[blocks * 64 - 1] = (uint8_t)(len * 8);
    for (size_t i = 0; i < blocks; i++)
        sha1_block(h, padded + 64 * i);
    for (size_t i = 0; i < 20; i++)
        out[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}

bool ws_key_is_valid(const char *key)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return strlen(key) == 24 && strspn(key, letters) == 22 && strcmp(key + 22, "==") == 0;
}

void ws_key_accept(const char *key, char out[WS_KEY_ACCEPT_MAX])
{
    char text[64];
    uint8_t digest[20];
    int len = snprintf(text, sizeof text, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    sha1(text, (size_t)len, digest);
    base64_encode(digest, sizeof digest, out);
}

void ws_key_new(char out[WS_KEY_MAX])
{
    uint8_t bytes[16];
    ident_random(bytes, sizeof bytes);
    base64_encode(bytes, sizeof bytes, out);
}
