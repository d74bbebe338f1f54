#include "api/idempotency.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "base/ident.h"
#include "base/log.h"
#include "base/map.h"
#include "base/share.h"
#include "base/strlist.h"

#define SCOPE      "idempotency"
#define HUGE_BYTES (8 * IDEMPOTENCY_ANSWER_MAX) /* too many to be written out just to count them */

struct waiter {
    struct waiter *next;
    void (*fn)(void *arg, int status, json_t *body);
    void *arg;
};

struct idempotency_claim {
    struct idempotency *owner;
    struct waiter *waiters;
    char key[DIGEST_HEX], request[DIGEST_HEX];
    char *tenant;
};

struct idempotency {
    struct store *store;
    int64_t keep;
    struct map *claims;         /* digest of the key -> struct idempotency_claim */
    struct share *rows, *bytes; /* of the rows and claims; of the kept bodies */
};

static const char *tenant_in(const json_t *doc)
{
    return json_get_str(doc, "tenant", "");
}

static bool count_row(void *arg, const char *key, json_t *doc)
{
    struct idempotency *i = arg;
    (void)key;
    share_add(i->rows, tenant_in(doc), 1);
    share_add(i->bytes, tenant_in(doc), (size_t)json_get_int(doc, "bytes", 0));
    return true;
}

struct idempotency *idempotency_new(struct store *store, int64_t keep)
{
    struct idempotency *i = xzalloc(sizeof(*i));
    struct err err = ERR_INIT;
    i->store = store;
    i->keep = keep;
    i->claims = map_new();
    i->rows = share_new((size_t)keep);
    i->bytes = share_new(IDEMPOTENCY_BYTES_MAX);
    if (store_each(store, SCOPE, false, count_row, i, &err) < 0)
        log_event(LOG_ERROR, "idempotency.load", "error", err.msg, NULL);
    return i;
}

static void free_claim(struct idempotency_claim *c)
{
    for (struct waiter *w = c->waiters, *next; w; w = next) {
        next = w->next;
        free(w);
    }
    free(c->tenant);
    free(c);
}

struct idempotency *idempotency_free(struct idempotency *i)
{
    if (!i)
        return NULL;
    for (struct map_iter it = map_iter(i->claims); map_next(&it);)
        free_claim(it.value);
    map_free(i->claims);
    share_free(i->rows);
    share_free(i->bytes);
    free(i);
    return NULL;
}

static int check_key(const char *key, struct err *err)
{
    size_t len = strlen(key);
    for (size_t i = 0; i < len; i++)
        if (key[i] < 0x21 || key[i] > 0x7e)
            len = 0;
    if (len > 0 && len <= IDEMPOTENCY_KEY_MAX)
        return 0;
    return err_set(err, ERR_INVALID, 0, "Idempotency-Key: expected 1 to %d printable characters without blanks",
                   IDEMPOTENCY_KEY_MAX);
}

static int refuse_other(struct err *err)
{
    return err_set(
        err, ERR_CONFLICT, 0,
        "Idempotency-Key: already used for another request within 24 hours; send a new key with a new request");
}

/* A stamp far in the future is of a clock that was set back since: without this it would be kept as long as the clock
 * was ahead. */
static bool is_old(int64_t at_ms, int64_t now_ms)
{
    return at_ms < now_ms ? now_ms - at_ms >= IDEMPOTENCY_AGE_MS : at_ms - now_ms >= IDEMPOTENCY_AGE_MS;
}

static int forget_row(struct idempotency *i, const char *key, const json_t *doc, struct err *err)
{
    int r = store_delete(i->store, SCOPE, key, err);
    if (r == 0) {
        share_give(i->rows, tenant_in(doc), 1);
        share_give(i->bytes, tenant_in(doc), (size_t)json_get_int(doc, "bytes", 0));
    }
    return r;
}

/* 1: answered from the store. 0: nothing there that counts. */
static int replay(struct idempotency *i, const char *key, const char *request, const struct idempotency_request *rq,
                  struct err *err)
{
    json_t *found = NULL;
    if (store_get(i->store, SCOPE, key, &found, NULL) < 0)
        return 0;
    JSON_OWNED doc = found;
    if (is_old(json_get_int(doc, "at", 0), rq->now_ms))
        return forget_row(i, key, doc, err);
    if (strcmp(json_get_str(doc, "request", ""), request) != 0)
        return refuse_other(err);
    json_t *body = json_object_get(doc, "body");
    if (!body)
        return err_set(
            err, ERR_CONFLICT, 0,
            "Idempotency-Key: the request was carried out; its response was not kept, because it was over %d "
            "bytes, or all responses that are kept were over %d",
            IDEMPOTENCY_ANSWER_MAX, IDEMPOTENCY_BYTES_MAX / SHARE_PARTS);
    rq->fn(rq->arg, (int)json_get_int(doc, "status", 200), body);
    return 1;
}

static bool has_room(const struct share *s, const char *tenant, size_t n)
{
    return share_has_room(s, "", n) && share_has_room(s, tenant, n);
}

/* A key that was accepted keeps its promise for a day, so at the limit a new one is refused. */
static int check_room(struct idempotency *i, const struct idempotency_request *rq, struct err *err)
{
    if (!has_room(i->rows, rq->tenant, 1))
        idempotency_sweep(i, rq->now_ms);
    if (has_room(i->rows, rq->tenant, 1))
        return 0;
    return err_set(err, ERR_CAPACITY, 0,
                   "Idempotency-Key: limit of %lld keys of the last 24 hours, or %lld of one tenant, reached: send the "
                   "request without one, or raise III_IDEMPOTENCY_KEEP",
                   (long long)i->keep, (long long)i->keep / SHARE_PARTS);
}

