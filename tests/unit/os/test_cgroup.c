/* Control groups for real: limits bite, freeze stops, kill kills, nothing is left behind. */
#include "os/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tap.h"

static struct cgroup_host host;
static char parent_name[32];

/* A child inside the group, running fn(arg); exits with what fn returns. Comes back when the child has joined. */
static pid_t spawn_in(const struct cgroup *cg, int (*fn)(void *), void *arg)
{
    struct cgroup_join join;
    struct err err = ERR_INIT;
    int joined[2];
    if (pipe2(joined, O_CLOEXEC) < 0 || cgroup_join_open(cg, &join, &err) < 0) {
        printf("# %s\n", err.msg);
        return -1;
    }
    struct clone_args args = { .exit_signal = SIGCHLD };
    if (join.clone_into >= 0) {
        args.flags = CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)join.clone_into;
    }
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (pid == 0) {
        int r = cgroup_join_self(&join);
        (void)close(joined[0]);
        (void)close(joined[1]);
        _exit(r < 0 ? 99 : fn(arg));
    }
    cgroup_join_done(&join);
    char none;
    (void)close(joined[1]);
    (void)!read(joined[0], &none, 1); /* end of file */
    (void)close(joined[0]);
    return pid;
}

_Noreturn static int sleep_forever(void *arg)
{
    (void)arg;
    for (;;)
        (void)pause();
}

static int wait_for(pid_t pid)
{
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static struct cgroup make(const char *name, struct cgroup_limits limits)
{
    struct cgroup cg = { 0 };
    struct err err = ERR_INIT;
    int r = cgroup_make(&host, name, &limits, &cg, &err);
    CHECK_INT(r, 0);
    if (r < 0)
        printf("# %s\n", err.msg);
    return cg;
}

/* Kills, waits for pid and removes; the group must be gone from every tree. */
static void end(const struct cgroup *cg, pid_t pid)
{
    CHECK_INT(cgroup_kill(cg), 0);
    if (pid > 0)
        (void)wait_for(pid);
    int r = -EBUSY;
    for (int i = 0; i < 10000 && r == -EBUSY; i++, usleep(1000))
        r = cgroup_remove(cg);
    CHECK_INT(r, 0);
    struct cgroup again;
    CHECK_INT(cgroup_open(&host, cg->name, &again), -ENOENT);
}

TEST(host_says_where_every_controller_is)
{
    for (unsigned c = 0; c < CGROUP_CONTROLLERS; c++) {
        printf("# %s: %s\n", cgroup_controller_name(c), host.why[c]);
        CHECK(host.why[c][0] != '\0');
    }
    CHECK(cgroup_host_controllers(&host) & 1u << CGROUP_MEMORY);
    CHECK(cgroup_host_controllers(&host) & 1u << CGROUP_PIDS);
    CHECK(cgroup_host_controllers(&host) & 1u << CGROUP_FREEZER);
}

TEST(names_are_checked)
{
    static const char *const bad[] = { "", ".", "..", "a/b", "a b", "../x", "\n" };
    struct cgroup cg;
    struct cgroup_limits none = { 0 };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_INT(cgroup_make(&host, bad[i], &none, &cg, NULL), -EINVAL);
        CHECK_INT(cgroup_open(&host, bad[i], &cg), -EINVAL);
    }
    char longest[CGROUP_NAME_MAX + 1];
    memset(longest, 'n', sizeof longest);
    longest[CGROUP_NAME_MAX] = '\0';
    CHECK_INT(cgroup_make(&host, longest, &none, &cg, NULL), -EINVAL);
    longest[CGROUP_NAME_MAX - 1] = '\0';
    cg = make(longest, none);
    end(&cg, 0);
}

