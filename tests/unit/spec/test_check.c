/* spec_check(): every kind of field, its limits and the contract's leniencies. */
#include <errno.h>

#include "base/alloc.h"
#include "spec/fields.h"
#include "spec/schemas.h"
#include "spec/spec.h"
#include "tap.h"

static const struct op *op_named(const char *name)
{
    for (size_t i = 0; i < OP_COUNT; i++)
        if (strcmp(spec_ops[i].name, name) == 0)
            return &spec_ops[i];
    printf("# no operation %s\n", name);
    exit(1);
}

/* Compact text of the parameters after the check, or "400 message". Caller frees. */
static char *checked(const char *op, const char *params)
{
    struct err err = ERR_INIT;
    JSON_OWNED p = NULL;
    if (json_read(params, strlen(params), &p, &err) < 0)
        return xasprintf("bad test: %s", err.msg);
    int r = spec_check(op_named(op), p, NULL, NULL, &err);
    if (r < 0)
        return xasprintf("%d %s", r == -EINVAL ? err_status(err.code) : r, err.msg);
    return json_write(p, NULL);
}

struct check_case {
    const char *op, *params, *expected;
};

static void run_cases(const struct check_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        CLEANUP(free_p) char *got = checked(cases[i].op, cases[i].params);
        CHECK_STR(got, cases[i].expected);
    }
}
#define RUN_CASES(cases) run_cases(cases, sizeof(cases) / sizeof((cases)[0]))

TEST(create_takes_any_number_and_ignores_wrong_types)
{
    static const struct check_case cases[] = {
        { "sandbox_create", "{\"timeout\":5,\"memory\":99999,\"cpu\":9}",
          "{\"timeout\":5,\"memory\":99999,\"cpu\":9.0}" }, /* sandbox_config_bound() knows how much there is */
        { "sandbox_create", "{\"memory\":1e300,\"cpu\":-1}", "{\"memory\":9007199254740991,\"cpu\":-1.0}" },
        { "sandbox_create", "{\"timeout\":\"120\",\"memory\":256.0,\"cpu\":\"1.5\"}",
          "{\"timeout\":120,\"memory\":256,\"cpu\":1.5}" },
        { "sandbox_create", "{\"timeout\":-1,\"memory\":1.5,\"cpu\":\"x\",\"network\":\"maybe\"}", "{}" },
        { "sandbox_create", "{\"env\":[],\"metadata\":\"x\",\"entrypoint\":{},\"timeout\":null,\"other\":1}",
          "{\"other\":1}" },
        { "sandbox_create", "{\"network\":\"1\",\"cpu\":2}", "{\"network\":true,\"cpu\":2.0}" },
        { "sandbox_create", "{\"env\":{\"A\":1}}", "400 env[A]: must be text" },
        { "sandbox_create", "{\"metadata\":{\"A\":null}}", "400 metadata[A]: must be text" },
        { "sandbox_create", "{\"entrypoint\":[\"a\",2]}", "400 entrypoint[1]: must be text" },
        { "sandbox_create", "{\"image\":5}", "400 image: must be text" },
        { "sandbox_create", "{\"name\":\"\"}", "400 name: must not be empty" },
    };
    RUN_CASES(cases);
}

static void check_warnings(const char *op, const char *params, const char *expected)
{
    struct settings set;
    struct err err = ERR_INIT;
    JSON_OWNED p = NULL;
    JSON_OWNED warnings = NULL;
    settings_init(&set);
    CHECK_INT(json_read(params, strlen(params), &p, &err), 0);
    CHECK_INT(spec_check(op_named(op), p, &set, &warnings, &err), 0);
    CLEANUP(free_p) char *text = warnings ? json_write(warnings, NULL) : xstrdup("none");
    CHECK_STR(text, expected);
    settings_done(&set);
}

