/* The walk from structs to JSON. A failure (memory, text that is no UTF-8) is NULL, and makes everything above it NULL.
 */
#include <math.h>
#include <string.h>

#include "table.h"

static json_t *encode_number(double value)
{
    bool whole = floor(value) == value && fabs(value) < 9007199254740992.0;
    return whole ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *encode_scalar(enum table_kind kind, const void *at)
{
    if (kind == KIND_BOOLEAN)
        return json_boolean(*(const bool *)at);
    return kind == KIND_NUMBER ? encode_number(*(const double *)at) : json_integer(*(const int64_t *)at);
}

json_t *iii_table_command(struct iii_command command)
{
    return command.shell ? json_string(command.shell) : iii_table_texts(command.words, command.count);
}

/* Adds to a list, and takes the value over. NULL when either is missing; the list is then gone. */
static json_t *append(json_t *list, json_t *value)
{
    if (list && value && json_array_append_new(list, value) == 0)
        return list;
    if (!list)
        json_decref(value);
    json_decref(list);
    return NULL;
}

static json_t *set(json_t *object, const char *name, json_t *value)
{
    if (object && name && value && json_object_set_new(object, name, value) == 0)
        return object;
    if (!object || !name)
        json_decref(value);
    json_decref(object);
    return NULL;
}

json_t *iii_table_texts(const char *const *texts, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count && list; i++)
        list = append(list, texts[i] ? json_string(texts[i]) : NULL);
    return list;
}

static json_t *encode_map(enum table_kind kind, const void *pairs, size_t count)
{
    json_t *object = json_object();
    for (size_t i = 0; i < count && object; i++) {
        const struct iii_pair *p = (const struct iii_pair *)pairs + i;
        json_t *value = kind != KIND_TEXT ? encode_scalar(kind, &p->value) : p->value ? json_string(p->value) : NULL;
        object = set(object, p->name, value);
    }
    return object;
}

json_t *iii_table_pairs(const struct iii_pair *pairs, size_t count)
{
    return encode_map(KIND_TEXT, pairs, count);
}

static json_t *encode_list(const struct table_field *f, const char *items, size_t count)
{
    if (f->kind == KIND_TEXT)
        return iii_table_texts((const char *const *)(const void *)items, count);
    size_t size = f->kind == KIND_BOOLEAN ? sizeof(bool) : f->kind == KIND_OBJECT ? f->of->size : sizeof(int64_t);
    json_t *list = json_array();
    for (size_t i = 0; i < count && list; i++) {
        const void *at = items + i * size;
        list = append(list, f->kind == KIND_OBJECT ? iii_table_encode(f->of, at, IN_BODY) : encode_scalar(f->kind, at));
    }
    return list;
}

/* A number in the struct itself. */
static bool is_inline(const struct table_field *f)
{
    bool number = f->kind == KIND_INTEGER || f->kind == KIND_NUMBER || f->kind == KIND_BOOLEAN;
    return f->form == FORM_ONE && number && !f->optional;
}

/* A value that is there. `at` is the struct. */
static json_t *encode_value(const struct table_field *f, const char *at)
{
    const void *slot = at + f->offset;
    if (is_inline(f))
        return encode_scalar(f->kind, slot);
    const void *target = *(const void *const *)slot;
    size_t size = f->size_offset ? *(const size_t *)(at + f->size_offset) : 0;

    if (f->form == FORM_LIST)
        return encode_list(f, target, size);
    if (f->form == FORM_MAP)
        return encode_map(f->kind, target, size);
    if (f->form == FORM_EITHER) {
        bool is_list = *(const bool *)(at + f->size_offset + sizeof(size_t));
        return is_list ? encode_list(f, target, size) : iii_table_encode(f->of, target, IN_BODY);
    }
    switch (f->kind) {
    case KIND_TEXT:
        return json_stringn(target, size ? size : strlen(target));
    case KIND_JSON:
        return json_loads(target, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    case KIND_OBJECT:
        return iii_table_encode(f->of, target, IN_BODY);
    case KIND_COMMAND:
        return iii_table_command(*(const struct iii_command *)slot);
    case KIND_INTEGER:
    case KIND_NUMBER:
    case KIND_BOOLEAN:
        break;
    }
    return encode_scalar(f->kind, target);
}

/* Numbers that are no pointers are always there; everything else is when its pointer is. */
static bool is_there(const struct table_field *f, const char *at)
{
    const void *slot = at + f->offset;
    if (f->kind == KIND_COMMAND)
        return ((const struct iii_command *)slot)->shell || ((const struct iii_command *)slot)->words;
    return is_inline(f) || *(const void *const *)slot != NULL;
}

json_t *iii_table_encode(const struct table_type *type, const void *data, enum table_place place)
{
    if (type->whole)
        return encode_value(&type->fields[0], data);
    json_t *object = json_object();
    for (size_t i = 0; data && object && i < type->count; i++) {
        const struct table_field *f = &type->fields[i];
        if (f->place != place)
            continue;
        if (is_there(f, data))
            object = set(object, f->name, encode_value(f, data));
        else if (!f->missing)
            object = set(object, f->name, json_null());
    }
    return object;
}
