#include "tls/tls_context.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

enum { FILE_MAX = 1 << 20, CHAIN_MAX = 16 };

static const unsigned char protocols[] = { 8, 'h', 't', 't', 'p', '/', '1', '.', '1' };

/* The last error of OpenSSL, without its codes. */
static const char *reason(void)
{
    unsigned long e = ERR_peek_last_error();
    const char *text = e ? ERR_reason_error_string(e) : NULL;
    ERR_clear_error();
    return text ? text : "not understood";
}

/* --- files --- */

struct pem {
    char *data;
    size_t len;
};

static void pem_done(struct pem *p)
{
    if (p->data)
        OPENSSL_cleanse(p->data, p->len);
    free(p->data);
}

/* Reads a whole file. is_secret: rejected when other users may read it. */
static int read_pem(const char *what, const char *path, bool is_secret, struct pem *ret, struct err *err)
{
    /* A FIFO would block for ever without O_NONBLOCK; it is rejected below. */
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, ERR_INVALID, errno, "%s %s", what, path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_INVALID, 0, "%s %s: not a plain file", what, path);
    if (st.st_size > FILE_MAX)
        return err_set(err, ERR_INVALID, 0, "%s %s: larger than %d bytes", what, path, FILE_MAX);
    if (is_secret && st.st_mode & (S_IROTH | S_IWOTH))
        return err_set(err, ERR_INVALID, 0,
                       "%s %s: every user can read or write it (mode %03o): chmod 600 it, or 640 for a group", what,
                       path, (unsigned)(st.st_mode & 0777));
    ret->data = xzalloc((size_t)st.st_size + 1);
    while (ret->len < (size_t)st.st_size) {
        ssize_t n = read(fd, ret->data + ret->len, (size_t)st.st_size - ret->len);
        if (n < 0)
            return err_set(err, ERR_INVALID, errno, "%s %s", what, path);
        if (n == 0)
            break;
        ret->len += (size_t)n;
    }
    return 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the shape is OpenSSL's */
static int refuse_passphrase(char *out, int size, int is_writing, void *arg)
{
    (void)out, (void)size, (void)is_writing;
    *(bool *)arg = true;
    return -1;
}

static int use_key(SSL_CTX *ctx, const char *path, struct err *err)
{
    CLEANUP(pem_done) struct pem pem = { 0 };
    bool is_locked = false;
    int r = read_pem("TLS key", path, true, &pem, err);
    if (r < 0)
        return r;
    BIO *bio = BIO_new_mem_buf(pem.data, (int)pem.len);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, refuse_passphrase, &is_locked) : NULL;
    BIO_free(bio);
    if (is_locked)
        r = err_set(err, ERR_INVALID, 0, "TLS key %s: it is encrypted; a key without a passphrase is needed", path);
    else if (!key)
        r = err_set(err, ERR_INVALID, 0, "TLS key %s: no private key in PEM: %s", path, reason());
    else if (SSL_CTX_use_PrivateKey(ctx, key) != 1)
        r = err_set(err, ERR_INVALID, 0, "TLS key %s: it does not belong to the certificate: %s", path, reason());
    EVP_PKEY_free(key);
    ERR_clear_error(); /* asked for a passphrase */
    return r;
}

static int use_chain(SSL_CTX *ctx, const char *path, struct err *err)
{
    CLEANUP(pem_done) struct pem pem = { 0 };
    int r = read_pem("TLS certificate", path, false, &pem, err);
    if (r < 0)
        return r;
    BIO *bio = BIO_new_mem_buf(pem.data, (int)pem.len);
    X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    if (!cert)
        r = err_set(err, ERR_INVALID, 0, "TLS certificate %s: no certificate in PEM: %s", path, reason());
    else if (SSL_CTX_use_certificate(ctx, cert) != 1)
        r = err_set(err, ERR_INVALID, 0, "TLS certificate %s: %s", path, reason());
    X509_free(cert);
    for (int i = 0; r == 0 && i < CHAIN_MAX && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)); i++)
        if (SSL_CTX_add0_chain_cert(ctx, cert) != 1) {
            X509_free(cert);
            r = err_set(err, ERR_INVALID, 0, "TLS certificate %s: its chain: %s", path, reason());
        }
    BIO_free(bio);
    ERR_clear_error(); /* the end of the file counts as an error */
    return r;
}

