/* Roles against what a row needs, and ids against the caller's tenant, for the marks that need no store to decide. */
#include <errno.h>

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

int main(void)
{
    RUN(what_each_role_may_do);
    RUN(refusals_say_why);
    RUN(ids_that_no_field_marks_are_closed);
    RUN(a_sandbox_of_another_is_no_sandbox);
    return tap_done();
}
