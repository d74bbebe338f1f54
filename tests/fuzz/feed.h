/* What the fuzz targets share: an input's pieces as memory of exactly their size (so that a sanitizer sees one byte too
 * far), and a check that says what did not hold. */
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The property does not hold: the fuzzer keeps the input. */
#define MUST(x)                                                                   \
    do {                                                                          \
        if (!(x)) {                                                               \
            (void)fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
            abort();                                                              \
        }                                                                         \
    } while (0)

/* The bytes as text that ends at the first NUL, or at their end; caller frees. */
static inline char *feed_text(const void *data, size_t size)
{
    size_t len = size ? strnlen(data, size) : 0;
    char *text = malloc(len + 1);
    MUST(text);
    if (len)
        (void)memcpy(text, data, len);
    text[len] = '\0';
    return text;
}

/* A copy of exactly these bytes; caller frees. */
static inline char *feed_bytes(const void *data, size_t size)
{
    char *copy = malloc(size + !size);
    MUST(copy);
    if (size)
        (void)memcpy(copy, data, size);
    return copy;
}

/* Cuts text at the next newline and moves *rest behind it. NULL when nothing is left. */
static inline char *feed_line(char **rest)
{
    char *line = *rest;
    if (!line)
        return NULL;
    char *end = strchr(line, '\n');
    *rest = end ? end + 1 : NULL;
    if (end)
        *end = '\0';
    return line;
}
