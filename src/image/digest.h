/* SHA-256 as 64 lowercase hex digits. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define DIGEST_HEX 65 /* with its NUL */

struct digest {
    void *ctx;
};
void digest_init(struct digest *d);
void digest_add(struct digest *d, const void *data, size_t len);
void digest_hex(struct digest *d, char ret[DIGEST_HEX]); /* finalizes the digest: add no more */
void digest_done(struct digest *d);
void digest_of(const void *data, size_t len, char ret[DIGEST_HEX]);
bool digest_is_hex(const char *text);         /* exactly 64 lowercase hex digits */
const char *digest_from_ref(const char *ref); /* the hex of a valid "sha256:…", else NULL */
