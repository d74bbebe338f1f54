/* W3C trace context: the traceparent header, and the span of a call, its child. Untrusted: the header.
 * May include: base/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define SPAN_TEXT_MAX 56 /* "00-" 32 hex "-" 16 hex "-" 2 hex, and NUL */

struct span {
    char trace_id[33], id[17], parent_id[17]; /* lower-case hex; parent_id is empty for the first span of a trace */
    bool is_sampled;
};

/* Reads a traceparent of version 00 (or a later one, as far as 00 goes). False: it is to be ignored. */
bool span_parse(const char *traceparent, struct span *ret_parent);
/* A new span below parent (as span_parse() gave it), or the first of a new sampled trace when parent is NULL. */
void span_begin(const struct span *parent, struct span *ret);
void span_text(const struct span *s, char out[SPAN_TEXT_MAX]); /* the traceparent to pass on */
