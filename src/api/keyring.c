/* Theory of operation. A token of the file has a struct key in by_id and by_hash, made again when the file changes. A
 * guest has one in guests, from its first request on until it ends: its JWT expires, its certificate does, or the
 * issuer withdraws the key that signed it. Its id is made from the digest of what it showed, so that a JWT is verified
 * once and found by its digest afterwards. The table of guests is bounded and shared between tenants; the guest that
 * was unused longest and has no call in progress is forgotten for a new one, and what it has open ends, because nothing
 * would close it later. */
#include "api/keyring.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/client_cert.h"
#include "api/jwt.h"
#include "api/oidc.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/map.h"
#include "base/share.h"

#define WATCHERS_MAX 4
#define HEX_MAX      (2 * TOKEN_FILE_HASH + 1)

/* One token of the file, or one guest. */
struct key {
    struct caller *caller;
    char hash[HEX_MAX];
    int64_t expires, revoked, last_used;
    bool was_good;           /* at the last look */
    char signer[DIGEST_HEX]; /* of a JWT: the issuer's key; "" else */
    struct quota quota;      /* of a guest: what its issuer's or its certificate's setting says */
};

struct keyring {
    char *dir; /* or NULL */
    char *secret;
    struct caller *root, *anyone; /* who shows III_AUTH_TOKEN; everyone where nothing is asked for */
    struct token_file file;
    struct token_file_stamp stamp;
    struct map *by_hash, *by_id; /* struct key; by_id owns */
    struct map *guests;          /* struct key by id; owned */
    struct share *guest_share;
    bool is_exposed;               /* it is never open */
    struct oidc *oidc;             /* or NULL */
    struct client_cert_map *certs; /* or NULL */
    struct map *lent;              /* digest of a secret -> struct caller */
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
    memcpy(c->account, c->id, sizeof(c->id));
    memcpy(c->name, name, strnlen(name, sizeof(c->name) - 1));
    memcpy(c->tenant, tenant, strnlen(tenant, sizeof(c->tenant) - 1));
    c->role = role;
    bool sees_all = role == TOKEN_FILE_ADMIN || strcmp(tenant, TOKEN_FILE_ALL) == 0;
    c->by = (struct tenant_by){ .tenant = sees_all && role != TOKEN_FILE_ADMIN ? "" : c->tenant,
                                .view = sees_all ? NULL : c->tenant };
    return c;
}

