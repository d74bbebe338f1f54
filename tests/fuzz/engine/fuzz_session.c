/* The rules of a listener on one worker, four lines: the rules, the auth function's answer, a worker's message, the
 * hook's answer. Whatever these say, a banned function stays banned, and what comes out of session_rewrite() is a
 * message of the same type, with the prefix, with every member that a hook may not change. */
#include "../feed.h"

#include "base/alloc.h"
#include "engine/registry.h"
#include "engine/session.h"

/* NULL: the line is missing or is not JSON. */
static json_t *next_json(char **rest)
{
    json_t *made = NULL;
    const char *line = feed_line(rest);
    return line && json_read(line, strlen(line), &made, NULL) == 0 ? made : NULL;
}

static void check_calls(const struct session *s, const struct engine *e, const json_t *answer, const char *id)
{
    const json_t *banned = json_get(answer, "forbidden_functions");
    enum session_verdict verdict = session_may_call(s, e, id);
    for (size_t i = 0; i < json_array_size(banned); i++)
        if (strcmp(json_string_value(json_array_get(banned, i)), id) == 0)
            MUST(verdict == SESSION_BANNED);
    (void)session_middleware(s, e, id);
}

static bool is_registration(const struct message *m)
{
    return m->type == MESSAGE_REGISTER_FUNCTION || m->type == MESSAGE_REGISTER_TRIGGER ||
           m->type == MESSAGE_UNREGISTER_FUNCTION;
}

static void check_rewrite(const struct session *s, const struct message *m, const json_t *hooked)
{
    CLEANUP(message_done) struct message again = { 0 };
    JSON_OWNED body = NULL;
    size_t len;
    CLEANUP(free_p) char *text = session_rewrite(s, m, hooked, &len);
    MUST(text && strlen(text) == len && json_read(text, len, &body, NULL) == 0);
    MUST(json_equal(json_get(body, "type"), json_get(m->body, "type")));
    MUST(json_equal(json_get(body, "invocation"), json_get(m->body, "invocation")) ||
         json_get(body, "invocation") == json_get(m->body, "invocation"));
    const char *id = json_get_str(body, m->type == MESSAGE_REGISTER_TRIGGER ? "function_id" : "id", NULL);
    if (id && is_registration(m))
        MUST(strncmp(id, session_prefix(s), strlen(session_prefix(s))) == 0);
    if (message_read(text, len, &again, NULL) == 0) /* a hook may make it unreadable; the worker then drops it */
        MUST(again.type == m->type);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct engine e = { 0 };
    struct err err = ERR_INIT;
    struct session *s = NULL;
    CLEANUP(message_done) struct message m = { 0 };
    CLEANUP(free_p) char *text = feed_text(data, size);
    char *rest = text;
    JSON_OWNED rules = next_json(&rest);
    JSON_OWNED answer = next_json(&rest);
    const char *line = feed_line(&rest);
    JSON_OWNED hooked = next_json(&rest);
    registry_init(&e);
    bool is_good = session_check_rules(rules, &err) == 0;
    if (is_good && session_new(rules, answer, &s, &err) == 0 && line &&
        message_read(line, strlen(line), &m, &err) == 0) {
        JSON_OWNED payload = session_hook_payload(s, &m);
        MUST(json_is_object(payload) && json_get(payload, "context"));
        MUST(strlen(session_tenant(s)) < SHARE_TENANT_MAX && !*session_tenant(s) == !answer);
        (void)session_may_register(s, &m);
        (void)session_hook(s, &m);
        if (m.function_id && json_get(rules, "rbac")) /* without it there is no auth function, and nothing is banned */
            check_calls(s, &e, answer, m.function_id);
        if (is_registration(&m) || m.type == MESSAGE_REGISTER_TYPE) {
            check_rewrite(s, &m, NULL);
            check_rewrite(s, &m, hooked);
        }
    }
    session_free(s);
    registry_done(&e);
    return 0;
}
