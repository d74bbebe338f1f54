/* Patterns in which * matches any run of bytes, and everything else itself. May include: base/. */
#pragma once
#include <stdbool.h>

bool wildcard_match(const char *pattern, const char *text);