TEST(made_twice_is_refused_and_the_first_stays)
{
    struct cgroup cg = make("twice", (struct cgroup_limits){ .memory_mb = 64 }), other;
    struct cgroup_limits none = { 0 };
    CHECK_INT(cgroup_make(&host, "twice", &none, &other, NULL), -EEXIST);
    struct cgroup_stats s;
    CHECK_INT(cgroup_stats_get(&cg, &s), 0);
    CHECK_INT(s.memory_limit_bytes, 64 << 20);
    end(&cg, 0);
    CHECK_INT(cgroup_stats_get(&cg, &s), -ENOENT);
    CHECK_INT(cgroup_remove(&cg), 0); /* gone is fine */
}

TEST(a_failed_make_leaves_nothing)
{
    struct cgroup cg;
    struct cgroup_limits absurd = { .memory_mb = UINT64_MAX };
    CHECK_INT(cgroup_make(&host, "absurd", &absurd, &cg, NULL), -EINVAL);
    CHECK_INT(cgroup_open(&host, "absurd", &cg), -ENOENT);
}

/* Touches 1 MiB steps up to 256 MiB. */
static int eat_memory(void *arg)
{
    (void)arg;
    size_t size = 256u << 20;
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return 3;
    for (size_t i = 0; i < size; i += 4096)
        p[i] = 1;
    return 0;
}

TEST(memory_limit_kills_and_is_counted)
{
    struct cgroup cg = make("mem", (struct cgroup_limits){ .memory_mb = 32 });
    pid_t pid = spawn_in(&cg, eat_memory, NULL);
    int status = wait_for(pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    struct cgroup_stats s;
    CHECK_INT(cgroup_stats_get(&cg, &s), 0);
    CHECK(s.oom_kills >= 1);
    CHECK_INT(s.memory_limit_bytes, 32 << 20);
    CHECK(s.memory_peak_bytes <= 32 << 20);
    /* raised, it fits; both ways of changing a limit */
    struct err err = ERR_INIT;
    CHECK_INT(cgroup_limits_set(&cg, &(struct cgroup_limits){ .memory_mb = 512 }, &err), 0);
    CHECK_INT(wait_for(spawn_in(&cg, eat_memory, NULL)), 0);
    CHECK_INT(cgroup_limits_set(&cg, &(struct cgroup_limits){ .memory_mb = 16 }, &err), 0);
    CHECK_INT(cgroup_stats_get(&cg, &s), 0);
    CHECK_INT(s.memory_limit_bytes, 16 << 20);
    CHECK_INT(cgroup_limits_set(&cg, &(struct cgroup_limits){ 0 }, &err), 0);
    CHECK_INT(cgroup_stats_get(&cg, &s), 0);
    CHECK_INT(s.memory_limit_bytes, 0);
    end(&cg, 0);
}

/* How many children could be forked, 40 tried; they end with the group. */
static int fork_many(void *arg)
{
    (void)arg;
    int made = 0;
    for (int i = 0; i < 40; i++) {
        pid_t pid = fork();
        if (pid == 0)
            (void)sleep_forever(NULL);
        made += pid > 0;
    }
    return made;
}

TEST(pids_limit_holds)
{
    struct cgroup cg = make("pids", (struct cgroup_limits){ .pids = 8 });
    int status = wait_for(spawn_in(&cg, fork_many, NULL));
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 7);
    struct cgroup_stats s;
    CHECK_INT(cgroup_stats_get(&cg, &s), 0);
    CHECK_INT(s.pids, 7);
    CHECK(!cgroup_is_empty(&cg));
    CHECK_INT(cgroup_remove(&cg), -EBUSY);
    end(&cg, 0);
}

static int burn(void *arg)
{
    int64_t until = clock_mono_us() + (int64_t)(intptr_t)arg * 1000;
    while (clock_mono_us() < until)
        ;
    return 0;
}

