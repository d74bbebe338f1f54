#include "http/conditions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define TAG_DIGITS 16

void conditions_tag(uint64_t version, char out[CONDITIONS_TAG_TEXT])
{
    (void)snprintf(out, CONDITIONS_TAG_TEXT, "\"%016llx\"", (unsigned long long)version);
}

void conditions_date(int64_t time_ms, char out[CONDITIONS_DATE])
{
    time_t t = (time_t)(time_ms / 1000);
    struct tm tm;
    /* A file may claim any time: one that HTTP cannot write has no date. */
    if (time_ms < 0 || !gmtime_r(&t, &tm) || tm.tm_year > 9999 - 1900 ||
        strftime(out, CONDITIONS_DATE, "%a, %d %b %Y %H:%M:%S GMT", &tm) == 0)
        out[0] = '\0';
}

/* --- tags --- */

static const char *skip_blank(const char *at)
{
    return at + strspn(at, " \t");
}

/* The version that a tag of ours holds; false for the tags of others. text is what the quotes hold. */
static bool read_version(const char *text, size_t len, uint64_t *ret)
{
    uint64_t v = 0;
    if (len != TAG_DIGITS)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if ((c < '0' || c > '9') && (c < 'a' || c > 'f'))
            return false;
        v = v << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *ret = v;
    return true;
}

/* One tag at *at, which moves past it. -EINVAL: none. 1: *ret is its version; 0: it is not one of ours, or it is weak.
 */
static int next_tag(const char **at, bool is_weak, uint64_t *ret)
{
    bool is_marked = strncmp(*at, "W/", 2) == 0;
    const char *open = *at + (is_marked ? 2 : 0);
    const char *close = *open == '"' ? strchr(open + 1, '"') : NULL;
    if (!close)
        return -EINVAL;
    *at = close + 1;
    return (!is_marked || is_weak) && read_version(open + 1, (size_t)(close - open - 1), ret);
}

int conditions_read_tags(const char *value, bool is_weak, struct conditions_tags *ret)
{
    *ret = (struct conditions_tags){ .is_given = value };
    if (!value)
        return 0;
    const char *at = skip_blank(value);
    if (*at == '*') {
        ret->is_any = true;
        return *skip_blank(at + 1) ? -EINVAL : 0;
    }
    for (size_t seen = 0; *at; at += *at == ',' ? 1 : 0, at = skip_blank(at)) {
        if (*at == ',') /* an empty element, which a recipient has to ignore */
            continue;
        if (seen++ == CONDITIONS_TAGS_MAX)
            return -E2BIG;
        uint64_t version;
        int r = next_tag(&at, is_weak, &version);
        at = r < 0 ? at : skip_blank(at);
        if (r < 0 || (*at && *at != ','))
            return -EINVAL;
        if (r > 0)
            ret->versions[ret->n++] = version;
    }
    return 0;
}

bool conditions_has(const struct conditions_tags *t, uint64_t version)
{
    bool is_found = t->is_any;
    for (size_t i = 0; i < t->n; i++)
        is_found |= t->versions[i] == version;
    return is_found;
}

bool conditions_may_range(const char *if_range, uint64_t version)
{
    uint64_t given;
    if (!if_range)
        return true;
    return next_tag(&if_range, false, &given) > 0 && !*skip_blank(if_range) && given == version;
}

/* --- ranges --- */

/* Digits at *at. False: none. More than fit count as the largest number. */
static bool read_number(const char **at, uint64_t *ret)
{
    const char *begin = *at;
    uint64_t v = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        uint64_t digit = (uint64_t)(**at - '0');
        v = v > (UINT64_MAX - digit) / 10 ? UINT64_MAX : v * 10 + digit;
    }
    *ret = v;
    return *at > begin;
}

int conditions_read_range(const char *value, uint64_t size, struct conditions_range *ret)
{
    uint64_t first = 0, last = UINT64_MAX;
    if (!value || strncasecmp(value, "bytes", 5) != 0)
        return 0;
    const char *at = skip_blank(value + 5);
    if (*at != '=')
        return 0;
    at = skip_blank(at + 1);
    bool has_first = read_number(&at, &first);
    if (*at != '-')
        return 0;
    at++;
    bool has_last = read_number(&at, &last);
    if (!has_last)
        last = UINT64_MAX;
    if (*skip_blank(at) || (!has_first && !has_last) || (has_first && last < first))
        return 0;
    if (!has_first) { /* the last so many bytes */
        first = last < size ? size - last : 0;
        if (last == 0 || size == 0)
            return -ERANGE;
        last = size - 1;
    }
    if (first >= size)
        return -ERANGE;
    last = last < size - 1 ? last : size - 1;
    *ret = (struct conditions_range){ .offset = first, .len = last - first + 1 };
    return 1;
}
