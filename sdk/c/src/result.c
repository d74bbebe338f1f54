/* Results: one block that iii_free() frees together with everything it points to. Texts are those of the parsed JSON,
 * which is kept. */
#include <stdlib.h>
#include <string.h>

#include "table.h"

struct chunk {
    struct chunk *next;
    max_align_t data[];
};

struct result {
    json_t *root;
    struct chunk *chunks;
    max_align_t data[];
};

struct walk {
    struct result *result;
    struct iii_error *err;
};

static struct result *result_of(const void *data)
{
    return (struct result *)((uintptr_t)data - offsetof(struct result, data));
}

void *iii_result_new(size_t size)
{
    struct result *r = calloc(1, sizeof(*r) + size);
    return r ? r->data : NULL;
}

void iii_free(const void *data)
{
    if (!data)
        return;
    struct result *r = result_of(data);
    for (struct chunk *next, *c = r->chunks; c; c = next) {
        next = c->next;
        free(c);
    }
    json_decref(r->root);
    free(r);
}

const char *iii_code_text(const struct iii_context_result *result)
{
    const char *text = NULL;
    size_t i;
    json_t *one;

    json_array_foreach(json_object_get(result_of(result)->root, "results"), i, one)
    {
        const char *type = json_string_value(json_object_get(one, "type"));
        if (type && strcmp(type, "text") == 0)
            text = json_string_value(json_object_get(one, "data"));
    }
    return text;
}

static void *more(struct walk *w, size_t count, size_t size)
{
    if (size != 0 && count > (SIZE_MAX - sizeof(struct chunk)) / size)
        return NULL;
    struct chunk *c = calloc(1, sizeof(*c) + count * size);
    if (!c)
        return NULL;
    c->next = w->result->chunks;
    w->result->chunks = c;
    return c->data;
}

static int no_memory(struct walk *w)
{
    return iii_fail(w->err, III_NO_MEMORY, 0, "out of memory");
}

static int wrong(struct walk *w, const struct table_field *f, const char *wanted)
{
    return iii_fail(w->err, III_PROTOCOL, 0, "the answer's \"%s\" is not %s", f->name, wanted);
}

static int decode_into(struct walk *w, const struct table_type *type, json_t *value, void *at);

static int decode_json(struct walk *w, json_t *value, void *slot)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    size_t size = text ? strlen(text) + 1 : 0;
    char *copy = text ? more(w, 1, size) : NULL;
    if (copy)
        memcpy(copy, text, size);
    free(text);
    *(const char **)slot = copy;
    return copy ? 0 : no_memory(w);
}

/* One number or truth value, into memory of its own size. */
static int decode_scalar(struct walk *w, const struct table_field *f, json_t *value, void *at)
{
    if (f->kind == KIND_BOOLEAN) {
        if (!json_is_boolean(value))
            return wrong(w, f, "true or false");
        *(bool *)at = json_is_true(value);
    } else if (f->kind == KIND_NUMBER) {
        if (!json_is_number(value))
            return wrong(w, f, "a number");
        *(double *)at = json_number_value(value);
    } else {
        if (!json_is_number(value))
            return wrong(w, f, "a whole number");
        *(int64_t *)at = json_is_integer(value) ? json_integer_value(value) : (int64_t)json_real_value(value);
    }
    return 0;
}

static size_t scalar_size(enum table_kind kind)
{
    return kind == KIND_BOOLEAN ? sizeof(bool) : kind == KIND_NUMBER ? sizeof(double) : sizeof(int64_t);
}

static int decode_command(struct walk *w, const struct table_field *f, json_t *value, struct iii_command *at)
{
    size_t i;
    json_t *word;

    at->shell = json_string_value(value);
    if (at->shell)
        return 0;
    if (!json_is_array(value))
        return wrong(w, f, "a text or a list");
    const char **words = more(w, json_array_size(value), sizeof(*words));
    if (!words)
        return no_memory(w);
    json_array_foreach(value, i, word)
    {
        words[i] = json_string_value(word);
        if (!words[i])
            return wrong(w, f, "a list of texts");
    }
    at->words = words;
    at->count = json_array_size(value);
    return 0;
}

/* `size` gets the length of a text, unless NULL. */
static int decode_one(struct walk *w, const struct table_field *f, json_t *value, void *slot, size_t *size)
{
    if (f->kind == KIND_JSON)
        return decode_json(w, value, slot);
    if (f->kind == KIND_TEXT) {
        if (!json_is_string(value))
            return wrong(w, f, "a text");
        *(const char **)slot = json_string_value(value);
        if (size)
            *size = json_string_length(value);
        return 0;
    }
    if (f->kind == KIND_COMMAND)
        return decode_command(w, f, value, slot);
    if (f->kind != KIND_OBJECT && !f->optional)
        return decode_scalar(w, f, value, slot);
    void *at = more(w, 1, f->kind == KIND_OBJECT ? f->of->size : scalar_size(f->kind));
    if (!at)
        return no_memory(w);
    *(void **)slot = at;
    return f->kind == KIND_OBJECT ? decode_into(w, f->of, value, at) : decode_scalar(w, f, value, at);
}

