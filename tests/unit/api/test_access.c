/* Roles against what a row needs, and ids against the caller's tenant, for the marks that need no store to decide. */
#include <errno.h>
#include <stdio.h>

#include "api/access.h"
#include "base/map.h"
#include "tap.h"

enum { READ = 0, WRITE = OP_MUTATES, ADMIN = OP_ADMIN, WATCH = OP_ADMIN | OP_WATCH };

static struct caller make(enum token_file_role role, const char *view)
{
    return (struct caller){ .name = "t", .role = role, .by = { .tenant = view ? view : "", .view = view } };
}

static int role(enum token_file_role r, const char *view, unsigned flags)
{
    struct caller who = make(r, view);
    struct op op = { .fn = "thing::do", .flags = flags };
    struct err err = ERR_INIT;
    int code = access_role(&who, &op, &err);
    CHECK(code == 0 || (err.code == ERR_FORBIDDEN && strstr(err.msg, "thing::do")));
    return code;
}

TEST(what_each_role_may_do)
{
    static const struct {
        enum token_file_role role;
        const char *view;
        unsigned flags;
        bool may;
    } rows[] = {
        { TOKEN_FILE_ADMIN, NULL, READ, true },      { TOKEN_FILE_ADMIN, NULL, WRITE, true },
        { TOKEN_FILE_ADMIN, NULL, ADMIN, true },     { TOKEN_FILE_ADMIN, NULL, WATCH, true },
        { TOKEN_FILE_USER, "a", READ, true },        { TOKEN_FILE_USER, "a", WRITE, true },
        { TOKEN_FILE_USER, "a", ADMIN, false },      { TOKEN_FILE_USER, "a", WATCH, false },
        { TOKEN_FILE_USER, NULL, WATCH, false },     { TOKEN_FILE_READONLY, "a", READ, true },
        { TOKEN_FILE_READONLY, "a", WRITE, false },  { TOKEN_FILE_READONLY, "a", ADMIN, false },
        { TOKEN_FILE_READONLY, "a", WATCH, false },  { TOKEN_FILE_READONLY, NULL, READ, true },
        { TOKEN_FILE_READONLY, NULL, WRITE, false }, { TOKEN_FILE_READONLY, NULL, ADMIN, false },
        { TOKEN_FILE_READONLY, NULL, WATCH, true },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_INT(role(rows[i].role, rows[i].view, rows[i].flags), rows[i].may ? 0 : -EPERM);
    CHECK_INT(access_role(NULL, &(struct op){ .fn = "x", .flags = ADMIN | WRITE }, NULL), 0); /* the server itself */
}

TEST(refusals_say_why)
{
    struct err err = ERR_INIT;
    struct caller reader = make(TOKEN_FILE_READONLY, "a");
    CHECK_INT(access_need(&reader, true, false, "kv::set", &err), -EPERM);
    CHECK_STR(err.msg, "kv::set changes something: the token \"t\" is read-only");
    CHECK_INT(access_need(&reader, false, true, "kv::set", &err), -EPERM);
    CHECK_STR(err.msg, "kv::set needs an admin token: the token \"t\" has the role read-only");
}

TEST(a_token_for_some_operations)
{
    struct err err = ERR_INIT;
    const struct op op = { .fn = "cmd::run", .group = "exec", .flags = WRITE };
    static const struct {
        const char *operations;
        bool may;
    } rows[] = { { "", true },       { "exec", true },   { "cmd::run", true },         { "files,exec", true },
                 { "files", false }, { "cmd", false },   { "cmd::run-stream", false }, { "execs", false },
                 { "exe", false },   { "files,", false } };
    for (int r = 0; r < TOKEN_FILE_READONLY; r++) /* admins, too */
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
            struct caller who = make((enum token_file_role)r, r == TOKEN_FILE_ADMIN ? NULL : "a");
            (void)snprintf(who.operations, sizeof(who.operations), "%s", rows[i].operations);
            CHECK_INT(access_role(&who, &op, &err), rows[i].may ? 0 : -EPERM);
            CHECK_INT(access_need(&who, false, false, "/metrics", &err), *rows[i].operations ? -EPERM : 0);
        }
    CHECK(strstr(err.msg, "/metrics"));
}

