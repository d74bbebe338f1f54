/* The API tokens of a data folder: tokens.json, replaced as a whole under a lock, so that `iii token` and a running
 * server can both change it. Secrets are stored only as SHA-256 (they are 256 random bits, so nothing slower is
 * needed). Untrusted: requests for tokens; the file may be damaged. All calls but token_file_parse() touch the disk.
 * May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"
#include "base/ident.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/quota.h"

#define TOKEN_FILE_MAX \
    1000 /* tokens including revoked and expired ones, of which the oldest are removed to make room */
#define TOKEN_FILE_NAME_MAX   LIMIT_MAX(TOKEN_NAME_BYTES)
#define TOKEN_FILE_TENANT_MAX LIMIT_MAX(TENANT_BYTES)
#define TOKEN_FILE_WORDS_MAX  LIMIT_MAX(TOKEN_OPERATIONS)
#define TOKEN_FILE_OPS_MAX    (TOKEN_FILE_WORDS_MAX * (LIMIT_MAX(OPERATION_BYTES) + 1))
#define TOKEN_FILE_SECRET_MAX 72 /* "iii_" and 64 hex digits, and NUL */
#define TOKEN_FILE_HASH       32
#define TOKEN_FILE_ALL        "*" /* the tenant of a read-only token that sees all tenants */

enum token_file_role { TOKEN_FILE_ADMIN, TOKEN_FILE_USER, TOKEN_FILE_READONLY, TOKEN_FILE_ROLES };

struct token_file_token {
    char id[IDENT_MAX]; /* "tok_…" */
    char name[TOKEN_FILE_NAME_MAX + 1], tenant[TOKEN_FILE_TENANT_MAX + 1];
    enum token_file_role role;
    unsigned char hash[TOKEN_FILE_HASH];
    char sandbox[IDENT_MAX];             /* the one it is for; "": all of its tenant */
    char operations[TOKEN_FILE_OPS_MAX]; /* "exec,files": what it may call; "": all of its role */
    int64_t created, expires, revoked;   /* ms since the epoch; 0: never, not */
    struct quota quota;
};

struct token_file {
    struct token_file_token *rows; /* oldest first */
    size_t n;
};
#define TOKEN_FILE_INIT \
    {                   \
        NULL, 0         \
    }
void token_file_done(struct token_file *f);

/* Identifies a state of the file. */
struct token_file_stamp {
    uint64_t inode;
    int64_t size;
    struct timespec changed;
};

/* Requested properties of a new token. */
struct token_file_wish {
    const char *name, *role;  /* role NULL: user */
    const char *tenant;       /* NULL: none for an admin, a new one for a user */
    const char *sandbox;      /* an id; NULL: all of the tenant. Then tenant is that sandbox's, NULL: none */
    const json_t *operations; /* array of words, which whoever asks has checked; NULL: all */
    int64_t expires;          /* 0: never */
    struct quota quota;
};

const char *token_file_role_name(enum token_file_role r);  /* "read-only" */
json_t *token_file_json(const struct token_file_token *t); /* without the hash; caller owns */
bool token_file_is_secret(const char *text);               /* has the form of our secrets */
void token_file_hash(const char *secret, unsigned char out[TOKEN_FILE_HASH]);
int token_file_parse(const char *text, size_t len, struct token_file *ret, struct err *err);
/* The stamp of the current file; all zeros when there is none. */
int token_file_stamp(const char *dir, struct token_file_stamp *ret);
bool token_file_is_same(const struct token_file_stamp *a, const struct token_file_stamp *b);
/* No file is an empty set. -EINVAL: damaged. */
int token_file_read(const char *dir, struct token_file *ret, struct token_file_stamp *ret_stamp, struct err *err);
bool token_file_is_name(char c); /* may be part of a token's name */
/* Fills t (zeros, but for its id) with what is asked for. ERR_INVALID names the member and what is allowed. */
int token_file_check(const struct token_file_wish *w, struct token_file_token *t, struct err *err);
/* ret_secret is shown once and not stored. */
int token_file_create(const char *dir, const struct token_file_wish *wish, struct token_file_token *ret,
                      char ret_secret[TOKEN_FILE_SECRET_MAX], struct err *err);
/* The row stays, so that the audit log can still name it. By id, or by a name that only one token has. Revoking twice
 * is fine. */
int token_file_revoke(const char *dir, const char *id, struct token_file_token *ret, struct err *err);
/* A new secret for the same token; the old one stops working at once. ERR_CONFLICT: it is revoked. */
int token_file_rotate(const char *dir, const char *id, struct token_file_token *ret,
                      char ret_secret[TOKEN_FILE_SECRET_MAX], struct err *err);
/* By id or unambiguous name. ERR_NOT_FOUND, ERR_CONFLICT. Borrowed. */
struct token_file_token *token_file_find(const struct token_file *f, const char *id, struct err *err);
