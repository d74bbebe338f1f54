#include "mcp/mcp_path.h"

#include <string.h>

#include "base/buf.h"

#define URL_MAX_BYTES 65536

static void add_encoded(struct buf *b, const char *text, size_t len)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        (void)(c && strchr(plain, c) ? buf_add_char(b, (char)c) : buf_addf(b, "%%%02X", c));
    }
}

static void add_value(struct buf *b, const json_t *value)
{
    if (json_is_string(value)) {
        add_encoded(b, json_string_value(value), json_string_length(value));
        return;
    }
    CLEANUP(free_p) char *text = json_write(value, NULL);
    add_encoded(b, text, strlen(text));
}

static void add_path(struct buf *b, const struct op *op, const json_t *params, const char *prefix)
{
    (void)buf_addf(b, "/%s", prefix); /* longer than the buffer: the server does not know it */
    for (const char *at = op->path; *at;) {
        size_t len = 1 + strcspn(at + 1, "/");
        if (at[1] == ':') {
            char name[64];
            (void)snprintf(name, sizeof(name), "%.*s", (int)len - 2, at + 2);
            (void)buf_add_char(b, '/');
            add_value(b, json_object_get(params, name));
        } else {
            (void)buf_add(b, at, len);
        }
        at += len;
    }
}

static const struct field *field_named(const struct op *op, const char *name)
{
    const struct field *f = op->fields;
    while (f->name && strcmp(f->name, name) != 0)
        f++;
    return f->name ? f : NULL;
}

static bool has_body(const struct op *op)
{
    return strcmp(op->method, "POST") == 0 || strcmp(op->method, "PUT") == 0;
}

/* Path parts are in the path; of the rest, scalars of GET and DELETE are in the query, all else in the body. */
static bool is_in_path(const struct op *op, const char *name)
{
    const struct field *f = field_named(op, name);
    return f && f->flags & FIELD_PATH;
}

static bool is_in_query(const struct op *op, const char *name, const json_t *value)
{
    return !has_body(op) && !is_in_path(op, name) && !json_is_object(value) && !json_is_array(value);
}

char *mcp_path_of(const struct op *op, const json_t *params, const char *prefix)
{
    CLEANUP(buf_done) struct buf b = BUF_INIT(URL_MAX_BYTES);
    add_path(&b, op, params, prefix);
    return buf_steal(&b, NULL);
}

char *mcp_path_with_query(const struct op *op, const json_t *params, const char *prefix)
{
    CLEANUP(buf_done) struct buf b = BUF_INIT(URL_MAX_BYTES);
    char before = '?';
    const char *name;
    json_t *value;
    add_path(&b, op, params, prefix);
    json_object_foreach((json_t *)(uintptr_t)params, name, value)
    {
        if (!is_in_query(op, name, value))
            continue;
        (void)buf_add_char(&b, before);
        add_encoded(&b, name, strlen(name));
        (void)buf_add_char(&b, '=');
        add_value(&b, value);
        before = '&';
    }
    return buf_steal(&b, NULL);
}

json_t *mcp_path_body(const struct op *op, const json_t *params)
{
    JSON_OWNED body = json_object();
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)params, name, value)
    {
        if (!is_in_path(op, name) && !is_in_query(op, name, value))
            (void)json_object_set(body, name, value);
    }
    return has_body(op) || json_object_size(body) > 0 ? json_incref(body) : NULL;
}
