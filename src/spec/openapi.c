/* The OpenAPI 3.1 document. Theory of operation. Pure functions from the rows of the table (spec_ops) to JSON, which
 * the caller owns: fields to JSON Schema, a row to an operation with parameters, body and responses, all rows to paths.
 * Reply schemas come from schemas.c and are referenced.
 *
 * The server takes every field from the query or the body; the document shows one place for each (is_in_body()). The
 * error responses of a row are derived from its flags and fields (can_answer()). x-sdk names the SDKs' methods, for
 * tools/sdkgen. Rows are constant and ours, so nothing here fails. */
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "spec/schemas.h"
#include "spec/spec.h"

#define PATH_MAX_BYTES 512

/* --- fields --- */

/* Default of a field as a JSON value; NULL when it is described in words only. */
static json_t *default_of(const struct field *f)
{
    json_t *value = NULL;
    if (!f->fallback)
        return NULL;
    if (f->type == FIELD_STR)
        return f->choices || f->fallback[0] == '/' || strcmp(f->fallback, "GET") == 0 ? json_string(f->fallback) : NULL;
    if (json_read(f->fallback, strlen(f->fallback), &value, NULL) < 0)
        return NULL;
    return value;
}

static json_t *number_schema(const struct field *f, const char *type)
{
    bool is_int = f->type == FIELD_INT;
    if (f->flags & FIELD_CLAMP) /* any number that JSON is read with: its own range stands in the description */
        return is_int ? json_pack("{s:s, s:s, s:I, s:I}", "type", type, "format", "int64", "minimum",
                                  (json_int_t)INT64_MIN, "maximum", (json_int_t)INT64_MAX)
                      : json_pack("{s:s, s:f, s:f}", "type", type, "minimum", -9.2e18, "maximum", 9.2e18);
    json_t *s = json_pack("{s:s}", "type", type);
    (void)json_object_set_new(s, "minimum", is_int ? json_integer((json_int_t)f->min) : json_real(f->min));
    (void)json_object_set_new(s, "maximum", is_int ? json_integer((json_int_t)f->max) : json_real(f->max));
    return s;
}

static json_t *text_schema(const struct field *f)
{
    json_t *s = json_pack("{s:s, s:I}", "type", "string", "maxLength", (json_int_t)f->max);
    if (f->min > 0)
        (void)json_object_set_new(s, "minLength", json_integer((json_int_t)f->min));
    if (!f->choices)
        return s;
    json_t *list = json_array();
    for (const char *at = f->choices; *at;) {
        size_t len = strcspn(at, "|");
        (void)json_array_append_new(list, json_stringn(at, len));
        at += len + (at[len] == '|');
    }
    (void)json_object_set_new(s, "enum", list);
    return s;
}

static json_t *object_schema(const struct field *fields);

static json_t *list_schema(const struct field *f, json_t *items)
{
    return json_pack("{s:s, s:o, s:I, s:I}", "type", "array", "items", items, "minItems", (json_int_t)f->min,
                     "maxItems", (json_int_t)f->max);
}

static json_t *map_schema(const struct field *f, json_t *values)
{
    return json_pack("{s:s, s:o*, s:I, s:I}", "type", "object", "additionalProperties", values, "minProperties",
                     (json_int_t)f->min, "maxProperties", (json_int_t)f->max);
}