/* With a CRL in the file, a certificate that it revokes, and one whose authority has none there, is refused. */
static int trust_file(SSL_CTX *ctx, const char *what, const char *path, struct err *err)
{
    CLEANUP(pem_done) struct pem pem = { 0 };
    int r = read_pem(what, path, false, &pem, err); /* OpenSSL would not say whether it is missing or malformed */
    if (r < 0)
        return r;
    if (SSL_CTX_load_verify_file(ctx, path) != 1)
        return err_set(err, ERR_INVALID, 0, "%s %s: no certificate in PEM: %s", what, path, reason());
    if (strstr(pem.data, "-----BEGIN X509 CRL-----"))
        (void)X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(ctx), X509_V_FLAG_CRL_CHECK); /* fails on no known flag */
    return 0;
}

/* --- both sides --- */

static SSL_CTX *new_ctx(const SSL_METHOD *method)
{
    SSL_CTX *ctx = SSL_CTX_new(method);
    if (!ctx)
        return NULL;
    /* Idle connections release their buffers; a write may be retried from another address. */
    (void)SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    (void)SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1)
        return ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

/* --- server --- */

static int pick_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
                         unsigned in_len, void *arg)
{
    (void)ssl, (void)arg;
    unsigned char *found;
    if (SSL_select_next_proto(&found, out_len, protocols, sizeof protocols, in, in_len) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL; /* a client that only speaks h2 cannot talk to us */
    *out = found;
    return SSL_TLSEXT_ERR_OK;
}

int tls_context_server(const struct tls_context_files *files, SSL_CTX **ret, char *note, struct err *err)
{
    static const unsigned char context[] = "iii";
    SSL_CTX *ctx = new_ctx(TLS_server_method());
    if (!ctx)
        return err_set(err, ERR_INTERNAL, 0, "TLS: %s", reason());
    (void)SSL_CTX_set_options(ctx, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
    (void)SSL_CTX_set_session_id_context(ctx, context, sizeof context); /* otherwise resumption fails with client CAs */
    SSL_CTX_set_alpn_select_cb(ctx, pick_protocol, NULL);
    int r = use_chain(ctx, files->cert, err);
    if (r == 0)
        r = use_key(ctx, files->key, err);
    if (r == 0 && files->client_ca && *files->client_ca) {
        r = trust_file(ctx, "TLS client CA", files->client_ca, err);
        if (r == 0)
            SSL_CTX_set_client_CA_list(ctx, SSL_load_client_CA_file(files->client_ca));
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | (files->is_client_optional ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT),
                           NULL);
    }
    if (r < 0) {
        SSL_CTX_free(ctx);
        return r;
    }
    const X509 *cert = SSL_CTX_get0_certificate(ctx);
    note[0] = '\0';
    if (X509_cmp_current_time(X509_get0_notAfter(cert)) < 0)
        (void)snprintf(note, TLS_CONTEXT_NOTE_MAX, "TLS certificate %.200s has expired: clients will refuse it",
                       files->cert);
    else if (X509_cmp_current_time(X509_get0_notBefore(cert)) > 0)
        (void)snprintf(note, TLS_CONTEXT_NOTE_MAX, "TLS certificate %.200s is not valid yet: clients will refuse it",
                       files->cert);
    *ret = ctx;
    return 0;
}

/* --- client --- */

int tls_context_client(const struct tls_context_trust *trust, SSL_CTX **ret, struct err *err)
{
    static const struct tls_context_trust usual = { 0 };
    const struct tls_context_trust *t = trust ? trust : &usual;
    SSL_CTX *ctx = new_ctx(TLS_client_method());
    if (!ctx)
        return err_set(err, ERR_INTERNAL, 0, "TLS: %s", reason());
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    int r = 0;
    if (SSL_CTX_set_alpn_protos(ctx, protocols, sizeof protocols) != 0) /* 0 is success here */
        r = err_set(err, ERR_INTERNAL, 0, "TLS: %s", reason());
    else if (t->ca_file && *t->ca_file)
        r = trust_file(ctx, "CA certificate", t->ca_file, err);
    else if (SSL_CTX_set_default_verify_paths(ctx) != 1)
        r = err_set(err, ERR_INTERNAL, 0, "TLS: the system's certificates: %s", reason());
    bool has_cert = t->cert_file && *t->cert_file;
    if (r == 0 && has_cert)
        r = use_chain(ctx, t->cert_file, err);
    if (r == 0 && has_cert)
        r = use_key(ctx, t->key_file && *t->key_file ? t->key_file : t->cert_file, err);
    if (r < 0)
        SSL_CTX_free(ctx);
    else
        *ret = ctx;
    return r;
}

SSL_CTX *tls_context_ref(SSL_CTX *ctx)
{
    return SSL_CTX_up_ref(ctx) == 1 ? ctx : NULL;
}

SSL_CTX *tls_context_unref(SSL_CTX *ctx)
{
    SSL_CTX_free(ctx);
    return NULL;
}
