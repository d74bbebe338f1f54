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

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    RUN(a_date_is_past_or_to_come);
    CLEANUP(free_p) char *file = xasprintf("%s/tokens.json", folder);
    CLEANUP(free_p) char *lock = xasprintf("%s/tokens.lock", folder);
    (void)unlink(file);
    (void)unlink(lock);
    CHECK_INT(rmdir(folder), 0);
    return tap_done();
}
