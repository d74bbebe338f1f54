/* iii-floor: what the kernel itself costs on this machine, so that the benchmark can state ratios instead of absolute
 * figures. Prints one JSON object:
 *   fork_exec_true_us      fork, exec of a dynamic /bin/true, wait
 *   sandbox_floor_us       clone3 into all namespaces, id map, overlay, pivot_root, exec of /bin/true, wait
 *   fork_exec_per_s_2cores the first one, from two processes on two cores at once
 * Preparing and removing folders is outside the measured time. Exit code 1 names the step that failed. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS_DEFAULT 200
#define ROUNDS_MAX     100000
#define WARM_UP        5

/* Steps a sandbox child can fail at: its exit code is 64 + the step. */
enum step { STEP_MAP, STEP_PRIVATE, STEP_OVERLAY, STEP_PIVOT, STEP_EXEC, STEPS };
static const char *const step_names[STEPS] = { "write the id maps", "make mounts private", "mount overlay",
                                               "pivot_root", "exec /bin/true" };

static char scratch[] = "/tmp/iii-floor-XXXXXX";

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int wait_code(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void exec_true(void)
{
    char name[] = "true";
    char *const argv[] = { name, NULL }, *const envp[] = { NULL };
    (void)execve("/bin/true", argv, envp);
}

/* ---- the two things that are measured; each returns an exit code ---- */

static int fork_exec_true(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        exec_true();
        _exit(64 + STEP_EXEC);
    }
    return pid < 0 ? -1 : wait_code(pid);
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool is_written = fd >= 0 && write(fd, text, strlen(text)) >= 0;
    if (fd >= 0)
        (void)close(fd);
    return is_written;
}

struct sandbox_plan {
    char uid_map[32], gid_map[32], options[256], merged[64];
};

/* lowerdir is /usr: as a root folder it has bin, lib and lib64, all that a dynamic /bin/true needs. */
static struct sandbox_plan plan_sandbox(void)
{
    struct sandbox_plan p;
    (void)snprintf(p.uid_map, sizeof p.uid_map, "0 %u 1", (unsigned)geteuid());
    (void)snprintf(p.gid_map, sizeof p.gid_map, "0 %u 1", (unsigned)getegid());
    (void)snprintf(p.options, sizeof p.options, "lowerdir=/usr,upperdir=%s/upper,workdir=%s/work,userxattr", scratch,
                   scratch);
    (void)snprintf(p.merged, sizeof p.merged, "%s/merged", scratch);
    return p;
}

__attribute__((noreturn)) static void sandbox_child(const struct sandbox_plan *p)
{
    if (!write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/uid_map", p->uid_map) ||
        !write_text("/proc/self/gid_map", p->gid_map))
        _exit(64 + STEP_MAP);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        _exit(64 + STEP_PRIVATE);
    if (mount("overlay", p->merged, "overlay", 0, p->options) < 0)
        _exit(64 + STEP_OVERLAY);
    if (chdir(p->merged) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        _exit(64 + STEP_PIVOT);
    exec_true();
    _exit(64 + STEP_EXEC);
}

static int sandbox(void)
{
    struct sandbox_plan plan = plan_sandbox();
    struct clone_args args = { .flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS |
                                        CLONE_NEWNET | CLONE_NEWCGROUP,
                               .exit_signal = SIGCHLD };
    long pid = syscall(SYS_clone3, &args, sizeof args);
    if (pid == 0)
        sandbox_child(&plan);
    return pid < 0 ? -1 : wait_code((pid_t)pid);
}

/* ---- a fresh writable layer for each round, outside the measured time ---- */

static bool layer_make(void)
{
    static const char *const folders[] = { "upper", "work", "merged" };
    char path[80];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", scratch, folders[i]);
        if (mkdir(path, 0755) < 0)
            return false;
    }
    return true;
}

static void layer_remove(void)
{
    static const char *const folders[] = { "work/work", "work", "upper", "merged" };
    char path[80];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", scratch, folders[i]);
        (void)rmdir(path); /* work/work is there only after a mount */
    }
}

static int sandbox_failed(int code)
{
    if (code >= 64 && code < 64 + STEPS)
        (void)fprintf(stderr, "iii-floor: sandbox: cannot %s\n", step_names[code - 64]);
    else
        (void)fprintf(stderr, "iii-floor: sandbox: clone3 or wait failed (code %d, %s)\n", code, strerror(errno));
    return -1;
}

