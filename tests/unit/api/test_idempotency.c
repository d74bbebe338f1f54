/* Keys, claims, waiting, age and bounds of repeated requests, with a store and a clock of the test's own. */
#include <errno.h>
#include <unistd.h>

#include "api/idempotency.h"
#include "base/alloc.h"
#include "tap.h"

struct rig {
    struct store *store;
    struct idempotency *book;
    char path[64];
};

struct seen {
    int n, status;
    json_t *body;
};

static void on_answer(void *arg, int status, json_t *body)
{
    struct seen *s = arg;
    s->n++;
    s->status = status;
    json_decref(s->body);
    s->body = json_incref(body);
}

static void rig_open(struct rig *r, int64_t keep)
{
    struct err err = ERR_INIT;
    (void)snprintf(r->path, sizeof(r->path), "/tmp/test_idempotency.%d.db", (int)getpid());
    (void)unlink(r->path);
    if (store_open(r->path, &r->store, &err) < 0) {
        printf("Bail out! %s\n", err.msg);
        exit(1);
    }
    r->book = idempotency_new(r->store, keep);
}

static void rig_close(struct rig *r)
{
    static const char *const ends[] = { "", "-wal", "-shm" };
    idempotency_free(r->book);
    store_close(r->store);
    for (size_t i = 0; i < 3; i++) {
        CLEANUP(free_p) char *path = xasprintf("%s%s", r->path, ends[i]);
        (void)unlink(path);
    }
}

static int ask_of(struct rig *r, const char *tenant, const char *key, int number, int64_t now_ms, struct seen *s,
                  struct idempotency_claim **ret)
{
    JSON_OWNED params = json_pack("{s:i, s:s}", "b", number, "a", "x");
    struct idempotency_request rq = {
        .tenant = tenant, .key = key, .function = "f", .params = params, .now_ms = now_ms, .fn = on_answer, .arg = s
    };
    return idempotency_begin(r->book, &rq, ret, NULL);
}

static int ask(struct rig *r, const char *key, int number, int64_t now_ms, struct seen *s,
               struct idempotency_claim **ret)
{
    return ask_of(r, "", key, number, now_ms, s, ret);
}

static void settle(struct idempotency_claim *c, int status, int answer, int64_t now_ms)
{
    JSON_OWNED body = json_pack("{s:i}", "v", answer);
    idempotency_settle(c, status, body, now_ms);
}

TEST(the_first_runs_and_the_rest_hear_of_it)
{
    struct rig r;
    struct seen s = { 0 }, waiting = { 0 }, left = { 0 };
    struct idempotency_claim *c = NULL, *none = NULL;
    rig_open(&r, 10);
    CHECK_INT(ask(&r, "k", 1, 1000, &s, &c), 0);
    CHECK(c != NULL);
    CHECK_INT(ask(&r, "k", 2, 1000, &s, &none), -EEXIST);
    CHECK_INT(ask(&r, "k", 1, 1000, &waiting, &none), 0);
    CHECK_INT(ask(&r, "k", 1, 1000, &left, &none), 0);
    CHECK(none == NULL && waiting.n == 0);
    idempotency_leave(r.book, &left);
    settle(c, 200, 7, 1000);
    CHECK_INT(waiting.n, 1);
    CHECK_INT(left.n, 0);
    CHECK_INT(json_get_int(waiting.body, "v", 0), 7);
    CHECK_INT(ask(&r, "k", 1, 2000, &s, &none), 0);
    CHECK(none == NULL && s.n == 1 && s.status == 200);
    CHECK_INT(ask(&r, "k", 2, 2000, &s, &none), -EEXIST);
    json_decref(s.body);
    json_decref(waiting.body);
    rig_close(&r);
}

