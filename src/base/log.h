/* One line per event on stderr: `ts=… level=info evt=sandbox.start id=sbx_1 ms=41`, or JSON with LOG_JSON. Values with
 * white space, quotes or control bytes are quoted and escaped here. Rooms below sandbox/ never log above debug: they
 * return a struct err. Level and format are the only mutable globals of the project. May include: base/. */
#pragma once
#include "base/err.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_setup(enum log_level max, int is_json);
int log_level_parse(const char *name, enum log_level *ret); /* "error|warn|info|debug" or -EINVAL */

/* Key and value pairs, ended by NULL: log_event(LOG_INFO, "sandbox.start", "id", id, "image", image, NULL).
 * A NULL value prints as "-". */
void log_event(enum log_level level, const char *evt, ...) __attribute__((sentinel));
/* log_event with one formatted "msg". */
void log_msg(enum log_level level, const char *evt, const char *fmt, ...) PRINTF_LIKE(3, 4);
