#include "tls/tls_confine.h"

#include <stddef.h>

#include "os/confine_listener.h"

/* System calls that the loop and OpenSSL need once the files are read. None opens, executes or signals. */
static const char *const allowed_calls[] = {
    "readv",      "writev",          "recvfrom",     "sendto", "accept4",      "shutdown",
    "socketpair", "setsockopt",      "getsockopt",   "ioctl",  "epoll_wait",   "epoll_pwait",
    "epoll_ctl",  "clock_nanosleep", "gettimeofday", "time",   "rt_sigaction", NULL,
};

int tls_confine_enter(struct err *err)
{
    return confine_listener_enter("TLS listener", allowed_calls, err);
}
