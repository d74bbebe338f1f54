/* base64.h: standard base64 with padding. */
#pragma once
#include <stddef.h>

#define BASE64_SIZE(n) (((n) + 2) / 3 * 4 + 1)

/* Fills out, which has BASE64_SIZE(size) bytes, up to and with a NUL. */
void iii_base64_encode(const unsigned char *data, size_t size, char *out);
/* Fills out, which has size / 4 * 3 bytes. The number of bytes, or -1 when it is no base64. */
long iii_base64_decode(const char *text, size_t size, unsigned char *out);