TEST(a_token_for_one_sandbox_and_rows)
{
    static const struct {
        enum field_ref ref, more;
        unsigned flags;
        bool may;
    } rows[] = {
        { REF_SANDBOX, REF_NONE, 0, true },
        { REF_SANDBOX, REF_INNER, WRITE, true },
        { REF_SANDBOX_FILTER, REF_NONE, 0, true },
        { REF_EXEC, REF_NONE, 0, true },
        { REF_JOB, REF_NONE, 0, true },
        { REF_ALERT, REF_NONE, 0, true },
        { REF_WEBHOOK, REF_NONE, 0, true },
        { REF_SNAPSHOT, REF_NONE, 0, true },
        { REF_SANDBOX, REF_NONE, OP_SPAWNS, false },
        { REF_SANDBOX, REF_VOLUME, 0, false },
        { REF_NETWORK, REF_SANDBOX, 0, false },
        { REF_SANDBOX, REF_TEMPLATE, 0, false },
        { REF_TEMPLATE_NAME, REF_NONE, 0, false },
        { REF_SHARED, REF_NONE, 0, false },
        { REF_NONE, REF_NONE, 0, false },
        { REF_FILTER, REF_INNER, 0, false },
        { REF_NONE, REF_NONE, OP_SANDBOXES, true },
        { REF_SANDBOX, REF_NONE, ADMIN, false },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct field fields[] = { { .name = "a", .ref = rows[i].ref },
                                        { .name = "b", .ref = rows[i].more },
                                        { 0 } };
        const struct op op = { .fn = "thing::do", .group = "things", .fields = fields, .flags = rows[i].flags };
        struct caller who = make(TOKEN_FILE_USER, "a");
        struct err err = ERR_INIT;
        (void)snprintf(who.sandbox, sizeof(who.sandbox), "sbx_1");
        CHECK_INT(access_role(&who, &op, &err), rows[i].may ? 0 : -EPERM);
    }
}

static struct manager manager; /* with sandboxes alone */

static int ids(const char *view, enum field_ref ref, unsigned flags, json_t *value, struct err *err)
{
    struct caller who = make(TOKEN_FILE_USER, view);
    const struct field fields[] = { { .name = "first" }, { .name = "thing", .ref = ref, .flags = flags }, { 0 } };
    struct op op = { .fn = "thing::do", .fields = fields };
    JSON_OWNED params = json_object();
    if (value)
        (void)json_object_set_new(params, "thing", value);
    return access_ids(&manager, &who, &op, params, err);
}

TEST(ids_that_no_field_marks_are_closed)
{
    struct err err = ERR_INIT;
    CHECK_INT(ids("a", REF_NONE, FIELD_PATH, json_string("x"), &err), -ENOENT);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_STR(err.msg, "path not found: x");
    CHECK_INT(ids("a", REF_NONE, 0, json_string("x"), &err), 0); /* a word of the body is no id */
    CHECK_INT(ids("a", REF_NONE, FIELD_PATH, NULL, &err), 0);    /* not given */
    CHECK_INT(ids("a", REF_NONE, FIELD_PATH, json_integer(7), &err), -ENOENT);
    CHECK_INT(ids(NULL, REF_NONE, FIELD_PATH, json_string("x"), &err), 0); /* sees everything */
    CHECK_INT(ids("a", REF_SHARED, FIELD_PATH, json_string("x"), &err), 0);
    CHECK_INT(ids("a", REF_INNER, FIELD_PATH, json_string("x"), &err), 0);
    CHECK_INT(ids("a", REF_FILTER, 0, json_string("x"), &err), 0);
    CHECK_INT(access_ids(NULL, NULL, &spec_ops[0], NULL, &err), 0);
}

