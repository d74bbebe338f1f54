#include "cli/payload.h"

#include <string.h>

#include "base/alloc.h"

int payload_build(const char *json, char *const *words, int n_words, json_t **ret, struct err *err)
{
    JSON_OWNED payload = NULL;
    struct err why = ERR_INIT;
    if (json && json_read(json, strlen(json), &payload, &why) < 0)
        return err_set(err, ERR_INVALID, 0, "--json: invalid JSON: %s", why.msg);
    if (!payload)
        payload = json_object();
    if (n_words > 0 && !json_is_object(payload))
        return err_set(err, ERR_INVALID, 0, "--json must be an object when key=value arguments are given");
    for (int i = 0; i < n_words; i++) {
        const char *equals = strchr(words[i], '=');
        if (!equals)
            return err_set(err, ERR_INVALID, 0, "\"%.200s\": expected key=value", words[i]);
        if (equals == words[i])
            return err_set(err, ERR_INVALID, 0, "\"%.200s\": the key must not be empty", words[i]);
        CLEANUP(free_p) char *key = xstrndup(words[i], (size_t)(equals - words[i]));
        json_t *value = NULL; /* JSON when it parses as JSON, otherwise a string */
        if (json_read(equals + 1, strlen(equals + 1), &value, NULL) < 0)
            value = json_text(equals + 1, strlen(equals + 1));
        if (json_object_set_new(payload, key, value) < 0)
            return err_set(err, ERR_INVALID, 0, "key \"%.200s\" is not UTF-8", key);
    }
    *ret = STEAL(payload);
    return 0;
}
