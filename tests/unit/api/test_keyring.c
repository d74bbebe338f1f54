/* Tokens whose end is a date: what the wall clock says counts, however far away the date is. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/keyring.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"
#include "tap.h"

#define HOUR_MS 3600000LL

static char folder[] = "/tmp/test_keyring.XXXXXX";

/* As if it had been made at another time: a date in the past cannot be asked for. */
static void set_expiry(int64_t at_ms)
{
    CLEANUP(free_p) char *path = xasprintf("%s/tokens.json", folder);
    JSON_OWNED doc = json_load_file(path, 0, NULL);
    json_t *row = json_array_get(json_object_get(doc, "tokens"), 0);
    CHECK(row && json_object_set_new(row, "expires", json_integer(at_ms)) == 0);
    CHECK(json_dump_file(doc, path, JSON_COMPACT) == 0);
}

static bool is_good_until(struct loop *l, const char *secret, const char *id, int64_t at_ms)
{
    struct keyring *k = NULL;
    struct err err = ERR_INIT;
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    set_expiry(at_ms);
    CHECK_INT(keyring_new(l, folder, "", &k, &err), 0);
    bool is_good = keyring_check(k, secret, &who, &err) == 0;
    CHECK(is_good || err.code == ERR_FORBIDDEN);
    CLEANUP(caller_unref_p) struct caller *by_id = keyring_by_id(k, id);
    CHECK(is_good == (by_id != NULL));
    keyring_free(k);
    return is_good;
}

TEST(a_date_is_past_or_to_come)
{
    char secret[TOKEN_FILE_SECRET_MAX];
    struct loop *l = NULL;
    struct err err = ERR_INIT;
    struct token_file_token t = { 0 };
    int64_t now = clock_wall_ms();
    struct token_file_wish wish = { .name = "a", .tenant = "t", .expires = now + HOUR_MS };
    CHECK_INT(loop_new(&l, &err), 0);
    CHECK_INT(token_file_create(folder, &wish, &t, secret, &err), 0);
    CHECK(is_good_until(l, secret, t.id, now + HOUR_MS));
    CHECK(is_good_until(l, secret, t.id, now + 10 * 365 * 24 * HOUR_MS));
    CHECK(!is_good_until(l, secret, t.id, now)); /* over since this moment */
    CHECK(!is_good_until(l, secret, t.id, now - HOUR_MS));
    CHECK(!is_good_until(l, secret, t.id, 1));            /* 1970 */
    CHECK(is_good_until(l, secret, t.id, now + HOUR_MS)); /* a clock that was ahead and is right again */
    loop_free(l);
}

static void remove_tokens(void)
{
    CLEANUP(free_p) char *path = xasprintf("%s/tokens.json", folder);
    (void)unlink(path);
}

static struct caller *caller_with(const struct token_file_wish *wish)
{
    char secret[TOKEN_FILE_SECRET_MAX];
    struct token_file_token t = { 0 };
    struct keyring *k = NULL;
    struct caller *who = NULL;
    remove_tokens();
    CHECK_INT(token_file_create(folder, wish, &t, secret, NULL), 0);
    CHECK_INT(keyring_new(NULL, folder, "", &k, NULL), 0);
    CHECK_INT(keyring_check(k, secret, &who, NULL), 0);
    keyring_free(k);
    return who;
}

TEST(a_caller_owns_what_it_makes_and_sees_its_tenant)
{
    CLEANUP(caller_unref_p)
    struct caller *user = caller_with(&(struct token_file_wish){ .name = "u", .tenant = "x", .role = "user" });
    CHECK_STR(user->by.tenant, "x");
    CHECK_STR(user->by.view, "x");
    CLEANUP(caller_unref_p)
    struct caller *admin = caller_with(&(struct token_file_wish){ .name = "a", .tenant = "x", .role = "admin" });
    CHECK_STR(admin->by.tenant, "x"); /* what an admin makes may be somebody's; it sees all */
    CHECK(admin->by.view == NULL);
    CLEANUP(caller_unref_p)
    struct caller *watcher =
        caller_with(&(struct token_file_wish){ .name = "w", .tenant = TOKEN_FILE_ALL, .role = "read-only" });
    CHECK_STR(watcher->by.tenant, "");
    CHECK(watcher->by.view == NULL);
}

