#include <errno.h>

#include "api/params.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "tap.h"

static int add_body(json_t *params, const char *type, const char *body, struct err *err)
{
    json_t *parsed = NULL;
    if (!params_has_json(type, body, strlen(body)))
        return 0;
    int r = json_read_input(body, strlen(body), &parsed, err);
    return r < 0 ? err_wrap(err, r, "request body") : params_take_body(params, parsed, err);
}

/* Parameters of a query and a body as compact JSON, or the error. Caller frees. */
static char *merged(const char *query, const char *type, const char *body)
{
    struct err err = ERR_INIT;
    JSON_OWNED params = json_object();
    if (params_add_query(params, query, &err) < 0 || add_body(params, type, body, &err) < 0)
        return xasprintf("%d %s", err_status(err.code), err.msg);
    return json_write(params, NULL);
}

static void check_merged(const char *query, const char *type, const char *body, const char *expected)
{
    CLEANUP(free_p) char *got = merged(query, type, body);
    CHECK_STR(got, expected);
}

TEST(query_strings_become_texts)
{
    check_merged("", NULL, "", "{}");
    check_merged("a=1&b=&c&&d=x%20y+z", NULL, "", "{\"a\":\"1\",\"b\":\"\",\"c\":\"\",\"d\":\"x y z\"}");
    check_merged("a=1&a=2", NULL, "", "{\"a\":\"2\"}");
    check_merged("p=%2Fa%2fb&q==", NULL, "", "{\"p\":\"/a/b\",\"q\":\"=\"}");
    check_merged("u=%c3%a9", NULL, "", "{\"u\":\"\xc3\xa9\"}");
    check_merged("z=a%00b", NULL, "", "{\"z\":\"a\\u0000b\"}"); /* the schema check refuses it where it matters */
}

TEST(bad_query_strings_are_refused)
{
    check_merged("a=%", NULL, "", "400 query string: bad percent escape in \"a=%\"");
    check_merged("a=%4", NULL, "", "400 query string: bad percent escape in \"a=%4\"");
    check_merged("a=%4g", NULL, "", "400 query string: bad percent escape in \"a=%4g\"");
    check_merged("%=1", NULL, "", "400 query string: bad percent escape in \"%=1\"");
    check_merged("a=%ff", NULL, "", "400 query string: not UTF-8 text in \"a=%ff\"");
    check_merged("a%00=1", NULL, "", "400 query string: not UTF-8 text in \"a%00=1\"");

    CLEANUP(buf_done) struct buf many = BUF_INIT(1u << 16);
    for (int i = 0; i < PARAMS_QUERY_MAX; i++)
        CHECK_INT(buf_add_str(&many, "a=1&"), 0);
    JSON_OWNED params = json_object();
    CHECK_INT(params_add_query(params, buf_text(&many), NULL), 0);
    CHECK_INT(buf_add_str(&many, "a=1"), 0);
    CHECK_INT(params_add_query(params, buf_text(&many), NULL), -EINVAL);
}

TEST(the_body_wins_over_the_query)
{
    check_merged("a=1&b=2", "application/json", "{\"a\":3,\"c\":null}", "{\"a\":3,\"b\":\"2\",\"c\":null}");
    check_merged("", "Application/JSON; charset=utf-8", "{\"a\":true}", "{\"a\":true}");
}

TEST(bodies_of_other_kinds_add_nothing)
{
    check_merged("", NULL, "{\"a\":1}", "{}");
    check_merged("", "text/plain", "{\"a\":1}", "{}");
    check_merged("", "application/json", "", "{}");
    check_merged("", "application/json", " \r\n", "{}");
    check_merged("", "application/json", "[1]", "{}");
    check_merged("", "application/json", "null", "{}");
    check_merged("", "application/json", "\"x\"", "{}");
}

TEST(a_body_that_was_not_read_is_known)
{
    CHECK(params_is_ignored(NULL, "{}", 2));
    CHECK(params_is_ignored("text/plain", "{}", 2));
    CHECK(!params_is_ignored("text/plain", " \r\n", 3));
    CHECK(!params_is_ignored(NULL, "", 0));
    CHECK(!params_is_ignored("application/json; charset=utf-8", "{}", 2));
}

TEST(malformed_json_is_refused)
{
    static const char *const bad[] = { "{", "{\"a\":}", "{\"a\":1}x", "{a:1}", "\xff", "{\"a\":1,\"a\":2}" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CLEANUP(free_p) char *got = merged("", "application/json", bad[i]);
        CHECK(strncmp(got, "400 request body: invalid JSON at line 1", 40) == 0);
    }
}

int main(void)
{
    RUN(query_strings_become_texts);
    RUN(bad_query_strings_are_refused);
    RUN(the_body_wins_over_the_query);
    RUN(bodies_of_other_kinds_add_nothing);
    RUN(a_body_that_was_not_read_is_known);
    RUN(malformed_json_is_refused);
    return tap_done();
}
