/* From parsed options to a connected engine, and from its errors to messages for people. May include: base/, cli/. */
#pragma once
#include "cli/engine_client.h"
#include "cli/verbs.h"

/* --address (otherwise III_URL, otherwise host) and --port (otherwise III_ENGINE_PORT, otherwise 49134; a port in the
 * address wins), --ca-cert. 0, or 2 after a usage error was printed. */
int engine_connect_where(const struct verbs_args *a, const char *host, const char *name, struct wire_where *ret);
/* Connects for `iii sandbox`. 0, or an exit code after the error was printed. */
int engine_connect_open(const struct verbs_args *a, struct wire **ret);
/* The S-code of an error's "handler error: {…}" message, its text and the envelope. Borrowed from *ret_envelope, which
 * the caller owns and which is NULL when the message has none. */
const char *engine_connect_code(const json_t *error, json_t **ret_envelope);
/* "error: [S002] text" on stderr, or the raw text when there is no envelope. Returns 1. */
int engine_connect_fail(const json_t *error);
/* "error: text" on stderr. Returns 1. */
int engine_connect_fail_text(const char *text);
