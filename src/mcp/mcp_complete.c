/* completion/complete: values for an argument of a prompt or of a resource's address, as a user types it. Languages
 * come from the operation table; ids of sandboxes and paths of files from the server. What cannot be completed has no
 * values. */
#include <string.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "mcp/mcp_prompt.h"
#include "mcp/mcp_session_core.h"

#define VALUES_MAX 100 /* the protocol's limit */

/* Takes values; total counts those that did not fit, too. */
static json_t *completion(json_t *values, size_t total)
{
    return json_pack("{s:{s:o, s:i, s:b}}", "completion", "values", values, "total", (int)total, "hasMore",
                     total > VALUES_MAX);
}

static void add_value(json_t *values, size_t *total, json_t *value)
{
    if ((*total)++ < VALUES_MAX)
        (void)json_array_append(values, value);
    json_decref(value);
}

/* By id or by name; the value is the id. */
static json_t *sandbox_values(const struct mcp_work *w, const json_t *answer)
{
    const char *typed = json_get_str(w->args, "value", "");
    const json_t *items = json_get(answer, "items");
    json_t *values = json_array();
    size_t total = 0;
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *one = json_array_get(items, i);
        const char *id = json_get_str(one, "id", "");
        if (strncmp(id, typed, strlen(typed)) == 0 || strncmp(json_get_str(one, "name", ""), typed, strlen(typed)) == 0)
            add_value(values, &total, json_string(id));
    }
    return completion(values, total);
}

/* Length of the folder's part of a path that is being typed, with its last slash. */
static size_t folder_len(const char *typed)
{
    const char *slash = strrchr(typed, '/');
    return slash ? (size_t)(slash + 1 - typed) : 0;
}

static json_t *path_values(const struct mcp_work *w, const json_t *answer)
{
    const char *typed = json_get_str(w->args, "value", "");
    size_t len = folder_len(typed), total = 0;
    json_t *values = json_array();
    for (size_t i = 0; i < json_array_size(answer); i++) {
        const json_t *entry = json_array_get(answer, i);
        const char *name = json_get_str(entry, "name", "");
        if (strncmp(name, typed + len, strlen(typed + len)) == 0)
            add_value(
                values, &total,
                json_sprintf("%.*s%s%s", (int)len, typed, name, json_get_bool(entry, "isDirectory", false) ? "/" : ""));
    }
    return completion(values, total);
}

static json_t *language_values(const char *typed)
{
    const struct field *f = spec_ops[OP_ID_interp_execute].fields;
    json_t *values = json_array();
    size_t total = 0;
    while (strcmp(f->name, "language") != 0)
        f++;
    for (const char *at = f->choices; *at; at += *at == '|') {
        size_t len = strcspn(at, "|");
        if (strncmp(at, typed, strlen(typed)) == 0)
            add_value(values, &total, json_stringn(at, len));
        at += len;
    }
    return completion(values, total);
}

static void complete_from_server(struct mcp_exchange *x, const json_t *id, const json_t *argument,
                                 const json_t *context)
{
    const char *typed = json_get_str(argument, "value", "");
    const char *box = json_get_str(json_get(context, "arguments"), "sandboxId", NULL);
    bool is_path = strcmp(json_get_str(argument, "name", ""), "path") == 0;
    struct err err = ERR_INIT;
    json_t *params =
        is_path ? json_pack("{s:s?, s:o}", "id", box, "path", json_sprintf("/%.*s", (int)folder_len(typed), typed))
                : json_pack("{s:i}", "pageSize", (int)LIMIT_MAX(PAGE_SIZE));
    enum op_id op = is_path ? OP_ID_fs_list : OP_ID_sandbox_list;
    if (!params || (is_path && !box) || spec_check(&spec_ops[op], params, NULL, NULL, &err) < 0) {
        json_decref(params);
        mcp_session_answer(x, id, completion(json_array(), 0)); /* not yet, or never, the name of something */
        return;
    }
    struct mcp_work *w = mcp_work_new(x, id, op, params);
    if (!w)
        return;
    w->args = json_deep_copy(argument);
    w->result = is_path ? path_values : sandbox_values;
    mcp_work_start(w);
}

void mcp_complete_run(struct mcp_exchange *x, const json_t *id, const json_t *params)
{
    const json_t *ref = json_get(params, "ref"), *argument = json_get(params, "argument");
    const char *type = json_get_str(ref, "type", ""), *name = json_get_str(argument, "name", NULL),
               *typed = json_get_str(argument, "value", NULL);
    bool is_prompt = strcmp(type, "ref/prompt") == 0;
    if ((!is_prompt && strcmp(type, "ref/resource") != 0) || !name || !typed) {
        mcp_session_refuse(
            x, id, MCP_SESSION_PARAMS,
            "completion: ref (of type ref/prompt or ref/resource) and argument, with name and value, are "
            "needed");
        return;
    }
    bool is_known = is_prompt ? mcp_prompt_has(json_get_str(ref, "name", ""), name)
                              : mcp_resource_has(json_get_str(ref, "uri", ""), name);
    if (is_known && strcmp(name, "language") == 0)
        mcp_session_answer(x, id, language_values(typed));
    else if (is_known && (strcmp(name, "sandboxId") == 0 || strcmp(name, "path") == 0))
        complete_from_server(x, id, argument, json_get(params, "context"));
    else
        mcp_session_answer(x, id, completion(json_array(), 0));
}
