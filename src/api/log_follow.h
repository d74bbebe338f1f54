/* Logs that agents keep (durable commands, services) as clients read them: in pieces by byte offset, or followed as
 * server-sent events. Private to api/. May include: api/, sandbox/, guest/. */
#pragma once
#include "api/call.h"
#include "sandbox/lifecycle/sandbox.h"

#define LOG_FOLLOW_READ_MAX (1024 * 1024) /* bytes in one answer */

bool log_follow_is_asked(const struct call *c);  /* by `follow`, or by the header Accept */
bool log_follow_is_base64(const struct call *c); /* by `encoding` */
/* Bytes as the call wants them; caller owns. */
json_t *log_follow_text(const struct call *c, const char *data, size_t len);
/* How many bytes to give now: an incomplete UTF-8 character is left for the next time, unless it is the end. */
size_t log_follow_giveable(const struct call *c, const char *data, size_t len, bool is_end);
/* Streams the log of a job from offset on; the call is answered. service NULL: of a durable command, until it exits;
 * else of a service of that sandbox, until its box ends. */
void log_follow_start(struct call *c, const char *tag, struct sandbox *service, uint64_t offset);
