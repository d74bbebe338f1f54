#include "tls/codesign_cert.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/strlist.h"

/* Extensions of Sigstore's certificates: the issuer as plain text (the older one) and as a DER string, and a user name
 * among the alternative names. */
#define OID_ISSUER    "1.3.6.1.4.1.57264.1.1"
#define OID_ISSUER_V2 "1.3.6.1.4.1.57264.1.8"
#define OID_USERNAME  "1.3.6.1.4.1.57264.1.7"
#define AUTH_LEVEL    2 /* 112 bits: no RSA below 2048, no SHA-1 */

void codesign_cert_done(struct codesign_cert *c)
{
    c->key = pubkey_free(c->key);
    strlist_free(c->names);
    free(c->issuer);
    *c = (struct codesign_cert){ 0 };
}

int codesign_cert_der(const char *pem, size_t len, struct buf *out)
{
    unsigned char *der = NULL;
    BIO *in = len <= CODESIGN_CERT_MAX * 2 ? BIO_new_mem_buf(pem, (int)len) : NULL;
    X509 *x = in ? PEM_read_bio_X509(in, NULL, NULL, NULL) : NULL;
    int n = x ? i2d_X509(x, &der) : -1;
    int r = n > 0 ? buf_add(out, der, (size_t)n) : -EINVAL;
    OPENSSL_free(der);
    X509_free(x);
    BIO_free(in);
    ERR_clear_error();
    return r;
}

/* Every certificate of a PEM text, at most CODESIGN_CERT_CHAIN; NULL: none, more, or memory ran out. */
static STACK_OF(X509) * read_all(const char *pem)
{
    BIO *in = BIO_new_mem_buf(pem, (int)strlen(pem));
    STACK_OF(X509) *all = sk_X509_new_null();
    X509 *x = NULL;
    while (in && all && sk_X509_num(all) <= CODESIGN_CERT_CHAIN && (x = PEM_read_bio_X509(in, NULL, NULL, NULL)))
        if (!sk_X509_push(all, x))
            X509_free(x);
    BIO_free(in);
    ERR_clear_error();
    if (all && sk_X509_num(all) > 0 && sk_X509_num(all) <= CODESIGN_CERT_CHAIN)
        return all;
    sk_X509_pop_free(all, X509_free);
    return NULL;
}

int codesign_cert_roots_check(const char *roots_pem, struct err *err)
{
    STACK_OF(X509) *roots = read_all(roots_pem);
    bool is_good = roots;
    sk_X509_pop_free(roots, X509_free);
    return is_good ? 0 : err_set(err, ERR_INVALID, 0, "not 1 to %d certificates in PEM", CODESIGN_CERT_CHAIN);
}

static int verify_chain(X509 *leaf, const struct codesign_cert_trust *trust, struct err *err)
{
    const char *why = "out of memory";
    STACK_OF(X509) *roots = read_all(trust->roots_pem);
    STACK_OF(X509) *chain = trust->chain_pem && *trust->chain_pem ? read_all(trust->chain_pem) : NULL;
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    bool is_valid = false;
    for (int i = 0; store && i < sk_X509_num(roots); i++)
        (void)X509_STORE_add_cert(store, sk_X509_value(roots, i)); /* one that is missing makes the check fail */
    if (store && ctx && roots && X509_STORE_CTX_init(ctx, store, leaf, chain)) {
        X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(ctx);
        X509_VERIFY_PARAM_set_time(param, (time_t)trust->at_s);
        X509_VERIFY_PARAM_set_depth(param, CODESIGN_CERT_CHAIN);
        X509_VERIFY_PARAM_set_auth_level(param, AUTH_LEVEL);
        (void)X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN);
        is_valid = X509_verify_cert(ctx) == 1;
        why = X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx));
    }
    int r =
        is_valid ? 0 : err_set(err, ERR_FORBIDDEN, 0, "its certificate does not lead to a configured root: %s", why);
    X509_STORE_CTX_free(ctx);
    X509_STORE_free(store);
    sk_X509_pop_free(chain, X509_free);
    sk_X509_pop_free(roots, X509_free);
    ERR_clear_error();
    return r;
}

/* Texts with a NUL inside are left out: they would be compared only up to it. */
static void add_text(char ***list, const ASN1_STRING *s)
{
    int len = s ? ASN1_STRING_length(s) : 0;
    CLEANUP(free_p) char *text = len > 0 ? xstrndup((const char *)ASN1_STRING_get0_data(s), (size_t)len) : NULL;
    if (text && strlen(text) == (size_t)len)
        strlist_add(list, text);
}

static void add_name(char ***list, const GENERAL_NAME *name)
{
    char oid[64] = "";
    if (name->type == GEN_EMAIL || name->type == GEN_URI) {
        add_text(list, name->d.ia5);
    } else if (name->type == GEN_OTHERNAME && name->d.otherName->value->type == V_ASN1_UTF8STRING) {
        (void)OBJ_obj2txt(oid, sizeof(oid), name->d.otherName->type_id, 1);
        if (strcmp(oid, OID_USERNAME) == 0)
            add_text(list, name->d.otherName->value->value.utf8string);
    }
}

static const ASN1_OCTET_STRING *extension(X509 *x, const char *oid)
{
    ASN1_OBJECT *id = OBJ_txt2obj(oid, 1);
    int at = id ? X509_get_ext_by_OBJ(x, id, -1) : -1;
    ASN1_OBJECT_free(id);
    return at < 0 ? NULL : X509_EXTENSION_get_data(X509_get_ext(x, at));
}

static char *read_issuer(X509 *x)
{
    CLEANUP(strlist_free_p) char **found = NULL;
    const ASN1_OCTET_STRING *data = extension(x, OID_ISSUER_V2);
    if (data) {
        const unsigned char *p = ASN1_STRING_get0_data(data);
        ASN1_UTF8STRING *text = d2i_ASN1_UTF8STRING(NULL, &p, ASN1_STRING_length(data));
        add_text(&found, text);
        ASN1_UTF8STRING_free(text);
    } else {
        add_text(&found, extension(x, OID_ISSUER));
    }
    ERR_clear_error();
    return xstrdup(found ? found[0] : "");
}

static int read_identity(X509 *x, struct codesign_cert *ret, struct err *err)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++)
        add_name(&ret->names, sk_GENERAL_NAME_value(names, i));
    GENERAL_NAMES_free(names);
    ERR_clear_error();
    ret->issuer = read_issuer(x);
    return pubkey_take(X509_get_pubkey(x), &ret->key, err);
}

int codesign_cert_check(const void *der, size_t len, const struct codesign_cert_trust *trust, struct codesign_cert *ret,
                        struct err *err)
{
    const unsigned char *p = der;
    CLEANUP(codesign_cert_done) struct codesign_cert c = { 0 };
    X509 *x = len <= CODESIGN_CERT_MAX ? d2i_X509(NULL, &p, (long)len) : NULL;
    int r = 0;
    if (!x || p != (const unsigned char *)der + len)
        r = err_set(err, ERR_FORBIDDEN, 0, "its certificate cannot be read");
    else if (X509_check_ca(x) || X509_get_extended_key_usage(x) == UINT32_MAX ||
             !(X509_get_extended_key_usage(x) & XKU_CODE_SIGN))
        r = err_set(err, ERR_FORBIDDEN, 0, "its certificate is not for code signing");
    if (r == 0)
        r = verify_chain(x, trust, err);
    if (r == 0)
        r = read_identity(x, &c, err);
    X509_free(x);
    ERR_clear_error();
    if (r < 0)
        return r;
    *ret = c;
    c = (struct codesign_cert){ 0 };
    return 0;
}
