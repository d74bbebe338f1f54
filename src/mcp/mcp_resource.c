#include "mcp/mcp_resource.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "http/url.h"
#include "mcp/mcp_text.h"

#define SCHEME    "sandbox://"
#define URI_MAX   8192
#define LOG_LINES 1000

static int not_ours(const char *uri, struct err *err)
{
    return err_set(err, ERR_INVALID, 0,
                   "%.100s: no resource has such an address; there are sandbox://ID, sandbox://ID/logs and "
                   "sandbox://ID/files/PATH",
                   uri);
}

static int parse(const char *uri, struct mcp_resource *ret, struct err *err)
{
    if (strlen(uri) > URI_MAX)
        return err_set(err, ERR_INVALID, 0, "uri: %zu bytes, at most %d are taken", strlen(uri), URI_MAX);
    if (strncmp(uri, SCHEME, strlen(SCHEME)) != 0)
        return not_ours(uri, err);
    const char *id = uri + strlen(SCHEME), *rest = id + strcspn(id, "/");
    if (rest == id)
        return not_ours(uri, err);
    (void)json_object_set_new(ret->params, "id", json_text(id, (size_t)(rest - id)));
    ret->op = OP_ID_sandbox_get;
    if (!*rest)
        return 0;
    if (strcmp(rest, "/logs") == 0) {
        ret->op = OP_ID_stream_logs;
        (void)json_object_set_new(ret->params, "tail", json_integer(LOG_LINES));
        (void)json_object_set_new(ret->params, "follow", json_false());
        return 0;
    }
    if (strncmp(rest, "/files", 6) != 0 || (rest[6] && rest[6] != '/'))
        return not_ours(uri, err);
    CLEANUP(buf_done) struct buf path = BUF_INIT(URI_MAX);
    const char *given = rest[6] ? rest + 6 : "/";
    if (url_decode(given, strlen(given), &path) < 0)
        return err_set(err, ERR_INVALID, 0, "files%.100s: a path with a broken escape in it", rest + 6);
    bool is_folder = path.data[path.len - 1] == '/';
    while (is_folder && path.len > 1 && path.data[path.len - 1] == '/')
        path.data[--path.len] = '\0';
    ret->op = is_folder ? OP_ID_fs_list : OP_ID_fs_download;
    (void)json_object_set_new(ret->params, "path", json_text(buf_text(&path), path.len));
    free(ret->path);
    ret->path = buf_steal(&path, NULL);
    return 0;
}

int mcp_resource_parse(const char *uri, struct mcp_resource *ret, struct err *err)
{
    struct mcp_resource r = { .params = json_object(), .path = xstrdup("") };
    int e = parse(uri, &r, err);
    if (e == 0)
        e = spec_check(&spec_ops[r.op], r.params, NULL, NULL, err);
    if (e < 0)
        mcp_resource_done(&r);
    else
        *ret = r;
    return e;
}

void mcp_resource_done(struct mcp_resource *r)
{
    json_decref(r->params);
    free(r->path);
    *r = (struct mcp_resource){ 0 };
}

static json_t *template_of(const char *uri, const char *name, const char *help, const char *mime)
{
    return json_pack("{s:s, s:s, s:s, s:s*}", "uriTemplate", uri, "name", name, "description", help, "mimeType", mime);
}

json_t *mcp_resource_templates(void)
{
    return json_pack("{s:[o, o, o]}", "resourceTemplates",
                     template_of("sandbox://{sandboxId}/files/{+path}", "sandbox-file",
                                 "A file of a sandbox by its absolute path; a folder when the path ends with /", NULL),
                     template_of("sandbox://{sandboxId}/logs", "sandbox-logs",
                                 "Recent output of the main process of a sandbox", "text/plain"),
                     template_of("sandbox://{sandboxId}", "sandbox", "The record of a sandbox", "application/json"));
}

bool mcp_resource_has(const char *uri_template, const char *argument)
{
    JSON_OWNED all = mcp_resource_templates();
    const json_t *list = json_get(all, "resourceTemplates");
    CLEANUP(free_p) char *plain = xasprintf("{%s}", argument), *reserved = xasprintf("{+%s}", argument);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_get_str(json_array_get(list, i), "uriTemplate", ""), uri_template) == 0)
            return strstr(uri_template, plain) || strstr(uri_template, reserved);
    return false;
}

json_t *mcp_resource_list(const json_t *page)
{
    static const struct {
        const char *behind, *words, *mime;
    } kinds[] = { { "", "", "application/json" },
                  { "/files/workspace/", ": files", "application/json" },
                  { "/logs", ": logs", "text/plain" } };
    json_t *list = json_array();
    const json_t *items = json_get(page, "items");
    int64_t number = json_get_int(page, "page", 1), size = json_get_int(page, "pageSize", MCP_RESOURCE_PAGE);
    for (size_t i = 0; i < json_array_size(items); i++) {
        const char *id = json_get_str(json_array_get(items, i), "id", "");
        const char *name = json_get_str(json_array_get(items, i), "name", id);
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
            (void)json_array_append_new(
                list, json_pack("{s:o, s:o, s:s}", "uri", json_sprintf(SCHEME "%s%s", id, kinds[k].behind), "name",
                                json_sprintf("%s%s", name, kinds[k].words), "mimeType", kinds[k].mime));
    }
    json_t *result = json_pack("{s:o}", "resources", list);
    if (json_array_size(items) > 0 && number * size < json_get_int(page, "total", 0))
        (void)json_object_set_new(result, "nextCursor", json_sprintf("%lld", (long long)number + 1));
    return result;
}

json_t *mcp_resource_contents(const struct mcp_resource *r, const char *uri, const json_t *body)
{
    json_t *one;
    if (r->op == OP_ID_fs_download) {
        one = mcp_text_resource(uri, r->path, json_is_string(body) ? json_string_value(body) : "");
    } else if (r->op == OP_ID_stream_logs) {
        CLEANUP(free_p) char *text = mcp_text_lines(body);
        one = json_pack("{s:s, s:s, s:s}", "uri", uri, "mimeType", "text/plain", "text", text);
    } else {
        CLEANUP(free_p) char *text = json_dumps(body, JSON_INDENT(2) | JSON_ENCODE_ANY);
        one = json_pack("{s:s, s:s, s:s}", "uri", uri, "mimeType", "application/json", "text", text ? text : "null");
    }
    return json_pack("{s:[o]}", "contents", one);
}
