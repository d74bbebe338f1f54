#include "api/fn_schema.h"

#include <string.h>

#include "base/alloc.h"

static json_t *type_schema(const char *type)
{
    if (strcmp(type, "any") == 0)
        return json_object();
    if (strcmp(type, "list") == 0)
        return json_pack("{s:s, s:{}}", "type", "array", "items");
    return json_pack("{s:s}", "type", type);
}

json_t *fn_schema_make(const char *fields)
{
    json_t *properties = json_object(), *required = json_array();
    CLEANUP(free_p) char *copy = xstrdup(fields);
    char *rest = copy, *word;
    while ((word = strsep(&rest, " "))) {
        char *colon = strchr(word, ':');
        if (!colon)
            continue;
        *colon = '\0';
        char *type = colon + 1, *bang = strchr(type, '!');
        if (bang) {
            *bang = '\0';
            (void)json_array_append_new(required, json_string(word));
        }
        (void)json_object_set_new(properties, word, type_schema(type));
    }
    return json_pack("{s:s, s:o, s:o}", "type", "object", "properties", properties, "required", required);
}
