/* Standard base64 with padding (RFC 4648 section 4). May include: base/. */
#pragma once
#include <stddef.h>

#include "base/buf.h"

#define BASE64_SIZE(n) (((n) + 2) / 3 * 4)

void base64_encode(const void *data, size_t len, char *out); /* BASE64_SIZE(len) bytes and a NUL */
/* Appends the decoded bytes. -EINVAL: invalid characters, padding or length. */
int base64_decode(const char *text, size_t len, struct buf *out);
