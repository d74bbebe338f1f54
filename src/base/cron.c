#include "base/cron.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <time.h>

struct range {
    const char *what;
    unsigned min, max;
    const char *names; /* three letters each, the first for min (month) or 0 (weekday) */
};

static const struct range ranges[6] = {
    { "second", 0, 59, NULL },
    { "minute", 0, 59, NULL },
    { "hour", 0, 23, NULL },
    { "day", 1, 31, NULL },
    { "month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec" },
    { "weekday", 0, 7, "sunmontuewedthufrisat" },
};

static int read_value(const char **p, const struct range *r, unsigned *ret)
{
    if (isdigit((unsigned char)**p)) {
        unsigned v = 0;
        for (; isdigit((unsigned char)**p); (*p)++) {
            v = v * 10 + (unsigned)(**p - '0');
            if (v > 100000)
                return -EINVAL;
        }
        *ret = v;
        return 0;
    }
    for (unsigned i = 0; r->names && r->names[i * 3]; i++) {
        if (strncasecmp(*p, r->names + (size_t)i * 3, 3) == 0) {
            *p += 3;
            *ret = i + (r->min == 1);
            return 0;
        }
    }
    return -EINVAL;
}

/* One piece between commas: "*", "5", "1-5", "*" or range with "/2". */
static int read_piece(const char **p, const struct range *r, uint64_t *bits)
{
    unsigned from = r->min, to = r->max, step = 1;
    bool is_single = false;
    if (**p == '*') {
        (*p)++;
    } else {
        if (read_value(p, r, &from) < 0)
            return -EINVAL;
        to = from;
        is_single = true;
        if (**p == '-') {
            (*p)++;
            is_single = false;
            if (read_value(p, r, &to) < 0)
                return -EINVAL;
        }
    }
    if (**p == '/') {
        (*p)++;
        if (!isdigit((unsigned char)**p) || read_value(p, r, &step) < 0 || step < 1)
            return -EINVAL;
        if (is_single)
            to = r->max;
    }
    if (from < r->min || to > r->max || from > to)
        return -EINVAL;
    for (unsigned v = from; v <= to; v += step)
        *bits |= 1ull << v;
    return 0;
}

static int read_field(const char **p, const struct range *r, uint64_t *bits)
{
    *bits = 0;
    for (;;) {
        int e = read_piece(p, r, bits);
        if (e < 0)
            return e;
        if (**p != ',')
            break;
        (*p)++;
    }
    return **p == '\0' || **p == ' ' || **p == '\t' ? 0 : -EINVAL;
}

static void skip_blanks(const char **p)
{
    while (**p == ' ' || **p == '\t')
        (*p)++;
}

static int count_fields(const char *p)
{
    int n = 0;
    for (skip_blanks(&p); *p; skip_blanks(&p), n++)
        while (*p && *p != ' ' && *p != '\t')
            p++;
    return n;
}

int cron_parse(const char *text, struct cron *ret, struct err *err)
{
    struct cron c = { .second = 1 };
    uint64_t *slots[6] = { &c.second, &c.minute, &c.hour, &c.day, &c.month, &c.weekday };
    int fields = count_fields(text);
    if (fields != 5 && fields != 6)
        return err_set(err, ERR_INVALID, 0, "cron \"%.60s\": %d fields, expected 5 or 6", text, fields);
    const char *p = text;
    for (int i = 6 - fields; i < 6; i++) {
        skip_blanks(&p);
        bool is_any = p[0] == '*' && (p[1] == ' ' || p[1] == '\t' || p[1] == '\0');
        if (read_field(&p, &ranges[i], slots[i]) < 0)
            return err_set(err, ERR_INVALID, 0, "cron \"%.60s\": bad %s field, allowed are %u to %u", text,
                           ranges[i].what, ranges[i].min, ranges[i].max);
        if (i == 3)
            c.is_day_any = is_any;
        if (i == 5)
            c.is_weekday_any = is_any;
    }
    if (c.weekday & (1ull << 7)) /* both 0 and 7 are Sunday */
        c.weekday |= 1;
    *ret = c;
    return 0;
}

int64_t cron_next(const struct cron *c, int64_t now_ms)
{
    time_t t = (time_t)(now_ms / 1000) + 1, end = t + 4 * 366 * 86400l;
    while (t < end) {
        struct tm tm;
        (void)gmtime_r(&t, &tm);
        bool day = c->day >> tm.tm_mday & 1, weekday = c->weekday >> tm.tm_wday & 1;
        /* The classic rule: either one when both are given. */
        bool is_day = c->is_day_any || c->is_weekday_any ? day && weekday : day || weekday;
        if (!(c->month >> (tm.tm_mon + 1) & 1) || !is_day)
            t += 86400 - (tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec);
        else if (!(c->hour >> tm.tm_hour & 1))
            t += 3600 - (tm.tm_min * 60 + tm.tm_sec);
        else if (!(c->minute >> tm.tm_min & 1))
            t += 60 - tm.tm_sec;
        else if (!(c->second >> tm.tm_sec & 1))
            t += 1;
        else
            return (int64_t)t * 1000;
    }
    return -1;
}
