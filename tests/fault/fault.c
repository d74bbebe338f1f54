/* The loop around an operation: which faults to try, a process for each, and what must hold afterwards. */
#include "fault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/tree.h"

#define CHILD_S       30  /* a run that hangs is a failure, too */
#define TRIES_MAX     150 /* of one case; more are taken evenly from all */
#define TRIES_MAX_SAN 40  /* a fork is ten times as slow there */
#define COMPLAINTS    3   /* of one case */

/* How a child ends. */
enum { RUN_DONE = 0, RUN_FAILED = 1, RUN_LEAKED = 2, RUN_SILENT = 3, CHECK_BAD = 4 };

static struct {
    char folder[64], plan_path[96];
    int n_tests, n_bad;
    int calls, allocs; /* of the run without faults */
    unsigned char kinds[FAULT_CALLS_MAX];
    char why[512];
} fault;

static const int errors_of[FAULT_KINDS][4] = {
    [FAULT_OPEN] = { EMFILE, EIO },
    [FAULT_READ] = { EIO, EINTR },
    [FAULT_WRITE] = { ENOSPC, EINTR, FAULT_SHORT },
    [FAULT_SYNC] = { EIO },
    [FAULT_CHANGE] = { ENOSPC, EIO },
    [FAULT_LOOK] = { EIO },
    [FAULT_FD] = { EMFILE, ENOMEM },
    [FAULT_PROCESS] = { EAGAIN, ENOMEM },
    [FAULT_MAP] = { ENOMEM },
    [FAULT_WAIT] = { EINTR },
};
static const char *const kind_names[FAULT_KINDS] = { "none", "open",       "read",    "write", "sync", "change",
                                                     "look", "descriptor", "process", "map",   "wait", "allocation" };

/* --- the plan --- */

static void map_plan(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(*fault_plan)) < 0)
        abort();
    void *mem = mmap(NULL, sizeof(*fault_plan), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mem == MAP_FAILED)
        abort();
    (void)close(fd);
    fault_plan = mem;
}

/* A program that a test starts (the launcher) counts in the same plan. */
__attribute__((constructor)) static void join_plan(void)
{
    const char *path = getenv("III_FAULT_PLAN");
    if (path)
        map_plan(path);
}

void fault_begin(void)
{
    (void)snprintf(fault.folder, sizeof(fault.folder), "%s/iii-fault.XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(fault.folder))
        abort();
    (void)snprintf(fault.plan_path, sizeof(fault.plan_path), "%s/plan", fault.folder);
    map_plan(fault.plan_path);
    (void)setenv("III_FAULT_PLAN", fault.plan_path, 1);
}

int fault_end(void)
{
    (void)tree_remove(AT_FDCWD, fault.folder, NULL);
    printf("1..%d\n", fault.n_tests);
    return fault.n_bad != 0;
}

const char *fault_folder(void)
{
    return fault.folder;
}

void fault_arm(int role, const struct fault_try *t)
{
    struct fault_plan *p = fault_plan;
    atomic_store(&p->n_calls, 0);
    atomic_store(&p->n_allocs, 0);
    atomic_store(&p->has_fired, false);
    atomic_store(&p->alloc_size, 0);
    (void)snprintf(p->wrong, sizeof(p->wrong), "what it left behind made the check itself fail");
    atomic_store(&p->at, t ? t->at : 0);
    atomic_store(&p->error, t ? t->error : 0);
    atomic_store(&p->is_alloc, t && t->is_alloc);
    atomic_store(&p->is_armed, role);
}

bool fault_disarm(void)
{
    atomic_store(&fault_plan->is_armed, 0);
    return atomic_load(&fault_plan->has_fired);
}

/* --- which faults --- */

/* Number i of all there are: for each call its errors and a kill, then the allocations. */
static bool fault_at(int i, struct fault_try *ret)
{
    for (int call = 1; call <= fault.calls; call++) {
        const int *errors = errors_of[fault.kinds[call - 1]];
        int n = 0;
        while (n < 4 && errors[n])
            n++;
        if (i <= n) {
            *ret = (struct fault_try){ call, i < n ? errors[i] : FAULT_KILL, false };
            return true;
        }
        i -= n + 1;
    }
    *ret = (struct fault_try){ i + 1, ENOMEM, true };
    return i < fault.allocs;
}

bool fault_next(int *state, struct fault_try *ret)
{
    struct fault_try last;
    int most = getenv("III_SANITIZED") ? TRIES_MAX_SAN : TRIES_MAX;
    if (*state == 0) {
        fault.calls =
            atomic_load(&fault_plan->n_calls) < FAULT_CALLS_MAX ? atomic_load(&fault_plan->n_calls) : FAULT_CALLS_MAX;
        fault.allocs = atomic_load(&fault_plan->n_allocs);
        memcpy(fault.kinds, fault_plan->kinds, sizeof(fault.kinds));
    }
    int total = 0;
    while (fault_at(total, &last))
        total++;
    int stride = total / most + 1;
    int i = (*state)++ * stride;
    return i < total && fault_at(i, ret);
}

const char *fault_text(const struct fault_try *t)
{
    static char text[128];
    const char *what = t->error == FAULT_KILL    ? "killed"
                       : t->error == FAULT_SHORT ? "half a write"
                                                 : strerrorname_np(t->error);
    if (t->is_alloc)
        (void)snprintf(text, sizeof(text), "no memory at allocation %d (%zu bytes)", t->at,
                       atomic_load(&fault_plan->alloc_size));
    else
        (void)snprintf(text, sizeof(text), "%s at call %d (%s)", what, t->at,
                       t->at <= FAULT_CALLS_MAX ? kind_names[fault.kinds[t->at - 1]] : "?");
    return text;
}

void fault_say(bool is_good, const char *name, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("%sok %d - %s # ", is_good ? "" : "not ", ++fault.n_tests, name);
    (void)vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
    (void)fflush(stdout);
    fault.n_bad += !is_good;
}

unsigned fault_count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    unsigned n = 0;
    while (d && readdir(d))
        n++;
    if (d)
        (void)closedir(d);
    return n;
}

