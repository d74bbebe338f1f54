/* Conditional requests and ranges (RFC 9110, sections 13 and 14): pure functions over header values, which are
 * untrusted. An entity tag of ours is a version, 16 hexadecimal digits; any other tag is valid and equal to none. May
 * include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONDITIONS_TAGS_MAX 64 /* tags of one header */
#define CONDITIONS_TAG_TEXT 20 /* bytes of a tag of ours with its quotes and NUL */
#define CONDITIONS_DATE     32 /* bytes of a date with its NUL */

void conditions_tag(uint64_t version, char out[CONDITIONS_TAG_TEXT]);
void conditions_date(int64_t time_ms, char out[CONDITIONS_DATE]); /* "Sun, 06 Nov 1994 08:49:37 GMT" */

/* The value of If-Match or If-None-Match. */
struct conditions_tags {
    bool is_given; /* the header is there */
    bool is_any;   /* "*" */
    size_t n;      /* versions that it names */
    uint64_t versions[CONDITIONS_TAGS_MAX];
};
/* value NULL: absent. is_weak: tags marked as weak count, too. -EINVAL: not a list of tags; -E2BIG: too many. */
int conditions_read_tags(const char *value, bool is_weak, struct conditions_tags *ret);
bool conditions_has(const struct conditions_tags *t, uint64_t version); /* one of them, or any */
/* If-Range: whether a range may be served of this version. value NULL: yes. A date never does: it is too coarse. */
bool conditions_may_range(const char *if_range, uint64_t version);

struct conditions_range {
    uint64_t offset, len; /* within the size, len > 0 */
};
/* The value of Range for something of this size. 1: a part of it; 0: all of it (value NULL, another unit, several
 * ranges or no valid range: to be ignored); -ERANGE: it lies outside. */
int conditions_read_range(const char *value, uint64_t size, struct conditions_range *ret);
