/* Server-sent events as text. One event is one line "data: " with compact JSON, and a blank line. May include: base/.
 */
#pragma once
#include <stddef.h>

#include "base/json.h"

char *sse_event(const json_t *event, const char *id, size_t *ret_len); /* id may be NULL; caller frees */
char *sse_comment(const char *text, size_t *ret_len);                  /* text has no line breaks; caller frees */
