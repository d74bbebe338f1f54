#include "engine/engine_config.h"

#include <stdio.h>
#include <string.h>

#include "engine/value_store.h"

/* Every key that is understood. An owner is a worker's name and the groups below it. */
static const struct config_key {
    const char *owner, *key;
    json_type type;
    json_int_t min, max; /* of an integer */
} config_keys[] = {
    { "iii-stream", "port", JSON_INTEGER, 0, 65535 },
    { "iii-stream", "host", JSON_STRING, 0, 0 },
    { "iii-stream", "auth_function", JSON_STRING, 0, 0 },
    { "iii-stream", "adapter", JSON_OBJECT, 0, 0 },
    { "iii-stream.adapter", "name", JSON_STRING, 0, 0 },
    { "iii-stream.adapter", "config", JSON_OBJECT, 0, 0 },
    { "iii-stream.adapter.config", "store_method", JSON_STRING, 0, 0 },
    { "iii-stream.adapter.config", "file_path", JSON_STRING, 0, 0 },
    { "iii-stream.adapter.config", "save_interval_ms", JSON_INTEGER, 100, 86400000 },
    { "iii-stream.adapter.config", "bridge_url", JSON_STRING, 0, 0 },
    { "iii-state", "max_value_bytes", JSON_INTEGER, 1, VALUE_STORE_VALUE_MAX },
    { "iii-state", "adapter", JSON_OBJECT, 0, 0 },
    { "iii-state.adapter", "name", JSON_STRING, 0, 0 },
    { "iii-state.adapter", "config", JSON_OBJECT, 0, 0 },
    { "iii-state.adapter.config", "store_method", JSON_STRING, 0, 0 },
    { "iii-state.adapter.config", "file_path", JSON_STRING, 0, 0 },
    { "iii-state.adapter.config", "save_interval_ms", JSON_INTEGER, 100, 86400000 },
    { "iii-state.adapter.config", "bridge_url", JSON_STRING, 0, 0 },
    { "iii-http-functions", "security", JSON_OBJECT, 0, 0 },
    { "iii-http-functions.security", "url_allowlist", JSON_ARRAY, 0, 0 },
    { "iii-http-functions.security", "block_private_ips", JSON_TRUE, 0, 0 },
    { "iii-http-functions.security", "require_https", JSON_TRUE, 0, 0 },
    { "iii-worker-manager", "port", JSON_INTEGER, 0, 65535 },
    { "iii-worker-manager", "host", JSON_STRING, 0, 0 },
    { "iii-worker-manager", "handshake_timeout_ms", JSON_INTEGER, 1, 600000 },
    { "iii-worker-manager", "middleware_function_id", JSON_STRING, 0, 0 },
    { "iii-worker-manager", "rbac", JSON_OBJECT, 0, 0 },
    { "iii-worker-manager.rbac", "auth_function_id", JSON_STRING, 0, 0 },
    { "iii-worker-manager.rbac", "expose_functions", JSON_ARRAY, 0, 0 },
    { "iii-worker-manager.rbac", "on_function_registration_function_id", JSON_STRING, 0, 0 },
    { "iii-worker-manager.rbac", "on_trigger_registration_function_id", JSON_STRING, 0, 0 },
    { "iii-worker-manager.rbac", "on_trigger_type_registration_function_id", JSON_STRING, 0, 0 },
};
#define N_KEYS (sizeof(config_keys) / sizeof(config_keys[0]))

bool engine_config_is_known(const char *name)
{
    for (size_t i = 0; i < N_KEYS; i++)
        if (strcmp(config_keys[i].owner, name) == 0)
            return true;
    return false;
}

static const char *type_name(json_type t)
{
    return t == JSON_INTEGER  ? "a whole number"
           : t == JSON_STRING ? "a text"
           : t == JSON_OBJECT ? "a mapping"
           : t == JSON_ARRAY  ? "a list"
                              : "true or false";
}

static int check_group(const char *owner, json_t *group, struct err *err);

static int check_member(const char *owner, const char *key, json_t *value, struct err *err)
{
    const struct config_key *k = config_keys;
    char below[128];
    while (k < config_keys + N_KEYS && (strcmp(k->owner, owner) != 0 || strcmp(k->key, key) != 0))
        k++;
    if (k == config_keys + N_KEYS)
        return err_set(err, ERR_INVALID, 0, "%s: unknown key \"%.64s\"", owner, key);
    if (json_is_null(value))
        return 0;
    bool is_right = k->type == JSON_TRUE ? json_is_boolean(value) : json_typeof(value) == k->type;
    if (!is_right)
        return err_set(err, ERR_INVALID, 0, "%s: %s must be %s", owner, key, type_name(k->type));
    if (k->type == JSON_INTEGER && (json_integer_value(value) < k->min || json_integer_value(value) > k->max))
        return err_set(err, ERR_INVALID, 0, "%s: %s must be %lld to %lld", owner, key, (long long)k->min,
                       (long long)k->max);
    if (strcmp(key, "name") == 0 && strcmp(json_string_value(value), "kv") != 0 &&
        strcmp(json_string_value(value), "bridge") != 0)
        return err_set(err, ERR_INVALID, 0, "%s: \"%.64s\" is not available: use kv or bridge", owner,
                       json_string_value(value));
    if (strcmp(key, "store_method") == 0 && strcmp(json_string_value(value), "in_memory") != 0 &&
        strcmp(json_string_value(value), "file_based") != 0)
        return err_set(err, ERR_INVALID, 0, "%s: store_method must be in_memory or file_based", owner);
    (void)snprintf(below, sizeof(below), "%s.%s", owner, key);
    return k->type == JSON_OBJECT ? check_group(below, value, err) : 0;
}

static int check_group(const char *owner, json_t *group, struct err *err)
{
    const char *key;
    json_t *value;
    int r = 0;
    json_object_foreach(group, key, value)
    {
        if (r == 0)
            r = check_member(owner, key, value, err);
    }
    return r;
}

int engine_config_read(const char *text, json_t **ret, struct err *err)
{
    JSON_OWNED list = json_array();
    if (*text) {
        json_decref(STEAL(list));
        int r = json_read(text, strlen(text), &list, err);
        if (r < 0)
            return err_wrap(err, r, "engine.workers");
    }
    if (!json_is_array(list))
        return err_set(err, ERR_INVALID, 0, "engine.workers: a list of {name, config} is expected");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        const char *name = json_get_str(entry, "name", "");
        json_t *config = json_get(entry, "config");
        if (!engine_config_is_known(name))
            return err_set(err, ERR_INVALID, 0, "engine.workers: \"%.64s\" is not a worker of the engine", name);
        if (config && !json_is_object(config))
            return err_set(err, ERR_INVALID, 0, "%s: config must be a mapping", name);
        int r = check_group(name, config, err);
        if (r < 0)
            return r;
    }
    *ret = STEAL(list);
    return 0;
}

const char *engine_config_bridge(const json_t *list, const char *name)
{
    const json_t *adapter = json_get(engine_config_of(list, name), "adapter");
    bool is_bridge = strcmp(json_get_str(adapter, "name", ""), "bridge") == 0;
    return is_bridge ? json_get_str(json_get(adapter, "config"), "bridge_url", "") : NULL;
}

const json_t *engine_config_of(const json_t *list, const char *name)
{
    const json_t *found = NULL;
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_get_str(json_array_get(list, i), "name", ""), name) == 0)
            found = json_get(json_array_get(list, i), "config");
    return found;
}
