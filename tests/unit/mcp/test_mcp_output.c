#include "mcp/mcp_output.h"

#include "base/alloc.h"
#include "tap.h"

static void event(struct mcp_output *o, const char *type, const char *data)
{
    JSON_OWNED e = json_pack("{s:s, s:s}", "type", type, "data", data);
    mcp_output_event(o, e);
}

static void check_answer(const struct mcp_output *o, const char *expected)
{
    JSON_OWNED body = NULL;
    int status = mcp_output_answer(o, 5, &body);
    CLEANUP(free_p) char *text = json_write(body, NULL), *all = xasprintf("%d %s", status, text);
    CHECK_STR(all, expected);
}

TEST(pieces_become_the_answer_of_a_run)
{
    struct mcp_output o;
    mcp_output_init(&o);
    event(&o, "stdout", "a\nb");
    event(&o, "stderr", "  warn  \n\n");
    CHECK_STR(o.line, "  warn");
    event(&o, "stdout", " \n");
    CHECK_STR(o.line, "  warn");
    event(&o, "other", "x");
    event(&o, "exit", "2");
    check_answer(&o, "200 {\"exitCode\":2,\"stdout\":\"a\\nb \\n\",\"stderr\":\"  warn  \\n\\n\",\"duration\":5}");
    mcp_output_done(&o);
}

TEST(early_ends_are_failures)
{
    struct mcp_output o;
    mcp_output_init(&o);
    check_answer(&o, "502 {\"error\":\"the stream ended without an exit code\"}");
    JSON_OWNED error = json_pack("{s:s, s:s}", "type", "error", "error", "it broke");
    mcp_output_event(&o, error);
    check_answer(&o, "502 {\"error\":\"it broke\"}");
    mcp_output_done(&o);
    mcp_output_init(&o);
    event(&o, "exit", "-1");
    check_answer(&o, "504 {\"error\":\"the time of the command is over\"}");
    mcp_output_done(&o);
}

TEST(the_line_is_cut_between_letters)
{
    struct mcp_output o;
    char text[400] = "";
    mcp_output_init(&o);
    for (int i = 0; i < 130; i++)
        (void)strncat(text, "\xe2\x82\xac", 4); /* three bytes each: 160 is no multiple */
    event(&o, "stdout", text);
    CHECK_INT(strlen(o.line), 159);
    CHECK(strncmp(o.line, "\xe2\x82\xac", 3) == 0);
    mcp_output_done(&o);
}

TEST(what_is_too_much_is_left_out)
{
    struct mcp_output o;
    JSON_OWNED body = NULL;
    mcp_output_init(&o);
    size_t size = MCP_OUTPUT_MAX - 1;
    CLEANUP(free_p) char *much = xzalloc(size + 1);
    (void)memset(much, 'x', size);
    event(&o, "stderr", much);
    CHECK(!o.is_cut[1]);
    event(&o, "stderr", "\xe2\x82\xac");
    CHECK(o.is_cut[1] && !o.is_cut[0]);
    CHECK_INT(o.text[1].len, size);
    event(&o, "exit", "0");
    CHECK_INT(mcp_output_answer(&o, 1, &body), 200);
    CHECK(json_is_true(json_get(body, "stderrTruncated")) && !json_get(body, "stdoutTruncated"));
    mcp_output_done(&o);
}

int main(void)
{
    RUN(pieces_become_the_answer_of_a_run);
    RUN(early_ends_are_failures);
    RUN(the_line_is_cut_between_letters);
    RUN(what_is_too_much_is_left_out);
    return tap_done();
}
