#include "tls/jwks.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/json.h"

enum { RSA_BITS_MIN = 2048, RSA_BITS_MAX = 8192, RSA_E_MAX = 8, COORDINATE_MAX = 48, ED25519_BYTES = 32 };
#define BYTES(n) BUF_INIT((n) + 3) /* base64_decode() reserves whole groups */

enum kind { KIND_RSA, KIND_EC, KIND_ED25519 };

struct jwks_alg {
    const char *name, *digest; /* digest NULL: part of the algorithm */
    enum kind kind;
    bool is_pss;
    size_t coordinate; /* bytes of each coordinate of the curve */
};

static const struct jwks_alg algs[] = {
    { "RS256", "SHA256", KIND_RSA, .is_pss = false }, { "RS384", "SHA384", KIND_RSA, .is_pss = false },
    { "RS512", "SHA512", KIND_RSA, .is_pss = false }, { "PS256", "SHA256", KIND_RSA, .is_pss = true },
    { "PS384", "SHA384", KIND_RSA, .is_pss = true },  { "PS512", "SHA512", KIND_RSA, .is_pss = true },
    { "ES256", "SHA256", KIND_EC, .coordinate = 32 }, { "ES384", "SHA384", KIND_EC, .coordinate = 48 },
    { "EdDSA", NULL, KIND_ED25519, .is_pss = false },
};

struct jwks_key {
    EVP_PKEY *key;
    enum kind kind;
    size_t coordinate;
    char *kid;                  /* or NULL */
    const struct jwks_alg *alg; /* the only one it is for; NULL: all of its kind */
    char digest[DIGEST_HEX];
};

struct jwks {
    struct jwks_key keys[JWKS_KEYS_MAX];
    size_t n;
};

/* --- parts of a key --- */

/* A member that is a text without NUL, which would end it early. */
static const char *member(const json_t *j, const char *name)
{
    const json_t *v = json_object_get(j, name);
    const char *text = json_is_string(v) ? json_string_value(v) : NULL;
    return text && strlen(text) == json_string_length(v) ? text : NULL;
}

static bool member_bytes(const json_t *j, const char *name, struct buf *out)
{
    const char *text = member(j, name);
    return text && *text && base64_decode_url(text, strlen(text), out) == 0;
}

