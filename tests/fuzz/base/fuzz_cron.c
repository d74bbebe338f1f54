/* Cron expressions. A moment that cron_next() names must be later, whole, and one that every field allows. */
#include "../feed.h"

#include <time.h>

#include "base/cleanup.h"
#include "base/cron.h"

#define NOW_MS 1700000000123LL

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cron c;
    struct err err = ERR_INIT;
    CLEANUP(free_p) char *text = feed_text(data, size);
    if (cron_parse(text, &c, &err) < 0) {
        MUST(err.code == ERR_INVALID);
        return 0;
    }
    MUST(c.second && c.minute && c.hour && c.day && c.month && c.weekday); /* a field never allows nothing */
    int64_t next = cron_next(&c, NOW_MS);
    if (next < 0)
        return 0;
    time_t t = (time_t)(next / 1000);
    struct tm tm;
    MUST(next > NOW_MS && next % 1000 == 0 && gmtime_r(&t, &tm));
    MUST(c.second >> tm.tm_sec & 1 && c.minute >> tm.tm_min & 1 && c.hour >> tm.tm_hour & 1);
    MUST(c.month >> (tm.tm_mon + 1) & 1 && (c.day >> tm.tm_mday & 1 || c.weekday >> tm.tm_wday & 1));
    MUST(cron_next(&c, next - 1) == next); /* nothing lies between */
    return 0;
}
