#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "scrapfolder.h"
#include "store/token_file.h"
#include "tap.h"

static char folder[] = "/tmp/test_tokenfile.XXXXXX";
static int count;

static char *new_dir(void)
{
    char *path = xasprintf("%s/%d", folder, ++count);
    CHECK_INT(mkdir(path, 0700), 0);
    return path;
}

static struct token_file_token make(const char *dir, const char *name, char secret[TOKEN_FILE_SECRET_MAX])
{
    struct token_file_token t = { 0 };
    struct err err = ERR_INIT;
    struct token_file_wish wish = { .name = name, .tenant = "t" };
    CHECK_INT(token_file_create(dir, &wish, &t, secret, &err), 0);
    return t;
}

TEST(a_secret_is_kept_as_its_digest)
{
    CLEANUP(free_p) char *dir = new_dir();
    char secret[TOKEN_FILE_SECRET_MAX];
    struct token_file f = TOKEN_FILE_INIT;
    struct err err = ERR_INIT;
    unsigned char hash[TOKEN_FILE_HASH];
    struct token_file_token t = make(dir, "a", secret);
    CHECK(token_file_is_secret(secret));
    token_file_hash(secret, hash);
    CHECK_INT(token_file_read(dir, &f, NULL, &err), 0);
    CHECK_INT((int)f.n, 1);
    CHECK(memcmp(f.rows[0].hash, hash, sizeof(hash)) == 0);
    CHECK(f.rows[0].role == TOKEN_FILE_USER && strcmp(f.rows[0].id, t.id) == 0);
    token_file_done(&f);
}

TEST(a_scope_is_kept_and_a_damaged_one_is_refused)
{
    static const char *const damaged[] = {
        "\"sandbox\":\"sbx_1\"",   "\"sandbox\":\"none\"",
        "\"operations\":[]",       "\"operations\":[\"a,b\"]",
        "\"operations\":[\"\"]",   "\"operations\":[1]",
        "\"operations\":\"exec\"", "\"operations\":[\"0123456789012345678901234567890123456789x\"]",
    };
    CLEANUP(free_p) char *dir = new_dir();
    char secret[TOKEN_FILE_SECRET_MAX];
    struct token_file f = TOKEN_FILE_INIT;
    struct err err = ERR_INIT;
    struct token_file_token t = { 0 };
    JSON_OWNED words = json_pack("[s, s]", "exec", "fs::read");
    struct token_file_wish wish = { .name = "a", .sandbox = "sbx_0123456789abcdef01234567", .operations = words };
    CHECK_INT(token_file_create(dir, &wish, &t, secret, &err), 0);
    CHECK_INT(token_file_read(dir, &f, NULL, &err), 0);
    CHECK_STR(f.rows[0].sandbox, wish.sandbox);
    CHECK_STR(f.rows[0].operations, "exec,fs::read");
    CHECK_STR(f.rows[0].tenant, "");
    token_file_done(&f);
    wish.role = "admin";
    CHECK_INT(token_file_create(dir, &wish, &t, secret, &err), -EINVAL);
    for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++) {
        CLEANUP(free_p)
        char *text = xasprintf(
            "{\"version\":1,\"tokens\":[{\"id\":\"tok_0123456789abcdef01234567\",\"name\":\"a\",\"role\":\"user\","
            "\"tenant\":\"t\",\"hash\":\"%064d\",\"revoked\":0,%s}]}",
            0, damaged[i]);
        CHECK_INT(token_file_parse(text, strlen(text), &f, &err), -EINVAL);
    }
}

TEST(the_stamp_tells_one_state_from_the_next)
{
    CLEANUP(free_p) char *dir = new_dir();
    char secret[TOKEN_FILE_SECRET_MAX];
    struct token_file_stamp none, one, two;
    CHECK_INT(token_file_stamp(dir, &none), 0);
    CHECK(none.inode == 0);
    struct token_file_token t = make(dir, "a", secret);
    struct err err = ERR_INIT;
    CHECK_INT(token_file_stamp(dir, &one), 0);
    CHECK_INT(token_file_revoke(dir, t.id, &t, &err), 0);
    CHECK_INT(token_file_stamp(dir, &two), 0);
    CHECK(!token_file_is_same(&none, &one) && !token_file_is_same(&one, &two) && token_file_is_same(&two, &two));
}