static json_t *type_schema(const struct field *f)
{
    switch (f->type) {
    case FIELD_STR:
        return text_schema(f);
    case FIELD_INT:
        return number_schema(f, "integer");
    case FIELD_NUM:
        return number_schema(f, "number");
    case FIELD_BOOL:
        return json_pack("{s:s}", "type", "boolean");
    case FIELD_OBJ:
        return f->members ? object_schema(f->members) : map_schema(f, NULL);
    case FIELD_STR_MAP:
        return map_schema(f, json_pack("{s:s}", "type", "string"));
    case FIELD_STR_LIST:
        return list_schema(f, json_pack("{s:s}", "type", "string"));
    case FIELD_OBJ_LIST:
        return list_schema(f, f->members ? object_schema(f->members) : json_pack("{s:s}", "type", "object"));
    case FIELD_COMMAND:
        return json_pack("{s:[o, o]}", "oneOf", text_schema(f),
                         json_pack("{s:s, s:{s:s}, s:i}", "type", "array", "items", "type", "string", "minItems", 1));
    case FIELD_ANY:
        break;
    }
    return f->flags & FIELD_BYTES ? json_pack("{s:[{s:s}, {s:s}]}", "anyOf", "type", "string", "type", "object")
                                  : json_object();
}

json_t *spec_field_schema(const struct field *f)
{
    json_t *s = type_schema(f), *fallback = default_of(f);
    CLEANUP(buf_done) struct buf text = BUF_INIT(4096);
    (void)buf_add_str(&text, f->help); /* rows are short: a test reads every one back */
    const char *setting = spec_ceiling(f);
    if (setting)
        (void)buf_addf(&text, f->flags & FIELD_CLAMP ? " (moved into %g to %s)" : " (%g to %s)", f->min, setting);
    else if (f->flags & FIELD_CLAMP && f->max < 1e15)
        (void)buf_addf(&text, " (moved into %.16g to %.16g)", f->min, f->max);
    if (f->fallback && !fallback)
        (void)buf_addf(&text, "; default: %s", f->fallback);
    (void)json_object_set_new(s, "description", json_string(buf_text(&text)));
    if (fallback)
        (void)json_object_set_new(s, "default", fallback);
    return s;
}

static json_t *object_schema(const struct field *fields)
{
    json_t *properties = json_object(), *required = json_array();
    for (const struct field *f = fields; f->name; f++) {
        (void)json_object_set_new(properties, f->name, spec_field_schema(f));
        if (f->flags & FIELD_REQUIRED)
            (void)json_array_append_new(required, json_string(f->name));
    }
    json_t *s = json_pack("{s:s, s:o}", "type", "object", "properties", properties);
    if (json_array_size(required) > 0)
        (void)json_object_set(s, "required", required);
    json_decref(required);
    return s;
}

/* --- one operation --- */

static bool has_body(const struct op *op)
{
    return strcmp(op->method, "POST") == 0 || strcmp(op->method, "PUT") == 0;
}

/* Everything may come in the query or the body; the document shows one place for each field. */
static bool is_in_body(const struct op *op, const struct field *f)
{
    return !(f->flags & FIELD_PATH) && has_body(op) && !(op->flags & OP_RAW_BODY);
}

static void add_parameters(const struct op *op, json_t *to)
{
    json_t *list = json_array();
    for (const struct field *f = op->fields; f->name; f++) {
        if (is_in_body(op, f) || f->flags & FIELD_CHANNEL)
            continue;
        const char *where = f->flags & FIELD_PATH ? "path" : f->flags & FIELD_HEADER ? "header" : "query";
        char name[SPEC_HEADER_MAX];
        spec_header_name(f, name);
        json_t *one = json_pack("{s:s, s:s, s:b, s:s}", "name", f->flags & FIELD_HEADER ? name : f->name, "in", where,
                                "required", (f->flags & FIELD_REQUIRED) != 0, "description", f->help);
        if (f->type == FIELD_STR || f->type == FIELD_INT || f->type == FIELD_NUM || f->type == FIELD_BOOL)
            (void)json_object_set_new(one, "schema", spec_field_schema(f));
        else /* JSON text in the query */
            (void)json_object_set_new(one, "content",
                                      json_pack("{s:{s:o}}", "application/json", "schema", spec_field_schema(f)));
        (void)json_array_append_new(list, one);
    }
    if (op->flags & OP_IDEMPOTENT)
        (void)json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:s, s:{s:s, s:i, s:i, s:s}}", "name",
                                                    "Idempotency-Key", "in", "header", "required", 0, "description",
                                                    "The same request with the same key within 24 hours is "
                                                    "carried out once, and gets the same answer",
                                                    "schema", "type", "string", "minLength", 1, "maxLength", 255,
                                                    "pattern", "^[!-~]+$"));
    if (json_array_size(list) > 0)
        (void)json_object_set(to, "parameters", list);
    json_decref(list);
}

