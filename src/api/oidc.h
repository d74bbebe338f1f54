/* Who calls with a JWT of the configured OpenID Connect issuer: the issuer's keys, and what claims mean here (tenant,
 * role, operations, one sandbox). Keys come from a file, or are fetched: at the start, by age, and when a token names a
 * key that is not known, at a bounded rate. Keys that are known stay in use while the issuer cannot be reached.
 * Untrusted: tokens, the issuer's answers. May include: base/, http/, loop/, spec/, store/token_file.h, tls/, api/. */
#pragma once
#include "api/identity.h"
#include "api/jwt.h"
#include "base/settings.h"
#include "loop/loop.h"

struct oidc;

bool oidc_is_wanted(const struct settings *s);
/* *ret is NULL when no issuer is configured. ERR_INVALID names the setting. A file of keys is read now; others are
 * fetched when the loop runs. s outlives it. */
int oidc_new(struct loop *l, const struct settings *s, struct oidc **ret, struct err *err);
struct oidc *oidc_free(struct oidc *o);
const char *oidc_issuer(const struct oidc *o);

/* ERR_UNAUTHORIZED: not a valid token of the issuer; ERR_FORBIDDEN: its claims map to nothing here; ERR_CAPACITY: its
 * key is not known, and the keys are being fetched. */
int oidc_check(struct oidc *o, const char *token, int64_t now_ms, struct identity *ret, struct err *err);
bool oidc_has_key(const struct oidc *o, const char *digest);
void oidc_on_keys(struct oidc *o, loop_fn *fn, void *arg); /* called after each attempt to get keys, good or bad */
/* NULL: the keys are there. Otherwise a text without details, and *ret_why (may be NULL) the reason. Borrowed. */
const char *oidc_problem(const struct oidc *o, const char **ret_why);
size_t oidc_key_count(const struct oidc *o);
