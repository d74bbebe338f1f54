/* Unix stream sockets by path: what fits an address, who answers, what a failure leaves. */
#include "os/unixsock.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>

#include "tap.h"

static char folder[] = "/tmp/iii-unixsock-XXXXXX";

static const char *at(const char *name)
{
    static char path[64];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static int open_fds(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        n++;
    if (d)
        (void)closedir(d);
    return n;
}

/* The longest path is one byte less than an address has: what follows is a zero. */
TEST(an_address_takes_just_what_fits)
{
    struct sockaddr_un addr;
    char path[UNIXSOCK_PATH_MAX + 2];
    memset(path, 'a', sizeof(path));
    path[UNIXSOCK_PATH_MAX + 1] = '\0';
    CHECK_INT(unixsock_address(path, &addr), -ENAMETOOLONG);
    path[UNIXSOCK_PATH_MAX] = '\0';
    memset(&addr, 'z', sizeof(addr));
    CHECK_INT(unixsock_address(path, &addr), 0);
    CHECK_INT(addr.sun_family, AF_UNIX);
    CHECK(memcmp(addr.sun_path, path, sizeof(addr.sun_path)) == 0);
    CHECK_INT(unixsock_address("", &addr), -EINVAL);
}

TEST(a_call_reaches_who_listens)
{
    int listener = unixsock_listen(at("s"), SOCK_NONBLOCK, 1);
    CHECK(listener >= 0);
    CHECK(fcntl(listener, F_GETFL) & O_NONBLOCK && fcntl(listener, F_GETFD) & FD_CLOEXEC);
    CHECK_INT(unixsock_listen(at("s"), 0, 1), -EADDRINUSE);
    int here = unixsock_dial(at("s")), there = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(here >= 0 && there >= 0);
    CHECK(fcntl(here, F_GETFL) & O_NONBLOCK && fcntl(here, F_GETFD) & FD_CLOEXEC);
    char c = 0;
    CHECK(write(here, "x", 1) == 1 && read(there, &c, 1) == 1 && c == 'x');
    (void)close(here);
    (void)close(there);
    (void)close(listener);
    (void)unlink(at("s"));
}

/* Whoever may rename in the folder cannot turn a call that is by descriptor. */
TEST(a_call_by_descriptor_goes_past_names)
{
    int listener = unixsock_listen(at("s"), 0, 1), there = open(at("s"), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    CHECK(listener >= 0 && there >= 0);
    (void)unlink(at("s"));
    int other = unixsock_listen(at("s"), SOCK_NONBLOCK, 1), fd = unixsock_dial_at(there);
    CHECK(fd >= 0);
    CHECK(accept4(other, NULL, NULL, SOCK_CLOEXEC) < 0 && errno == EAGAIN);
    (void)close(fd);
    (void)close(other);
    (void)close(there);
    (void)close(listener);
    (void)unlink(at("s"));
}

TEST(a_failure_says_why_and_leaves_no_descriptor)
{
    char path[UNIXSOCK_PATH_MAX + 2];
    memset(path, 'a', sizeof(path));
    path[UNIXSOCK_PATH_MAX + 1] = '\0';
    int before = open_fds();
    CHECK_INT(unixsock_dial(path), -ENAMETOOLONG);
    CHECK_INT(unixsock_listen(path, 0, 1), -ENAMETOOLONG);
    CHECK_INT(unixsock_dial(at("none")), -ENOENT);
    CHECK_INT(unixsock_listen(at("none/s"), 0, 1), -ENOENT);
    int listener = unixsock_listen(at("s"), 0, 1);
    (void)close(listener);
    CHECK_INT(unixsock_dial(at("s")), -ECONNREFUSED);
    CHECK_INT(unixsock_listen(at("s"), 0, 1), -EADDRINUSE);
    CHECK_INT(open_fds(), before);
    (void)unlink(at("s"));
}

/* A call never waits for the other side, which may be hostile. */
TEST(a_full_queue_is_said_at_once)
{
    int listener = unixsock_listen(at("s"), 0, 0), fds[8], n = 0, r = 0;
    while (n < 8 && (r = unixsock_dial(at("s"))) >= 0)
        fds[n++] = r;
    CHECK(n > 0);
    CHECK_INT(r, -EAGAIN);
    while (n)
        (void)close(fds[--n]);
    (void)close(listener);
    (void)unlink(at("s"));
}

int main(void)
{
    CHECK(mkdtemp(folder) != NULL);
    RUN(an_address_takes_just_what_fits);
    RUN(a_call_reaches_who_listens);
    RUN(a_call_by_descriptor_goes_past_names);
    RUN(a_failure_says_why_and_leaves_no_descriptor);
    RUN(a_full_queue_is_said_at_once);
    (void)rmdir(folder);
    return tap_done();
}
