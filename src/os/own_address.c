#include "os/own_address.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

/* An address can be bound to only if it is this host's. */
bool own_address_is(const struct sockaddr *a)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    bool is_v4 = a->sa_family == AF_INET;
    if (is_v4) {
        memcpy(&v4, a, sizeof(v4));
        v4.sin_port = 0;
    } else {
        memcpy(&v6, a, sizeof(v6));
        v6.sin6_port = 0;
    }
    int fd = socket(a->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno != EAFNOSUPPORT; /* without the protocol there is no such address, and no way to it */
    int r = bind(fd, is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6, is_v4 ? sizeof(v4) : sizeof(v6));
    bool is_elsewhere = r < 0 && errno == EADDRNOTAVAIL;
    (void)close(fd); /* never used */
    return !is_elsewhere;
}
