#include <errno.h>

#include "base/alloc.h"
#include "mcp/mcp_tool.h"
#include "tap.h"

#define NOW 1000000

static json_t *from(const char *text)
{
    json_t *j = NULL;
    CHECK_INT(json_read(text, strlen(text), &j, NULL), 0);
    return j;
}

/* Parameters as compact JSON, or the complaint. */
static void check_params(const char *tool, const char *args, const char *expected)
{
    struct err err = ERR_INIT;
    JSON_OWNED given = from(args);
    JSON_OWNED params = NULL;
    JSON_OWNED warnings = NULL;
    const struct mcp_tool *t = mcp_tool_find(tool);
    CHECK(t != NULL);
    int r = mcp_tool_params(t, given, NOW, &params, &warnings, &err);
    CLEANUP(free_p) char *text = r == 0 ? json_dumps(params, JSON_COMPACT | JSON_SORT_KEYS) : xstrdup(err.msg);
    CHECK_STR(text, expected);
}

TEST(every_row_describes_itself)
{
    size_t count = 0;
    for (const struct mcp_tool *t = mcp_tool_rows; t->name; t++, count++) {
        JSON_OWNED about = mcp_tool_describe(t, MCP_TOOL_FULL);
        CHECK(about != NULL);
        CHECK(mcp_tool_find(t->name) == t); /* no name twice */
        CHECK(strncmp(t->name, "sandbox_", 8) == 0);
        CHECK_STR(json_get_str(json_get(about, "inputSchema"), "type", ""), "object");
        CHECK_STR(json_get_str(json_get(about, "outputSchema"), "type", ""), "object");
        CLEANUP(free_p) char *text = json_write(about, NULL);
        CHECK(!strstr(text, "$ref") && !strstr(text, "maxLength"));
    }
    CHECK(count >= 39);
    CHECK_STR(mcp_tool_rows[38].name, "sandbox_volume_attach"); /* the contract's 39 come first */
}

TEST(arguments_become_parameters)
{
    check_params("sandbox_create", "{}", "{}");
    check_params("sandbox_create", "{\"template\":\"t\"}", "{\"template\":\"t\"}");
    check_params("sandbox_create", "{\"image\":\"x\",\"unknown\":1,\"name\":null}", "{\"image\":\"x\"}");
    check_params("sandbox_exec", "{\"sandboxId\":\"s\",\"command\":\"ls\",\"timeout\":5}",
                 "{\"command\":\"ls\",\"id\":\"s\",\"timeout\":5}");
    check_params("sandbox_list_files", "{\"sandboxId\":\"s\"}", "{\"id\":\"s\",\"path\":\"/workspace\"}");
    check_params("sandbox_stream_logs", "{\"sandboxId\":\"s\",\"follow\":true}", "{\"follow\":false,\"id\":\"s\"}");
    check_params("sandbox_renew", "{\"sandboxId\":\"s\",\"timeout\":60}", "{\"expiresAt\":1060000,\"id\":\"s\"}");
    check_params("sandbox_install_package", "{\"sandboxId\":\"s\",\"packages\":[\"a\"]}",
                 "{\"id\":\"s\",\"manager\":\"pip\",\"packages\":[\"a\"]}");
}

TEST(what_is_ignored_or_changed_is_a_warning)
{
    JSON_OWNED given = from("{\"sandboxID\":\"s\",\"sandboxId\":\"s\",\"colour\":1,\"status\":null,\"tail\":-3,"
                            "\"follow\":true}");
    JSON_OWNED params = NULL;
    JSON_OWNED warnings = NULL;
    CHECK_INT(mcp_tool_params(mcp_tool_find("sandbox_stream_logs"), given, NOW, &params, &warnings, NULL), 0);
    CLEANUP(free_p) char *text = json_write(warnings, NULL);
    CHECK_STR(text, "[\"sandboxID: unknown argument; did you mean \\\"sandboxId\\\"?\",\"colour: unknown argument\","
                    "\"status: unknown argument\",\"follow: unknown argument\","
                    "\"tail: -3 is not between 0 and 100000\"]");
}

TEST(bad_arguments_are_named)
{
    check_params("sandbox_exec", "{\"command\":\"ls\"}", "sandboxId: it is required");
    check_params("sandbox_exec", "{\"sandboxId\":7,\"command\":\"ls\"}", "sandboxId: a text is needed");
    check_params("sandbox_exec", "[]", "arguments: an object is needed");
    check_params("sandbox_install_package", "{\"sandboxId\":\"s\",\"packages\":[\"a\"],\"manager\":\"apt\"}",
                 "manager: \"apt\" is not one of pip|npm|go");
    check_params("sandbox_renew", "{\"sandboxId\":\"s\",\"timeout\":\"soon\"}",
                 "timeout: a number of seconds, from 1 on, is needed");
    check_params("sandbox_renew", "{\"sandboxId\":\"s\",\"timeout\":1e300}",
                 "timeout: a number of seconds, from 1 on, is needed");
}

int main(void)
{
    RUN(every_row_describes_itself);
    RUN(arguments_become_parameters);
    RUN(what_is_ignored_or_changed_is_a_warning);
    RUN(bad_arguments_are_named);
    return tap_done();
}
