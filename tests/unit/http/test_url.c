/* Percent-decoding, query strings, absolute URLs. */
#include <errno.h>

#include "http/url.h"
#include "tap.h"

TEST(segments_are_decoded_strictly)
{
    static const struct {
        const char *text;
        int result;
        const char *want;
    } cases[] = {
        { "plain", 0, "plain" },   { "", 0, "" },
        { "a%2Fb", 0, "a/b" },     { "%C3%a4", 0, "\xc3\xa4" },
        { "a+b", 0, "a+b" },       { "%", -EINVAL, NULL },
        { "%4", -EINVAL, NULL },   { "a%4", -EINVAL, NULL },
        { "%zz", -EINVAL, NULL },  { "%4g", -EINVAL, NULL },
        { "%00", -EINVAL, NULL },  { "%25", 0, "%" },
        { "%%41", -EINVAL, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = BUF_INIT(100);
        CHECK_INT(url_decode(cases[i].text, strlen(cases[i].text), &out), cases[i].result);
        if (cases[i].want)
            CHECK_STR(buf_text(&out), cases[i].want);
        buf_done(&out);
    }
    struct buf tight = BUF_INIT(3);
    CHECK_INT(url_decode("abcd", 4, &tight), -E2BIG);
    buf_done(&tight);
}

TEST(queries_are_walked_pair_by_pair)
{
    struct buf key = BUF_INIT(100), value = BUF_INIT(100);
    const char *at = "&a=b&&c&d+e=%26+x&=v&f==";
    static const char *const want[][2] = { { "a", "b" }, { "c", "" }, { "d e", "& x" }, { "", "v" }, { "f", "=" } };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        CHECK_INT(url_query_next(&at, &key, &value), 1);
        CHECK_STR(buf_text(&key), want[i][0]);
        CHECK_STR(buf_text(&value), want[i][1]);
    }
    CHECK_INT(url_query_next(&at, &key, &value), 0);
    at = "a=%x1";
    CHECK_INT(url_query_next(&at, &key, &value), -EINVAL);
    CHECK_INT(url_query_get("x=1&y=2&x=3", "x", &value), 1);
    CHECK_STR(buf_text(&value), "1");
    CHECK_INT(url_query_get("x=1&y=2", "z", &value), 0);
    CHECK_STR(buf_text(&value), "");
    CHECK_INT(url_query_get("", "z", &value), 0);
    CHECK_INT(url_query_get("y=%", "z", &value), -EINVAL);
    buf_done(&key);
    buf_done(&value);
}

TEST(absolute_urls_are_split)
{
    struct url u;
    CHECK_INT(url_parse("http://127.0.0.1:8080/a?b", "http", 80, &u), 0);
    CHECK_STR(u.host, "127.0.0.1");
    CHECK_INT(u.port, 8080);
    CHECK_STR(u.path, "/a?b");
    CHECK_INT(url_parse("ws://host", "ws", 80, &u), 0);
    CHECK_INT(u.port, 80);
    CHECK_STR(u.path, "/");
    CHECK_INT(url_parse("HTTP://[::1]:9/", "http", 80, &u), 0);
    CHECK_STR(u.host, "::1");
    CHECK_INT(u.port, 9);
    static const char *const bad[] = { "https://a/",   "http:/a",       "http://",          "http://:1/",
                                       "http://a:/",   "http://a:0/",   "http://a:65536/",  "http://a:1x/",
                                       "http://[::1/", "http://u@a/",   "http://a/#f",      "http://a/ b",
                                       "http://a?b",   "http://[::1]x", "http://a:123456/", "" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_INT(url_parse(bad[i], "http", 80, &u), -EINVAL);
}

TEST(either_scheme_is_taken)
{
    struct url u = { 0 };
    CHECK_INT(url_parse_either("ws://h", "ws", &u), 0);
    CHECK_INT(u.port, 80);
    CHECK(!u.is_secure);
    CHECK_INT(url_parse_either("wss://h/x", "ws", &u), 0);
    CHECK_INT(u.port, 443);
    CHECK(u.is_secure);
    CHECK_STR(u.path, "/x");
    CHECK_INT(url_parse_either("HTTPS://[::1]:7", "http", &u), 0);
    CHECK_INT(u.port, 7);
    CHECK_STR(u.host, "::1");
    CHECK_INT(url_parse_either("wss://h", "http", &u), -EINVAL);
    CHECK_INT(url_parse_either("wsss://h", "ws", &u), -EINVAL);
    CHECK_INT(url_parse_either("wss://", "ws", &u), -EINVAL);
}

int main(void)
{
    RUN(segments_are_decoded_strictly);
    RUN(queries_are_walked_pair_by_pair);
    RUN(absolute_urls_are_split);
    RUN(either_scheme_is_taken);
    return tap_done();
}
