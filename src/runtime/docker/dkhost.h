/* Where the engine is, as DOCKER_HOST and its companions say. May include: base/, tls/. */
#pragma once
#include "base/err.h"
#include "tls/tlsctx.h"

struct dkhost {
    char *unix_path;           /* or NULL */
    char *base_url;            /* "http://…" or "https://…" without a path, or NULL */
    char *ca, *cert, *key;     /* files, or NULL */
    struct tlsctx_trust trust; /* borrows them */
    char *name;                /* as the operator gave it, for messages */
};
int dkhost_parse(const char *host, const char *tls_verify, const char *cert_path, struct dkhost *ret, struct err *err);
void dkhost_done(struct dkhost *h);
