#include <errno.h>

#include "base/alloc.h"
#include "base/strlist.h"
#include "image/build_context.h"
#include "image/dockerfile.h"
#include "tap.h"

static char var_a[] = "A=one two", var_b[] = "B=", var_c[] = "C=3";
static char *vars[] = { var_a, var_b, var_c, NULL };

TEST(reads_instructions_with_their_lines)
{
    static const char text[] =
        "# first\n\nARG V=1\r\nfrom base:$V AS x\nRUN echo \\\n  # between\n\n  hi && \\\n  ls  \n"
        "CMD [\"a\", \"b c\"]\n";
    static const struct {
        enum dockerfile_kind kind;
        unsigned line;
        const char *args;
    } want[] = { { DOCKERFILE_ARG, 3, "V=1" },
                 { DOCKERFILE_FROM, 4, "base:$V AS x" },
                 { DOCKERFILE_RUN, 5, "echo hi && ls" },
                 { DOCKERFILE_CMD, 10, "[\"a\", \"b c\"]" } };
    CLEANUP(dockerfile_done) struct dockerfile d = { 0 };
    CHECK_INT(dockerfile_parse(text, strlen(text), &d, NULL), 0);
    CHECK_INT(d.n_steps, 4);
    for (size_t i = 0; i < d.n_steps && i < 4; i++) {
        CHECK_INT(d.steps[i].kind, want[i].kind);
        CHECK_INT(d.steps[i].line, want[i].line);
        CHECK_STR(d.steps[i].args, want[i].args);
    }
}

TEST(refuses_with_the_line)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        { "FROM a\n\nONBUILD RUN x\n", "line 3: \"ONBUILD\" is not supported" },
        { "RUN x\nFROM a\n", "line 1: RUN before FROM" },
        { "FROM a\nRUN\n", "line 2: RUN needs an argument" },
        { "FROM --plat=x a\n", "line 1: FROM: the option --plat is not supported" },
        { "FROM a\nHEALTHCHECK --period=1s CMD x\n", "line 2: HEALTHCHECK: the option --period is not supported" },
        { "FROM a\nCOPY --from a b\n", "line 2: COPY: the option --from needs a value: --from=" },
        { "FROM a\nCOPY --from=x\n", "line 2: COPY needs an argument" },
        { "FROM a\nCOPY --link=1 a b\n", "line 2: COPY: the option --link is not supported" },
        { "FROM a\nRUN --mount=type=cache ls\n", "line 2: RUN: the option --mount is not supported" },
        { "FROM a\nRUN cat <<E\ntext\n E\n", "line 2: the text <<E has no end: a line E is missing" },
        { "FROM a\nCOPY <<E <<F /x\nE\ntext\n", "line 2: the text <<F has no end" },
        { "FROM a\nRUN <<E\nE\n", "line 2: the script is empty" },
        { "FROM a\nRUN cat<<E\ntext\nE\n", "line 3: \"text\" is not supported" },
        { "FROM a\nCMD cat <<E\ntext\nE\n", "line 3: \"text\" is not supported" },
        { "# nothing\n", "no FROM" },
        { "", "no FROM" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(dockerfile_done) struct dockerfile d = { 0 };
        struct err err = ERR_INIT;
        CHECK_INT(dockerfile_parse(cases[i].text, strlen(cases[i].text), &d, &err), -EINVAL);
        CHECK_STR(strstr(err.msg, cases[i].says) ? cases[i].says : err.msg, cases[i].says);
    }
    CLEANUP(dockerfile_done) struct dockerfile d = { 0 };
    CHECK_INT(dockerfile_parse("FROM a\nRUN x\0y\n", 15, &d, NULL), -EINVAL);
}

