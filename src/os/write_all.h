/* Writes everything, however little the kernel accepts at a time. Header only: the agent (musl) uses it as well. On
 * a non-blocking descriptor, -EAGAIN ends it like any other error. May include: nothing. */
#pragma once
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

/* 0, or -errno when not all was written; -EIO when nothing more is accepted. */
static inline int write_all_write(int fd, const void *data, size_t len)
{
    const char *p = data;
    while (len > 0) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

/* The same at an offset of a file, whose position stays. */
static inline int write_all_pwrite(int fd, const void *data, size_t len, off_t at)
{
    const char *p = data;
    while (len > 0) {
        ssize_t n = pwrite(fd, p, len, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        p += n;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}