/* --- one run --- */

static int run_child(const struct fault_case *c, const char *dir, const struct fault_try *t)
{
    struct err err = ERR_INIT;
    unsigned fds = fault_count_fds();
    fault_arm(FAULT_ROLE_TEST, t);
    int r = c->run(dir, &err);
    (void)fault_disarm();
    if (fault_count_fds() != fds)
        return RUN_LEAKED;
    if (r < 0)
        return err.code == ERR_NONE || !err.msg[0] ? RUN_SILENT : RUN_FAILED;
    return RUN_DONE;
}

static int check_child(const struct fault_case *c, const char *dir, bool was_done)
{
    const char *wrong = c->check(dir, was_done);
    if (!wrong)
        return 0;
    (void)snprintf(fault_plan->wrong, sizeof(fault_plan->wrong), "%s", wrong);
    return CHECK_BAD;
}

/* Runs it in a child. The exit code, or minus the signal. */
static int in_child(const struct fault_case *c, const char *dir, const struct fault_try *t, int was_done)
{
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid < 0)
        abort();
    if (pid == 0) {
        (void)alarm(CHILD_S);
        _exit(was_done < 0 ? run_child(c, dir, t) : check_child(c, dir, was_done));
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    atomic_store(&fault_plan->is_armed, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static const char *judge(const struct fault_try *t, int code)
{
    bool is_small = atomic_load(&fault_plan->alloc_size) <= FAULT_SMALL;
    if (code == RUN_LEAKED)
        return "a descriptor was left open";
    if (code == RUN_SILENT)
        return "it failed without saying why";
    if (code == -SIGKILL && t->error == FAULT_KILL)
        return NULL;
    if (code == -SIGABRT && t->is_alloc)
        return is_small ? NULL : "it aborted for want of memory that input asked for";
    if (code == -SIGALRM)
        return "it did not come to an end";
    if (code != RUN_DONE && code != RUN_FAILED) {
        static char text[64];
        (void)snprintf(text, sizeof(text), "it crashed (%s %d)", code < 0 ? "signal" : "exit code", abs(code));
        return text;
    }
    return NULL;
}

static void make_folder(const struct fault_case *c, const char *model, const char *dir)
{
    struct err err = ERR_INIT;
    if (tree_remove(AT_FDCWD, dir, &err) < 0 || tree_copy(AT_FDCWD, model, AT_FDCWD, dir, &(int64_t){ 0 }, &err) < 0) {
        printf("Bail out! %s: %s\n", c->name, err.msg);
        exit(1);
    }
}

/* One fault. NULL, or what is wrong. */
static const char *try_one(const struct fault_case *c, const char *model, const char *dir, const struct fault_try *t)
{
    make_folder(c, model, dir);
    int code = in_child(c, dir, t, -1);
    const char *wrong = judge(t, code);
    if (!wrong && c->check && in_child(c, dir, NULL, code == RUN_DONE) != 0)
        wrong = fault_plan->wrong;
    return wrong;
}

void fault_run(const struct fault_case *c)
{
    char model[128], dir[128];
    struct fault_try t = { 0 };
    int state = 0, tried = 0, bad = 0;
    (void)snprintf(model, sizeof(model), "%s/model", fault.folder);
    (void)snprintf(dir, sizeof(dir), "%s/work", fault.folder);
    if (tree_remove(AT_FDCWD, model, NULL) < 0 || mkdir(model, 0700) < 0)
        abort();
    if (c->setup)
        c->setup(model);
    make_folder(c, model, dir);
    int code = in_child(c, dir, NULL, -1); /* counts the calls, too */
    if (c->has_no_allocs)
        atomic_store(&fault_plan->n_allocs, 0);
    if (code != RUN_DONE || (c->check && in_child(c, dir, NULL, true) != 0)) {
        fault_say(false, c->name, "it does not work without any fault (%d)", code);
        return;
    }
    /* The check was run with nothing armed, so that the counts are those of the run. */
    for (; fault_next(&state, &t); tried++) {
        const char *wrong = try_one(c, model, dir, &t);
        if (wrong && bad++ < COMPLAINTS)
            printf("# %s: %s: %s\n", c->name, fault_text(&t), wrong);
    }
    fault_say(bad == 0, c->name, "%d calls, %d allocations, %d faults, %d bad", fault.calls, fault.allocs, tried, bad);
}
