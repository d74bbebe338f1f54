#include "base/ident.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void ident_random(void *out, size_t len)
{
    unsigned char *p = out;
    while (len) {
        ssize_t n = getrandom(p, len, 0);
        if (n < 0)
            abort(); /* only a kernel without getrandom fails here; a guessable id is worse */
        p += n;
        len -= (size_t)n;
    }
}

void ident_hex(const void *bytes, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *p = bytes;
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[p[i] >> 4];
        out[2 * i + 1] = digits[p[i] & 15];
    }
    out[2 * len] = '\0';
}

void ident_new(const char *prefix, char out[IDENT_MAX])
{
    unsigned char raw[IDENT_HEX / 2];
    char hex[IDENT_HEX + 1];
    ident_random(raw, sizeof(raw));
    raw[6] =
        (unsigned char)(0x40 | (raw[6] & 0x0f)); /* also the head of a version 4 UUID: sandboxes are shown as both */
    raw[8] = (unsigned char)(0x80 | (raw[8] & 0x3f));
    ident_hex(raw, sizeof(raw), hex);
    (void)snprintf(out, IDENT_MAX, "%s_%s", prefix, hex);
}

bool ident_is(const char *prefix, const char *id)
{
    size_t n = strlen(prefix);
    if (strncmp(id, prefix, n) != 0 || id[n] != '_')
        return false;
    const char *hex = id + n + 1;
    return strlen(hex) == IDENT_HEX && strspn(hex, "0123456789abcdef") == IDENT_HEX;
}
