/* Patterns and texts: the bytes up to the first newline are the pattern, the rest is the text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "guest/proto_regex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    struct proto_regex_span spans[PROTO_REGEX_GROUPS];
    const char *why;
    if (!end || size > 4096)
        return 0;
    size_t n = (size_t)(end - data);
    char *pattern = calloc(1, n + 1);
    if (!pattern)
        return 0;
    memcpy(pattern, data, n);
    struct proto_regex *re = proto_regex_new(pattern, size & 3, &why);
    size_t len = size - n - 1, from = 0;
    while (re && from <= len && proto_regex_find(re, (const char *)end + 1, len, from, spans, PROTO_REGEX_GROUPS)) {
        if (spans[0].end < spans[0].start || spans[0].end > len || spans[0].start < from)
            abort();
        from = spans[0].end > from ? spans[0].end : from + 1;
    }
    proto_regex_free(re);
    free(pattern);
    return 0;
}
