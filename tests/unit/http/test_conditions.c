/* Entity tags, dates and ranges in header values. */
#include <errno.h>

#include "http/conditions.h"
#include "tap.h"

#define VERSION 0x0123456789abcdefu
#define TAG     "\"0123456789abcdef\""

TEST(a_tag_is_written_and_read_back)
{
    char text[CONDITIONS_TAG_TEXT];
    struct conditions_tags tags;
    conditions_tag(VERSION, text);
    CHECK_STR(text, TAG);
    CHECK_INT(conditions_read_tags(text, false, &tags), 0);
    CHECK(tags.is_given && !tags.is_any && conditions_has(&tags, VERSION) && !conditions_has(&tags, VERSION + 1));
    CHECK_INT(conditions_read_tags(NULL, false, &tags), 0);
    CHECK(!tags.is_given && !conditions_has(&tags, VERSION));
}

TEST(lists_of_tags_are_read_as_the_rfc_says)
{
    static const struct {
        const char *text;
        bool is_weak;
        int result;
        bool has;
    } cases[] = {
        { "*", false, 0, true },
        { " * ", false, 0, true },
        { "*, " TAG, false, -EINVAL, true },
        { "", false, 0, false },
        { " , ,, ", false, 0, false },
        { "\"a\", " TAG " ,\"b\"", false, 0, true },
        { "\"a\"," TAG, false, 0, true },
        { "W/" TAG, false, 0, false },
        { "W/" TAG, true, 0, true },
        { "w/" TAG, true, -EINVAL, false },
        { "\"\"", false, 0, false },
        { "\"0123456789ABCDEF\"", false, 0, false }, /* another tag: tags are compared as they are */
        { "\"0123456789abcde\"", false, 0, false },
        { "0123456789abcdef", false, -EINVAL, false },
        { "\"open", false, -EINVAL, false },
        { TAG TAG, false, -EINVAL, true },
        { TAG " x", false, -EINVAL, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct conditions_tags tags;
        CHECK_INT(conditions_read_tags(cases[i].text, cases[i].is_weak, &tags), cases[i].result);
        if (cases[i].result == 0)
            CHECK(conditions_has(&tags, VERSION) == cases[i].has);
    }
}

TEST(the_number_of_tags_is_bounded)
{
    char text[4 * (CONDITIONS_TAGS_MAX + 1) + 1] = "";
    struct conditions_tags tags;
    for (size_t i = 0; i < CONDITIONS_TAGS_MAX; i++)
        memcpy(text + 4 * i, "\"a\",", 5);
    CHECK_INT(conditions_read_tags(text, false, &tags), 0);
    memcpy(text + 4 * CONDITIONS_TAGS_MAX, "\"a\"", 4);
    CHECK_INT(conditions_read_tags(text, false, &tags), -E2BIG);
}

TEST(a_range_needs_the_same_version)
{
    CHECK(conditions_may_range(NULL, VERSION));
    CHECK(conditions_may_range(TAG, VERSION));
    CHECK(!conditions_may_range(TAG, VERSION + 1));
    CHECK(!conditions_may_range("W/" TAG, VERSION));
    CHECK(!conditions_may_range("Sun, 06 Nov 1994 08:49:37 GMT", VERSION));
    CHECK(!conditions_may_range(TAG " x", VERSION));
}

TEST(dates_are_those_of_http)
{
    char text[CONDITIONS_DATE];
    conditions_date(784111777000, text);
    CHECK_STR(text, "Sun, 06 Nov 1994 08:49:37 GMT");
    conditions_date(253402300799999, text);
    CHECK_STR(text, "Fri, 31 Dec 9999 23:59:59 GMT");
    conditions_date(253402300800000, text);
    CHECK_STR(text, "");
    conditions_date(-1, text);
    CHECK_STR(text, "");
    conditions_date(INT64_MAX, text);
    CHECK_STR(text, "");
}

TEST(ranges_are_cut_ignored_or_refused)
{
    static const struct {
        const char *text;
        uint64_t size;
        int result;
        uint64_t offset, len;
    } cases[] = {
        { "bytes=0-0", 10, 1, 0, 1 },
        { "bytes=0-9", 10, 1, 0, 10 },
        { "bytes=0-10", 10, 1, 0, 10 },
        { "bytes=9-", 10, 1, 9, 1 },
        { "bytes=-3", 10, 1, 7, 3 },
        { "bytes=-30", 10, 1, 0, 10 },
        { "Bytes = 2-3 ", 10, 1, 2, 2 },
        { "bytes=0-99999999999999999999999999", 10, 1, 0, 10 },
        { "bytes=10-", 10, -ERANGE, 0, 0 },
        { "bytes=10-20", 10, -ERANGE, 0, 0 },
        { "bytes=99999999999999999999999999-", 10, -ERANGE, 0, 0 },
        { "bytes=-0", 10, -ERANGE, 0, 0 },
        { "bytes=0-", 0, -ERANGE, 0, 0 },
        { "bytes=-5", 0, -ERANGE, 0, 0 },
        { NULL, 10, 0, 0, 0 },
        { "", 10, 0, 0, 0 },
        { "bytes", 10, 0, 0, 0 },
        { "bytes=", 10, 0, 0, 0 },
        { "bytes=-", 10, 0, 0, 0 },
        { "bytes=3-2", 10, 0, 0, 0 },
        { "bytes=a-b", 10, 0, 0, 0 },
        { "bytes=+1-2", 10, 0, 0, 0 },
        { "bytes=1-2x", 10, 0, 0, 0 },
        { "bytes=0-1,3-4", 10, 0, 0, 0 },
        { "lines=0-1", 10, 0, 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct conditions_range part = { 0 };
        CHECK_INT(conditions_read_range(cases[i].text, cases[i].size, &part), cases[i].result);
        CHECK(part.offset == cases[i].offset && part.len == cases[i].len);
    }
}

int main(void)
{
    RUN(a_tag_is_written_and_read_back);
    RUN(lists_of_tags_are_read_as_the_rfc_says);
    RUN(the_number_of_tags_is_bounded);
    RUN(a_range_needs_the_same_version);
    RUN(dates_are_those_of_http);
    RUN(ranges_are_cut_ignored_or_refused);
    return tap_done();
}
