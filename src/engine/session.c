/* The rules of a listener applied to one worker. A session is made once, when the worker connects, from the rules and
 * the answer of the auth function, and never changes. Judging a call is a pure function of the session, the id and the
 * metadata of the function. A registration passes three steps in worker.c: the session's flags, the operator's hook,
 * and session_rewrite(), which applies the hook's answer and the prefix to the message. */
#include "engine/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "engine/registry.h"
#include "engine/wildcard.h"

struct session {
    const json_t *rules, *rbac; /* borrowed; rbac NULL: calls are not limited */
    json_t *answer;             /* of the auth function; NULL: none */
    json_t *context;
    char *prefix; /* with "::" at its end; "" */
    char tenant[SHARE_TENANT_MAX];
};

/* --- expose_functions --- */

/* PATTERN of match("PATTERN") or match('PATTERN'); NULL: another text. Caller frees. */
static char *pattern_of(const char *text)
{
    size_t len = strlen(text);
    if (len < 9 || strncmp(text, "match(", 6) != 0 || text[len - 1] != ')' || text[6] != text[len - 2] ||
        (text[6] != '"' && text[6] != '\''))
        return NULL;
    return xstrndup(text + 7, len - 9);
}

static int check_item(json_t *item, struct err *err)
{
    const char *key;
    json_t *value;
    if (json_is_string(item)) {
        CLEANUP(free_p) char *pattern = pattern_of(json_string_value(item));
        return pattern ? 0
                       : err_set(err, ERR_INVALID, 0, "expose_functions: \"%.64s\" is not match(\"PATTERN\")",
                                 json_string_value(item));
    }
    if (!json_is_object(item) || !json_get(item, "match") == !json_get(item, "metadata"))
        return err_set(err, ERR_INVALID, 0, "expose_functions: each entry has either match or metadata");
    json_object_foreach(item, key, value)
    {
        bool is_right = strcmp(key, "metadata") == 0
                            ? json_is_object(value)
                            : (strcmp(key, "match") == 0 || strcmp(key, "namespace") == 0) && json_is_string(value);
        if (!is_right)
            return err_set(err, ERR_INVALID, 0, "expose_functions: \"%.64s\" is not understood", key);
    }
    return 0;
}

int session_check_rules(const json_t *rules, struct err *err)
{
    const json_t *list = json_get(json_get(rules, "rbac"), "expose_functions");
    int r = 0;
    for (size_t i = 0; r == 0 && i < json_array_size(list); i++)
        r = check_item(json_array_get(list, i), err);
    return r < 0 ? err_wrap(err, r, "iii-worker-manager") : 0;
}

static bool has_metadata(json_t *wanted, const json_t *metadata)
{
    const char *key;
    json_t *value;
    json_object_foreach(wanted, key, value)
    {
        const json_t *real = json_object_get(metadata, key);
        CLEANUP(free_p) char *pattern = json_is_string(value) ? pattern_of(json_string_value(value)) : NULL;
        bool is_same = pattern ? json_is_string(real) && wildcard_match(pattern, json_string_value(real))
                               : real && json_equal(real, value);
        if (!is_same)
            return false;
    }
    return true;
}

static bool is_exposed(const json_t *item, const char *id, const struct function *f)
{
    CLEANUP(free_p) char *text = json_is_string(item) ? pattern_of(json_string_value(item)) : NULL;
    const char *pattern = text ? text : json_get_str(item, "match", NULL);
    if (strcmp(json_get_str(item, "namespace", "default"), "default") != 0)
        return false; /* there is no other namespace */
    if (pattern)
        return wildcard_match(pattern, id);
    return f && has_metadata(json_get(item, "metadata"), f->metadata);
}

/* --- calls --- */

/* What every client needs to work at all. */
static bool is_infrastructure(const char *id)
{
    static const char *const ids[] = { "engine::channels::create", "engine::workers::register", "engine::log::info",
                                       "engine::log::warn",        "engine::log::error",        "engine::log::debug",
                                       "engine::log::trace",       "engine::baggage::get",      "engine::baggage::set",
                                       "engine::baggage::get_all" };
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        if (strcmp(ids[i], id) == 0)
            return true;
    return false;
}

enum session_verdict session_may_call(const struct session *s, const struct engine *e, const char *id)
{
    if (!s || !s->rbac)
        return SESSION_ALLOWED;
    if (message_has_text(json_get(s->answer, "forbidden_functions"), id))
        return SESSION_BANNED;
    const json_t *scoped = json_get(json_get(json_get(s->answer, "namespaces"), "default"), "allowed_functions");
    if (message_has_text(scoped, id) || message_has_text(json_get(s->answer, "allowed_functions"), id) ||
        is_infrastructure(id))
        return SESSION_ALLOWED;
    const json_t *list = json_get(s->rbac, "expose_functions");
    const struct function *f = registry_find(e, id);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (is_exposed(json_array_get(list, i), id, f))
            return SESSION_ALLOWED;
    return SESSION_NOT_EXPOSED;
}

const char *session_middleware(const struct session *s, const struct engine *e, const char *id)
{
    bool is_own = strncmp(id, "engine::", 8) == 0 && registry_find_local(e, id);
    return s && !is_own ? json_get_str(s->rules, "middleware_function_id", NULL) : NULL;
}

json_t *session_context(const struct session *s)
{
    return s->context;
}

const char *session_prefix(const struct session *s)
{
    return s ? s->prefix : "";
}

const char *session_tenant(const struct session *s)
{
    return s ? s->tenant : "";
}

/* --- life --- */

