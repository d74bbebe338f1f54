/* Theory of operation. Pure functions from an operation's reply to a tool's result: content items (text, images) and,
 * for clients that know it, structuredContent. The tool's form (enum mcp_tool_form) selects the function that writes
 * the text, and its detail parameterizes it: a member to show, or a sentence with {members} of arguments and reply. The
 * caller owns every result.
 *
 * Everything that a sandbox put into a reply is untrusted: output may contain NUL and invalid UTF-8, a context's result
 * any type. A member that is missing or of the wrong type counts as empty; a failed command sets isError, so nothing
 * here fails. */
#include "mcp/mcp_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "base/warnings.h"
#include "mcp/mcp_cut.h"

#define TEXT_MAX ((size_t)256 << 20) /* the server's own limits are far below */

static json_t *text_item(const char *text)
{
    return json_pack("{s:s, s:o}", "type", "text", "text", json_text(text, strlen(text)));
}

/* Cuts out when it is too long for a conversation. */
static json_t *bounded_item(struct buf *out, bool *is_cut)
{
    *is_cut |= mcp_cut_text(out);
    return json_pack("{s:s, s:o}", "type", "text", "text", json_text(buf_text(out), out->len));
}

static json_t *image_item(const char *base64, const char *mime)
{
    return json_pack("{s:s, s:s, s:s}", "type", "image", "data", base64, "mimeType", mime);
}

json_t *mcp_text_failure(const char *text)
{
    return json_pack("{s:[o], s:b}", "content", text_item(text), "isError", 1);
}

/* --- text --- */

/* A value in the middle of a sentence: texts as they are, lists joined. */
static void add_value(struct buf *out, const json_t *value)
{
    if (json_is_string(value)) {
        (void)buf_add(out, json_string_value(value), json_string_length(value));
    } else if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value); i++) {
            (void)buf_add_str(out, i ? ", " : "");
            add_value(out, json_array_get(value, i));
        }
    } else if (value) {
        CLEANUP(free_p) char *text = json_write(value, NULL);
        (void)buf_add_str(out, text);
    }
}

static void fill_sentence(struct buf *out, const char *sentence, const struct mcp_text_answer *a)
{
    for (const char *at = sentence; *at;) {
        size_t plain = strcspn(at, "{");
        (void)buf_add(out, at, plain);
        at += plain;
        if (*at != '{')
            break;
        size_t len = strcspn(at, "}") - 1;
        CLEANUP(free_p) char *name = xstrndup(at + 1, len);
        json_t *value = json_get(a->args, name);
        add_value(out, value ? value : json_get(a->body, name));
        at += len + 2;
    }
}

/* "member|what is said when it is empty". */
static void plain_text(struct buf *out, const struct mcp_text_answer *a)
{
    size_t len = strcspn(a->tool->detail, "|");
    CLEANUP(free_p) char *name = xstrndup(a->tool->detail, len);
    const json_t *value = *name ? json_get(a->body, name) : a->body;
    if (json_is_string(value))
        (void)buf_add(out, json_string_value(value), json_string_length(value));
    if (out->len == 0 && a->tool->detail[len])
        (void)buf_add_str(out, a->tool->detail + len + 1);
}

/* Output may hold NUL. */
static void add_member(struct buf *out, const char *title, const json_t *body, const char *name)
{
    const json_t *value = json_get(body, name);
    (void)buf_add_str(out, title);
    if (json_is_string(value))
        (void)buf_add(out, json_string_value(value), json_string_length(value));
}

/* true: the command failed. */
static bool exec_text(struct buf *out, const json_t *body)
{
    bool has_complaint = json_string_length(json_get(body, "stderr")) > 0;
    int64_t code = json_get_int(body, "exitCode", 0);
    add_member(out, has_complaint ? "STDOUT:\n" : "", body, "stdout");
    if (has_complaint)
        add_member(out, "\n\nSTDERR:\n", body, "stderr");
    if (code != 0 && out->len == 0)
        (void)buf_addf(out, "exit code %lld", (long long)code);
    return code != 0;
}

static bool code_text(struct buf *out, const json_t *body)
{
    bool has_failed = json_is_string(json_get(body, "error"));
    if (has_failed)
        add_member(out, "ERROR:\n", body, "error");
    add_member(out, has_failed ? "\n\nOUTPUT:\n" : "", body, "output");
    return has_failed;
}

char *mcp_text_lines(const json_t *events)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT(TEXT_MAX);
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        const char *type = json_get_str(event, "type", "");
        if (strcmp(type, "end") == 0)
            continue;
        (void)buf_addf(&out, "%s[%s] %s", out.len ? "\n" : "", type,
                       json_get_str(event, "data", json_get_str(event, "error", "")));
    }
    return buf_steal(&out, NULL);
}

