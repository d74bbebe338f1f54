/* What makes a request's head ambiguous although the parser accepts it: the one set of checks for requests to this
 * server and for those that sandboxes send out. Pure. Untrusted: every byte. May include: http/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_rules_field { /* offsets into the text of the head */
    uint32_t name, value;
};

struct http_rules_head {
    const char *text; /* the target, then names and values, each ended by a NUL */
    const struct http_rules_field *fields;
    unsigned count;
    bool is_http10;
};

struct http_rules_problem {
    int status;
    const char *text;
};

/* The value of the first header of this name, in any case; NULL: none. */
const char *http_rules_value(const struct http_rules_head *h, const char *name);
/* False: ret says why. Lengths, encodings and Host are there once and in one form; names and values hold no odd bytes.
 */
bool http_rules_fields(const struct http_rules_head *h, struct http_rules_problem *ret);
/* The target has no odd bytes and names no other host than Host; *ret_path: where its path begins. */
bool http_rules_target(const struct http_rules_head *h, size_t *ret_path, struct http_rules_problem *ret);
