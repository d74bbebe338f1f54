/* What handlers share: finding the sandbox a call names, and finishing calls from guest callbacks. Private to api/.
 * May include: api/, sandbox/, guest/. */
#pragma once
#include "api/call.h"
#include "sandbox/lifecycle/manager.h"

/* The sandbox of the path's :id. NULL: the call was answered with 404. */
struct sandbox *handlers_sandbox(struct call *c);
/* The same, and it must run: 409 otherwise. */
struct sandbox *handlers_running(struct call *c);
/* The contract's field driver, of which there is one: another is a warning. false: the call was answered with 400. */
bool handlers_driver(struct call *c, const char *only);
/* Sandboxes the caller may see. */
size_t handlers_active(const struct call *c);
/* The environment for a command of this call: the sandbox's, the trace context as TRACEPARENT, the call's `env`. Free
 * with strlist_free(). NULL with err. */
char **handlers_env(struct call *c, struct sandbox *s, struct err *err);
bool handlers_is_env_name(const char *name); /* [A-Za-z_][A-Za-z0-9_]* */
/* Answers with body, which is taken, or without one with the error. */
void handlers_reply(struct call *c, json_t *body, const struct err *err);
/* The same with a record that stays its owner's; arg is the call. */
void handlers_record(void *arg, json_t *record, const struct err *err);
/* guest_done_fn that answers {"success":true} or the error; arg is the call. */
void handlers_success(void *arg, const struct err *err);
/* Answers with the sandbox's record, or the error without one; arg is the call. */
void handlers_answer(void *arg, struct sandbox *s, const struct err *err);
/* For calls into guest/ that return a negative number at once: answers and returns true. */
bool handlers_failed(struct call *c, int r, const char *what);
/* The number of a signal of the contract ("TERM"). 0: the call was answered with 400. */
int handlers_signal(struct call *c, const char *name);
