/* The worker protocol's messages: JSON text to a checked struct, and the few that the engine writes. Pure functions.
 * Untrusted: all text read here. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/json.h"
#include "base/uuid.h"

#define MESSAGE_ID_MAX 512 /* bytes of the id of a function, type or binding */

enum message_type {
    MESSAGE_BLANK, /* only white space */
    MESSAGE_UNKNOWN,
    MESSAGE_PING,
    MESSAGE_PONG,
    MESSAGE_REATTACH,
    MESSAGE_REGISTER_FUNCTION,
    MESSAGE_UNREGISTER_FUNCTION,
    MESSAGE_INVOKE,
    MESSAGE_RESULT,
    MESSAGE_REGISTER_TYPE,
    MESSAGE_UNREGISTER_TYPE,
    MESSAGE_REGISTER_TRIGGER,
    MESSAGE_UNREGISTER_TRIGGER,
    MESSAGE_TRIGGER_RESULT,
    MESSAGE_OBSERVE,           /* of newer clients: answered as not supported */
    MESSAGE_WORKER_REGISTERED, /* from an engine to us as its worker */
    MESSAGE_ERROR,             /* the same, before a session */
};
enum message_action { MESSAGE_CALL, MESSAGE_VOID, MESSAGE_ENQUEUE };

/* Texts and values are borrowed from body. Members a type does not carry are NULL. */
struct message {
    enum message_type type;
    json_t *body;
    const char *id; /* function, type or binding; worker_id of workerregistered */
    const char *function_id;
    const char *trigger_type;
    const char *namespace;     /* NULL when absent */
    const char *queue;         /* of an enqueue action */
    const char *invocation_id; /* as the peer spells it */
    char uuid[UUID_MAX];       /* the same in canonical form; "" when absent */
    enum message_action action;
    json_t *data, *metadata, *config;
    json_t *result;
    json_t *error; /* an object with the strings code and message, or NULL */
    const char *traceparent, *baggage;
    const char *previous_worker_id, *reattach_token;
};

/* -EINVAL: not JSON, a member of the wrong type, not a UUID; err says what. The caller drops the message and
 * continues. */
int message_read(const char *text, size_t len, struct message *ret, struct err *err);
void message_done(struct message *m); /* for CLEANUP too */

/* --- writing; caller owns --- */
json_t *message_invoke(const char *invocation_id, const char *function_id, json_t *data); /* data borrowed */
/* result may be NULL; error NULL: success. Both borrowed. */
json_t *message_result(const char *invocation_id, const char *function_id, json_t *result, json_t *error);
json_t *message_error_body(const char *code, const char *text, const char *stacktrace); /* stacktrace may be NULL */
/* Sets a member unless value is NULL. */
void message_set(json_t *obj, const char *key, json_t *value); /* borrowed */
void message_set_str(json_t *obj, const char *key, const char *value);
/* Removes control and bidirectional characters and keeps at most max_chars characters: for names that workers give
 * themselves. Caller frees. */
char *message_clean_text(const char *text, size_t max_chars);
bool message_has_text(const json_t *list, const char *text); /* a list of texts has this one */