static void allow_null(json_t *schema)
{
    static const char *const choices[] = { "oneOf", "anyOf" };
    json_t *type = json_object_get(schema, "type"), *values = json_object_get(schema, "enum");
    if (json_is_string(type))
        (void)json_object_set_new(schema, "type", json_pack("[O, s]", type, "null"));
    if (values)
        (void)json_array_append_new(values, json_null());
    for (size_t i = 0; i < 2; i++)
        if (json_object_get(schema, choices[i]))
            (void)json_array_append_new(json_object_get(schema, choices[i]), json_pack("{s:s}", "type", "null"));
}

/* In a body null counts as absent, so every field may be null that may be absent. */
static void allow_null_members(json_t *schema)
{
    const char *name;
    json_t *one, *required = json_object_get(schema, "required");
    json_object_foreach(json_object_get(schema, "properties"), name, one)
    {
        bool is_required = false;
        for (size_t i = 0; i < json_array_size(required); i++)
            is_required |= strcmp(json_string_value(json_array_get(required, i)), name) == 0;
        allow_null_members(one);
        allow_null_members(json_object_get(one, "items"));
        if (!is_required)
            allow_null(one);
    }
}

static void add_body(const struct op *op, json_t *to)
{
    if (op->flags & OP_RAW_BODY) {
        (void)json_object_set_new(to, "requestBody",
                                  json_pack("{s:b, s:{s:{}}}", "required", 1, "content", "application/octet-stream"));
        return;
    }
    JSON_OWNED schema = object_schema(op->fields);
    json_t *required = json_object_get(schema, "required");
    for (const struct field *f = op->fields; f->name; f++) {
        if (is_in_body(op, f))
            continue;
        (void)json_object_del(json_object_get(schema, "properties"), f->name);
        for (size_t i = json_array_size(required); i > 0; i--)
            if (strcmp(json_string_value(json_array_get(required, i - 1)), f->name) == 0)
                (void)json_array_remove(required, i - 1);
    }
    bool is_required = json_array_size(required) > 0;
    if (!is_required)
        (void)json_object_del(schema, "required");
    if (json_object_size(json_object_get(schema, "properties")) == 0)
        return;
    allow_null_members(schema);
    (void)json_object_set_new(
        to, "requestBody",
        json_pack("{s:b, s:{s:{s:O}}}", "required", is_required, "content", "application/json", "schema", schema));
}

static bool has_path_field(const struct op *op)
{
    for (const struct field *f = op->fields; f->name; f++)
        if (f->flags & FIELD_PATH)
            return true;
    return false;
}

/* In the path or the query. */
static bool has_parameter(const struct op *op)
{
    for (const struct field *f = op->fields; f->name; f++)
        if (!is_in_body(op, f))
            return true;
    return false;
}

static bool names_object(const struct op *op)
{
    for (const struct field *f = op->fields; f->name; f++)
        if (f->ref != REF_NONE)
            return true;
    return false;
}

/* What is called fails in its own ways. */
static bool calls_function(const struct op *op)
{
    return strcmp(op->reply, "FunctionResult") == 0;
}

