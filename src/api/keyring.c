#include "api/keyring.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/map.h"

#define WATCHERS_MAX 4
#define HEX_MAX      (2 * TOKEN_FILE_HASH + 1)

/* One token of the file. */
struct key {
    struct caller *caller;
    char hash[HEX_MAX];
    int64_t expires, revoked, last_used;
    bool was_good; /* at the last look */
};

struct keyring {
    char *dir; /* or NULL */
    char *secret;
    struct caller *root, *anyone; /* who shows III_AUTH_TOKEN; everyone where nothing is asked for */
    struct token_file file;
    struct token_file_stamp stamp;
    struct map *by_hash, *by_id; /* struct key; by_id owns */
    struct timer *poll;
    struct {
        keyring_ended_fn *fn;
        void *arg;
    } watchers[WATCHERS_MAX];
    size_t n_watchers;
};

struct caller *caller_ref(struct caller *c)
{
    c->refs++;
    return c;
}

struct caller *caller_unref(struct caller *c)
{
    if (c && --c->refs == 0)
        free(c);
    return NULL;
}

static struct caller *caller_new(const char *id, const char *name, enum token_file_role role, const char *tenant)
{
    struct caller *c = xzalloc(sizeof(*c));
    c->refs = 1;
    memcpy(c->id, id, strnlen(id, sizeof(c->id) - 1));
    memcpy(c->name, name, strnlen(name, sizeof(c->name) - 1));
    memcpy(c->tenant, tenant, strnlen(tenant, sizeof(c->tenant) - 1));
    c->role = role;
    bool sees_all = role == TOKEN_FILE_ADMIN || strcmp(tenant, TOKEN_FILE_ALL) == 0;
    c->by = (struct tenant_by){ .tenant = sees_all && role != TOKEN_FILE_ADMIN ? "" : c->tenant,
                                .view = sees_all ? NULL : c->tenant };
    return c;
}

/* --- the file --- */

static bool is_good(const struct key *k, int64_t now_ms)
{
    return !k->revoked && (!k->expires || now_ms < k->expires);
}

static void report_ended(struct keyring *k, const char *token_id)
{
    for (size_t i = 0; i < k->n_watchers; i++)
        k->watchers[i].fn(k->watchers[i].arg, token_id);
}

static void free_keys(struct map *by_id)
{
    for (struct map_iter it = map_iter(by_id); map_next(&it);) {
        struct key *k = it.value;
        (void)caller_unref(k->caller);
        free(k);
    }
    map_free(by_id);
}

static void take_file(struct keyring *k, struct token_file *f)
{
    struct map *before = k->by_id;
    bool was_open = before && !*k->secret && k->file.n == 0;
    map_free(k->by_hash);
    token_file_done(&k->file);
    k->file = *f;
    k->by_hash = map_new();
    k->by_id = map_new();
    for (size_t i = 0; i < f->n; i++) {
        const struct token_file_token *t = &f->rows[i];
        const struct key *old = before ? map_get(before, t->id) : NULL;
        struct key *key = xzalloc(sizeof(*key));
        key->caller = caller_new(t->id, t->name, t->role, t->tenant);
        key->caller->by.quota = t->quota;
        key->expires = t->expires;
        key->revoked = t->revoked;
        key->last_used = old ? old->last_used : 0;
        key->was_good = is_good(key, clock_wall_ms());
        ident_hex(t->hash, sizeof(t->hash), key->hash);
        map_set(k->by_id, t->id, key);
        map_set(k->by_hash, key->hash, key);
    }
    if (!before)
        return;
    for (struct map_iter it = map_iter(before); map_next(&it);) {
        const struct key *old = it.value, *now = map_get(k->by_id, it.key);
        if (old->was_good && (!now || !now->was_good || strcmp(now->hash, old->hash) != 0))
            report_ended(k, it.key);
    }
    free_keys(before);
    if (was_open && k->file.n > 0)
        report_ended(k, k->anyone->id); /* from now on everyone needs a token */
}

static int load(struct keyring *k, struct err *err)
{
    struct token_file f = TOKEN_FILE_INIT;
    struct token_file_stamp stamp;
    int r = token_file_read(k->dir, &f, &stamp, err);
    if (r < 0)
        return r;
    k->stamp = stamp;
    take_file(k, &f);
    return 0;
}

void keyring_reload(struct keyring *k)
{
    struct err err = ERR_INIT;
    if (k->dir && load(k, &err) < 0)
        log_event(LOG_ERROR, "tokens.read", "error", err.msg, "then", "the known tokens stay valid", NULL);
}

