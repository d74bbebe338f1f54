/* TLS contexts from files: the server's (certificate, key, CA bundle for client certificates) and a client's (CA bundle
 * to verify servers). TLS 1.2 or newer, OpenSSL's default ciphers, http/1.1 as the only ALPN protocol. Untrusted:
 * nothing; the files are the operator's. May include: base/. */
#pragma once
#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { TLS_CONTEXT_NOTE_MAX = 300 };

struct tls_context_files {
    const char *cert, *key;  /* PEM; cert: the server's own first, then the chain */
    const char *client_ca;   /* PEM, with CRLs or without, or NULL or "": clients need no certificate */
    bool is_client_optional; /* a client without one may connect, one with a bad one may not */
};

/* err names the file and the problem. A certificate that has expired, or is not valid yet, is used: note
 * (TLS_CONTEXT_NOTE_MAX bytes) then says so; otherwise it is empty. A key that every user can read is rejected. */
int tls_context_server(const struct tls_context_files *files, SSL_CTX **ret, char *note, struct err *err);

struct tls_context_trust {
    const char *ca_file;              /* PEM CA bundle; NULL or "": the system's store */
    const char *cert_file, *key_file; /* presented to a server that asks; NULL or "": none */
};

SSL_CTX *tls_context_ref(SSL_CTX *ctx);   /* NULL only when the count overflows */
SSL_CTX *tls_context_unref(SSL_CTX *ctx); /* NULL is fine; returns NULL */

/* Verification is always on. trust may be NULL: the system's store. */
int tls_context_client(const struct tls_context_trust *trust, SSL_CTX **ret, struct err *err);
