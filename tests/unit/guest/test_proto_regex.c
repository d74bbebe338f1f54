/* Regular expressions and file name patterns that the agent shares with the host. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "guest/proto_glob.h"
#include "guest/proto_regex.h"
#include "tap.h"

/* "start-end" of the whole match and of group 1 if it took part; "no" or "bad: …" otherwise. */
static const char *match(const char *pattern, unsigned flags, const char *text)
{
    static char out[200];
    struct proto_regex_span spans[PROTO_REGEX_GROUPS];
    const char *why;
    struct proto_regex *re = proto_regex_new(pattern, flags, &why);

    if (!re)
        return "bad";
    if (!proto_regex_find(re, text, strlen(text), 0, spans, PROTO_REGEX_GROUPS))
        (void)snprintf(out, sizeof(out), "no");
    else if (spans[1].start == SIZE_MAX)
        (void)snprintf(out, sizeof(out), "%zu-%zu", spans[0].start, spans[0].end);
    else
        (void)snprintf(out, sizeof(out), "%zu-%zu %zu-%zu", spans[0].start, spans[0].end, spans[1].start, spans[1].end);
    proto_regex_free(re);
    return out;
}

static void check_all(const char *const (*cases)[3], size_t n, unsigned flags)
{
    for (size_t i = 0; i < n; i++)
        CHECK_STR(match(cases[i][0], flags, cases[i][1]), cases[i][2]);
}

#define CHECK_ALL(cases, flags) check_all(cases, sizeof(cases) / sizeof((cases)[0]), flags)

TEST(letters_sets_and_classes)
{
    static const char *const cases[][3] = {
        { "b", "abc", "1-2" },           { "", "abc", "0-0" },
        { "a.c", "xabc", "1-4" },        { "[a-c]+", "xxabcd", "2-5" },
        { "[^a-c]+", "abxyc", "2-4" },   { "[]x]+", "a]x", "1-3" },
        { "[a\\-z]+", "b-", "1-2" },     { "\\d+", "ab12c", "2-4" },
        { "\\w+", " a_1-", "1-4" },      { "\\s", "ab c", "2-3" },
        { "\\D\\W\\S", "a-b", "0-3" },   { "[[:digit:]x]+", "a1x", "1-3" },
        { "[\\d.]+", "v1.2", "1-4" },    { "\\x41\\x{e9}", "A\xc3\xa9", "0-3" },
        { ".", "\xe2\x82\xac", "0-3" },  { "\\p{Lu}\\p{Ll}", "aBc", "1-3" },
        { "\\Qa.b\\E+", "a.bb", "0-4" }, { "\\.", "a.b", "1-2" },
        { "a{,2}", "a{,2}", "0-5" },     { "x", "abc", "no" },
    };
    CHECK_ALL(cases, 0);
}

TEST(anchors_and_edges)
{
    static const char *const cases[][3] = {
        { "^b", "ab", "no" },      { "^a$", "a", "0-1" },     { "a$", "ab", "no" }, { "\\bcat\\b", "a cat.", "2-5" },
        { "\\Bat", "cat", "1-3" }, { "\\Aa\\z", "a", "0-1" }, { "$", "ab", "2-2" }, { "\\b", "", "no" },
    };
    CHECK_ALL(cases, 0);
}

TEST(repetition_and_choice)
{
    static const char *const cases[][3] = {
        { "a*", "aaab", "0-3" },
        { "a*?b", "aaab", "0-4" },
        { "a+?", "aaa", "0-1" },
        { "a{2}", "aaa", "0-2" },
        { "a{2,}", "aaaa", "0-4" },
        { "a{1,2}", "aaa", "0-2" },
        { "a{0}b", "ab", "1-2" },
        { "(a|ab)(c|bcd)", "abcd", "0-4 0-1" },
        { "(?:ab)+", "xababa", "1-5" },
        { "(a*)*", "aab", "0-2 0-2" },
        { "(a*)+", "b", "0-0 0-0" },
        { "(a|b)*c", "abac", "0-4 2-3" },
        { "x*(foo|bar)?", "xxbar", "0-5 2-5" },
        { "a|b|c", "c", "0-1" },
        { "(ab){2,3}", "abababab", "0-6 4-6" },
        { "(a?){3}b", "aab", "0-3 2-2" },
        { "a??b", "ab", "0-2" },
        { "|a", "a", "0-0" },
    };
    CHECK_ALL(cases, 0);
}

