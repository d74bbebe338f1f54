/* Who calls: the tokens of the data folder as the server knows them, read again whenever the file has changed, so that
 * `iii token revoke` counts from the next request on. Untrusted: the token a client shows. May include: base/, store/,
 * loop/, sandbox/lifecycle/tenant.h. Invariants: (1) secrets are only here as digests, and a token is found by its
 * digest, so that no comparison tells how much of it was right; (2) a file that cannot be read changes nothing: the
 * tokens that were known stay in force. */
#pragma once
#include "base/err.h"
#include "loop/loop.h"
#include "sandbox/lifecycle/tenant.h"
#include "store/token_file.h"

#define KEYRING_POLL_MS 500 /* between looks at the file and at expiries, for streams that are open */

/* One who may call. Held by reference: a call keeps it after the token was revoked. */
struct caller {
    unsigned refs;
    char id[IDENT_MAX];                 /* of the token; "" without authentication */
    char name[TOKEN_FILE_NAME_MAX + 1]; /* for the audit log and for messages */
    enum token_file_role role;
    char tenant[TOKEN_FILE_TENANT_MAX + 1];
    struct tenant_by by; /* the same for sandbox/; points into this struct */
};
struct caller *caller_ref(struct caller *c);
struct caller *caller_unref(struct caller *c); /* NULL is fine */

DEFINE_CLEANUP(struct caller *, caller_unref)

struct keyring;

/* dir NULL: no file, only the secret (tests). -EINVAL when the file is damaged: a server must not start without its
 * locks. l may be NULL: then nobody is told of ends. */
int keyring_new(struct loop *l, const char *dir, const char *secret, struct keyring **ret, struct err *err);
struct keyring *keyring_free(struct keyring *k);
DEFINE_CLEANUP(struct keyring *, keyring_free)
const char *keyring_dir(const struct keyring *k);

bool keyring_is_open(struct keyring *k); /* there is neither a secret nor a token, revoked ones included */
/* token NULL: none was shown. 0 with a reference in *ret; ERR_UNAUTHORIZED (none) or ERR_FORBIDDEN (a wrong one). */
int keyring_check(struct keyring *k, const char *token, struct caller **ret, struct err *err);
/* One that is good now, by its id ("" for who needs none); a reference, or NULL. */
struct caller *keyring_by_id(struct keyring *k, const char *id);
void keyring_reload(struct keyring *k); /* now, after a change of our own */
const struct token_file *keyring_tokens(struct keyring *k);
int64_t keyring_last_used(const struct keyring *k, const char *id); /* ms since the epoch, since the start; 0: not */
/* Called when a token is revoked, has expired or has another secret: what it has open is to be closed. */
typedef void keyring_ended_fn(void *arg, const char *token_id);
void keyring_on_ended(struct keyring *k, keyring_ended_fn *fn, void *arg);
