/* Theory of operation. message_read() parses one text frame, finds its type by the word of "type", and lets a function
 * of that type take the members it needs: strings are borrowed from the parsed body, ids have their limits, a member of
 * the wrong kind is an error that names it. A struct message owns the body until message_done(). What the engine writes
 * is built by its callers with message_set(), which leaves out what is absent. */
#include "engine/message.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"

static const struct {
    const char *word;
    enum message_type type;
} words[] = {
    { "ping", MESSAGE_PING },
    { "pong", MESSAGE_PONG },
    { "reattach", MESSAGE_REATTACH },
    { "registerfunction", MESSAGE_REGISTER_FUNCTION },
    { "unregisterfunction", MESSAGE_UNREGISTER_FUNCTION },
    { "invokefunction", MESSAGE_INVOKE },
    { "invocationresult", MESSAGE_RESULT },
    { "registertriggertype", MESSAGE_REGISTER_TYPE },
    { "unregistertriggertype", MESSAGE_UNREGISTER_TYPE },
    { "registertrigger", MESSAGE_REGISTER_TRIGGER },
    { "unregistertrigger", MESSAGE_UNREGISTER_TRIGGER },
    { "triggerregistrationresult", MESSAGE_TRIGGER_RESULT },
    { "observe", MESSAGE_OBSERVE },
    { "workerregistered", MESSAGE_WORKER_REGISTERED },
    { "error", MESSAGE_ERROR },
};

static bool is_blank(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isspace((unsigned char)text[i]))
            return false;
    return true;
}

/* A string member: absent and null are fine unless it is required. Rejects text with a NUL inside, which would be
 * truncated. */
static int take_str(const json_t *body, const char *key, bool is_needed, const char **ret, struct err *err)
{
    const json_t *value = json_get(body, key);
    if (!value)
        return is_needed ? err_set(err, ERR_INVALID, 0, "%s is missing", key) : 0;
    if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value))
        return err_set(err, ERR_INVALID, 0, "%s is not a string", key);
    *ret = json_string_value(value);
    return 0;
}

/* The id of a function, type or binding. */
static int take_id(const json_t *body, const char *key, const char **ret, struct err *err)
{
    const char *text = "";
    int r = take_str(body, key, true, &text, err);
    if (r < 0)
        return r;
    if (is_blank(text, strlen(text)) || strlen(text) > MESSAGE_ID_MAX)
        return err_set(err, ERR_INVALID, 0, "%s is blank or has more than %d bytes", key, MESSAGE_ID_MAX);
    *ret = text;
    return 0;
}

static int take_invocation_id(struct message *m, bool is_needed, struct err *err)
{
    int r = take_str(m->body, "invocation_id", is_needed, &m->invocation_id, err);
    if (r == 0 && m->invocation_id && !uuid_parse(m->invocation_id, m->uuid))
        return err_set(err, ERR_INVALID, 0, "invocation_id is not a UUID");
    return r;
}

static int take_action(struct message *m, struct err *err)
{
    const json_t *action = json_get(m->body, "action");
    const char *word = "";
    if (!action)
        return 0;
    int r = take_str(action, "type", true, &word, err);
    if (r < 0)
        return r;
    if (strcmp(word, "void") == 0) {
        m->action = MESSAGE_VOID;
        return 0;
    }
    if (strcmp(word, "enqueue") != 0)
        return err_set(err, ERR_INVALID, 0, "action.type \"%.32s\" is not one of void, enqueue", word);
    m->action = MESSAGE_ENQUEUE;
    return take_id(action, "queue", &m->queue, err);
}

static int take_error(struct message *m, struct err *err)
{
    const char *text = NULL;
    json_t *error = json_get(m->body, "error");
    if (!error)
        return 0;
    int r = take_str(error, "code", true, &text, err);
    if (r == 0)
        r = json_is_string(json_get(error, "message")) ? 0
                                                       : err_set(err, ERR_INVALID, 0, "error.message is not a string");
    if (r == 0)
        m->error = error;
    return r;
}

static int take_trace(struct message *m, struct err *err)
{
    int r = take_str(m->body, "traceparent", false, &m->traceparent, err);
    return r == 0 ? take_str(m->body, "baggage", false, &m->baggage, err) : r;
}

static int take_invoke(struct message *m, struct err *err)
{
    int r = take_id(m->body, "function_id", &m->function_id, err);
    if (r == 0)
        r = take_invocation_id(m, false, err);
    if (r == 0)
        r = take_action(m, err);
    if (r == 0)
        r = take_trace(m, err);
    m->data = json_object_get(m->body, "data"); /* null is a payload, absent is {} */
    return r;
}

static int take_result(struct message *m, struct err *err)
{
    int r = take_invocation_id(m, true, err);
    if (r == 0)
        r = take_str(m->body, "function_id", false, &m->function_id, err);
    if (r == 0)
        r = take_error(m, err);
    if (r == 0)
        r = take_trace(m, err);
    m->result = json_object_get(m->body, "result");
    return r;
}

static int take_trigger(struct message *m, struct err *err)
{
    int r = take_id(m->body, "id", &m->id, err);
    if (r == 0 && m->type == MESSAGE_UNREGISTER_TRIGGER)
        return take_str(m->body, "trigger_type", false, &m->trigger_type, err);
    if (r == 0)
        r = take_id(m->body, "trigger_type", &m->trigger_type, err);
    if (r == 0)
        r = take_id(m->body, "function_id", &m->function_id, err);
    if (r == 0 && m->type == MESSAGE_TRIGGER_RESULT)
        return take_error(m, err);
    m->config = json_object_get(m->body, "config");
    return r;
}

