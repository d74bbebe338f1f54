/* Cron expressions: six fields (seconds first) or five (second 0). Each field: *, N, A-B, lists with commas, steps with
 * /N; months and weekdays also by name. Times are UTC. Untrusted: the text. May include: base/. */
#pragma once
#include <stdint.h>

#include "base/err.h"

struct cron {
    uint64_t second, minute, hour, day, month, weekday; /* one bit for each allowed value */
    int is_day_any, is_weekday_any;                     /* "*": the other of the two decides alone */
};

int cron_parse(const char *text, struct cron *ret, struct err *err);
/* The first time after now (ms since the epoch) that matches, or -1 when none does within four years. */
int64_t cron_next(const struct cron *c, int64_t now_ms);
