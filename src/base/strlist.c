#include "base/strlist.h"

#include <string.h>

#include "base/alloc.h"

char **strlist_free(char **list)
{
    for (char **p = list; p && *p; p++)
        free(*p);
    free(list);
    return NULL;
}

size_t strlist_count(char *const *list)
{
    size_t n = 0;
    while (list && list[n])
        n++;
    return n;
}

static void add_owned(char ***list, char *s)
{
    size_t n = strlist_count(*list);
    *list = xrealloc(*list, (n + 2) * sizeof(char *));
    (*list)[n] = s;
    (*list)[n + 1] = NULL;
}

void strlist_add(char ***list, const char *s)
{
    add_owned(list, xstrdup(s));
}

char **strlist_copy(char *const *list)
{
    if (!list)
        return NULL;
    size_t n = strlist_count(list);
    char **copy = xzalloc((n + 1) * sizeof(char *));
    for (size_t i = 0; i < n; i++)
        copy[i] = xstrdup(list[i]);
    return copy;
}

char **strlist_from_json(const json_t *array)
{
    if (!json_is_array(array))
        return NULL;
    char **list = xzalloc((json_array_size(array) + 1) * sizeof(char *));
    size_t i, n = 0;
    json_t *v;
    json_array_foreach(array, i, v)
    {
        if (json_is_string(v))
            list[n++] = xstrdup(json_string_value(v));
    }
    return list;
}

json_t *strlist_to_json(char *const *list)
{
    json_t *array = json_array();
    for (char *const *p = list; p && *p; p++)
        (void)json_array_append_new(array, json_text(*p, strlen(*p)));
    return array;
}

static char **env_slot(char **list, const char *key)
{
    size_t n = strlen(key);
    for (char **p = list; p && *p; p++)
        if (strncmp(*p, key, n) == 0 && (*p)[n] == '=')
            return p;
    return NULL;
}

void strlist_env_set(char ***list, const char *key, const char *value)
{
    char *pair = xasprintf("%s=%s", key, value);
    char **slot = env_slot(*list, key);
    if (!slot) {
        add_owned(list, pair);
        return;
    }
    free(*slot);
    *slot = pair;
}

void strlist_env_unset(char **list, const char *key)
{
    char **slot = env_slot(list, key);
    if (!slot)
        return;
    free(*slot);
    for (; slot[1]; slot++)
        slot[0] = slot[1];
    slot[0] = NULL;
}

const char *strlist_env_get(char *const *list, const char *key)
{
    size_t n = strlen(key);
    for (char *const *p = list; p && *p; p++)
        if (strncmp(*p, key, n) == 0 && (*p)[n] == '=')
            return *p + n + 1;
    return NULL;
}