static char ended[400];

static void on_ended(void *arg, const char *token_id)
{
    size_t n = strlen(ended);
    (void)snprintf(ended + n, sizeof(ended) - n, "%s ", *token_id ? token_id : "anyone");
}

/* Who is told to be at an end when the file is read again. */
static const char *told(struct keyring *k)
{
    *ended = '\0';
    keyring_reload(k);
    return ended;
}

TEST(those_whose_token_ended_are_told_once)
{
    char secret[TOKEN_FILE_SECRET_MAX], want[IDENT_MAX + 2];
    struct token_file_token a = { 0 }, b = { 0 };
    struct keyring *k = NULL;
    struct token_file_wish wish = { .name = "a", .tenant = "t", .role = "user" };
    remove_tokens();
    CHECK_INT(keyring_new(NULL, folder, "", &k, NULL), 0);
    keyring_on_ended(k, on_ended, NULL);
    CHECK(keyring_is_open(k));
    CHECK_INT(token_file_create(folder, &wish, &a, secret, NULL), 0);
    CHECK_STR(told(k), "anyone "); /* from the first token on everyone needs one */
    CHECK(!keyring_is_open(k));
    wish.name = "b";
    CHECK_INT(token_file_create(folder, &wish, &b, secret, NULL), 0);
    CHECK_STR(told(k), "");
    CHECK_INT(token_file_rotate(folder, a.id, &a, secret, NULL), 0);
    (void)snprintf(want, sizeof(want), "%s ", a.id);
    CHECK_STR(told(k), want);
    CHECK_STR(told(k), "");
    CHECK_INT(token_file_revoke(folder, a.id, &a, NULL), 0);
    CHECK_STR(told(k), want);
    CHECK_STR(told(k), ""); /* it was not good before */
    remove_tokens();
    (void)snprintf(want, sizeof(want), "%s ", b.id);
    CHECK_STR(told(k), want); /* its row is gone */
    keyring_free(k);
}

TEST(without_a_file_the_secret_alone_counts)
{
    struct keyring *k = NULL;
    struct err err = ERR_INIT;
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    CHECK_INT(keyring_new(NULL, NULL, "s3cret", &k, NULL), 0);
    CHECK(!keyring_is_open(k));
    CHECK(keyring_check(k, "wrong", &who, &err) < 0 && err.code == ERR_FORBIDDEN);
    CHECK(keyring_check(k, NULL, &who, &err) < 0 && err.code == ERR_UNAUTHORIZED);
    CHECK_INT(keyring_check(k, "s3cret", &who, &err), 0);
    CHECK(who && who->role == TOKEN_FILE_ADMIN && keyring_by_id(k, "tok_none") == NULL);
    CHECK_INT(keyring_tokens(k)->n, 0);
    keyring_free(k);
}

/* A certificate as the TLS listener describes it; number makes it another one. */
static struct caller *call_with_cert(struct keyring *k, int number, const char *tenant, int64_t until_ms)
{
    struct caller *who = NULL;
    struct err err = ERR_INIT;
    CLEANUP(free_p)
    char *text =
        xasprintf("%lld %08x%056d\nsubject:CN=%s\nCN:%s\n", (long long)until_ms, (unsigned)number, 0, tenant, tenant);
    if (keyring_check_cert(k, text, &who, &err) < 0)
        CHECK(err.code == ERR_FORBIDDEN || err.code == ERR_CAPACITY);
    return who;
}

static char guest_ca[] = "ca.pem", guest_map[] = "{\"CN:*\":{\"role\":\"user\",\"tenant\":\"$CN\"}}";

