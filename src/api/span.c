#include "api/span.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/ident.h"

#define TRACE_HEX 32
#define ID_HEX    16

/* Copies n lower-case hex digits; false when there are others, or when all are zero. */
static bool take_hex(const char *at, size_t n, char *out)
{
    if (strspn(at, "0123456789abcdef") < n || strspn(at, "0") >= n)
        return false;
    memcpy(out, at, n);
    out[n] = '\0';
    return true;
}

bool span_parse(const char *traceparent, struct span *ret_parent)
{
    struct span s = { 0 };
    size_t len = traceparent ? strlen(traceparent) : 0;
    const size_t whole = 2 + 1 + TRACE_HEX + 1 + ID_HEX + 1 + 2;
    bool is_first_version = traceparent && strncmp(traceparent, "00-", 3) == 0;
    if (len < whole || (is_first_version && len > whole) || (len > whole && traceparent[whole] != '-'))
        return false;
    const char *trace = traceparent + 3, *id = trace + TRACE_HEX + 1, *flags = id + ID_HEX + 1;
    if (strspn(traceparent, "0123456789abcdef") != 2 || strncmp(traceparent, "ff", 2) == 0 || traceparent[2] != '-' ||
        id[-1] != '-' || flags[-1] != '-' || strspn(flags, "0123456789abcdef") < 2)
        return false;
    if (!take_hex(trace, TRACE_HEX, s.trace_id) || !take_hex(id, ID_HEX, s.id))
        return false;
    s.is_sampled = strchr("13579bdf", flags[1]); /* the lowest bit */
    *ret_parent = s;
    return true;
}

void span_begin(const struct span *parent, struct span *ret)
{
    unsigned char bytes[24];
    ident_random(bytes, sizeof(bytes));
    bytes[0] |= 1; /* an id of zeros means none */
    bytes[16] |= 1;
    *ret = (struct span){ .is_sampled = true };
    if (parent) {
        memcpy(ret->trace_id, parent->trace_id, sizeof(ret->trace_id));
        memcpy(ret->parent_id, parent->id, sizeof(ret->parent_id));
        ret->is_sampled = parent->is_sampled;
    } else {
        ident_hex(bytes, TRACE_HEX / 2, ret->trace_id);
    }
    ident_hex(bytes + TRACE_HEX / 2, ID_HEX / 2, ret->id);
}

void span_text(const struct span *s, char out[SPAN_TEXT_MAX])
{
    (void)snprintf(out, SPAN_TEXT_MAX, "00-%s-%s-%02d", s->trace_id, s->id, s->is_sampled);
}