/* A look at the file costs a microsecond; it is read only when it is another one. */
static void refresh(struct keyring *k)
{
    struct token_file_stamp now;
    if (!k->dir || token_file_stamp(k->dir, &now) < 0 || token_file_is_same(&now, &k->stamp))
        return;
    k->stamp = now; /* a damaged one is complained about once */
    keyring_reload(k);
}

static void on_poll(void *arg)
{
    struct keyring *k = arg;
    int64_t now = clock_wall_ms();
    refresh(k);
    for (struct map_iter it = map_iter(k->by_id); map_next(&it);) {
        struct key *key = it.value;
        if (!key->was_good || is_good(key, now))
            continue;
        key->was_good = false;
        report_ended(k, key->caller->id);
    }
}

int keyring_new(struct loop *l, const char *dir, const char *secret, struct keyring **ret, struct err *err)
{
    struct keyring *k = xzalloc(sizeof(*k));
    struct token_file none = TOKEN_FILE_INIT;
    k->dir = xstrdup(dir);
    k->secret = xstrdup(secret ? secret : "");
    k->root = caller_new("env", "III_AUTH_TOKEN", TOKEN_FILE_ADMIN, "");
    k->anyone = caller_new("", "anyone", TOKEN_FILE_ADMIN, "");
    int r = 0;
    if (dir)
        r = load(k, err);
    else
        take_file(k, &none);
    if (r < 0) {
        (void)keyring_free(k);
        return r;
    }
    k->poll = l && dir ? timer_new(l, KEYRING_POLL_MS, KEYRING_POLL_MS, on_poll, k) : NULL;
    *ret = k;
    return 0;
}

struct keyring *keyring_free(struct keyring *k)
{
    if (!k)
        return NULL;
    timer_free(k->poll);
    if (k->by_id)
        free_keys(k->by_id);
    map_free(k->by_hash);
    token_file_done(&k->file);
    caller_unref(k->root);
    caller_unref(k->anyone);
    explicit_bzero(k->secret, strlen(k->secret));
    free(k->secret);
    free(k->dir);
    free(k);
    return NULL;
}

const char *keyring_dir(const struct keyring *k)
{
    return k->dir;
}

void keyring_on_ended(struct keyring *k, keyring_ended_fn *fn, void *arg)
{
    assert(k->n_watchers < WATCHERS_MAX); /* added at start, by us */
    k->watchers[k->n_watchers].fn = fn;
    k->watchers[k->n_watchers++].arg = arg;
}

/* --- asking --- */

bool keyring_is_open(struct keyring *k)
{
    refresh(k);
    return !*k->secret && k->file.n == 0;
}

int keyring_check(struct keyring *k, const char *token, struct caller **ret, struct err *err)
{
    if (keyring_is_open(k)) {
        *ret = caller_ref(k->anyone);
        return 0;
    }
    if (!token)
        return err_set(err, ERR_UNAUTHORIZED, 0, "Missing authorization header");
    size_t len = strlen(k->secret);
    if (len && strlen(token) == len && digest_same_secret(token, k->secret, len)) {
        *ret = caller_ref(k->root);
        return 0;
    }
    struct key *key = NULL;
    if (token_file_is_secret(token)) {
        unsigned char digest[TOKEN_FILE_HASH];
        char hex[HEX_MAX];
        token_file_hash(token, digest);
        ident_hex(digest, sizeof(digest), hex);
        key = map_get(k->by_hash, hex);
    }
    int64_t now = clock_wall_ms();
    if (!key)
        return err_set(err, ERR_FORBIDDEN, 0, "Invalid token");
    if (key->revoked)
        return err_set(err, ERR_FORBIDDEN, 0, "Token revoked");
    if (!is_good(key, now))
        return err_set(err, ERR_FORBIDDEN, 0, "Token expired");
    key->last_used = now;
    *ret = caller_ref(key->caller);
    return 0;
}

struct caller *keyring_by_id(struct keyring *k, const char *id)
{
    bool is_open = keyring_is_open(k); /* first: it may read the file */
    const struct key *key = map_get(k->by_id, id);
    if (key && is_good(key, clock_wall_ms()))
        return caller_ref(key->caller);
    if (*k->secret && strcmp(id, k->root->id) == 0)
        return caller_ref(k->root);
    return is_open && !*id ? caller_ref(k->anyone) : NULL;
}

const struct token_file *keyring_tokens(struct keyring *k)
{
    refresh(k);
    return &k->file;
}

int64_t keyring_last_used(const struct keyring *k, const char *id)
{
    const struct key *key = map_get(k->by_id, id);
    return key ? key->last_used : 0;
}