/* ---- rounds and figures ---- */

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static double percentile_us(const int64_t *sorted, size_t n, unsigned percent)
{
    size_t rank = (n * percent + 99) / 100;
    return (double)sorted[rank ? rank - 1 : 0] / 1000;
}

static int measure_plain(int64_t *took, size_t rounds)
{
    for (size_t i = 0; i < rounds + WARM_UP; i++) {
        int64_t start = now_ns();
        int code = fork_exec_true();
        if (i >= WARM_UP)
            took[i - WARM_UP] = now_ns() - start;
        if (code != 0) {
            (void)fprintf(stderr, "iii-floor: /bin/true cannot be run (code %d)\n", code);
            return -1;
        }
    }
    return 0;
}

static int measure_sandbox(int64_t *took, size_t rounds)
{
    for (size_t i = 0; i < rounds + WARM_UP; i++) {
        if (!layer_make()) {
            (void)fprintf(stderr, "iii-floor: make folders in %s: %s\n", scratch, strerror(errno));
            return -1;
        }
        int64_t start = now_ns();
        int code = sandbox();
        if (i >= WARM_UP)
            took[i - WARM_UP] = now_ns() - start;
        layer_remove();
        if (code != 0)
            return sandbox_failed(code);
    }
    return 0;
}

/* The n-th processor this process may use; pinning keeps the answer the same on a machine with more of them. */
static void pin_to(int n)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && n-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            (void)sched_setaffinity(0, sizeof one, &one); /* unpinned is still a measurement */
            return;
        }
}

static double measure_two_cores(size_t rounds)
{
    pid_t workers[2];
    int64_t start = now_ns();
    for (int w = 0; w < 2; w++) {
        workers[w] = fork();
        if (workers[w] != 0)
            continue;
        pin_to(w);
        for (size_t i = 0; i < rounds; i++)
            if (fork_exec_true() != 0)
                _exit(1);
        _exit(0);
    }
    bool is_fine = true;
    for (int w = 0; w < 2; w++)
        is_fine = workers[w] > 0 && wait_code(workers[w]) == 0 && is_fine;
    double seconds = (double)(now_ns() - start) / 1e9;
    return is_fine ? 2.0 * (double)rounds / seconds : -1;
}

static int run(size_t rounds)
{
    int64_t *plain = calloc(rounds, sizeof *plain), *boxed = calloc(rounds, sizeof *boxed);
    int result = -1;
    if (plain && boxed && measure_plain(plain, rounds) == 0 && measure_sandbox(boxed, rounds) == 0) {
        double rate = measure_two_cores(rounds);
        qsort(plain, rounds, sizeof *plain, by_size);
        qsort(boxed, rounds, sizeof *boxed, by_size);
        printf("{\"fork_exec_true_us\":{\"p50\":%.1f,\"p99\":%.1f},\"sandbox_floor_us\":{\"p50\":%.1f,\"p99\":%.1f},"
               "\"fork_exec_per_s_2cores\":%.1f,\"rounds\":%zu}\n",
               percentile_us(plain, rounds, 50), percentile_us(plain, rounds, 99), percentile_us(boxed, rounds, 50),
               percentile_us(boxed, rounds, 99), rate, rounds);
        result = rate > 0 ? 0 : -1;
    }
    free(plain);
    free(boxed);
    return result;
}

int main(int argc, char **argv)
{
    size_t rounds = ROUNDS_DEFAULT;
    for (int i = 1; i < argc; i++) {
        char *end = NULL;
        if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            rounds = strtoul(argv[++i], &end, 10);
        if (!end || *end || rounds < 1 || rounds > ROUNDS_MAX) {
            (void)fprintf(stderr, "Usage: iii-floor [--rounds N]   (N from 1 to %d, %d without it)\n", ROUNDS_MAX,
                          ROUNDS_DEFAULT);
            return 2;
        }
    }
    if (!mkdtemp(scratch)) {
        (void)fprintf(stderr, "iii-floor: make a folder in /tmp: %s\n", strerror(errno));
        return 1;
    }
    int result = run(rounds);
    (void)rmdir(scratch);
    return result < 0;
}