TEST(what_is_ignored_or_changed_is_a_warning)
{
    static const struct check_case cases[] = {
        { "cmd_run", "{\"id\":\"x\",\"command\":\"ls\",\"timeout\":300}", "none" },
        { "cmd_run", "{\"id\":\"x\",\"command\":\"ls\",\"timeout\":\"5\",\"cwd\":null}", "none" },
        { "cmd_run", "{\"id\":\"x\",\"command\":\"ls\",\"_caller_worker_id\":\"w\"}", "none" },
        { "cmd_run", "{\"id\":\"x\",\"command\":\"ls\",\"timeout\":301}",
          "[\"timeout: 301 is not between 1 and 300 (III_MAX_CMD_TIMEOUT)\"]" },
        { "cmd_run", "{\"id\":\"x\",\"command\":\"ls\",\"timout\":null,\"working_dir\":1}",
          "[\"timout: unknown field; did you mean \\\"timeout\\\"?\",\"working_dir: unknown field\"]" },
        { "sandbox_list", "{\"pageSize\":500}", "[\"pageSize: 500 is not between 1 and 200\"]" },
        { "sandbox_create", "{\"network\":\"maybe\",\"memory\":-5,\"entrypoint\":{}}",
          "[\"memory: must be a whole number, 0 or more\",\"network: must be true or false\","
          "\"entrypoint: must be an array of texts\"]" },
        { "egress_set", "{\"id\":\"x\",\"rules\":[{\"action\":\"deny\"},{\"action\":\"deny\",\"port\":1}]}",
          "[\"rules[1].port: unknown field; did you mean \\\"ports\\\"?\"]" },
        { "template_create", "{\"name\":\"t\",\"config\":{\"image\":\"x\",\"memory_mb\":1,\"memory\":1e17}}",
          "[\"config.memory: 1e+17 is not between 0 and 9007199254740991\","
          "\"config.memory_mb: unknown field; did you mean \\\"memory\\\"?\"]" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_warnings(cases[i].op, cases[i].params, cases[i].expected);
}

TEST(a_missing_field_may_be_misspelled)
{
    static const struct check_case cases[] = {
        { "cmd_run", "{\"id\":\"x\",\"comand\":\"ls\"}", "400 command is required; \"comand\" is not a field" },
        { "cmd_run", "{\"id\":\"x\",\"cwd\":\"/\",\"script\":\"ls\"}", "400 command is required" },
        { "sandbox_fork", "{\"id\":\"x\",\"count\":1001}", "400 count: 1001 is not between 1 and 1000" },
    };
    RUN_CASES(cases);
}

TEST(numbers_and_booleans_may_be_texts)
{
    static const struct check_case cases[] = {
        { "sandbox_list", "{\"page\":\"0\",\"pageSize\":\"500\"}", "{\"page\":1,\"pageSize\":200}" },
        { "sandbox_list", "{\"page\":\"one\"}", "400 page: must be a whole number" },
        { "sandbox_list", "{\"page\":\"1e3\"}", "400 page: must be a whole number" },
        { "sandbox_list", "{\"page\":\" 1\"}", "400 page: must be a whole number" },
        { "sandbox_list", "{\"page\":\"99999999999999999999\"}", "{\"page\":1000000000}" },
        { "sandbox_list", "{\"metadata\":\"{\\\"a\\\":\\\"b\\\"}\"}", "{\"metadata\":{\"a\":\"b\"}}" },
        { "sandbox_list", "{\"metadata\":\"{\\\"a\\\":1}\"}", "400 metadata[a]: must be text" },
        { "git_diff", "{\"id\":\"x\",\"staged\":\"0\"}", "{\"id\":\"x\",\"staged\":false}" },
        { "git_diff", "{\"id\":\"x\",\"staged\":\"yes\"}", "400 staged: must be true or false" },
        { "alert_set", "{\"id\":\"x\",\"metric\":\"cpu\",\"threshold\":\"12.5\"}",
          "{\"id\":\"x\",\"metric\":\"cpu\",\"threshold\":12.5}" },
        { "alert_set", "{\"id\":\"x\",\"metric\":\"cpu\",\"threshold\":\"0x10\"}", "400 threshold: must be a number" },
        { "alert_set", "{\"id\":\"x\",\"metric\":\"cpu\",\"threshold\":\"inf\"}", "400 threshold: must be a number" },
        { "alert_set", "{\"id\":\"x\",\"metric\":\"cpu\",\"threshold\":257}",
          "400 threshold: 257 is not between 0 and 256" },
        { "proxy_request", "{\"id\":\"x\",\"port\":\"70000\"}", "400 port: 70000 is not between 1 and 65535" },
        { "port_unexpose", "{\"id\":\"x\",\"containerPort\":\"8080\"}", "{\"id\":\"x\",\"containerPort\":8080}" },
        { "port_expose", "{\"id\":\"x\",\"containerPort\":0}", "400 containerPort: 0 is not between 1 and 65535" },
        { "port_expose", "{\"id\":\"x\",\"containerPort\":80.5}", "400 containerPort: must be a whole number" },
    };
    RUN_CASES(cases);
}

TEST(required_choices_and_nulls)
{
    static const struct check_case cases[] = {
        { "cmd_run", "{\"id\":\"x\"}", "400 command is required" },
        { "cmd_run", "{\"id\":\"x\",\"command\":null}", "400 command is required" },
        { "cmd_run", "{\"id\":\"x\",\"command\":\"ls\",\"timeout\":null,\"cwd\":null}",
          "{\"id\":\"x\",\"command\":\"ls\"}" },
        { "cmd_run", "{\"id\":\"x\",\"command\":\"ls\",\"timeout\":0}",
          "{\"id\":\"x\",\"command\":\"ls\",\"timeout\":1}" },
        { "proc_kill", "{\"id\":\"x\",\"pid\":1,\"signal\":\"KILL\"}", "{\"id\":\"x\",\"pid\":1,\"signal\":\"KILL\"}" },
        { "proc_kill", "{\"id\":\"x\",\"pid\":1,\"signal\":\"KIL\"}",
          "400 signal: \"KIL\" is none of TERM|KILL|INT|HUP|USR1|USR2|STOP|CONT; did you mean \"KILL\"?" },
        { "proc_kill", "{\"id\":\"x\",\"pid\":0}", "400 pid: 0 is not between 1 and 4194304" },
        { "cmd_background_logs", "{\"id\":\"x\",\"cursor\":-1}",
          "400 cursor: -1 is not between 0 and 9007199254740991" },
    };
    RUN_CASES(cases);
}

TEST(commands_are_texts_or_word_lists)
{
    static const struct check_case cases[] = {
        { "cmd_run", "{\"id\":\"x\",\"command\":\"\"}", "400 command: must not be empty" },
        { "cmd_run", "{\"id\":\"x\",\"command\":[]}", "400 command: 0 arguments, allowed are 1 to 1000" },
        { "cmd_run", "{\"id\":\"x\",\"command\":[\"ls\",\"\"]}", "{\"id\":\"x\",\"command\":[\"ls\",\"\"]}" },
        { "cmd_run", "{\"id\":\"x\",\"command\":[\"\"]}",
          "400 command: the program must not be empty, and all arguments together have at most 1048576 bytes" },
        { "cmd_run", "{\"id\":\"x\",\"command\":[1]}", "400 command[0]: must be text without NUL bytes" },
        { "cmd_run", "{\"id\":\"x\",\"command\":{}}", "400 command: must be text or an array of texts" },
        { "cmd_run", "{\"id\":\"x\",\"command\":\"a\\u0000b\"}", "400 command: holds a NUL byte" },
        { "fs_write", "{\"id\":\"x\",\"path\":\"p\",\"content\":\"a\\u0000b\"}",
          "{\"id\":\"x\",\"path\":\"p\",\"content\":\"a\\u0000b\"}" },
        { "fs_write", "{\"id\":\"x\",\"path\":\"p\",\"content\":\"\"}",
          "{\"id\":\"x\",\"path\":\"p\",\"content\":\"\"}" },
        { "fs_write", "{\"id\":\"x\",\"path\":\"p\"}", "400 content is required" },
    };
    RUN_CASES(cases);
}

TEST(nested_objects_are_checked_by_their_members)
{
    static const struct check_case cases[] = {
        { "fs_move", "{\"id\":\"x\",\"moves\":[{\"from\":\"a\",\"to\":\"b\"}]}",
          "{\"id\":\"x\",\"moves\":[{\"from\":\"a\",\"to\":\"b\"}]}" },
        { "fs_move", "{\"id\":\"x\",\"moves\":[{\"from\":\"a\"}]}", "400 moves[0]: to is required" },
        { "fs_move", "{\"id\":\"x\",\"moves\":[1]}", "400 moves[0]: must be an object" },
        { "fs_move", "{\"id\":\"x\",\"moves\":[]}", "400 moves: 0 entries, allowed are 1 to 1000" },
        { "fs_info", "{\"id\":\"x\",\"paths\":\"a\"}", "400 paths: must be an array of texts" },
        { "env_set", "{\"id\":\"x\",\"vars\":{}}", "400 vars: 0 entries, allowed are 1 to 1000" },
        { "template_create", "{\"name\":\"t\",\"config\":{\"memory\":8}}", "400 config: image is required" },
        { "template_create", "{\"name\":\"t\",\"config\":{\"image\":\"i\",\"memory\":8}}",
          "{\"name\":\"t\",\"config\":{\"image\":\"i\",\"memory\":8}}" },
        { "event_publish", "{\"topic\":\"t\",\"sandboxId\":\"s\",\"data\":null}",
          "{\"topic\":\"t\",\"sandboxId\":\"s\"}" },
    };
    RUN_CASES(cases);
}

static char *repeated(char c, size_t n)
{
    char *s = xzalloc(n + 1);
    memset(s, c, n);
    return s;
}

/* One field with a text of n bytes; 0 or -EINVAL. */
static int text_of(const char *op, const char *field, size_t n)
{
    CLEANUP(free_p) char *text = repeated('a', n);
    JSON_OWNED p = json_pack("{s:s, s:s, s:s}", "id", "x", "path", "p", "content", "c");
    (void)json_object_set_new(p, field, json_string(text));
    return spec_check(op_named(op), p, NULL, NULL, NULL);
}

static int list_of(const char *op, const char *field, size_t n, size_t bytes)
{
    CLEANUP(free_p) char *text = repeated('a', bytes);
    JSON_OWNED p = json_pack("{s:s, s:[]}", "id", "x", field);
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(json_object_get(p, field), json_string(text));
    return spec_check(op_named(op), p, NULL, NULL, NULL);
}

static int map_of(const char *op, const char *field, size_t n, size_t key_bytes, size_t bytes)
{
    CLEANUP(free_p) char *text = repeated('v', bytes);
    CLEANUP(free_p) char *key = repeated('k', key_bytes + 1);
    JSON_OWNED p = json_pack("{s:s, s:{}}", "id", "x", field);
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(key, key_bytes + 1, "%0*zu", (int)key_bytes, i);
        (void)json_object_set_new(json_object_get(p, field), key, json_string(text));
    }
    return spec_check(op_named(op), p, NULL, NULL, NULL);
}

TEST(texts_lists_and_maps_stop_at_their_limits)
{
    CHECK_INT(text_of("sandbox_create", "name", 255), 0);
    CHECK_INT(text_of("sandbox_create", "name", 256), -EINVAL);
    CHECK_INT(text_of("sandbox_create", "image", 256), -EINVAL);
    CHECK_INT(text_of("cmd_run", "command", 1048576), 0);
    CHECK_INT(text_of("cmd_run", "command", 1048577), -EINVAL);
    CHECK_INT(text_of("fs_read", "path", 4096), 0);
    CHECK_INT(text_of("fs_read", "path", 4097), -EINVAL);
    CHECK_INT(text_of("fs_read", "id", 255), 0);
    CHECK_INT(text_of("fs_read", "id", 256), -ENOENT); /* there is no such thing */
    CHECK_INT(text_of("fs_search", "pattern", 200), 0);
    CHECK_INT(text_of("fs_search", "pattern", 201), -EINVAL);
    CHECK_INT(list_of("fs_mkdir", "paths", 1000, 1), 0);
    CHECK_INT(list_of("fs_mkdir", "paths", 1001, 1), -EINVAL);
    CHECK_INT(list_of("fs_mkdir", "paths", 1, 4097), -EINVAL);
    CHECK_INT(list_of("cmd_run", "command", 1000, 1), 0);
    CHECK_INT(list_of("cmd_run", "command", 1001, 1), -EINVAL);
    CHECK_INT(list_of("cmd_run", "command", 2, 524288), 0);
    CHECK_INT(list_of("cmd_run", "command", 2, 524289), -EINVAL);
    CHECK_INT(map_of("env_set", "vars", 1000, 8, 1), 0);
    CHECK_INT(map_of("env_set", "vars", 1001, 8, 1), -EINVAL);
    CHECK_INT(map_of("env_set", "vars", 1, 255, 1), 0);
    CHECK_INT(map_of("env_set", "vars", 1, 256, 1), -EINVAL);
    CHECK_INT(map_of("env_set", "vars", 1, 8, 131072), 0);
    CHECK_INT(map_of("env_set", "vars", 1, 8, 131073), -EINVAL);
}

/* What the rows promise about themselves, for every group. */
TEST(rows_are_complete)
{
    for (size_t i = 0; i < OP_COUNT; i++) {
        const struct op *op = &spec_ops[i];
        bool has_reply = op->flags & OP_NOT_JSON || spec_schema(op->reply);
        if (!has_reply)
            printf("# %s: no schema %s\n", op->name, op->reply);
        CHECK(has_reply);
        CHECK(op->path[0] == '/' && strstr(op->fn, "::") && *op->help);
        size_t n_params = 0, n_fields = 0;
        for (const char *at = op->path; (at = strchr(at, ':')); at++)
            n_params++;
        for (const struct field *f = op->fields; f->name; f++) {
            n_fields += (f->flags & FIELD_PATH) != 0;
            CHECK(f->type == FIELD_BOOL || f->type == FIELD_ANY || f->max > 0); /* no field is unbounded */
            CHECK(f->max >= f->min && *f->help);
        }
        CHECK_INT(n_params, n_fields);
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(spec_ops[k].name, op->name) != 0 &&
                  (strcmp(spec_ops[k].method, op->method) != 0 || strcmp(spec_ops[k].path, op->path) != 0));
    }
    CHECK(OP_COUNT >= 98 + 1 + 6); /* the contract, the OpenAPI document, the aliases of workers */
}

