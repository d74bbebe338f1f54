#include "api/fn_args.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/access.h"
#include "api/shell_words.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/strlist.h"

#define MODE_MAX     07777
#define BASE64_LIMIT (64u * 1024 * 1024)

static const char *type_name(const json_t *v)
{
    return json_is_object(v)    ? "an object"
           : json_is_array(v)   ? "a list"
           : json_is_string(v)  ? "a string"
           : json_is_boolean(v) ? "a boolean"
                                : "a number";
}

static int wrong_type(struct fn_call *c, const char *key, const char *wanted, const json_t *got)
{
    return fn_set_fault(c, "S001", "invalid request: `%s` must be %s, not %s", key, wanted, type_name(got));
}

static int missing(struct fn_call *c, const char *key)
{
    return fn_set_fault(c, "S001", "invalid request: missing field `%s`", key);
}

/* A number or boolean as its JSON text; NULL: it is neither. Caller owns. */
static json_t *scalar_text(const json_t *v)
{
    if (!json_is_number(v) && !json_is_boolean(v))
        return NULL;
    CLEANUP(free_p) char *text = json_write(v, NULL);
    return json_string(text);
}

static bool has_nul(const json_t *v)
{
    return strlen(json_string_value(v)) != json_string_length(v);
}

int fn_args_str(struct fn_call *c, const char *key, unsigned flags, const char **ret)
{
    json_t *v = json_get(c->in, key);
    if (!v)
        return flags & FN_ARG_REQUIRED ? missing(c, key) : 0;
    if (!json_is_string(v) && (flags & FN_ARG_SCALAR)) {
        json_t *text = scalar_text(v);
        if (text)
            (void)json_object_set_new(c->in, key, text);
        v = json_get(c->in, key);
    }
    if (!json_is_string(v))
        return wrong_type(c, key, "a string", v);
    if (has_nul(v) && !(flags & FN_ARG_ANY_BYTES))
        return fn_set_fault(c, "S001", "invalid request: `%s` holds a NUL character", key);
    *ret = json_string_value(v);
    return 0;
}

int fn_args_int(struct fn_call *c, const char *key, int64_t min, int64_t max, int64_t *ret)
{
    const json_t *v = json_get(c->in, key);
    if (!v)
        return 0;
    double real = json_is_real(v) ? json_real_value(v) : 0;
    if (!json_is_integer(v) && (!json_is_real(v) || real != floor(real) || fabs(real) > 9e15))
        return wrong_type(c, key, "an integer", v);
    int64_t value = json_is_real(v) ? (int64_t)real : json_integer_value(v);
    if (value < min || value > max)
        return fn_set_fault(c, "S001", "invalid request: `%s` is %lld, it must be between %lld and %lld", key,
                            (long long)value, (long long)min, (long long)max);
    *ret = value;
    return 0;
}

int fn_args_bool(struct fn_call *c, const char *key, bool *ret)
{
    const json_t *v = json_get(c->in, key);
    if (v && !json_is_boolean(v))
        return wrong_type(c, key, "true or false", v);
    if (v)
        *ret = json_is_true(v);
    return 0;
}

int fn_args_list(struct fn_call *c, const char *key, char ***ret)
{
    const json_t *v = json_get(c->in, key);
    CLEANUP(strlist_free_p) char **list = NULL;
    json_t *item;
    size_t i;
    if (v && !json_is_array(v))
        return wrong_type(c, key, "a list of strings", v);
    json_array_foreach((json_t *)(uintptr_t)v, i, item)
    {
        JSON_OWNED text = json_is_string(item) ? json_incref(item) : scalar_text(item);
        if (!text)
            return fn_set_fault(c, "S001", "invalid request: `%s[%zu]` must be a string", key, i);
        if (has_nul(text))
            return fn_set_fault(c, "S001", "invalid request: `%s[%zu]` holds a NUL character", key, i);
        strlist_add(&list, json_string_value(text));
    }
    *ret = STEAL(list);
    return 0;
}

int fn_args_id(struct fn_call *c)
{
    const char *text = NULL;
    struct err err = ERR_INIT;
    int r = fn_args_str(c, "sandbox_id", FN_ARG_REQUIRED, &text);
    if (r < 0)
        return r;
    if (uuid_parse(text, c->sandbox_id))
        return 0;
    if (!ident_is("sbx", text)) /* the name REST has for it is good here, too */
        return fn_set_fault(c, "S001", "invalid request: sandbox_id \"%.100s\" is not a UUID", text);
    struct sandbox *s = access_sandbox(c->set->manager, c->who, text, &err);
    if (!s)
        return fn_set_fault(c, "S002", "sandbox not found: %.100s", text);
    memcpy(c->sandbox_id, s->uuid, sizeof(c->sandbox_id));
    return 0;
}

int fn_args_path(struct fn_call *c, const char *key, const char **ret)
{
    int r = fn_args_str(c, key, FN_ARG_REQUIRED, ret);
    if (r < 0)
        return r;
    if (!**ret)
        return fn_set_fault(c, "S001", "invalid request: `%s` is empty", key);
    if (**ret != '/') { /* relative to the agent's own folder, which is the root */
        CLEANUP(free_p) char *absolute = xasprintf("/%s", *ret);
        (void)json_object_set_new(c->in, key, json_string(absolute));
        *ret = json_get_str(c->in, key, "/");
    }
    return 0;
}

