/* Force-included: calls that have no safe use here do not compile. Each has its replacement beside it. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#pragma GCC poison strcpy   /* memcpy with a length, or xstrdup */
#pragma GCC poison strcat   /* struct buf */
#pragma GCC poison sprintf  /* snprintf */
#pragma GCC poison vsprintf /* vsnprintf */
#pragma GCC poison strtok   /* strsep, or a loop */
#pragma GCC poison gmtime   /* gmtime_r */
#pragma GCC poison mktemp   /* O_TMPFILE or mkostemp */
