/* SHA-256, SHA-1 where a protocol prescribes it, and comparison of secrets: the one place that includes libcrypto (TLS
 * is in tls/). May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define DIGEST_HEX  65 /* 64 lowercase hex digits and the NUL */
#define DIGEST_RAW  32
#define DIGEST_SHA1 20

struct digest {
    void *ctx;
};
void digest_init(struct digest *d);
void digest_add(struct digest *d, const void *data, size_t len);
/* With the NUL, so that two strings never digest like their concatenation. */
void digest_text(struct digest *d, const char *text);
int digest_file(struct digest *d, int fd);               /* from its start; 0 or -errno */
void digest_hex(struct digest *d, char ret[DIGEST_HEX]); /* finalizes the digest: add no more */
void digest_done(struct digest *d);
void digest_end(struct digest *d, char ret[DIGEST_HEX]); /* digest_hex() and digest_done() */

void digest_of(const void *data, size_t len, char ret[DIGEST_HEX]);
void digest_raw(const void *data, size_t len, unsigned char ret[DIGEST_RAW]);
void digest_sha1(const void *data, size_t len, unsigned char ret[DIGEST_SHA1]); /* only for WebSocket keys */
/* HMAC-SHA256. */
void digest_hmac(const void *key, size_t key_len, const void *data, size_t len, char ret[DIGEST_HEX]);
bool digest_is_hex(const char *text);         /* exactly 64 lowercase hex digits */
const char *digest_from_ref(const char *ref); /* the hex of a valid "sha256:…", else NULL */
/* Whether two secrets of this length are equal, in time that does not depend on where they differ. */
bool digest_same_secret(const void *a, const void *b, size_t len);
