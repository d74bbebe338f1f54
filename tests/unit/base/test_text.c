/* UTF-8, base64, JSON readers and string lists. */
#include <errno.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/strlist.h"
#include "base/utf8.h"
#include "tap.h"

TEST(utf8_takes_what_is_valid_and_nothing_else)
{
    CHECK(utf8_is_valid("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 10));
    static const char *const bad[] = { "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80", "\xe2\x82", "\xff" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(!utf8_is_valid(bad[i], strlen(bad[i])));
}

TEST(utf8_repair_replaces_each_bad_byte)
{
    struct buf b = BUF_INIT(100);
    CHECK_INT(utf8_repair("a\xff\xe2\x82z", 5, &b), 0);
    CHECK_STR(buf_text(&b), "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz");
    buf_done(&b);
}

TEST(utf8_whole_never_cuts_a_letter)
{
    CHECK_INT(utf8_whole("ab", 2), 2);
    CHECK_INT(utf8_whole("a\xe2\x82", 3), 1);
    CHECK_INT(utf8_whole("a\xe2\x82\xac", 4), 4);
    CHECK_INT(utf8_whole("a\xf0\x9f\x98", 4), 1);
    CHECK_INT(utf8_whole("\x80\x80\x80\x80", 4), 4);
    CHECK_INT(utf8_whole("", 0), 0);
}

TEST(base64_round_trips_and_refuses_what_no_encoder_makes)
{
    static const char *const plain[] = { "", "f", "fo", "foo", "foob", "fooba", "foobar" };
    static const char *const coded[] = { "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy" };
    for (size_t i = 0; i < 7; i++) {
        char out[16];
        struct buf b = BUF_INIT(100);
        base64_encode(plain[i], strlen(plain[i]), out);
        CHECK_STR(out, coded[i]);
        CHECK_INT(base64_decode(coded[i], strlen(coded[i]), &b), 0);
        CHECK_STR(buf_text(&b), plain[i]);
        buf_done(&b);
    }
    static const char *const bad[] = { "Z", "Zg=", "Zg=a", "Z===", "Zh==", "Zm9=", "Zm8=Zm8=", "Zm 9", "====" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct buf b = BUF_INIT(100);
        CHECK_INT(base64_decode(bad[i], strlen(bad[i]), &b), -EINVAL);
        buf_done(&b);
    }
}

TEST(json_read_says_where_it_is_wrong)
{
    struct err err = ERR_INIT;
    json_t *j = NULL;
    CHECK_INT(json_read("{\"a\":\n 1,}", 10, &j, &err), -EINVAL);
    CHECK(strstr(err.msg, "line 2") != NULL);
    CHECK_INT(json_read("{}x", 3, &j, &err), -EINVAL);
    CHECK_INT(json_read("{\"a\":1,\"a\":2}", 13, &j, &err), -EINVAL);
    CHECK(j == NULL);
}

TEST(json_readers_take_null_as_absent)
{
    JSON_OWNED j = NULL;
    const char *text = "{\"n\":null,\"i\":3,\"f\":4.0,\"g\":4.5,\"s\":\"x\",\"b\":true}";
    CHECK_INT(json_read(text, strlen(text), &j, NULL), 0);
    CHECK(json_get(j, "n") == NULL);
    CHECK_INT(json_get_int(j, "i", 0), 3);
    CHECK_INT(json_get_int(j, "f", 0), 4);
    CHECK_INT(json_get_int(j, "g", 9), 9);
    CHECK_INT(json_get_int(j, "s", 9), 9);
    CHECK_STR(json_get_str(j, "s", ""), "x");
    CHECK_STR(json_get_str(j, "n", "none"), "none");
    CHECK(json_get_bool(j, "b", false));
}

TEST(json_text_takes_any_bytes)
{
    JSON_OWNED j = json_text("a\xff", 2);
    CHECK_STR(json_string_value(j), "a\xef\xbf\xbd");
    JSON_OWNED k = json_text("a\0b", 3);
    CHECK_INT(json_string_length(k), 3);
}

TEST(strlist_keeps_an_environment)
{
    char **env = NULL;
    strlist_env_set(&env, "A", "1");
    strlist_env_set(&env, "B", "2");
    strlist_env_set(&env, "A", "3");
    CHECK_INT(strlist_count(env), 2);
    CHECK_STR(strlist_env_get(env, "A"), "3");
    strlist_env_unset(env, "A");
    CHECK(strlist_env_get(env, "A") == NULL);
    CHECK_STR(env[0], "B=2");
    strlist_free(env);
}

TEST(base64_of_urls_has_its_own_letters_and_no_padding)
{
    static const char *const good[] = { "", "Zg", "Zm8", "Zm9v", "-_-_" };
    static const char *const bad[] = { "Z", "Zg==", "Zm8=", "+/+/", "Zm9", "Zh", "Zm 9", "Zm9v=" };
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        CLEANUP(buf_done) struct buf b = BUF_INIT(100);
        CHECK_INT(base64_decode_url(good[i], strlen(good[i]), &b), 0);
        CHECK_INT((int)b.len, (int)(strlen(good[i]) * 3 / 4));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CLEANUP(buf_done) struct buf b = BUF_INIT(100);
        CHECK_INT(base64_decode_url(bad[i], strlen(bad[i]), &b), -EINVAL);
    }
}

int main(void)
{
    RUN(utf8_takes_what_is_valid_and_nothing_else);
    RUN(utf8_repair_replaces_each_bad_byte);
    RUN(utf8_whole_never_cuts_a_letter);
    RUN(base64_round_trips_and_refuses_what_no_encoder_makes);
    RUN(base64_of_urls_has_its_own_letters_and_no_padding);
    RUN(json_read_says_where_it_is_wrong);
    RUN(json_readers_take_null_as_absent);
    RUN(json_text_takes_any_bytes);
    RUN(strlist_keeps_an_environment);
    return tap_done();
}
