#include "cli/duration.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_MS 9.0e15 /* exact in a double, and 285,000 years */

static const struct unit {
    const char *names; /* separated by spaces */
    double ms;
} units[] = {
    { "nsec ns", 1e-6 },
    { "usec us \xc2\xb5s \xce\xbcs", 1e-3 }, /* micro sign and Greek mu */
    { "msec ms", 1 },
    { "seconds second sec s", 1e3 },
    { "minutes minute min m", 6e4 },
    { "hours hour hr hrs h", 3.6e6 },
    { "days day d", 8.64e7 },
    { "weeks week wk wks w", 6.048e8 },
    { "months month M", 30.44 * 8.64e7 },
    { "years year yr yrs y", 365.25 * 8.64e7 },
};

/* Milliseconds of a unit; 0 when the name is unknown. */
static double unit_ms(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        for (const char *p = units[i].names; *p;) {
            size_t n = strcspn(p, " ");
            if (n == len && memcmp(p, name, len) == 0)
                return units[i].ms;
            p += n + (p[n] == ' ');
        }
    }
    return 0;
}

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t");
}

/* Digits with at most one fraction; by hand because strtod() also accepts "inf", "0x1p4" and signs. */
static const char *read_number(const char *p, double *ret)
{
    const char *start = p;
    double value = 0, scale = 1;
    for (; *p >= '0' && *p <= '9'; p++)
        value = value * 10 + (*p - '0');
    if (p == start)
        return NULL;
    if (*p == '.') {
        const char *point = p++;
        for (; *p >= '0' && *p <= '9'; p++)
            value += (*p - '0') * (scale /= 10);
        if (p == point + 1)
            return NULL;
    }
    *ret = value;
    return p;
}

int duration_parse(const char *text, int64_t *ret_ms, struct err *err)
{
    const char *p = skip_blanks(text);
    double sum = 0;
    if (strcmp(p, "0") == 0) {
        *ret_ms = 0;
        return 0;
    }
    if (!*p)
        return err_set(err, ERR_INVALID, 0, "empty duration; use for example 30s or 1h20min");
    while (*p) {
        double value = 0;
        const char *after = read_number(p, &value);
        if (!after)
            return err_set(err, ERR_INVALID, 0, "duration \"%.60s\": a number is expected at \"%.20s\"", text, p);
        p = skip_blanks(after);
        size_t len = strcspn(p, " \t0123456789.-+");
        double ms = unit_ms(p, len);
        if (ms == 0)
            return err_set(err, ERR_INVALID, 0,
                           "duration \"%.60s\": %s \"%.*s\"; use for example 500ms, 30s, 5m, 1h20min", text,
                           len ? "unknown unit" : "a unit is missing at", (int)(len < 20 ? len : 20), p);
        sum += value * ms;
        if (sum > LONGEST_MS)
            return err_set(err, ERR_INVALID, 0, "duration \"%.60s\" is too long", text);
        p = skip_blanks(p + len);
    }
    *ret_ms = (int64_t)(sum + 1e-6); /* 4.2 s is 4199.999… in binary */
    return 0;
}

int duration_or_seconds(const char *text, int64_t *ret_ms, struct err *err)
{
    char *end;
    long long seconds = strtoll(text, &end, 10);
    int64_t ms = 0;
    if (!*end && *text && seconds > 0 && seconds < INT64_MAX / 2000)
        ms = seconds * 1000;
    else if (duration_parse(text, &ms, err) < 0)
        return -EINVAL;
    if (ms <= 0)
        return err_set(err, ERR_INVALID, 0, "\"%.80s\" is not a time above zero", text);
    *ret_ms = ms;
    return 0;
}
