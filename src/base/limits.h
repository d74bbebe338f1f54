/* The numbers of limits.def by name, as constants: LIMIT_MAX(MEMORY_MB) is (16777216), LIMIT_DEFAULT_TEXT(MEMORY_MB)
 * "512". Macros and not an enum, because CPUs are fractions and tables want the default as text. Includes nothing, so
 * that the agent may use it. */
#pragma once
#include "base/limits.def"

#define LIMIT_MIN(row)          LIMIT_##row(LIMIT_TAKE_MIN)
#define LIMIT_MAX(row)          LIMIT_##row(LIMIT_TAKE_MAX)
#define LIMIT_DEFAULT(row)      LIMIT_##row(LIMIT_TAKE_DEFAULT)
#define LIMIT_MIN_TEXT(row)     LIMIT_##row(LIMIT_TAKE_MIN_TEXT)
#define LIMIT_MAX_TEXT(row)     LIMIT_##row(LIMIT_TAKE_MAX_TEXT)
#define LIMIT_DEFAULT_TEXT(row) LIMIT_##row(LIMIT_TAKE_DEFAULT_TEXT)

/* private */
#define LIMIT_TAKE_MIN(row, min, max, usual, unit, what)          (min)
#define LIMIT_TAKE_MAX(row, min, max, usual, unit, what)          (max)
#define LIMIT_TAKE_DEFAULT(row, min, max, usual, unit, what)      (usual)
#define LIMIT_TAKE_MIN_TEXT(row, min, max, usual, unit, what)     #min
#define LIMIT_TAKE_MAX_TEXT(row, min, max, usual, unit, what)     #max
#define LIMIT_TAKE_DEFAULT_TEXT(row, min, max, usual, unit, what) #usual