int fn_args_mode(struct fn_call *c, const char *fallback, uint32_t *ret)
{
    const char *text = fallback ? fallback : "";
    char *end;
    int r = fn_args_str(c, "mode", FN_ARG_SCALAR | (fallback ? 0 : FN_ARG_REQUIRED), &text);
    if (r < 0)
        return r;
    while (*text == '0')
        text++;
    errno = 0;
    unsigned long value = strtoul(text, &end, 8);
    if (*end || errno || value > MODE_MAX || strspn(text, "01234567") != strlen(text))
        return fn_set_fault(c, "S210", "invalid mode \"%.40s\": octal digits up to 7777 are expected, as in \"0644\"",
                            json_get_str(c->in, "mode", ""));
    *ret = (uint32_t)value;
    return 0;
}

int fn_args_base64(struct fn_call *c, const char *key, struct buf *ret)
{
    const char *text = "";
    int r = fn_args_str(c, key, 0, &text);
    if (r < 0)
        return r;
    buf_init(ret, BASE64_LIMIT);
    if (base64_decode(text, strlen(text), ret) == 0)
        return 0;
    buf_done(ret);
    return fn_set_fault(c, "S001", "invalid request: `%s` is not base64 (standard alphabet, padded)", key);
}

/* --- env --- */

static int env_list(struct fn_call *c, const json_t *list, json_t *out)
{
    json_t *item;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)list, i, item)
    {
        if (!json_is_string(item))
            return fn_set_fault(c, "S001", "invalid request: `env[%zu]` must be \"KEY=VALUE\"", i);
        const char *text = json_string_value(item), *equals = strchr(text, '=');
        if (!equals || equals == text)
            continue; /* the contract: dropped without a word */
        CLEANUP(free_p) char *name = xstrndup(text, (size_t)(equals - text));
        (void)json_object_set_new(out, name, json_string(equals + 1));
    }
    return 0;
}

static bool is_env_name(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    if (!*name || !strchr(letters, *name))
        return false;
    for (; *name; name++)
        if (!strchr(letters, *name) && !(*name >= '0' && *name <= '9'))
            return false;
    return true;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int env_object(struct fn_call *c, json_t *vars, json_t *out)
{
    size_t n = 0, total = json_object_size(vars);
    CLEANUP(buf_done) struct buf bad = BUF_INIT(400);
    CLEANUP(free_p) const char **names = try_alloc((total + 1) * sizeof(*names));
    const char *name;
    json_t *value;
    if (!names)
        return fn_set_fault(c, "S001", "invalid request: `env` has too many members");
    json_object_foreach(vars, name, value)
    {
        names[n++] = name;
        if (!is_env_name(name))
            (void)buf_addf(&bad, "%s\"%.60s\"", bad.len ? ", " : "", name); /* a list that is too long is cut */
    }
    if (bad.len)
        return fn_set_fault(c, "S001", "invalid request: env names must match [A-Za-z_][A-Za-z0-9_]*: %s",
                            buf_text(&bad));
    qsort(names, n, sizeof(*names), by_text);
    for (size_t i = 0; i < n; i++) {
        value = json_object_get(vars, names[i]);
        json_t *text = json_is_string(value) ? json_incref(value) : scalar_text(value);
        if (!text)
            return fn_set_fault(c, "S001", "invalid request: `env.%s` must be a string", names[i]);
        (void)json_object_set_new(out, names[i], text);
    }
    return 0;
}

int fn_args_env_shape(struct fn_call *c)
{
    const json_t *v = json_get(c->in, "env");
    return !v || json_is_array(v) || json_is_object(v)
               ? 0
               : wrong_type(c, "env", "a list of \"KEY=VALUE\" or an object", v);
}

int fn_args_env(struct fn_call *c, json_t **ret)
{
    json_t *v = json_get(c->in, "env");
    JSON_OWNED out = json_object();
    int r = fn_args_env_shape(c);
    if (r == 0 && v)
        r = json_is_array(v) ? env_list(c, v, out) : env_object(c, v, out);
    if (r == 0)
        *ret = STEAL(out);
    return r;
}

/* --- command --- */

static int split_command(struct fn_call *c, const char *cmd, char ***ret)
{
    int r = shell_words_split(cmd, ret);
    if (r < 0)
        return fn_set_fault(c, "S001", "invalid request: `cmd` has an unbalanced quote or backslash: \"%.200s\"", cmd);
    if (!*ret)
        return fn_set_fault(c, "S001", "invalid request: `cmd` holds no command, as in cmd: \"python3 main.py\"");
    return 0;
}

int fn_args_command(struct fn_call *c, char ***ret)
{
    const char *cmd = "";
    CLEANUP(strlist_free_p) char **args = NULL, **argv = NULL;
    int r = fn_args_str(c, "cmd", 0, &cmd);
    if (r == 0)
        r = fn_args_list(c, "args", &args);
    if (r == 0)
        r = fn_args_list(c, "argv", &argv);
    if (r < 0)
        return r;
    if (argv && (*cmd || args))
        return fn_set_fault(c, "S001", "invalid request: ambiguous command: give `argv` alone, or `cmd` with `args`");
    if (argv) {
        if (!argv[0][0])
            return fn_set_fault(c, "S001", "invalid request: the first item of `argv` is empty");
        *ret = STEAL(argv);
        return 0;
    }
    bool has_space = shell_words_has_space(cmd);
    if (has_space && args)
        return fn_set_fault(
            c, "S001",
            "invalid request: ambiguous command: `cmd` has white space and `args` is given; put each word "
            "into `args`, or all into `cmd`");
    if (has_space)
        return split_command(c, cmd, ret);
    if (!*cmd)
        return fn_set_fault(
            c, "S001", "invalid request: empty command: give cmd: \"ls -l\", cmd with args, or argv: [\"ls\", \"-l\"]");
    strlist_add(ret, cmd);
    for (char **a = args; a && *a; a++)
        strlist_add(ret, *a);
    return 0;
}
