/* Fields of the sandbox:: functions that are more than their type. */
#include "api/fn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/access.h"
#include "api/handlers.h"
#include "api/shell_words.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/strlist.h"

#define MODE_MAX     07777
#define BASE64_LIMIT (64u * 1024 * 1024)

int fn_read_id(struct call *c)
{
    const char *text = call_str(c, "sandbox_id", "");
    struct fn_part *p = call_fn(c);
    if (uuid_parse(text, p->sandbox_id))
        return 0;
    if (!ident_is("sbx", text)) /* the id that REST has for it is good here, too */
        return fn_set_fault(c, "S001",
                            "invalid request: sandbox_id \"%.100s\" is not a UUID, and no sandbox has this name", text);
    struct sandbox *s = access_sandbox(call_manager(c), call_who(c), text, NULL);
    if (!s)
        return fn_set_fault(c, "S002", "sandbox not found: %.100s", text);
    memcpy(p->sandbox_id, s->uuid, sizeof(p->sandbox_id));
    return 0;
}

const char *fn_path(struct call *c, const char *key)
{
    const char *path = call_str(c, key, "/");
    if (*path == '/')
        return path;
    CLEANUP(free_p) char *absolute = xasprintf("/%s", path); /* the agent's own folder is the root */
    (void)json_object_set_new(call_params(c), key, json_string(absolute));
    return call_str(c, key, "/");
}

int fn_read_mode(struct call *c, const char *fallback, uint32_t *ret)
{
    const char *given = call_str(c, "mode", fallback), *text = given;
    char *end;
    while (*text == '0')
        text++;
    errno = 0;
    unsigned long value = strtoul(text, &end, 8);
    if (*end || errno || value > MODE_MAX || strspn(text, "01234567") != strlen(text)) {
        size_t mark = strncasecmp(given, "0o", 2) == 0 ? 2 : 0, digits = strspn(given + mark, "01234567");
        if (mark && digits > 0 && digits <= 4 && !given[mark + digits])
            fn_fix(c, json_pack("{s:s}", "mode", given + mark), FN_MERGE("octal digits alone"));
        return fn_set_fault(c, "S210", "invalid mode \"%.40s\": octal digits up to 7777 are expected, as in \"0644\"",
                            given);
    }
    *ret = (uint32_t)value;
    return 0;
}

int fn_read_base64(struct call *c, const char *key, struct buf *ret)
{
    const char *text = call_str(c, key, "");
    buf_init(ret, BASE64_LIMIT);
    if (base64_decode(text, strlen(text), ret) == 0)
        return 0;
    buf_done(ret);
    return fn_set_fault(c, "S001", "invalid request: `%s` is not base64 (standard alphabet, padded)", key);
}

/* --- env --- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int env_object(struct call *c, json_t *vars, json_t *out)
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
        if (!handlers_is_env_name(name))
            (void)buf_addf(&bad, "%s\"%.60s\"", bad.len ? ", " : "", name); /* a list that is too long is cut */
    }
    if (bad.len)
        return fn_set_fault(c, "S001", "invalid request: env names must match [A-Za-z_][A-Za-z0-9_]*: %s",
                            buf_text(&bad));
    qsort(names, n, sizeof(*names), by_text);
    for (size_t i = 0; i < n; i++) {
        value = json_object_get(vars, names[i]);
        CLEANUP(free_p) char *scalar = json_is_number(value) || json_is_boolean(value) ? json_write(value, NULL) : NULL;
        json_t *text = json_is_string(value) ? json_incref(value) : scalar ? json_string(scalar) : NULL;
        if (!text)
            return fn_set_fault(c, "S001", "invalid request: `env.%s` must be a string", names[i]);
        (void)json_object_set_new(out, names[i], text);
    }
    return 0;
}

int fn_check_env(struct call *c)
{
    const json_t *v = json_get(call_params(c), "env");
    return !v || json_is_array(v) || json_is_object(v)
               ? 0
               : fn_set_fault(c, "S001", "invalid request: `env` must be a list of \"KEY=VALUE\" or an object");
}

int fn_read_env(struct call *c, json_t **ret)
{
    json_t *v = json_get(call_params(c), "env");
    JSON_OWNED out = json_object();
    json_t *item;
    size_t i;
    int r = fn_check_env(c);
    if (r == 0 && json_is_object(v))
        r = env_object(c, v, out);
    if (r < 0)
        return r;
    json_array_foreach(v, i, item)
    {
        if (!json_is_string(item))
            return fn_set_fault(c, "S001", "invalid request: `env[%zu]` must be \"KEY=VALUE\"", i);
        const char *text = json_string_value(item), *equals = strchr(text, '=');
        if (!equals || equals == text)
            continue; /* the contract: dropped silently */
        CLEANUP(free_p) char *name = xstrndup(text, (size_t)(equals - text));
        (void)json_object_set_new(out, name, json_string(equals + 1));
    }
    *ret = STEAL(out);
    return 0;
}

/* --- command --- */

int fn_read_command(struct call *c, char ***ret)
{
    const char *cmd = call_str(c, "cmd", "");
    CLEANUP(strlist_free_p) char **args = strlist_from_json(json_get(call_params(c), "args"));
    CLEANUP(strlist_free_p) char **argv = strlist_from_json(json_get(call_params(c), "argv"));
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
    if (has_space && shell_words_split(cmd, ret) < 0)
        return fn_set_fault(c, "S001", "invalid request: `cmd` has an unbalanced quote or backslash: \"%.200s\"", cmd);
    if (has_space && !*ret)
        return fn_set_fault(c, "S001", "invalid request: `cmd` holds no command, as in cmd: \"python3 main.py\"");
    if (has_space)
        return 0;
    if (!*cmd)
        return fn_set_fault(
            c, "S001", "invalid request: empty command: give cmd: \"ls -l\", cmd with args, or argv: [\"ls\", \"-l\"]");
    strlist_add(ret, cmd);
    for (char **a = args; a && *a; a++)
        strlist_add(ret, *a);
    return 0;
}