TEST(after_a_day_a_key_is_new)
{
    struct rig r;
    struct seen s = { 0 };
    struct idempotency_claim *c = NULL;
    rig_open(&r, 10);
    CHECK_INT(ask(&r, "k", 1, 1000, &s, &c), 0);
    settle(c, 200, 1, 1000);
    CHECK_INT(ask(&r, "k", 1, 999 + IDEMPOTENCY_AGE_MS, &s, &c), 0);
    CHECK(c == NULL && s.n == 1);
    CHECK_INT(ask(&r, "k", 2, 1000 + IDEMPOTENCY_AGE_MS, &s, &c), 0);
    CHECK(c != NULL);
    settle(c, 200, 2, 1000 + IDEMPOTENCY_AGE_MS);
    idempotency_sweep(r.book, 2000);
    CHECK_INT(store_count(r.store, "idempotency"), 1);
    idempotency_sweep(r.book, 1000 + 2 * IDEMPOTENCY_AGE_MS);
    CHECK_INT(store_count(r.store, "idempotency"), 0);
    json_decref(s.body);
    rig_close(&r);
}

TEST(a_clock_that_was_set_keeps_no_key_for_ever)
{
    struct rig r;
    struct seen s = { 0 };
    struct idempotency_claim *c = NULL;
    int64_t ahead = 1000 + 365LL * IDEMPOTENCY_AGE_MS;
    rig_open(&r, 10);
    CHECK_INT(ask(&r, "far", 1, ahead, &s, &c), 0); /* while the clock was a year ahead */
    settle(c, 200, 1, ahead);
    CHECK_INT(ask(&r, "near", 1, IDEMPOTENCY_AGE_MS, &s, &c), 0);
    settle(c, 200, 2, IDEMPOTENCY_AGE_MS);
    CHECK_INT(ask(&r, "near", 1, 1000, &s, &c), 0); /* set back by less than a day: the same request is still known */
    CHECK(c == NULL && s.n == 1);
    CHECK_INT(ask(&r, "far", 2, 1000, &s, &c), 0); /* set back by a year: a key like any other */
    CHECK(c != NULL);
    settle(c, 503, 3, 1000);
    idempotency_sweep(r.book, 1000);
    CHECK_INT(store_count(r.store, "idempotency"), 1); /* the far one is no longer in the way of the others */
    idempotency_sweep(r.book, 2 * IDEMPOTENCY_AGE_MS);
    CHECK_INT(store_count(r.store, "idempotency"), 0);
    CHECK_INT(ask(&r, "damaged", 1, INT64_MAX, &s, &c), 0);
    settle(c, 200, 4, INT64_MAX);
    idempotency_sweep(r.book, 0);
    CHECK_INT(store_count(r.store, "idempotency"), 0);
    json_decref(s.body);
    rig_close(&r);
}

TEST(failures_free_the_key_and_timeouts_keep_it)
{
    struct rig r;
    struct seen s = { 0 };
    struct idempotency_claim *c = NULL;
    rig_open(&r, 10);
    CHECK_INT(ask(&r, "k", 1, 1000, &s, &c), 0);
    settle(c, 503, 1, 1000);
    CHECK_INT(ask(&r, "k", 2, 1000, &s, &c), 0); /* even another request may use it */
    CHECK(c != NULL);
    settle(c, 504, 2, 1000);
    CHECK_INT(ask(&r, "k", 2, 1000, &s, &c), 0);
    CHECK(c == NULL && s.status == 504);
    json_decref(s.body);
    rig_close(&r);
}