static bool can_answer(const struct op *op, enum err_code code)
{
    switch (code) {
    case ERR_UNAUTHORIZED:
    case ERR_FORBIDDEN:
    case ERR_RATE_LIMITED:
        return !(op->flags & OP_NO_AUTH);
    case ERR_NOT_FOUND:
        return has_path_field(op) || op->flags & OP_MUTATES || strcmp(op->reply, "ImageVerification") == 0 ||
               strcmp(op->reply, "ImageDetails") == 0;
    case ERR_CONFLICT: /* also a name or the beginning of an id that several have */
        return has_path_field(op) || op->flags & OP_MUTATES || names_object(op);
    case ERR_GONE: /* a log forgets its oldest bytes */
        return strcmp(op->reply, "ExecOutput") == 0 || strcmp(op->reply, "BackgroundLogs") == 0;
    case ERR_TOO_LARGE:
        return has_body(op) && !(op->flags & OP_RAW_BODY);
    case ERR_UNMET:
        return op->flags & (OP_RAW_BODY | OP_NOT_JSON);
    case ERR_RANGE:
        return op->flags & OP_NOT_JSON;
    case ERR_UNSUPPORTED:
        return op->flags & OP_BACKEND || (op->flags & OP_SANDBOX && op->flags & (OP_MUTATES | OP_RATE_EXEC)) ||
               calls_function(op);
    case ERR_TIMEOUT:
        return op->flags & OP_SANDBOX || calls_function(op);
    case ERR_UPSTREAM:
        return calls_function(op);
    case ERR_INVALID: /* what would be a warning */
    case ERR_INTERNAL:
    case ERR_CAPACITY:
        return true;
    case ERR_NONE:
    case ERR_METHOD:
    case ERR_COUNT:
        break;
    case ERR_NO_SPACE:
        return op->flags & OP_RAW_BODY;
    }
    return false;
}

static json_t *reply_ref(const struct op *op)
{
    return json_pack("{s:o}", "$ref", json_sprintf("#/components/schemas/%s", op->reply));
}

/* One server-sent event: its data is text, and that text is JSON of the type that ref names (taken over). */
static json_t *event_schema(json_t *ref)
{
    json_t *data =
        json_pack("{s:s, s:s, s:o}", "type", "string", "contentMediaType", "application/json", "contentSchema", ref);
    return json_pack("{s:s, s:{s:o}, s:[s]}", "type", "object", "properties", "data", data, "required", "data");
}

/* A reply of bytes: what it says about the file is in its headers. */
static json_t *bytes_response(const char *description)
{
    static const char *const headers[][2] = {
        { "ETag", "Version of the file" },
        { "Last-Modified", "When it was last changed" },
        { "Accept-Ranges", "bytes" },
        { "X-File-Mode", "Its mode, as octal digits" },
    };
    json_t *all = json_object();
    for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
        (void)json_object_set_new(
            all, headers[i][0], json_pack("{s:s, s:{s:s}}", "description", headers[i][1], "schema", "type", "string"));
    return json_pack("{s:s, s:o, s:{s:{}, s:{}, s:{}, s:{}, s:{}}}", "description", description, "headers", all,
                     "content", "application/octet-stream", "application/x-tar", "application/gzip", "application/zstd",
                     "application/zip");
}

static json_t *success_of(const struct op *op)
{
    if (op->flags & OP_NOT_JSON)
        return json_pack("{s:o, s:o, s:{s:s}}", "200", bytes_response("The bytes of the file"), "206",
                         bytes_response("A range of them"), "304", "description",
                         "The file has an ETag of If-None-Match");
    const char *type = op->flags & OP_STREAM ? "text/event-stream" : "application/json";
    const struct schema *s = schemas_rows;
    while (s->name && strcmp(s->name, op->reply) != 0)
        s++;
    json_t *all = json_pack("{s:{s:s, s:{s:{s:o}}}}", "200", "description", s->name ? s->help : op->reply, "content",
                            type, "schema", op->flags & OP_STREAM ? event_schema(reply_ref(op)) : reply_ref(op));
    return all;
}

