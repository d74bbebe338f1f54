/* The header Prefer (RFC 7240), of which one preference is known: handling=strict or handling=lenient. Untrusted: the
 * header. May include: base/, http/. */
#pragma once
#include <stdbool.h>

struct http_req;

/* Changes *is_strict to what the request prefers, and then says so in the reply (Preference-Applied). */
void prefer_handling(struct http_req *r, bool *is_strict);
enum prefer { PREFER_NOTHING, PREFER_STRICT, PREFER_LENIENT };
/* One line of the header. */
enum prefer prefer_parse(const char *value);
