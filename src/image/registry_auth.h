/* Registry authentication: the challenge and the token reply. Both are untrusted and bounded. Pure. May include: base/,
 * image/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define REGISTRY_AUTH_FIELD 2048  /* one value of a challenge, with its NUL */
#define REGISTRY_AUTH_TOKEN 65536 /* longest token accepted */

struct registry_auth_challenge {
    bool is_basic; /* otherwise a bearer token must be fetched from realm */
    char realm[REGISTRY_AUTH_FIELD], service[REGISTRY_AUTH_FIELD], scope[REGISTRY_AUTH_FIELD]; /* "" when not given */
};

/* The value of one WWW-Authenticate header. ERR_UPSTREAM when it is neither a usable Bearer nor Basic challenge. */
int registry_auth_parse_challenge(const char *text, struct registry_auth_challenge *ret, struct err *err);
/* {"token":…} or {"access_token":…}; only characters a header may carry. Caller frees *ret. */
int registry_auth_parse_token(const char *text, size_t len, char **ret, struct err *err);