static json_t *responses_of(const struct op *op)
{
    json_t *all = success_of(op);
    if (op->flags & OP_MAY_STREAM) { /* answers with its reply unless asked for events: a <reply>Event each */
        json_t *ref = json_pack("{s:o}", "$ref", json_sprintf("#/components/schemas/%sEvent", op->reply));
        (void)json_object_set_new(json_object_get(json_object_get(all, "200"), "content"), "text/event-stream",
                                  json_pack("{s:o}", "schema", event_schema(ref)));
    }
    if (has_parameter(op))
        (void)json_object_set_new(all, "414", json_pack("{s:s}", "$ref", "#/components/responses/uri_too_long"));
    for (int code = ERR_NONE + 1; code < ERR_COUNT; code++) {
        char status[8];
        if (!can_answer(op, (enum err_code)code))
            continue;
        (void)snprintf(status, sizeof(status), "%d", err_status((enum err_code)code));
        (void)json_object_set_new(
            all, status,
            json_pack("{s:o}", "$ref", json_sprintf("#/components/responses/%s", err_name((enum err_code)code))));
    }
    return all;
}

/* The methods of the SDKs, for tools/sdkgen; NULL for an alias. */
static json_t *methods_of(const struct op *op)
{
    static const struct {
        enum op_id op;
        const char *text;
    } methods[] = {
#define SDK(op, text) { OP_ID_##op, text },
#include "spec/ops.def"
    };
    json_t *list = NULL;
    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
        if (op != &spec_ops[methods[i].op])
            continue;
        if (!list)
            list = json_array();
        (void)json_array_append_new(list, json_string(methods[i].text));
    }
    return list;
}

static json_t *operation_of(const struct op *op)
{
    json_t *o =
        json_pack("{s:s, s:s, s:s, s:b, s:b, s:o*, s:[s%]}", "operationId", op->name, "summary", op->help, "x-function",
                  op->fn, "x-safe", !(op->flags & OP_MUTATES), "x-long", (op->flags & (OP_RATE_EXEC | OP_SLOW)) != 0,
                  "x-sdk", methods_of(op), "tags", op->fn, strcspn(op->fn, ":"));
    add_parameters(op, o);
    add_body(op, o);
    (void)json_object_set_new(o, "responses", responses_of(op));
    if (op->flags & OP_NO_AUTH)
        (void)json_object_set_new(o, "security", json_array());
    return o;
}

/* --- the document --- */

static json_t *paths_of(const char *prefix)
{
    json_t *paths = json_object();
    for (int i = 0; i < OP_COUNT; i++) {
        const struct op *op = &spec_ops[i];
        CLEANUP(buf_done) struct buf path = BUF_INIT(PATH_MAX_BYTES); /* paths of the table are far shorter */
        char method[16] = "";
        (void)buf_addf(&path, "/%s", prefix); /* "/sandboxes/:id/exec" to "/sandbox/sandboxes/{id}/exec" */
        for (const char *at = op->path; *at;) {
            size_t len = 1 + strcspn(at + 1, "/");
            (void)(at[1] == ':' ? buf_addf(&path, "/{%.*s}", (int)len - 2, at + 2) : buf_add(&path, at, len));
            at += len;
        }
        for (size_t k = 0; op->method[k] && k + 1 < sizeof(method); k++)
            method[k] = (char)(op->method[k] | 0x20); /* capitals to small letters */
        json_t *item = json_object_get(paths, buf_text(&path));
        if (!item) {
            item = json_object();
            (void)json_object_set_new(paths, buf_text(&path), item);
        }
        (void)json_object_set_new(item, method, operation_of(op));
    }
    return paths;
}

