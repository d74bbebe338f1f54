/* What one worker may do that came through a listener with rules (iii-worker-manager): which functions it may call,
 * what it may register, and the functions of the operator that are asked first. Private to engine/.
 *
 * Invariants: (1) a call is judged before it is known whether the function exists; (2) a registration that is not
 * allowed is dropped without an answer, as the contract says. */
#pragma once
#include "engine/engine_core.h"
#include "engine/message.h"

#define SESSION_HELD_MAX       10000              /* messages of a worker that wait for a registration hook */
#define SESSION_HELD_BYTES_MAX (64 * 1024 * 1024) /* their bytes */

struct session;

/* rules: the config of an iii-worker-manager entry, borrowed for the session's life. answer: of the auth function, or
 * NULL when there is none (everything is allowed that the rules do not limit). -EINVAL: the answer has another shape.
 */
int session_new(const json_t *rules, const json_t *answer, struct session **ret, struct err *err);
struct session *session_free(struct session *s);
/* Checks expose_functions of an entry. */
int session_check_rules(const json_t *rules, struct err *err);

enum session_verdict { SESSION_ALLOWED, SESSION_NOT_EXPOSED, SESSION_BANNED };
/* s NULL: everything is allowed. */
enum session_verdict session_may_call(const struct session *s, const struct engine *e, const char *function_id);
/* The middleware that gets the call in the place of the function, or NULL. */
const char *session_middleware(const struct session *s, const struct engine *e, const char *function_id);
json_t *session_context(const struct session *s);    /* borrowed */
const char *session_prefix(const struct session *s); /* "app::", or "" */
/* Workers with the same prefix and context are one tenant. "" without an auth function, or without a session. */
const char *session_tenant(const struct session *s);

/* The session's flags, before any hook. */
bool session_may_register(const struct session *s, const struct message *m);
/* The hook for that kind of registration, or NULL; its payload, caller owns; what it may rewrite. */
const char *session_hook(const struct session *s, const struct message *m);
json_t *session_hook_payload(const struct session *s, const struct message *m);
/* The message with the members that the hook's answer rewrites (answer NULL: none) and the prefix. Caller frees. */
char *session_rewrite(const struct session *s, const struct message *m, const json_t *answer, size_t *ret_len);
