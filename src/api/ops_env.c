/* Handlers of the environment overlay, mirrored into /etc/environment inside. */
#include <ctype.h>
#include <string.h>

#include "api/call.h"
#include "api/handlers.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/strlist.h"

#define ENV_MAX LIMIT_MAX(LIST_ENTRIES) /* variables of one overlay */

static int check_key(const char *key, struct err *err)
{
    if (handlers_is_env_name(key))
        return 0;
    return err_set(err, ERR_INVALID, 0, "env key \"%.64s\": only letters, digits and _, not starting with a digit",
                   key);
}

void api_env_get(struct call *c)
{
    struct err err = ERR_INIT;
    const char *key = call_str(c, "key", "");
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    if (check_key(key, &err) < 0) {
        call_fail(c, &err);
        return;
    }
    const char *value = strlist_env_get((char *const *)(uintptr_t)sandbox_env(s), key);
    size_t len = value ? strlen(value) : 0;
    while (len && isspace((unsigned char)value[len - 1])) /* right-trimmed, as the contract shows it */
        len--;
    call_ok(c, json_pack("{s:s, s:o, s:b}", "key", key, "value", value ? json_text(value, len) : json_null(), "exists",
                         value != NULL));
}

void api_env_list(struct call *c)
{
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    json_t *vars = json_object();
    for (const char *const *p = sandbox_env(s); *p; p++) {
        const char *eq = strchr(*p, '=');
        CLEANUP(free_p) char *key = strndup(*p, (size_t)(eq - *p));
        if (key)
            (void)json_object_set_new(vars, key, json_text(eq + 1, strlen(eq + 1)));
    }
    call_ok(c, json_pack("{s:o, s:i}", "vars", vars, "count", (int)json_object_size(vars)));
}

/* The overlay as lines of KEY=value; that format cannot express newlines inside values: they become spaces. */
static int mirror(struct sandbox *s, guest_done_fn *fn, struct call *c)
{
    struct buf text = BUF_INIT(1024 * 1024);
    const char *key;
    json_t *value;
    json_object_foreach(s->env, key, value)
    {
        CLEANUP(free_p) char *line = xasprintf("%s=%s", key, json_is_string(value) ? json_string_value(value) : "");
        for (char *p = line; *p; p++)
            if (*p == '\r' || *p == '\n')
                *p = ' ';
        if (json_is_string(value))
            (void)buf_addf(&text, "%s\n", line);
    }
    int r = guest_fs_put(s->link, "/etc/environment", buf_text(&text), text.len, 0644, fn, c);
    buf_done(&text);
    return r;
}

static void on_set_mirrored(void *arg, const struct err *err)
{
    struct call *c = arg;
    json_t *keys = json_array();
    const char *key;
    json_t *value;
    if (err) {
        json_decref(keys);
        call_fail(c, err);
        return;
    }
    json_object_foreach(json_get(call_params(c), "vars"), key, value)
    {
        (void)json_array_append_new(keys, json_string(key));
    }
    call_ok(c, json_pack("{s:o, s:i}", "set", keys, "count", (int)json_array_size(keys)));
}

void api_env_set(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    json_t *vars = json_get(call_params(c), "vars");
    const char *key;
    json_t *value;
    int r = json_object_size(vars) + json_object_size(s->env) <= ENV_MAX
                ? 0
                : err_set(&err, ERR_INVALID, 0, "vars: more than %d variables", ENV_MAX);
    json_object_foreach(vars, key, value)
    {
        if (r == 0)
            r = check_key(key, &err);
    }
    if (r == 0) {
        (void)json_object_update(s->env, vars);
        sandbox_env_changed(s);
        r = sandbox_save(s, &err);
    }
    if (r < 0)
        call_fail(c, &err);
    else
        (void)handlers_failed(c, mirror(s, on_set_mirrored, c), "writing /etc/environment");
}

static void on_delete_mirrored(void *arg, const struct err *err)
{
    struct call *c = arg;
    if (err)
        call_fail(c, err);
    else
        call_ok(c, json_pack("{s:s}", "deleted", call_str(c, "key", "")));
}

void api_env_delete(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    if (check_key(call_str(c, "key", ""), &err) < 0) {
        call_fail(c, &err);
        return;
    }
    /* null hides what the image or the config sets; a key of the overlay alone just goes. */
    (void)json_object_set_new(s->env, call_str(c, "key", ""), json_null());
    sandbox_env_changed(s);
    if (sandbox_save(s, &err) < 0)
        call_fail(c, &err);
    else
        (void)handlers_failed(c, mirror(s, on_delete_mirrored, c), "writing /etc/environment");
}