static json_t *error_responses(void)
{
    static const char *const words[ERR_COUNT] = {
        [ERR_INVALID] = "A field is missing, of the wrong type or out of its limits",
        [ERR_UNAUTHORIZED] = "No Authorization header",
        [ERR_FORBIDDEN] = "Wrong token, or something that is not allowed",
        [ERR_NOT_FOUND] = "Something the request names does not exist",
        [ERR_METHOD] = "The path takes other methods; see the Allow header",
        [ERR_CONFLICT] = "Not possible in the present state",
        [ERR_GONE] = "It is gone",
        [ERR_UNMET] = "The file is not in the state that If-Match or If-None-Match wants",
        [ERR_RANGE] = "The range lies outside of the file; see the Content-Range header",
        [ERR_TOO_LARGE] = "The body is larger than the server takes",
        [ERR_RATE_LIMITED] = "Too many requests (see the Retry-After header), or a quota is used up",
        [ERR_INTERNAL] = "The server or the sandbox failed",
        [ERR_UNSUPPORTED] = "The sandbox's backend cannot do this",
        [ERR_UPSTREAM] = "Another server did not answer as it should",
        [ERR_CAPACITY] = "No room: a limit of the server is reached",
        [ERR_TIMEOUT] = "It took longer than allowed",
        [ERR_NO_SPACE] = "No space left",
    };
    /* Before the request is anybody's: it has no code of ours, and so no x-status. */
    json_t *all = json_pack("{s:{s:s, s:{s:{s:{s:s}}}}}", "uri_too_long", "description",
                            "The URL is longer than the server takes: move fields into the body", "content",
                            "application/json", "schema", "$ref", "#/components/schemas/Error");
    for (int code = ERR_NONE + 1; code < ERR_COUNT; code++)
        (void)json_object_set_new(all, err_name((enum err_code)code),
                                  json_pack("{s:s, s:i, s:{s:{s:{s:s}}}}", "description", words[code], "x-status",
                                            err_status((enum err_code)code), "content", "application/json", "schema",
                                            "$ref", "#/components/schemas/Error"));
    return all;
}

/* Any reply that is an object may come with warnings. */
static void add_warnings(json_t *schemas)
{
    for (int i = 0; i < OP_COUNT; i++) {
        const struct op *op = &spec_ops[i];
        if (!(op->flags & OP_STREAM) && spec_reply_is_object(op))
            (void)json_object_set_new(json_object_get(json_object_get(schemas, op->reply), "properties"), "warnings",
                                      json_pack("{s:s, s:{s:s}, s:s}", "type", "array", "items", "type", "string",
                                                "description",
                                                "Fields of the request that were ignored or changed, and why"));
    }
}

json_t *spec_openapi(const char *prefix, const char *version)
{
    json_t *schemas = json_deep_copy(schemas_all());
    add_warnings(schemas);
    json_t *components = json_pack("{s:o, s:o, s:{s:{s:s, s:s}}}", "schemas", schemas, "responses", error_responses(),
                                   "securitySchemes", "bearer", "type", "http", "scheme", "bearer");
    return json_pack(
        "{s:s, s:{s:s, s:s, s:s, s:{s:s}}, s:[{s:s}], s:[{s:[]}], s:{s:o, s:o}, s:o, s:o}", "openapi", "3.1.0", "info",
        "title", "iii-sandbox", "version", version, "description",
        "Isolated sandboxes for untrusted code. Fields may come in the query string or in a JSON body; null "
        "counts as absent. Unknown fields are ignored, and numbers out of a range that says so are moved into it: the "
        "reply names both in its member `warnings`, or in the header Iii-Warnings (a JSON array of strings) when it is "
        "not an object. With the header `Prefer: handling=strict` they are errors (400). A JSON body with an integer "
        "that does not fit into 64 bits "
        "(signed) or a key with a NUL character, wherever it is, is rejected with 400; so is a text with a NUL "
        "character, except for contents of files and input of commands.",
        "license", "name", "Apache-2.0", "servers", "url", "/", "security", "bearer", "x-websockets", "terminal",
        json_sprintf("/%s/sandboxes/{id}/terminal/{sessionId}/ws", prefix), "exec",
        json_sprintf("/%s/sandboxes/{id}/exec/attach", prefix), "paths", paths_of(prefix), "components", components);
}
