#include "spec/schemas.h"

#include <stdbool.h>
#include <string.h>

#include "spec/spec.h"

#define DEPTH_MAX 16

const struct schema schemas_rows[] = {
#define SCHEMA(name, shape, help) { #name, shape, help },
#include "spec/ops.def"
    { 0 },
};

/* Reads one shape by recursive descent; every function leaves at behind what it has read and returns NULL when it
 * cannot. */
struct reader {
    const char *at;
    int depth;
};

static json_t *read_type(struct reader *r);

static bool take_char(struct reader *r, char c)
{
    r->at += strspn(r->at, " ");
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

static size_t word_len(const struct reader *r)
{
    return strspn(r->at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
}

static json_t *read_enum(struct reader *r)
{
    JSON_OWNED choices = json_array();
    while (*r->at && *r->at != '\'') {
        size_t len = strcspn(r->at, "|'");
        (void)json_array_append_new(choices, json_stringn(r->at, len));
        r->at += len + (r->at[len] == '|');
    }
    return take_char(r, '\'') ? json_pack("{s:s, s:O}", "type", "string", "enum", choices) : NULL;
}

static json_t *read_either(struct reader *r)
{
    JSON_OWNED choices = json_array();
    while (!take_char(r, ')')) {
        json_t *one = read_type(r);
        if (!one)
            return NULL;
        (void)json_array_append_new(choices, one);
    }
    return json_pack("{s:O}", "oneOf", choices);
}

static json_t *read_object(struct reader *r)
{
    JSON_OWNED properties = json_object();
    JSON_OWNED required = json_array();
    while (!take_char(r, '}')) {
        char name[64];
        size_t len = word_len(r);
        if (len == 0 || len >= sizeof(name))
            return NULL;
        memcpy(name, r->at, len);
        name[len] = '\0';
        r->at += len;
        bool is_optional = take_char(r, '?');
        json_t *type = take_char(r, ':') ? read_type(r) : NULL;
        if (!type)
            return NULL;
        (void)json_object_set_new(properties, name, type);
        if (!is_optional)
            (void)json_array_append_new(required, json_string(name));
    }
    return json_pack("{s:s, s:O, s:O}", "type", "object", "properties", properties, "required", required);
}

static json_t *read_plain(struct reader *r)
{
    static const char *const names[][2] = { { "str", "string" },   { "int", "integer" }, { "num", "number" },
                                            { "bool", "boolean" }, { "obj", "object" },  { "null", "null" } };
    size_t len = word_len(r);
    const char *word = r->at;
    r->at += len;
    if (len == 3 && memcmp(word, "any", 3) == 0)
        return json_object();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i][0]) != len || memcmp(names[i][0], word, len) != 0)
            continue;
        if (*r->at != '~')
            return json_pack("{s:s}", "type", names[i][1]);
        r->at++;
        return json_pack("{s:[s, s]}", "type", names[i][1], "null");
    }
    return NULL;
}

static json_t *read_type(struct reader *r)
{
    json_t *type = NULL;
    JSON_OWNED inner = NULL;
    if (++r->depth > DEPTH_MAX)
        return NULL;
    if (take_char(r, '{')) {
        type = read_object(r);
    } else if (take_char(r, '[')) {
        inner = read_type(r);
        if (inner && take_char(r, ']'))
            type = json_pack("{s:s, s:O}", "type", "array", "items", inner);
    } else if (take_char(r, '<')) {
        inner = read_type(r);
        if (inner && take_char(r, '>'))
            type = json_pack("{s:s, s:O}", "type", "object", "additionalProperties", inner);
    } else if (take_char(r, '(')) {
        type = read_either(r);
    } else if (take_char(r, '@')) {
        size_t len = word_len(r);
        type = json_pack("{s:o}", "$ref", json_sprintf("#/components/schemas/%.*s", (int)len, r->at));
        r->at += len;
    } else if (take_char(r, '\'')) {
        type = read_enum(r);
    } else {
        type = read_plain(r);
    }
    r->depth--;
    return type;
}

json_t *schemas_from_shape(const char *shape)
{
    struct reader r = { .at = shape };
    json_t *type = read_type(&r);
    return type && *r.at == '\0' ? type : json_unref(type);
}

const json_t *schemas_all(void)
{
    static json_t *all; /* constant once made: the text of schemas.def in another form */
    if (all)
        return all;
    all = json_object();
    for (const struct schema *s = schemas_rows; s->name; s++) {
        json_t *one = schemas_from_shape(s->shape);
        (void)json_object_set_new(one, "description", json_string(s->help));
        (void)json_object_set_new(all, s->name, one);
    }
    return all;
}

const json_t *spec_schema(const char *name)
{
    return json_object_get(schemas_all(), name);
}

bool spec_reply_is_object(const struct op *op)
{
    const struct schema *s = schemas_rows;
    while (s->name && strcmp(s->name, op->reply) != 0)
        s++;
    return *(s->name ? s->shape : op->reply) == '{';
}
