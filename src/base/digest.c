#include "base/digest.h"

#include <assert.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/ident.h"

void digest_init(struct digest *d)
{
    d->ctx = EVP_MD_CTX_new();
    int is_ok = d->ctx && EVP_DigestInit_ex(d->ctx, EVP_sha256(), NULL);
    assert(is_ok); /* fails only when out of memory */
}

void digest_add(struct digest *d, const void *data, size_t len)
{
    int is_ok = EVP_DigestUpdate(d->ctx, data, len);
    assert(is_ok);
}

void digest_text(struct digest *d, const char *text)
{
    digest_add(d, text, strlen(text) + 1);
}

int digest_file(struct digest *d, int fd)
{
    char chunk[65536];
    off_t at = 0;
    ssize_t n;
    while ((n = pread(fd, chunk, sizeof(chunk), at)) > 0) {
        digest_add(d, chunk, (size_t)n);
        at += n;
    }
    return n < 0 ? -errno : 0;
}

void digest_hex(struct digest *d, char ret[DIGEST_HEX])
{
    unsigned char raw[EVP_MAX_MD_SIZE];
    int is_ok = EVP_DigestFinal_ex(d->ctx, raw, NULL);
    assert(is_ok);
    ident_hex(raw, DIGEST_RAW, ret);
}

void digest_done(struct digest *d)
{
    EVP_MD_CTX_free(d->ctx);
    d->ctx = NULL;
}

void digest_end(struct digest *d, char ret[DIGEST_HEX])
{
    digest_hex(d, ret);
    digest_done(d);
}

static EVP_MD *sha256; /* cached: looking it up takes longer than the digest of a short text */

static void fetch_sha256(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    assert(sha256); /* fails only when out of memory */
}

void digest_raw(const void *data, size_t len, unsigned char ret[DIGEST_RAW])
{
    static pthread_once_t once = PTHREAD_ONCE_INIT; /* pool threads digest, too */
    (void)pthread_once(&once, fetch_sha256);
    int is_ok = EVP_Digest(data, len, ret, NULL, sha256, NULL);
    assert(is_ok);
}

void digest_sha1(const void *data, size_t len, unsigned char ret[DIGEST_SHA1])
{
    int is_ok = EVP_Digest(data, len, ret, NULL, EVP_sha1(), NULL);
    assert(is_ok);
}

/* RFC 2104. */
void digest_hmac(const void *key, size_t key_len, const void *data, size_t len, char ret[DIGEST_HEX])
{
    unsigned char block[64] = { 0 }, inner[DIGEST_RAW];
    struct digest d;
    if (key_len > sizeof(block))
        digest_raw(key, key_len, block);
    else
        (void)memcpy(block, key, key_len);
    for (size_t i = 0; i < sizeof(block); i++)
        block[i] ^= 0x36;
    digest_init(&d);
    digest_add(&d, block, sizeof(block));
    digest_add(&d, data, len);
    int is_ok = EVP_DigestFinal_ex(d.ctx, inner, NULL);
    assert(is_ok);
    digest_done(&d);
    for (size_t i = 0; i < sizeof(block); i++)
        block[i] ^= 0x36 ^ 0x5c;
    digest_init(&d);
    digest_add(&d, block, sizeof(block));
    digest_add(&d, inner, sizeof(inner));
    digest_end(&d, ret);
}

void digest_of(const void *data, size_t len, char ret[DIGEST_HEX])
{
    struct digest d;
    digest_init(&d);
    digest_add(&d, data, len);
    digest_end(&d, ret);
}

bool digest_is_hex(const char *text)
{
    return strspn(text, "0123456789abcdef") == DIGEST_HEX - 1 && text[DIGEST_HEX - 1] == '\0';
}

const char *digest_from_ref(const char *ref)
{
    return ref && strncmp(ref, "sha256:", 7) == 0 && digest_is_hex(ref + 7) ? ref + 7 : NULL;
}

bool digest_same_secret(const void *a, const void *b, size_t len)
{
    return CRYPTO_memcmp(a, b, len) == 0;
}
