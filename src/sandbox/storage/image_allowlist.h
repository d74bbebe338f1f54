/* Which images may be used: "python:*, alpine", with * as "all" or as a trailing wildcard. May include: base/. */
#pragma once
#include "base/err.h"

/* ERR_FORBIDDEN: "image not allowed: …". */
int image_allowlist_check(const char *list, const char *image, struct err *err);
