/* Folders, filters, control groups and messages of os/ with failing system calls and allocations. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "fault.h"
#include "os/cgroup.h"
#include "os/filter.h"
#include "os/idrange.h"
#include "os/netlink.h"
#include "os/seqsock.h"
#include "os/tree.h"

#define GROUP "iii-fault-test"

static void write_file(int dir, const char *name, const char *text)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        abort();
    (void)close(fd);
}

static void setup_tree(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (mkdirat(fd, "from", 0755) < 0 || mkdirat(fd, "from/a", 0711) < 0 || mkdirat(fd, "from/a/b", 0700) < 0)
        abort();
    write_file(fd, "from/one", "first");
    write_file(fd, "from/a/two", "second");
    write_file(fd, "from/a/b/three", "third");
    if (linkat(fd, "from/one", fd, "from/a/same", 0) < 0 || symlinkat("../one", fd, "from/a/link") < 0)
        abort();
    (void)close(fd);
}

static int dir_of(const char *dir)
{
    return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int run_copy(const char *dir, struct err *err)
{
    CLEANUP(close_fd_p) int fd = dir_of(dir);
    int64_t bytes = 0;
    if (fd < 0)
        return err_set(err, ERR_INTERNAL, 1, "open the folder");
    return tree_copy(fd, "from", fd, "to", &bytes, err);
}

static bool is_text(int dir, const char *name, const char *text)
{
    char got[64] = "";
    CLEANUP(close_fd_p) int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, got, sizeof(got) - 1) == (ssize_t)strlen(text) && strcmp(got, text) == 0;
}

static const char *check_copy(const char *dir, bool was_done)
{
    CLEANUP(close_fd_p) int fd = dir_of(dir);
    struct stat one, same;
    if (!was_done && (tree_remove(fd, "to", NULL) < 0 || run_copy(dir, NULL) < 0))
        return "a copy that failed cannot be removed and made again";
    if (!is_text(fd, "to/one", "first") || !is_text(fd, "to/a/two", "second") || !is_text(fd, "to/a/b/three", "third"))
        return "the copy is not whole";
    if (fstatat(fd, "to/one", &one, 0) < 0 || fstatat(fd, "to/a/same", &same, 0) < 0 || one.st_ino != same.st_ino)
        return "a hard link became two files";
    return is_text(fd, "from/one", "first") ? NULL : "what was copied was changed";
}

static int run_remove(const char *dir, struct err *err)
{
    CLEANUP(close_fd_p) int fd = dir_of(dir);
    return fd < 0 ? err_set(err, ERR_INTERNAL, 1, "open the folder") : tree_remove(fd, "from", err);
}

static const char *check_remove(const char *dir, bool was_done)
{
    CLEANUP(close_fd_p) int fd = dir_of(dir);
    struct stat st;
    if (was_done && fstatat(fd, "from", &st, 0) == 0)
        return "it is still there";
    return tree_remove(fd, "from", NULL) < 0 || fstatat(fd, "from", &st, 0) == 0 ? "what is left cannot be removed"
                                                                                 : NULL;
}

static int run_filter(const char *dir, struct err *err)
{
    struct filter f = { 0 };
    (void)dir;
    int r = filter_build(&f, err);
    if (r < 0)
        return r;
    int fd = filter_memfd(&f, err);
    if (fd >= 0) {
        struct stat st;
        if (fstat(fd, &st) == 0 && st.st_size != (off_t)(f.count * sizeof(*f.insn)))
            abort(); /* half a filter is no filter */
        (void)close(fd);
    }
    filter_done(&f);
    return fd < 0 ? fd : 0;
}

static struct cgroup_host host;