TEST(shapes_become_json_schema)
{
    JSON_OWNED s = schemas_from_shape("{a:str b?:[@X] c:<int> d:'x|y' e:str~ f:(int bool)}");
    CLEANUP(free_p) char *text = json_write(s, NULL);
    CHECK_STR(text, "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"array\","
                    "\"items\":{\"$ref\":"
                    "\"#/components/schemas/"
                    "X\"}},\"c\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}},\"d\":{"
                    "\"type\":\"string\",\"enum\":[\"x\",\"y\"]},\"e\":{\"type\":[\"string\",\"null\"]},\"f\":{"
                    "\"oneOf\":[{\"type\":"
                    "\"integer\"},{\"type\":\"boolean\"}]}},\"required\":[\"a\",\"c\",\"d\",\"e\",\"f\"]}");
    static const char *const bad[] = {
        "", "{", "{a}", "{a:}", "[str", "<int", "'a", "(str", "word", "str str", "{:str}"
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(schemas_from_shape(bad[i]) == NULL);
    for (const struct schema *row = schemas_rows; row->name; row++)
        CHECK(spec_schema(row->name) != NULL);
    CHECK(spec_schema("Nothing") == NULL);
}

/* The contract of the sandbox:: functions: JSON types are taken as they are, and scalars for text where it says so. */
TEST(functions_take_scalars_for_text_and_no_text_for_numbers)
{
    const struct op *op = &spec_ops[OP_ID_fn_exec];
    struct err err = ERR_INIT;
    JSON_OWNED good =
        json_pack("{s:s, s:[i, b, s], s:f, s:n}", "sandbox_id", "x", "args", 1, 1, "a", "timeout_ms", 5.0, "stdin");
    CHECK_INT(spec_check(op, good, NULL, NULL, &err), 0);
    CLEANUP(free_p) char *text = json_write(good, NULL);
    CHECK_STR(text, "{\"sandbox_id\":\"x\",\"args\":[\"1\",\"true\",\"a\"],\"timeout_ms\":5}");
    JSON_OWNED number = json_pack("{s:s, s:s}", "sandbox_id", "x", "timeout_ms", "5");
    CHECK(spec_check(op, number, NULL, NULL, &err) < 0);
    CHECK_STR(err.msg, "timeout_ms: must be a whole number");
    JSON_OWNED boolean = json_pack("{s:s, s:s}", "sandbox_id", "x", "wait", "true");
    CHECK(spec_check(&spec_ops[OP_ID_fn_stop], boolean, NULL, NULL, &err) < 0);
    JSON_OWNED entry = json_pack("{s:s, s:[{}]}", "sandbox_id", "x", "args");
    CHECK(spec_check(op, entry, NULL, NULL, &err) < 0);
    CHECK_STR(err.msg, "args[0]: must be text");
    for (int i = OP_COUNT; i < OP_ALL; i++)
        if (spec_ops[i].flags & OP_FUNCTION) {
            JSON_OWNED reply = schemas_from_shape(spec_ops[i].reply);
            CHECK(reply != NULL);
        }
}

static bool is_called_an_id(const char *name)
{
    size_t len = strlen(name);
    return strcmp(name, "id") == 0 || (len > 2 && strcmp(name + len - 2, "Id") == 0) ||
           (len > 3 && strcmp(name + len - 3, "_id") == 0);
}

/* Access is decided by these marks: one that is forgotten would be refused (in a path) or looked over (elsewhere). */
TEST(every_id_says_whose_it_is)
{
    for (int i = 0; i < OP_ALL; i++)
        for (const struct field *f = spec_ops[i].fields; f->name; f++)
            if (f->flags & FIELD_PATH || is_called_an_id(f->name) || strcmp(f->name, "template") == 0) {
                CHECK(f->ref != REF_NONE);
                if (f->ref == REF_NONE)
                    printf("# %s: the field %s has no mark\n", spec_ops[i].name, f->name);
            }
}

int main(void)
{
    RUN(every_id_says_whose_it_is);
    RUN(functions_take_scalars_for_text_and_no_text_for_numbers);
    RUN(create_takes_any_number_and_ignores_wrong_types);
    RUN(what_is_ignored_or_changed_is_a_warning);
    RUN(a_missing_field_may_be_misspelled);
    RUN(numbers_and_booleans_may_be_texts);
    RUN(required_choices_and_nulls);
    RUN(commands_are_texts_or_word_lists);
    RUN(nested_objects_are_checked_by_their_members);
    RUN(texts_lists_and_maps_stop_at_their_limits);
    RUN(rows_are_complete);
    RUN(shapes_become_json_schema);
    return tap_done();
}