TEST(reads_stages_flags_and_texts)
{
    static const char text[] = "ARG V=1\nFROM a AS one\nRUN <<EOF\n# kept\n  set -e \\\n\nEOF\n"
                               "RUN cat <<-A >x \\\n  && cat 3<<'B'\n\tin a\nA\n$in b\nB\nFROM b\n"
                               "COPY --from=one \\\n /x /y\nCOPY <<\"a.txt\" <<b /d/\n1$V\na.txt\n2$V\nb\n"
                               "RUN echo $((1<<2)) \"<<no\" <<<'x'\n"
                               "HEALTHCHECK --interval=1s --retries=3 CMD true\n";
    static const struct {
        enum dockerfile_kind kind;
        unsigned line;
        const char *args;
    } want[] = {
        { DOCKERFILE_ARG, 1, "V=1" },
        { DOCKERFILE_FROM, 2, "a AS one" },
        { DOCKERFILE_RUN, 3, "# kept\n  set -e \\\n\n" },
        { DOCKERFILE_RUN, 8, "cat <<-A >x && cat 3<<'B'\nin a\nA\n$in b\nB\n" },
        { DOCKERFILE_FROM, 14, "b" },
        { DOCKERFILE_COPY, 15, "/x /y" },
        { DOCKERFILE_COPY, 17, "<<\"a.txt\" <<b /d/" },
        { DOCKERFILE_RUN, 22, "echo $((1<<2)) \"<<no\" <<<'x'" },
        { DOCKERFILE_HEALTHCHECK, 23, "CMD true" },
    };
    CLEANUP(dockerfile_done) struct dockerfile d = { 0 };
    struct err err = ERR_INIT;
    CHECK_INT(dockerfile_parse(text, strlen(text), &d, &err), 0);
    CHECK_STR(err.msg, "");
    CHECK_INT(d.n_steps, sizeof(want) / sizeof(want[0]));
    for (size_t i = 0; i < d.n_steps && i < sizeof(want) / sizeof(want[0]); i++) {
        CHECK_INT(d.steps[i].kind, want[i].kind);
        CHECK_INT(d.steps[i].line, want[i].line);
        CHECK_STR(d.steps[i].args, want[i].args);
    }
    if (d.n_steps != sizeof(want) / sizeof(want[0]))
        return;
    CHECK_STR(dockerfile_flag(&d.steps[5], "from"), "one");
    CHECK(!dockerfile_flag(&d.steps[6], "from"));
    CHECK_STR(dockerfile_flag(&d.steps[8], "interval"), "1s");
    CHECK_STR(dockerfile_flag(&d.steps[8], "retries"), "3");
    CHECK_INT(d.steps[6].n_texts, 2);
    CHECK_STR(d.steps[6].texts[0].name, "a.txt");
    CHECK_STR(d.steps[6].texts[0].text, "1$V\n");
    CHECK(d.steps[6].texts[0].is_literal && !d.steps[6].texts[1].is_literal);
    CLEANUP(free_p) char *expanded = NULL;
    CHECK_INT(dockerfile_expand(&d.steps[6], "a $C \\$C \"${B:-d}\"", vars, &expanded, NULL), 0);
    CHECK_STR(expanded, "a 3 $C \"d\"");
}

TEST(has_limits)
{
    static char big[DOCKERFILE_BYTES_MAX + 2];
    CLEANUP(dockerfile_done) struct dockerfile d = { 0 };
    memset(big, '\n', sizeof(big));
    memcpy(big, "FROM a", 6);
    CHECK_INT(dockerfile_parse(big, DOCKERFILE_BYTES_MAX + 1, &d, NULL), -E2BIG);
    CHECK_INT(dockerfile_parse(big, DOCKERFILE_BYTES_MAX, &d, NULL), 0);
    dockerfile_done(&d);
    memset(big + 7, 'x', DOCKERFILE_ARGS_MAX + 1);
    memcpy(big + 7, "RUN ", 4);
    CHECK_INT(dockerfile_parse(big, 7 + DOCKERFILE_ARGS_MAX + 1, &d, NULL), -E2BIG);
    CHECK_INT(dockerfile_parse(big, 7 + DOCKERFILE_ARGS_MAX, &d, NULL), 0);
    dockerfile_done(&d);
    for (size_t i = 0; i < DOCKERFILE_STEPS_MAX; i++)
        memcpy(big + 7 + i * 6, "RUN x\n", 6);
    CHECK_INT(dockerfile_parse(big, 7 + DOCKERFILE_STEPS_MAX * 6, &d, NULL), -E2BIG);
    CHECK_INT(dockerfile_parse(big, 7 + (DOCKERFILE_STEPS_MAX - 1) * 6, &d, NULL), 0);
}

/* Words joined with "|"; caller frees. */
static char *words_of(const char *args, struct err *err)
{
    CLEANUP(free_p) char *own = xstrdup(args);
    const struct dockerfile_step step = { .kind = DOCKERFILE_COPY, .line = 9, .args = own };
    CLEANUP(strlist_free_p) char **words = NULL;
    if (dockerfile_words(&step, vars, &words, err) < 0)
        return xstrdup("refused");
    char *joined = xstrdup("");
    for (size_t i = 0; words[i]; i++) {
        char *longer = xasprintf("%s%s%s", joined, i ? "|" : "", words[i]);
        free(joined);
        joined = longer;
    }
    return joined;
}