static int run_group(const char *dir, struct err *err)
{
    const struct cgroup_limits limits = { .memory_mb = 64, .cpu_milli = 500, .pids = 10 };
    struct cgroup cg;
    struct cgroup_stats stats;
    struct cgroup_join join;
    (void)dir;
    int r = cgroup_make(&host, GROUP, &limits, &cg, err);
    if (r < 0)
        return r;
    (void)cgroup_stats_get(&cg, &stats); /* a figure that cannot be read is none */
    r = cgroup_join_open(&cg, &join, err);
    if (r == 0)
        cgroup_join_done(&join);
    int removed = cgroup_remove(&cg);
    return r < 0 ? r : removed < 0 ? err_set(err, ERR_INTERNAL, -removed, "remove the group") : 0;
}

/* What a failed removal leaves is found by its name and removed, which is what a sweep does. */
static const char *check_group(const char *dir, bool was_done)
{
    struct cgroup cg;
    (void)dir;
    bool is_there = cgroup_open(&host, GROUP, &cg) == 0;
    if (was_done && is_there)
        return "the group is still there";
    if (is_there && cgroup_remove(&cg) < 0)
        return "what is left of the group cannot be removed";
    struct err err = ERR_INIT;
    return run_group(dir, &err) < 0 ? "the group cannot be made again" : NULL;
}

static int run_message(const char *dir, struct err *err)
{
    int pair[2], got[2] = { -1, -1 };
    size_t n = 0;
    char text[16] = "";
    (void)dir;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set(err, ERR_INTERNAL, 1, "socket pair");
    struct iovec parts[2] = { { text, 4 }, { NULL, 0 } };
    (void)memcpy(text, "ping", 4);
    int r = seqsock_send(pair[0], parts, pair, 1);
    if (r == 0) {
        ssize_t len = seqsock_recv(pair[1], text, sizeof(text), got, 2, &n);
        r = len < 0 ? (int)len : 0;
        if (r == 0 && (len != 4 || n != 1 || memcmp(text, "ping", 4) != 0))
            abort(); /* another message than was sent */
    }
    seqsock_close_all(got, n);
    seqsock_close_all(pair, 2);
    return r < 0 ? err_set(err, ERR_INTERNAL, -r, "message") : 0;
}

static int run_links(const char *dir, struct err *err)
{
    (void)dir;
    int fd = netlink_open(0); /* NETLINK_ROUTE */
    if (fd < 0)
        return err_set(err, ERR_INTERNAL, -fd, "netlink");
    int r = netlink_delete(fd, 0x7ffffff0); /* no such link: the kernel is asked and answers */
    (void)close(fd);
    return r == -ENODEV ? 0 : err_set(err, ERR_INTERNAL, r < 0 ? -r : EBADMSG, "netlink said %d", r);
}

static int run_range(const char *dir, struct err *err)
{
    struct idrange range;
    char why[240];
    (void)dir;
    int r = idrange_user(&range, why, sizeof(why));
    if (r == 0 && range.uid_count == 0)
        abort(); /* a range without ids */
    return r < 0 ? err_set(err, ERR_INTERNAL, -r, "%s", why) : 0;
}

int main(void)
{
    static const struct fault_case cases[] = {
        { "os: copy a folder", setup_tree, run_copy, check_copy },
        { "os: remove a folder", setup_tree, run_remove, check_remove },
        { "os: build the filter", NULL, run_filter, NULL, .has_no_allocs = true },
        { "os: a message with a descriptor", NULL, run_message, NULL },
        { "os: ask the kernel about links", NULL, run_links, NULL },
        { "os: find the ids of a user", NULL, run_range, NULL, .has_no_allocs = true },
    };
    static const struct fault_case group = { "os: a control group", NULL, run_group, check_group };
    struct err err = ERR_INIT;
    fault_begin();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        fault_run(&cases[i]);
    if (cgroup_host_init(&host, "iii-fault", &err) == 0 && host.trees) {
        fault_run(&group);
        cgroup_host_remove(&host);
        cgroup_host_done(&host);
    } else {
        fault_say(true, group.name, "SKIP no control group can be made here: %s", err.msg);
    }
    return fault_end();
}
