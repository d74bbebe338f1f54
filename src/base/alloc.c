#include "base/alloc.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_BYTES (1 << 20)

static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

void *xzalloc(size_t size)
{
    return must(calloc(1, size ? size : 1));
}

void *xrealloc(void *old, size_t size)
{
    return must(realloc(old, size ? size : 1));
}

char *xstrdup(const char *s)
{
    return s ? must(strdup(s)) : NULL;
}

char *xstrndup(const char *s, size_t n)
{
    size_t length = strnlen(s, n); /* not strndup(): the sanitizers' strict check of it reads past n to a NUL */
    char *copy = must(malloc(length + 1));
    memcpy(copy, s, length);
    copy[length] = '\0';
    return copy;
}

char *xasprintf(const char *fmt, ...)
{
    char *s = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&s, fmt, ap) < 0)
        abort();
    va_end(ap);
    return s;
}

void alloc_large_apart(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, LARGE_BYTES);
}

void alloc_return(void)
{
    (void)malloc_trim(0);
}

void *try_alloc(size_t size)
{
    return calloc(1, size ? size : 1);
}
