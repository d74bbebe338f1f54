#include "base64.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void iii_base64_encode(const unsigned char *data, size_t size, char *out)
{
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t bits =
            (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) | (left > 2 ? data[i + 2] : 0);
        *out++ = letters[bits >> 18];
        *out++ = letters[bits >> 12 & 63];
        *out++ = left > 1 ? letters[bits >> 6 & 63] : '=';
        *out++ = left > 2 ? letters[bits & 63] : '=';
    }
    *out = '\0';
}

/* The value of a letter; -1: none. */
static int value_of(char letter)
{
    const char *found = letter ? strchr(letters, letter) : NULL;
    return found ? (int)(found - letters) : -1;
}

long iii_base64_decode(const char *text, size_t size, unsigned char *out)
{
    unsigned char *at = out;

    if (size % 4 != 0 || size > LONG_MAX)
        return -1;
    for (size_t i = 0; i < size; i += 4) {
        size_t padding = i + 4 == size ? (text[i + 3] == '=') + (text[i + 3] == '=' && text[i + 2] == '=') : 0;
        uint32_t bits = 0;
        for (size_t k = 0; k < 4; k++) {
            int value = k >= 4 - padding ? 0 : value_of(text[i + k]);
            if (value < 0)
                return -1;
            bits = bits << 6 | (uint32_t)value;
        }
        *at++ = bits >> 16;
        if (padding < 2)
            *at++ = bits >> 8 & 255;
        if (padding < 1)
            *at++ = bits & 255;
    }
    return at - out;
}
