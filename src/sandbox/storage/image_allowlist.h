/* Which images may be used: "python:*, alpine", with * as "all" or as a trailing wildcard. Names are compared in their
 * canonical form, so that every spelling of a name is allowed or denied alike. May include: base/, image/. */
#pragma once
#include "base/err.h"

/* ERR_FORBIDDEN: "image not allowed: …". */
int image_allowlist_check(const char *list, const char *image, struct err *err);