TEST(cpu_quota_holds)
{
    struct cgroup cg = make("cpu", (struct cgroup_limits){ .cpu_milli = 100 });
    CHECK_INT(wait_for(spawn_in(&cg, burn, (void *)(intptr_t)1000)), 0);
    struct cgroup_stats s;
    CHECK_INT(cgroup_stats_get(&cg, &s), 0);
    printf("# used %llu us of CPU in 1 s with a tenth of a core\n", (unsigned long long)s.cpu_usage_us);
    CHECK(s.cpu_usage_us > 10 * 1000 && s.cpu_usage_us < 300 * 1000);
    end(&cg, 0);
}

_Noreturn static int count_up(void *arg)
{
    atomic_uint *counter = arg;
    for (;;)
        atomic_fetch_add(counter, 1);
}

TEST(who_yields_keeps_its_quota_and_can_be_limited_anew)
{
    struct err err = ERR_INIT;
    struct cgroup cg = make("yield", (struct cgroup_limits){ .cpu_milli = 500 });
    struct cgroup_limits more = { .cpu_milli = 1000, .memory_mb = 64, .pids = 8 };
    uint64_t before = cgroup_host_cpu_used_us(&host);
    pid_t pid = spawn_in(&cg, sleep_forever, NULL);
    CHECK(!cgroup_is_yielding(&cg));
    CHECK_INT(cgroup_yield(&cg, true), 0);
    CHECK(cgroup_is_yielding(&cg));
    CHECK_INT(cgroup_limits_set(&cg, &more, &err), 0);
    CHECK(cgroup_is_yielding(&cg));
    CHECK_INT(cgroup_yield(&cg, false), 0);
    CHECK(!cgroup_is_yielding(&cg));
    uint64_t used = cgroup_cpu_used_us(&cg); /* read first: it may still grow */
    CHECK(used > 0);
    CHECK(cgroup_host_cpu_used_us(&host) >= before + used);
    end(&cg, pid);
    CHECK(cgroup_yield(&cg, true) < 0);
    CHECK(!cgroup_is_yielding(&cg));
}

TEST(all_groups_together_yield_to_the_host)
{
    struct cgroup parent = { .host = &host, .name = "." };
    cgroup_host_yield(&host, true);
    bool was_yielding = cgroup_is_yielding(&parent);
    cgroup_host_yield(&host, false);
    CHECK(was_yielding);
    CHECK(!cgroup_is_yielding(&parent));
}

TEST(freeze_stops_and_thaw_goes_on)
{
    atomic_uint *counter = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct cgroup cg = make("freeze", (struct cgroup_limits){ 0 });
    pid_t pid = spawn_in(&cg, count_up, counter);
    for (int i = 0; i < 5; i++) {
        unsigned start = atomic_load(counter);
        for (int t = 0; t < 10000 && atomic_load(counter) == start; t++)
            usleep(1000);
        CHECK(atomic_load(counter) != start);
        CHECK_INT(cgroup_freeze(&cg, 20000), 0);
        unsigned before = atomic_load(counter);
        usleep(5000);
        CHECK_INT(atomic_load(counter), before);
        CHECK_INT(cgroup_thaw(&cg), 0);
    }
    CHECK_INT(cgroup_freeze(&cg, 20000), 0);
    end(&cg, pid); /* a frozen group dies too */
    (void)munmap(counter, 4096);
}

TEST(kill_without_cgroup_kill_ends_frozen_groups_too)
{
    bool had = host.tree[0].can_kill;
    host.tree[0].can_kill = false;
    struct cgroup cg = make("signal", (struct cgroup_limits){ 0 });
    (void)wait_for(spawn_in(&cg, fork_many, NULL));
    pid_t pid = spawn_in(&cg, sleep_forever, NULL);
    CHECK_INT(cgroup_freeze(&cg, 20000), 0);
    end(&cg, pid);
    host.tree[0].can_kill = had;
}

static int count_one(const struct cgroup *cg, void *userdata)
{
    ++*(int *)userdata;
    return cgroup_remove(cg);
}

