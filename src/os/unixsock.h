/* Unix stream sockets by path: addresses that fit, connecting, listening. Header only, because the daemon (glibc)
 * and the agent (musl) both use it. Nothing here blocks; the caller closes the descriptors. May include: nothing. */
#pragma once
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define UNIXSOCK_PATH_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)

/* 0, -ENAMETOOLONG past UNIXSOCK_PATH_MAX bytes, -EINVAL for an empty path (the kernel would choose a name). */
static inline int unixsock_address(const char *path, struct sockaddr_un *ret)
{
    size_t len = strlen(path);
    if (len == 0 || len > UNIXSOCK_PATH_MAX)
        return len ? -ENAMETOOLONG : -EINVAL;
    *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(ret->sun_path, path, len);
    return 0;
}

static inline int unixsock_fail(int fd, int r)
{
    if (fd >= 0)
        (void)close(fd); /* nothing went through it */
    return r;
}

/* A connected non-blocking socket, or -errno: -ECONNREFUSED when nobody listens, -EAGAIN when the listener's queue is
 * full. */
static inline int unixsock_dial(const char *path)
{
    struct sockaddr_un addr;
    int r = unixsock_address(path, &addr);
    int fd = r < 0 ? r : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (r < 0)
        return r;
    if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
        return unixsock_fail(fd, -errno);
    return fd;
}

/* The same for a socket opened with O_PATH, whatever its name refers to now. */
static inline int unixsock_dial_at(int there)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", there);
    return unixsock_dial(path);
}

/* A listening socket; flags are of its type (SOCK_NONBLOCK). The path must be free. */
static inline int unixsock_listen(const char *path, int flags, int backlog)
{
    struct sockaddr_un addr;
    int r = unixsock_address(path, &addr);
    int fd = r < 0 ? r : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    if (r < 0)
        return r;
    if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(fd, backlog) < 0)
        return unixsock_fail(fd, -errno);
    return fd;
}