/* --- results that are more than text --- */

static const char *image_type(const json_t *result)
{
    const char *type = json_get_str(result, "type", "");
    if (!json_is_string(json_get(result, "data")))
        return NULL;
    return strcmp(type, "png") == 0 ? "image/png" : strcmp(type, "jpeg") == 0 ? "image/jpeg" : NULL;
}

/* Text first, then every picture. true: the code failed. */
static bool context_content(json_t *content, const json_t *body, bool *is_cut)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT(TEXT_MAX);
    const json_t *results = json_get(body, "results");
    bool has_failed = code_text(&out, body);
    if (json_string_length(json_get(body, "stderr")) > 0 && !has_failed)
        add_member(&out, out.len ? "\n\nSTDERR:\n" : "STDERR:\n", body, "stderr");
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *one = json_array_get(results, i), *data = json_get(one, "data");
        const char *type = json_get_str(one, "type", "");
        if (!data || image_type(one) || strcmp(type, "html") == 0 || strcmp(type, "svg") == 0)
            continue; /* HTML and the like always come with a text form */
        (void)buf_add_str(&out, out.len && out.data[out.len - 1] != '\n' ? "\n" : "");
        add_value(&out, data);
    }
    (void)json_array_append_new(content, bounded_item(&out, is_cut));
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *one = json_array_get(results, i);
        if (image_type(one))
            (void)json_array_append_new(content, image_item(json_get_str(one, "data", ""), image_type(one)));
    }
    return has_failed;
}

/* Images are in the content already: a second copy would waste space. */
static json_t *without_pictures(const json_t *body)
{
    json_t *copy = json_deep_copy(body), *results = json_get(copy, "results");
    for (size_t i = 0; i < json_array_size(results); i++)
        if (image_type(json_array_get(results, i)))
            (void)json_object_set_new(json_array_get(results, i), "data", json_null());
    return copy;
}

static const char *picture_type(const char *bytes, size_t len)
{
    static const struct {
        const char *magic;
        size_t len;
        const char *mime;
    } kinds[] = { { "\x89PNG\r\n\x1a\n", 8, "image/png" },
                  { "\xff\xd8\xff", 3, "image/jpeg" },
                  { "GIF87a", 6, "image/gif" },
                  { "GIF89a", 6, "image/gif" } };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (len >= kinds[i].len && memcmp(bytes, kinds[i].magic, kinds[i].len) == 0)
            return kinds[i].mime;
    return len >= 12 && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0 ? "image/webp" : NULL;
}

static const char *type_by_name(const char *path)
{
    static const char *const types[][2] = {
        { ".html", "text/html" },       { ".css", "text/css" },          { ".md", "text/markdown" },
        { ".csv", "text/csv" },         { ".json", "application/json" }, { ".py", "text/x-python" },
        { ".js", "text/javascript" },   { ".svg", "image/svg+xml" },     { ".xml", "application/xml" },
        { ".pdf", "application/pdf" },  { ".zip", "application/zip" },   { ".yaml", "application/yaml" },
        { ".yml", "application/yaml" },
    };
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(types[i][0], dot) == 0)
            return types[i][1];
    return NULL;
}

json_t *mcp_text_resource(const char *uri, const char *path, const char *base64)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT(TEXT_MAX);
    bool is_good = base64_decode(base64, strlen(base64), &bytes) == 0;
    const char *mime = is_good ? picture_type(buf_text(&bytes), bytes.len) : NULL;
    if (!mime)
        mime = type_by_name(path);
    bool is_text = is_good && utf8_is_valid(buf_text(&bytes), bytes.len) && !memchr(buf_text(&bytes), '\0', bytes.len);
    if (is_text)
        return json_pack("{s:s, s:s, s:o}", "uri", uri, "mimeType", mime ? mime : "text/plain", "text",
                         json_text(buf_text(&bytes), bytes.len));
    return json_pack("{s:s, s:s, s:s}", "uri", uri, "mimeType", mime ? mime : "application/octet-stream", "blob",
                     base64);
}

