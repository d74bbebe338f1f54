#include "tls/tls_peer.h"

#include <errno.h>
#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/ident.h"

/* Adds "kind:text" as a line if it is plain and fits. */
static void add_name(char out[TLS_PEER_MAX], const char *kind, const char *text, size_t len)
{
    size_t used = strlen(out), more = strlen(kind) + len + 2;
    if (len == 0 || used + more >= TLS_PEER_MAX)
        return;
    for (size_t i = 0; i < len; i++)
        if (text[i] < ' ' || text[i] > '~') /* a NUL inside, too */
            return;
    (void)snprintf(out + used, TLS_PEER_MAX - used, "%s:%.*s\n", kind, (int)len, text);
}

static void add_subject(const X509 *cert, char out[TLS_PEER_MAX])
{
    const X509_NAME *subject = X509_get_subject_name(cert);
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    if (bio && X509_NAME_print_ex(bio, subject, 0, XN_FLAG_RFC2253) >= 0) { /* escapes what is not ASCII */
        long len = BIO_get_mem_data(bio, &text);
        add_name(out, "subject", text, len > 0 ? (size_t)len : 0);
    }
    BIO_free(bio);
    int first = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (first < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, first) >= 0)
        return;
    unsigned char *utf8 = NULL;
    int len = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, first)));
    if (len > 0)
        add_name(out, "CN", (const char *)utf8, (size_t)len);
    OPENSSL_free(utf8);
}

static void add_alternatives(const X509 *cert, char out[TLS_PEER_MAX])
{
    GENERAL_NAMES *all = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(all); i++) {
        int type = 0;
        const ASN1_STRING *text = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(all, i), &type);
        const char *kind = type == GEN_URI ? "URI" : type == GEN_DNS ? "DNS" : type == GEN_EMAIL ? "email" : NULL;
        if (kind && ASN1_STRING_length(text) > 0)
            add_name(out, kind, (const char *)ASN1_STRING_get0_data(text), (size_t)ASN1_STRING_length(text));
    }
    GENERAL_NAMES_free(all);
}

void tls_peer_describe(const SSL *ssl, char out[TLS_PEER_MAX])
{
    X509 *cert = SSL_get0_peer_certificate(ssl);
    unsigned char digest[EVP_MAX_MD_SIZE];
    char hex[2 * EVP_MAX_MD_SIZE + 1];
    unsigned len = 0;
    struct tm until;
    out[0] = '\0';
    if (!cert || SSL_get_verify_result(ssl) != X509_V_OK || X509_digest(cert, EVP_sha256(), digest, &len) != 1 ||
        ASN1_TIME_to_tm(X509_get0_notAfter(cert), &until) != 1)
        return;
    ident_hex(digest, len, hex);
    (void)snprintf(out, TLS_PEER_MAX, "%lld %s\n", (long long)timegm(&until) * 1000, hex);
    add_subject(cert, out);
    add_alternatives(cert, out);
    ERR_clear_error();
}

/* --- reading it --- */

bool tls_peer_parse(const char *text, int64_t *ret_until_ms, char ret_digest[DIGEST_HEX], const char **ret_names)
{
    char *end;
    errno = 0;
    long long until = strtoll(text, &end, 10);
    if (errno || end == text || *end != ' ' || strnlen(end, DIGEST_HEX + 1) <= DIGEST_HEX || end[DIGEST_HEX] != '\n')
        return false;
    memcpy(ret_digest, end + 1, DIGEST_HEX - 1);
    ret_digest[DIGEST_HEX - 1] = '\0';
    *ret_until_ms = until;
    *ret_names = end + DIGEST_HEX + 1;
    return digest_is_hex(ret_digest);
}

bool tls_peer_next(const char **at, const char **ret_name, size_t *ret_len)
{
    *ret_name = *at;
    *ret_len = strcspn(*at, "\n");
    *at += *ret_len + ((*at)[*ret_len] == '\n');
    return *ret_len > 0;
}
