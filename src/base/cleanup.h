/* Scope-bound ownership: a local that owns something names its free function. May include: nothing. */
#pragma once
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))

/* Defines free_fn##_p() for CLEANUP() from a free function that accepts NULL and returns NULL. */
#define DEFINE_CLEANUP(type, free_fn)          \
    static inline void free_fn##_p(type *slot) \
    {                                          \
        if (*slot)                             \
            *slot = free_fn(*slot);            \
    }

/* Transfers ownership: the slot is empty afterwards. */
#define STEAL(slot)                               \
    ({                                            \
        __typeof__(slot) *s_ = &(slot), v_ = *s_; \
        *s_ = NULL;                               \
        v_;                                       \
    })

#define NO_FD (-EBADF) /* "no descriptor"; test with fd >= 0 */

static inline int steal_fd(int *slot)
{
    int fd = *slot;
    *slot = -9; /* -EBADF, spelled so that this header needs no errno.h */
    return fd;
}

static inline void free_p(void *slot)
{
    free(*(void **)slot);
}

static inline void close_fd_p(const int *slot)
{
    if (*slot >= 0)
        (void)close(*slot); /* a failed close cannot be handled here */
}
