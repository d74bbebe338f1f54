#include "args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what, const char *name)
{
    fprintf(stderr, "contract driver: %s: %s\n", name, what);
    exit(1);
}

static void *keep(struct args *a, void *data)
{
    if (!data || a->kept_count == KEPT_MAX)
        die("no memory, or too many arguments", "args");
    a->kept[a->kept_count++] = data;
    return data;
}

static const json_t *get(const struct args *a, const char *name)
{
    return json_object_get(a->given, name);
}

const char *args_text(struct args *a, const char *name)
{
    return json_string_value(get(a, name));
}

int64_t args_integer(struct args *a, const char *name)
{
    return json_integer_value(get(a, name));
}

double args_number(struct args *a, const char *name)
{
    return json_number_value(get(a, name));
}

size_t args_count(struct args *a, const char *name)
{
    const json_t *value = get(a, name);
    return json_is_object(value) ? json_object_size(value) : json_array_size(value);
}

const char *const *args_texts(struct args *a, const char *name)
{
    const json_t *list = get(a, name);
    const char **texts = keep(a, iii_result_new((json_array_size(list) + 1) * sizeof(char *)));
    for (size_t i = 0; i < json_array_size(list); i++)
        texts[i] = json_string_value(json_array_get(list, i));
    return texts;
}

struct iii_command args_command(struct args *a, const char *name)
{
    if (json_is_string(get(a, name)))
        return III_SHELL(args_text(a, name));
    return (struct iii_command){ .words = args_texts(a, name), .count = args_count(a, name) };
}

const struct iii_pair *args_pairs(struct args *a, const char *name)
{
    struct iii_pair *pairs = keep(a, iii_result_new((args_count(a, name) + 1) * sizeof(*pairs)));
    json_t *object = json_object_get(a->given, name), *value;
    const char *key;
    size_t i = 0;

    json_object_foreach(object, key, value) pairs[i++] = (struct iii_pair){ key, json_string_value(value) };
    return pairs;
}

static void *decode(struct args *a, const struct table_type *type, const json_t *value)
{
    struct iii_error err = { 0 };
    void *data = NULL;
    if (iii_table_decode(type, json_deep_copy(value), &data, &err) != 0)
        die(err.message, type->name);
    return keep(a, data);
}

const void *args_object(struct args *a, const char *name, const struct table_type *type)
{
    return decode(a, type, get(a, name));
}

const void *args_objects(struct args *a, const char *name, const struct table_type *type)
{
    const json_t *list = get(a, name);
    char *all = keep(a, iii_result_new((json_array_size(list) + 1) * type->size));
    for (size_t i = 0; i < json_array_size(list); i++)
        memcpy(all + i * type->size, decode(a, type, json_array_get(list, i)), type->size);
    return all;
}

void args_options(struct args *a, const struct table_type *type, void *options)
{
    memcpy(options, decode(a, type, a->given), type->size);
}

const char *args_key(struct args *a)
{
    return args_text(a, "Idempotency-Key");
}

void args_reply(struct args *a, const struct table_type *type, void *result)
{
    if (result)
        a->answer = iii_table_encode(type, result, IN_BODY);
    iii_free(result);
}

int args_event(const void *event, void *arg)
{
    struct args *a = arg;
    json_array_append_new(a->answer, iii_table_encode(a->event_type, event, IN_BODY));
    return a->take > 0 && json_array_size(a->answer) >= a->take;
}

void args_done(struct args *a)
{
    while (a->kept_count > 0)
        iii_free(a->kept[--a->kept_count]);
    iii_release(a->sandbox);
    json_decref(a->answer);
}
