/* Command lines into words. */
#include "api/shell_words.h"

#include "base/buf.h"
#include "tap.h"

/* The words joined by "|"; "bad" when it is unbalanced. */
static const char *split(const char *text)
{
    static char out[200];
    CLEANUP(strlist_free_p) char **words = NULL;
    CLEANUP(buf_done) struct buf joined = BUF_INIT(sizeof(out) - 1);

    if (shell_words_split(text, &words) < 0)
        return "bad";
    for (char **w = words; w && *w; w++)
        (void)buf_addf(&joined, "%s%s", w > words ? "|" : "", *w);
    (void)snprintf(out, sizeof(out), "%s", buf_text(&joined));
    return out;
}

TEST(words_quotes_and_backslashes)
{
    static const char *const cases[][2] = {
        { "a b\tc\nd", "a|b|c|d" },
        { "  a  ", "a" },
        { "a'b c'd\"e f\"", "ab cde f" },
        { "'' \"\"", "|" },
        { "\"\\$\\`\\\"\\\\\\x\"", "$`\"\\\\x" },
        { "'\\n'", "\\n" },
        { "a\\ b \\x", "a b|x" },
        { "a\\\nb", "ab" },
        { "\"a\\\nb\"", "ab" },
        { "a # b\nc", "a|c" },
        { "a#b", "a#b" },
        { "#all", "" },
        { "$HOME *.c && x", "$HOME|*.c|&&|x" },
        { "", "" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CHECK_STR(split(cases[i][0]), cases[i][1]);
}

TEST(what_is_not_finished)
{
    static const char *const bad[] = { "'", "\"", "a 'b", "a \"b\\\"", "a\\", "\\" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_STR(split(bad[i]), "bad");
    CLEANUP(free_p) char *exact = strdup("a 'b"); /* on the heap: a look past its end is seen by the sanitizer */
    CHECK_STR(split(exact), "bad");
}

TEST(white_space_is_that_of_unicode)
{
    static const char *const wide[] = { "a b",          "a\tb",         "a\vb",         "a\xc2\xa0",   "\xe2\x80\x80",
                                        "\xe2\x80\x83", "\xe2\x80\x8a", "\xe3\x80\x80", "\xe1\x9a\x80" };
    for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++)
        CHECK(shell_words_has_space(wide[i]));
    CHECK(!shell_words_has_space("a-b"));
    CHECK(!shell_words_has_space("\xe2\x80\x8b")); /* U+200B, just past the blanks */
    CHECK(!shell_words_has_space("\xe2\x80\xa6"));
    CHECK(!shell_words_has_space(""));
}

int main(void)
{
    RUN(words_quotes_and_backslashes);
    RUN(what_is_not_finished);
    RUN(white_space_is_that_of_unicode);
    return tap_done();
}