TEST(case_does_not_count_on_request)
{
    static const char *const cases[][3] = { { "AbC", "xaBc", "1-4" },
                                            { "[a-z]+", "1AB", "1-3" },
                                            { "[^a]", "A", "no" } };
    static const char *const inline_cases[][3] = {
        { "(?i)ab", "AB", "0-2" }, { "(?i:a)b", "AB", "no" }, { "(?i:a)b", "Ab", "0-2" }, { "(?i)a(?-i)b", "AB", "no" }
    };
    CHECK_ALL(cases, PROTO_REGEX_ICASE);
    CHECK_ALL(inline_cases, 0);
}

TEST(literal_patterns_have_no_signs)
{
    static const char *const cases[][3] = { { "a.c", "abc a.c", "4-7" },
                                            { "(", "x(", "1-2" },
                                            { "\\d", "1\\d", "1-3" } };
    CHECK_ALL(cases, PROTO_REGEX_LITERAL);
}

TEST(what_does_not_compile)
{
    static const char *const bad[] = { "(",       ")",     "[",       "a**)",  "*",      "+a",      "a{2,1}",
                                       "\\1",     "(?=a)", "(?<=a)",  "(?!a)", "(?<!a)", "\\k",     "[b-a]",
                                       "(?P<>a)", "(?z)",  "a{1001}", "\\xz",  "\\",     "\\p{Zz}", "(?P<x" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_STR(match(bad[i], 0, ""), "bad");
}

TEST(groups_are_found_by_name_and_number)
{
    const char *why;
    struct proto_regex *re = proto_regex_new("(a)(?P<second>b)(?<third>c)", 0, &why);
    CHECK_INT(proto_regex_group(re, "second", 6), 2);
    CHECK_INT(proto_regex_group(re, "third", 5), 3);
    CHECK_INT(proto_regex_group(re, "0", 1), 0);
    CHECK_INT(proto_regex_group(re, "4", 1), -1);
    CHECK_INT(proto_regex_group(re, "none", 4), -1);
    proto_regex_free(re);
}

TEST(hard_patterns_take_linear_time)
{
    static char text[20001];
    memset(text, 'a', sizeof(text) - 1);
    CHECK_STR(match("(a*)*b", 0, text), "no");
    CHECK_STR(match("(?:a?){50}a{50}c", 0, text), "no");
    static char many[1200]; /* more groups and nesting than there may be */
    memset(many, '(', 600);
    memset(many + 600, ')', 599);
    CHECK_STR(match(many, 0, ""), "bad");
}

TEST(file_name_patterns)
{
    static const struct {
        const char *pattern, *path;
        bool is_match;
    } cases[] = {
        { "*.py", "a.py", true },
        { "*.py", "d/a.py", true },
        { "*.py", "a.pyc", false },
        { "d/*.py", "d/a.py", true },
        { "d/*.py", "d/e/a.py", false },
        { "*.py", "d/e.py/x", false },
        { "**", "a/b/c", true },
        { "**/x", "x", true },
        { "**/x", "a/b/x", true },
        { "**/x", "a/bx", false },
        { "a?c", "abc", true },
        { "a?c", "a/c", false },
        { "d/**", "d/a/b", true },
        { "[a]", "a", false },
        { "{a,b}", "a", false },
        { "*a*b*", "xaybz", true },
        { "", "a", false },
        { "*", ".hidden", true },
        { "**/d/*.c", "a/d/x.c", true },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CHECK_INT(proto_glob_match(cases[i].pattern, cases[i].path), cases[i].is_match);
}

int main(void)
{
    RUN(letters_sets_and_classes);
    RUN(anchors_and_edges);
    RUN(repetition_and_choice);
    RUN(case_does_not_count_on_request);
    RUN(literal_patterns_have_no_signs);
    RUN(what_does_not_compile);
    RUN(groups_are_found_by_name_and_number);
    RUN(hard_patterns_take_linear_time);
    RUN(file_name_patterns);
    return tap_done();
}
