/* The engine's address, as DOCKER_HOST and related variables define it. May include: base/, tls/, runtime/. */
#pragma once
#include "base/err.h"
#include "runtime/docker/docker.h"
#include "tls/tls_context.h"

struct docker_host {
    char *unix_path;                /* or NULL */
    char *base_url;                 /* "http://…" or "https://…" without a path, or NULL */
    char *ca, *cert, *key;          /* files, or NULL */
    struct tls_context_trust trust; /* borrows them */
    char *name;                     /* as the operator set it, for messages */
};
int docker_host_parse(const char *host, bool is_tls, const struct docker_tls *tls, struct docker_host *ret,
                      struct err *err);
void docker_host_done(struct docker_host *h);
