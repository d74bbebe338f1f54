/* UTF-8: checking, repairing and cutting at character boundaries. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Length of the valid sequence at s (1 to 4), or 0 when it is invalid or cut short. */
size_t utf8_step(const char *s, size_t len);
bool utf8_is_valid(const char *s, size_t len);
/* Appends s with each invalid byte replaced by U+FFFD. At most 3*len bytes. */
int utf8_repair(const char *s, size_t len, struct buf *out);
/* How many bytes of s can be sent now without cutting an incomplete character at the end: len, or up to 3 less. */
size_t utf8_whole(const char *s, size_t len);
