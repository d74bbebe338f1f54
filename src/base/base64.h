/* Standard base64 with padding (RFC 4648 section 4), and the variant for URLs without (section 5). May include: base/.
 */
#pragma once
#include <stddef.h>

#include "base/buf.h"

#define BASE64_SIZE(n) (((n) + 2) / 3 * 4)

void base64_encode(const void *data, size_t len, char *out); /* BASE64_SIZE(len) bytes and a NUL */
/* Appends the decoded bytes. -EINVAL: invalid characters, padding or length. */
int base64_decode(const char *text, size_t len, struct buf *out);
/* Letters of URLs (- and _), no padding; otherwise the same. */
int base64_decode_url(const char *text, size_t len, struct buf *out);
