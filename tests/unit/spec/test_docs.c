/* The committed documents are what the table makes. SPEC_DOCS_UPDATE=1 rewrites them. */
#include <stdbool.h>

#include "base/alloc.h"
#include "base/json.h"
#include "docfile.h"
#include "spec/spec.h"
#include "tap.h"

TEST(openapi_json_is_current)
{
    JSON_OWNED doc = spec_openapi("sandbox", III_VERSION);
    CLEANUP(free_p) char *text = json_dumps(doc, JSON_INDENT(2));
    CHECK(text != NULL);
    CLEANUP(free_p) char *file = xasprintf("%s\n", text ? text : "");
    docfile_compare("docs/openapi.json", file);
}

TEST(reference_pages_are_current)
{
    CLEANUP(free_p) char *api = spec_reference_md();
    CLEANUP(free_p) char *settings = spec_settings_md();
    CLEANUP(free_p) char *limits = spec_limits_md();
    docfile_compare("docs/api-reference.md", api);
    docfile_compare("docs/configuration.md", settings);
    docfile_compare("docs/limits-reference.md", limits);
}

/* "#/components/schemas/Sandbox" to its value. */
static const json_t *follow(const json_t *doc, const char *ref)
{
    char part[128];
    if (strncmp(ref, "#/", 2) != 0)
        return NULL;
    for (const char *at = ref + 2; doc && *at;) {
        size_t len = strcspn(at, "/");
        (void)snprintf(part, sizeof(part), "%.*s", (int)len, at);
        doc = json_object_get(doc, part);
        at += len + (at[len] == '/');
    }
    return doc;
}

static void check_refs(const json_t *doc, json_t *at)
{
    const char *key;
    json_t *value;
    size_t i;
    json_object_foreach(at, key, value)
    {
        if (strcmp(key, "$ref") == 0) {
            if (!follow(doc, json_string_value(value)))
                printf("# dangling %s\n", json_string_value(value));
            CHECK(follow(doc, json_string_value(value)) != NULL);
        }
        check_refs(doc, value);
    }
    json_array_foreach(at, i, value) check_refs(doc, value);
}

static void check_operation(const char *path, const json_t *op)
{
    size_t i, n = 0, n_templates = 0;
    json_t *p;
    CHECK(json_is_string(json_object_get(op, "operationId")) && json_is_object(follow(op, "#/responses/200")));
    CHECK(json_is_object(follow(op, "#/responses/500")));
    json_array_foreach(json_object_get(op, "parameters"), i, p)
    {
        bool is_path = strcmp(json_get_str(p, "in", ""), "path") == 0;
        CLEANUP(free_p) char *braced = xasprintf("{%s}", json_get_str(p, "name", ""));
        CHECK(!is_path || (strstr(path, braced) && json_get_bool(p, "required", false)));
        n += is_path;
    }
    for (const char *at = path; (at = strchr(at, '{')); at++)
        n_templates++;
    CHECK_INT(n, n_templates);
}

TEST(openapi_holds_together)
{
    JSON_OWNED doc = spec_openapi("p", III_VERSION);
    const char *path, *method;
    json_t *item, *op;
    size_t n = 0;
    CHECK_STR(json_get_str(doc, "openapi", NULL), "3.1.0");
    check_refs(doc, doc);
    json_object_foreach(json_object_get(doc, "paths"), path, item)
    {
        CHECK(strncmp(path, "/p/", 3) == 0);
        json_object_foreach(item, method, op)
        {
            check_operation(path, op);
            n++;
        }
    }
    CHECK_INT(n, OP_COUNT);
    const json_t *paths = json_object_get(doc, "paths");
    const json_t *health = json_object_get(json_object_get(paths, "/p/health"), "get");
    CHECK(json_is_array(json_object_get(health, "security")) && !follow(health, "#/responses/401"));
    const json_t *stream = json_object_get(json_object_get(paths, "/p/sandboxes/{id}/exec/stream"), "post");
    CHECK(json_object_get(follow(stream, "#/responses/200/content"), "text/event-stream") != NULL);
}

int main(void)
{
    RUN(openapi_json_is_current);
    RUN(reference_pages_are_current);
    RUN(openapi_holds_together);
    return tap_done();
}
