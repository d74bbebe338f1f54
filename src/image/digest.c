#include "image/digest.h"

#include <assert.h>
#include <openssl/evp.h>
#include <string.h>

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

void digest_hex(struct digest *d, char ret[DIGEST_HEX])
{
    unsigned char raw[EVP_MAX_MD_SIZE];
    int is_ok = EVP_DigestFinal_ex(d->ctx, raw, NULL);
    assert(is_ok);
    ident_hex(raw, 32, ret);
}

void digest_done(struct digest *d)
{
    EVP_MD_CTX_free(d->ctx);
    d->ctx = NULL;
}

void digest_of(const void *data, size_t len, char ret[DIGEST_HEX])
{
    struct digest d;
    digest_init(&d);
    digest_add(&d, data, len);
    digest_hex(&d, ret);
    digest_done(&d);
}

bool digest_is_hex(const char *text)
{
    return strspn(text, "0123456789abcdef") == DIGEST_HEX - 1 && text[DIGEST_HEX - 1] == '\0';
}

const char *digest_from_ref(const char *ref)
{
    return ref && strncmp(ref, "sha256:", 7) == 0 && digest_is_hex(ref + 7) ? ref + 7 : NULL;
}