static int take_members(struct message *m, struct err *err)
{
    int r = take_str(m->body, "namespace", false, &m->namespace, err);
    m->metadata = json_get(m->body, "metadata");
    if (r < 0)
        return r;
    switch (m->type) {
    case MESSAGE_REATTACH:
        r = take_str(m->body, "previous_worker_id", true, &m->previous_worker_id, err);
        return r == 0 ? take_str(m->body, "reattach_token", true, &m->reattach_token, err) : r;
    case MESSAGE_REGISTER_FUNCTION:
    case MESSAGE_UNREGISTER_FUNCTION:
    case MESSAGE_REGISTER_TYPE:
    case MESSAGE_UNREGISTER_TYPE:
    case MESSAGE_OBSERVE:
        return take_id(m->body, "id", &m->id, err);
    case MESSAGE_INVOKE:
        return take_invoke(m, err);
    case MESSAGE_RESULT:
        return take_result(m, err);
    case MESSAGE_REGISTER_TRIGGER:
    case MESSAGE_UNREGISTER_TRIGGER:
    case MESSAGE_TRIGGER_RESULT:
        return take_trigger(m, err);
    case MESSAGE_WORKER_REGISTERED:
        r = take_str(m->body, "worker_id", true, &m->id, err);
        return r == 0 ? take_str(m->body, "reattach_token", false, &m->reattach_token, err) : r;
    case MESSAGE_ERROR:
        return take_error(m, err);
    case MESSAGE_BLANK:
    case MESSAGE_UNKNOWN:
    case MESSAGE_PING:
    case MESSAGE_PONG:
        break;
    }
    return 0;
}

int message_read(const char *text, size_t len, struct message *ret, struct err *err)
{
    struct message m = { 0 };
    const char *word = "";
    if (is_blank(text, len)) {
        *ret = m;
        return 0;
    }
    int r = json_read_input(text, len, &m.body, err);
    if (r == 0 && !json_is_object(m.body))
        r = err_set(err, ERR_INVALID, 0, "a message is a JSON object");
    if (r == 0)
        r = take_str(m.body, "type", true, &word, err);
    if (r == 0) {
        m.type = MESSAGE_UNKNOWN;
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
            if (strcmp(words[i].word, word) == 0)
                m.type = words[i].type;
        r = take_members(&m, err);
    }
    if (r < 0)
        message_done(&m);
    else
        *ret = m;
    return r;
}

void message_done(struct message *m)
{
    json_decref(m->body);
    *m = (struct message){ 0 };
}

/* --- writing --- */

void message_set(json_t *obj, const char *key, json_t *value)
{
    if (value)
        (void)json_object_set(obj, key, value); /* out of memory: the member is missing */
}

void message_set_str(json_t *obj, const char *key, const char *value)
{
    if (value)
        (void)json_object_set_new(obj, key, json_text(value, strlen(value)));
}

json_t *message_invoke(const char *invocation_id, const char *function_id, json_t *data)
{
    json_t *m = json_object();
    message_set_str(m, "type", "invokefunction");
    message_set_str(m, "invocation_id", invocation_id);
    message_set_str(m, "function_id", function_id);
    message_set(m, "data", data);
    return m;
}

json_t *message_result(const char *invocation_id, const char *function_id, json_t *result, json_t *error)
{
    json_t *m = json_object();
    message_set_str(m, "type", "invocationresult");
    message_set_str(m, "invocation_id", invocation_id);
    message_set_str(m, "function_id", function_id);
    message_set(m, "result", result);
    message_set(m, "error", error);
    return m;
}

json_t *message_error_body(const char *code, const char *text, const char *stacktrace)
{
    json_t *body = json_object();
    message_set_str(body, "code", code);
    message_set_str(body, "message", text);
    message_set_str(body, "stacktrace", stacktrace); /* never null: the published client cannot parse it */
    return body;
}

static bool is_bidi(const unsigned char *s, size_t len)
{
    if (len != 3 || s[0] != 0xe2)
        return len == 2 && s[0] == 0xc2 && s[1] < 0xa0; /* C1 controls */
    return (s[1] == 0x80 && ((s[2] >= 0x8e && s[2] <= 0x8f) || (s[2] >= 0xa8 && s[2] <= 0xae))) ||
           (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9);
}

char *message_clean_text(const char *text, size_t max_chars)
{
    struct buf out = BUF_INIT(4 * max_chars + 4);
    size_t len = strlen(text), kept = 0;
    for (size_t i = 0; i < len && kept < max_chars;) {
        size_t step = utf8_step(text + i, len - i);
        bool is_control = step == 1 && ((unsigned char)text[i] < 0x20 || text[i] == 0x7f);
        if (step && !is_control && !is_bidi((const unsigned char *)text + i, step)) {
            (void)buf_add(&out, text + i, step); /* max fits max_chars letters of four bytes */
            kept++;
        }
        i += step ? step : 1;
    }
    return buf_steal(&out, NULL);
}

bool message_has_text(const json_t *list, const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *one = json_string_value(json_array_get(list, i));
        if (one && strcmp(one, text) == 0)
            return true;
    }
    return false;
}