static int decode_list(struct walk *w, const struct table_field *f, json_t *value, void *slot, size_t *count)
{
    size_t size = f->kind == KIND_OBJECT ? f->of->size : f->kind == KIND_TEXT ? sizeof(char *) : scalar_size(f->kind);
    size_t i;
    json_t *item;

    if (!json_is_array(value))
        return wrong(w, f, "a list");
    char *items = more(w, json_array_size(value), size);
    if (!items)
        return no_memory(w);
    *(void **)slot = items;
    *count = json_array_size(value);
    json_array_foreach(value, i, item)
    {
        void *at = items + i * size;
        int e = f->kind == KIND_OBJECT ? decode_into(w, f->of, item, at)
                : f->kind == KIND_TEXT ? decode_one(w, f, item, at, NULL)
                                       : decode_scalar(w, f, item, at);
        if (e != 0)
            return e;
    }
    return 0;
}

static int decode_map(struct walk *w, const struct table_field *f, json_t *value, void *slot, size_t *count)
{
    const char *name;
    json_t *item;
    size_t i = 0;
    /* The three kinds of pairs have the same layout: a name and eight bytes. */
    _Static_assert(sizeof(struct iii_pair) == sizeof(struct iii_count) &&
                       sizeof(struct iii_pair) == sizeof(struct iii_amount),
                   "pairs of one size");

    if (!json_is_object(value))
        return wrong(w, f, "an object");
    struct iii_pair *pairs = more(w, json_object_size(value), sizeof(*pairs));
    if (!pairs)
        return no_memory(w);
    *(void **)slot = pairs;
    *count = json_object_size(value);
    json_object_foreach(value, name, item)
    {
        struct iii_pair *p = &pairs[i++];
        p->name = name;
        int e = f->kind == KIND_TEXT ? decode_one(w, f, item, &p->value, NULL) : decode_scalar(w, f, item, &p->value);
        if (e != 0)
            return e;
    }
    return 0;
}

static int decode_either(struct walk *w, const struct table_field *f, json_t *value, void *slot, size_t *count)
{
    *(bool *)(count + 1) = json_is_array(value);
    if (json_is_array(value))
        return decode_list(w, f, value, slot, count);
    json_t *list = json_array();
    if (!list || json_array_append(list, value) != 0) {
        json_decref(list);
        return no_memory(w);
    }
    int e = decode_list(w, f, list, slot, count); /* what it points to belongs to the root */
    json_decref(list);
    return e;
}

static int decode_field(struct walk *w, const struct table_field *f, json_t *value, char *at)
{
    void *slot = at + f->offset;
    size_t *size = f->size_offset ? (size_t *)(at + f->size_offset) : NULL;

    if (!value || json_is_null(value)) {
        if (f->missing || (value && f->optional))
            return 0;
        return iii_fail(w->err, III_PROTOCOL, 0, "the answer has no \"%s\"", f->name);
    }
    switch (f->form) {
    case FORM_LIST:
        return decode_list(w, f, value, slot, size);
    case FORM_MAP:
        return decode_map(w, f, value, slot, size);
    case FORM_EITHER:
        return decode_either(w, f, value, slot, size);
    case FORM_ONE:
        break;
    }
    return decode_one(w, f, value, slot, size);
}

static int decode_into(struct walk *w, const struct table_type *type, json_t *value, void *at)
{
    if (type->whole)
        return decode_field(w, &type->fields[0], value, at);
    if (!json_is_object(value))
        return iii_fail(w->err, III_PROTOCOL, 0, "the answer is not an object where %s is expected", type->name);
    for (size_t i = 0; i < type->count; i++) {
        const struct table_field *f = &type->fields[i];
        int e = decode_field(w, f, json_object_get(value, f->name), at);
        if (e != 0)
            return e;
    }
    return 0;
}

int iii_table_decode(const struct table_type *type, json_t *value, void **ret, struct iii_error *err)
{
    void *data = iii_result_new(type->size);
    if (!data) {
        json_decref(value);
        return iii_fail(err, III_NO_MEMORY, 0, "out of memory");
    }
    struct walk w = { result_of(data), err };
    w.result->root = value;
    int e = decode_into(&w, type, value, data);
    if (e != 0) {
        iii_free(data);
        return e;
    }
    *ret = data;
    return 0;
}
