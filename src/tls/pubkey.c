#include "tls/pubkey.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define RSA_BITS_MIN 2048

struct pubkey {
    EVP_PKEY *key;
};

static bool is_accepted(EVP_PKEY *key)
{
    static const char *const curves[] = { "prime256v1", "secp384r1", "secp521r1" };
    char curve[32] = "";
    size_t len = 0;
    if (EVP_PKEY_is_a(key, "RSA"))
        return EVP_PKEY_get_bits(key) >= RSA_BITS_MIN;
    if (EVP_PKEY_is_a(key, "ED25519"))
        return true;
    if (!EVP_PKEY_is_a(key, "EC") || !EVP_PKEY_get_group_name(key, curve, sizeof(curve), &len))
        return false;
    for (size_t i = 0; i < sizeof(curves) / sizeof(curves[0]); i++)
        if (strcmp(curve, curves[i]) == 0)
            return true;
    return false;
}

int pubkey_take(void *evp_pkey, struct pubkey **ret, struct err *err)
{
    if (!evp_pkey || !is_accepted(evp_pkey)) {
        EVP_PKEY_free(evp_pkey);
        return err_set(err, ERR_INVALID, 0,
                       "not a public key for ECDSA (P-256, P-384, P-521), Ed25519 or RSA from %d bits", RSA_BITS_MIN);
    }
    *ret = xzalloc(sizeof(**ret));
    (*ret)->key = evp_pkey;
    return 0;
}

int pubkey_new(const char *pem, struct pubkey **ret, struct err *err)
{
    BIO *in = BIO_new_mem_buf(pem, (int)strlen(pem));
    EVP_PKEY *key = in ? PEM_read_bio_PUBKEY(in, NULL, NULL, NULL) : NULL;
    BIO_free(in);
    ERR_clear_error();
    return pubkey_take(key, ret, err);
}

struct pubkey *pubkey_free(struct pubkey *k)
{
    if (k)
        EVP_PKEY_free(k->key);
    free(k);
    return NULL;
}

bool pubkey_verifies(const struct pubkey *k, const void *data, size_t len, const void *signature, size_t signature_len)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    const EVP_MD *digest = EVP_PKEY_is_a(k->key, "ED25519") ? NULL : EVP_sha256();
    bool is_valid = ctx && EVP_DigestVerifyInit(ctx, NULL, digest, NULL, k->key) == 1 &&
                    EVP_DigestVerify(ctx, signature, signature_len, data, len) == 1;
    EVP_MD_CTX_free(ctx);
    ERR_clear_error(); /* a signature that does not match is an error to OpenSSL */
    return is_valid;
}

void pubkey_id(const struct pubkey *k, char ret[DIGEST_HEX])
{
    unsigned char *der = NULL;
    int len = i2d_PUBKEY(k->key, &der);
    digest_of(der, len > 0 ? (size_t)len : 0, ret);
    OPENSSL_free(der);
}
