/* Two allocators: x*() abort and are for small sizes no client controls; try_alloc() may fail and is for anything sized
 * by input. Parts of JSON documents abort too, up to a size (json.c). May include: base/. */
#pragma once
#include <stddef.h>

#include "base/err.h"

void *xzalloc(size_t size);             /* zeroed; aborts when out of memory */
void *xrealloc(void *old, size_t size); /* aborts when out of memory */
char *xstrdup(const char *s);           /* NULL stays NULL */
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* From now on the kernel gets large blocks back when they are freed. By default a process keeps up to 64 MiB for the
 * next one, in each of its heaps, once it has freed a large block. */
void alloc_large_apart(void);
void alloc_return(void);      /* gives what is free to the kernel; takes a while, so not on the loop */
void *try_alloc(size_t size); /* zeroed, or NULL */
