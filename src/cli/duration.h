/* Durations as people write them: "30s", "1h 20min", "4.2s". May include: base/. */
#pragma once
#include <stdint.h>

#include "base/err.h"

/* Sum of NUMBER UNIT spans in whole milliseconds, rounded down. A lone "0" is zero; any other number needs a unit.
 * -EINVAL: err tells what is wrong. */
int duration_parse(const char *text, int64_t *ret_ms, struct err *err);
/* The same, where a number without a unit is seconds; more than none. */
int duration_or_seconds(const char *text, int64_t *ret_ms, struct err *err);