TEST(list_finds_leftovers_once_and_may_remove_them)
{
    (void)make("left-1", (struct cgroup_limits){ 0 });
    (void)make("left-2", (struct cgroup_limits){ 0 });
    struct cgroup other = make("other", (struct cgroup_limits){ 0 });
    /* half-made: only in the last tree */
    CHECK_INT(mkdirat(host.tree[host.trees - 1].parent_fd, "left-3", 0755), 0);
    int count = 0;
    CHECK_INT(cgroup_list(&host, "left-", count_one, &count), 0);
    CHECK_INT(count, 3);
    count = 0;
    CHECK_INT(cgroup_list(&host, "left-", count_one, &count), 0);
    CHECK_INT(count, 0);
    end(&other, 0);
}

TEST(adopted_by_name_it_is_the_same_group)
{
    struct cgroup cg = make("adopt", (struct cgroup_limits){ .pids = 10 });
    pid_t pid = spawn_in(&cg, sleep_forever, NULL);
    struct cgroup_host second;
    struct cgroup found;
    struct cgroup_stats s;
    CHECK_INT(cgroup_host_init(&second, parent_name, NULL), 0);
    CHECK_INT(cgroup_open(&second, "adopt", &found), 0);
    CHECK_INT(cgroup_stats_get(&found, &s), 0);
    CHECK_INT(s.pids, 1);
    cgroup_host_done(&second);
    end(&cg, pid);
}

TEST(nested_groups_go_with_their_parent)
{
    struct cgroup cg = make("nest", (struct cgroup_limits){ 0 });
    CHECK_INT(mkdirat(host.tree[0].parent_fd, "nest/inner", 0755), 0);
    end(&cg, 0);
}

TEST(a_group_is_made_quickly)
{
    int64_t best = INT64_MAX, bare = INT64_MAX;
    struct cgroup_limits limits = { .memory_mb = 64, .cpu_milli = 500, .pids = 64 };
    for (int i = 0; i < 20; i++) {
        int64_t start = clock_mono_us();
        struct cgroup cg = make("quick", limits);
        int64_t took = clock_mono_us() - start;
        best = took < best ? took : best;
        end(&cg, 0);
        start = clock_mono_us();
        for (unsigned k = 0; k < host.trees; k++)
            CHECK(mkdirat(host.tree[k].parent_fd, "bare", 0755) == 0);
        took = clock_mono_us() - start;
        bare = took < bare ? took : bare;
        for (unsigned k = 0; k < host.trees; k++)
            CHECK(unlinkat(host.tree[k].parent_fd, "bare", AT_REMOVEDIR) == 0);
    }
    printf("# best make with three limits in %u trees: %lld us, of folders alone: %lld us\n", host.trees,
           (long long)best, (long long)bare);
    CHECK(best < 10 * bare); /* on the same host at the same time */
}

TEST(without_any_tree_all_is_a_named_refusal)
{
    struct cgroup_host none = { 0 };
    struct cgroup cg;
    struct cgroup_join join;
    CHECK_INT(cgroup_make(&none, "x", &(struct cgroup_limits){ .memory_mb = 1 }, &cg, NULL), 0);
    CHECK_INT(cgroup_join_open(&cg, &join, NULL), 0);
    CHECK(join.n == 0 && join.clone_into < 0);
    CHECK_INT(cgroup_join_self(&join), 0);
    CHECK_INT(cgroup_freeze(&cg, 10), -EOPNOTSUPP);
    CHECK_INT(cgroup_thaw(&cg), -EOPNOTSUPP);
    CHECK_INT(cgroup_kill(&cg), -EOPNOTSUPP);
    CHECK_INT(cgroup_remove(&cg), 0);
}

