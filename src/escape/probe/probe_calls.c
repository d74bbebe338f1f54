/* Item 6: system calls by number. Each is made with arguments that the kernel rejects with some other error before it
 * does anything. So outside they are harmless, and any error but "not permitted" shows that the call is open. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#include "escape/probe/probe.h"

#define BAD        1L /* an unmapped address */
#define ALL        (-1L)
#define NEWEST     470 /* the first number that the filter does not know */
#define NUMBER_END 600
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

enum where { ANYWHERE, INSIDE_ONLY };

struct call {
    const char *name;
    long nr, arg[5];
    enum where where;
};

static const struct call calls[] = {
    { "mount", SYS_mount, { BAD, BAD, BAD, 0, 0 }, ANYWHERE },
    { "umount2", SYS_umount2, { BAD, 0 }, ANYWHERE },
    { "pivot_root", SYS_pivot_root, { BAD, BAD }, ANYWHERE },
    { "fsopen", 430, { BAD, 0 }, ANYWHERE },
    { "fsconfig", 431, { ALL, 99, 0, 0, 0 }, ANYWHERE },
    { "fsmount", 432, { ALL, 0, 0 }, ANYWHERE },
    { "fspick", 433, { ALL, BAD, 0 }, ANYWHERE },
    { "move_mount", 429, { ALL, BAD, ALL, BAD, 0 }, ANYWHERE },
    { "open_tree", 428, { ALL, BAD, 0 }, ANYWHERE },
    { "open_tree_attr", 467, { ALL, BAD, 0, 0, 0 }, ANYWHERE },
    { "mount_setattr", 442, { ALL, BAD, 0, BAD, 0 }, ANYWHERE },
    { "setns", SYS_setns, { ALL, 0 }, ANYWHERE },
    { "open_by_handle_at", SYS_open_by_handle_at, { ALL, BAD, 0 }, ANYWHERE },
    { "name_to_handle_at", SYS_name_to_handle_at, { ALL, BAD, BAD, BAD, 0 }, ANYWHERE },
    { "fanotify_init", SYS_fanotify_init, { 0x7fffffff, 0 }, ANYWHERE },
    { "init_module", SYS_init_module, { BAD, 0, BAD }, ANYWHERE },
    { "finit_module", SYS_finit_module, { ALL, BAD, 0 }, ANYWHERE },
    { "delete_module", SYS_delete_module, { BAD, 0 }, ANYWHERE },
    { "kexec_load", SYS_kexec_load, { 0, ALL, BAD, ALL }, ANYWHERE },
    { "kexec_file_load", 320, { ALL, ALL, 0, BAD, ALL }, ANYWHERE },
    { "bpf", SYS_bpf, { 0x7fffffff, BAD, 0 }, ANYWHERE },
    { "perf_event_open", SYS_perf_event_open, { BAD, 0, ALL, ALL, 0 }, ANYWHERE },
    { "userfaultfd", SYS_userfaultfd, { 0x7ffffff0 }, ANYWHERE },
    { "io_uring_setup", 425, { 0, BAD }, ANYWHERE },
    { "io_uring_enter", 426, { ALL, 0, 0, 0, 0 }, ANYWHERE },
    { "io_uring_register", 427, { ALL, 0, 0, 0 }, ANYWHERE },
    { "keyctl", SYS_keyctl, { 9999 }, ANYWHERE },
    { "add_key", SYS_add_key, { BAD, BAD, BAD, 0, 0 }, ANYWHERE },
    { "request_key", SYS_request_key, { BAD, BAD, BAD, 0 }, ANYWHERE },
    { "personality", SYS_personality, { ADDR_NO_RANDOMIZE }, ANYWHERE },
    { "personality READ_IMPLIES_EXEC", SYS_personality, { READ_IMPLIES_EXEC }, ANYWHERE },
    { "swapon", SYS_swapon, { BAD, ALL }, ANYWHERE },
    { "swapoff", SYS_swapoff, { BAD }, ANYWHERE },
    { "reboot", SYS_reboot, { 0, 0, 0, 0 }, ANYWHERE },
    { "acct", SYS_acct, { BAD }, ANYWHERE },
    { "quotactl", SYS_quotactl, { 0x7fffff00, 0, 0, 0 }, ANYWHERE },
    { "quotactl_fd", 443, { ALL, 0, 0, 0 }, ANYWHERE },
    { "vhangup", SYS_vhangup, { 0 }, INSIDE_ONLY },
    { "syslog", SYS_syslog, { 99, 0, 0 }, ANYWHERE },
    { "settimeofday", SYS_settimeofday, { BAD, 0 }, ANYWHERE },
    { "clock_settime", SYS_clock_settime, { 0, BAD }, ANYWHERE },
#ifdef SYS_iopl
    { "iopl", SYS_iopl, { 99 }, ANYWHERE },
    { "ioperm", SYS_ioperm, { ALL, 1, 1 }, ANYWHERE },
    { "modify_ldt", SYS_modify_ldt, { 0, BAD, 0 }, ANYWHERE },
    { "ustat", SYS_ustat, { 0, BAD }, ANYWHERE },
    { "sysfs", SYS_sysfs, { 99 }, ANYWHERE },
#endif
};

