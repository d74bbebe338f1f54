/* Durations as people write them: "30s", "1h 20min", "4.2s". May include: base/. */
#pragma once
#include <stdint.h>

#include "base/err.h"

/* Sum of NUMBER UNIT spans in whole milliseconds, cut. A lone "0" is zero; a number without a unit is none.
 * -EINVAL: err says what is wrong with it. */
int duration_parse(const char *text, int64_t *ret_ms, struct err *err);