TEST(a_sandbox_of_another_is_no_sandbox)
{
    static const unsigned places[] = { FIELD_PATH, 0 }; /* in the path and in the body */
    struct err err = ERR_INIT;
    struct sandbox own = { .tenant = (char *)(uintptr_t) "a" }, other = { .tenant = (char *)(uintptr_t) "b" };
    manager.sandboxes = map_new();
    map_set(manager.sandboxes, "sbx_own", &own);
    map_set(manager.sandboxes, "sbx_other", &other);
    for (size_t i = 0; i < 2; i++) {
        CHECK_INT(ids("a", REF_SANDBOX, places[i], json_string("sbx_own"), &err), 0);
        CHECK_INT(ids("a", REF_SANDBOX, places[i], json_string("sbx_other"), &err), -ENOENT);
        CHECK_STR(err.msg, "sandbox not found: sbx_other");
        CHECK_INT(ids("a", REF_SANDBOX, places[i], json_string("sbx_never"), &err), -ENOENT);
        CHECK_STR(err.msg, "sandbox not found: sbx_never");
        CHECK_INT(ids(NULL, REF_SANDBOX, places[i], json_string("sbx_other"), &err), 0);
    }
    struct caller who = make(TOKEN_FILE_USER, "a");
    CHECK(access_sandbox(&manager, &who, "sbx_own", &err) == &own);
    CHECK(!access_sandbox(&manager, &who, "sbx_other", &err));
    CHECK_STR(err.msg, "sandbox not found: sbx_other");
    CHECK(access_sandbox(&manager, NULL, "sbx_other", &err) == &other);
    manager.sandboxes = map_free(manager.sandboxes);
}

TEST(a_token_for_one_sandbox_and_ids)
{
    static const struct field fields[] = { { .name = "id", .ref = REF_SANDBOX },
                                           { .name = "filter", .ref = REF_SANDBOX_FILTER },
                                           { .name = "inner", .ref = REF_INNER },
                                           { 0 } };
    const struct op op = { .fn = "thing::do", .fields = fields }, list = { .fields = fields, .flags = OP_SANDBOXES };
    struct err err = ERR_INIT;
    struct sandbox own = { .id = "sbx_own", .tenant = (char *)(uintptr_t) "a" };
    struct sandbox other = { .id = "sbx_other", .tenant = (char *)(uintptr_t) "a" };
    struct caller who = make(TOKEN_FILE_USER, "a");
    (void)snprintf(who.sandbox, sizeof(who.sandbox), "sbx_own");
    who.by.sandbox = who.sandbox;
    manager.sandboxes = map_new();
    map_set(manager.sandboxes, "sbx_own", &own);
    map_set(manager.sandboxes, "sbx_other", &other);
    JSON_OWNED good = json_pack("{s:s, s:s}", "id", "sbx_own", "inner", "x");
    CHECK_INT(access_ids(&manager, &who, &op, good, &err), 0);
    CHECK_STR(json_get_str(good, "filter", ""), "sbx_own"); /* a list is narrowed */
    JSON_OWNED page = json_object();
    CHECK_INT(access_ids(&manager, &who, &list, page, &err), 0);
    CHECK(!json_get(page, "filter")); /* one that is its own anyway is not */
    JSON_OWNED bad = json_pack("{s:s}", "id", "sbx_other");
    CHECK_INT(access_ids(&manager, &who, &op, bad, &err), -ENOENT);
    CHECK_STR(err.msg, "sandbox not found: sbx_other");
    JSON_OWNED wide = json_pack("{s:s, s:s}", "id", "sbx_own", "filter", "sbx_gone");
    CHECK_INT(access_ids(&manager, &who, &op, wide, &err), -ENOENT);
    CHECK(access_sandbox(&manager, &who, "sbx_own", &err) == &own);
    CHECK(!access_sandbox(&manager, &who, "sbx_other", &err));
    own.tenant = (char *)(uintptr_t) "b"; /* as if another's had the id */
    CHECK(!access_sandbox(&manager, &who, "sbx_own", &err));
    manager.sandboxes = map_free(manager.sandboxes);
}

int main(void)
{
    RUN(what_each_role_may_do);
    RUN(refusals_say_why);
    RUN(a_token_for_some_operations);
    RUN(a_token_for_one_sandbox_and_rows);
    RUN(a_token_for_one_sandbox_and_ids);
    RUN(ids_that_no_field_marks_are_closed);
    RUN(a_sandbox_of_another_is_no_sandbox);
    return tap_done();
}