TEST(guests_are_bounded_by_tenant)
{
    struct settings s;
    struct keyring *k = NULL;
    struct err err = ERR_INIT;
    int64_t until = clock_wall_ms() + HOUR_MS;
    remove_tokens();
    settings_init(&s);
    char *ca = s.tls_client_ca, *map = s.tls_client_map;
    s.tls_client_ca = guest_ca;
    s.tls_client_map = guest_map;
    CHECK_INT(keyring_new(NULL, folder, "", &k, &err), 0);
    CHECK(keyring_is_open(k));
    CHECK_INT(keyring_trust(k, NULL, &s, &err), 0);
    CHECK(!keyring_is_open(k) && keyring_is_guarded(&s));
    keyring_on_ended(k, on_ended, NULL);
    CHECK(!call_with_cert(k, 1, "late", clock_wall_ms() - 1));
    CLEANUP(caller_unref_p) struct caller *quiet = call_with_cert(k, 1, "quiet", until);
    CHECK(quiet && strcmp(quiet->tenant, "quiet") == 0 && strcmp(quiet->subject, "CN=quiet") == 0 && quiet->issuer);
    *ended = '\0';
    for (int i = 0; i < KEYRING_GUESTS_MAX / 4; i++)
        (void)caller_unref(call_with_cert(k, 100 + i, "loud", until));
    CHECK_STR(ended, "");
    CLEANUP(caller_unref_p) struct caller *more = call_with_cert(k, 99, "loud", until);
    CHECK(more && strncmp(ended, "crt_", 4) == 0); /* one of its own was forgotten, and closed */
    CLEANUP(caller_unref_p) struct caller *again = keyring_by_id(k, quiet->id);
    CHECK(again == quiet);
    CLEANUP(caller_unref_p) struct caller *same = call_with_cert(k, 1, "quiet", until);
    CHECK(same == quiet);
    s.tls_client_ca = ca;
    s.tls_client_map = map;
    keyring_free(k);
    settings_done(&s);
}

TEST(guests_with_calls_in_progress_are_not_forgotten)
{
    static struct caller *held[KEYRING_GUESTS_MAX / 4];
    struct settings s;
    struct keyring *k = NULL;
    int64_t until = clock_wall_ms() + HOUR_MS;
    settings_init(&s);
    char *ca = s.tls_client_ca, *map = s.tls_client_map;
    s.tls_client_ca = guest_ca;
    s.tls_client_map = guest_map;
    CHECK_INT(keyring_new(NULL, folder, "", &k, NULL), 0);
    CHECK_INT(keyring_trust(k, NULL, &s, NULL), 0);
    for (int i = 0; i < KEYRING_GUESTS_MAX / 4; i++)
        held[i] = call_with_cert(k, 1 + i, "busy", until);
    CHECK(!call_with_cert(k, 0, "busy", until)); /* ERR_CAPACITY */
    CLEANUP(caller_unref_p) struct caller *other = call_with_cert(k, 5000, "other", until);
    CHECK(other != NULL);
    for (int i = 0; i < KEYRING_GUESTS_MAX / 4; i++)
        (void)caller_unref(held[i]);
    s.tls_client_ca = ca;
    s.tls_client_map = map;
    keyring_free(k);
    settings_done(&s);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    RUN(a_date_is_past_or_to_come);
    RUN(a_caller_owns_what_it_makes_and_sees_its_tenant);
    RUN(those_whose_token_ended_are_told_once);
    RUN(without_a_file_the_secret_alone_counts);
    RUN(guests_are_bounded_by_tenant);
    RUN(guests_with_calls_in_progress_are_not_forgotten);
    CLEANUP(free_p) char *file = xasprintf("%s/tokens.json", folder);
    CLEANUP(free_p) char *lock = xasprintf("%s/tokens.lock", folder);
    (void)unlink(file);
    (void)unlink(lock);
    CHECK_INT(rmdir(folder), 0);
    return tap_done();
}