TEST(puts_variables_and_quotes_in)
{
    static const struct {
        const char *args, *want;
    } cases[] = {
        { "a b\tc", "a|b|c" },
        { "\"a b\" 'c $A'", "a b|c $A" },
        { "$A", "one two" },
        { "${C}x$C", "3x3" },
        { "x${B:-d}y", "xdy" },
        { "${C:-d}", "3" },
        { "${N:-${C}4}", "34" },
        { "${C:+yes}${B:+no}", "yes" },
        { "$N.", "." },
        { "\\$A \"\\\"\"", "$A|\"" },
        { "$ 5$", "$|5$" },
        { "K=\"v w\"", "K=v w" },
        { "[\"a b\", \"$C\"]", "a b|3" },
        { "${", "refused" },
        { "${A", "refused" },
        { "${A:?x}", "refused" },
        { "${1}", "refused" },
        { "\"open", "refused" },
        { "[\"a\", 1]", "refused" },
        { "[]", "refused" },
        { "${a:-${a:-${a:-${a:-${a:-${a:-${a:-${a:-${a:-${a:-x}}}}}}}}}}", "refused" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = ERR_INIT;
        CLEANUP(free_p) char *got = words_of(cases[i].args, &err);
        CHECK_STR(got, cases[i].want);
        CHECK(strcmp(got, "refused") != 0 || strstr(err.msg, "Dockerfile line 9"));
    }
}

TEST(tells_a_list_from_a_shell_command)
{
    char shell[] = "[ -f x ] && y", list[] = "[\"a\", \"b\"]";
    struct dockerfile_step step = { .kind = DOCKERFILE_RUN, .line = 1, .args = shell };
    CLEANUP(strlist_free_p) char **words = NULL;
    CHECK_INT(dockerfile_exec_form(&step, &words, NULL), 0);
    step.args = list;
    CHECK_INT(dockerfile_exec_form(&step, &words, NULL), 1);
    CHECK_INT(strlist_count(words), 2);
}

TEST(leaves_out_what_dockerignore_says)
{
    static const struct {
        const char *patterns, *path;
        bool is_ignored;
    } cases[] = {
        { "*.log", "a.log", true },
        { "*.log", "d/a.log", false },
        { "**/*.log", "d/e/a.log", true },
        { "**/*.log", "a.log", true },
        { "node_modules", "node_modules/x/y", true },
        { "/a/\n", "a/b", true },
        { "a/b", "a", false },
        { "a/**", "a/b/c", true },
        { "# x\n*\n!keep.txt", "keep.txt", false },
        { "# x\n*\n!keep.txt", "other.txt", true },
        { "d\n!d/keep", "d/keep", false },
        { "a/**/z", "a/b/c/z", true },
        { "a/**/z", "a/b/c/y", false },
        { "", "a", false },
        { "**.log", "d/e/a.log", true },
        { "a**z", "a/b/z", true },
        { "  x  ", "x", true },
        { "x/..y", "x/..y", true },
        { "a?c", "abc", true },
        { "a?c", "a/c", false },
        { "[a-c].txt", "b.txt", true },
        { "[^a-c].txt", "b.txt", false },
        { "[!a].txt", "b.txt", true },
        { "\\*.txt", "*.txt", true },
        { "\\*.txt", "a.txt", false },
        { "a.b", "aXb", false },
        { "*\n!d/**/keep\nd/x/keep", "d/y/z/keep", false },
        { "*\n!d/**/keep\nd/x/keep", "d/x/keep", true },
        { "!a\na", "a", true },
        { ".", "a", false },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(build_context_ignore_free_p) struct build_context_ignore *rules = NULL;
        CHECK_INT(build_context_ignore_new(cases[i].patterns, &rules, NULL), 0);
        if (build_context_is_ignored(rules, cases[i].path) != cases[i].is_ignored)
            CHECK_STR(cases[i].patterns, cases[i].path);
    }
    struct build_context_ignore *rules = NULL;
    struct err err = ERR_INIT;
    CHECK_INT(build_context_ignore_new("ok\n# x\n[a\n", &rules, &err), -EINVAL);
    CHECK_STR(err.msg, ".dockerignore line 3: a [ without its ]");
}

int main(void)
{
    RUN(reads_instructions_with_their_lines);
    RUN(refuses_with_the_line);
    RUN(reads_stages_flags_and_texts);
    RUN(has_limits);
    RUN(puts_variables_and_quotes_in);
    RUN(tells_a_list_from_a_shell_command);
    RUN(leaves_out_what_dockerignore_says);
    return tap_done();
}
