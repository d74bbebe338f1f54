/* Public keys that may log in by SSH. A key acts as the token that added it: same tenant, role, operations and quota,
 * for as long as that token is good; it can be bound to one sandbox and can expire. Records are in the store.
 * Untrusted: the text of a key. May include: base/, store/, sandbox/. Invariants: (1) what a key may do is looked up at
 * each login, never kept in its record; (2) one public key may be registered by several tenants, which do not learn of
 * each other. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/json.h"
#include "sandbox/lifecycle/tenant.h"

struct ssh_keys;
struct store;

#define SSH_KEYS_TYPE_MAX  32
#define SSH_KEYS_PRINT_MAX 64 /* "SHA256:" and 43 digits, and NUL */

/* What a line of an authorized_keys file or a .pub file says. */
struct ssh_keys_parsed {
    char type[SSH_KEYS_TYPE_MAX];
    char fingerprint[SSH_KEYS_PRINT_MAX];
    unsigned bits;
    const char *comment; /* in the text that was parsed; "" when there is none */
};
/* "ssh-ed25519 AAAA… comment". Ed25519, ECDSA (nistp256, 384, 521) and RSA of 2048 to 16384 bits. -EINVAL says what is
 * wrong: a private key, options in front, an unknown type, damaged base64. */
int ssh_keys_parse(const char *text, struct ssh_keys_parsed *ret, struct err *err);
/* As OpenSSH prints it, from the 32 bytes. */
void ssh_keys_fingerprint(const unsigned char digest[DIGEST_RAW], char out[SSH_KEYS_PRINT_MAX]);

int ssh_keys_new(struct store *store, struct ssh_keys **ret, struct err *err);
struct ssh_keys *ssh_keys_free(struct ssh_keys *k);

struct ssh_keys_wish {
    const char *name;    /* NULL: the comment of the key */
    const char *text;    /* as ssh_keys_parse() takes it */
    const char *token;   /* id of the token that adds it; "" on a server without tokens */
    const char *sandbox; /* id of the only one that it opens; NULL: all that the token may use */
    int64_t expires;     /* ms since the epoch; 0: never */
};
/* The new record, borrowed; the same wish again gives the record that is there. NULL: ERR_INVALID, ERR_CONFLICT (this
 * tenant has the key with another token, sandbox or expiry), ERR_RATE_LIMITED. */
json_t *ssh_keys_add(struct ssh_keys *k, const struct tenant_by *by, const struct ssh_keys_wish *wish, struct err *err);
json_t *ssh_keys_list(const struct ssh_keys *k, const struct tenant_by *by); /* caller owns the list */
int ssh_keys_delete(struct ssh_keys *k, const char *id, struct err *err);
const char *ssh_keys_owner(const struct ssh_keys *k, const char *id); /* its tenant; NULL: no such key */

/* Every key with this fingerprint that has not expired, until fn returns false. */
typedef bool ssh_keys_each_fn(void *arg, const json_t *record);
void ssh_keys_each(const struct ssh_keys *k, const char *fingerprint, int64_t now_ms, ssh_keys_each_fn *fn, void *arg);
bool ssh_keys_is_good(const struct ssh_keys *k, const char *id, int64_t now_ms);