int idempotency_begin(struct idempotency *i, const struct idempotency_request *rq, struct idempotency_claim **ret,
                      struct err *err)
{
    char key[DIGEST_HEX], request[DIGEST_HEX];
    int r = check_key(rq->key, err);
    *ret = NULL;
    if (r < 0)
        return r;
    CLEANUP(free_p) char *params = json_dumps(rq->params, JSON_COMPACT | JSON_SORT_KEYS);
    if (!params)
        return err_set(err, ERR_INTERNAL, 0, "Idempotency-Key: the request cannot be written as JSON");
    CLEANUP(free_p) char *whole = xasprintf("%s %s", rq->function, params);
    digest_of(whole, strlen(whole), request);
    CLEANUP(free_p)
    char *scoped = xasprintf("%s%s%s", rq->key, *rq->tenant ? " " : "", rq->tenant); /* keys have no blanks */
    digest_of(scoped, strlen(scoped), key);
    struct idempotency_claim *c = map_get(i->claims, key);
    if (c) {
        if (strcmp(c->request, request) != 0)
            return refuse_other(err);
        struct waiter **last = &c->waiters;
        while (*last)
            last = &(*last)->next;
        *last = xzalloc(sizeof(**last));
        **last = (struct waiter){ .fn = rq->fn, .arg = rq->arg };
        return 0;
    }
    r = replay(i, key, request, rq, err);
    if (r == 0)
        r = check_room(i, rq, err);
    if (r != 0)
        return r < 0 ? r : 0;
    share_add(i->rows, rq->tenant, 1);
    c = xzalloc(sizeof(*c));
    c->owner = i;
    c->tenant = xstrdup(rq->tenant);
    memcpy(c->key, key, sizeof(key));
    memcpy(c->request, request, sizeof(request));
    map_set(i->claims, key, c);
    *ret = c;
    return 0;
}

void idempotency_leave(struct idempotency *i, void *arg)
{
    for (struct map_iter it = map_iter(i->claims); map_next(&it);) {
        struct idempotency_claim *c = it.value;
        for (struct waiter **at = &c->waiters; *at; at = &(*at)->next)
            if ((*at)->arg == arg) {
                struct waiter *w = *at;
                *at = w->next;
                free(w);
                return;
            }
    }
}

static int keep_answer(const struct idempotency_claim *c, int status, json_t *body, int64_t now_ms)
{
    struct err err = ERR_INIT;
    struct share *bytes = c->owner->bytes;
    size_t len = 0;
    bool is_own = true, is_huge = json_weight(body, HUGE_BYTES, &is_own) >= HUGE_BYTES;
    CLEANUP(free_p) char *text = is_huge ? NULL : json_write(body, &len);
    JSON_OWNED doc = json_pack("{s:s, s:i, s:I}", "request", c->request, "status", status, "at", (json_int_t)now_ms);
    bool has_body = text && len <= IDEMPOTENCY_ANSWER_MAX && has_room(bytes, c->tenant, len);
    if (has_body) {
        (void)json_object_set(doc, "body", body);
        (void)json_object_set_new(doc, "bytes", json_integer((json_int_t)len));
    }
    if (*c->tenant)
        (void)json_object_set_new(doc, "tenant", json_string(c->tenant));
    int r = store_put(c->owner->store, SCOPE, c->key, doc, &err);
    if (r < 0)
        log_event(LOG_ERROR, "idempotency.keep", "error", err.msg, NULL);
    else if (has_body)
        share_add(bytes, c->tenant, len);
    return r;
}

void idempotency_settle(struct idempotency_claim *c, int status, json_t *body, int64_t now_ms)
{
    bool has_acted = status == 200 || status == err_status(ERR_TIMEOUT);
    if (!has_acted || keep_answer(c, status, body, now_ms) < 0)
        share_give(c->owner->rows, c->tenant, 1);
    (void)map_remove(c->owner->claims, c->key);
    while (c->waiters) {
        struct waiter *w = c->waiters;
        c->waiters = w->next;
        w->fn(w->arg, status, body);
        free(w);
    }
    free_claim(c);
}

struct old_rows {
    int64_t now_ms;
    char **keys;
};

static bool note_old(void *arg, const char *key, json_t *doc)
{
    struct old_rows *old = arg;
    if (!is_old(json_get_int(doc, "at", 0), old->now_ms))
        return false; /* in order of time: the rest is younger */
    strlist_add(&old->keys, key);
    return true;
}

void idempotency_sweep(struct idempotency *i, int64_t now_ms)
{
    struct old_rows old = { .now_ms = now_ms };
    struct err err = ERR_INIT;
    if (store_each(i->store, SCOPE, false, note_old, &old, &err) < 0)
        log_event(LOG_ERROR, "idempotency.sweep", "error", err.msg, NULL);
    for (char **key = old.keys; key && *key; key++) {
        json_t *doc = NULL;
        if (store_get(i->store, SCOPE, *key, &doc, NULL) == 0)
            (void)forget_row(i, *key, doc, NULL); /* tried again at the next sweep */
        json_decref(doc);
    }
    strlist_free(old.keys);
}