TEST(what_is_kept_is_bounded)
{
    struct rig r;
    struct seen s = { 0 };
    struct idempotency_claim *c = NULL;
    rig_open(&r, 4);
    for (int i = 0; i < 3; i++) {
        CLEANUP(free_p) char *key = xasprintf("k%d", i);
        CHECK_INT(ask(&r, key, 1, 1000, &s, &c), 0);
        settle(c, 200, i, 1000);
    }
    CLEANUP(free_p) char *big = xzalloc(IDEMPOTENCY_ANSWER_MAX + 1);
    memset(big, 'x', IDEMPOTENCY_ANSWER_MAX);
    JSON_OWNED body = json_string(big);
    CHECK_INT(ask(&r, "big", 1, 1000, &s, &c), 0);
    CHECK_INT(ask(&r, "more", 1, 1000, &s, &(struct idempotency_claim *){ NULL }), -EBUSY); /* one runs */
    idempotency_settle(c, 200, body, 1000);
    CHECK_INT(ask(&r, "big", 1, 1000, &s, &c), -EEXIST);
    CHECK_INT(s.n, 0);
    CHECK_INT(ask(&r, "more", 1, 1000, &s, &c), -EBUSY);
    CHECK_INT(ask(&r, "k0", 1, 1000, &s, &c), 0); /* what was promised is kept */
    CHECK(!c && s.n == 1);
    CHECK_INT(ask(&r, "more", 1, 1000 + IDEMPOTENCY_AGE_MS, &s, &c), 0); /* the old ones make room */
    CHECK(c != NULL);
    settle(c, 503, 1, 1000 + IDEMPOTENCY_AGE_MS);
    CHECK_INT(store_count(r.store, "idempotency"), 0);
    json_decref(s.body);
    rig_close(&r);
}

TEST(a_tenant_takes_no_key_from_another)
{
    struct rig r;
    struct seen s = { 0 };
    struct idempotency_claim *c = NULL;
    rig_open(&r, 12);
    CHECK_INT(ask_of(&r, "quiet", "k", 1, 1000, &s, &c), 0);
    settle(c, 200, 7, 1000);
    for (int i = 0; i < 20; i++) {
        CLEANUP(free_p) char *key = xasprintf("k%d", i);
        CHECK_INT(ask_of(&r, "loud", key, 1, 1000, &s, &c), i < 3 ? 0 : -EBUSY);
        if (i < 3)
            settle(c, 200, i, 1000);
    }
    r.book = (idempotency_free(r.book), idempotency_new(r.store, 12)); /* counted again at the start */
    CHECK_INT(ask_of(&r, "loud", "k9", 1, 1000, &s, &c), -EBUSY);
    CHECK_INT(ask_of(&r, "quiet", "k", 1, 1000, &s, &c), 0);
    CHECK(!c && s.n == 1 && json_get_int(s.body, "v", 0) == 7);
    CHECK_INT(ask_of(&r, "quiet", "other", 1, 1000, &s, &c), 0);
    CHECK(c != NULL);
    settle(c, 503, 0, 1000);
    json_decref(s.body);
    rig_close(&r);
}

TEST(a_key_is_short_and_printable)
{
    struct rig r;
    struct seen s = { 0 };
    struct idempotency_claim *c = NULL;
    char longest[IDEMPOTENCY_KEY_MAX + 2];
    memset(longest, 'k', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    rig_open(&r, 3);
    CHECK_INT(ask(&r, "", 1, 1000, &s, &c), -EINVAL);
    CHECK_INT(ask(&r, "a b", 1, 1000, &s, &c), -EINVAL);
    CHECK_INT(ask(&r, "\xc5\xbc", 1, 1000, &s, &c), -EINVAL);
    CHECK_INT(ask(&r, longest, 1, 1000, &s, &c), -EINVAL);
    CHECK_INT(ask(&r, longest + 1, 1, 1000, &s, &c), 0);
    CHECK(c != NULL); /* freed with the book, though it never was settled */
    rig_close(&r);
}

int main(void)
{
    RUN(the_first_runs_and_the_rest_hear_of_it);
    RUN(after_a_day_a_key_is_new);
    RUN(a_clock_that_was_set_keeps_no_key_for_ever);
    RUN(failures_free_the_key_and_timeouts_keep_it);
    RUN(what_is_kept_is_bounded);
    RUN(a_tenant_takes_no_key_from_another);
    RUN(a_key_is_short_and_printable);
    return tap_done();
}
