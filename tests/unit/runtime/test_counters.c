/* The watch over the kernel's counters: finds the box that takes most, says why, and leaves it time to end. */
#include "runtime/native/counters.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/proc.h"
#include "runtime/native/box.h"
#include "tap.h"

static struct cgroup_host host;

static uint64_t open_files(void)
{
    char text[64] = "";
    int fd = open("/proc/sys/fs/file-nr", O_RDONLY | O_CLOEXEC);
    CHECK(read(fd, text, sizeof(text) - 1) > 0);
    (void)close(fd);
    return strtoull(text, NULL, 10);
}

/* A box of one process that has done fn(n). */
static void box_start(struct native_box *c, const char *name, int (*fn)(int), int n)
{
    struct cgroup_limits none = { 0 };
    struct cgroup_join join;
    int ready[2];
    char word = 0;
    *c = (struct native_box){ .state = NATIVE_BOX_RUNNING, .has_cgroup = true, .pidfd = -1 };
    CHECK_INT(cgroup_make(&host, name, &none, &c->cgroup, NULL), 0);
    CHECK(cgroup_join_open(&c->cgroup, &join, NULL) == 0 && pipe2(ready, O_CLOEXEC) == 0);
    c->pid = proc_clone(0, join.clone_into, &c->pidfd);
    if (c->pid == 0) {
        word = cgroup_join_self(&join) == 0 && fn(n) == 0 ? 'k' : 'x';
        (void)!write(ready[1], &word, 1);
        for (;;)
            (void)pause();
    }
    cgroup_join_done(&join);
    (void)close(ready[1]);
    CHECK(read(ready[0], &word, 1) == 1 && word == 'k');
    (void)close(ready[0]);
}

static void box_stop(struct native_box *c)
{
    (void)kill(c->pid, SIGKILL);
    (void)waitpid(c->pid, NULL, 0);
    (void)close(c->pidfd);
    CHECK_INT(cgroup_remove(&c->cgroup), 0);
}

static int hold_files(int n)
{
    struct rlimit all = { (rlim_t)n + 64, (rlim_t)n + 64 };
    if (setrlimit(RLIMIT_NOFILE, &all) < 0)
        return -1;
    while (n-- > 0)
        if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
            return -1;
    return 0;
}

/* Descriptors that are in flight belong to no process: each message here carries 200, and the socket pair keeps them.
 */
static int hold_flight(int n)
{
    int fds[200], pair[2];
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(fds))];
    } control = { .head = { .cmsg_len = CMSG_LEN(sizeof(fds)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
    struct iovec byte = { (char[]){ "x" }, 1 };
    struct msghdr msg = {
        .msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
    };
    for (; n > 0; n -= 200) {
        if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) < 0)
            return -1;
        for (int i = 0; i < 200; i++)
            if ((fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
                return -1;
        memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
        if (sendmsg(pair[0], &msg, 0) < 0)
            return -1;
        for (int i = 0; i < 200; i++)
            (void)close(fds[i]);
    }
    return 0;
}

static int hold_nothing(int n)
{
    return n;
}

/* As many files are open as the host would allow: then whoever has an eighth of them is found. */
static void find_in(int (*taker)(int), const char *what)
{
    struct native_counters c;
    struct native_box quiet, greedy;
    char why[400] = "";
    native_counters_init(&c, 50);
    uint64_t max = open_files();
    box_start(&quiet, "quiet", hold_nothing, 0);
    box_start(&greedy, "greedy", taker, (int)(max / 8) + 400);
    quiet.next = &greedy;
    c.max[NATIVE_FILES] = 0;
    CHECK(!native_counters_step(&c, &quiet, why, sizeof(why)));
    c.max[NATIVE_FILES] = max * 8;
    CHECK(!native_counters_step(&c, &quiet, why, sizeof(why)));
    c.max[NATIVE_FILES] = max;
    CHECK(native_counters_step(&c, &quiet, why, sizeof(why)) == &greedy);
    CHECK(strstr(why, "fs.file-max") && strstr(why, what));
    CHECK(!native_counters_step(&c, &quiet, why, sizeof(why))); /* it has time to end */
    c.quiet_until_us = 0;
    greedy.state = NATIVE_BOX_DYING;
    CHECK(!native_counters_step(&c, &quiet, why, sizeof(why))); /* the others have too little to be ended for it */
    box_stop(&greedy);
    box_stop(&quiet);
}

TEST(who_holds_most_open_files_is_found)
{
    find_in(hold_files, "open files");
}

TEST(descriptors_in_flight_are_found_by_the_memory_they_take)
{
    find_in(hold_flight, "open files");
}

TEST(terminals_are_shared_equally_within_bounds)
{
    struct native_counters c;
    native_counters_init(&c, 1);
    CHECK(c.ptys <= 256);
    native_counters_init(&c, 100000);
    CHECK_INT(c.ptys, 32);
    native_counters_init(&c, 0);
    CHECK(c.ptys >= 32 && c.ptys <= 256);
}

int main(void)
{
    char parent[32];
    snprintf(parent, sizeof(parent), "iii-counters-%d", (int)getpid());
    RUN(terminals_are_shared_equally_within_bounds);
    bool can_group = geteuid() == 0 && cgroup_host_init(&host, parent, NULL) == 0 &&
                     cgroup_host_controllers(&host) & 1u << CGROUP_MEMORY;
    if (can_group) {
        RUN(who_holds_most_open_files_is_found);
        RUN(descriptors_in_flight_are_found_by_the_memory_they_take);
        cgroup_host_remove(&host);
        cgroup_host_done(&host);
    } else {
        SKIP(who_holds_most_open_files_is_found, "needs root and a memory controller");
        SKIP(descriptors_in_flight_are_found_by_the_memory_they_take, "needs root and a memory controller");
    }
    return tap_done();
}