/* As an ordinary user the probe must answer, whatever it finds. */
TEST(an_ordinary_user_gets_an_answer)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (setgid(65534) < 0 || setuid(65534) < 0)
            _exit(2);
        struct cgroup_host h;
        int r = cgroup_host_init(&h, parent_name, NULL);
        bool is_fine = r == 0;
        for (unsigned c = 0; c < CGROUP_CONTROLLERS; c++)
            is_fine = is_fine && ((cgroup_host_controllers(&h) >> c & 1) || h.why[c][0] != '\0');
        printf("# as nobody: %u trees, memory: %s\n", h.trees, h.why[CGROUP_MEMORY]);
        fflush(stdout);
        _exit(is_fine ? 0 : 1);
    }
    CHECK_INT(wait_for(pid), 0);
}

/* ---- v2 file formats, against a folder of plain files: this needs no v2 kernel ---- */

static char fake_dir[] = "/tmp/iii-test-cgroup-XXXXXX";

static void fake_put(const char *file, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/box/%s", fake_dir, file);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    (void)close(fd);
}

/* What the code wrote; the file is emptied for the next time. */
static const char *fake_take(const char *file)
{
    static char text[128];
    char path[128];
    (void)snprintf(path, sizeof path, "%s/box/%s", fake_dir, file);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    CHECK(fd >= 0 && ftruncate(fd, 0) == 0);
    (void)close(fd);
    return text;
}

TEST(v2_files_are_written_and_read_right)
{
    static const char *const files[] = { "memory.max",     "memory.swap.max", "cpu.max",      "pids.max",
                                         "memory.current", "memory.peak",     "cgroup.kill",  "cgroup.freeze",
                                         "memory.events",  "cpu.stat",        "pids.current", "cgroup.events" };
    char box[128];
    CHECK(mkdtemp(fake_dir) != NULL);
    (void)snprintf(box, sizeof box, "%s/box", fake_dir);
    CHECK_INT(mkdir(box, 0700), 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        fake_put(files[i], "");
    struct cgroup_host v2 = { .trees = 1 };
    v2.tree[0] = (struct cgroup_tree){ .is_v2 = true,
                                       .controllers = (1u << CGROUP_CONTROLLERS) - 1,
                                       .can_kill = true,
                                       .can_freeze = true,
                                       .parent_fd = open(fake_dir, O_RDONLY | O_CLOEXEC) };
    struct cgroup cg;
    CHECK_INT(cgroup_open(&v2, "box", &cg), 0);
    CHECK_INT(cgroup_limits_set(&cg, &(struct cgroup_limits){ .memory_mb = 64, .cpu_milli = 1500, .pids = 16 }, NULL),
              0);
    CHECK_STR(fake_take("memory.max"), "67108864");
    CHECK_STR(fake_take("memory.swap.max"), "0");
    CHECK_STR(fake_take("cpu.max"), "15000 10000");
    CHECK_STR(fake_take("pids.max"), "16");
    CHECK_INT(cgroup_limits_set(&cg, &(struct cgroup_limits){ .cpu_milli = 1 }, NULL), 0);
    CHECK_STR(fake_take("memory.max"), "max");
    CHECK_STR(fake_take("memory.swap.max"), "max");
    CHECK_STR(fake_take("cpu.max"), "1000 10000"); /* the least the kernel takes */
    CHECK_STR(fake_take("pids.max"), "max");
    fake_put("memory.current", "4096\n");
    fake_put("memory.peak", "8192\n");
    fake_put("memory.max", "max\n");
    fake_put("memory.events", "low 0\noom 5\noom_kill 3\noom_group_kill 9\n");
    fake_put("cpu.stat", "usage_usec 123\nuser_usec 100\n");
    fake_put("pids.current", "7\n");
    fake_put("cgroup.events", "populated 1\nfrozen 1\n");
    struct cgroup_stats s;
    CHECK_INT(cgroup_stats_get(&cg, &s), 0);
    CHECK(s.memory_bytes == 4096 && s.memory_peak_bytes == 8192 && s.memory_limit_bytes == 0);
    CHECK(s.oom_kills == 3 && s.cpu_usage_us == 123 && s.pids == 7);
    CHECK(!cgroup_is_empty(&cg));
    CHECK_INT(cgroup_freeze(&cg, 100), 0);
    CHECK_STR(fake_take("cgroup.freeze"), "1");
    fake_put("cgroup.events", "populated 0\nfrozen 0\n");
    CHECK(cgroup_is_empty(&cg));
    CHECK_INT(cgroup_freeze(&cg, 20), -ETIMEDOUT);
    CHECK_STR(fake_take("cgroup.freeze"), "0"); /* given up: thawed again */
    CHECK_INT(cgroup_kill(&cg), 0);
    CHECK_STR(fake_take("cgroup.kill"), "1");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        (void)snprintf(box, sizeof box, "box/%s", files[i]);
        CHECK_INT(unlinkat(v2.tree[0].parent_fd, box, 0), 0);
    }
    CHECK_INT(cgroup_remove(&cg), 0);
    cgroup_host_done(&v2);
    CHECK_INT(rmdir(fake_dir), 0);
}

