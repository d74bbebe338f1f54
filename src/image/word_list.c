#include "image/word_list.h"

#include <string.h>

#include "base/alloc.h"

char **word_list_free(char **list)
{
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
    return NULL;
}

size_t word_list_len(char *const *list)
{
    size_t n = 0;
    while (list && list[n])
        n++;
    return n;
}

int word_list_from_json(const json_t *j, const char *what, size_t max_items, size_t max_bytes, char ***ret,
                        struct err *err)
{
    if (!j || json_is_null(j)) {
        *ret = NULL;
        return 0;
    }
    if (!json_is_array(j))
        return err_set(err, ERR_INVALID, 0, "%s is not a list", what);
    size_t n = json_array_size(j);
    if (n > max_items)
        return err_set(err, ERR_TOO_LARGE, 0, "%s has %zu items, the limit is %zu", what, n, max_items);

    CLEANUP(word_list_free_p) char **list = xzalloc((n + 1) * sizeof(*list));
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(j, i);
        if (!json_is_string(item) || strlen(json_string_value(item)) != json_string_length(item))
            return err_set(err, ERR_INVALID, 0, "%s, item %zu: not a text without NUL bytes", what, i + 1);
        if (json_string_length(item) > max_bytes)
            return err_set(err, ERR_TOO_LARGE, 0, "%s, item %zu: %zu bytes, the limit is %zu", what, i + 1,
                           json_string_length(item), max_bytes);
        list[i] = xstrdup(json_string_value(item));
    }
    *ret = STEAL(list);
    return 0;
}

json_t *word_list_to_json(char *const *list)
{
    if (!list)
        return json_null();
    json_t *j = json_array();
    for (size_t i = 0; list[i]; i++)
        json_array_append_new(j, json_text(list[i], strlen(list[i])));
    return j;
}
