/* What a request asked for that was changed or ignored, as a JSON array of sentences: the member `warnings` of a reply.
 * A list is NULL until there is something to say, and holds at most WARNINGS_MAX + 1 sentences, so that a hostile
 * request cannot make a long reply. The caller owns it. May include: base/. */
#pragma once
#include "base/err.h"
#include "base/json.h"

#define WARNINGS_MAX 16

/* Bytes that are not UTF-8 are replaced. Past WARNINGS_MAX one last sentence says that there are more. */
void warnings_add(json_t **list, const char *fmt, ...) PRINTF_LIKE(2, 3);
void warnings_add_all(json_t **list, const json_t *more); /* another list, or NULL */
/* A name of the request that means nothing here. nearest: the known name that it is like, or "". */
void warnings_add_unknown(json_t **list, const char *what, const char *name, const char *nearest);
/* For who does not want warnings: ERR_INVALID with as many sentences as fit. 0 when the list is empty. */
int warnings_refuse(const json_t *list, struct err *err);
