/* Ranges never overlap, the grant files are read strictly, and maps really take hold in a user namespace. */
#include "os/idrange.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

TEST(slots_never_overlap_and_the_pool_ends)
{
    struct idrange a, b;
    CHECK_INT(idrange_slot(0, &a), 0);
    CHECK_INT(a.uid_base, IDRANGE_POOL_BASE);
    CHECK_INT(a.gid_base, a.uid_base);
    for (uint32_t slot = 1; slot < IDRANGE_POOL_SLOTS; slot++) {
        if (idrange_slot(slot, &b) != 0 || b.uid_base != a.uid_base + a.uid_count || b.gid_base != b.uid_base) {
            CHECK_INT(slot, -1);
            break;
        }
        a = b;
    }
    CHECK((uint64_t)a.uid_base + a.uid_count <= INT32_MAX);
    b.uid_base = 1;
    CHECK_INT(idrange_slot(IDRANGE_POOL_SLOTS, &b), -ERANGE);
    CHECK_INT(idrange_slot(UINT32_MAX, &b), -ERANGE);
    CHECK_INT(b.uid_base, 1); /* untouched on failure */
}

TEST(grant_lines_are_read_strictly)
{
    static const struct {
        const char *text;
        uint32_t base, count;
    } cases[] = {
        { "ann:100000:65536\n", 100000, 65536 },
        { "ann:100000:65536", 100000, 65536 },
        { "1000:100000:65536\n", 100000, 65536 },
        { "bob:5:5\nann:200000:10\nann:300000:20\n", 300000, 20 }, /* the largest */
        { "", 0, 0 },
        { "\n\n:\n::\n:::\n", 0, 0 },
        { "annie:100000:65536\n", 0, 0 },
        { "an:100000:65536\n", 0, 0 },
        { "ann:100000\n", 0, 0 },
        { "ann:100000:65536:1\n", 0, 0 },
        { "ann:100000:65536 \n", 0, 0 },
        { "ann: 100000:65536\n", 0, 0 },
        { "ann:+100000:65536\n", 0, 0 },
        { "ann:-1:65536\n", 0, 0 },
        { "ann:0x10000:65536\n", 0, 0 },
        { "ann::65536\n", 0, 0 },
        { "ann:100000:\n", 0, 0 },
        { "ann:100000:0\n", 0, 0 },
        { "ann:0:65536\n", 0, 0 },         /* never host uid 0 */
        { "ann:4294967295:1\n", 0, 0 },    /* "no id" */
        { "ann:4294967000:1000\n", 0, 0 }, /* past the end */
        { "ann:99999999999:1\n", 0, 0 },   /* too many digits */
        { "ann:4294967294:1\n", 4294967294u, 1 },
        { "ann:1:4294967294\n", 1, 4294967294u },
        { "01000:1:4294967294\nbob:1:1\n", 1, 4294967294u }, /* a number is a number */
        { "#ann:100000:65536\n", 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct idrange_grant g = idrange_parse(cases[i].text, strlen(cases[i].text), "ann", 1000);
        if (g.base != cases[i].base || g.count != cases[i].count)
            printf("# case %zu: %s\n", i, cases[i].text);
        CHECK_INT(g.base, cases[i].base);
        CHECK_INT(g.count, cases[i].count);
    }
    CHECK_INT(idrange_parse("ann:5:5\n", 8, NULL, 1000).count, 0); /* a user without a name */
    CHECK_INT(idrange_parse("ann:5:5\n", 7, "ann", 1).count, 5);   /* length counts, not a NUL */
    CHECK_INT(idrange_parse("ann:5:55", 7, "ann", 1).count, 5);
}

TEST(only_known_tools_are_found)
{
    CHECK(!idrange_tool("sh"));
    CHECK(!idrange_tool("../bin/sh"));
    const char *tool = idrange_tool("newuidmap");
    CHECK(!tool || tool[0] == '/');
}

TEST(host_root_is_never_mapped)
{
    struct idrange r = { .how = IDRANGE_ROOT, .uid_base = 0, .gid_base = 5, .uid_count = 1, .gid_count = 1 };
    CHECK_INT(idrange_map(&r, getpid(), NULL), -EINVAL);
    r = (struct idrange){ .how = IDRANGE_ROOT, .uid_base = 5, .gid_base = 0, .uid_count = 1, .gid_count = 1 };
    CHECK_INT(idrange_map(&r, getpid(), NULL), -EINVAL);
    r = (struct idrange){ .how = IDRANGE_ROOT, .uid_base = 5, .gid_base = 5 };
    CHECK_INT(idrange_map(&r, getpid(), NULL), -EINVAL);
}

/* A child waits in a new user namespace until it is mapped, then its view and ours are compared. */
static int map_child(const struct idrange *r, struct err *err, char *ret_line, size_t size)
{
    int ready[2], go[2];
    if (pipe(ready) < 0 || pipe(go) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid == 0) {
        char c = unshare(CLONE_NEWUSER) < 0 ? 'x' : 'k';
        (void)!write(ready[1], &c, 1);
        (void)!read(go[0], &c, 1);
        bool is_root = setresgid(0, 0, 0) == 0 && setresuid(0, 0, 0) == 0 && getuid() == 0 && getgid() == 0;
        _exit(is_root ? 0 : 1);
    }
    char c = 'x';
    (void)!read(ready[0], &c, 1);
    int result = c == 'k' ? idrange_map(r, pid, err) : -EPERM;
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/uid_map", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, ret_line, size - 1);
    ret_line[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        (void)close(fd);
    (void)!write(go[1], "g", 1);
    int status = -1;
    (void)waitpid(pid, &status, 0);
    for (int i = 0; i < 2; i++)
        (void)close(ready[i]), (void)close(go[i]);
    return result < 0 ? result : status == 0 ? 0 : -EIO;
}

TEST(root_maps_a_slot)
{
    struct idrange r;
    struct err err = ERR_INIT;
    char line[128];
    unsigned inside, outside, count;
    CHECK_INT(idrange_slot(3, &r), 0);
    CHECK_INT(map_child(&r, &err, line, sizeof line), 0);
    CHECK_INT(sscanf(line, "%u %u %u", &inside, &outside, &count), 3);
    CHECK_INT(inside, 0);
    CHECK_INT(outside, IDRANGE_POOL_BASE + 3 * IDRANGE_SIZE);
    CHECK_INT(count, IDRANGE_SIZE);
}

/* Runs as uid 65534 when we are root. Exit code: 0 fine, 77 nothing to try. */
static int as_ordinary(int (*fn)(void))
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
            _exit(2);
        (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* else /proc/self stays root's after giving up root */
        int code = fn();
        fflush(stdout);
        _exit(code);
    }
    int status = -1;
    (void)waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int single_map(void)
{
    struct idrange r = {
        .how = IDRANGE_SINGLE, .uid_base = geteuid(), .gid_base = getegid(), .uid_count = 1, .gid_count = 1
    };
    struct err err = ERR_INIT;
    char line[128];
    if (map_child(&r, &err, line, sizeof line) < 0) {
        printf("# %s\n", err.msg);
        return 1;
    }
    return 0;
}

TEST(an_ordinary_user_maps_itself)
{
    CHECK_INT(as_ordinary(single_map), 0);
}

static int user_range(void)
{
    struct idrange r;
    struct err err = ERR_INIT;
    char why[200], line[128];
    if (idrange_user(&r, why, sizeof why) < 0)
        return 1;
    printf("# ordinary user: %s%s\n", r.how == IDRANGE_SUBID ? "a range" : "only itself: ", why);
    if (r.how == IDRANGE_SINGLE)
        return r.uid_count == 1 && r.uid_base == geteuid() && why[0] ? 0 : 1;
    if (map_child(&r, &err, line, sizeof line) < 0) {
        printf("# %s\n", err.msg);
        return 1;
    }
    return 0;
}

TEST(an_ordinary_user_gets_what_the_host_grants)
{
    CHECK_INT(as_ordinary(user_range), 0);
}

/* Puts a grant for uid 65534 over both files, in a mount namespace of its own. */
static int granted_range(void)
{
    char file[] = "/tmp/iii-test-subid-XXXXXX";
    int fd = mkstemp(file);
    static const char text[] = "65534:200000:1000\n";
    if (fd < 0 || write(fd, text, sizeof text - 1) < 0 || fchmod(fd, 0644) < 0)
        return 3;
    (void)close(fd);
    bool is_covered = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                      mount(file, "/etc/subuid", NULL, MS_BIND, NULL) == 0 &&
                      mount(file, "/etc/subgid", NULL, MS_BIND, NULL) == 0;
    (void)unlink(file);
    if (!is_covered || setgid(65534) < 0 || setuid(65534) < 0)
        return 4;
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    struct idrange r;
    struct err err = ERR_INIT;
    char why[200], line[128];
    if (idrange_user(&r, why, sizeof why) < 0 || r.how != IDRANGE_SUBID || r.uid_base != 200000 || r.uid_count != 1000)
        return 5;
    if (map_child(&r, &err, line, sizeof line) < 0) {
        printf("# %s\n", err.msg);
        return 6;
    }
    unsigned inside, outside, count;
    int n = sscanf(line, "%u %u %u", &inside, &outside, &count);
    return n == 3 && inside == 0 && outside == 65534 && count == 1 ? 0 : 7;
}

TEST(a_granted_range_is_mapped_by_the_tools)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int code = granted_range();
        fflush(stdout);
        _exit(code);
    }
    int status = -1;
    (void)waitpid(pid, &status, 0);
    CHECK_INT(status, 0);
}

