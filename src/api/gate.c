#include "api/gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/bucket.h"
#include "base/alloc.h"
#include "base/digest.h"
#include "base/ident.h"
#include "base/map.h"

/* Buckets of one kind by key. */
struct book {
    struct map *buckets;
    uint32_t per_minute, burst;
};

struct gate {
    const struct settings *settings;
    struct keyring *keys;
    struct book tokens, execs, files;
    struct book verifies; /* by address */
    struct book quotas;   /* by "account/limit": a changed limit starts a new bucket */
};

static void book_init(struct book *b, int64_t per_minute, int64_t burst)
{
    b->buckets = map_new();
    b->per_minute = (uint32_t)per_minute; /* the settings' range is 1 to 1,000,000 */
    b->burst = (uint32_t)burst;
}

static void book_sweep(struct book *b, uint64_t now_us, uint64_t idle_us)
{
    for (struct map_iter it = map_iter(b->buckets); map_next(&it);) {
        struct bucket *one = it.value;
        if (now_us - bucket_last_us(one) >= idle_us) {
            (void)map_remove(b->buckets, it.key);
            (void)bucket_free(one);
        }
    }
}

static void book_done(struct book *b)
{
    book_sweep(b, UINT64_MAX, 0);
    b->buckets = map_free(b->buckets);
}

/* 0: taken; 1: *ret_wait_s says how long to wait. */
static int book_try(struct book *b, const char *key, uint64_t now_us, unsigned *ret_wait_s, struct err *err)
{
    struct bucket *one = map_get(b->buckets, key);
    if (!one) {
        int r = bucket_new(b->per_minute, b->burst, &one, err);
        if (r < 0)
            return r;
        struct map_iter oldest = map_iter(b->buckets);
        if (map_count(b->buckets) >= GATE_BUCKETS_MAX && map_next(&oldest))
            (void)bucket_free(map_remove(b->buckets, oldest.key));
        map_set(b->buckets, key, one);
    }
    if (bucket_take(one, now_us))
        return 0;
    *ret_wait_s = (unsigned)((bucket_wait_us(one) + 999999) / 1000000);
    return 1;
}

static int book_take(struct book *b, const char *key, uint64_t now_us, unsigned *ret_wait_s, struct err *err)
{
    int r = book_try(b, key, now_us, ret_wait_s, err);
    if (r <= 0)
        return r;
    return err_set(err, ERR_RATE_LIMITED, 0, "Rate limit exceeded");
}

struct gate *gate_new(const struct settings *s, struct keyring *k)
{
    struct gate *g = xzalloc(sizeof(*g));
    g->settings = s;
    g->keys = k;
    book_init(&g->quotas, 1, 1); /* each bucket has rates of its own */
    book_init(&g->verifies, GATE_VERIFIES_PM, GATE_VERIFIES_BURST);
    book_init(&g->tokens, s->rate_token_rpm, s->rate_token_burst);
    book_init(&g->execs, s->rate_exec_pm, s->rate_exec_pm);
    book_init(&g->files, s->rate_fs_pm, s->rate_fs_pm);
    return g;
}

struct gate *gate_free(struct gate *g)
{
    if (g) {
        book_done(&g->tokens);
        book_done(&g->execs);
        book_done(&g->files);
        book_done(&g->quotas);
        book_done(&g->verifies);
        free(g);
    }
    return NULL;
}

const char *gate_token(const char *authorization)
{
    bool is_bearer = authorization && strncmp(authorization, "Bearer ", 7) == 0;
    return is_bearer ? authorization + 7 : authorization;
}

int gate_auth(const struct gate *g, const char *authorization, struct caller **ret, struct err *err)
{
    struct caller *who = NULL;
    int r = keyring_check(g->keys, gate_token(authorization), &who, err);
    if (ret && who)
        *ret = STEAL(who);
    (void)caller_unref(who);
    return r;
}

int gate_verify(struct gate *g, const char *authorization, const char *peer, uint64_t now_us, unsigned *ret_wait_s,
                struct err *err)
{
    char address[64];
    const char *port = strrchr(peer, ':');
    if (!keyring_must_verify(g->keys, gate_token(authorization)))
        return 0;
    (void)snprintf(address, sizeof(address), "%.*s", (int)(port ? (size_t)(port - peer) : strlen(peer)), peer);
    int r = book_try(&g->verifies, address, now_us, ret_wait_s, err);
    if (r <= 0)
        return r;
    return err_set(err, ERR_RATE_LIMITED, 0, "JWT: too many new ones from %s, at most %d a minute; try again in %u s",
                   address, GATE_VERIFIES_PM, *ret_wait_s);
}

int gate_rate_quota(struct gate *g, const struct caller *who, uint64_t now_us, unsigned *ret_wait_s, struct err *err)
{
    char key[IDENT_MAX + 24];
    if (!(who->by.quota.set & 1u << QUOTA_REQUESTS_PER_MINUTE))
        return 0;
    uint32_t most = (uint32_t)who->by.quota.max[QUOTA_REQUESTS_PER_MINUTE];
    (void)snprintf(key, sizeof(key), "%s/%u", who->account, most);
    g->quotas.per_minute = g->quotas.burst = most;
    int r = book_try(&g->quotas, key, now_us, ret_wait_s, err);
    if (r <= 0)
        return r;
    return err_set(err, ERR_RATE_LIMITED, 0,
                   "quota requestsPerMinute exceeded: the limit is %u, all in use; try again in %u s", most,
                   *ret_wait_s);
}

int gate_rate(struct gate *g, const struct caller *who, const char *authorization, uint64_t now_us,
              unsigned *ret_wait_s, struct err *err)
{
    const char *token = gate_token(authorization);
    char key[DIGEST_HEX];
    if (!g->settings->rate_limit)
        return 0;
    if (who && *who->account)
        return book_take(&g->tokens, who->account, now_us, ret_wait_s, err);
    if (!token)
        return 0;
    digest_of(token, strlen(token), key);
    return book_take(&g->tokens, key, now_us, ret_wait_s, err);
}

int gate_rate_sandbox(struct gate *g, const struct op *op, const char *sandbox_id, uint64_t now_us,
                      unsigned *ret_wait_s, struct err *err)
{
    if (!g->settings->rate_limit || !sandbox_id)
        return 0;
    if (op->flags & OP_RATE_EXEC)
        return book_take(&g->execs, sandbox_id, now_us, ret_wait_s, err);
    if (op->flags & OP_RATE_FS)
        return book_take(&g->files, sandbox_id, now_us, ret_wait_s, err);
    return 0;
}

void gate_sweep(struct gate *g, uint64_t now_us)
{
    book_sweep(&g->tokens, now_us, GATE_IDLE_US);
    book_sweep(&g->execs, now_us, GATE_IDLE_US);
    book_sweep(&g->files, now_us, GATE_IDLE_US);
    book_sweep(&g->quotas, now_us, GATE_IDLE_US);
    book_sweep(&g->verifies, now_us, GATE_IDLE_US);
}