/* What a user session with Delegate=yes looks like, built by hand in the v2 tree: an ordinary user inside a group that
 * it owns finds it, and runs boxes below it. */
static int use_delegated(void *arg)
{
    const char *path = arg;
    if (setgid(65534) < 0 || setuid(65534) < 0)
        return 2;
    struct cgroup_host h;
    struct cgroup cg;
    struct err err = ERR_INIT;
    if (cgroup_host_init(&h, "mine", &err) < 0 || h.trees != 1 || !h.tree[0].is_v2 ||
        strncmp(h.tree[0].parent_path, path, strlen(path)) != 0)
        return 3;
    if (cgroup_make(&h, "box", &(struct cgroup_limits){ .memory_mb = 64, .pids = 8 }, &cg, &err) < 0)
        return 4;
    struct cgroup_stats s;
    bool has_memory = cgroup_host_controllers(&h) & 1u << CGROUP_MEMORY; /* on a v2 host, not on a hybrid one */
    if (cgroup_stats_get(&cg, &s) < 0 || s.memory_limit_bytes != (has_memory ? 64u << 20 : 0))
        return 8;
    printf("# delegated: memory: %s\n", h.why[CGROUP_MEMORY]);
    fflush(stdout);
    pid_t pid = spawn_in(&cg, sleep_forever, NULL);
    if (pid < 0 || cgroup_is_empty(&cg) || cgroup_freeze(&cg, 20000) < 0)
        return 5;
    if (cgroup_kill(&cg) < 0 || !WIFSIGNALED(wait_for(pid)))
        return 6;
    int r = -EBUSY;
    for (int i = 0; i < 10000 && r == -EBUSY; i++, usleep(1000))
        r = cgroup_remove(&cg);
    cgroup_host_remove(&h);
    cgroup_host_done(&h);
    return r == 0 ? 0 : 7;
}

TEST(an_ordinary_user_finds_its_delegated_subtree)
{
    static const char *const handed_over[] = { "", "/cgroup.procs", "/cgroup.subtree_control", "/cgroup.threads" };
    struct cgroup cg = make("delegated", (struct cgroup_limits){ 0 });
    char path[400], file[500];
    (void)snprintf(path, sizeof path, "%s/delegated", host.tree[0].parent_path);
    for (size_t i = 0; i < sizeof handed_over / sizeof *handed_over; i++) {
        (void)snprintf(file, sizeof file, "%s%s", path, handed_over[i]);
        CHECK_INT(chown(file, 65534, 65534), 0);
    }
    CHECK_INT(wait_for(spawn_in(&cg, use_delegated, path)), 0);
    end(&cg, 0);
}

/* The same host without its v2 tree: every controller, the freezer too, comes from v1. */
static bool hide_v2(void)
{
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return false;
    return umount2("/sys/fs/cgroup/unified", MNT_DETACH) == 0;
}

