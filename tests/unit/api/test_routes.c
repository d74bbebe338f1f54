#include <errno.h>

#include "api/routes.h"
#include "base/alloc.h"
#include "tap.h"

static const struct field no_fields[] = { { 0 } };
static const struct op ops[] = {
    { "list", "a::list", "GET", "/things", no_fields, "X", 0, "" },
    { "make", "a::make", "POST", "/things", no_fields, "X", 0, "" },
    { "get", "a::get", "GET", "/things/:id", no_fields, "X", 0, "" },
    { "drop", "a::drop", "DELETE", "/things/:id", no_fields, "X", 0, "" },
    { "state", "a::state", "GET", "/queue/:jobId/status", no_fields, "X", 0, "" },
    { "dlq", "a::dlq", "GET", "/queue/dlq", no_fields, "X", 0, "" },
    { "size", "a::size", "POST", "/things/:id/terminal/:sessionId/resize", no_fields, "X", 0, "" },
    { "other", "a::other", "PUT", "/things/:thing/other", no_fields, "X", 0, "" },
};

/* "name {params}" or "status message". Caller frees. */
static char *found(const char *method, const char *path)
{
    CLEANUP(routes_free_p) struct routes *r = routes_new("sandbox", ops, sizeof(ops) / sizeof(ops[0]));
    struct err err = ERR_INIT;
    char allow[ROUTES_ALLOW_MAX] = "";
    JSON_OWNED params = json_pack("{s:s}", "id", "from the body");
    const struct op *op = routes_match(r, method, path, params, allow, &err);
    if (!op)
        return xasprintf("%d %s%s%s", err_status(err.code), err.msg, *allow ? " | " : "", allow);
    CLEANUP(free_p) char *text = json_write(params, NULL);
    return xasprintf("%s %s", op->name, text);
}

static void check_found(const char *method, const char *path, const char *expected)
{
    CLEANUP(free_p) char *got = found(method, path);
    CHECK_STR(got, expected);
}

TEST(rows_are_found_with_their_parameters)
{
    check_found("GET", "/sandbox/things", "list {\"id\":\"from the body\"}");
    check_found("POST", "/sandbox/things/", "make {\"id\":\"from the body\"}");
    check_found("GET", "/sandbox/things/x", "get {\"id\":\"x\"}");
    check_found("HEAD", "/sandbox/things/x", "get {\"id\":\"x\"}");
    check_found("DELETE", "/sandbox/things/a%20b/", "drop {\"id\":\"a%20b\"}");
    check_found("POST", "/sandbox/things/x/terminal/t/resize", "size {\"id\":\"x\",\"sessionId\":\"t\"}");
    check_found("PUT", "/sandbox/things/x/other", "other {\"id\":\"from the body\",\"thing\":\"x\"}");
}

TEST(literals_come_before_parameters)
{
    check_found("GET", "/sandbox/queue/dlq", "dlq {\"id\":\"from the body\"}");
    check_found("GET", "/sandbox/queue/dlq/status", "state {\"id\":\"from the body\",\"jobId\":\"dlq\"}");
}

TEST(unknown_paths_are_not_found)
{
    static const char *const paths[] = { "/",
                                         "",
                                         "/sandbox",
                                         "/sandbox/",
                                         "/sandboxthings",
                                         "/other/things",
                                         "/sandbox//things",
                                         "/sandbox/things//",
                                         "/sandbox/things/x/y",
                                         "/sandbox/queue",
                                         "/sandbox/a/b/c/d/e/f/g/h/i/j/k/l/m/n",
                                         "*",
                                         "/sandbox/things/\xff" };
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        CLEANUP(free_p) char *got = found("GET", paths[i]);
        CHECK(strncmp(got, "404 not found: ", 15) == 0);
    }
    check_found("GET", "/x", "404 not found: GET /x");
}

TEST(known_paths_say_which_methods_they_take)
{
    check_found(
        "PUT", "/sandbox/things",
        "405 method not allowed: PUT /sandbox/things takes GET, HEAD, POST, OPTIONS | GET, HEAD, POST, OPTIONS");
    check_found(
        "POST", "/sandbox/things/x",
        "405 method not allowed: POST /sandbox/things/x takes GET, HEAD, DELETE, OPTIONS | GET, HEAD, DELETE, OPTIONS");
    check_found("HEAD", "/sandbox/things/x/other",
                "405 method not allowed: HEAD /sandbox/things/x/other takes PUT, OPTIONS | PUT, OPTIONS");
}

TEST(every_row_of_the_table_is_found)
{
    CLEANUP(routes_free_p) struct routes *r = routes_new("p", spec_ops, OP_COUNT);
    char allow[ROUTES_ALLOW_MAX];
    for (int i = 0; i < OP_COUNT; i++) {
        CLEANUP(free_p) char *path = xasprintf("/p%s", spec_ops[i].path);
        CHECK(routes_match(r, spec_ops[i].method, path, NULL, allow, NULL) == &spec_ops[i]);
    }
}

int main(void)
{
    RUN(rows_are_found_with_their_parameters);
    RUN(literals_come_before_parameters);
    RUN(unknown_paths_are_not_found);
    RUN(known_paths_say_which_methods_they_take);
    RUN(every_row_of_the_table_is_found);
    return tap_done();
}
