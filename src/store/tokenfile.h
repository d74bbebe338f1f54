/* The API tokens of a data folder: tokens.json, replaced as a whole under a lock, so that `iii token` and a running
 * server work on the same one. Secrets are kept only as SHA-256 (they are 256 random bits, so nothing slower is
 * needed). Untrusted: wishes; the file is damaged at worst. All calls but tokenfile_parse() touch the disk.
 * May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"
#include "base/ident.h"
#include "base/json.h"
#include "base/quota.h"

#define TOKENFILE_MAX        1000 /* tokens, the revoked ones too; of these the oldest make room */
#define TOKENFILE_NAME_MAX   64   /* bytes of a name */
#define TOKENFILE_TENANT_MAX 64
#define TOKENFILE_SECRET_MAX 72 /* "iii_" and 64 hex digits, and NUL */
#define TOKENFILE_HASH       32
#define TOKENFILE_ALL        "*" /* the tenant of a read-only token that sees everyone's */

enum tokenfile_role { TOKENFILE_ADMIN, TOKENFILE_USER, TOKENFILE_READONLY, TOKENFILE_ROLES };

struct tokenfile_token {
    char id[IDENT_MAX]; /* "tok_…" */
    char name[TOKENFILE_NAME_MAX + 1], tenant[TOKENFILE_TENANT_MAX + 1];
    enum tokenfile_role role;
    unsigned char hash[TOKENFILE_HASH];
    int64_t created, expires, revoked; /* ms since the epoch; 0: never, not */
    struct quota quota;
};

struct tokenfile {
    struct tokenfile_token *rows; /* oldest first */
    size_t n;
};
#define TOKENFILE_INIT \
    {                  \
        NULL, 0        \
    }
void tokenfile_done(struct tokenfile *f);

/* Tells one state of the file from the next. */
struct tokenfile_stamp {
    uint64_t inode;
    int64_t size;
    struct timespec changed;
};

/* What someone wants a new token to be. */
struct tokenfile_wish {
    const char *name, *role; /* role NULL: user */
    const char *tenant;      /* NULL: an admin has none, a user one of its own */
    int64_t expires;         /* 0: never */
    struct quota quota;
};

const char *tokenfile_role_name(enum tokenfile_role r);  /* "read-only" */
json_t *tokenfile_json(const struct tokenfile_token *t); /* without the hash; caller owns */
bool tokenfile_is_secret(const char *text);              /* of the form of our secrets */
void tokenfile_hash(const char *secret, unsigned char out[TOKENFILE_HASH]);
int tokenfile_parse(const char *text, size_t len, struct tokenfile *ret, struct err *err);
/* The stamp of what is there now; all zeros when there is no file. */
int tokenfile_stamp(const char *dir, struct tokenfile_stamp *ret);
bool tokenfile_is_same(const struct tokenfile_stamp *a, const struct tokenfile_stamp *b);
/* No file is an empty set. -EINVAL: damaged. */
int tokenfile_read(const char *dir, struct tokenfile *ret, struct tokenfile_stamp *ret_stamp, struct err *err);
/* ret_secret is shown once and kept nowhere. */
int tokenfile_create(const char *dir, const struct tokenfile_wish *wish, struct tokenfile_token *ret,
                     char ret_secret[TOKENFILE_SECRET_MAX], struct err *err);
/* The row stays, so that what it did keeps a name. By id, or by a name that is one token's only. Twice is fine. */
int tokenfile_revoke(const char *dir, const char *id, struct tokenfile_token *ret, struct err *err);
/* A new secret for the same token; the old one is worth nothing from now on. ERR_CONFLICT: it is revoked. */
int tokenfile_rotate(const char *dir, const char *id, struct tokenfile_token *ret,
                     char ret_secret[TOKENFILE_SECRET_MAX], struct err *err);
/* By id or unambiguous name. ERR_NOT_FOUND, ERR_CONFLICT. Borrowed. */
struct tokenfile_token *tokenfile_find(const struct tokenfile *f, const char *id, struct err *err);