static bool is_texts(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_is_string(json_array_get(list, i)))
            return false;
    return !list || json_is_array(list);
}

int session_new(const json_t *rules, const json_t *answer, struct session **ret, struct err *err)
{
    static const char *const lists[] = { "allowed_functions", "forbidden_functions", "allowed_trigger_types" };
    static const char *const flags[] = { "allow_trigger_type_registration", "allow_function_registration" };
    const json_t *prefix = json_get(answer, "function_registration_prefix");
    bool is_right = !prefix || (json_is_string(prefix) && json_string_length(prefix) <= MESSAGE_ID_MAX / 2);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        is_right = is_right && is_texts(json_get(answer, lists[i]));
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        is_right = is_right && (!json_get(answer, flags[i]) || json_is_boolean(json_get(answer, flags[i])));
    if (answer && (!json_is_object(answer) || !is_right))
        return err_set(err, ERR_INVALID, 0, "the auth function's answer has a member of the wrong type");
    struct session *s = xzalloc(sizeof(*s));
    s->rules = rules;
    s->rbac = json_get(rules, "rbac");
    s->answer = json_deep_copy(answer);
    s->context = json_get(answer, "context") ? json_deep_copy(json_get(answer, "context")) : json_object();
    s->prefix = prefix && json_string_length(prefix) ? xasprintf("%s::", json_string_value(prefix)) : xstrdup("");
    if (answer) {
        char hex[DIGEST_HEX];
        CLEANUP(free_p) char *context = json_write(s->context, NULL);
        CLEANUP(free_p) char *text = xasprintf("%s%s", s->prefix, context);
        digest_of(text, strlen(text), hex);
        (void)snprintf(s->tenant, sizeof(s->tenant), "%.32s", hex);
    }
    *ret = s;
    return 0;
}

struct session *session_free(struct session *s)
{
    if (s) {
        json_decref(s->answer);
        json_decref(s->context);
        free(s->prefix);
        free(s);
    }
    return NULL;
}

/* --- registrations --- */

bool session_may_register(const struct session *s, const struct message *m)
{
    const json_t *types = json_get(s->answer, "allowed_trigger_types");
    switch ((int)m->type) {
    case MESSAGE_REGISTER_FUNCTION:
        return json_get_bool(s->answer, "allow_function_registration", true);
    case MESSAGE_REGISTER_TYPE:
        return json_get_bool(s->answer, "allow_trigger_type_registration", s->answer == NULL);
    case MESSAGE_REGISTER_TRIGGER:
        return !types || message_has_text(types, m->trigger_type);
    default:
        return true;
    }
}

const char *session_hook(const struct session *s, const struct message *m)
{
    switch ((int)m->type) {
    case MESSAGE_REGISTER_FUNCTION:
        return json_get_str(s->rbac, "on_function_registration_function_id", NULL);
    case MESSAGE_REGISTER_TYPE:
        return json_get_str(s->rbac, "on_trigger_type_registration_function_id", NULL);
    case MESSAGE_REGISTER_TRIGGER:
        return json_get_str(s->rbac, "on_trigger_registration_function_id", NULL);
    default:
        return NULL;
    }
}

/* A message's member under its name in the hook's payload and answer. */
struct hook_member {
    const char *in_message, *in_payload;
    bool can_rewrite;
};

static const struct hook_member function_members[] = { { "id", "function_id", true },
                                                       { "description", "description", true },
                                                       { "metadata", "metadata", true },
                                                       { "namespace", "namespace", false },
                                                       { 0 } };
static const struct hook_member type_members[] = { { "id", "trigger_type_id", true },
                                                   { "description", "description", true },
                                                   { 0 } };
static const struct hook_member trigger_members[] = { { "id", "trigger_id", true },
                                                      { "trigger_type", "trigger_type", true },
                                                      { "function_id", "function_id", true },
                                                      { "config", "config", true },
                                                      { "metadata", "metadata", false },
                                                      { "namespace", "namespace", false },
                                                      { 0 } };
static const struct hook_member no_members[] = { { 0 } };

static const struct hook_member *members_of(const struct message *m)
{
    return m->type == MESSAGE_REGISTER_FUNCTION  ? function_members
           : m->type == MESSAGE_REGISTER_TYPE    ? type_members
           : m->type == MESSAGE_REGISTER_TRIGGER ? trigger_members
                                                 : no_members;
}

json_t *session_hook_payload(const struct session *s, const struct message *m)
{
    json_t *payload = json_object();
    for (const struct hook_member *k = members_of(m); k->in_message; k++) {
        json_t *value = json_object_get(m->body, k->in_message);
        (void)json_object_set_new(payload, k->in_payload, value ? json_incref(value) : json_null());
    }
    (void)json_object_set(payload, "context", s->context);
    return payload;
}

char *session_rewrite(const struct session *s, const struct message *m, const json_t *answer, size_t *ret_len)
{
    JSON_OWNED body = json_copy(m->body);
    for (const struct hook_member *k = members_of(m); k->in_message; k++)
        if (k->can_rewrite && json_get(answer, k->in_payload))
            (void)json_object_set(body, k->in_message, json_get(answer, k->in_payload));
    const char *key = m->type == MESSAGE_REGISTER_TRIGGER ? "function_id" : "id";
    const char *id = json_get_str(body, key, NULL);
    if (id && m->type != MESSAGE_REGISTER_TYPE) {
        CLEANUP(free_p) char *full = xasprintf("%s%s", s->prefix, id);
        (void)json_object_set_new(body, key, json_string(full));
    }
    return json_write(body, ret_len);
}