static EVP_PKEY *key_from(const char *type, OSSL_PARAM_BLD *parts)
{
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    OSSL_PARAM *params = parts ? OSSL_PARAM_BLD_to_param(parts) : NULL;
    if (!ctx || !params || EVP_PKEY_fromdata_init(ctx) != 1 ||
        EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
        key = NULL;
    OSSL_PARAM_free(params);
    EVP_PKEY_CTX_free(ctx);
    return key;
}

static EVP_PKEY *read_rsa(const json_t *j)
{
    CLEANUP(buf_done) struct buf n = BYTES(RSA_BITS_MAX / 8 + 1), e = BYTES(RSA_E_MAX);
    if (!member_bytes(j, "n", &n) || !member_bytes(j, "e", &e))
        return NULL;
    BIGNUM *big_n = BN_bin2bn((const unsigned char *)n.data, (int)n.len, NULL);
    BIGNUM *big_e = BN_bin2bn((const unsigned char *)e.data, (int)e.len, NULL);
    OSSL_PARAM_BLD *parts = OSSL_PARAM_BLD_new();
    EVP_PKEY *key = NULL;
    int bits = big_n ? BN_num_bits(big_n) : 0;
    bool is_sound = big_n && big_e && parts && bits >= RSA_BITS_MIN && bits <= RSA_BITS_MAX && BN_is_odd(big_n) &&
                    BN_is_odd(big_e) && !BN_is_one(big_e); /* with e = 1 everyone can sign */
    if (is_sound && OSSL_PARAM_BLD_push_BN(parts, OSSL_PKEY_PARAM_RSA_N, big_n) == 1 &&
        OSSL_PARAM_BLD_push_BN(parts, OSSL_PKEY_PARAM_RSA_E, big_e) == 1)
        key = key_from("RSA", parts);
    OSSL_PARAM_BLD_free(parts);
    BN_free(big_n);
    BN_free(big_e);
    return key;
}

static EVP_PKEY *read_ec(const json_t *j, size_t *ret_coordinate)
{
    const char *curve = member(j, "crv"), *group;
    CLEANUP(buf_done) struct buf point = BYTES(1 + 2 * COORDINATE_MAX);
    if (curve && strcmp(curve, "P-256") == 0) {
        group = "prime256v1";
        *ret_coordinate = 32;
    } else if (curve && strcmp(curve, "P-384") == 0) {
        group = "secp384r1";
        *ret_coordinate = 48;
    } else {
        return NULL;
    }
    if (buf_add_char(&point, POINT_CONVERSION_UNCOMPRESSED) < 0 || !member_bytes(j, "x", &point) ||
        point.len != 1 + *ret_coordinate || !member_bytes(j, "y", &point) || point.len != 1 + 2 * *ret_coordinate)
        return NULL;
    OSSL_PARAM_BLD *parts = OSSL_PARAM_BLD_new();
    EVP_PKEY *key = NULL;
    if (parts && OSSL_PARAM_BLD_push_utf8_string(parts, OSSL_PKEY_PARAM_GROUP_NAME, group, 0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(parts, OSSL_PKEY_PARAM_PUB_KEY, point.data, point.len) == 1)
        key = key_from("EC", parts); /* a point that is not on the curve is refused there */
    OSSL_PARAM_BLD_free(parts);
    return key;
}

static EVP_PKEY *read_ed25519(const json_t *j)
{
    const char *curve = member(j, "crv");
    CLEANUP(buf_done) struct buf x = BYTES(ED25519_BYTES);
    if (!curve || strcmp(curve, "Ed25519") != 0 || !member_bytes(j, "x", &x) || x.len != ED25519_BYTES)
        return NULL;
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, (const unsigned char *)x.data, x.len);
}

/* --- keys --- */

static bool is_for_signatures(const json_t *j)
{
    const json_t *ops = json_object_get(j, "key_ops");
    const json_t *use = json_object_get(j, "use");
    if (use && (!json_is_string(use) || strcmp(json_string_value(use), "sig") != 0))
        return false;
    for (size_t i = 0; i < json_array_size(ops); i++) {
        const json_t *op = json_array_get(ops, i);
        if (json_is_string(op) && strcmp(json_string_value(op), "verify") == 0)
            return true;
    }
    return !ops;
}

static bool digest_key(struct jwks_key *k)
{
    unsigned char *der = NULL;
    int len = i2d_PUBKEY(k->key, &der);
    if (len > 0)
        digest_of((const char *)der, (size_t)len, k->digest);
    OPENSSL_free(der);
    return len > 0;
}

static void key_done(struct jwks_key *k)
{
    EVP_PKEY_free(k->key);
    free(k->kid);
    *k = (struct jwks_key){ 0 };
}

/* False: left out. */
static bool read_key(const json_t *j, struct jwks_key *ret)
{
    const char *type = member(j, "kty"), *alg = member(j, "alg");
    *ret = (struct jwks_key){ 0 };
    if (!type || !is_for_signatures(j))
        return false;
    if (json_object_get(j, "alg") && (!alg || !(ret->alg = jwks_alg(alg))))
        return false;
    if (json_object_get(j, "kid") && !member(j, "kid"))
        return false;
    if (strcmp(type, "RSA") == 0) {
        ret->kind = KIND_RSA;
        ret->key = read_rsa(j);
    } else if (strcmp(type, "EC") == 0) {
        ret->kind = KIND_EC;
        ret->key = read_ec(j, &ret->coordinate);
    } else if (strcmp(type, "OKP") == 0) {
        ret->kind = KIND_ED25519;
        ret->key = read_ed25519(j);
    }
    ERR_clear_error(); /* why a key is malformed is nobody's question */
    if (!ret->key || !digest_key(ret)) {
        key_done(ret);
        return false;
    }
    ret->kid = xstrdup(member(j, "kid"));
    return true;
}

/* --- sets --- */

int jwks_parse(const char *text, size_t len, struct jwks **ret, struct err *err)
{
    JSON_OWNED doc = NULL;
    if (len > JWKS_BYTES_MAX)
        return err_set(err, ERR_INVALID, 0, "key set: larger than %u bytes", JWKS_BYTES_MAX);
    int r = json_read_input(text, len, &doc, err);
    if (r < 0)
        return err_wrap(err, r, "key set");
    const json_t *keys = json_object_get(doc, "keys");
    if (!json_is_array(keys))
        return err_set(err, ERR_INVALID, 0, "key set: not a JSON object with a list \"keys\"");
    if (json_array_size(keys) > JWKS_KEYS_MAX)
        return err_set(err, ERR_INVALID, 0, "key set: %zu keys, at most %d are allowed", json_array_size(keys),
                       JWKS_KEYS_MAX);
    CLEANUP(jwks_free_p) struct jwks *s = xzalloc(sizeof(*s));
    for (size_t i = 0; i < json_array_size(keys); i++)
        s->n += read_key(json_array_get(keys, i), &s->keys[s->n]);
    if (s->n == 0)
        return err_set(err, ERR_INVALID, 0,
                       "key set: none of its %zu keys can be used; needed is a public RSA key of %d to %d bits, P-256, "
                       "P-384 or Ed25519, for signatures",
                       json_array_size(keys), RSA_BITS_MIN, RSA_BITS_MAX);
    *ret = STEAL(s);
    return 0;
}

struct jwks *jwks_free(struct jwks *s)
{
    for (size_t i = 0; s && i < s->n; i++)
        key_done(&s->keys[i]);
    free(s);
    return NULL;
}

size_t jwks_count(const struct jwks *s)
{
    return s->n;
}

const struct jwks_alg *jwks_alg(const char *name)
{
    for (size_t i = 0; i < sizeof(algs) / sizeof(*algs); i++)
        if (strcmp(algs[i].name, name) == 0)
            return &algs[i];
    return NULL;
}

static bool can_verify(const struct jwks_key *k, const struct jwks_alg *alg)
{
    return k->kind == alg->kind && k->coordinate == alg->coordinate && (!k->alg || k->alg == alg);
}

const struct jwks_key *jwks_find(const struct jwks *s, const char *kid, const struct jwks_alg *alg)
{
    const struct jwks_key *found = NULL;
    for (size_t i = 0; i < s->n; i++) {
        const struct jwks_key *k = &s->keys[i];
        if (!can_verify(k, alg) || (kid && (!k->kid || strcmp(k->kid, kid) != 0)))
            continue;
        if (kid)
            return k;
        if (found)
            return NULL;
        found = k;
    }
    return found;
}

const char *jwks_key_digest(const struct jwks_key *k)
{
    return k->digest;
}

bool jwks_has(const struct jwks *s, const char *digest)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->keys[i].digest, digest) == 0)
            return true;
    return false;
}