static void on_v1_alone(void)
{
    cgroup_host_remove(&host);
    cgroup_host_done(&host);
    if (!hide_v2() || cgroup_host_init(&host, parent_name, NULL) < 0 || host.trees < 2 || host.tree[0].is_v2) {
        printf("ok %d - v1 alone # SKIP this host has no hybrid layout to take apart\n", ++tap_count);
        return;
    }
    RUN(host_says_where_every_controller_is);
    RUN(made_twice_is_refused_and_the_first_stays);
    RUN(memory_limit_kills_and_is_counted);
    RUN(pids_limit_holds);
    RUN(cpu_quota_holds);
    RUN(who_yields_keeps_its_quota_and_can_be_limited_anew);
    RUN(all_groups_together_yield_to_the_host);
    RUN(freeze_stops_and_thaw_goes_on);
    RUN(kill_without_cgroup_kill_ends_frozen_groups_too);
    RUN(list_finds_leftovers_once_and_may_remove_them);
    RUN(a_group_is_made_quickly);
}

int main(void)
{
    struct err err = ERR_INIT;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)snprintf(parent_name, sizeof parent_name, "iii-test-%d", (int)getpid());
    if (cgroup_host_init(&host, parent_name, &err) < 0) {
        printf("Bail out! %s\n", err.msg);
        return 1;
    }
    RUN(without_any_tree_all_is_a_named_refusal);
    RUN(v2_files_are_written_and_read_right);
    unsigned need = 1u << CGROUP_MEMORY | 1u << CGROUP_PIDS | 1u << CGROUP_CPU | 1u << CGROUP_FREEZER;
    if ((cgroup_host_controllers(&host) & need) != need) {
        printf("ok %d - limits # SKIP this user may not use all controllers (needs root or a delegated subtree)\n",
               ++tap_count);
        (void)test_host_says_where_every_controller_is, (void)test_names_are_checked;
        (void)test_made_twice_is_refused_and_the_first_stays, (void)test_a_failed_make_leaves_nothing;
        (void)test_memory_limit_kills_and_is_counted, (void)test_pids_limit_holds, (void)test_cpu_quota_holds;
        (void)test_freeze_stops_and_thaw_goes_on, (void)test_kill_without_cgroup_kill_ends_frozen_groups_too;
        (void)test_list_finds_leftovers_once_and_may_remove_them, (void)test_adopted_by_name_it_is_the_same_group;
        (void)test_nested_groups_go_with_their_parent, (void)test_a_group_is_made_quickly;
        (void)test_an_ordinary_user_gets_an_answer, (void)test_an_ordinary_user_finds_its_delegated_subtree;
        (void)on_v1_alone;
    } else {
        RUN(host_says_where_every_controller_is);
        RUN(names_are_checked);
        RUN(made_twice_is_refused_and_the_first_stays);
        RUN(a_failed_make_leaves_nothing);
        RUN(memory_limit_kills_and_is_counted);
        RUN(pids_limit_holds);
        RUN(cpu_quota_holds);
        RUN(who_yields_keeps_its_quota_and_can_be_limited_anew);
        RUN(all_groups_together_yield_to_the_host);
        RUN(freeze_stops_and_thaw_goes_on);
        RUN(kill_without_cgroup_kill_ends_frozen_groups_too);
        RUN(list_finds_leftovers_once_and_may_remove_them);
        RUN(adopted_by_name_it_is_the_same_group);
        RUN(nested_groups_go_with_their_parent);
        RUN(a_group_is_made_quickly);
        if (geteuid() == 0)
            RUN(an_ordinary_user_gets_an_answer);
        else
            SKIP(an_ordinary_user_gets_an_answer, "needs root to become someone else");
        if (geteuid() == 0 && host.tree[0].is_v2)
            RUN(an_ordinary_user_finds_its_delegated_subtree);
        else
            SKIP(an_ordinary_user_finds_its_delegated_subtree, "needs root and a v2 tree");
        if (geteuid() == 0)
            on_v1_alone();
    }
    cgroup_host_remove(&host);
    cgroup_host_done(&host);
    return tap_done();
}