static void bytes_content(json_t *content, const struct mcp_text_answer *a, bool *is_cut)
{
    const char *base64 = json_is_string(a->body) ? json_string_value(a->body) : "";
    const char *path = json_get_str(a->args, "path", "");
    CLEANUP(free_p)
    char *uri = xasprintf("sandbox://%s/files%s%s", json_get_str(a->args, "sandboxId", ""),
                          *path == '/' ? "" : "/workspace/", path);
    json_t *file = mcp_text_resource(uri, path, base64);
    const char *mime = json_get_str(file, "mimeType", "");
    if (json_get(file, "text")) {
        const json_t *text = json_get(file, "text");
        CLEANUP(buf_done) struct buf out = BUF_INIT(TEXT_MAX);
        (void)buf_add(&out, json_string_value(text), json_string_length(text));
        (void)json_array_append_new(content, bounded_item(&out, is_cut));
    } else if (strncmp(mime, "image/", 6) == 0) {
        (void)json_array_append_new(content, image_item(base64, mime));
    } else {
        (void)json_array_append_new(content, json_pack("{s:s, s:O}", "type", "resource", "resource", file));
    }
    json_decref(file);
}

/* --- all of it --- */

/* A reply as JSON. A list that is too long loses whole entries, so that what is left can still be parsed. */
static void json_result_text(struct buf *out, const json_t *shown, bool *is_cut)
{
    CLEANUP(free_p) char *text = shown ? json_dumps(shown, JSON_INDENT(2) | JSON_ENCODE_ANY) : NULL;
    (void)buf_add_str(out, text ? text : "null");
    if (out->len <= LIMIT_MAX(MCP_RESULT_BYTES) || !json_is_array(shown))
        return;
    JSON_OWNED some = mcp_cut_copy(shown);
    CLEANUP(free_p) char *part = json_write(some, NULL);
    *is_cut = true;
    buf_clear(out);
    (void)buf_addf(out, "%s\n[cut: %zu of %zu entries are shown]", part, json_array_size(some), json_array_size(shown));
}

/* Fills content; true: it is an error to the model. *is_cut: a part of the reply is not shown. */
static bool fill_content(json_t *content, const struct mcp_text_answer *a, bool *is_cut)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT(TEXT_MAX);
    bool has_failed = false;
    switch (a->tool->form) {
    case MCP_TOOL_JSON:
        json_result_text(&out, *a->tool->detail ? json_get(a->body, a->tool->detail) : a->body, is_cut);
        break;
    case MCP_TOOL_LINES: {
        CLEANUP(free_p) char *text = mcp_text_lines(a->body);
        (void)buf_add_str(&out, *text ? text : a->tool->detail);
        break;
    }
    case MCP_TOOL_TEXT:
        plain_text(&out, a);
        break;
    case MCP_TOOL_SAY:
        fill_sentence(&out, a->tool->detail, a);
        break;
    case MCP_TOOL_EXEC:
        has_failed = exec_text(&out, a->body);
        break;
    case MCP_TOOL_CODE:
        has_failed = code_text(&out, a->body);
        break;
    case MCP_TOOL_ENV:
        (void)buf_add_str(&out, json_get_str(a->body, "key", ""));
        if (json_get_bool(a->body, "exists", false))
            (void)buf_addf(&out, "=%s", json_get_str(a->body, "value", ""));
        else
            (void)buf_add_str(&out, " is not set");
        break;
    case MCP_TOOL_CONTEXT:
        return context_content(content, a->body, is_cut);
    case MCP_TOOL_BYTES:
        bytes_content(content, a, is_cut);
        return false;
    }
    (void)json_array_append_new(content, bounded_item(&out, is_cut));
    return has_failed;
}

static void add_warnings(json_t *content, json_t *structured, const struct mcp_text_answer *a)
{
    JSON_OWNED all = json_copy(a->warnings);
    warnings_add_all(&all, json_get(a->body, "warnings"));
    for (size_t i = 0; i < json_array_size(all); i++) {
        CLEANUP(free_p) char *text = xasprintf("Warning: %s", json_string_value(json_array_get(all, i)));
        (void)json_array_append_new(content, text_item(text));
    }
    if (all && structured)
        (void)json_object_set(structured, "warnings", all);
}

json_t *mcp_text_result(const struct mcp_text_answer *a)
{
    json_t *content = json_array(), *structured = NULL;
    bool is_cut = false, has_failed = fill_content(content, a, &is_cut);
    if (a->is_structured) {
        bool has_pictures = a->tool->form == MCP_TOOL_CONTEXT;
        bool is_bytes = a->tool->form == MCP_TOOL_BYTES; /* a part of base64 would be another file */
        JSON_OWNED body = has_pictures ? without_pictures(a->body) : json_incref(a->body);
        JSON_OWNED shown = (is_cut || has_pictures) && !is_bytes ? mcp_cut_copy(body) : json_incref(body);
        structured = json_is_object(shown) ? json_copy(shown) : json_pack("{s:O}", "result", shown);
    }
    add_warnings(content, structured, a);
    json_t *result = json_pack("{s:o, s:o*}", "content", content, "structuredContent", structured);
    if (has_failed)
        (void)json_object_set_new(result, "isError", json_true());
    return result;
}
