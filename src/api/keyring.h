/* Who calls: the tokens of the data folder as the server knows them, read again whenever the file has changed, so that
 * `iii token revoke` counts from the next request on; and guests, whom an OpenID Connect issuer or a client certificate
 * vouches for. Untrusted: the token a client shows. May include: base/, store/, loop/, sandbox/lifecycle/tenant.h,
 * api/. Invariants: (1) secrets are only here as digests, and a token is found by its digest, so that no comparison
 * tells how much of it was right; (2) a file that cannot be read changes nothing: the tokens that were known stay in
 * force; (3) the number of guests is bounded, with a share for each tenant. */
#pragma once
#include "api/identity.h"
#include "base/err.h"
#include "base/settings.h"
#include "loop/loop.h"
#include "sandbox/lifecycle/tenant.h"
#include "store/token_file.h"

#define KEYRING_GUESTS_MAX 4096 /* JWTs and certificates that are remembered; the longest unused is forgotten */
#define KEYRING_POLL_MS    500  /* between looks at the file and at expiries, for streams that are open */

/* One who may call. Held by reference: a call keeps it after the token was revoked. */
struct caller {
    unsigned refs;
    char id[IDENT_MAX];                 /* of the token, JWT or certificate; "" without authentication */
    char account[IDENT_MAX];            /* whose rate counts: all JWTs of one subject are one. Otherwise the id */
    char name[TOKEN_FILE_NAME_MAX + 1]; /* for the audit log and for messages */
    enum token_file_role role;
    char tenant[TOKEN_FILE_TENANT_MAX + 1];
    const char *issuer;                        /* of a guest: the issuer's URL, or "client certificate"; else NULL */
    char subject[IDENTITY_SUBJECT_MAX + 1];    /* of a guest, as its issuer names it */
    char sandbox[IDENT_MAX];                   /* the only one it may name; "": all of its tenant */
    char operations[TOKEN_FILE_OPS_MAX];       /* spec_op_in(): all that it may call; "": whatever its role may */
    char secret_hash[2 * TOKEN_FILE_HASH + 1]; /* hex; what is signed for a caller ends with it. "": no secret */
    struct tenant_by by;                       /* the same for sandbox/; points into this struct */
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

/* Lets guests in, as the settings say (issuer, client certificates); once, at the start. s outlives k. ERR_INVALID
 * names the setting. */
int keyring_trust(struct keyring *k, struct loop *l, const struct settings *s, struct err *err);
bool keyring_is_guarded(const struct settings *s); /* the settings alone see to it that not everyone may call */
/* Others than this host reach the server: from now on it asks for a credential, also when the file of tokens is empty
 * or gone. */
void keyring_expose(struct keyring *k);
const char *keyring_problem(const struct keyring *k); /* of the issuer's keys, for health; NULL: none */

/* Nobody is asked for anything: there is neither a secret nor a token, revoked ones included, nor a way for guests, and
 * only this host reaches the server (or its operator wants it so). */
bool keyring_is_open(struct keyring *k);
/* Lowers q, of each kind, to the least that a good token of the tenant has. */
void keyring_quota(const struct keyring *k, const char *tenant, struct quota *q);
/* Whether keyring_check() would have to verify a signature: a JWT that it does not know yet. */
bool keyring_must_verify(struct keyring *k, const char *token);
/* token NULL: none was shown. 0 with a reference in *ret; ERR_UNAUTHORIZED (none, or a wrong JWT), ERR_FORBIDDEN (a
 * wrong one), ERR_CAPACITY (the issuer's keys are not there, or too many guests). */
int keyring_check(struct keyring *k, const char *token, struct caller **ret, struct err *err);
/* The same for a verified client certificate (tls/tls_peer.h) where no token was shown. ERR_UNAUTHORIZED: certificates
 * alone open nothing here; ERR_FORBIDDEN: this one does not. */
int keyring_check_cert(struct keyring *k, const char *cert, struct caller **ret, struct err *err);
/* One that is good now, by its id ("" for who needs none); a reference, or NULL. */
struct caller *keyring_by_id(struct keyring *k, const char *id);
/* A secret for one connection whose client was let in otherwise (an SSH key): who shows it calls as that token, bound
 * to one sandbox, until it is returned or the token ends. The reference, or NULL: no such token, or it is bound to
 * another sandbox. */
#define KEYRING_LENT_MAX 72
struct caller *keyring_lend(struct keyring *k, const char *token_id, const char *sandbox,
                            char secret[KEYRING_LENT_MAX]);
void keyring_return(struct keyring *k, const char *secret); /* "" is fine */
void keyring_reload(struct keyring *k);                     /* now, after a change of our own */
const struct token_file *keyring_tokens(struct keyring *k);
int64_t keyring_last_used(const struct keyring *k, const char *id); /* ms since the epoch, since the start; 0: not */
/* Called when a token is revoked, has expired or has another secret: what it has open is to be closed. */
typedef void keyring_ended_fn(void *arg, const char *token_id);
void keyring_on_ended(struct keyring *k, keyring_ended_fn *fn, void *arg);