TEST(rotation_and_revocation)
{
    CLEANUP(free_p) char *dir = new_dir();
    char first[TOKEN_FILE_SECRET_MAX], second[TOKEN_FILE_SECRET_MAX];
    struct err err = ERR_INIT;
    struct token_file_token t = make(dir, "a", first), now;
    CHECK_INT(token_file_rotate(dir, "a", &now, second, &err), 0);
    CHECK(strcmp(first, second) != 0 && memcmp(t.hash, now.hash, sizeof(t.hash)) != 0 && strcmp(t.id, now.id) == 0);
    CHECK_INT(token_file_revoke(dir, t.id, &now, &err), 0);
    CHECK(now.revoked > 0);
    CHECK(token_file_rotate(dir, t.id, &now, second, &err) < 0 && err.code == ERR_CONFLICT);
    CHECK(token_file_revoke(dir, "none", &now, &err) < 0 && err.code == ERR_NOT_FOUND);
}

TEST(what_is_no_secret)
{
    static const char *const wrong[] = { "", "iii_", "iii", "secret", "iii_0123", "III_", NULL };
    for (size_t i = 0; wrong[i]; i++)
        CHECK(!token_file_is_secret(wrong[i]));
}

TEST(a_file_is_read_whole_or_not_at_all)
{
    static const char *const bad[] = { "",
                                       "{}",
                                       "[]",
                                       "{\"version\":2,\"tokens\":[]}",
                                       "{\"version\":1,\"tokens\":{}}",
                                       "{\"version\":1,\"tokens\":[1]}",
                                       "{\"version\":1,\"tokens\":[{\"id\":\"tok_000000000000000000000000\",\"name\":"
                                       "\"a\",\"role\":\"user\",\"hash\":\"00\"}]}",
                                       NULL };
    for (size_t i = 0; bad[i]; i++) {
        struct token_file f = TOKEN_FILE_INIT;
        struct err err = ERR_INIT;
        CHECK(token_file_parse(bad[i], strlen(bad[i]), &f, &err) < 0);
        CHECK(err.code == ERR_INVALID && !f.rows);
    }
}

TEST(quotas_are_checked_by_kind)
{
    struct quota q = { 0 };
    struct err err = ERR_INIT;
    CHECK_INT(quota_check(&q, QUOTA_VOLUMES, 1e9, 1, &err), 0);
    JSON_OWNED j = json_pack("{s:i, s:f}", "volumes", 2, "cpus", 1.5);
    CHECK_INT(quota_read(j, &q, &err), 0);
    CHECK_INT(quota_check(&q, QUOTA_VOLUMES, 1, 1, &err), 0);
    CHECK(quota_check(&q, QUOTA_VOLUMES, 2, 1, &err) < 0 && err.code == ERR_RATE_LIMITED);
    CHECK(strstr(err.msg, "volumes") && strstr(err.msg, "limit is 2"));
    CHECK(quota_check(&q, QUOTA_CPUS, 1, 1, &err) < 0);
    CHECK_INT(quota_check(&q, QUOTA_PORTS, 9, 9, &err), 0);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    RUN(a_secret_is_kept_as_its_digest);
    RUN(a_scope_is_kept_and_a_damaged_one_is_refused);
    RUN(the_stamp_tells_one_state_from_the_next);
    RUN(rotation_and_revocation);
    RUN(what_is_no_secret);
    RUN(a_file_is_read_whole_or_not_at_all);
    RUN(quotas_are_checked_by_kind);
    scrapfolder_remove(folder);
    return tap_done();
}