void probe_calls(const struct probe_ctx *ctx)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
        const struct call *c = &calls[i];
        if (!ctx->is_outside || c->where == ANYWHERE)
            probe_call(6, c->name, syscall(c->nr, c->arg[0], c->arg[1], c->arg[2], c->arg[3], c->arg[4]));
    }
    if (ctx->is_outside)
        return;
    struct timex clock = { .modes = ADJ_TICK, .tick = 10000 };
    probe_call(6, "adjtimex that sets", syscall(SYS_adjtimex, &clock));
    int open = -1;
    for (int nr = NEWEST; nr < NUMBER_END && open < 0; nr++)
        if (syscall(nr, ALL, ALL, ALL, ALL, ALL, ALL) >= 0 || errno != ENOSYS)
            open = nr;
    probe_row(6, "numbers newer than the filter", open < 0 ? PROBE_DENIED : PROBE_REACHED,
              open < 0 ? "all answer: no such call" : "number %d exists", open);
}

/* ---- new namespaces ---- */

static const struct {
    const char *name;
    unsigned flag;
} kinds[] = { { "user", CLONE_NEWUSER },     { "mount", CLONE_NEWNS }, { "pid", CLONE_NEWPID },
              { "net", CLONE_NEWNET },       { "ipc", CLONE_NEWIPC },  { "uts", CLONE_NEWUTS },
              { "cgroup", CLONE_NEWCGROUP }, { "time", CLONE_NEWTIME } };

struct clone_request {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

static int try_unshare(const void *arg)
{
    return syscall(SYS_unshare, (long)*(const unsigned *)arg) < 0 ? errno : 0;
}

/* 1000 + errno would not fit an exit code; the error is reported as is, 0 is a process that was created. */
static int try_clone(const void *arg)
{
    long pid = syscall(SYS_clone, (long)(*(const unsigned *)arg | SIGCHLD), 0L, 0L, 0L, 0L);
    if (pid == 0)
        _exit(0);
    if (pid < 0)
        return errno;
    (void)waitpid((pid_t)pid, NULL, 0);
    return 0;
}

static int try_clone3(const void *arg)
{
    struct clone_request q = { .flags = *(const unsigned *)arg, .exit_signal = SIGCHLD };
    long pid = syscall(435, &q, sizeof(q));
    if (pid == 0)
        _exit(0);
    if (pid < 0)
        return errno;
    (void)waitpid((pid_t)pid, NULL, 0);
    return 0;
}

static void namespace_row(const char *how, const char *kind, int code)
{
    char name[64];
    snprintf(name, sizeof(name), "%s: new %s namespace", how, kind);
    errno = code > 0 ? code : 0;
    if (code < 0)
        probe_row(6, name, PROBE_REACHED, "the try died");
    else if (code == EINVAL)
        probe_row(6, name, PROBE_SKIPPED, "this kernel does not know the flag here");
    else
        probe_call(6, name, code == 0 ? 0 : -1);
}

void probe_namespaces(const struct probe_ctx *ctx)
{
    (void)ctx; /* each attempt is a child that exits at once: harmless anywhere */
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        namespace_row("unshare", kinds[i].name, probe_child(try_unshare, &kinds[i].flag));
        if (kinds[i].flag != CLONE_NEWTIME) /* its bit is part of the signal number there */
            namespace_row("clone", kinds[i].name, probe_child(try_clone, &kinds[i].flag));
        namespace_row("clone3", kinds[i].name, probe_child(try_clone3, &kinds[i].flag));
    }
}
