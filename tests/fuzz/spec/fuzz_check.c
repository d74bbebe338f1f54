/* Parameters as JSON, checked against every row of the table of operations: as they are, and with each member as text,
 * which is what a query string makes of it. What passes must pass again unchanged; a refusal says why. */
#include "../feed.h"

#include "base/json.h"
#include "base/warnings.h"
#include "spec/spec.h"

static void check_row(const struct op *op, const json_t *given)
{
    struct err err = ERR_INIT;
    JSON_OWNED params = json_deep_copy(given);
    JSON_OWNED warnings = NULL;
    JSON_OWNED again = NULL;
    static struct settings set;
    if (!set.host)
        settings_init(&set);
    if (spec_check(op, params, &set, &warnings, &err) < 0) {
        MUST(err.code != ERR_NONE && err.msg[0]);
        return;
    }
    JSON_OWNED before = json_deep_copy(params);
    MUST(spec_check(op, params, &set, &again, &err) == 0 && json_equal(before, params));
    MUST(json_array_size(warnings) <= WARNINGS_MAX + 1 && json_array_size(again) <= json_array_size(warnings));
}

static json_t *as_texts(json_t *params)
{
    json_t *out = json_object(), *value;
    const char *key;
    json_object_foreach(params, key, value)
    {
        size_t len = 0;
        CLEANUP(free_p) char *text = json_write(value, &len);
        (void)json_object_set_new(out, key, text ? json_stringn(text, len) : json_null());
    }
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    JSON_OWNED params = NULL;
    if (json_read((const char *)data, size, &params, NULL) < 0 || !json_is_object(params))
        return 0;
    JSON_OWNED texts = as_texts(params);
    for (size_t i = 0; i < OP_ALL; i++) {
        check_row(&spec_ops[i], params);
        check_row(&spec_ops[i], texts);
    }
    return 0;
}