static struct caller *caller_of(const struct token_file_token *t)
{
    struct caller *c = caller_new(t->id, t->name, t->role, t->tenant);
    c->by.quota = t->quota;
    memcpy(c->operations, t->operations, sizeof(t->operations));
    if (*t->sandbox) {
        memcpy(c->sandbox, t->sandbox, sizeof(t->sandbox));
        c->by.sandbox = c->sandbox;
    }
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

static bool asks_nothing(const struct keyring *k)
{
    return !*k->secret && k->file.n == 0 && !k->oidc && !k->certs && !k->is_exposed;
}

void keyring_quota(const struct keyring *k, const char *tenant, struct quota *q)
{
    for (struct map_iter it = map_iter(k->by_id); map_next(&it);) {
        const struct key *key = it.value;
        const struct quota *other = &key->caller->by.quota;
        if (!key->was_good || !*key->caller->tenant || strcmp(key->caller->tenant, tenant) != 0)
            continue;
        for (int kind = 0; kind < QUOTA_KINDS; kind++) {
            bool is_set = q->set & 1u << kind;
            if (!(other->set & 1u << kind) || (is_set && q->max[kind] <= other->max[kind]))
                continue;
            q->max[kind] = other->max[kind];
            q->set |= 1u << kind;
        }
    }
}

/* A tenant's quota binds its guests as it binds its tokens. */
static void bound_guest(const struct keyring *k, struct key *guest)
{
    guest->caller->by.quota = guest->quota;
    keyring_quota(k, guest->caller->tenant, &guest->caller->by.quota);
}

static void take_file(struct keyring *k, struct token_file *f)
{
    struct map *before = k->by_id;
    bool was_open = before && asks_nothing(k);
    map_free(k->by_hash);
    token_file_done(&k->file);
    k->file = *f;
    k->by_hash = map_new();
    k->by_id = map_new();
    for (size_t i = 0; i < f->n; i++) {
        const struct token_file_token *t = &f->rows[i];
        const struct key *old = before ? map_get(before, t->id) : NULL;
        struct key *key = xzalloc(sizeof(*key));
        key->caller = caller_of(t);
        key->expires = t->expires;
        key->revoked = t->revoked;
        key->last_used = old ? old->last_used : 0;
        key->was_good = is_good(key, clock_wall_ms());
        ident_hex(t->hash, sizeof(t->hash), key->hash);
        memcpy(key->caller->secret_hash, key->hash, sizeof(key->hash));
        map_set(k->by_id, t->id, key);
        map_set(k->by_hash, key->hash, key);
    }
    for (struct map_iter it = map_iter(k->guests); map_next(&it);)
        bound_guest(k, it.value);
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

/* --- guests --- */

static void guest_forget(struct keyring *k, struct key *guest)
{
    (void)map_remove(k->guests, guest->caller->id);
    share_give(k->guest_share, guest->caller->tenant, 1);
    report_ended(k, guest->caller->id);
    (void)caller_unref(guest->caller);
    free(guest);
}

static bool is_vouched_for(const struct keyring *k, const struct key *guest, int64_t now_ms)
{
    return is_good(guest, now_ms) && (!*guest->signer || oidc_has_key(k->oidc, guest->signer));
}

static void guests_sweep(struct keyring *k)
{
    int64_t now = clock_wall_ms();
    for (struct map_iter it = map_iter(k->guests); map_next(&it);)
        if (!is_vouched_for(k, it.value, now))
            guest_forget(k, it.value);
}

static void on_keys(void *arg)
{
    guests_sweep(arg);
}

/* Forgets the guest of this tenant (NULL: of all) that was unused longest. False: all have calls in progress. */
static bool guest_displace(struct keyring *k, const char *tenant)
{
    struct key *oldest = NULL;
    for (struct map_iter it = map_iter(k->guests); map_next(&it);) {
        struct key *one = it.value;
        bool is_candidate = one->caller->refs == 1 && (!tenant || strcmp(one->caller->tenant, tenant) == 0);
        if (is_candidate && (!oldest || one->last_used < oldest->last_used))
            oldest = one;
    }
    if (oldest)
        guest_forget(k, oldest);
    return oldest != NULL;
}

/* Its place in the table. */
static int guest_room(struct keyring *k, const char *tenant, struct err *err)
{
    bool has_room = map_count(k->guests) < KEYRING_GUESTS_MAX || guest_displace(k, NULL);
    if (has_room && !share_take(k->guest_share, tenant, 1))
        has_room = guest_displace(k, tenant) && share_take(k->guest_share, tenant, 1);
    return has_room ? 0
                    : err_set(err, ERR_CAPACITY, 0,
                              "too many JWTs or client certificates with calls in progress: try again");
}

struct showing { /* what a guest has shown */
    const char *prefix, *issuer;
    char digest[DIGEST_HEX];
    char id[IDENT_MAX];
};

static void name_guest(const char *prefix, const char *digest, char ret[IDENT_MAX])
{
    (void)snprintf(ret, IDENT_MAX, "%s_%.*s", prefix, IDENT_HEX, digest);
}

static struct key *guest_known(struct keyring *k, const struct showing *shown)
{
    struct key *guest = map_get(k->guests, shown->id);
    int64_t now = clock_wall_ms();
    if (!guest || strcmp(guest->hash, shown->digest) != 0 || !is_vouched_for(k, guest, now))
        return NULL;
    guest->last_used = now;
    return guest;
}

static int guest_add(struct keyring *k, const struct showing *shown, struct identity *who, struct caller **ret,
                     struct err *err)
{
    struct key *old = map_get(k->guests, shown->id);
    if (old)
        guest_forget(k, old);
    int r = guest_room(k, who->token.tenant, err);
    if (r < 0)
        return r;
    struct key *guest = xzalloc(sizeof(*guest));
    memcpy(who->token.id, shown->id, sizeof(shown->id));
    guest->caller = caller_of(&who->token);
    guest->caller->issuer = shown->issuer;
    memcpy(guest->caller->subject, who->subject, sizeof(who->subject));
    memcpy(guest->hash, shown->digest, sizeof(guest->hash));
    guest->quota = who->token.quota;
    guest->expires = who->token.expires;
    guest->last_used = clock_wall_ms();
    guest->was_good = true;
    bound_guest(k, guest);
    map_set(k->guests, shown->id, guest);
    *ret = caller_ref(guest->caller);
    return 0;
}

static struct showing show_jwt(const struct keyring *k, const char *token)
{
    struct showing shown = { .prefix = "jwt", .issuer = oidc_issuer(k->oidc) };
    digest_of(token, strlen(token), shown.digest);
    name_guest(shown.prefix, shown.digest, shown.id);
    return shown;
}

bool keyring_must_verify(struct keyring *k, const char *token)
{
    if (!k->oidc || !token || !jwt_is_one(token))
        return false;
    struct showing shown = show_jwt(k, token);
    return !guest_known(k, &shown);
}

static int check_jwt(struct keyring *k, const char *token, struct caller **ret, struct err *err)
{
    struct showing shown = show_jwt(k, token);
    struct identity who;
    char subject[DIGEST_HEX];
    struct key *guest = guest_known(k, &shown);
    if (guest) {
        *ret = caller_ref(guest->caller);
        return 0;
    }
    int r = oidc_check(k->oidc, token, clock_wall_ms(), &who, err);
    if (r == 0)
        r = guest_add(k, &shown, &who, ret, err);
    if (r < 0)
        return r;
    guest = map_get(k->guests, shown.id);
    memcpy(guest->signer, who.key, sizeof(who.key));
    digest_of(who.subject, strlen(who.subject), subject);
    name_guest("sub", subject, (*ret)->account);
    return 0;
}

int keyring_check_cert(struct keyring *k, const char *cert, struct caller **ret, struct err *err)
{
    struct showing shown = { .prefix = "crt", .issuer = "client certificate" };
    struct identity who;
    if (!k->certs)
        return keyring_check(k, NULL, ret, err);
    int r = client_cert_check(k->certs, cert, clock_wall_ms(), &who, err);
    if (r < 0)
        return r;
    memcpy(shown.digest, who.key, sizeof(who.key));
    name_guest(shown.prefix, shown.digest, shown.id);
    const struct key *guest = guest_known(k, &shown);
    if (!guest)
        return guest_add(k, &shown, &who, ret, err);
    *ret = caller_ref(guest->caller);
    return 0;
}

bool keyring_is_guarded(const struct settings *s)
{
    return *s->auth_token || oidc_is_wanted(s) || client_cert_is_wanted(s);
}

int keyring_trust(struct keyring *k, struct loop *l, const struct settings *s, struct err *err)
{
    int r = oidc_new(l, s, &k->oidc, err);
    if (r == 0)
        r = client_cert_map_new(s, &k->certs, err);
    if (r == 0 && k->oidc)
        oidc_on_keys(k->oidc, on_keys, k);
    return r;
}

void keyring_expose(struct keyring *k)
{
    k->is_exposed = true;
}

const char *keyring_problem(const struct keyring *k)
{
    return k->oidc ? oidc_problem(k->oidc, NULL) : NULL;
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
    guests_sweep(k);
}

int keyring_new(struct loop *l, const char *dir, const char *secret, struct keyring **ret, struct err *err)
{
    struct keyring *k = xzalloc(sizeof(*k));
    struct token_file none = TOKEN_FILE_INIT;
    k->guests = map_new();
    k->guest_share = share_new(KEYRING_GUESTS_MAX);
    k->dir = xstrdup(dir);
    k->secret = xstrdup(secret ? secret : "");
    k->lent = map_new();
    k->root = caller_new("env", "III_AUTH_TOKEN", TOKEN_FILE_ADMIN, "");
    if (*k->secret) {
        unsigned char hash[TOKEN_FILE_HASH];
        token_file_hash(k->secret, hash);
        ident_hex(hash, sizeof(hash), k->root->secret_hash);
    }
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
    free_keys(k->guests);
    (void)share_free(k->guest_share);
    (void)oidc_free(k->oidc);
    (void)client_cert_map_free(k->certs);
    map_free(k->by_hash);
    for (struct map_iter it = map_iter(k->lent); map_next(&it);)
        (void)caller_unref(it.value);
    map_free(k->lent);
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
    return asks_nothing(k);
}

/* --- lending --- */

#define LENT_PREFIX "lent_"

static void hex_of(const char *secret, char hex[HEX_MAX])
{
    unsigned char digest[TOKEN_FILE_HASH];
    token_file_hash(secret, digest);
    ident_hex(digest, sizeof(digest), hex);
}

struct caller *keyring_lend(struct keyring *k, const char *token_id, const char *sandbox, char secret[KEYRING_LENT_MAX])
{
    unsigned char bytes[TOKEN_FILE_HASH];
    char hex[HEX_MAX];
    CLEANUP(caller_unref_p) struct caller *as = keyring_by_id(k, token_id);
    if (!as || (*as->sandbox && strcmp(as->sandbox, sandbox) != 0))
        return NULL;
    struct caller *c = caller_new(as->id, as->name, as->role, as->tenant);
    c->by.quota = as->by.quota;
    memcpy(c->operations, as->operations, sizeof(c->operations));
    memcpy(c->account, as->account, sizeof(c->account));
    (void)snprintf(c->sandbox, sizeof(c->sandbox), "%s", sandbox);
    c->by.sandbox = c->sandbox;
    ident_random(bytes, sizeof(bytes));
    memcpy(secret, LENT_PREFIX, sizeof(LENT_PREFIX));
    ident_hex(bytes, sizeof(bytes), secret + strlen(LENT_PREFIX));
    explicit_bzero(bytes, sizeof(bytes));
    hex_of(secret, hex);
    map_set(k->lent, hex, c);
    return caller_ref(c);
}

void keyring_return(struct keyring *k, const char *secret)
{
    char hex[HEX_MAX];
    if (!*secret)
        return;
    hex_of(secret, hex);
    (void)caller_unref(map_remove(k->lent, hex));
}

static struct caller *find_lent(struct keyring *k, const char *token)
{
    char hex[HEX_MAX];
    if (!token || strncmp(token, LENT_PREFIX, strlen(LENT_PREFIX)) != 0)
        return NULL;
    hex_of(token, hex);
    struct caller *c = map_get(k->lent, hex);
    CLEANUP(caller_unref_p) struct caller *as = c ? keyring_by_id(k, c->id) : NULL;
    return as ? c : NULL;
}

int keyring_check(struct keyring *k, const char *token, struct caller **ret, struct err *err)
{
    struct caller *lent = find_lent(k, token);
    if (lent) {
        *ret = caller_ref(lent);
        return 0;
    }
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
    if (!key && k->oidc && jwt_is_one(token))
        return check_jwt(k, token, ret, err);
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
    struct key *guest = map_get(k->guests, id);
    if (guest && is_vouched_for(k, guest, clock_wall_ms())) {
        guest->last_used = clock_wall_ms();
        return caller_ref(guest->caller);
    }
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