/* --- signatures --- */

/* From r and s side by side to the form that OpenSSL reads; the caller frees *ret. */
static int to_der(const struct jwks_signed *what, size_t coordinate, unsigned char **ret)
{
    const unsigned char *bytes = (const unsigned char *)what->signature;
    ECDSA_SIG *pair = what->signature_len == 2 * coordinate ? ECDSA_SIG_new() : NULL;
    BIGNUM *first = pair ? BN_bin2bn(bytes, (int)coordinate, NULL) : NULL;
    BIGNUM *second = pair ? BN_bin2bn(bytes + coordinate, (int)coordinate, NULL) : NULL;
    int len = -1;
    if (first && second && ECDSA_SIG_set0(pair, first, second) == 1) { /* takes both */
        first = second = NULL;
        len = i2d_ECDSA_SIG(pair, ret);
    }
    BN_free(first);
    BN_free(second);
    ECDSA_SIG_free(pair);
    return len;
}

bool jwks_verify(const struct jwks_key *k, const struct jwks_alg *alg, const struct jwks_signed *what)
{
    unsigned char *der = NULL;
    const unsigned char *signature = (const unsigned char *)what->signature;
    size_t len = what->signature_len;
    EVP_PKEY_CTX *how = NULL;
    if (!can_verify(k, alg))
        return false;
    if (alg->kind == KIND_EC) {
        int der_len = to_der(what, alg->coordinate, &der);
        signature = der;
        len = der_len > 0 ? (size_t)der_len : 0;
    }
    EVP_MD_CTX *ctx = len ? EVP_MD_CTX_new() : NULL;
    bool is_good = ctx && EVP_DigestVerifyInit_ex(ctx, &how, alg->digest, NULL, NULL, k->key, NULL) == 1;
    if (is_good && alg->is_pss)
        is_good = EVP_PKEY_CTX_set_rsa_padding(how, RSA_PKCS1_PSS_PADDING) == 1 &&
                  EVP_PKEY_CTX_set_rsa_pss_saltlen(how, RSA_PSS_SALTLEN_DIGEST) == 1;
    is_good = is_good && EVP_DigestVerify(ctx, signature, len, (const unsigned char *)what->data, what->len) == 1;
    EVP_MD_CTX_free(ctx);
    OPENSSL_free(der);
    ERR_clear_error();
    return is_good;
}
