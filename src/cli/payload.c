#include "cli/payload.h"

#include <string.h>

#include "base/alloc.h"

/* A value as typed: JSON when it parses as JSON, otherwise a string. */
static json_t *value_of(const char *text)
{
    json_t *value = NULL;
    if (json_read(text, strlen(text), &value, NULL) == 0)
        return value;
    return json_text(text, strlen(text));
}

static int set_word(json_t *object, const char *word, struct err *err)
{
    const char *equals = strchr(word, '=');
    if (!equals)
        return err_set(err, ERR_INVALID, 0, "\"%.200s\": expected key=value", word);
    if (equals == word)
        return err_set(err, ERR_INVALID, 0, "\"%.200s\": the key must not be empty", word);
    CLEANUP(free_p) char *key = xstrndup(word, (size_t)(equals - word));
    if (json_object_set_new(object, key, value_of(equals + 1)) < 0)
        return err_set(err, ERR_INVALID, 0, "key \"%.200s\" is not UTF-8", key);
    return 0;
}

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
        int r = set_word(payload, words[i], err);
        if (r < 0)
            return r;
    }
    *ret = STEAL(payload);
    return 0;
}
