/* Where the engine is, as DOCKER_HOST and its companions say. May include: base/, tls/, runtime/. */
#pragma once
#include "base/err.h"
#include "runtime/docker/docker.h"
#include "tls/tlsctx.h"

struct dkhost {
    char *unix_path;           /* or NULL */
    char *base_url;            /* "http://…" or "https://…" without a path, or NULL */
    char *ca, *cert, *key;     /* files, or NULL */
    struct tlsctx_trust trust; /* borrows them */
    char *name;                /* as the operator gave it, for messages */
};
int dkhost_parse(const char *host, bool is_tls, const struct docker_tls *tls, struct dkhost *ret, struct err *err);
void dkhost_done(struct dkhost *h);