static int refused_range(void)
{
    struct idrange r = {
        .how = IDRANGE_SUBID, .uid_base = 0x20000000, .gid_base = 0x20000000, .uid_count = 10, .gid_count = 10
    };
    struct err err = ERR_INIT;
    char line[128];
    int result = map_child(&r, &err, line, sizeof line);
    return result < 0 && err.msg[0] ? 0 : 1;
}

TEST(a_range_nobody_granted_is_an_error_that_names_it)
{
    CHECK_INT(as_ordinary(refused_range), 0);
}

int main(void)
{
    RUN(slots_never_overlap_and_the_pool_ends);
    RUN(grant_lines_are_read_strictly);
    RUN(only_known_tools_are_found);
    RUN(host_root_is_never_mapped);
    if (geteuid() == 0)
        RUN(root_maps_a_slot);
    else
        SKIP(root_maps_a_slot, "needs root");
    RUN(an_ordinary_user_maps_itself);
    RUN(an_ordinary_user_gets_what_the_host_grants);
    if (geteuid() == 0 && idrange_tool("newuidmap") && access("/etc/subuid", F_OK) == 0 &&
        access("/etc/subgid", F_OK) == 0)
        RUN(a_granted_range_is_mapped_by_the_tools);
    else
        SKIP(a_granted_range_is_mapped_by_the_tools, "needs root, newuidmap, /etc/subuid and /etc/subgid");
    RUN(a_range_nobody_granted_is_an_error_that_names_it);
    return tap_done();
}
